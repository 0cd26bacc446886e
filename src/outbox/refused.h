#ifndef OUTBOX_REFUSED_H
#define OUTBOX_REFUSED_H

#include "outbox/settle_rows.h"

/*
 * The rows that PostgreSQL refuses to settle: the search for them, and their notes
 * (catalog/refused.h). Functions that return int return 0, or -1 with *error set and the session
 * closed.
 */

/* After an attempt with these rows was refused: attempts parts of them, ever smaller ones. Rows
 * that are refused alone get OUTCOME_REFUSED, or VERDICT_REFUSED in a trial. */
int refused_isolate(struct outbox *outbox, struct batch *batch, enum settling settling,
                    struct rows rows, struct error *error);

/* After PostgreSQL refused the settling transaction: notes which rows are sent, in a transaction of
 * its own, so that nobody publishes them again. The session stays open. */
int refused_settle(struct outbox *outbox, struct batch *batch, struct error *error);

/* After the connection was lost in a trial of one row: gives that row a note. */
int refused_note_killer(struct outbox *outbox, struct error *error);

/* Whether the batch is settled in parts and tried before it is published: while notes exist, and
 * for a minute after a settle or a trial of any lane of the process has failed. */
bool refused_in_parts(const struct outbox *outbox, const struct batch *batch);
void refused_use_parts(const struct batch *batch);

/* Sets batch->park_failure. */
void refused_keep_failure(struct batch *batch, const char *text);

#endif
