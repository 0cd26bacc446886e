/*
 * Settle: writes the outcome of each message and commits, in the transaction that claimed the rows.
 *
 * One round trip carries the sent rows, COMMIT and, if requested, the next claim. Rows to be parked
 * are few; they are written before that round trip, after a savepoint. In a pipeline any error
 * skips all later statements, so nothing is claimed after a failed COMMIT. Each statement raises an
 * error when it affects a different number of rows than it was given.
 */
#include "base/clock.h"
#include "outbox/claim_queue.h"
#include "outbox/slices/away.h"
#include "outbox/slices/batch_array.h"
#include "outbox/slices/slice_lock.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS_DEAD (-1)
#define WAIT_MS_BEHIND (-2)

/* A parked row that still waits for an earlier row of its key is not written again. */
static bool is_parked(const struct batch *batch, const struct message *message)
{
    return message->outcome == OUTCOME_PARK || message->outcome == OUTCOME_DEAD ||
           (message->outcome == OUTCOME_BEHIND && !batch->parked);
}

/* How many rows there are to write, and how long the texts are. */
struct tally {
    int sent;
    int parked;
    size_t reason_bytes; /* total length of the reasons of the rows to be parked */
    size_t waits_bytes;  /* total length of the destinations that they wait for */
};

static const char *reason_of(const struct message *message)
{
    return message->reason != NULL ? message->reason : "";
}

static struct tally tally_batch(const struct batch *batch)
{
    struct tally tally = {0};

    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];

        tally.sent += message->outcome == OUTCOME_SENT;
        if (!is_parked(batch, message))
            continue;
        tally.parked++;
        tally.reason_bytes += strlen(reason_of(message));
        tally.waits_bytes += message->waits_for.len;
    }
    return tally;
}

static int queue_sent(struct outbox *outbox, struct batch *batch, int count, struct error *error)
{
    uint32_t rows = htobe32((uint32_t)count);
    struct array params[2] = {[1] = {.bytes = (char *)&rows, .len = sizeof rows}};

    batch_array_begin(&params[0], batch, ARRAY_TID, count, (size_t)count * MESSAGE_ROW_BYTES);
    if (params[0].bytes == NULL)
        return error_no_memory(error);
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].outcome == OUTCOME_SENT)
            array_add(&params[0], batch->messages[i].row, MESSAGE_ROW_BYTES);
    return pipeline_queue(&outbox->pipeline, batch->parked ? "sent_parked" : "sent", 2, params,
                          false, error);
}

static int queue_parked(struct outbox *outbox, struct batch *batch, const struct tally *tally,
                        struct error *error)
{
    int count = tally->parked;
    uint32_t rows = htobe32((uint32_t)count);
    struct array params[6] = {[1] = {.bytes = (char *)&rows, .len = sizeof rows}};

    batch_array_begin(&params[0], batch, ARRAY_TID, count, (size_t)count * MESSAGE_ROW_BYTES);
    batch_array_begin(&params[2], batch, ARRAY_TEXT, count, tally->reason_bytes);
    batch_array_begin(&params[3], batch, ARRAY_INT4, count, (size_t)count * sizeof(int32_t));
    batch_array_begin(&params[4], batch, ARRAY_INT8, count, (size_t)count * sizeof(int64_t));
    batch_array_begin(&params[5], batch, ARRAY_TEXT, count, tally->waits_bytes);
    for (int i = 0; i < 6; i++)
        if (params[i].bytes == NULL)
            return error_no_memory(error);
    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];
        int64_t wait_ms = message->retry_ms;

        if (!is_parked(batch, message))
            continue;
        if (message->outcome == OUTCOME_DEAD)
            wait_ms = WAIT_MS_DEAD;
        else if (message->outcome == OUTCOME_BEHIND)
            wait_ms = WAIT_MS_BEHIND;
        array_add(&params[0], message->row, MESSAGE_ROW_BYTES);
        array_add(&params[2], reason_of(message), strlen(reason_of(message)));
        array_add_int4(&params[3], message->attempts);
        array_add_int8(&params[4], wait_ms);
        if (message->waits_for.data == NULL)
            array_add_null(&params[5]);
        else
            array_add(&params[5], message->waits_for.data, message->waits_for.len);
    }
    return pipeline_queue(&outbox->pipeline, batch->parked ? "park_parked" : "park", 6, params,
                          false, error);
}

static int queue_plain(struct outbox *outbox, const char *statement, struct error *error)
{
    return pipeline_queue(&outbox->pipeline, statement, 0, NULL, false, error);
}

/* Returns 1 when the rows were parked; 0 when the server refused, with *error and
 * outbox->pipeline.failure set; -1 when the session is closed. */
static int try_to_park(struct outbox *outbox, struct error *error)
{
    enum failure failure;
    struct error ignored;
    int parked;

    if (pipeline_sync(&outbox->pipeline, error) < 0 ||
        pipeline_skip(&outbox->pipeline, PGRES_COMMAND_OK, error) < 0)
        return -1;
    parked = pipeline_try(&outbox->pipeline, error);
    failure = outbox->pipeline.failure;
    if (parked < 0 || pipeline_skip(&outbox->pipeline, PGRES_PIPELINE_SYNC, &ignored) < 0)
        return -1;
    outbox->pipeline.failure = failure;
    return parked;
}

/* Parks a row with its id only. This is right only for a damaged value, which the server cannot
 * even copy: it is lost already. Other obstacles are temporary. */
static int park_bare(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    const struct message *message = &batch->messages[0];
    const char *reason = reason_of(message);
    const struct array params[2] = {{.bytes = (char *)message->row, .len = MESSAGE_ROW_BYTES},
                                    {.bytes = (char *)reason, .len = strlen(reason)}};

    if (queue_plain(outbox, "rollback_to", error) < 0 ||
        pipeline_queue(&outbox->pipeline, "park_bare", 2, params, false, error) < 0)
        return -1;
    return try_to_park(outbox, error);
}

/* Parks rows after a savepoint of their own: a row that cannot be moved (a foreign key, a lock, a
 * column of another type) must not prevent the acknowledged rows from being settled. Returns -1
 * when the session is closed. */
static int park(struct outbox *outbox, struct batch *batch, const struct tally *tally,
                struct error *error)
{
    const char *why;
    int parked;

    if (queue_plain(outbox, "savepoint", error) < 0 ||
        queue_parked(outbox, batch, tally, error) < 0)
        return -1;
    parked = try_to_park(outbox, error);
    if (parked == 0 && outbox->pipeline.failure == FAILURE_DAMAGED &&
        batch->messages[0].unreadable && !batch->parked)
        parked = park_bare(outbox, batch, error);
    if (parked != 0)
        return parked > 0 ? 0 : -1;
    why = batch_copy(batch, error->text, strlen(error->text)).data;
    batch->park_failure = why != NULL ? why : "out of memory";
    if (queue_plain(outbox, "rollback_to", error) < 0 ||
        pipeline_sync(&outbox->pipeline, error) < 0 ||
        pipeline_skip(&outbox->pipeline, PGRES_COMMAND_OK, error) < 0)
        return -1;
    return pipeline_skip(&outbox->pipeline, PGRES_PIPELINE_SYNC, error);
}

/* In a failed transaction the server answers COMMIT with "ROLLBACK", which libpq does not report as
 * an error. */
static int read_commit(struct outbox *outbox, struct error *error)
{
    PGresult *result = pipeline_expect(&outbox->pipeline, PGRES_COMMAND_OK, error);
    bool committed;

    if (result == NULL)
        return -1;
    committed = strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (!committed)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "database: the settling transaction was rolled back");
    outbox->pipeline.in_transaction = false;
    return 0;
}

/* The count check raises its error by a failing cast; this replaces the text of that error. */
static void explain_count(const struct outbox *outbox, struct error *error)
{
    char *settled = strstr(error->text, "settled ");
    char counted[64];

    if (settled == NULL)
        return;
    (void)snprintf(counted, sizeof counted, "%.*s", (int)strcspn(settled, "\""), settled);
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: %s: a trigger or a rule on table %s interferes", counted,
                    outbox->table.quoted);
}

static int settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error)
{
    struct pipeline *pipeline = &outbox->pipeline;
    struct tally tally = tally_batch(batch);

    if ((tally.parked > 0 && park(outbox, batch, &tally, error) < 0) ||
        (tally.sent > 0 && queue_sent(outbox, batch, tally.sent, error) < 0) ||
        queue_plain(outbox, "commit", error) < 0)
        return -1;
    /* The flush request makes the server answer the COMMIT before it runs the next claim. */
    if (next != NULL && (pipeline_request_flush(pipeline, error) < 0 ||
                         claim_queue(outbox, batch, next, error) < 0))
        return -1;
    server_note_unconfirmed_commit(&outbox->server, outbox->xact);
    if (pipeline_sync(pipeline, error) < 0 ||
        (tally.sent > 0 && pipeline_skip(pipeline, PGRES_TUPLES_OK, error) < 0) ||
        read_commit(outbox, error) < 0)
        return -1;
    server_note_unconfirmed_commit(&outbox->server, 0);
    return 0;
}

int outbox_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error)
{
    batch->park_failure = NULL;
    if (next != NULL && away_scan_is_due(&outbox->slices, next))
        next = NULL;
    if (next != NULL) {
        slice_lock_read_horizon(&outbox->slices, next);
        if (outbox->slices.view.starting)
            next = NULL;
    }
    if (settle(outbox, batch, next, error) < 0) {
        explain_count(outbox, error);
        return pipeline_abort(&outbox->pipeline);
    }
    slice_lock_note_settled(&outbox->slices, batch);
    outbox->pipeline.in_flight = next != NULL;
    outbox->sent_at_ms =
        clock_boot_ms(); /* a slow COMMIT must not count as time the process slept */
    return next != NULL ? 0 : pipeline_skip(&outbox->pipeline, PGRES_PIPELINE_SYNC, error);
}

int outbox_remaining(struct outbox *outbox, bool *due, int *parked, struct error *error)
{
    PGresult *result = pipeline_run(&outbox->pipeline, "remaining", 0, NULL, error);

    if (result == NULL)
        return -1;
    *due = PQgetvalue(result, 0, 0)[0] == 't';
    outbox->slices.ignores_bounds = *due; /* the unsent row may be below a bound */
    *parked = (int)strtol(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return 0;
}
