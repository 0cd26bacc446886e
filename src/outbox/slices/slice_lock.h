#ifndef OUTBOX_SLICES_SLICE_LOCK_H
#define OUTBOX_SLICES_SLICE_LOCK_H

#include "outbox/pipeline.h"

/* Which slices a lane locks for a claim, from which bounds on, and what it learns from the claim.
 * With order = "none" the table is one slice, which nobody locks. */

/* Reads the horizon for the next claim. No snapshot of that claim may be older. */
void slice_lock_read_horizon(struct outbox *outbox, const struct claim_request *request);
/* Queues the lock before a claim, and reads its answer: 0, or -1. */
int slice_lock_queue(struct outbox *outbox, struct batch *batch,
                     const struct claim_request *request, struct error *error);
int slice_lock_read(struct outbox *outbox, const struct claim_request *request,
                    struct error *error);

/* Records how far the batch reached in each locked slice. -1: the rows are not in the order of
 * their ids. Sets batch->more when a slice may hold more rows, or other slices may. */
int slice_lock_note_claimed(struct outbox *outbox, struct batch *batch, struct error *error);
/* The claim found nothing. Whether it is to be repeated at once, because slices were thought to
 * have rows. */
bool slice_lock_note_empty(struct outbox *outbox, const struct claim_request *request);
/* So many of the slices that were locked have a row that holds up the claim: see turns_avoid. */
void slice_lock_avoid(struct outbox *outbox, int count);
/* The rows are settled and committed, as batch->messages say. */
void slice_lock_note_settled(struct outbox *outbox, const struct batch *batch);

#endif
