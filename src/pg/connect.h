#ifndef PG_CONNECT_H
#define PG_CONNECT_H

#include "base/bounded_call.h"
#include "base/error.h"
#include "pg/session_options.h"

#include <libpq-fe.h>

/*
 * A connection to PostgreSQL, or an error by a deadline. libpq's connect_timeout counts for each
 * address of each host, and a name lookup has none at all, so libpq connects on a thread of its own
 * and is given up.
 */

#define CONNECT_S 5 /* an address, unless the url, its service or PGCONNECT_TIMEOUT says */

/* NULL with *error set. `late` is bounded_call_run()'s: while a lookup hangs that was given up, no
 * other begins. `name` becomes part of application_name. */
PGconn *connect_open(struct bounded_call **late, const struct session_options *options,
                     const char *name, struct error *error);

#endif
