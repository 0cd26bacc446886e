/*
 * audit: reads sent rows by the statements of lanes, a page at a time, without a lock.
 *
 * A page is read in a transaction of its own that only reads, so no snapshot lasts long. It finds
 * the places of its rows first: the snapshot keeps them where they are. Their values come in parts
 * of at most batch_bytes. A part that PostgreSQL cannot read is halved until only the row at
 * fault is left.
 */
#include "admin/audit.h"

#include "admin/admin_session.h"
#include "admin/facts.h"
#include "catalog/describe.h"
#include "outbox/fill.h"
#include "outbox/row.h"
#include "sql/statements.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum page_column { PAGE_LAST, PAGE_PLACE, PAGE_ID, PAGE_SENT };

struct place {
    unsigned char row[MESSAGE_ROW_BYTES];
    bool is_read;
    struct sent_row sent;
};

struct reading {
    struct admin *admin;
    const struct audit_request *request;
    const struct sent_reader *reader;
    struct sent_rows *rows;
    bool parked; /* the parked table is read */
    char since[64];
    int64_t rank; /* of the last row, where the ids are no integers */
    struct place places[AUDIT_PAGE_ROWS];
    int count;
    struct sent_row sent[AUDIT_PAGE_ROWS]; /* of the batch's messages */
    struct batch batch;
};

struct statement audit_statement(const struct outbox_options *options, bool parked)
{
    struct statement statement = {
        .text = statement_audit_rows,
        .facts = "",
        .kind = parked ? CLAIM_PARKED : CLAIM_OUTBOX,
        .limit = AUDIT_PAGE_ROWS,
        .inline_bytes = options->batch_bytes / AUDIT_PAGE_ROWS,
    };

    (void)snprintf(statement.name, sizeof statement.name, "%s",
                   parked ? "audit_parked_rows" : "audit_rows");
    return statement;
}

/* ---- a page ---- */

static int compare_places(const void *a, const void *b)
{
    return memcmp(((const struct place *)a)->row, ((const struct place *)b)->row,
                  MESSAGE_ROW_BYTES);
}

static int compare_ids(const void *a, const void *b)
{
    int64_t first = ((const struct place *)a)->sent.rank;
    int64_t second = ((const struct place *)b)->sent.rank;

    return (first > second) - (first < second);
}

/* Rows of two partitions may lie at the same place. */
static bool is_by_id(const struct reading *reading)
{
    return reading->admin->table.is_partitioned && !reading->parked;
}

static int64_t rank_of(struct reading *reading, const char *id)
{
    if (table_has_integer_ids(&reading->admin->table))
        return strtoll(id, NULL, 10);
    return reading->parked ? INT64_MIN : ++reading->rank;
}

static void note_places(struct reading *reading, const PGresult *page)
{
    reading->count = 0;
    for (int row = 0; row < PQntuples(page); row++) {
        struct place *place = &reading->places[reading->count];

        if (PQgetisnull(page, row, PAGE_PLACE))
            continue;
        reading->count++;
        place->is_read = false;
        row_place(place->row, PQgetvalue(page, row, PAGE_PLACE));
        place->sent.rank = rank_of(reading, PQgetvalue(page, row, PAGE_ID));
        place->sent.sent_ms = strtoll(PQgetvalue(page, row, PAGE_SENT), NULL, 10);
        if (place->sent.sent_ms < reading->rows->first_ms)
            reading->rows->first_ms = place->sent.sent_ms;
    }
    qsort(reading->places, (size_t)reading->count, sizeof(*reading->places),
          is_by_id(reading) ? compare_ids : compare_places);
}

/* ---- the values of a part of the page ---- */

/* Returns 1 with the values; 0 with *error set when some row cannot be read; -1. */
static int read_values(struct reading *reading, int from, int to, PGresult **values,
                       struct error *error)
{
    struct session *session = &reading->admin->session;
    uint64_t most = htobe64((uint64_t)reading->request->payload_max);
    struct array params[2] = {{NULL, 0, 0}, {.bytes = (char *)&most, .len = sizeof most}};
    struct error other;
    bool by_id = is_by_id(reading);
    size_t bytes;
    int count = 0;

    for (int i = from; i < to; i++)
        count += !reading->places[i].is_read;
    bytes = (size_t)count * (by_id ? sizeof(int64_t) : MESSAGE_ROW_BYTES);
    array_begin(&params[0], batch_alloc(&reading->batch, array_size(count, bytes)),
                by_id ? ARRAY_INT8 : ARRAY_TID, count, bytes);
    if (params[0].bytes == NULL)
        return error_no_memory(error);
    for (int i = from; i < to; i++) {
        if (reading->places[i].is_read)
            continue;
        if (by_id)
            array_add_int8(&params[0], reading->places[i].sent.rank);
        else
            array_add(&params[0], reading->places[i].row, MESSAGE_ROW_BYTES);
    }
    if (session_queue(session, reading->parked ? "audit_parked_rows" : "audit_rows", 2, params,
                      true, error) < 0 ||
        session_sync(session, error) < 0)
        return -1;
    *values = session_answer(session, PGRES_TUPLES_OK, error);
    if (*values == NULL && !failure_is_of_row(session->failure))
        return -1;
    if (session_skip(session, PGRES_PIPELINE_SYNC, &other) == 0)
        return *values != NULL;
    PQclear(*values);
    *error = other;
    return -1;
}

static struct place *find_place(struct reading *reading, const struct message *message)
{
    struct place wanted;
    bool by_id = is_by_id(reading);

    memcpy(wanted.row, message->row, sizeof wanted.row);
    if (by_id)
        wanted.sent.rank = wire_integer(message->id);
    return bsearch(&wanted, reading->places, (size_t)reading->count, sizeof wanted,
                   by_id ? compare_ids : compare_places);
}

/* Rows for which there was no room in this part stay to be read. */
static int fill_batch(struct reading *reading, PGresult *values, struct error *error)
{
    struct batch *batch = &reading->batch;
    bool is_json = table_payload_is_json(&reading->admin->table);

    fill_keep(batch, values);
    for (int row = 0; row < PQntuples(values); row++) {
        struct message *message = batch_add(batch);
        struct place *place;
        struct row_size size;

        if (message == NULL)
            return error_set(error, ERROR_PERMANENT, ERROR_SELF, "a page has too many rows");
        fill_fields(batch, message, row);
        size = fill_measure(batch, message, row, reading->request->payload_max);
        place = find_place(reading, message);
        if (place == NULL || (!size.whole && !size.too_large)) {
            batch->count--;
            continue;
        }
        place->is_read = true;
        reading->sent[batch->count - 1] = place->sent;
        fill_convert(batch, message, row, is_json, &size);
        if (message->verdict == VERDICT_EARLY)
            message->verdict = VERDICT_PENDING;
    }
    return 0;
}

static int left_in(const struct reading *reading, int from, int to)
{
    int left = 0;

    for (int i = from; i < to; i++)
        left += !reading->places[i].is_read;
    return left;
}

static void leave_out(struct reading *reading, int at, const struct error *why)
{
    reading->places[at].is_read = true;
    if (reading->rows->unreadable++ == 0)
        (void)snprintf(reading->rows->why, sizeof reading->rows->why, "%.500s", why->text);
}

/* The savepoint forgets what the statement has set, and a failure. */
static int read_once(struct reading *reading, int from, int to, bool *failed, struct error *why,
                     struct error *error)
{
    struct session *session = &reading->admin->session;
    PGresult *values = NULL;
    int status;

    batch_reset(&reading->batch);
    reading->batch.parked = reading->parked;
    if (session_execute(session, "SAVEPOINT relay_part", error) < 0)
        return -1;
    status = read_values(reading, from, to, &values, error);
    if (status < 0)
        return -1;
    *failed = status == 0;
    if (*failed)
        *why = *error;
    if (status > 0 && fill_batch(reading, values, error) < 0)
        return -1;
    return session_execute(session,
                           "ROLLBACK TO SAVEPOINT relay_part; RELEASE SAVEPOINT relay_part", error);
}

static int read_part(struct reading *reading, int from, int to, struct error *error)
{
    const struct sent_reader *reader = reading->reader;

    for (int left = left_in(reading, from, to); left > 0;) {
        struct error why;
        bool failed;
        int still;

        if (read_once(reading, from, to, &failed, &why, error) < 0)
            return -1;
        if (failed) {
            if (to - from > 1)
                return read_part(reading, from, from + (to - from) / 2, error) < 0
                           ? -1
                           : read_part(reading, from + (to - from) / 2, to, error);
            leave_out(reading, from, &why);
            return 0;
        }
        if (reading->batch.count > 0 &&
            reader->on_rows(reader->closure, &reading->batch, reading->sent, error) < 0)
            return -1;
        still = left_in(reading, from, to);
        if (still == left)
            return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "rows have left their place");
        left = still;
    }
    return 0;
}

/* ---- all pages ---- */

/* Returns 1 when there may be more pages, with *last replaced; 0; or -1. */
static int read_page(struct reading *reading, char **last, struct error *error)
{
    struct session *session = &reading->admin->session;
    const char *since = reading->since[0] != '\0' ? reading->since : NULL;
    const char *params[4] = {*last, reading->request->from, reading->request->to, since};
    PGresult *page;
    char *next = NULL;
    bool has_more;
    int status = -1;
    int row;

    if (session_execute(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error) < 0)
        return -1;
    page = admin_query(reading->admin,
                       reading->parked ? statement_audit_parked_page : statement_audit_page, 4,
                       params, error);
    if (page == NULL)
        return -1;
    note_places(reading, page);
    row = reading->parked && PQntuples(page) == AUDIT_PAGE_ROWS ? AUDIT_PAGE_ROWS - 1 : 0;
    has_more = PQntuples(page) > row && !PQgetisnull(page, row, PAGE_LAST) &&
               (!reading->parked || row > 0);
    if (has_more)
        next = strdup(PQgetvalue(page, row, PAGE_LAST));
    PQclear(page);
    if (has_more && next == NULL)
        return error_no_memory(error);
    if (read_part(reading, 0, reading->count, error) == 0 &&
        session_execute(session, "COMMIT", error) == 0)
        status = next != NULL;
    free(*last);
    *last = next;
    return status;
}

static int read_pages(struct reading *reading, bool parked, struct error *error)
{
    char *last = NULL;
    int status;

    reading->parked = parked;
    do
        status = read_page(reading, &last, error);
    while (status > 0);
    free(last);
    return status;
}

static int prepare(struct reading *reading, const struct routes *routes, struct error *error)
{
    struct admin *admin = reading->admin;
    struct sequence sequence = {0};
    const struct slice_facts about = {
        .tables = {&admin->table, admin->options}, .routes = routes, .sequence = &sequence};
    const struct statement rows = audit_statement(admin->options, false);
    const struct statement parked = audit_statement(admin->options, true);

    admin->session.computes_values = admin->table.is_computed;
    return session_prepare(&admin->session, rows.name, sql_statement(&rows, &about), error) < 0 ||
                   session_prepare(&admin->session, parked.name, sql_statement(&parked, &about),
                                   error) < 0
               ? -1
               : session_read_prepared(&admin->session, error);
}

static int find_since(struct reading *reading, struct error *error)
{
    const char *since = reading->request->since;
    int64_t ago_ms = since != NULL ? text_parse_duration_ms(since) : -1;
    char ago[32];
    const char *params[2] = {ago_ms >= 0 ? ago : NULL, ago_ms >= 0 ? NULL : since};
    PGresult *result;

    (void)snprintf(ago, sizeof ago, "%" PRId64, ago_ms);
    result = admin_query(reading->admin, statement_audit_since, 2, params, error);
    if (result == NULL && since != NULL && error_is_sqlstate(error, "22"))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "--since: not a duration or a timestamp: %s", since);
    if (result == NULL)
        return -1;
    (void)snprintf(reading->since, sizeof reading->since, "%s", PQgetvalue(result, 0, 0));
    reading->rows->since_ms = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return 0;
}

int admin_check_sent(struct admin *admin, struct error *error)
{
    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    if (admin->options->on_sent == ON_SENT_DELETE) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "with on_sent = \"delete\" the table does not say what was sent");
        return error_hint(error, "set [outbox] on_sent = \"mark\"; rows sent from then on can be"
                                 " audited, and sent again, until the retention ends");
    }
    return table_check_sent(&admin->table, error);
}

int admin_read_sent(struct admin *admin, const struct routes *routes,
                    const struct audit_request *request, const struct sent_reader *reader,
                    struct sent_rows *rows, struct error *error)
{
    struct reading *reading = calloc(1, sizeof *reading);
    int status = -1;

    *rows = (struct sent_rows){.first_ms = INT64_MAX};
    if (reading == NULL || batch_init(&reading->batch, AUDIT_PAGE_ROWS) < 0) {
        free(reading);
        return error_no_memory(error);
    }
    reading->batch.numbered = admin->table.numbered;
    reading->admin = admin;
    reading->request = request;
    reading->reader = reader;
    reading->rows = rows;
    if (find_since(reading, error) == 0 && prepare(reading, routes, error) == 0 &&
        read_pages(reading, false, error) == 0)
        status = read_pages(reading, true, error);
    batch_free(&reading->batch);
    free(reading);
    return status;
}

/* ---- the event ids of all rows ---- */

enum known_column { KNOWN_LAST, KNOWN_EVENT_ID, KNOWN_SENT };

static int read_known(struct admin *admin, const char *statement, const struct sent_reader *reader,
                      int64_t *first_ms, struct error *error)
{
    char *last = NULL;
    int count = AUDIT_KNOWN_ROWS;
    int status = 0;

    while (count == AUDIT_KNOWN_ROWS && status == 0) {
        const char *params[1] = {last};
        PGresult *page = admin_query(admin, statement, 1, params, error);

        if (page == NULL) {
            status = -1;
            break;
        }
        count = PQntuples(page);
        for (int row = 0; row < count && status == 0; row++) {
            struct text event_id = {PQgetvalue(page, row, KNOWN_EVENT_ID),
                                    (size_t)PQgetlength(page, row, KNOWN_EVENT_ID)};
            int64_t sent_ms = PQgetisnull(page, row, KNOWN_SENT)
                                  ? INT64_MAX
                                  : strtoll(PQgetvalue(page, row, KNOWN_SENT), NULL, 10);

            if (sent_ms < *first_ms)
                *first_ms = sent_ms;
            status = reader->on_known(reader->closure, event_id, error);
        }
        free(last);
        last = count > 0 ? strdup(PQgetvalue(page, count - 1, KNOWN_LAST)) : NULL;
        PQclear(page);
        if (last == NULL && count > 0)
            return error_no_memory(error);
    }
    free(last);
    return status;
}

int admin_read_known(struct admin *admin, const struct sent_reader *reader, int64_t *first_ms,
                     struct error *error)
{
    *first_ms = INT64_MAX;
    if (strcmp(admin->table.columns[COLUMN_EVENT_ID].base, "bytea") == 0)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "event ids of type bytea cannot be looked for in the table");
    return read_known(admin, statement_audit_known, reader, first_ms, error) < 0
               ? -1
               : read_known(admin, statement_audit_parked_known, reader, first_ms, error);
}
