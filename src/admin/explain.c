/*
 * explain: reads rows as a claim does, by the statements of lanes, but without a lock and in a
 * transaction that only reads.
 *
 * The transaction keeps its snapshot, so a ctid that it has found stays that of the same version.
 * Each row is read by itself, because one whose values cannot be computed must not hide the others.
 */
#include "admin/admin_session.h"

#include "admin/facts.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/sql_text.h"
#include "outbox/fill.h"
#include "outbox/row.h"
#include "sql/statements.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The columns of explain_rows.sql. */
enum { EXPLAIN_PLACE, EXPLAIN_PARKED, EXPLAIN_ID, EXPLAIN_EVENT_ID, EXPLAIN_STATE, EXPLAIN_ERROR };

/* ---- which rows ---- */

struct explain_facts {
    const struct explain_request *request;
    const struct table *table;
};

static const struct table *table_of(const void *about)
{
    return ((const struct explain_facts *)about)->table;
}

/* An index finds integers and UUIDs among the words; other ids are compared as text. */
static void put_search(FILE *out, const struct table *table, enum column column, const char *value)
{
    bool is_uuid = strcmp(table_type(table, column), "uuid") == 0;

    if (!is_uuid && !column_is_integer(&table->columns[column]))
        (void)fprintf(out, "%s::text = ANY ($2::text[])", value);
    else
        (void)fprintf(out,
                      "%s = ANY (ARRAY(SELECT CASE WHEN relay_word ~ '%s' THEN relay_word::%s END"
                      " FROM unnest($2::text[]) relay_words (relay_word)))",
                      value,
                      is_uuid ? "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
                              : "^-?[0-9]{1,18}$",
                      is_uuid ? "uuid" : "int8");
}

/* An event id that is computed is looked for among parked rows only, which keep it. */
static bool event_id_is_searched(const void *about)
{
    return table_of(about)->columns[COLUMN_EVENT_ID].expression == NULL;
}

static int is_so(const void *about, const char *name)
{
    const struct sql_truth all[] = {{"event_id_is_searched", event_id_is_searched(about)}};

    return sql_truth(all, 1, name);
}

static int put_is_explained(FILE *out, const void *about)
{
    const struct explain_facts *facts = about;
    const struct table_column *columns = facts->table->columns;

    if (facts->request->id_count == 0)
        return fprintf(out, "(%s)",
                       facts->request->where != NULL ? facts->request->where : "true") < 0
                   ? -1
                   : 0;
    put_search(out, facts->table, COLUMN_ID, columns[COLUMN_ID].quoted);
    if (!event_id_is_searched(about))
        return 0;
    (void)fputs(" OR ", out);
    put_search(out, facts->table, COLUMN_EVENT_ID, columns[COLUMN_EVENT_ID].quoted);
    return 0;
}

static int put_is_explained_parked(FILE *out, const void *about)
{
    const struct explain_facts *facts = about;

    if (facts->request->id_count == 0)
        return fputs("false", out) < 0 ? -1 : 0;
    put_search(out, facts->table, COLUMN_ID, "id");
    (void)fputs(" OR ", out);
    put_search(out, facts->table, COLUMN_EVENT_ID, "event_id");
    return 0;
}

static const struct sql_fact facts_of_rows[] = {
    {"is_explained", .put = put_is_explained},
    {"is_explained_parked", .put = put_is_explained_parked},
    {.name = NULL},
};

static char *rows_sql(const struct admin *admin, const struct explain_request *request)
{
    const struct explain_facts about = {request, &admin->table};
    const struct table_facts tables = {&admin->table, admin->options};
    const struct sql_facts more = table_facts(&tables);
    const struct sql_facts list = {
        .list = facts_of_rows, .is = is_so, .about = &about, .more = &more};

    return sql_render(statement_explain_rows, &list);
}

/* The fault of --where, also that a function in it writes, is the user's. */
static void blame_where(const struct explain_request *request, struct error *error)
{
    const struct error cause = *error;
    const char *text;

    if (request->where != NULL &&
        (filter_is_fault(&cause, &text) || error_is_sqlstate(&cause, "25006")))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "--where: %s", text);
}

static PGresult *find_rows(struct admin *admin, const struct explain_request *request,
                           struct error *error)
{
    bool by_id = request->id_count > 0;
    int id_count = request->id_count < EXPLAIN_ROWS_MAX ? request->id_count : EXPLAIN_ROWS_MAX;
    char *ids = by_id ? sql_text_array(request->ids, id_count) : NULL;
    char limit[16];
    PGresult *found = NULL;

    (void)snprintf(limit, sizeof limit, "%d", by_id ? EXPLAIN_ROWS_MAX : request->last);
    if (by_id && ids == NULL)
        (void)error_no_memory(error);
    else if (request->where == NULL ||
             filter_parse(&admin->table, &admin->session, request->where, error) == 0)
        found = admin_query_sql(admin, rows_sql(admin, request), by_id ? 2 : 1,
                                (const char *[]){limit, ids}, error);
    if (found == NULL)
        blame_where(request, error);
    free(ids);
    return found;
}

/* ---- one row ---- */

static int prepare(struct admin *admin, const struct routes *routes, struct error *error)
{
    struct sequence sequence = {0};
    const struct slice_facts about = {
        .tables = {&admin->table, admin->options}, .routes = routes, .sequence = &sequence};
    struct statement statement;
    int at = 0;

    while (sql_next(&at, &about, &statement))
        if ((strcmp(statement.name, "read_row") == 0 ||
             (strcmp(statement.name, "read_parked_row") == 0 && admin->table.parked_exists)) &&
            session_prepare(&admin->session, statement.name, sql_statement(&statement, &about),
                            error) < 0)
            return -1;
    return session_read_prepared(&admin->session, error);
}

/* Returns 1 with the values; 0 with *error set when the row cannot be read; -1. */
static int read_values(struct session *session, bool parked, const char *place, const char *id,
                       int64_t payload_max, PGresult **values, struct error *error)
{
    uint64_t no_sink = 0;
    uint64_t most = htobe64((uint64_t)payload_max);
    unsigned char row[MESSAGE_ROW_BYTES];
    const struct array params[4] = {{.bytes = (char *)&no_sink, .len = sizeof no_sink},
                                    {.bytes = (char *)&most, .len = sizeof most},
                                    {.bytes = (char *)row, .len = sizeof row},
                                    {.bytes = (char *)id, .len = strlen(id)}};
    struct error other;

    row_place(row, place);
    if (session_queue(session, parked ? "read_parked_row" : "read_row", 4, params, true, error) <
            0 ||
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

/* What the claim reads, or why it cannot. */
static int fill(struct admin *admin, const PGresult *found, int row, int64_t payload_max,
                struct batch *batch, struct error *error)
{
    struct session *session = &admin->session;
    struct message *message;
    struct row_size size;
    PGresult *values;
    int status;

    batch_reset(batch);
    batch->parked = PQgetvalue(found, row, EXPLAIN_PARKED)[0] == '1';
    if (session_execute(session, "SAVEPOINT relay_row", error) < 0)
        return -1;
    status = read_values(session, batch->parked, PQgetvalue(found, row, EXPLAIN_PLACE),
                         PQgetvalue(found, row, EXPLAIN_ID), payload_max, &values, error);
    if (status < 0)
        return -1;
    message = batch_add(batch);
    if (status == 0) {
        message->id = text_of(PQgetvalue(found, row, EXPLAIN_ID));
        message->event_id = text_of(PQgetvalue(found, row, EXPLAIN_EVENT_ID));
        fill_unreadable(batch, message, admin->table.is_computed, error);
        return session_execute(session, "ROLLBACK TO SAVEPOINT relay_row", error);
    }
    fill_keep(batch, values);
    if (PQntuples(values) == 0)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "a row has left its place");
    fill_fields(batch, message, 0);
    size = fill_measure(batch, message, 0, payload_max);
    fill_convert(batch, message, 0, table_payload_is_json(&admin->table), &size);
    if (message->verdict == VERDICT_EARLY)
        message->verdict = VERDICT_PENDING;
    return session_execute(session, "RELEASE SAVEPOINT relay_row", error);
}

/* ---- all of them ---- */

static int check_found(const PGresult *found, const struct explain_request *request,
                       struct error *error)
{
    char safe[256];

    for (int i = 0; i < request->id_count; i++) {
        const char *id = request->ids[i];
        int row = 0;

        while (row < PQntuples(found) && strcasecmp(PQgetvalue(found, row, EXPLAIN_ID), id) != 0 &&
               strcasecmp(PQgetvalue(found, row, EXPLAIN_EVENT_ID), id) != 0)
            row++;
        if (row == PQntuples(found))
            return error_set(error, ERROR_PERMANENT, ERROR_SELF,
                             "no row, unsent, sent or parked, has id \"%s\"",
                             text_escape(safe, sizeof safe, id, strlen(id)));
    }
    return 0;
}

static int explain_rows(struct admin *admin, const PGresult *found,
                        const struct explain_reader *reader, struct error *error)
{
    struct batch batch;
    int status = 0;

    if (batch_init(&batch, 1) < 0)
        return error_no_memory(error);
    batch.numbered = admin->table.numbered;
    for (int row = 0; row < PQntuples(found) && status == 0; row++) {
        const struct explained explained = {
            .is_parked = PQgetvalue(found, row, EXPLAIN_PARKED)[0] == '1',
            .state = PQgetvalue(found, row, EXPLAIN_STATE),
            .error = PQgetisnull(found, row, EXPLAIN_ERROR) ? NULL
                                                            : PQgetvalue(found, row, EXPLAIN_ERROR),
        };

        status = fill(admin, found, row, reader->payload_max, &batch, error);
        if (status == 0)
            reader->on_row(reader->closure, &explained, &batch);
    }
    batch_free(&batch);
    return status;
}

int admin_explain(struct admin *admin, const struct routes *routes,
                  const struct explain_request *request, const struct explain_reader *reader,
                  struct error *error)
{
    PGresult *found;
    int status;

    if ((admin->table.parked_exists
             ? describe_check_whole(&admin->table, admin->options, error)
             : describe_check_outbox(&admin->table, admin->options, error)) < 0 ||
        session_execute(&admin->session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", error) <
            0)
        return -1;
    found = find_rows(admin, request, error);
    if (found == NULL)
        return -1;
    admin->session.computes_values = admin->table.is_computed;
    status =
        prepare(admin, routes, error) < 0 ||
                /* as long as a lane gives a row that it reads alone */
                session_execute(&admin->session, "SET LOCAL statement_timeout = 2000", error) < 0 ||
                explain_rows(admin, found, reader, error) < 0
            ? -1
            : check_found(found, request, error);
    PQclear(found);
    return status;
}
