#ifndef OUTBOX_OUTBOX_H
#define OUTBOX_OUTBOX_H

#include "base/error.h"
#include "catalog/options.h"
#include "message/batch.h"
#include "outbox/slices/claim_request.h"
#include "outbox/slices/horizon.h"
#include "pg/wal_flush.h"
#include "route/route.h"

/*
 * One lane's view of the outbox table: claim rows, settle them, in one transaction on one
 * connection. Row locks are held from the claim until settle commits; whatever ends the connection
 * in between, the rows are due again. Used by one thread.
 *
 * Every function returns 0, or -1 with *error set: whatever was claimed is abandoned, and ready()
 * starts afresh where the connection is lost. No call takes longer than a few statement timeouts
 * (12 s).
 */

struct outbox;

/* Allocates; no network. `name` becomes part of application_name; the routes tell whose rows to
 * leave while a sink is away (NULL: there is one sink). NULL: no memory. */
struct outbox *outbox_open(const struct outbox_options *options, const struct routes *routes,
                           const char *name);
void outbox_close(struct outbox *outbox);

/* What the lanes of a process share: where unsent rows begin, and who flushes the WAL for them.
 * Both outlive the outbox. Without them a claim reads from the beginning of the table, and a claim
 * with durable_before_publish fails. 0, or -1: no memory. */
int outbox_share(struct outbox *outbox, struct horizon *horizon, struct wal_flush *flush);

/* Connects, describes the table and prepares the statements; returns at once when that is done. */
int outbox_ready(struct outbox *outbox, struct error *error);

/*
 * Locks the next rows of the outbox in id order, or of the parked rows that are due, and fills the
 * batch. An empty batch leaves no transaction open; batch->has_more says whether to claim again at
 * once. With durable_before_publish it returns when everything the claim saw is flushed to disk. A
 * row that PostgreSQL cannot hand over is parked as dead on the way (unreadable.h).
 */
int outbox_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error);

/* Milliseconds since the claim in hand was sent in which the server did not work on it: many when
 * the process or the machine slept. */
int64_t outbox_claim_slept_ms(const struct outbox *outbox);
/* The server has closed the session of the claim in hand, and others may have its rows. */
bool outbox_claim_is_lost(const struct outbox *outbox);

/*
 * Writes the batch's outcomes and commits. With `next` (of the outbox, not of the parked rows) that
 * claim travels in the same round trip, and the next outbox_claim must be for the outbox (or
 * outbox_abandon). When rows could not be parked the rest is settled all the same: 0, and
 * batch->park_failure says why.
 */
int outbox_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error);

/* What was paused at the last claim or look, one thing a line (catalog/pauses.h); NULL: nothing.
 * Every pause that was committed before the claim of the batch in hand began is in it. */
const char *outbox_pauses(const struct outbox *outbox);
/* Looks now. Not while a claim is under way. */
int outbox_look_for_pauses(struct outbox *outbox, struct error *error);

/* Rolls back what is claimed. The connection stays when it is healthy. */
void outbox_abandon(struct outbox *outbox);

/* Whether anything is due now (unsent rows, locked ones included, or parked rows whose time has
 * come), and how many parked and dead rows there are, counted no further than 1,000. */
int outbox_remaining(struct outbox *outbox, bool *due, int *parked, struct error *error);

#endif
