#ifndef CONFIG_KEYS_VALUE_H
#define CONFIG_KEYS_VALUE_H

#include "config/keys/keys.h"
#include "config/read/report.h"

/* Converts a value between TOML and the field of its key. `base` is the struct that key->offset
 * refers to. */

#define SHOWN_BYTES 96 /* how much of a value a message shows */

/* Reads `node` into the field, or reports a problem and leaves the field unchanged. */
void value_read(const struct key *key, struct toml_node *node, void *base, struct problems *report);

/* Sets every key of a section to its default. 0, or -1: out of memory. */
int value_set_defaults(enum section section, void *base);

/* Frees the strings and lists of a section's keys. */
void value_free(enum section section, void *base);

/* Returns the string with its variables expanded, which the caller frees. NULL: a problem was
 * reported under the name `key`. */
char *value_expand(const char *key, struct toml_node *node, struct problems *report);

char *value_string(const struct key *key, const void *base);
void value_swap_string(const struct key *key, void *a, void *b);
struct text_list *value_list(const struct key *key, const void *base);
int64_t value_number(const struct key *key, const void *base);
/* For each type but strings and lists. */
void value_set_number(const struct key *key, void *base, int64_t number);

/* A number in the key's own spelling: `250ms`, `8MiB`, `mark`, `true`, `64`. Returns `out`. */
char *value_format(char *out, size_t size, const struct key *key, int64_t number);
/* Whether that spelling needs quotes in TOML. */
bool value_is_quoted(const struct key *key);

/* Describes a value: "an integer 5", `a string "100"`, "a list". For a secret only its type.
 * Returns `out`. */
char *value_describe(char *out, size_t size, const struct toml_node *node, bool secret);

#endif
