#ifndef CONFIG_CHECK_ADDRESS_H
#define CONFIG_CHECK_ADDRESS_H

#include <stdbool.h>

/* NULL, or what is wrong with the spelling of an address. Nothing is looked up. */

/* "HOST:PORT", "[::1]:PORT" */
const char *broker_address_problem(const char *address);
/* "nats://HOST", "tls://HOST:PORT"; credentials are refused, because addresses reach logs. */
const char *server_url_problem(const char *url);
/* Whether the part before the scheme's host ends in "@", which may hide a password. */
bool server_url_has_credentials(const char *url);
/* "HOST:PORT", ":PORT" for every interface, or "" for none. */
const char *listen_address_problem(const char *address);
/* Whether it is open to other machines on every interface. */
bool listen_is_everywhere(const char *address);

#endif
