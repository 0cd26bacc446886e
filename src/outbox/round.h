#ifndef OUTBOX_ROUND_H
#define OUTBOX_ROUND_H

#include "outbox/state.h"

/*
 * The round of a claim: the statements of one round trip, from BEGIN to the facts about the claim.
 * One table of steps says what is sent and what reads its answer; the settle of the batch before
 * may send the next round, which is then read without being queued again.
 */

enum round_rows {
    ROUND_CLAIM,     /* claims rows, into batch->rows */
    ROUND_FIRST_ROW, /* finds the first row that a claim would lock, and makes a message of its ids
                      */
    ROUND_FOUND_ROW  /* the same of the row of the batch's only message, in place of this message */
};

enum round_result {
    ROUND_READ,
    ROUND_UNREADABLE, /* the values of a row made the claim fail; rolled back */
    ROUND_UNROUTABLE, /* a topic that cannot be computed kept slices from being locked; rolled back
                       */
    ROUND_TOO_LEAN,   /* the claim has left out what its rows need now */
    ROUND_CHANGED,    /* the tables are not as they were described */
    ROUND_FAILED      /* *error is set; the session may be closed */
};

/* Queues the round; the caller sends it. Returns 0, or -1 with *error set and the session closed.
 */
int round_queue(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                enum round_rows rows, struct error *error);

/* Reads the answers to the round that was sent. */
enum round_result round_read(struct outbox *outbox, struct batch *batch,
                             const struct claim_request *request, enum round_rows rows,
                             struct error *error);

#endif
