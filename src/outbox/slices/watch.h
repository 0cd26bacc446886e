#ifndef OUTBOX_SLICES_WATCH_H
#define OUTBOX_SLICES_WATCH_H

#include "catalog/table.h"
#include "outbox/slices/horizon.h"
#include "pg/wal_flush.h"

/*
 * The watcher's session, beside those of the lanes. It maintains the horizon
 * (docs/internals/horizon.md) and flushes the WAL for the lanes. Used by one thread. No call takes
 * longer than a few statement timeouts. Functions that return int return 0, or -1 with *error set;
 * then call watch_disconnect().
 */

struct watch;

/* What an application_name (NAMEDATALEN, with its NUL) has left after "outbox-relay/". */
#define WATCH_NAME_BYTES (64 - 13)

/* Allocates without connecting. `name` becomes part of application_name. NULL: no memory. */
struct watch *watch_open(const struct outbox_options *options, const char *name,
                         struct horizon *horizon, struct wal_flush *flush);
void watch_close(struct watch *watch);

int watch_connect(struct watch *watch, struct error *error);
/* Prepares for ticks. The session answers questions before, and while it cannot be done. */
int watch_describe(struct watch *watch, struct error *error);
void watch_disconnect(struct watch *watch);
bool watch_is_connected(const struct watch *watch);
/* Makes the session's application_name "outbox-relay/" and `name`, until the session ends. */
int watch_rename(struct watch *watch, const char *name, struct error *error);
/* The socket to poll for input; -1: not connected. */
int watch_fd(const struct watch *watch);
/* The session, which others may use between these calls, and the table that it has described. Both
 * live until watch_close(). */
struct session *watch_session(struct watch *watch);
const struct table *watch_table(const struct watch *watch);

/* Runs one tick: reads the highest id and the lock holders, and scans slices. *again_ms: when the
 * next tick is due. *opened: this tick completed the first scan, for which claims have waited. */
int watch_tick(struct watch *watch, int64_t *again_ms, bool *opened, struct error *error);
/* The highest id drawn as of the last tick, or HORIZON_UNKNOWN. */
int64_t watch_drawn(const struct watch *watch);
/* Flushes the WAL if any lane waits for that. */
int watch_flush(struct watch *watch, struct error *error);
/* Fails the waits of all lanes with *error. */
void watch_fail_flush(struct watch *watch, const struct error *error);

#endif
