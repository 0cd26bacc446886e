#ifndef CONFIG_CHECK_CHECK_H
#define CONFIG_CHECK_CHECK_H

#include "config/keys/keys.h"
#include "config/read/report.h"

/*
 * The state of loading a configuration. config/load.c reads the sections and sinks, routes.c
 * the routes; then config/check/ makes the checks that involve more than one key.
 */

struct loader {
    struct config *config;
    struct toml_node *root;
    struct problems *report;
    unsigned mode; /* the file's permission bits; 0: not a regular file, so others cannot read it */
    bool is_own;   /* only root and the user of this process can change the file */
};

/* The node of the sink with that index. */
struct toml_node *loader_sink(const struct loader *loader, int sink);

/* Checks that involve more than the value of one key. Each function reports the problems that it
 * finds. */

void check_config(const struct loader *loader);
void check_sink(const struct loader *loader, int sink);
/* Reports secrets in a file that others can read. */
void check_secrets(const struct loader *loader);

/* address.c */
/* These functions return NULL, or what is wrong with an address. They check the spelling only. */

/* "HOST:PORT", "[::1]:PORT" */
const char *broker_address_problem(const char *address);
/* "nats://HOST", "tls://HOST:PORT"; credentials are refused, because addresses reach logs. */
const char *server_url_problem(const char *url);
/* Whether the URL contains "@", so that it may contain a password. */
bool server_url_has_credentials(const char *url);
/* "HOST:PORT", ":PORT" for every interface, or "" for none. */
const char *listen_address_problem(const char *address);
/* "http://HOST", "https://HOST:PORT/PATH"; credentials and queries are refused, because the URL
 * reaches logs. */
const char *collector_url_problem(const char *url);
/* Whether the address listens on every interface. */
bool listen_is_everywhere(const char *address);

#endif
