#ifndef SOURCE_OUTBOX_H
#define SOURCE_OUTBOX_H

#include "base/error.h"
#include "message/batch.h"
#include "route/route.h"
#include "source/acknowledged.h"
#include "source/claim_request.h"
#include "source/options.h"
#include "source/source.h"

/*
 * One lane's access to the outbox table: claim and settle rows in one transaction on one
 * connection. Row locks are held from the claim until settle commits; if the connection ends in
 * between, the rows are due again. Used by one thread.
 *
 * Every function returns 0, or -1 with *error set; then the claimed rows are abandoned, and
 * outbox_ready() reconnects if the connection was lost. No call takes longer than a few statement
 * timeouts (12 s).
 */

struct outbox;

/* Allocates without connecting. `name` becomes part of the session's name. `routes` determine
 * which rows are not claimed while a sink is away (NULL: there is one sink). NULL: no memory. */
struct outbox *outbox_open(const struct outbox_options *options, const struct routes *routes,
                           const char *name);
void outbox_close(struct outbox *outbox);

/* Sets what the lanes of a process share, which outlives the outbox. Without it a claim reads the
 * table from its start, and a claim with durable_before_publish fails. Returns 0, or -1 when there
 * is no memory. */
int outbox_share(struct outbox *outbox, struct source *source);

/* Sets other options and routes, which outlive the outbox; they name the same table, columns, order
 * and slices. Rolls back what is claimed and disconnects. */
void outbox_reopen(struct outbox *outbox, const struct outbox_options *options,
                   const struct routes *routes);

/* Connects, describes the table and prepares the statements, unless the outbox is connected. */
int outbox_ready(struct outbox *outbox, struct error *error);

/* How many connections it has tried to make. */
uint64_t outbox_connections(const struct outbox *outbox);

/*
 * Locks the next rows of the outbox in id order, or parked rows that are due, and fills the batch.
 * An empty batch leaves no transaction open; batch->has_more says whether to claim again at once.
 * With durable_before_publish the call returns only when everything that the claim saw is flushed
 * to disk. A row that the database cannot read makes a batch of its own, rejected.
 */
int outbox_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error);

/* The time in ms since the current claim was sent, less the time that the server worked on it. It
 * is long when the process was stopped or the machine suspended. */
int64_t outbox_claim_slept_ms(const struct outbox *outbox);
/* Whether the server has closed the session of the current claim: others may have its rows. */
bool outbox_claim_is_lost(const struct outbox *outbox);

/*
 * Writes the batch's outcomes and commits. `next` (NULL: none) is a claim of the outbox, not of
 * parked rows, that is sent in the same round trip; then the next call must be outbox_claim() for
 * the outbox, or outbox_abandon(). A row that the database refuses to settle or to park gets
 * OUTCOME_REFUSED, and the others are settled all the same; batch->park_failure says why rows did
 * not get their notes. When the whole transaction is refused, notes say which rows were sent, and
 * the call returns 0: nothing was settled.
 */
int outbox_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error);

/* Whether the next claim has been sent with a settlement. */
bool outbox_claims_ahead(const struct outbox *outbox);

/* Whether rows that the database refused to settle were due at the last claim. */
bool outbox_refused_are_due(const struct outbox *outbox);

/* After a settle was refused, and while there are refused rows: tries to settle the messages that
 * are to be published, and rolls that back. Those that the database refuses get VERDICT_REFUSED.
 * Returns -1 when it refuses all of them for a reason that is about the table. */
int outbox_try_settling(struct outbox *outbox, struct batch *batch, struct error *error);

/* What was paused at the last claim or outbox_read_pauses(), one item a line
 * (source/pauses.h); NULL: nothing. Includes every pause that was committed before the current
 * claim began. */
const char *outbox_pauses(const struct outbox *outbox);
/* Reads the pauses now. Not to be called while a claim is in flight. */
int outbox_read_pauses(struct outbox *outbox, struct error *error);

/* Reads what relays have kept of their brokers' acknowledgements (source/acknowledged.h). Not to be
 * called while a claim is in flight. */
int outbox_read_acknowledged(struct outbox *outbox, const struct memory_reader *reader,
                             struct error *error);

/* Rolls back the current claim. A healthy connection stays open. */
void outbox_abandon(struct outbox *outbox);

/* *due: whether there are unsent rows, locked ones included, or parked rows whose time has come.
 * `declined`: as in struct claim_request. *parked: the number of parked and dead rows, counted up
 * to 1,000. */
int outbox_remaining(struct outbox *outbox, const struct declined *declined, bool *due, int *parked,
                     struct error *error);

/* Makes rows due that nothing else would: whose earlier row, or whose destination's probe, is gone.
 * A drain does not wait for the janitor to do so. *adopted: how many. */
int outbox_adopt(struct outbox *outbox, int64_t *adopted, struct error *error);

#endif
