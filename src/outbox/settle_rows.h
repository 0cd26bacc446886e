#ifndef OUTBOX_SETTLE_ROWS_H
#define OUTBOX_SETTLE_ROWS_H

#include "message/rows.h"
#include "outbox/state.h"

/*
 * The statements that settle rows: they are queued with their parameters, or run after a savepoint.
 * Functions that return int return 0, or -1 with *error set, unless they say otherwise.
 */

enum settling {
    SETTLING_SENT,     /* mark or delete */
    SETTLING_TRIAL,    /* the same, rolled back */
    SETTLING_PARK,     /* park */
    SETTLING_NOTE,     /* write or change notes, but of no row that others have locked */
    SETTLING_NOTE_ALL, /* the same, but wait for such rows first; lock_timeout is an error */
    SETTLING_END_NOTES /* delete notes */
};

/* Queues the statement. Where triggers or rules could undo it, the check that they did not follows,
 * with the result of SET CONSTRAINTS before its own. */
int settling_queue(struct outbox *outbox, struct batch *batch, enum settling settling,
                   struct rows rows, struct error *error);
/* Whether the rows are settled by the positions of their slices, and not one by one. */
bool settling_by_position(const struct outbox *outbox, const struct batch *batch);
bool settling_is_checked(const struct outbox *outbox, const struct batch *batch);

/* Runs the statements after a savepoint. Returns 1; 0 when PostgreSQL refused, with *error and
 * session.failure set and nothing done; -1 when the session is closed. settling_begin() queues the
 * savepoint, and settling_end() runs what was queued since, and ends it. */
int settling_try(struct outbox *outbox, struct batch *batch, enum settling settling,
                 struct rows rows, struct error *error);
int settling_begin(struct outbox *outbox, struct error *error);
int settling_end(struct outbox *outbox, bool is_trial, struct error *error);

/* The statements raise an error when they settle another number of rows than they were given. This
 * says in *error what such an error means, and leaves others as they are. */
void settling_explain_count(const struct outbox *outbox, struct error *error);

/* What the parked table says of the message. */
const char *settling_reason(const struct message *message);

#endif
