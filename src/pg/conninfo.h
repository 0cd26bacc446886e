#ifndef PG_CONNINFO_H
#define PG_CONNINFO_H

#include <stdbool.h>
#include <stddef.h>

/* A libpq connection string (PostgreSQL, "34.1.1. Connection Strings"), parsed by libpq itself. */

#define CONNINFO_PROBLEM_BYTES 160

/*
 * 0, or -1 with the problem: not a connection string, a port or an sslmode that cannot be, or one
 * in which a secret may stand where nothing would hide it (an "@" too many in a URI, a keyword that
 * libpq does not know). The problem repeats nothing of the string.
 */
int conninfo_check(const char *text, char problem[CONNINFO_PROBLEM_BYTES]);

/* Whether it holds a password or another secret. */
bool conninfo_has_secret(const char *text);

/* A copy to show, to free(); NULL when there is no memory. One that holds a secret is written as
 * "keyword=value ..." with "***" for each secret; "***" stands for one that cannot be parsed. */
char *conninfo_hide_secrets(const char *text);

#endif
