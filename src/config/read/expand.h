#ifndef CONFIG_READ_EXPAND_H
#define CONFIG_READ_EXPAND_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "${VAR}" is the environment's value; "${VAR:-default}" takes the default when VAR is unset or
 * empty; "$${" is a literal "${"; any other "$" stands for itself. Values are not expanded again.
 */

/* A new string to free(), or NULL with a message in `why`, which never holds a variable's value. */
char *expand(const char *source, char *why, size_t why_size);

/* What stands in the file itself: variables give nothing, defaults stay. NULL: malformed. */
char *expand_literal(const char *source);

/* Whether a variable is used. */
bool expand_has_variable(const char *source);

#endif
