#ifndef CONFIG_READ_GUARD_H
#define CONFIG_READ_GUARD_H

#include "config/read/toml.h"

/*
 * What must hold before a text is shown to the TOML parser: at most CONFIG_FILE_BYTES_MAX, no NUL,
 * valid UTF-8, and nesting that no recursion in the parser or in its destructors can drown in.
 */

#define GUARD_DEPTH_MAX 32

/* 0, or -1 with *error set; line 0: the problem has no position. */
int guard_text(const char *text, size_t len, struct toml_error *error);

#endif
