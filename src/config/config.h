#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "config/keys/options.h"
#include "config/read/report.h"

#include <stdio.h>

/*
 * Loads one TOML file into option structs. One table of keys (keys/keys.c) serves for loading
 * and printing. All problems of a file are reported, not only the first.
 */

/*
 * Reads `path`; NULL: $OUTBOX_RELAY_CONFIG, ./relay.toml, /etc/outbox-relay/relay.toml, the first
 * that exists. 0, or -1 with at least one problem. Free both in either case
 * (config_problems_free).
 */
int config_load(struct config *config, const char *path, struct config_problems *problems);
/* The same from memory. `name` is used as the file name in messages. */
int config_parse(struct config *config, const char *name, const char *text, size_t len,
                 struct config_problems *problems);
void config_free(struct config *config);

/* reload.c: What a configuration that was read again changes in a running relay: the keys of the
 * table that have KEY_RELOAD. */

struct config_change {
    char key[160];    /* "[relay] batch", "[sink.events] brokers", "[[route]]" */
    char before[128]; /* in the key's own spelling, cut; secrets are masked */
    char after[128];
    bool applied; /* false: it needs a restart, and the old value stays */
};

/* Takes those keys over from `next` into `current`, and calls on_change for each key that differs,
 * applied or not. `next` stays the caller's, and no part of it is kept. */
void config_reload(struct config *current, struct config *next,
                   void (*on_change)(const struct config_change *change, void *closure),
                   void *closure);

/* The effective configuration as TOML that config_parse accepts; secrets show as "***". */
void config_print(const struct config *config, FILE *out);

/* config/relay.toml, embedded at build time: every key with its default and what it means. */
const char *config_sample(void);

/* The text of config/presets/NAME.toml, embedded too. NULL: there is none of that name. */
const char *config_preset(const char *name);
/* A line for each, "debezium: id, aggregatetype, ...": its columns; free() it. NULL: no memory. */
char *config_preset_columns(void);
/* "cap, debezium, ..." */
char *config_preset_names(char *out, size_t size);

#endif
