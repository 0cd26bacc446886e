#ifndef OUTBOX_REFUSED_H
#define OUTBOX_REFUSED_H

#include "outbox/state.h"

/*
 * Settling in parts: attempts after savepoints, the search for the rows that PostgreSQL refuses,
 * and their notes (catalog/refused.h). Functions that return int return 0, or -1 with *error set
 * and the session closed, unless they say otherwise.
 */

/* Messages of a batch, in its order, in its memory. */
struct rows {
    struct message **messages;
    int count;
};

enum settling {
    SETTLING_SENT,     /* mark or delete */
    SETTLING_TRIAL,    /* the same, rolled back */
    SETTLING_PARK,     /* park */
    SETTLING_NOTE,     /* write or change notes */
    SETTLING_END_NOTES /* delete notes */
};

/* Chooses the messages that `belongs` says; -1: no memory. */
int rows_choose(struct rows *rows, struct batch *batch,
                bool (*belongs)(const struct batch *batch, const struct message *message),
                struct error *error);

/* Queues the statement. Where triggers or rules could undo it, the check that they did not follows,
 * with the result of SET CONSTRAINTS before its own. */
int settling_queue(struct outbox *outbox, struct batch *batch, enum settling settling,
                   struct rows rows, struct error *error);
bool settling_is_checked(const struct outbox *outbox, const struct batch *batch);

/* Runs the statements after a savepoint. Returns 1; 0 when PostgreSQL refused, with *error and
 * session.failure set and nothing done; -1 when the session is closed. settling_begin() queues the
 * savepoint, and settling_end() runs what was queued since, and ends it. */
int settling_try(struct outbox *outbox, struct batch *batch, enum settling settling,
                 struct rows rows, struct error *error);
int settling_begin(struct outbox *outbox, struct error *error);
int settling_end(struct outbox *outbox, bool is_trial, struct error *error);

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

/* What the parked table says of the message. */
const char *refused_reason(const struct message *message);

/* Sets batch->park_failure. */
void refused_keep_failure(struct batch *batch, const char *text);

#endif
