#ifndef CONFIG_KEYS_LOADER_H
#define CONFIG_KEYS_LOADER_H

#include "config/keys/keys.h"
#include "config/read/report.h"

/*
 * The state of loading a configuration. config/load.c reads the plain sections, sinks.c and
 * routes.c the sinks and routes; then config/check/ makes the checks that involve more than one
 * key.
 */

struct loader {
    struct config *config;
    struct toml_node *root;
    struct report *report;
    unsigned mode; /* the file's permission bits; 0: not a regular file, so others cannot read it */
    bool is_own;   /* only root and the user of this process can change the file */
};

/* The node of a key, else of its section, else of the whole file. */
struct toml_node *loader_locate(const struct loader *loader, const char *section, const char *key);
/* The node of the sink with that index. */
struct toml_node *loader_sink(const struct loader *loader, int sink);

#endif
