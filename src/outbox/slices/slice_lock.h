#ifndef OUTBOX_SLICES_SLICE_LOCK_H
#define OUTBOX_SLICES_SLICE_LOCK_H

#include "catalog/table.h"
#include "message/batch.h"
#include "outbox/slices/horizon.h"
#include "pg/session.h"
#include "source/claim_request.h"

/* Which slices a lane locks for a claim, the bounds that it claims from, and what it learns from
 * the claim. With order = "none" the table is one slice, which is not locked. */

struct slice_lock;

/* What the lane's slices belong to; all of it outlives the slice lock. */
struct slice_lock_owner {
    const struct outbox_options *options;
    const struct table *table;
    const struct server *server;
    struct session *session;
    const char *era; /* what the positions were about when the lane connected */
};

/* NULL: no memory. */
struct slice_lock *slice_lock_open(const struct slice_lock_owner *owner);
void slice_lock_close(struct slice_lock *lock);
/* Sets the horizon that the lanes of a process share. Returns 0, or -1 when there is no memory. */
int slice_lock_share(struct slice_lock *lock, struct horizon *horizon);
/* Sets other options, with the same number of slices. */
void slice_lock_reopen(struct slice_lock *lock, const struct outbox_options *options);
/* To be called before the lane looks whether ids have begun anew, and when it has connected. */
void slice_lock_connecting(struct slice_lock *lock);
void slice_lock_connected(struct slice_lock *lock);

/* Reads the horizon for the next claim, whose snapshots must be taken afterwards. Returns false
 * while claims wait for the first scan of the epoch. */
bool slice_lock_read_horizon(struct slice_lock *lock, const struct claim_request *request);
/* Whether it knew transactions because of which claims read from the high bounds. */
bool slice_lock_has_holders(const struct slice_lock *lock);
/* The next view has no bounds: a row may be below its bound. */
void slice_lock_ignore_bounds(struct slice_lock *lock);
/* The next claim locks one slice only. */
void slice_lock_narrow(struct slice_lock *lock);
/* The next claim locks this slice, or none. */
void slice_lock_choose(struct slice_lock *lock, int slice);

/* Queues the statement of this name, which locks slices, and reads its answer. Return 0, or -1 with
 * *error set and the session closed. */
int slice_lock_queue(struct slice_lock *lock, const char *statement, bool is_lean,
                     struct batch *batch, const struct claim_request *request, struct error *error);
int slice_lock_read(struct slice_lock *lock, const PGresult *answer,
                    const struct claim_request *request, struct error *error);

/* The parameters $3 to $7 of claim_table.sql, in the memory of `bounds` and of the batch.
 * Returns 0, or -1 with *error set. */
#define SLICE_LOCK_BOUND_PARAMS 5
struct slice_lock_bounds {
    uint64_t low, high, file, end; /* big-endian */
};
int slice_lock_put_bounds(struct slice_lock *lock, struct batch *batch,
                          struct slice_lock_bounds *bounds,
                          struct array params[SLICE_LOCK_BOUND_PARAMS], struct error *error);

/* Records whether the claim has read from the high bounds. */
void slice_lock_note_high(struct slice_lock *lock, bool read_high);
/* Records how far the batch reached in each locked slice; the claim asked for `limit` rows. Sets
 * batch->has_more when these or other slices may have more rows. Returns -1 when the rows are not
 * in the order of their ids. */
int slice_lock_note_claimed(struct slice_lock *lock, struct batch *batch, int limit,
                            struct error *error);
/* Records that the claim found nothing. Returns whether to claim again at once, because the locked
 * slices should have had rows. */
bool slice_lock_note_empty(struct slice_lock *lock, const struct claim_request *request);
/* The claim in hand reports nothing about a slice. */
void slice_lock_forget(struct slice_lock *lock);
/* A row of this slice holds it up: puts it off (choice_postpone). */
void slice_lock_put_off(struct slice_lock *lock, int slice);
/* One of the locked slices has a row that holds up the claim: puts that slice off
 * (choice_postpone). */
void slice_lock_postpone(struct slice_lock *lock);
/* With on_sent = "position": queues the statement that moves the positions of the locked slices
 * over the rows that are settled, up to the first that stays unsent. *queued: some position moves.
 * Returns 0, or -1 with *error set. */
int slice_lock_queue_pass(struct slice_lock *lock, struct batch *batch, bool *queued,
                          struct error *error);
/* Raises the bounds after the batch was settled and committed, unless a row of it stays unsent. */
void slice_lock_note_settled(struct slice_lock *lock, const struct batch *batch);

#endif
