/*
 * Claim: locks free slices and reads their rows, without a lock on these, into the batch.
 *
 * The rows are read one by one, because a batch is limited in bytes: those that have no room are
 * passed over, and the next claim asks for fewer.
 */
#include "base/clock.h"
#include "base/log.h"
#include "mysql/settle.h"
#include "mysql/statements.h"
#include "outbox/row.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The columns of claim.sql and of claim_parked.sql. */
enum claim_column {
    CLAIM_ID,
    CLAIM_EVENT_ID,
    CLAIM_TOPIC,
    CLAIM_KEY,
    CLAIM_TYPE,
    CLAIM_PAYLOAD,
    CLAIM_PAYLOAD_LENGTH,
    CLAIM_META_LENGTH,
    CLAIM_HEADERS,
    CLAIM_CREATED_US,
    CLAIM_SLICE,
    CLAIM_DUE_MS,
    CLAIM_COLUMNS,
    CLAIM_SEQ = CLAIM_COLUMNS, /* of parked rows and of notes, as the next two */
    CLAIM_ATTEMPTS,
    CLAIM_WAITED_MS,
    CLAIM_WAITS_FOR,                /* of parked rows */
    CLAIM_IS_SENT = CLAIM_WAITS_FOR /* of notes */
};

void claim_roll_back(struct outbox *outbox)
{
    struct error ignored;

    outbox->locked_count = 0;
    if (outbox->session.conn != NULL && db_is_in_transaction(&outbox->session) &&
        db_execute(&outbox->session, "ROLLBACK", &ignored) < 0)
        db_close(&outbox->session);
}

static int64_t number(const char *text)
{
    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

/* ---- which slices ---- */

/* "3,9" */
static void put_list(const int32_t *items, int count, char *out, size_t size)
{
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < count; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%d", i == 0 ? "" : ",", items[i]);
}

/* Begins the transaction and locks up to `width` of these slices. */
static int lock(struct outbox *outbox, const int32_t *candidates, int count, int width,
                struct error *error)
{
    char list[TABLES_SLICES_MAX * 5], limit[12];
    const struct sql_fact facts[] = {
        {"candidates", .text = list}, {"limit", .text = limit}, {.name = NULL}};
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;
    char *sql;

    outbox->locked_count = 0;
    put_list(candidates, count, list, sizeof list);
    (void)snprintf(limit, sizeof limit, "%d", width);
    sql = tables_statement(&outbox->tables, db_sql_lock_slices, facts);
    if (sql == NULL)
        return error_no_memory(error);
    if (db_send(&outbox->session, sql, error) == 0 && db_next(&outbox->session, error) == 0)
        rows = db_rows(&outbox->session, error);
    free(sql);
    if (rows == NULL)
        return -1;
    while ((row = mysql_fetch_row(rows)) != NULL && outbox->locked_count < SLICES_PER_CLAIM_MAX)
        outbox->locked[outbox->locked_count++] = (int32_t)number(row[0]);
    mysql_free_result(rows);
    return 0;
}

/* The first candidates are the longest not claimed. When others have all of them, any other free
 * slice is as good. */
static int lock_free(struct outbox *outbox, struct error *error)
{
    const struct slice_choice *choice = &outbox->choice;
    int count = choice->candidate_count;
    int first = 2 * choice->width < count ? 2 * choice->width : count;

    if (count == 0)
        return 0;
    if (lock(outbox, choice->candidates, first, choice->width, error) < 0)
        return -1;
    if (outbox->locked_count > 0 || first == count)
        return 0;
    claim_roll_back(outbox);
    return lock(outbox, choice->candidates + first, count - first, choice->width, error);
}

static int lock_due(struct outbox *outbox, const struct claim_request *request,
                    const char *declined, struct error *error)
{
    const struct sql_fact facts[] = {{request->refused ? "notes" : "", .text = NULL},
                                     {declined != NULL ? "declined" : "", .text = declined},
                                     {.name = NULL}};
    MYSQL_RES *rows =
        tables_query(&outbox->tables, &outbox->session, db_sql_due_slices, facts, error);
    int32_t candidates[SLICES_PER_CLAIM_MAX];
    int count = 0;
    MYSQL_ROW row;

    if (rows == NULL)
        return -1;
    while ((row = mysql_fetch_row(rows)) != NULL && count < SLICES_PER_CLAIM_MAX)
        candidates[count++] = (int32_t)number(row[0]);
    mysql_free_result(rows);
    return count == 0 ? 0 : lock(outbox, candidates, count, outbox->choice.width, error);
}

/* ---- what is around the rows ---- */

static int take_pauses(struct outbox *outbox, MYSQL_RES *rows, struct error *error)
{
    struct writer writer;
    MYSQL_ROW row;
    const char *divider = "";
    char *text;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    for (; (row = mysql_fetch_row(rows)) != NULL; divider = "\n")
        (void)fprintf(writer.out, "%s%s", divider, row[0] != NULL ? row[0] : "");
    text = writer_end(&writer);
    if (text == NULL)
        return error_no_memory(error);
    free(outbox->pauses);
    outbox->pauses = text;
    if (writer.len == 0) {
        free(text);
        outbox->pauses = NULL;
    }
    return 0;
}

/* Two lanes that disagree about the number of slices could claim rows of one key at a time. */
static int check_slices(const struct outbox *outbox, const char *count, struct error *error)
{
    int slices = (int)number(count);

    if (slices == outbox->tables.slices)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s_slice says %d slice%s, the configuration says %d: nothing is claimed",
                    outbox->tables.outbox, slices, PLURAL(slices), outbox->tables.slices);
    (void)error_hint(error, "set slices = %d in [outbox] and restart the relay", slices);
    return error_mark_schema(error);
}

/* Reads the answers to around.sql, of which the first one has begun. */
static int take_around(struct outbox *outbox, bool *has_parked_keys, struct error *error)
{
    MYSQL_RES *rows = db_rows(&outbox->session, error);
    MYSQL_ROW row;
    int status;

    if (rows == NULL)
        return -1;
    status = take_pauses(outbox, rows, error);
    mysql_free_result(rows);
    if (db_next(&outbox->session, error) < 0 || (rows = db_rows(&outbox->session, error)) == NULL)
        return -1;
    row = mysql_fetch_row(rows);
    *has_parked_keys = row != NULL && number(row[0]) != 0;
    outbox->has_notes = row != NULL && number(row[1]) != 0;
    outbox->notes_are_due = row != NULL && number(row[2]) != 0;
    if (row != NULL && row[4] != NULL && row[5] != NULL)
        db_server_note(&outbox->server, row[4], row[5]);
    if (status == 0)
        status = check_slices(outbox, row != NULL ? row[3] : NULL, error);
    mysql_free_result(rows);
    return status;
}

int claim_read_around(struct outbox *outbox, struct error *error)
{
    char *sql = tables_statement(&outbox->tables, db_sql_around, NULL);
    bool has_parked_keys;
    int status = -1;

    if (sql == NULL)
        return error_no_memory(error);
    if (db_send(&outbox->session, sql, error) == 0)
        status = take_around(outbox, &has_parked_keys, error);
    free(sql);
    return status;
}

char *claim_declined(const struct declined *declined)
{
    struct writer writer;

    if (declined == NULL || declined->count == 0 || !writer_begin(&writer))
        return NULL;
    for (int i = 0; i < declined->count; i++) {
        (void)fputs(i == 0 ? "" : ",", writer.out);
        tables_put_literal(writer.out, declined->items[i].waits_for, declined->items[i].len);
    }
    return writer_end(&writer);
}

/* ---- the rows ---- */

static int limit_of(const struct outbox *outbox)
{
    int limit = outbox->options->batch;

    if (outbox->reads_unread) /* while a sink is away, the claim that failed has read many */
        return outbox->away.sinks != 0 ? limit : 1;
    for (int i = 0; i < outbox->level; i++)
        limit /= CLAIM_LEVEL_FACTOR;
    return limit > 0 && outbox->level < CLAIM_LEVELS - 1 ? limit : 1;
}

/* How many rows it reads: some of them may be for sinks that are away. */
static int rows_of(const struct outbox *outbox)
{
    return limit_of(outbox) *
           (outbox->away.sinks != 0 && !outbox->reads_unread ? outbox->away.factor : 1);
}

static int64_t least_bound(const struct outbox *outbox)
{
    int64_t from = INT64_MAX;

    for (int i = 0; i < outbox->locked_count; i++)
        if (outbox->view.bounds[outbox->locked[i]].low < from)
            from = outbox->view.bounds[outbox->locked[i]].low;
    return from;
}

#define LOCKED_BYTES (SLICES_PER_CLAIM_MAX * 8)

#define PROBES 16
#define PROBES_BYTES (2 * PROBES * 21)

/* The ids just below the bound, and some of all the others below it. */
static void put_probes(int64_t from, char out[PROBES_BYTES])
{
    int len = 0;

    for (int i = 0; i < PROBES; i++)
        len += snprintf(out + len, (size_t)(PROBES_BYTES - len), "%s%" PRId64 ",%" PRId64,
                        i == 0 ? "" : ",", from > i ? from - i - 1 : 0, from / PROBES * i + 1);
}

static bool is_unread(const struct outbox *outbox, const struct claim_request *request)
{
    return !request->parked && outbox->is_unread[request->refused];
}

/* The claim, and what is asked after it; free() it. NULL: no memory. */
static char *claim_statement(const struct outbox *outbox, const struct claim_request *request,
                             const char *declined)
{
    bool may_fail = outbox_is_expression(outbox_column(outbox->options, COLUMN_TOPIC));
    char *topics = request->parked || !may_fail ? away_topics(&outbox->away) : NULL;
    char locked[LOCKED_BYTES];
    char probes[PROBES_BYTES];
    char from[24], limit[12], payload_max[24];
    const char *statement = request->parked    ? db_sql_claim_parked
                            : request->refused ? db_sql_claim_refused
                                               : db_sql_claim;
    const struct sql_fact facts[] = {{"locked", .text = locked},
                                     {topics != NULL ? "passed_topics" : "", .text = topics},
                                     {"from", .text = from},
                                     {"limit", .text = limit},
                                     {"payload_max", .text = payload_max},
                                     {declined != NULL ? "declined" : "", .text = declined},
                                     {outbox->has_notes ? "notes" : "", .text = NULL},
                                     {outbox->reads_unread ? "unread" : "", .text = NULL},
                                     {"probes", .text = probes},
                                     {.name = NULL}};
    char *sql = NULL;
    char *around = tables_statement(&outbox->tables, db_sql_around, NULL);
    char *claim, *below;

    put_list(outbox->locked, outbox->locked_count, locked, sizeof locked);
    put_probes(outbox->from > 0 ? outbox->from : 0, probes);
    (void)snprintf(from, sizeof from, "%" PRId64, outbox->from > 0 ? outbox->from : 0);
    (void)snprintf(limit, sizeof limit, "%d", rows_of(outbox));
    (void)snprintf(payload_max, sizeof payload_max, "%" PRId64, request->payload_max);
    claim = tables_statement(&outbox->tables, statement, facts);
    below = tables_statement(&outbox->tables, db_sql_below, facts);
    if (claim != NULL && around != NULL && below != NULL &&
        asprintf(&sql, "%s;\n%s;\n%s; SAVEPOINT relay", sql_body(claim), sql_body(around),
                 sql_body(below)) < 0)
        sql = NULL;
    free(claim);
    free(around);
    free(below);
    free(topics);
    return sql;
}

/* A copy of a value, in the batch's memory. */
static struct text take(struct batch *batch, MYSQL_ROW row, const unsigned long *lengths,
                        int column)
{
    return row[column] != NULL ? batch_copy(batch, row[column], lengths[column])
                               : (struct text){NULL, 0};
}

static void take_time(struct batch *batch, struct message *message, const char *microseconds)
{
    int64_t created_us = number(microseconds);
    char *text;
    size_t len;

    if (microseconds == NULL || created_us <= 0) /* a zero date is no time */
        return;
    text = batch_alloc(batch, ROW_TIME_BYTES);
    len = text != NULL ? row_time(text, created_us - ROW_EPOCH_US) : 0;
    if (len == 0)
        return;
    message->created_at = (struct text){text, len};
    message->created_us = created_us;
}

static void judge(struct batch *batch, struct message *message, int64_t meta_length)
{
    if (meta_length > TABLES_META_MAX)
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "key, type and headers take %" PRId64 " bytes; at most %d are allowed",
                     meta_length, TABLES_META_MAX);
    else if (message->event_id.data == NULL)
        batch_refuse(batch, message, VERDICT_REJECTED, "the event id is NULL");
    else if (message->due_ms > 0)
        batch_refuse(batch, message, VERDICT_EARLY, "its time has not come");
}

void claim_fill(const struct tables *tables, struct batch *batch, struct message *message,
                MYSQL_ROW row, const unsigned long *lengths)
{
    const char *problem;

    message->id = take(batch, row, lengths, CLAIM_ID);
    message->event_id = take(batch, row, lengths, CLAIM_EVENT_ID);
    message->topic = take(batch, row, lengths, CLAIM_TOPIC);
    message->key = take(batch, row, lengths, CLAIM_KEY);
    message->type = take(batch, row, lengths, CLAIM_TYPE);
    message->payload = take(batch, row, lengths, CLAIM_PAYLOAD);
    message->payload_len =
        row[CLAIM_PAYLOAD_LENGTH] != NULL ? number(row[CLAIM_PAYLOAD_LENGTH]) : -1;
    message->payload_is_json = tables->payload_is_json;
    message->slice = (int)number(row[CLAIM_SLICE]);
    message->due_ms = number(row[CLAIM_DUE_MS]);
    if (batch->parked || batch->refused) {
        message->note = number(row[CLAIM_SEQ]);
        message->attempts = (int)number(row[CLAIM_ATTEMPTS]);
        message->waited_ms = number(row[CLAIM_WAITED_MS]);
    }
    if (batch->refused) {
        message->is_sent = number(row[CLAIM_IS_SENT]) != 0;
        if (message->is_sent)
            message->verdict = VERDICT_SENT;
    }
    take_time(batch, message, row[CLAIM_CREATED_US]);
    problem = row_headers(message, take(batch, row, lengths, CLAIM_HEADERS), batch);
    if (problem != NULL)
        batch_refuse(batch, message, problem == row_no_memory ? VERDICT_WAIT : VERDICT_REJECTED,
                     "%s", problem);
    if (message->verdict == VERDICT_PENDING)
        judge(batch, message, number(row[CLAIM_META_LENGTH]));
}

/* Adds the row to the batch, unless it has no room. Returns whether it was added. */
static bool add(struct outbox *outbox, struct batch *batch, MYSQL_ROW row,
                const unsigned long *lengths, int64_t *bytes)
{
    int64_t meta_length = number(row[CLAIM_META_LENGTH]);
    int64_t size = meta_length + (int64_t)lengths[CLAIM_PAYLOAD];
    struct message *message;

    if (batch->count > 0 && *bytes + size > outbox->options->batch_bytes)
        return false;
    message = batch_add(batch);
    if (message == NULL)
        return false;
    *bytes += size;
    claim_fill(&outbox->tables, batch, message, row, lengths);
    if (batch->parked && outbox->waited_for != NULL)
        outbox->waited_for[batch->count - 1] = take(batch, row, lengths, CLAIM_WAITS_FOR);
    return true;
}

/* Reads the rows of the claim. *is_full: there may be more of them behind outbox->last. */
static int take_rows(struct outbox *outbox, struct batch *batch, bool *is_full, struct error *error)
{
    const unsigned long *lengths;
    int limit = rows_of(outbox);
    int seen = 0;
    bool is_cut = false; /* there was no room for the bytes of a row */
    int64_t bytes = 0;
    MYSQL_ROW row;
    int more;

    *is_full = false; /* then the rest is only counted */
    if (db_stream(&outbox->session, error) < 0)
        return -1;
    while ((more = db_fetch(&outbox->session, &row, &lengths, error)) > 0) {
        int64_t id = number(row[CLAIM_ID]);

        seen++;
        if (!*is_full &&
            !away_drops(&outbox->away, outbox->routes, row[CLAIM_TOPIC], lengths[CLAIM_TOPIC])) {
            *is_full = batch->count == limit_of(outbox);
            is_cut = !*is_full && !add(outbox, batch, row, lengths, &bytes);
            *is_full = *is_full || is_cut;
        }
        if (!*is_full)
            outbox->last = id;
    }
    if (more < 0) {
        outbox->away.factor = AWAY_FACTOR; /* it may have read for too long */
        return -1;
    }
    *is_full = *is_full || seen == limit;
    if (!*is_full)
        outbox->last = INT64_MAX;
    if (!batch->parked && !batch->refused)
        away_end(&outbox->away, *is_full && batch->count == 0, limit);
    if (is_cut && outbox->level < CLAIM_LEVELS - 1)
        outbox->level++;
    else if (!is_cut && outbox->level > 0 && batch->count > 0 &&
             bytes / batch->count * limit_of(outbox) * CLAIM_LEVEL_FACTOR <=
                 outbox->options->batch_bytes)
        outbox->level--;
    return 0;
}

/* ---- rows behind parked ones ---- */

/* The keys of the messages from *at on, of as many as a statement has room for. */
static char *pack_keys(const struct batch *batch, int *at)
{
    struct writer writer;
    const char *divider = "[";

    if (!writer_begin(&writer))
        return NULL;
    for (; *at < batch->count && ftell(writer.out) < TABLES_STATEMENT_BYTES; ++*at) {
        const struct message *message = &batch->messages[*at];

        if (message->key.data == NULL)
            continue;
        (void)fprintf(writer.out, "%s[\"", divider);
        for (size_t i = 0; i < message->key.len; i++)
            (void)fprintf(writer.out, "%02x", (unsigned char)message->key.data[i]);
        (void)fprintf(writer.out, "\",%.*s]", (int)message->id.len, message->id.data);
        divider = ",";
    }
    (void)fputs(divider[0] == '[' ? "[]" : "]", writer.out);
    return writer_end(&writer);
}

static int mark_some(struct outbox *outbox, struct batch *batch, int *at, struct error *error)
{
    char *keys = pack_keys(batch, at);
    const struct sql_fact facts[] = {{"rows", .text = keys}, {.name = NULL}};
    MYSQL_RES *rows;
    MYSQL_ROW row;

    if (keys == NULL)
        return error_no_memory(error);
    rows = tables_query(&outbox->tables, &outbox->session, db_sql_blocked, facts, error);
    free(keys);
    if (rows == NULL)
        return -1;
    while ((row = mysql_fetch_row(rows)) != NULL)
        for (int i = 0; i < batch->count; i++)
            if (row[0] != NULL && text_equal(batch->messages[i].id, text_of(row[0])))
                batch->messages[i].blocked = true;
    mysql_free_result(rows);
    return 0;
}

static int mark_blocked(struct outbox *outbox, struct batch *batch, struct error *error)
{
    int at = 0;
    int status = 0;

    while (status == 0 && at < batch->count)
        status = mark_some(outbox, batch, &at, error);
    return status;
}

/* ---- the claim ---- */

static int await_flush(struct outbox *outbox, struct error *error)
{
    if (!outbox->options->durable_before_publish || outbox->server.durability == DURABLE_AT_ONCE)
        return 0;
    if (outbox->server.durability == DURABLE_NOT)
        return db_server_check(&outbox->server, outbox->options, error);
    if (outbox->source == NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_SELF, "no session flushes the log");
    if (wal_flush_wait(outbox->source->flush, &outbox->server.identity, error) < 0)
        return error_hint(error, "durable_before_publish needs this flush before a publish; check"
                                 " the server's disk");
    return 0;
}

/* Bounds are void where ids have begun again, after TRUNCATE or in a table that was restored: at
 * the next tick there may be more of them than before. */
static int check_bounds(struct outbox *outbox, struct error *error)
{
    const struct horizon_view *view = &outbox->view;
    MYSQL_RES *rows;
    MYSQL_ROW row;

    if (db_next(&outbox->session, error) < 0 || (rows = db_rows(&outbox->session, error)) == NULL)
        return -1;
    while ((row = mysql_fetch_row(rows)) != NULL) {
        int64_t slice = number(row[1]);

        if (row[0] == NULL && row[1] != NULL && outbox->tables.made_at != 0 &&
            slice != outbox->tables.made_at)
            outbox->is_stale = true;
        if (row[0] == NULL
                ? view->file != 0 && (uint32_t)slice != view->file
                : slice < outbox->choice.count && number(row[0]) < view->bounds[slice].low &&
                      !away_drops(&outbox->away, outbox->routes, row[2],
                                  mysql_fetch_lengths(rows)[2]))
            outbox->is_void = true;
    }
    mysql_free_result(rows);
    if (outbox->is_void && outbox->source != NULL) {
        horizon_read(outbox->source->horizon, &outbox->server.identity, &outbox->view);
        horizon_reset(outbox->source->horizon, view->stamp.epoch);
    }
    return 0;
}

/* Sends the claim and reads all its answers. */
static int read_rows(struct outbox *outbox, struct batch *batch,
                     const struct claim_request *request, const char *declined, bool *is_full,
                     struct error *error)
{
    char *sql = claim_statement(outbox, request, declined);
    bool knew_notes = outbox->has_notes;
    bool has_parked_keys = false;
    int status = -1;

    outbox->is_stale = outbox->is_void = false;
    if (sql == NULL)
        return error_no_memory(error);
    if (db_send(&outbox->session, sql, error) == 0 &&
        take_rows(outbox, batch, is_full, error) == 0 && db_next(&outbox->session, error) == 0 &&
        take_around(outbox, &has_parked_keys, error) == 0 && check_bounds(outbox, error) == 0)
        status = db_next(&outbox->session, error); /* the savepoint */
    free(sql);
    if (status < 0) { /* its rows may have been too many, or too large, or one cannot be read */
        if (!request->parked)
            outbox->is_unread[request->refused] =
                error->cause == ERROR_OF_ROW && outbox->level == CLAIM_LEVELS - 1;
        outbox->level = CLAIM_LEVELS - 1;
        return -1;
    }
    if (outbox->has_notes && !knew_notes) /* it may have claimed rows that were sent */
        outbox->is_void = true;
    return claim_is_of_outbox(request) && has_parked_keys && batch->count > 0 &&
                   outbox->options->order == ORDER_KEY
               ? mark_blocked(outbox, batch, error)
               : 0;
}

/* How far the claim has come, and whether there may be more to claim. One that has read as many
 * rows as it ever does, all for sinks that are away, would find no others. */
static void note_reach(struct outbox *outbox, struct batch *batch, bool is_full)
{
    struct slice_choice *choice = &outbox->choice;

    if (batch->count > 0 && outbox->source != NULL && outbox->away.sinks == 0)
        horizon_note_claimed(outbox->source->horizon, outbox->view.stamp.epoch,
                             number(batch->messages[batch->count - 1].id.data));
    outbox->empty_slices = batch->count > 0 ? 0 : outbox->empty_slices + outbox->locked_count;
    batch->has_more =
        (is_full && (batch->count > 0 || rows_of(outbox) < AWAY_ROWS_MAX)) ||
        (outbox->locked_count == choice->width && outbox->empty_slices < choice->count);
    if (batch->count == 0 && !batch->has_more)
        outbox->empty_slices = 0;
    choice_note_claimed(choice, outbox->locked, outbox->locked_count);
    choice_adapt_width(choice, outbox->locked_count, is_full, batch->count >= limit_of(outbox) / 2);
}

void claim_note_end(struct outbox *outbox)
{
    const struct horizon_bound from = {outbox->from, outbox->from};

    for (int i = 0; outbox->reports && i < outbox->locked_count; i++)
        horizon_advance(outbox->away.sinks != 0 ? outbox->away.horizon : outbox->source->horizon,
                        &outbox->view.stamp, outbox->locked[i], &from, outbox->last, false);
    outbox->reports = false;
}

/* Somebody has deleted or settled the rows of these notes, which would hold back their keys. */
static int end_lost_notes(struct outbox *outbox, struct error *error)
{
    char locked[LOCKED_BYTES];
    const struct sql_fact facts[] = {{"locked", .text = locked}, {.name = NULL}};
    MYSQL_RES *rows;
    char *list;
    int64_t ended = 0;

    put_list(outbox->locked, outbox->locked_count, locked, sizeof locked);
    rows = tables_query(&outbox->tables, &outbox->session, db_sql_lost_notes, facts, error);
    if (rows == NULL)
        return -1;
    list = settle_pack_first(rows);
    if (list == NULL)
        ended = error_no_memory(error);
    else if (mysql_num_rows(rows) > 0) {
        const struct text param = text_of(list);

        ended = db_run(&outbox->session, PREPARED_END_NOTES, &param, 1, error);
        if (ended >= 0 && settle_adopt(&outbox->tables, &outbox->session, error) < 0)
            ended = -1;
    }
    free(list);
    mysql_free_result(rows);
    return ended < 0 ? -1 : 0;
}

/* 1: the server can read this row; 0: it cannot, with *error set; -1. */
static int can_read(struct outbox *outbox, const struct message *message, int64_t payload_max,
                    struct error *error)
{
    char most[24];
    const struct sql_fact facts[] = {
        {"from", .text = message->id.data}, {"payload_max", .text = most}, {.name = NULL}};
    MYSQL_RES *rows;

    (void)snprintf(most, sizeof most, "%" PRId64, payload_max);
    rows = tables_query(&outbox->tables, &outbox->session, db_sql_unread, facts, error);
    mysql_free_result(rows);
    return rows != NULL ? 1 : error->cause == ERROR_OF_ROW ? 0 : -1;
}

/* The claim has read rows without their expressions, of which one failed: the batch becomes the
 * first row for which one does. It may have been another row's: then the claim was in vain. */
static int reject_unread(struct outbox *outbox, struct batch *batch,
                         const struct claim_request *request, struct error *error)
{
    struct message *message = &batch->messages[0];
    int can = 1;

    outbox->is_unread[request->refused] = false;
    for (int i = 0; i < batch->count && can > 0; i++) {
        *message = batch->messages[i];
        can = can_read(outbox, message, request->payload_max, error);
    }
    if (can < 0)
        return -1;
    if (can > 0) {
        batch_reset(batch);
        return 0;
    }
    batch->count = 1;
    if (message->verdict != VERDICT_PENDING) /* it was sent, and is only to be settled */
        return 0;
    message->is_new_refusal = message->note == 0 || message->attempts == 0;
    message->attempts++;
    batch_refuse(batch, message, VERDICT_REFUSED, "the server cannot read this row: %s",
                 error_bare_text(error));
    batch_quote(batch, message, error->words);
    return 0;
}

/* The session ends, so that the next one describes the table anew. */
static int note_stale(struct outbox *outbox, struct error *error)
{
    outbox->locked_count = 0;
    db_close(&outbox->session);
    if (outbox->was_stale)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "database: table %s has changed again", outbox->tables.outbox);
    log_info("table %s has changed: described anew", outbox->tables.outbox);
    return 0;
}

static int claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 const char *declined, struct error *error)
{
    bool of_outbox = claim_is_of_outbox(request);
    bool is_full = false;
    bool unread = is_unread(outbox, request);

    outbox->reads_unread = unread;
    away_begin(&outbox->away, request->away);
    if (outbox->source != NULL && of_outbox && request->away != 0)
        horizon_read_while_away(outbox->away.horizon, outbox->source->horizon, request->away,
                                &outbox->server.identity, &outbox->view);
    else if (outbox->source != NULL)
        horizon_read(outbox->source->horizon, &outbox->server.identity, &outbox->view);
    choice_list_candidates(&outbox->choice, outbox->view.bounds, clock_now_ms());
    if ((of_outbox ? lock_free(outbox, error) : lock_due(outbox, request, declined, error)) < 0)
        return -1;
    outbox->from = least_bound(outbox);
    if (outbox->locked_count == 0)
        return claim_read_around(outbox, error);
    if (request->refused && end_lost_notes(outbox, error) < 0)
        return -1;
    if (read_rows(outbox, batch, request, declined, &is_full, error) < 0)
        return -1;
    if (outbox->is_stale && note_stale(outbox, error) < 0)
        return -1;
    outbox->was_stale = outbox->is_stale;
    if (outbox->is_stale || (outbox->is_void && !request->refused)) {
        batch_reset(batch);
        batch->has_more = true;
        return 0;
    }
    if (unread && reject_unread(outbox, batch, request, error) < 0)
        return -1;
    if (unread && batch->count == 0) {
        batch->has_more = true;
        return 0;
    }
    batch->is_asked = of_outbox;
    outbox->reports = of_outbox && outbox->source != NULL && !unread; /* it may have passed rows */
    if (of_outbox)
        note_reach(outbox, batch, is_full);
    else
        batch->has_more = is_full;
    if (batch->count == 0)
        return 0;
    return await_flush(outbox, error);
}

int claim_rows(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
               struct error *error)
{
    char *declined = claim_declined(request->declined);
    int status;

    batch_reset(batch);
    batch->parked = request->parked;
    batch->refused = request->refused;
    outbox->waited_for =
        request->parked
            ? batch_alloc(batch, (size_t)outbox->options->batch * sizeof *outbox->waited_for)
            : NULL;
    batch->event_ids = outbox->tables.event_id_is_unique ? EVENT_IDS_DISTINCT : EVENT_IDS_COINCIDE;
    outbox->reports = false;
    outbox->sent_at_ms = clock_boot_ms();
    status = claim(outbox, batch, request, declined, error);
    free(declined);
    outbox->server_work_ms = clock_boot_ms() - outbox->sent_at_ms;
    if (outbox->server_work_ms > DB_STATEMENT_MS)
        outbox->server_work_ms = DB_STATEMENT_MS;
    return status;
}

/* After a COMMIT that failed, as in MariaDB's BACKUP STAGE BLOCK_COMMIT: rows that are claimed and
 * published while none works would be published again and again. */
static int try_commit(struct outbox *outbox, struct error *error)
{
    if (outbox->cannot_commit &&
        tables_execute(&outbox->tables, &outbox->session, db_sql_flush, NULL, error) < 0)
        return -1;
    outbox->cannot_commit = false;
    return 0;
}

int outbox_claim(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                 struct error *error)
{
    if (try_commit(outbox, error) < 0 || claim_rows(outbox, batch, request, error) < 0) {
        batch_reset(batch);
        claim_roll_back(outbox);
        return -1;
    }
    if (batch->count > 0)
        return 0;
    claim_note_end(outbox);
    if (request->refused && outbox->locked_count > 0) /* notes may have ended */
        outbox->cannot_commit = db_execute(&outbox->session, "COMMIT", error) < 0;
    claim_roll_back(outbox);
    return outbox->cannot_commit ? -1 : 0;
}
