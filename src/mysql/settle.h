#ifndef MYSQL_SETTLE_H
#define MYSQL_SETTLE_H

#include "mysql/state.h"

/* The statements that settle rows, and the search for rows that the server refuses to settle. */

enum settle {
    SETTLE_SENT,  /* rows that were acknowledged */
    SETTLE_TRIAL, /* the same, only tried */
    SETTLE_PARK,
    SETTLE_NOTE,
    SETTLE_END_NOTES
};

/* Runs the statements. Returns 1; 0 with *error set when the server refuses them, and the
 * transaction is as after the savepoint; -1 when the transaction or the session is lost. */
int settle_try(struct outbox *outbox, struct batch *batch, enum settle what, struct rows rows,
               struct error *error);
/* Moves the savepoint behind what was done. Returns 0, or -1. */
int settle_keep(struct outbox *outbox, struct error *error);
/* Sets batch->park_failure. */
void settle_keep_failure(struct batch *batch, const char *text);

/* Makes the first parked rows of the keys of these rows due. */
int release_next(struct outbox *outbox, struct rows rows, struct error *error);
/* Makes rows due that wait for what parked rows of the batch have reached. */
int release_waiting(struct outbox *outbox, struct batch *batch, struct error *error);

/* Makes rows due that nothing else would: whose earlier row, or whose destination's probe, is gone.
 * Returns how many; -1 with *error set. */
int64_t settle_adopt(const struct tables *tables, struct db_session *session, struct error *error);
/* The first column of an answer as a JSON array of numbers; free() it. NULL: no memory. */
char *settle_pack_first(MYSQL_RES *rows);

/* After an attempt with these rows was refused: attempts parts of them, ever smaller ones, and
 * keeps what succeeds. Rows that are refused alone get OUTCOME_REFUSED, or VERDICT_REFUSED in a
 * trial. Returns 0, or -1; in a trial also when the server refuses all of them for a reason that is
 * about the table. */
int refused_isolate(struct outbox *outbox, struct batch *batch, enum settle what, struct rows rows,
                    struct error *error);
/* From now on, for a minute, rows are tried before they are published. */
void refused_use_parts(void);

#endif
