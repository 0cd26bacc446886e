#ifndef OUTBOX_CLAIM_QUEUE_H
#define OUTBOX_CLAIM_QUEUE_H

#include "outbox/state.h"

/* What is sent for a claim. Each returns 0, or -1 with *error set. */

int claim_queue(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                struct error *error);
/* Parts of it: BEGIN, the table's lock and those of slices; and, instead of the claim, the place
 * and the id of the first row that it would take. */
int claim_queue_transaction(struct outbox *outbox, struct batch *batch,
                            const struct claim_request *request, struct error *error);
int claim_queue_first_row(struct outbox *outbox, struct batch *batch,
                          const struct claim_request *request, struct error *error);

#endif
