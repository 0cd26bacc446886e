#ifndef PG_CONNINFO_H
#define PG_CONNINFO_H

#include <stdbool.h>
#include <stddef.h>

/* A connection string as in libpq's manual ("Connection Strings"), parsed by libpq itself. */

#define CONNINFO_PROBLEM_BYTES 160

/*
 * 0, or -1 with the problem: this is not a connection string, its port or sslmode is invalid, or a
 * secret may be where it would not be hidden (an extra "@" in a URI, a keyword that libpq does not
 * know). The problem quotes nothing from the string.
 */
int conninfo_check(const char *text, char problem[CONNINFO_PROBLEM_BYTES]);

/* Whether the string contains a password or another secret. */
bool conninfo_has_secret(const char *text);

/* A copy that may be shown; free() it. NULL when there is no memory. If the string contains a
 * secret, the copy is "keyword=value ..." with "***" for each secret; if it cannot be parsed,
 * "***". */
char *conninfo_hide_secrets(const char *text);

#endif
