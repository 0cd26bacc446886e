#ifndef OUTBOX_SLICES_WATCH_H
#define OUTBOX_SLICES_WATCH_H

#include "catalog/table.h"
#include "outbox/slices/horizon.h"
#include "pg/wal_flush.h"

/*
 * A process's session beside those of its lanes: it keeps the horizon (docs/horizon.md), and
 * flushes the WAL for the lanes. Used by one thread. No call takes longer than a few
 * statement timeouts. Functions that return int return 0, or -1 with *error set: then disconnect.
 */

struct watch;

/* What PostgreSQL keeps of an application_name (NAMEDATALEN), without "outbox-relay/". */
#define WATCH_NAME_BYTES (64 - 13)

/* Allocates; no network. `name` becomes part of application_name. NULL: no memory. */
struct watch *watch_open(const struct outbox_options *options, const char *name,
                         struct horizon *horizon, struct wal_flush *flush);
void watch_close(struct watch *watch);

int watch_connect(struct watch *watch, struct error *error);
void watch_disconnect(struct watch *watch);
bool watch_is_connected(const struct watch *watch);
/* Until the session ends it has this name in place of the other. */
int watch_rename(struct watch *watch, const char *name, struct error *error);
/* The socket to poll for input; -1: not connected. */
int watch_fd(const struct watch *watch);
/* Reads what has arrived, without waiting: -1 when that is the end of the session. */
int watch_read_input(struct watch *watch, struct error *error);
/* The session, for others to use between the calls; and the table that it has described. Both live
 * as long as the watch. */
struct session *watch_session(struct watch *watch);
const struct table *watch_table(const struct watch *watch);

/* One look at the ids, their holders and the slices. *again_ms: when the next one is due.
 * *opened: claims have waited for this one, and found nothing so far. */
int watch_tick(struct watch *watch, int64_t *again_ms, bool *opened, struct error *error);
/* The highest id that a tick saw drawn, or HORIZON_UNKNOWN. */
int64_t watch_drawn(const struct watch *watch);
/* Flushes for the lanes that wait for it, if any does. */
int watch_flush(struct watch *watch, struct error *error);
/* Lets lanes know that nothing is flushed for them now. */
void watch_refuse_flush(struct watch *watch, const struct error *error);

#endif
