#ifndef CONFIG_RELOAD_H
#define CONFIG_RELOAD_H

#include "config/config.h"

/* What a configuration that was read again changes in a running relay: the keys of the table that
 * have KEY_RELOAD. */

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

#endif
