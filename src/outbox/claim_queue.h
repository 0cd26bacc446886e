#ifndef OUTBOX_CLAIM_QUEUE_H
#define OUTBOX_CLAIM_QUEUE_H

#include "outbox/state.h"

/* Queues the statements of a claim. All return 0, or -1 with *error set. */

int claim_queue(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                struct error *error);
/* Parts of it: BEGIN with the locks of the table and of slices; and, in place of the claim, a query
 * for the ctid and the id of the first row that the claim would lock. */
int claim_queue_transaction(struct outbox *outbox, struct batch *batch,
                            const struct claim_request *request, struct error *error);
int claim_queue_first_row(struct outbox *outbox, struct batch *batch,
                          const struct claim_request *request, struct error *error);

#endif
