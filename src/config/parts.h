#ifndef CONFIG_PARTS_H
#define CONFIG_PARTS_H

#include "config/check/check.h"

/* The parts of a configuration file, which load.c reads one after another. */

/* Sets what the modules need from keys of another section. */
void config_derive_fields(struct relay_options *relay);

/* Reads each key of a [section] into `base`. */
void load_section(struct loader *loader, enum section section, struct toml_node *node, void *base);
/* Call after the sinks were read, because a route refers to a sink by its name. */
void load_routes(struct loader *loader, struct toml_node *node);

#endif
