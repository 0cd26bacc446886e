#ifndef OUTBOX_NUMBERS_H
#define OUTBOX_NUMBERS_H

#include "outbox/state.h"

/*
 * With [outbox.columns] order: unsent rows without a number get one. Such rows are those that were
 * there before the column; later, those for which the trigger did not run.
 *
 * A row of before gets a number below those of newer rows. Nobody claims rows of a slice in which
 * one waits for its number, and no bound passes it (lock_slices.sql, scan.sql). For later rows
 * nothing waits: they get the next numbers.
 */

/* Whether numbers_look() is to be called before the next claim. */
bool numbers_are_due(const struct outbox *outbox);
/* If it is due, gives numbers to some rows, in transactions of its own; *has_more: look again
 * soon. To be called without a transaction. Returns 0, or -1 with *error set. */
int numbers_look(struct outbox *outbox, bool *has_more, struct error *error);

#endif
