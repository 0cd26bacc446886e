#ifndef CONFIG_READ_EXPAND_H
#define CONFIG_READ_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "${VAR}" is the environment's value; "${VAR:-default}" takes the default when VAR is unset or
 * empty; "$${" is a literal "${"; any other "$" stands for itself. Values are not expanded again.
 */

/* Returns a new string, which the caller frees, or NULL with a message in `why`. The message never
 * contains a variable's value. */
char *expand(const char *source, char *why, size_t why_size);

/* Like expand, but as if all variables were unset: what the file itself contains. NULL:
 * malformed. */
char *expand_literal(const char *source);

/* Whether the text refers to a variable. */
bool expand_has_variable(const char *source);

#endif
