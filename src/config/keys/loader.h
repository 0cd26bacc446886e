#ifndef CONFIG_KEYS_LOADER_H
#define CONFIG_KEYS_LOADER_H

#include "config/keys/keys.h"
#include "config/read/report.h"

/*
 * One load: what is read, and from where. config/load.c reads the sections, sinks.c and routes.c
 * what has a name or an order, then config/check/ looks at what no single key can tell.
 */

struct loader {
    struct config *config;
    struct toml_node *root;
    struct report *report;
    unsigned mode; /* of the file; 0: not a regular file, so nobody else can read it */
    bool is_own;   /* only root and the user of this process can change the file */
};

/* The node of a key, of its section, or of the file, whichever is there. */
struct toml_node *loader_locate(const struct loader *loader, const char *section, const char *key);
/* The node of the sink with that index. */
struct toml_node *loader_sink(const struct loader *loader, int sink);

#endif
