/*
 * Claim: lock the next rows and turn them into messages.
 *
 * Memory is bounded whatever the rows hold: of those above the claim's inline limit only as many
 * come whole as the batch's byte limit allows, the others as lengths. There the batch is cut; the
 * rest of it stays locked until this transaction ends, and comes with the next.
 */
#include "base/clock.h"
#include "catalog/filter.h"
#include "outbox/claim_queue.h"
#include "outbox/row.h"
#include "outbox/slices/away.h"
#include "outbox/slices/slice_lock.h"
#include "outbox/unreadable.h"
#include "pg/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ISOLATE_MS                                                                                 \
    60000             /* how long a claim stays small for the sake of a row that is not found      \
                       */
#define UUID_OID 2950 /* PostgreSQL's pg_type.dat; the parked table's may be another type */

/* A COMMIT would wait for the disk, and for a standby that is away, because rows were locked. */
void outbox_abandon(struct outbox *outbox)
{
    struct error ignored;

    if (outbox->pipeline.in_flight)
        pipeline_close(&outbox->pipeline);
    if (outbox->pipeline.session.conn != NULL && outbox->pipeline.in_transaction)
        (void)pipeline_end_transaction(&outbox->pipeline, false, &ignored);
}

static void release_result(void *result)
{
    PQclear(result);
}

static inline struct text field(const PGresult *result, int row, int column)
{
    int len = PQgetlength(result, row, column);

    if (len == 0 && PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return (struct text){PQgetvalue(result, row, column), (size_t)len};
}

/* What lies in the result. */
static void take_row(const struct batch *batch, struct message *message, int row)
{
    const PGresult *result = batch->rows;

    memcpy(message->row, PQgetvalue(result, row, CLAIM_ROW), sizeof message->row);
    message->id = field(result, row, CLAIM_ID);
    message->event_id = field(result, row, CLAIM_EVENT_ID);
    message->topic = field(result, row, CLAIM_TOPIC);
    message->key = field(result, row, CLAIM_KEY);
    message->type = field(result, row, CLAIM_TYPE);
    message->payload = field(result, row, CLAIM_PAYLOAD);
    if (message->payload.data != NULL)
        message->payload_len = (int64_t)message->payload.len;
    if (!batch->parked)
        message->slice = wire_int4(PQgetvalue(result, row, CLAIM_SLICE));
    if (batch->parked) {
        message->attempts = wire_int4(PQgetvalue(result, row, CLAIM_ATTEMPTS));
        message->waited_ms = wire_int8(PQgetvalue(result, row, CLAIM_WAITED));
    }
    message->blocked = !PQgetisnull(result, row, CLAIM_BLOCKED);
}

/* And what is made of it, in the batch's memory. */
static void finish_row(const struct outbox *outbox, struct batch *batch, struct message *message,
                       int row, struct text headers)
{
    const PGresult *result = batch->rows;
    const char *problem;
    char *text;
    size_t len;

    message->payload_is_json = outbox->payload_is_json;
    if (!PQgetisnull(result, row, CLAIM_CREATED_AT) &&
        (text = batch_alloc(batch, ROW_TIME_BYTES)) != NULL) {
        int64_t created_us = wire_int8(PQgetvalue(result, row, CLAIM_CREATED_AT));

        len = row_time(text, created_us);
        if (len > 0) {
            message->created_at = (struct text){text, len};
            message->created_us = created_us + ROW_EPOCH_US;
        }
    }
    problem = row_headers(message, headers, batch);
    if (problem != NULL)
        batch_refuse(batch, message, problem == row_no_memory ? VERDICT_WAIT : VERDICT_REJECTED,
                     "%s", problem);
    if (message->event_id.data == NULL) {
        batch_refuse(batch, message, VERDICT_REJECTED, "the event id is NULL");
    } else if (PQftype(result, CLAIM_EVENT_ID) == UUID_OID) {
        text = batch_alloc(batch, ROW_UUID_BYTES);
        if (text == NULL) {
            batch_refuse(batch, message, VERDICT_WAIT, "%s", row_no_memory);
            return;
        }
        row_uuid(text, message->event_id.data);
        message->event_id = (struct text){text, ROW_UUID_BYTES - 1};
    }
}

/* What a claimed row weighs, and whether it came whole. */
struct weight {
    int64_t bytes;
    int64_t rest_len;
    bool whole;     /* everything is in the claim's result */
    bool too_large; /* for the broker, or for anybody */
};

static struct weight weigh(const PGresult *result, int row, struct message *message,
                           struct text headers, int64_t payload_max)
{
    struct weight weight = {.whole = PQgetisnull(result, row, CLAIM_LENGTHS)};
    int64_t payload_len;

    if (weight.whole) {
        weight.rest_len = (int64_t)(message->key.len + message->type.len + headers.len);
    } else {
        const char *lengths = PQgetvalue(result, row, CLAIM_LENGTHS);

        message->payload_len = wire_int8(lengths);
        weight.rest_len = wire_int8(lengths + sizeof(int64_t));
    }
    payload_len = message->payload_len;
    weight.too_large =
        weight.rest_len > CLAIM_REST_BYTES_MAX || (!weight.whole && payload_len > payload_max);
    if (!weight.too_large)
        weight.bytes = (payload_len > 0 ? payload_len : 0) + weight.rest_len;
    return weight;
}

/* Turns result rows into messages until the byte limit; one row is always taken, but when it came
 * without its payload. Returns the bytes. */
static int64_t fill(struct outbox *outbox, struct batch *batch, int64_t payload_max)
{
    const PGresult *result = batch->rows;
    int rows = PQntuples(result);
    int64_t bytes = 0;

    batch->has_more = rows == outbox_claim_limit(outbox, outbox->level);
    for (int row = 0; row < rows; row++) {
        struct message *message = batch_add(batch);
        struct text headers = field(result, row, CLAIM_HEADERS);
        struct weight weight;
        bool alone, absent;

        take_row(batch, message, row);
        weight = weigh(result, row, message, headers, payload_max);
        /* Its key may be one that other rows of the batch have, and nobody can tell; nor whether it
         * is NULL. */
        alone =
            weight.too_large && outbox->options->order == ORDER_KEY && message->key.data == NULL;
        absent = !weight.whole && !weight.too_large;
        if (absent || (row > 0 && (alone || bytes + weight.bytes > outbox->options->batch_bytes))) {
            batch->count--;
            batch->has_more = true;
            return bytes;
        }
        bytes += weight.bytes;
        finish_row(outbox, batch, message, row, headers);
        if (weight.rest_len > CLAIM_REST_BYTES_MAX)
            batch_refuse(batch, message, VERDICT_REJECTED,
                         "key, type and headers take %" PRId64 " bytes; at most 131072 are allowed",
                         weight.rest_len);
        if (alone) {
            batch->has_more = batch->has_more || rows > 1;
            return bytes;
        }
    }
    return bytes;
}

/* A batch that was cut means rows were locked and read for nothing: the next claim asks for fewer;
 * for more only when so many of this size would fit, and no row is being isolated. */
static void adapt_level(struct outbox *outbox, const struct batch *batch, int64_t bytes)
{
    bool cut = batch->count < PQntuples(batch->rows);
    int64_t row_bytes = bytes / batch->count;

    if (cut && outbox->level < CLAIM_LEVELS - 1)
        outbox->level++;
    else if (!cut && outbox->level > 0 && clock_now_ms() >= outbox->isolate_until_ms &&
             row_bytes * outbox_claim_limit(outbox, outbox->level - 1) <=
                 outbox->options->batch_bytes)
        outbox->level--;
}

static int keep_pauses(struct outbox *outbox, const PGresult *result, int column,
                       struct error *error)
{
    free(outbox->pauses);
    outbox->pauses = NULL;
    if (PQgetisnull(result, 0, column))
        return 0;
    outbox->pauses = strdup(PQgetvalue(result, 0, column));
    return outbox->pauses != NULL ? 0 : error_no_memory(error);
}

const char *outbox_pauses(const struct outbox *outbox)
{
    return outbox->pauses;
}

int outbox_look_for_pauses(struct outbox *outbox, struct error *error)
{
    PGresult *result = pipeline_run(&outbox->pipeline, "pauses", 0, NULL, error);
    int status = result != NULL ? keep_pauses(outbox, result, 0, error) : -1;

    PQclear(result);
    return status;
}

static int read_claimed(struct outbox *outbox, struct error *error)
{
    PGresult *result = pipeline_expect(&outbox->pipeline, PGRES_TUPLES_OK, error);
    int status;

    if (result == NULL)
        return -1;
    outbox->flushed =
        !PQgetisnull(result, 0, CLAIMED_FLUSHED) && PQgetvalue(result, 0, CLAIMED_FLUSHED)[0] != 0;
    outbox->xact =
        PQgetisnull(result, 0, CLAIMED_XACT) ? 0 : wire_int8(PQgetvalue(result, 0, CLAIMED_XACT));
    outbox->worked_ms = (wire_int8(PQgetvalue(result, 0, CLAIMED_DONE)) -
                         wire_int8(PQgetvalue(result, 0, CLAIMED_BEGAN))) /
                        1000;
    outbox->slices.read_high =
        !PQgetisnull(result, 0, CLAIMED_HIGH) && PQgetvalue(result, 0, CLAIMED_HIGH)[0] != 0;
    status = keep_pauses(outbox, result, CLAIMED_PAUSES, error);
    PQclear(result);
    return status;
}

enum claim_result { CLAIM_READ, CLAIM_UNREADABLE, CLAIM_FAILED };

/* A claim that failed keeps its session, which knows all its statements, unless the session itself
 * is what failed. */
static enum claim_result note_failure(struct outbox *outbox, const struct claim_request *request,
                                      struct error *error)
{
    enum failure failure = outbox->pipeline.failure;
    struct error other;

    if (outbox->pipeline.session.conn == NULL)
        return CLAIM_FAILED;
    if (failure == FAILURE_LOCKED && !request->parked)
        slice_lock_postpone(&outbox->slices, outbox->slices.locked_count);
    if (failure == FAILURE_OTHER) {
        (void)pipeline_abort(&outbox->pipeline);
        return CLAIM_FAILED;
    }
    if (pipeline_roll_back(&outbox->pipeline, &other) < 0) {
        *error = other;
        return CLAIM_FAILED;
    }
    return failure_is_of_row(failure) ? CLAIM_UNREADABLE : CLAIM_FAILED;
}

static enum claim_result read_claim(struct outbox *outbox, struct batch *batch,
                                    const struct claim_request *request, struct error *error)
{
    outbox->pipeline.in_flight = false;
    outbox->pipeline.in_transaction = true;
    if (pipeline_skip(&outbox->pipeline, PGRES_COMMAND_OK, error) < 0 ||
        pipeline_skip(&outbox->pipeline, PGRES_COMMAND_OK, error) < 0)
        return CLAIM_FAILED;
    if (slice_lock_read(&outbox->slices, request, error) < 0) {
        struct error other;

        if (outbox->pipeline.session.conn != NULL &&
            pipeline_roll_back(&outbox->pipeline, &other) < 0)
            *error = other;
        return CLAIM_FAILED;
    }
    batch->rows = pipeline_answer(&outbox->pipeline, PGRES_TUPLES_OK, error);
    batch->release_rows = release_result;
    if (batch->rows == NULL)
        return note_failure(outbox, request, error);
    if (read_claimed(outbox, error) < 0 ||
        pipeline_skip(&outbox->pipeline, PGRES_PIPELINE_SYNC, error) < 0)
        return CLAIM_FAILED;
    return CLAIM_READ;
}

static int take_rows(struct outbox *outbox, struct batch *batch, int64_t payload_max,
                     struct error *error)
{
    int64_t began_ms = clock_boot_ms();
    int64_t took_ms;
    int64_t bytes = fill(outbox, batch, payload_max);

    if (batch->count == 0)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "the broker takes larger messages than when the claim was made");
    if (slice_lock_note_claimed(&outbox->slices, batch, outbox_claim_limit(outbox, outbox->level),
                                error) < 0)
        return -1;
    adapt_level(outbox, batch, bytes);
    if (outbox->options->durable_before_publish && !outbox->flushed &&
        (outbox->flush == NULL
             ? error_set(error, ERROR_PERMANENT, ERROR_SELF, "nobody flushes the WAL")
             : wal_flush_wait(outbox->flush, &outbox->server, error)) < 0)
        return -1;
    took_ms = clock_boot_ms() - began_ms;
    outbox->worked_ms += took_ms < SESSION_STATEMENT_MS ? took_ms : SESSION_STATEMENT_MS;
    return 0;
}

/* What the server has worked is no pause, and what the flush took hardly ever one. */
int64_t outbox_claim_slept_ms(const struct outbox *outbox)
{
    return clock_boot_ms() - outbox->asked_ms - outbox->worked_ms;
}

/* A row of the claim cannot be handed over: fewer are asked for, until it is alone. */
static int isolate(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                   struct error *error)
{
    batch_reset(batch);
    batch->parked = request->parked;
    batch->has_more = true;
    if (outbox->level < CLAIM_LEVELS - 1) {
        outbox->level++;
        outbox->isolate_until_ms = clock_now_ms() + ISOLATE_MS;
        return 0;
    }
    outbox->isolate_until_ms = 0;
    return unreadable_claim(outbox, batch, request, error);
}

static int claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error)
{
    batch_reset(batch);
    batch->parked = request->parked;
    if (away_scan(&outbox->slices, request, error) < 0)
        return -1;
    if (!outbox->pipeline.in_flight) {
        batch->has_more = away_is_starting(&outbox->slices, request);
        if (batch->has_more)
            return 0;
        slice_lock_read_horizon(&outbox->slices, request);
        /* The first scan takes a moment. It takes a while behind millions of rows that have left
         * and cannot be removed yet, and a claim would walk over all of them too. */
        if (!request->parked && outbox->slices.view.starting)
            return 0;
        if (claim_queue(outbox, batch, request, error) < 0 ||
            pipeline_sync(&outbox->pipeline, error) < 0)
            return -1;
    }
    switch (read_claim(outbox, batch, request, error)) {
    case CLAIM_READ:
        break;
    case CLAIM_UNREADABLE:
        return isolate(outbox, batch, request, error);
    case CLAIM_FAILED:
        return -1;
    }
    if (PQntuples(batch->rows) == 0) {
        batch->has_more = slice_lock_note_empty(&outbox->slices, request) ||
                          away_next_window(&outbox->slices, request);
        return pipeline_end_transaction(&outbox->pipeline, true, error);
    }
    if (take_rows(outbox, batch, request->payload_max, error) < 0) {
        batch_reset(batch);
        outbox_abandon(outbox);
        return -1;
    }
    return 0;
}

/* A row that cannot be handed over is isolated; what is still an error is the condition's. */
int outbox_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error)
{
    if (claim(outbox, batch, request, error) == 0)
        return 0;
    filter_name_error(&outbox->table, error);
    return -1;
}
