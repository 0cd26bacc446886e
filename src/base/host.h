#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a host is a loopback address: "localhost", 127.0.0.0/8, "::1" or "[::1]". Compares the
 * text only; no name is looked up. */
bool host_is_loopback(const char *host, size_t len);

/* The same for the host of "HOST", "HOST:PORT" or "[IPv6]:PORT"; a path may follow. */
bool host_of_address_is_loopback(const char *address);

#endif
