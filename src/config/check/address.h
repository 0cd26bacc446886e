#ifndef CONFIG_CHECK_ADDRESS_H
#define CONFIG_CHECK_ADDRESS_H

#include <stdbool.h>

/* These functions return NULL, or what is wrong with an address. They check the spelling only. */

/* "HOST:PORT", "[::1]:PORT" */
const char *broker_address_problem(const char *address);
/* "nats://HOST", "tls://HOST:PORT"; credentials are refused, because addresses reach logs. */
const char *server_url_problem(const char *url);
/* Whether the URL contains "@", so that it may contain a password. */
bool server_url_has_credentials(const char *url);
/* "HOST:PORT", ":PORT" for every interface, or "" for none. */
const char *listen_address_problem(const char *address);
/* Whether the address listens on every interface. */
bool listen_is_everywhere(const char *address);

#endif
