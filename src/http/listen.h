#ifndef HTTP_LISTEN_H
#define HTTP_LISTEN_H

#include "base/error.h"

#include <stdbool.h>

/* A socket that listens on "HOST:PORT", or on every interface for ":PORT". Takes a second at
 * most, also when the lookup of HOST hangs. -1 with *error set. */
int listen_open(const char *address, struct error *error);

/* Whether the socket is bound to a loopback address, where only programs of this machine get. */
bool listen_is_local(int fd);

/* Connects to the program that listens on such an address of this machine. Apart from the lookup,
 * no connect, send or receive takes longer than `timeout_ms`. -1 with *error set. */
int listen_reach(const char *address, int timeout_ms, struct error *error);

#endif
