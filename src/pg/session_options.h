#ifndef PG_SESSION_OPTIONS_H
#define PG_SESSION_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* How a session connects, and what the server is told of it. The strings are the caller's. */
struct session_options {
    const char *url;           /* libpq conninfo */
    const char *password_file; /* NULL: there is none */
    bool allow_plaintext;      /* a password may cross a network without TLS */
    bool synchronous_commit;
    int64_t idle_ms; /* PostgreSQL ends a transaction that idles longer */
};

#endif
