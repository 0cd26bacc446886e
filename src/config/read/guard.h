#ifndef CONFIG_READ_GUARD_H
#define CONFIG_READ_GUARD_H

#include "config/read/toml.h"

/*
 * Checks a text before it is given to the TOML parser: at most CONFIG_FILE_BYTES_MAX, no NUL, valid
 * UTF-8, and nesting so shallow that recursion in the parser and its destructors cannot overflow
 * the stack.
 */

#define GUARD_DEPTH_MAX 32

/* 0, or -1 with *error set; its line is 0 when the problem has no position. */
int guard_text(const char *text, size_t len, struct toml_error *error);

#endif
