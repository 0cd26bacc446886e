#ifndef PG_WAL_FLUSH_H
#define PG_WAL_FLUSH_H

#include "pg/server.h"

/*
 * Lanes wait here until everything that is committed is on disk, and on the synchronous standbys:
 * an application that commits with synchronous_commit = off makes rows visible before they are
 * durable. A claim's own transaction cannot flush, because it has not committed; the watch's
 * session can, and one flush serves all lanes that wait for it.
 */

struct wal_flush;

#define WAL_FLUSH_MS_MAX                                                                           \
    3000 /* a longer one leaves too little of a claim's time for the publish                       \
          */

/* NULL: no memory. */
struct wal_flush *wal_flush_open(void);
void wal_flush_close(struct wal_flush *flush);

/* A lane's side: 0 when this server has flushed what was committed before the call; -1, after
 * WAL_FLUSH_MS_MAX at the latest: it could not be made sure. */
int wal_flush_wait(struct wal_flush *flush, const struct server *server, struct error *error);

/* The watch's side. eventfd(2), readable when a lane has begun to wait; cleared by reading it. */
int wal_flush_fd(const struct wal_flush *flush);
/* The number of the latest wait that is not answered; 0: none. */
uint64_t wal_flush_wanted(struct wal_flush *flush);
/* Answers all waits up to this number: `server` has flushed, or, with an error, has not. */
void wal_flush_done(struct wal_flush *flush, uint64_t number, const struct server *server,
                    const struct error *error);

#endif
