#ifndef OUTBOX_NUMBERS_H
#define OUTBOX_NUMBERS_H

#include "outbox/state.h"

/*
 * With [outbox.columns] order: unsent rows without a number get one. Such rows are those that were
 * there before the column; later, those for which the trigger did not run.
 *
 * A lane that has connected claims nothing until it has seen that all unsent rows have numbers, and
 * tells the horizon only then that it has connected: a row of before gets a number below those of
 * newer rows, and no bound may have passed it.
 */

/* Has numbers_step() called before the next claim, if that was last done a second ago: claims see
 * only rows of the slices that they lock. Does nothing while a claim is in flight. */
void numbers_look(struct outbox *outbox);
/* Gives numbers to a batch of rows, in a transaction of its own; *done: there are none left. To be
 * called without a transaction. Returns 0, or -1 with *error set. */
int numbers_step(struct outbox *outbox, bool *done, struct error *error);

#endif
