/*
 * Settle: writes the outcome of each message and commits, in the transaction that claimed the rows.
 *
 * One round trip carries the sent rows, COMMIT and, if requested, the next claim. Rows to be parked
 * are few; they are written before that round trip, after a savepoint. In a pipeline any error
 * skips all later statements, so nothing is claimed after a failed COMMIT. Each statement but
 * end_copies and end_notes, which delete what there is, raises an error when it affects a different
 * number of rows than it was given. What happens to rows that
 * PostgreSQL refuses is in refused.c.
 */
#include "outbox/refused.h"

#include "base/clock.h"
#include "outbox/round.h"
#include "outbox/settle_rows.h"
#include "outbox/slices/away.h"
#include "outbox/slices/batch_array.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* A row that was refused before and now leaves the outbox. */
static bool ends_its_note(const struct batch *batch, const struct message *message)
{
    return message->note != 0 && (rows_sent(batch, message) || rows_to_be_parked(batch, message));
}

/* The values of a row that could not be computed for the claim cannot be computed for the parked
 * table either. */
static bool is_not_computable(const struct outbox *outbox, const struct batch *batch)
{
    return outbox->table.is_computed && batch->messages[0].unreadable && !batch->parked &&
           failure_is_of_row(outbox->session.failure);
}

/* Parks such a row as a whole, as park_raw.sql says; only its id of a damaged one, which the server
 * cannot even copy: its value is lost already. Returns what settling_try() does. */
static int park_raw(struct outbox *outbox, const struct batch *batch, const char *as,
                    struct error *error)
{
    const struct message *message = &batch->messages[0];
    const char *reason = settling_reason(message);
    const struct array params[4] = {{.bytes = (char *)message->row, .len = MESSAGE_ROW_BYTES},
                                    {.bytes = (char *)reason, .len = strlen(reason)},
                                    {.bytes = (char *)as, .len = strlen(as)},
                                    {.bytes = (char *)message->id.data, .len = message->id.len}};

    if (settling_begin(outbox, error) < 0 ||
        session_queue(&outbox->session, "take_time", 0, NULL, false, error) < 0 ||
        session_queue(&outbox->session, "park_raw", 4, params, false, error) < 0)
        return -1;
    return settling_end(outbox, false, error);
}

/* Parks rows after a savepoint of their own, because a row that cannot be moved (a foreign key, a
 * lock, a column of another type) must not prevent the acknowledged rows from being settled.
 * Returns -1 when the session is closed. */
static int park(struct outbox *outbox, struct batch *batch, struct rows rows, struct error *error)
{
    int parked = settling_try(outbox, batch, SETTLING_PARK, rows, error);

    if (parked == 0 && is_not_computable(outbox, batch))
        parked = park_raw(outbox, batch, "whole", error);
    if (parked == 0 && outbox->session.failure == FAILURE_DAMAGED &&
        batch->messages[0].unreadable && !batch->parked)
        parked = park_raw(outbox, batch, "bare", error);
    if (parked != 0)
        return parked > 0 ? 0 : -1;
    if (!batch->parked || outbox->table.park != NULL)
        return refused_isolate(outbox, batch, SETTLING_PARK, rows, error);
    refused_keep_failure(batch, error->text);
    return 0;
}

/* With a savepoint for each attempt, so that no refused row takes the others with it. */
static int settle_in_parts(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int settled;

    if (rows_choose(&rows, batch, rows_sent, error) < 0)
        return -1;
    if (rows.count == 0)
        return 0;
    settled = settling_try(outbox, batch, SETTLING_SENT, rows, error);
    return settled != 0 ? (settled > 0 ? 0 : -1)
                        : refused_isolate(outbox, batch, SETTLING_SENT, rows, error);
}

/* Notes are written after a savepoint too: without them the rows are only claimed again. A parked
 * row needs no note. Returns 0 when there are none because PostgreSQL refuses them. */
static int note(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int noted;

    if (rows_choose(&rows, batch, rows_refused, error) < 0)
        return -1;
    if (rows.count == 0)
        return 1;
    if (batch->parked) {
        refused_keep_failure(batch, rows.messages[0]->reason);
        return 1;
    }
    noted = settling_try(outbox, batch, SETTLING_NOTE, rows, error);
    if (noted == 0)
        refused_keep_failure(batch, error->text);
    return noted;
}

/* Back to before rows were parked. They and the refused rows stay in the outbox. A position stops
 * before them, so that the later rows of their slices will be sent again: not at once. */
static int take_back_parked(struct outbox *outbox, struct batch *batch, struct error *error)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];

        if (!rows_to_be_parked(batch, message) && !rows_refused(batch, message))
            continue;
        message->outcome = OUTCOME_UNSENT;
        if (settling_by_position(outbox, batch))
            slice_lock_put_off(outbox->slices, message->slice);
    }
    if (session_queue(&outbox->session, "rollback_to", 0, NULL, false, error) < 0 ||
        session_sync(&outbox->session, error) < 0 || session_finish(&outbox->session, error) <= 0)
        return session_abort(&outbox->session);
    return 0;
}

/* Parks and notes rows. If a refused row gets no note, no row is parked either: a later row of its
 * key must not leave the outbox before it. */
static int set_aside(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int noted;

    if (rows_choose(&rows, batch, rows_to_be_parked, error) < 0)
        return -1;
    /* take_back_parked() goes back to this savepoint; settling_try() opens others of its name in
     * it. */
    if (rows.count > 0 &&
        (session_queue(&outbox->session, "savepoint", 0, NULL, false, error) < 0 ||
         park(outbox, batch, rows, error) < 0))
        return -1;
    noted = note(outbox, batch, error);
    return noted == 0 && rows.count > 0 ? take_back_parked(outbox, batch, error)
                                        : (noted < 0 ? -1 : 0);
}

static int queue_end_of_notes(struct outbox *outbox, struct batch *batch, int *ended,
                              struct error *error)
{
    struct rows rows = {0};

    if (batch->refused && rows_choose(&rows, batch, ends_its_note, error) < 0)
        return -1;
    *ended = rows.count;
    return rows.count > 0 ? settling_queue(outbox, batch, SETTLING_END_NOTES, rows, error) : 0;
}

/* The statements of the last round trip. */
struct last {
    bool marks; /* sent rows are settled */
    bool ends_notes;
};

static int queue_last(struct outbox *outbox, struct batch *batch, bool in_parts, struct last *last,
                      struct error *error)
{
    struct rows sent = {0};
    int ended;
    bool passes = false;

    if (settling_by_position(outbox, batch)) {
        if (slice_lock_queue_pass(outbox->slices, batch, &passes, error) < 0)
            return -1;
        *last = (struct last){.marks = passes};
        return session_queue(&outbox->session, "commit", 0, NULL, false, error);
    }
    if (!in_parts && rows_choose(&sent, batch, rows_sent, error) < 0)
        return -1;
    if ((sent.count > 0 && settling_queue(outbox, batch, SETTLING_SENT, sent, error) < 0) ||
        queue_end_of_notes(outbox, batch, &ended, error) < 0)
        return -1;
    *last = (struct last){sent.count > 0, ended > 0};
    return session_queue(&outbox->session, "commit", 0, NULL, false, error);
}

static int read_last(struct outbox *outbox, const struct batch *batch, const struct last *last,
                     struct error *error)
{
    struct session *session = &outbox->session;

    if ((last->marks && session_check(session, PGRES_TUPLES_OK, error) < 0) ||
        (last->marks && outbox->table.park != NULL &&
         session_check(session, PGRES_TUPLES_OK, error) < 0) ||
        (last->marks && settling_is_checked(outbox, batch) &&
         (session_check(session, PGRES_COMMAND_OK, error) < 0 ||
          session_check(session, PGRES_TUPLES_OK, error) < 0)) ||
        (last->ends_notes && session_check(session, PGRES_TUPLES_OK, error) < 0))
        return -1;
    return session_read_commit(session, error);
}

/* Returns 0; 1 when PostgreSQL refused to settle or to commit, with *error set; -1 when the session
 * is closed. */
static int settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error)
{
    struct session *session = &outbox->session;
    bool in_parts = refused_in_parts(outbox, batch);
    struct last last;

    if ((in_parts && settle_in_parts(outbox, batch, error) < 0) ||
        set_aside(outbox, batch, error) < 0 ||
        queue_last(outbox, batch, in_parts, &last, error) < 0)
        return -1;
    /* The flush request makes the server answer the COMMIT before it runs the next claim. */
    if (next != NULL && (session_request_flush(session, error) < 0 ||
                         round_queue(outbox, batch, next, ROUND_CLAIM, error) < 0))
        return -1;
    outbox->server.unconfirmed_xact = outbox->xact;
    if (session_sync(session, error) < 0)
        return -1;
    if (read_last(outbox, batch, &last, error) < 0) {
        if (session->conn == NULL)
            return -1;
        outbox->server.unconfirmed_xact = 0; /* it was refused */
        return 1;
    }
    outbox->server.unconfirmed_xact = 0;
    return 0;
}

int outbox_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error)
{
    int settled;

    batch->park_failure = NULL;
    if (next != NULL &&
        (numbers_are_due(outbox) || !outbox_has_prepared(outbox, next->refused) ||
         away_scan_is_due(outbox->slices, next) || !slice_lock_read_horizon(outbox->slices, next)))
        next = NULL;
    settled = settle(outbox, batch, next, error);
    if (settled != 0)
        refused_use_parts(batch);
    if (settled > 0 && !settling_by_position(outbox, batch))
        return refused_settle(outbox, batch, error);
    if (settled != 0)
        return session_abort(&outbox->session);
    if (batch->refused && outbox->refused_level > 0 && batch_count(batch, OUTCOME_REFUSED) == 0)
        outbox->refused_level--;
    slice_lock_note_settled(outbox->slices, batch);
    outbox->session.in_flight = next != NULL;
    outbox->sent_at_ms =
        clock_boot_ms(); /* a slow COMMIT must not count as time the process slept */
    return next != NULL ? 0 : session_skip(&outbox->session, PGRES_PIPELINE_SYNC, error);
}

int outbox_remaining(struct outbox *outbox, const struct declined *declined, bool *due, int *parked,
                     struct error *error)
{
    uint32_t are_refused = htobe32(outbox->numbers_are_refused);
    struct array params[2] = {[1] = {.bytes = (char *)&are_refused, .len = sizeof are_refused}};
    PGresult *result = NULL;

    declined_array(&params[0], malloc(declined_array_size(declined)), declined);
    if (params[0].bytes == NULL)
        (void)error_no_memory(error);
    else
        result = session_run(&outbox->session, "remaining", outbox->table.numbered ? 2 : 1, params,
                             error);
    free(params[0].bytes);
    if (result == NULL)
        return -1;
    *due = PQgetvalue(result, 0, 0)[0] == 't';
    if (*due)
        slice_lock_ignore_bounds(outbox->slices); /* the unsent row may be below a bound */
    *parked = (int)strtol(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return 0;
}

int outbox_adopt(struct outbox *outbox, int64_t *adopted, struct error *error)
{
    static const char *const statements[] = {"adopt_probes", "adopt_behind"};
    struct session *session = &outbox->session;

    *adopted = 0;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        PGresult *result = NULL;

        if (session_queue(session, statements[i], 0, NULL, false, error) == 0 &&
            session_sync(session, error) == 0)
            result = session_expect(session, PGRES_COMMAND_OK, error);
        if (result == NULL)
            return session_abort(session);
        *adopted += strtoll(PQcmdTuples(result), NULL, 10);
        PQclear(result);
        if (session_skip(session, PGRES_PIPELINE_SYNC, error) < 0)
            return -1;
    }
    return 0;
}
