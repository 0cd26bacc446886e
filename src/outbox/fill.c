#include "outbox/fill.h"

#include "outbox/row.h"
#include "pg/wire.h"

#include <inttypes.h>
#include <string.h>

#define UUID_OID 2950 /* pg_type.dat */

static const char *const columns[CLAIM_COLUMNS] = {
    [CLAIM_ROW] = "relay_row",
    [CLAIM_XMIN] = "relay_xmin",
    [CLAIM_ID] = "id",
    [CLAIM_EVENT_ID] = "event_id",
    [CLAIM_TOPIC] = "topic",
    [CLAIM_KEY] = "key",
    [CLAIM_TYPE] = "type",
    [CLAIM_PAYLOAD] = "payload",
    [CLAIM_HEADERS] = "headers",
    [CLAIM_CREATED_AT] = "created_at",
    [CLAIM_LENGTHS] = "lengths",
    [CLAIM_SLICE] = "relay_slice",
    [CLAIM_BLOCKED] = "blocked",
    [CLAIM_MORE_HEADERS] = "more_headers",
    [CLAIM_DUE] = "due_ms",
    [CLAIM_ATTEMPTS] = "attempts",
    [CLAIM_WAITED] = "waited_ms",
    [CLAIM_REPLAYED] = "replayed_at",
    [CLAIM_PROBLEM] = "problem",
    [CLAIM_IS_KNOWN] = "is_known",
    [CLAIM_NOTE] = "note",
    [CLAIM_IS_SENT] = "is_sent",
};

static inline struct text field(const PGresult *result, int row, int column)
{
    int len = PQgetlength(result, row, column);

    if (len == 0 && PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return (struct text){PQgetvalue(result, row, column), (size_t)len};
}

static void release_result(void *result)
{
    PQclear(result);
}

void fill_keep(struct batch *batch, PGresult *result)
{
    batch->rows = result;
    batch->release_rows = release_result;
}

int fill_check(const struct batch *batch, struct error *error)
{
    int count = batch->parked || batch->refused ? CLAIM_COLUMNS : CLAIM_ATTEMPTS;

    return wire_check_columns(batch->rows, columns, count, error);
}

void fill_fields(const struct batch *batch, struct message *message, int row)
{
    const PGresult *result = batch->rows;

    memcpy(message->row, PQgetvalue(result, row, CLAIM_ROW), sizeof message->row);
    message->xmin = (uint32_t)wire_int4(PQgetvalue(result, row, CLAIM_XMIN));
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
    if (batch->parked || batch->refused) {
        message->attempts = wire_int4(PQgetvalue(result, row, CLAIM_ATTEMPTS));
        message->waited_ms = wire_int8(PQgetvalue(result, row, CLAIM_WAITED));
    }
    if (batch->refused) {
        message->note = wire_int8(PQgetvalue(result, row, CLAIM_NOTE));
        message->is_sent = PQgetvalue(result, row, CLAIM_IS_SENT)[0] != 0;
    }
    if (batch->parked && !PQgetisnull(result, row, CLAIM_IS_KNOWN)) {
        message->stays = PQgetvalue(result, row, CLAIM_IS_KNOWN)[0] != 0;
        message->is_unknown = !message->stays;
    }
    if (!PQgetisnull(result, row, CLAIM_DUE))
        message->due_ms = wire_int8(PQgetvalue(result, row, CLAIM_DUE));
    message->blocked = !PQgetisnull(result, row, CLAIM_BLOCKED);
}

/* "EVENT_ID/REPLAYED_AT": stable across attempts and unique to this copy, because a broker drops a
 * message whose id it has already seen. */
static void name_copy(struct batch *batch, struct message *message)
{
    struct text id = message->event_id;
    struct text at = message->replayed_at;
    char *text = at.data != NULL ? batch_alloc(batch, id.len + 1 + at.len) : NULL;

    if (text == NULL) {
        batch_refuse(batch, message, VERDICT_WAIT, "%s", row_no_memory);
        return;
    }
    memcpy(text, id.data, id.len);
    text[id.len] = '/';
    memcpy(text + id.len + 1, at.data, at.len);
    message->message_id = (struct text){text, id.len + 1 + at.len};
}

static void convert_ids(struct batch *batch, struct message *message, int row)
{
    const PGresult *result = batch->rows;
    char *text;

    if (message->event_id.data == NULL) {
        batch_refuse(batch, message, VERDICT_REJECTED, "the event id is NULL");
        return;
    }
    if (PQftype(result, CLAIM_EVENT_ID) == UUID_OID) {
        text = batch_alloc(batch, ROW_UUID_BYTES);
        if (text == NULL) {
            batch_refuse(batch, message, VERDICT_WAIT, "%s", row_no_memory);
            return;
        }
        row_uuid(text, message->event_id.data);
        message->event_id = (struct text){text, ROW_UUID_BYTES - 1};
    }
    if (batch->parked && !PQgetisnull(result, row, CLAIM_REPLAYED))
        name_copy(batch, message);
}

void fill_convert(struct batch *batch, struct message *message, int row, bool payload_is_json,
                  const struct row_size *size)
{
    const PGresult *result = batch->rows;
    const char *problem;
    char *text;
    size_t len;

    message->payload_is_json = payload_is_json;
    if (!PQgetisnull(result, row, CLAIM_CREATED_AT) &&
        (text = batch_alloc(batch, ROW_TIME_BYTES)) != NULL) {
        int64_t created_us = wire_int8(PQgetvalue(result, row, CLAIM_CREATED_AT));

        len = row_time(text, created_us);
        if (len > 0) {
            message->created_at = (struct text){text, len};
            message->created_us = created_us + ROW_EPOCH_US;
        }
    }
    if (batch->parked && !PQgetisnull(result, row, CLAIM_REPLAYED) &&
        (text = batch_alloc(batch, ROW_TIME_BYTES)) != NULL) {
        len = row_time(text, wire_int8(PQgetvalue(result, row, CLAIM_REPLAYED)));
        message->replayed_at = (struct text){text, len};
    }
    problem = row_headers(message, field(result, row, CLAIM_HEADERS), batch);
    if (problem == NULL)
        problem = row_more_headers(message, field(result, row, CLAIM_MORE_HEADERS), batch);
    if (problem != NULL)
        batch_refuse(batch, message, problem == row_no_memory ? VERDICT_WAIT : VERDICT_REJECTED,
                     "%s", problem);
    convert_ids(batch, message, row);
    if (message->due_ms > 0 && message->verdict == VERDICT_PENDING)
        batch_refuse(batch, message, VERDICT_EARLY, "its time has not come");
    if (size->rest_len > CLAIM_META_BYTES_MAX)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "key, type and headers take %" PRId64 " bytes; at most 131072 are allowed",
                     size->rest_len);
    if (batch->parked && !PQgetisnull(result, row, CLAIM_PROBLEM))
        batch_refuse(batch, message, VERDICT_REJECTED, "%s",
                     PQgetvalue(result, row, CLAIM_PROBLEM));
}

struct row_size fill_measure(const struct batch *batch, struct message *message, int row,
                             int64_t payload_max)
{
    const PGresult *result = batch->rows;
    struct row_size size = {.whole = PQgetisnull(result, row, CLAIM_LENGTHS)};
    int64_t payload_len;

    if (size.whole) {
        size.rest_len = (int64_t)(message->key.len + message->type.len) +
                        PQgetlength(result, row, CLAIM_HEADERS) +
                        PQgetlength(result, row, CLAIM_MORE_HEADERS);
    } else {
        const char *lengths = PQgetvalue(result, row, CLAIM_LENGTHS);

        message->payload_len = wire_int8(lengths);
        size.rest_len = wire_int8(lengths + sizeof(int64_t));
    }
    payload_len = message->payload_len;
    size.too_large =
        size.rest_len > CLAIM_META_BYTES_MAX || (!size.whole && payload_len > payload_max);
    if (!size.too_large)
        size.bytes = (payload_len > 0 ? payload_len : 0) + size.rest_len;
    return size;
}

void fill_unreadable(struct batch *batch, struct message *message, bool is_computed,
                     const struct error *error)
{
    batch_refuse(batch, message, VERDICT_REJECTED, "PostgreSQL cannot %s this row: %s",
                 is_computed ? "compute the values of" : "read", error_bare_text(error));
    batch_quote(batch, message, error->words);
}
