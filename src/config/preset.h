#ifndef CONFIG_PRESET_H
#define CONFIG_PRESET_H

#include "config/check/check.h"

/*
 * A preset is a configuration file of config/presets/, embedded at build time. What the user's file
 * leaves out is taken from it, key by key; what it has in [sink] holds for each sink. Its
 * [preset] columns names all columns that the table has.
 */

#define PRESET_NONE "default"

/* Completes loader->root by the preset that it names in [outbox], if any. An unknown name is
 * reported. */
void preset_apply(struct loader *loader);

#endif
