#ifndef OUTBOX_CHOOSE_H
#define OUTBOX_CHOOSE_H

#include "outbox/pipeline.h"

/* Which slices a lane claims, from which ids on, and what it remembers of them. With order = "none"
 * the table is one slice, which everybody may claim. */

/* Whether bounds are kept: the ids are integers. */
bool choose_is_bounded(const struct outbox *outbox);

/* Queues the choice before a claim, and reads its answer: 0, or -1 and closed. */
int choose_queue(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                 struct error *error);
int choose_read(struct outbox *outbox, const struct claim *claim, struct error *error);

/* Takes note of the rows that the claim took into the batch. -1: they are not in their order, no
 * memory, or closed. */
int choose_note_claimed(struct outbox *outbox, struct batch *batch, const PGresult *claimed,
                        struct error *error);
/* They are settled and committed, as batch->messages say. */
void choose_note_settled(struct outbox *outbox, const struct batch *batch);

/* After a claim of so many rows: whether none came of slices that had some a moment ago. */
bool choose_looks_again(struct outbox *outbox, int rows, const struct claim *claim);
/* After a claim of none: asks which slices are empty, if that lets a bound pass. -1: closed. */
int choose_pass_empty(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                      struct error *error);

/* Asks for one: "fence", a transaction that has just got its number, or "horizon", before which all
 * have ended. -1: closed. */
int choose_number(struct outbox *outbox, const char *statement, int64_t *xact, struct error *error);

#endif
