#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a host is the loopback of this machine: "localhost", 127.0.0.0/8, "::1" or "[::1]".
 * Judged by its text, without a lookup. */
bool host_is_loopback(const char *host, size_t len);

/* The same of the host in "HOST", "HOST:PORT" or "[IPv6]:PORT", with or without a path behind it.
 */
bool address_is_loopback(const char *address);

#endif
