#ifndef CONFIG_CHECK_CONNINFO_H
#define CONFIG_CHECK_CONNINFO_H

#include <stdbool.h>
#include <stddef.h>

/*
 * As much of a libpq connection string (PostgreSQL, "34.1.1. Connection Strings") as it takes to
 * tell where its secrets stand. libpq itself parses it at the connection.
 */

#define CONNINFO_SECRETS_MAX 4

struct conninfo {
    struct {
        size_t start; /* in the string as it is written */
        size_t len;
    } secrets[CONNINFO_SECRETS_MAX]; /* passwords that are not empty, in order */
    int secret_count;
    char problem[160]; /* why it was refused; repeats nothing of the string */
};

/*
 * 0, or -1 with the problem: not a connection string, a port or an sslmode that cannot be, or one
 * in which a secret may stand where nothing would hide it (an "@" too many in a URI, a keyword that
 * libpq does not know).
 */
int conninfo_parse(struct conninfo *conninfo, const char *text);

/* A copy with "***" for each secret, to free(); NULL when there is no memory. */
char *conninfo_mask(const char *text);

#endif
