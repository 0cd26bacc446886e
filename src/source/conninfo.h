#ifndef SOURCE_CONNINFO_H
#define SOURCE_CONNINFO_H

#include <stdbool.h>
#include <stddef.h>

/* [database] url: a connection string of the database's client library. */

#define CONNINFO_PROBLEM_BYTES 240

/*
 * 0, or -1 with the problem: this is not a connection string, one of its values is invalid, or a
 * secret may be where it would not be hidden (an extra "@" in a URI, an unknown keyword). The
 * problem quotes nothing from the string.
 */
int conninfo_check(const char *text, char problem[CONNINFO_PROBLEM_BYTES]);

/* Whether the string contains a password or another secret. */
bool conninfo_has_secret(const char *text);

/* A copy that may be shown; free() it. NULL when there is no memory. If the string contains a
 * secret, the copy has "***" for each secret; if it cannot be parsed, it is "***". */
char *conninfo_hide_secrets(const char *text);

/* Whether somebody on the network could read or change what goes to the server. `has_password`: the
 * relay has one that is not in the string; `allow_plaintext`: the operator trusts the network.
 * Returns 0; 1 with a warning as the problem; or -1: the relay refuses to connect so. */
int conninfo_check_transport(const char *text, bool has_password, bool allow_plaintext,
                             char problem[CONNINFO_PROBLEM_BYTES]);

#endif
