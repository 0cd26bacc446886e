#ifndef PG_POOLER_H
#define PG_POOLER_H

#include "pg/session.h"
#include "pg/session_options.h"

/*
 * A connection pooler between the session and its backend.
 *
 * In session mode the session keeps its backend until it ends, as without a pooler. In transaction
 * mode each transaction may run in another backend. Settings that the relay makes there would
 * reach the application's transactions and the other way round, prepared statements would be
 * missing, and a session that flushes the WAL or listens would not be the one that was set up.
 */

/* Returns 0 when the session has a backend of its own, or -1 with *error set. Changes nothing that
 * another client of the pooler would notice. To be called before the session makes any setting;
 * opens a second connection for a moment. */
int pooler_check(struct session *session, const struct session_options *options,
                 struct error *error);

#endif
