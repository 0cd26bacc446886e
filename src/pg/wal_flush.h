#ifndef PG_WAL_FLUSH_H
#define PG_WAL_FLUSH_H

#include "base/error.h"
#include "source/server.h"

/*
 * Lanes wait here until everything committed so far is on disk and on the synchronous standbys. An
 * application that commits with synchronous_commit = off makes rows visible before they are
 * durable. A claim's own transaction cannot force a flush before it commits; the watcher's session
 * can, and one flush serves all lanes that wait.
 */

struct wal_flush;

/* A longer wait would leave too little of the claim transaction's time for the publish. */
#define WAL_FLUSH_MS_MAX 3000

/* NULL: no memory. */
struct wal_flush *wal_flush_open(void);
void wal_flush_close(struct wal_flush *flush);

/* Called by lanes. Returns 0 when `server` has flushed everything committed before the call, or -1
 * with *error set, after WAL_FLUSH_MS_MAX at the latest. */
int wal_flush_wait(struct wal_flush *flush, const struct server *server, struct error *error);

/* Called by the watcher, as are the next two. The eventfd(2) becomes readable when a lane begins to
 * wait; reading clears it. */
int wal_flush_fd(const struct wal_flush *flush);
/* Returns the number of the latest unanswered wait; 0: none. */
uint64_t wal_flush_wanted(struct wal_flush *flush);
/* Answers all waits up to this number: `server` has flushed, or the flush failed with `error`. */
void wal_flush_done(struct wal_flush *flush, uint64_t number, const struct server *server,
                    const struct error *error);

#endif
