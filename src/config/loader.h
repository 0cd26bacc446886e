#ifndef CONFIG_LOADER_H
#define CONFIG_LOADER_H

#include "config/keys.h"
#include "config/read/report.h"

/*
 * One load: load.c reads the sections, sinks.c and routes.c what has a name or an order, then
 * check.c, check_sink.c and secrets.c look at what no single key can tell.
 */
struct loader {
    struct config *config;
    struct toml_node *root;
    struct report *report;
    unsigned mode; /* of the file; 0: not a regular file, so nobody else can read it */
    bool is_own;   /* only root and the user of this process can change the file */
};

/* Reads each key of a [section] into `base`. */
void load_section(struct loader *loader, enum section section, struct toml_node *node, void *base);
void load_sinks(struct loader *loader, struct toml_node *node);
void load_property(struct loader *loader, struct toml_node *node, struct sink_options *sink);
void free_sink(struct sink_options *sink);
/* After the sinks: a route names one. */
void load_routes(struct loader *loader, struct toml_node *node);

/* The node of a key, of its section, or of the file, whichever is there. */
struct toml_node *loader_locate(const struct loader *loader, const char *section, const char *key);
/* The node of the sink with that index. */
struct toml_node *loader_sink(const struct loader *loader, int sink);

void check_config(const struct loader *loader);
void check_sink(const struct loader *loader, int sink);
/* Secrets that are written in a file which others can read. */
void check_secrets(const struct loader *loader);

/* "password", "ssl.key.pem", ...: a property of librdkafka whose value is not to be shown. */
bool is_secret_property(const char *name);

#endif
