#ifndef CONFIG_PARTS_H
#define CONFIG_PARTS_H

#include "config/check/check.h"

/* The parts of a configuration file, which load.c reads one after another. */

/* Sets what the modules need from keys of another section. */
void config_derive_fields(struct relay_options *relay);

/* Reads each key of a [section] into `base`. */
void load_section(struct loader *loader, enum section section, struct toml_node *node, void *base);

/*
 * A preset is a configuration file of config/presets/, embedded at build time. What the user's file
 * leaves out is taken from it, key by key; what it has in [sink] holds for each sink. Its
 * [preset] columns names all columns that the table has.
 */

#define PRESET_NONE "default"

/* Completes loader->root by the preset that it names in [outbox], if any. An unknown name is
 * reported. */
void preset_apply(struct loader *loader);
/* Call after the sinks were read, because a route refers to a sink by its name. */
void load_routes(struct loader *loader, struct toml_node *node);

#endif
