#ifndef PG_CONNECT_H
#define PG_CONNECT_H

#include "pg/session.h"

/*
 * Opens a session, or fails by a deadline. libpq's connect_timeout applies to each address of each
 * host, and a name lookup has no timeout at all. So libpq connects on a thread of its own, which is
 * abandoned at the deadline.
 */

/* How a session connects, and settings that it makes on the server. The caller owns the strings. */
struct session_options {
    const char *url;           /* libpq conninfo */
    const char *password_file; /* NULL: none */
    bool allow_plaintext;      /* a password may be sent over a network without TLS */
    bool synchronous_commit;
    const char *time_zone; /* of timestamps without one; NULL: UTC */
    int64_t idle_ms;       /* idle_in_transaction_session_timeout */
};

/* Connects, refuses a pooler in transaction mode, and applies the session's settings. search_path
 * is emptied before any expression is evaluated, so that nobody's function or operator can take the
 * place of a built-in one. The hosts of the url are tried in turn, from session->first_host on.
 * `name` becomes part of application_name. Returns 0, or -1 with *error set. */
int session_open(struct session *session, const struct session_options *options, const char *name,
                 struct error *error);

/* `pid`: what pg_backend_pid() has answered. 0, or -1 with *error set when it is not that of the
 * session's backend: something between them, such as pgpool-II with load balancing, sends some of
 * the statements to another server. */
int session_check_backend(const struct session *session, const char *pid, struct error *error);

#endif
