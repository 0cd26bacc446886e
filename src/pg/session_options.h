#ifndef PG_SESSION_OPTIONS_H
#define PG_SESSION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* How a session connects, and settings that it makes on the server. The caller owns the strings. */
struct session_options {
    const char *url;           /* libpq conninfo */
    const char *password_file; /* NULL: none */
    bool allow_plaintext;      /* a password may be sent over a network without TLS */
    bool synchronous_commit;
    const char *time_zone; /* of timestamps without one; NULL: UTC */
    int64_t idle_ms;       /* idle_in_transaction_session_timeout */
};

#endif
