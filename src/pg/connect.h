#ifndef PG_CONNECT_H
#define PG_CONNECT_H

#include "base/bounded_call.h"
#include "base/error.h"
#include "pg/session_options.h"

#include <libpq-fe.h>

/*
 * Connects to PostgreSQL, or fails by a deadline. libpq's connect_timeout applies to each address
 * of each host, and a name lookup has no timeout at all. So libpq connects on a thread of its own,
 * which is abandoned at the deadline.
 */

/* For each address, unless the url, its service or PGCONNECT_TIMEOUT sets connect_timeout. */
#define CONNECT_S 5

/* The way out when the server is read-only. */
#define CONNECT_WRITABLE                                                                           \
    "it is a standby, or default_transaction_read_only is on; name the primary, or all hosts, in"  \
    " database.url: postgresql://HOST1,HOST2/DATABASE?target_session_attrs=read-write"

/* NULL with *error set. The hosts of the url are tried in turn, the one with the index `first_host`
 * first (transport_turn_hosts()). `late` is passed to bounded_call_run(): while an attempt that
 * timed out is still running, no other is started. `name` becomes part of application_name. */
PGconn *connect_open(struct bounded_call **late, const struct session_options *options,
                     const char *name, int first_host, struct error *error);

#endif
