/*
 * Claim: lock the next rows and turn them into messages.
 *
 * Memory is bounded whatever the rows hold: of those above the claim's inline limit only as many
 * come whole as the batch's byte limit allows, the others as lengths. There the batch is cut; the
 * rest of it stays locked until this transaction ends, and comes with the next.
 */
#include "outbox/away.h"
#include "outbox/filter.h"
#include "outbox/row.h"
#include "outbox/slice_lock.h"
#include "outbox/unreadable.h"

#include "base/clock.h"

#include <inttypes.h>
#include <string.h>

#define ISOLATE_MS                                                                                 \
    60000             /* how long a claim stays small for the sake of a row that is not found      \
                       */
#define UUID_OID 2950 /* PostgreSQL's pg_type.dat; the parked table's may be another type */

/* A COMMIT would wait for the disk, and for a standby that is away, because rows were locked. */
void outbox_abandon(struct outbox *outbox)
{
    struct error ignored;

    if (outbox->claim_in_flight)
        pipeline_close(outbox);
    if (outbox->session.conn != NULL && outbox->in_transaction)
        (void)pipeline_end_transaction(outbox, false, &ignored);
}

static void release_result(void *result)
{
    PQclear(result);
}

static void hold(struct batch *batch, PGresult *result)
{
    batch->rows = result;
    batch->release_rows = release_result;
}

static inline struct text field(const PGresult *result, int row, int column)
{
    int len = PQgetlength(result, row, column);

    if (len == 0 && PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return (struct text){PQgetvalue(result, row, column), (size_t)len};
}

static struct text created_at(const PGresult *result, int row, struct batch *batch)
{
    char *text;
    size_t len;

    if (PQgetisnull(result, row, CLAIM_CREATED_AT))
        return (struct text){NULL, 0};
    text = batch_alloc(batch, ROW_TIME_BYTES);
    if (text == NULL)
        return (struct text){NULL, 0};
    len = row_time(text, row_int8(PQgetvalue(result, row, CLAIM_CREATED_AT)));
    return len > 0 ? (struct text){text, len} : (struct text){NULL, 0};
}

static void refuse_headers(struct batch *batch, struct message *message, struct text json)
{
    const char *problem = row_headers(message, json, batch);

    if (problem != NULL)
        batch_refuse(batch, message, problem == row_no_memory ? VERDICT_WAIT : VERDICT_REJECTED,
                     "%s", problem);
}

static void take_event_id(struct batch *batch, struct message *message, bool is_uuid)
{
    char *text;

    if (message->event_id.data == NULL) {
        batch_refuse(batch, message, VERDICT_REJECTED, "the event id is NULL");
        return;
    }
    if (!is_uuid)
        return;
    text = batch_alloc(batch, ROW_UUID_BYTES);
    if (text == NULL) {
        batch_refuse(batch, message, VERDICT_WAIT, "%s", row_no_memory);
        return;
    }
    row_uuid(text, message->event_id.data);
    message->event_id = (struct text){text, ROW_UUID_BYTES - 1};
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
    if (batch->parked) {
        message->attempts = row_int4(PQgetvalue(result, row, CLAIM_ATTEMPTS));
        message->waited_ms = row_int8(PQgetvalue(result, row, CLAIM_WAITED));
    }
    message->blocked = !PQgetisnull(result, row, CLAIM_BLOCKED);
}

/* And what is made of it, in the batch's memory. */
static void finish_row(const struct outbox *outbox, struct batch *batch, struct message *message,
                       int row, struct text headers)
{
    const PGresult *result = batch->rows;

    message->created_at = created_at(result, row, batch);
    message->payload_is_json = outbox->payload_is_json;
    refuse_headers(batch, message, headers);
    take_event_id(batch, message, PQftype(result, CLAIM_EVENT_ID) == UUID_OID);
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

        message->payload_len = row_int8(lengths);
        weight.rest_len = row_int8(lengths + sizeof(int64_t));
    }
    payload_len = message->payload_len;
    weight.too_large =
        weight.rest_len > CLAIM_REST_BYTES_MAX || (!weight.whole && payload_len > payload_max);
    if (!weight.too_large)
        weight.bytes = (payload_len > 0 ? payload_len : 0) + weight.rest_len;
    return weight;
}

static void refuse_large(struct batch *batch, struct message *message, int64_t rest_len)
{
    if (rest_len > CLAIM_REST_BYTES_MAX)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "key, type and headers take %" PRId64 " bytes; at most 131072 are allowed",
                     rest_len);
}

/* Its key may be one that other rows of the batch have, and nobody can tell; nor whether it is
 * NULL. */
static bool travels_alone(const struct outbox *outbox, const struct message *message,
                          const struct weight *weight)
{
    return weight->too_large && outbox->options->order == ORDER_KEY && message->key.data == NULL;
}

/* Turns result rows into messages until the byte limit; one row is always taken, but when it came
 * without its payload. Returns the bytes. */
static int64_t fill(struct outbox *outbox, struct batch *batch, int64_t payload_max)
{
    const PGresult *result = batch->rows;
    int rows = PQntuples(result);
    int64_t bytes = 0;

    batch->more = rows == pipeline_limit(outbox, outbox->level);
    for (int row = 0; row < rows; row++) {
        struct message *message = batch_add(batch);
        struct text headers = field(result, row, CLAIM_HEADERS);
        struct weight weight;
        bool alone, absent;

        take_row(batch, message, row);
        weight = weigh(result, row, message, headers, payload_max);
        alone = travels_alone(outbox, message, &weight);
        absent = !weight.whole && !weight.too_large;
        if (absent || (row > 0 && (alone || bytes + weight.bytes > outbox->options->batch_bytes))) {
            batch->count--;
            batch->more = true;
            return bytes;
        }
        bytes += weight.bytes;
        finish_row(outbox, batch, message, row, headers);
        if (weight.too_large)
            refuse_large(batch, message, weight.rest_len);
        if (alone) {
            batch->more = batch->more || rows > 1;
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
             row_bytes * pipeline_limit(outbox, outbox->level - 1) <= outbox->options->batch_bytes)
        outbox->level--;
}

static int read_claimed(struct outbox *outbox, struct error *error)
{
    PGresult *result = pipeline_expect(outbox, PGRES_TUPLES_OK, error);

    if (result == NULL)
        return -1;
    outbox->flushed =
        !PQgetisnull(result, 0, CLAIMED_FLUSHED) && PQgetvalue(result, 0, CLAIMED_FLUSHED)[0] != 0;
    outbox->xact =
        PQgetisnull(result, 0, CLAIMED_XACT) ? 0 : row_int8(PQgetvalue(result, 0, CLAIMED_XACT));
    outbox->worked_ms = (row_int8(PQgetvalue(result, 0, CLAIMED_DONE)) -
                         row_int8(PQgetvalue(result, 0, CLAIMED_BEGAN))) /
                        1000;
    outbox->read_high =
        !PQgetisnull(result, 0, CLAIMED_HIGH) && PQgetvalue(result, 0, CLAIMED_HIGH)[0] != 0;
    PQclear(result);
    return 0;
}

enum claim_result { CLAIM_READ, CLAIM_UNREADABLE, CLAIM_FAILED };

/* A claim that failed keeps its session, which knows all its statements, unless the session itself
 * is what failed. */
static enum claim_result note_failure(struct outbox *outbox, const struct claim_request *request,
                                      struct error *error)
{
    enum failure failure = outbox->failure;
    struct error other;

    if (outbox->session.conn == NULL)
        return CLAIM_FAILED;
    if (failure == FAILURE_LOCKED && !request->parked)
        slice_lock_avoid(outbox, outbox->locked_count);
    if (failure == FAILURE_OTHER) {
        (void)pipeline_abort(outbox);
        return CLAIM_FAILED;
    }
    if (pipeline_roll_back(outbox, &other) < 0) {
        *error = other;
        return CLAIM_FAILED;
    }
    return failure_is_of_row(failure) ? CLAIM_UNREADABLE : CLAIM_FAILED;
}

static enum claim_result read_claim(struct outbox *outbox, struct batch *batch,
                                    const struct claim_request *request, struct error *error)
{
    outbox->claim_in_flight = false;
    outbox->in_transaction = true;
    if (pipeline_skip(outbox, PGRES_COMMAND_OK, error) < 0 ||
        pipeline_skip(outbox, PGRES_COMMAND_OK, error) < 0)
        return CLAIM_FAILED;
    if (slice_lock_read(outbox, request, error) < 0) {
        struct error other;

        if (outbox->session.conn != NULL && pipeline_roll_back(outbox, &other) < 0)
            *error = other;
        return CLAIM_FAILED;
    }
    hold(batch, pipeline_answer(outbox, PGRES_TUPLES_OK, error));
    if (batch->rows == NULL)
        return note_failure(outbox, request, error);
    if (read_claimed(outbox, error) < 0 || pipeline_skip(outbox, PGRES_PIPELINE_SYNC, error) < 0)
        return CLAIM_FAILED;
    return CLAIM_READ;
}

static int start_claim(struct outbox *outbox, struct batch *batch,
                       const struct claim_request *request, struct error *error)
{
    if (outbox->claim_in_flight)
        return 0;
    if (pipeline_queue_claim(outbox, batch, request, error) < 0)
        return -1;
    return pipeline_sync(outbox, error);
}

static int make_durable(struct outbox *outbox, struct error *error)
{
    if (!outbox->options->durable_before_publish || outbox->flushed)
        return 0;
    if (outbox->flush == NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_SELF, "nobody flushes the WAL");
    return wal_flush_wait(outbox->flush, &outbox->server, error);
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
    if (slice_lock_note_claimed(outbox, batch, error) < 0)
        return -1;
    adapt_level(outbox, batch, bytes);
    if (make_durable(outbox, error) < 0)
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
    batch->more = true;
    if (outbox->level < CLAIM_LEVELS - 1) {
        outbox->level++;
        outbox->isolate_until_ms = clock_now_ms() + ISOLATE_MS;
        return 0;
    }
    outbox->isolate_until_ms = 0;
    return unreadable_claim(outbox, batch, request, error);
}

/* The first scan takes a moment. It takes a while behind millions of rows that have left and cannot
 * be removed yet, and a claim would walk over all of them too. */
static bool horizon_is_starting(struct outbox *outbox, const struct claim_request *request)
{
    if (outbox->claim_in_flight || request->parked)
        return false;
    slice_lock_read_horizon(outbox, request);
    return outbox->view.starting;
}

static int claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error)
{
    batch_reset(batch);
    batch->parked = request->parked;
    if (away_scan(outbox, request, error) < 0)
        return -1;
    batch->more = !outbox->claim_in_flight && away_is_starting(outbox, request);
    if (batch->more || horizon_is_starting(outbox, request))
        return 0;
    if (start_claim(outbox, batch, request, error) < 0)
        return -1;
    switch (read_claim(outbox, batch, request, error)) {
    case CLAIM_READ:
        break;
    case CLAIM_UNREADABLE:
        return isolate(outbox, batch, request, error);
    case CLAIM_FAILED:
        return -1;
    }
    if (PQntuples(batch->rows) == 0) {
        batch->more = slice_lock_note_empty(outbox, request) || away_goes_on(outbox, request);
        return pipeline_end_transaction(outbox, true, error);
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
