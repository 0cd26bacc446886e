/*
 * The parked rows, for `dead`. Rows named by id are looked up, locked and changed in one statement,
 * so that an unknown id leaves everything unchanged. A filter may match a million rows: they are
 * processed in the order of seq, in pages that each commit, so that no statement or transaction
 * grows with their number, and a row that dies again meanwhile is not processed twice.
 *
 * A row may be dead because PostgreSQL cannot return its values, which makes the statement of its
 * page fail. The rows of that page are then processed one by one, and the values of such a row are
 * escaped or left out.
 */
#include "admin/parked/parked.h"

#include "admin/admin_session.h"
#include "admin/parked/parked_sql.h"
#include "catalog/describe.h"
#include "catalog/sql_text.h"
#include "pg/wire.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTEA_OID 17 /* pg_type.dat */
#define VALUES_MAX 32
#define FIRST_VALUE 2

enum param { PARAM_LOW, PARAM_HIGH, PARAM_TYPE, PARAM_TOPIC, PARAM_REGEX, PARAM_SINCE, PARAMS };

/* The state of one request. */
struct walk {
    const struct parked_request *request;
    const struct parked_rows *rows;
    struct parked_statement statement;
    int singles; /* rows of a failed page that are still to be processed one by one */
    char *sql;
    char *array; /* the ids, as a text[] literal */
    char *regex;
    char since[64];
    char low[32];
    char high[32];
    int64_t total;
};

static struct text take_value(const PGresult *result, int row, int column, char **bytes)
{
    size_t len = (size_t)PQgetlength(result, row, column);

    *bytes = NULL;
    if (PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    if (PQftype(result, column) != BYTEA_OID)
        return (struct text){PQgetvalue(result, row, column), len};
    *bytes = wire_bytea(PQgetvalue(result, row, column), &len);
    return (struct text){*bytes, *bytes != NULL ? len : 0};
}

static void hand_over(const struct parked_rows *rows, const PGresult *result, int row)
{
    struct parked_value values[VALUES_MAX];
    char *bytes[VALUES_MAX];
    int count = 0;

    for (int i = FIRST_VALUE; i < PQnfields(result) && count < VALUES_MAX; i++, count++) {
        values[count].name = PQfname(result, i);
        values[count].value = take_value(result, row, i, &bytes[count]);
    }
    rows->on_row(rows->closure, values, count);
    for (int i = 0; i < count; i++)
        free(bytes[i]);
}

static int fail_missing(const struct parked_request *request, const char *words,
                        struct error *error)
{
    char safe[512];

    if (words[0] != '"') /* it says by itself that an id names several rows */
        return error_set(error, ERROR_PERMANENT, ERROR_SELF, "%s; nothing was done",
                         text_escape(safe, sizeof safe, words, strlen(words)));
    (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "no parked or dead row has id %s%s",
                    text_escape(safe, sizeof safe, words, strlen(words)),
                    request->verb == PARKED_SHOW ? "" : ": nothing was done");
    if (request->verb == PARKED_DROP)
        (void)error_hint(error, "a row that PostgreSQL refuses stays until it can be settled");
    return -1;
}

/* Passes the rows of one result to the callback. Returns their number, or -1. */
static int take_rows(struct walk *walk, const PGresult *result, struct error *error)
{
    int count = PQgetisnull(result, 0, 1) ? 0 : PQntuples(result);
    int limit = walk->request->limit;

    if (!PQgetisnull(result, 0, 0))
        return fail_missing(walk->request, PQgetvalue(result, 0, 0), error);
    if (limit > 0 && walk->total + count > limit)
        count = (int)(limit - walk->total);
    for (int row = 0; row < count && walk->rows->on_row != NULL; row++)
        hand_over(walk->rows, result, row);
    if (count > 0)
        (void)snprintf(walk->request->verb == PARKED_LIST ? walk->high : walk->low,
                       sizeof walk->low, "%s", PQgetvalue(result, count - 1, 1));
    walk->total += count;
    return count;
}

static int step(struct walk *walk, struct admin *admin, struct error *error)
{
    const struct parked_request *request = walk->request;
    const char *by_id[1] = {walk->array};
    const char *by_filter[PARAMS] = {
        [PARAM_LOW] = walk->low,      [PARAM_HIGH] = walk->high,
        [PARAM_TYPE] = request->type, [PARAM_TOPIC] = walk->regex == NULL ? request->topic : NULL,
        [PARAM_REGEX] = walk->regex,  [PARAM_SINCE] = request->since != NULL ? walk->since : NULL};
    bool ids = request->id_count > 0;
    PGresult *result =
        session_query(&admin->session, walk->sql, ids ? 1 : PARAMS, ids ? by_id : by_filter, error);
    int count = result != NULL ? take_rows(walk, result, error) : -1;

    PQclear(result);
    return count;
}

/* Fixes the range of seq, so that the request ends although rows die meanwhile, and turns --since
 * into a timestamp. */
static int find_bounds(struct walk *walk, struct admin *admin, struct error *error)
{
    PGresult *result =
        parked_query_since(admin, statement_parked_bounds, walk->request->since, error);

    if (result == NULL)
        return -1;
    (void)snprintf(walk->low, sizeof walk->low, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(walk->high, sizeof walk->high, "%s", PQgetvalue(result, 0, 1));
    (void)snprintf(walk->since, sizeof walk->since, "%s", PQgetvalue(result, 0, 2));
    PQclear(result);
    return 0;
}

static int make_sql(struct walk *walk, const struct admin *admin, struct error *error)
{
    free(walk->sql);
    walk->sql = parked_sql(&walk->statement, &(struct table_facts){&admin->table, admin->options});
    return walk->sql != NULL ? 0 : error_no_memory(error);
}

static int open_walk(struct walk *walk, struct admin *admin, struct error *error)
{
    const struct parked_request *request = walk->request;

    walk->statement = parked_statement(request);
    if (request->verb == PARKED_SHOW) {
        PGresult *result = parked_query(admin, statement_payload_is_bytea, NULL, 0, NULL, error);

        if (result == NULL)
            return -1;
        walk->statement.payload_is_bytea = PQgetvalue(result, 0, 0)[0] == '1';
        PQclear(result);
    }
    if (request->limit > 0 && request->limit < PARKED_PAGE_ROWS)
        walk->statement.page_rows = request->limit;
    if (make_sql(walk, admin, error) < 0)
        return -1;
    if (request->id_count > 0) {
        walk->array = sql_text_array(request->ids, request->id_count);
        return walk->array != NULL ? 0 : error_no_memory(error);
    }
    if (request->topic != NULL && parked_topic_regex(request->topic, &walk->regex) < 0)
        return error_no_memory(error);
    return find_bounds(walk, admin, error);
}

/* Whether a row's value caused the error: wrong encoding, a failing cast (22, P0) or corruption
 * (XX). */
static bool is_of_a_value(const struct error *error)
{
    return error_is_sqlstate(error, "22") || error_is_sqlstate(error, "P0") ||
           error_is_sqlstate(error, "XX");
}

/* Makes a more cautious statement: single rows, then escaped values, then none. -1: there is no
 * other. */
static int take_care(struct walk *walk, const struct admin *admin, struct error *error)
{
    if (walk->request->id_count == 0 && walk->statement.page_rows > 1) {
        walk->statement.page_rows = 1;
        walk->singles = PARKED_PAGE_ROWS;
    } else if (walk->statement.detail < PARKED_LEFT_OUT) {
        walk->statement.detail++;
    } else {
        return -1;
    }
    return make_sql(walk, admin, error);
}

/* After a page. When the last single row of a failed page is done, whole pages follow again. */
static int go_on(struct walk *walk, const struct admin *admin, struct error *error)
{
    if (walk->singles == 0)
        return 0;
    walk->statement.detail = PARKED_WHOLE;
    if (--walk->singles == 0)
        walk->statement.page_rows = PARKED_PAGE_ROWS;
    return make_sql(walk, admin, error);
}

/* 1: there may be more rows; 0: done; -1: failed. */
static int walk_page(struct walk *walk, struct admin *admin, struct error *error)
{
    int count = step(walk, admin, error);

    if (count < 0 && is_of_a_value(error))
        return take_care(walk, admin, error) < 0 ? -1 : 1;
    if (count < 0)
        return -1;
    if (count < walk->statement.page_rows || walk->request->id_count > 0)
        return 0;
    return go_on(walk, admin, error) < 0 ? -1 : 1;
}

static int64_t explain(const struct walk *walk, struct error *error)
{
    struct error cause = *error;

    if (error_is_sqlstate(error, "55P03"))
        (void)error_set(&cause, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: another session has locked these rows or the table, most"
                        " likely a relay that is sending them; try again in a moment");
    if (walk->total > 0 && walk->request->verb != PARKED_LIST)
        return error_set(error, cause.kind, cause.origin, "%.500s (%" PRId64 " rows were done)",
                         cause.text, walk->total);
    *error = cause;
    return -1;
}

int64_t admin_parked(struct admin *admin, const struct parked_request *request,
                     const struct parked_rows *rows, struct error *error)
{
    struct walk walk = {.request = request, .rows = rows};
    int status;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    status = open_walk(&walk, admin, error) < 0 ? -1 : 1;
    while (status > 0)
        status = walk_page(&walk, admin, error);
    free(walk.sql);
    free(walk.array);
    free(walk.regex);
    return status < 0 ? explain(&walk, error) : walk.total;
}
