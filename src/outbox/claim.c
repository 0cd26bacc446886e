/*
 * Claim: locks the next rows and turns them into messages.
 *
 * Memory is bounded whatever the rows contain. Rows above the claim's inline limit are returned in
 * full only while they fit into the batch's byte limit; of the others the claim returns the lengths
 * only, and the batch ends there. The remaining rows stay locked until this transaction ends, and
 * the next claim gets them.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "catalog/filter.h"
#include "catalog/values.h"
#include "outbox/fill.h"
#include "outbox/round.h"
#include "outbox/settle_rows.h"
#include "outbox/slices/away.h"
#include "pg/wal_flush.h"
#include "pg/wire.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

/* Another lane may have found the row that made a claim fail, so claims grow again after this many
 * that could read their rows. A row that takes too long is worth more patience. */
#define ISOLATE_CLAIMS 4
#define CAREFUL_MS 5000
#define RICH_CLAIMS 64 /* after a row that was too large for a lean claim */
#define XID_NORMAL 3   /* the first xid of a transaction; those below count as ended for ever */

static int level_of(const struct outbox *outbox, const struct batch *batch)
{
    return batch->refused ? outbox->refused_level : outbox->level;
}

/* Turns result rows into messages up to the byte limit. The first row is taken even if it exceeds
 * the limit, unless it lacks a payload that could be sent. Returns the bytes. */
static int64_t fill_batch(struct outbox *outbox, struct batch *batch, int64_t payload_max)
{
    const PGresult *result = batch->rows;
    int rows = PQntuples(result);
    int64_t bytes = 0;

    batch->has_more = rows == sql_claim_limit(outbox->options, level_of(outbox, batch));
    for (int row = 0; row < rows; row++) {
        struct message *message = batch_add(batch);
        struct row_size size;
        bool alone, absent;

        fill_fields(batch, message, row);
        size = fill_measure(batch, message, row, payload_max);
        /* The key was too large to fetch, so other rows of the batch may have the same key. */
        alone = size.too_large && outbox->options->order == ORDER_KEY && message->key.data == NULL;
        absent = !size.whole && !size.too_large;
        if (absent || (row > 0 && (alone || bytes + size.bytes > outbox->options->batch_bytes))) {
            batch->count--;
            batch->has_more = true;
            return bytes;
        }
        bytes += size.bytes;
        fill_convert(batch, message, row, outbox->payload_is_json, &size);
        if (message->is_sent)
            message->verdict = VERDICT_SENT;
        if (alone) {
            batch->has_more = batch->has_more || rows > 1;
            return bytes;
        }
    }
    return bytes;
}

/* When a batch was cut, rows were locked and read in vain, so the next claim asks for fewer. It
 * asks for more again only when that many rows of this size would fit and no row is being isolated.
 */
static void adapt_level(struct outbox *outbox, const struct batch *batch, int64_t bytes)
{
    bool cut = batch->count < PQntuples(batch->rows);
    int64_t row_bytes = bytes / batch->count;

    if (batch->refused || (cut && outbox->is_lean))
        return;
    if (outbox->isolate_claims > 0 && --outbox->isolate_claims == 0)
        outbox->isolate_until_ms = 0;
    if (cut && outbox->level < CLAIM_LEVELS - 1)
        outbox->level++;
    else if (!cut && outbox->level > 0 && clock_now_ms() >= outbox->isolate_until_ms &&
             row_bytes * sql_claim_limit(outbox->options, outbox->level - 1) <=
                 outbox->options->batch_bytes)
        outbox->level--;
}

/* The claim was made by an old description, so it is dropped. The next one describes the tables
 * anew, in a session whose statements are prepared for them; it begins a new epoch of the horizon.
 */
static int start_anew(struct outbox *outbox, struct batch *batch)
{
    log_info("table %s or one of the relay's own has changed: described anew",
             outbox->table.quoted);
    session_close(&outbox->session);
    batch_reset(batch);
    batch->has_more = true;
    return 0;
}

/* The payload of the first row was not converted to text: the row is claimed alone, which takes as
 * long as it takes, up to a limit. */
static int claim_alone(struct outbox *outbox, struct batch *batch, struct error *error)
{
    int *level = batch->refused ? &outbox->refused_level : &outbox->level;

    if (*level == CLAIM_LEVELS - 1)
        return error_set(
            error, ERROR_TRANSIENT, ERROR_DATABASE,
            "the broker's size limit was raised after the claim was sent: claiming again");
    *level = CLAIM_LEVELS - 1;
    return session_end_transaction(&outbox->session, true, error);
}

/* Whether all rows of the batch are of transactions that are known to be on disk. */
static bool are_durable(const struct outbox *outbox, const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        uint32_t xmin = batch->messages[i].xmin;

        if (xmin >= XID_NORMAL && (int32_t)(xmin - (uint32_t)outbox->durable_before) >= 0)
            return false;
    }
    return outbox->durable_before != 0;
}

/* durable_before_publish. Rows that a lean claim returns may be younger than what `flushed` says.
 */
static int await_flush(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    int64_t oldest = outbox->oldest;

    if (outbox->flushed && oldest != 0)
        outbox->durable_before = oldest;
    if ((outbox->flushed && !outbox->is_lean) || are_durable(outbox, batch))
        return 0;
    if (outbox->flush == NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_SELF, "no session flushes the log");
    if (wal_flush_wait(outbox->flush, &outbox->server, error) < 0)
        return error_hint(error, "durable_before_publish needs this flush before a publish; check"
                                 " whether a synchronous standby is down");
    if (oldest != 0)
        outbox->durable_before = oldest;
    return 0;
}

static int take_rows(struct outbox *outbox, struct batch *batch, int64_t payload_max,
                     struct error *error)
{
    int64_t began_ms = clock_boot_ms();
    int64_t took_ms;
    int64_t bytes = fill_batch(outbox, batch, payload_max);

    if (outbox->is_lean && batch->count < PQntuples(batch->rows))
        outbox->rich_claims = RICH_CLAIMS;
    if (batch->count == 0)
        return outbox->is_lean ? 0 : claim_alone(outbox, batch, error);
    if (slice_lock_note_claimed(outbox->slices, batch,
                                sql_claim_limit(outbox->options, outbox->level), error) < 0)
        return -1;
    adapt_level(outbox, batch, bytes);
    if (outbox->options->durable_before_publish && await_flush(outbox, batch, error) < 0)
        return -1;
    took_ms = clock_boot_ms() - began_ms;
    outbox->server_work_ms += took_ms < SESSION_STATEMENT_MS ? took_ms : SESSION_STATEMENT_MS;
    return 0;
}

/* With a mark that leaves its rows unsent each row would be published for ever. So rows of a
 * session's first batch are marked one by one, until one is then out of `where`, and the mark is
 * rolled back, before anything is published. That a trigger or some other row is at fault is found
 * by settling it. */
static int try_mark(struct outbox *outbox, struct batch *batch, struct error *error)
{
    int marked = 0;

    if (outbox->table.mark == NULL || outbox->mark_is_tried || batch->parked || batch->refused ||
        batch->count == 0)
        return 0;
    for (int i = 0; i < batch->count && marked == 0; i++) {
        struct message *message = &batch->messages[i];

        marked = settling_try(outbox, batch, SETTLING_TRIAL, (struct rows){&message, 1}, error);
        if (marked == 0 && (outbox->table.has_triggers || strstr(error->text, "settled 0") == NULL))
            return 0;
    }
    if (marked < 0)
        return -1;
    outbox->mark_is_tried = marked > 0;
    if (marked > 0)
        return 0;
    return error_set(error, ERROR_FATAL, ERROR_DATABASE, "%s", values_idle_mark);
}

/* The time that the server worked does not count, nor does the wait for the WAL flush. */
int64_t outbox_claim_slept_ms(const struct outbox *outbox)
{
    return clock_boot_ms() - outbox->sent_at_ms - outbox->server_work_ms;
}

/* ---- rows that cannot be read ---- */

/* Rows that PostgreSQL cannot read: bytes that do not convert to UTF-8, a cast or a generated
 * column that raises an error, a text that is too large or takes longer than statement_timeout.
 * Such a row would make every claim that includes it fail. */

/* Once the round is read, the batch has a message with the ctid and id of the row that is locked,
 * or none if there is no such row. */
static enum round_result lock_row(struct outbox *outbox, struct batch *batch,
                                  const struct claim_request *request, enum round_rows rows,
                                  struct error *error)
{
    enum round_result result = ROUND_FAILED;

    slice_lock_narrow(outbox->slices);
    (void)slice_lock_read_horizon(outbox->slices, request);
    if (round_queue(outbox, batch, request, rows, error) == 0 &&
        session_sync(&outbox->session, error) == 0)
        result = round_read(outbox, batch, request, rows, error);
    slice_lock_forget(outbox->slices);
    return result;
}

/* Returns 1 when the row can be read; 0 when it cannot, with *error set and the transaction usable;
 * -1 when the session is closed. */
static int read_row(struct outbox *outbox, const struct batch *batch,
                    const struct claim_request *request, struct error *error)
{
    uint64_t no_sink = 0;
    uint64_t payload_max = htobe64((uint64_t)request->payload_max);
    const struct array params[4] = {
        {.bytes = (char *)&no_sink, .len = sizeof no_sink},
        {.bytes = (char *)&payload_max, .len = sizeof payload_max},
        {.bytes = (char *)batch->messages[0].row, .len = MESSAGE_ROW_BYTES},
        {.bytes = (char *)batch->messages[0].id.data, .len = batch->messages[0].id.len}};
    struct error other;
    PGresult *result;

    if (session_queue(&outbox->session, "savepoint", 0, NULL, false, error) < 0 ||
        session_queue(&outbox->session, "hurry", 0, NULL, false, error) < 0 ||
        session_queue(&outbox->session, request->parked ? "read_parked_row" : "read_row", 4, params,
                      true, error) < 0 ||
        session_sync(&outbox->session, error) < 0 ||
        session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0 ||
        session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0)
        return -1;
    result = session_answer(&outbox->session, PGRES_TUPLES_OK, error);
    if (result == NULL && !failure_is_of_row(outbox->session.failure))
        return -1;
    if (session_skip(&outbox->session, PGRES_PIPELINE_SYNC, &other) < 0) {
        PQclear(result);
        *error = other;
        return -1;
    }
    if (result != NULL) {
        PQclear(result);
        return 1;
    }
    if (session_queue(&outbox->session, "rollback_to", 0, NULL, false, &other) == 0 &&
        session_sync(&outbox->session, &other) == 0 &&
        session_skip(&outbox->session, PGRES_COMMAND_OK, &other) == 0 &&
        session_skip(&outbox->session, PGRES_PIPELINE_SYNC, &other) == 0)
        return 0;
    *error = other;
    return -1;
}

/* No row was locked. Returns 0, or -1. */
static int leave_row(struct outbox *outbox, struct batch *batch, enum round_result result)
{
    return result == ROUND_CHANGED ? start_anew(outbox, batch) : session_abort(&outbox->session);
}

/* After a row was locked: tries to read its values. If that fails, the batch contains this row
 * alone, rejected with the server's message. Settling parks it as dead: the server copies it
 * without converting its values. Otherwise the batch is empty. Returns 0, or -1 with *error set. */
static int take_unreadable(struct outbox *outbox, struct batch *batch,
                           const struct claim_request *request, struct error *error)
{
    int readable = batch->count > 0 ? read_row(outbox, batch, request, error) : 1;

    if (readable < 0)
        return session_abort(&outbox->session);
    if (readable > 0) {
        batch->count = 0;
        return session_end_transaction(&outbox->session, false, error);
    }
    if (batch->messages[0].is_sent) /* to settle it, nothing of it need be read */
        batch->messages[0].verdict = VERDICT_SENT;
    else
        fill_unreadable(batch, &batch->messages[0], outbox->table.is_computed, error);
    return 0;
}

/* While a sink is away, a row whose topic cannot be computed makes every statement fail that looks
 * for rows behind it. So it is looked for by itself, and then locked and read as any other. If
 * another lane has it, or its slice, the lane rests meanwhile. The error is another one if the row
 * can be read: it is returned, and the next session describes the tables anew. */
static int claim_unroutable(struct outbox *outbox, struct batch *batch,
                            const struct claim_request *request, struct error *error)
{
    static struct log_limit limit = {.lines = "locked rows whose topic cannot be computed"};
    struct claim_request alone = {.payload_max = request->payload_max};
    int found = away_find_row(outbox->slices, request, batch_add(batch), error);
    const struct error cause = *error;
    enum round_result result;
    bool locked;

    if (found < 0)
        return -1;
    batch->has_more = false;
    if (found == 0) {
        batch->count = 0;
        return 0;
    }
    slice_lock_choose(outbox->slices, batch->messages[0].slice);
    result = lock_row(outbox, batch, &alone, ROUND_FOUND_ROW, error);
    if (result != ROUND_READ)
        return leave_row(outbox, batch, result);
    locked = batch->count > 0;
    if (!locked)
        log_limit_line(&limit, LOG_INFO, clock_now_ms(),
                       "while a sink is away, a row whose topic cannot be computed is locked by"
                       " another session: rows behind it wait");
    if (take_unreadable(outbox, batch, &alone, error) < 0)
        return -1;
    batch->has_more = batch->count > 0;
    if (!locked || batch->count > 0)
        return 0;
    *error = cause;
    return session_abort(&outbox->session);
}

/* A claim of a single row failed: the first due row is locked without reading its values. */
static int claim_unreadable(struct outbox *outbox, struct batch *batch,
                            const struct claim_request *request, struct error *error)
{
    struct claim_request first = *request;
    enum round_result result;

    if (request->refused) /* the claim has failed for the one that is due first */
        first.away = 0;
    result = lock_row(outbox, batch, &first, ROUND_FIRST_ROW, error);
    if (claim_computes_topics(request) &&
        (result == ROUND_UNREADABLE || result == ROUND_UNROUTABLE))
        return claim_unroutable(outbox, batch, request, error);
    return result == ROUND_READ ? take_unreadable(outbox, batch, &first, error)
                                : leave_row(outbox, batch, result);
}

static enum event_ids event_ids_of(const struct table *table)
{
    const struct table_column *id = &table->columns[COLUMN_EVENT_ID];

    if (id->expression != NULL || (!id->unique && !id->has_default))
        return EVENT_IDS_COINCIDE;
    if (strcmp(id->base, "uuid") == 0)
        return EVENT_IDS_FRESH;
    return id->unique ? EVENT_IDS_DISTINCT : EVENT_IDS_COINCIDE;
}

/* Some row of the claim cannot be read: claims ask for fewer rows until it is alone. If the claim
 * took too long, its payloads are suspected first: for a while all but the smallest are claimed
 * alone. */
static int isolate(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                   struct error *error)
{
    batch_reset(batch);
    batch->parked = request->parked;
    batch->refused = request->refused;
    batch->numbered = outbox->table.numbered;
    batch->event_ids = event_ids_of(&outbox->table);
    batch->has_more = true;
    if (outbox->is_lean)
        outbox->rich_claims = RICH_CLAIMS;
    if (error_is_sqlstate(error, "57014")) {
        outbox->careful_until_ms = clock_now_ms() + CAREFUL_MS;
        if (!outbox->claims_carefully)
            return 0;
    }
    if (level_of(outbox, batch) < CLAIM_LEVELS - 1) {
        outbox_claim_fewer(outbox, request->refused);
        outbox->isolate_claims = error_is_sqlstate(error, "57014") ? 0 : ISOLATE_CLAIMS;
        return 0;
    }
    outbox->isolate_until_ms = 0;
    outbox->isolate_claims = 0;
    return claim_unreadable(outbox, batch, request, error);
}

static int claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error);

/* What a lean claim has locked is claimed by one that is not: round_read() or take_rows() has noted
 * what makes it so. */
static int claim_again(struct outbox *outbox, struct batch *batch,
                       const struct claim_request *request, struct error *error)
{
    if (session_end_transaction(&outbox->session, false, error) < 0)
        return -1;
    return claim(outbox, batch, request, error);
}

static int claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error)
{
    int scanned;

    batch_reset(batch);
    batch->parked = request->parked;
    batch->refused = request->refused;
    batch->numbered = outbox->table.numbered;
    batch->event_ids = event_ids_of(&outbox->table);
    scanned = away_scan(outbox->slices, request, error);
    if (scanned < 0)
        return -1;
    if (scanned > 0)
        return claim_unroutable(outbox, batch, request, error);
    if (!outbox->session.in_flight) {
        batch->has_more = away_is_starting(outbox->slices, request);
        if (batch->has_more)
            return 0;
        /* The first scan usually takes a moment, but longer when millions of dead row versions
         * cannot be vacuumed yet. A claim without a bound would read all of them too. */
        if (!slice_lock_read_horizon(outbox->slices, request))
            return 0;
        if (outbox_prepare(outbox, request->refused, error) < 0 ||
            round_queue(outbox, batch, request, ROUND_CLAIM, error) < 0 ||
            session_sync(&outbox->session, error) < 0)
            return -1;
    }
    switch (round_read(outbox, batch, request, ROUND_CLAIM, error)) {
    case ROUND_READ:
        batch->is_asked = claim_is_of_outbox(request);
        break;
    case ROUND_UNREADABLE:
        return isolate(outbox, batch, request, error);
    case ROUND_UNROUTABLE:
        return claim_unroutable(outbox, batch, request, error);
    case ROUND_TOO_LEAN:
        return claim_again(outbox, batch, request, error);
    case ROUND_CHANGED:
        return start_anew(outbox, batch);
    case ROUND_FAILED:
        return -1;
    }
    if (PQntuples(batch->rows) == 0) {
        batch->has_more = slice_lock_note_empty(outbox->slices, request) ||
                          away_next_window(outbox->slices, request);
        return session_end_transaction(&outbox->session, true, error);
    }
    if (take_rows(outbox, batch, request->payload_max, error) < 0 ||
        try_mark(outbox, batch, error) < 0) {
        batch_reset(batch);
        outbox_abandon(outbox);
        return -1;
    }
    return batch->count == 0 && outbox->is_lean ? claim_again(outbox, batch, request, error) : 0;
}

/* claim() isolates rows that cannot be read, so any remaining data error comes from the `where`
 * condition of [outbox]. */
int outbox_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error)
{
    bool has_more;

    batch_reset(batch);
    if (numbers_look(outbox, &has_more, error) < 0)
        return -1;
    if (claim(outbox, batch, request, error) == 0) {
        /* While rows get numbers, the lane does not sleep. When no row with a number is left, the
         * next rows get theirs at once. */
        has_more = has_more || outbox->rows_numbered > 0;
        if (has_more && batch->count == 0 && !batch->has_more && claim_is_of_outbox(request))
            outbox->numbers_due_ms = 0;
        batch->has_more = batch->has_more || has_more;
        return 0;
    }
    filter_name_error(&outbox->table, error);
    return -1;
}
