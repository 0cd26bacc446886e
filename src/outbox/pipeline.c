#include "outbox/pipeline.h"

#include "outbox/adoption.h"
#include "outbox/filter.h"
#include "outbox/slice_lock.h"
#include "outbox/sql_horizon.h"
#include "outbox/sql_slices.h"

#include "base/clock.h"
#include "base/log.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_FACTOR 8

int pipeline_limit(const struct outbox *outbox, int level)
{
    int limit = outbox->options->batch;

    for (int i = 0; i < level; i++)
        limit /= LEVEL_FACTOR;
    return limit > 0 && level < CLAIM_LEVELS - 1 ? limit : 1;
}

void pipeline_close(struct outbox *outbox)
{
    session_close(&outbox->session);
    outbox->in_transaction = false;
    outbox->claim_in_flight = false;
}

int pipeline_abort(struct outbox *outbox)
{
    pipeline_close(outbox);
    return -1;
}

static int fail(struct outbox *outbox, const PGresult *result, struct error *error)
{
    (void)session_fail(&outbox->session, result, error);
    return pipeline_abort(outbox);
}

int pipeline_sync(struct outbox *outbox, struct error *error)
{
    if (PQpipelineSync(outbox->session.conn) != 1)
        return fail(outbox, NULL, error);
    if (session_flush(&outbox->session, clock_now_ms() + SESSION_WAIT_MS, error) < 0)
        return pipeline_abort(outbox);
    return 0;
}

/* Errors that say nothing of a row: of the connection, the transaction, the catalog or rights, of
 * resources and of the server. query_canceled is here the statement_timeout. */
static enum failure judge_failure(const PGresult *result)
{
    static const char *const not_rows[] = {"08", "0A", "25", "26", "28", "2D", "3D", "3F",
                                           "40", "42", "53", "55", "57", "58", "F0", NULL};
    static const char *const rows[] = {"57014", "53200", NULL};
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (sqlstate == NULL)
        return FAILURE_OTHER;
    if (strcmp(sqlstate, "55P03") == 0)
        return FAILURE_LOCKED;
    if (strncmp(sqlstate, "XX", 2) == 0)
        return FAILURE_DAMAGED;
    for (int i = 0; rows[i] != NULL; i++)
        if (strcmp(sqlstate, rows[i]) == 0)
            return FAILURE_ROW;
    for (int i = 0; not_rows[i] != NULL; i++)
        if (strncmp(sqlstate, not_rows[i], 2) == 0)
            return FAILURE_OTHER;
    return FAILURE_ROW;
}

PGresult *pipeline_answer(struct outbox *outbox, ExecStatusType status, struct error *error)
{
    PGresult *result = session_next(&outbox->session, clock_now_ms() + SESSION_WAIT_MS, error);

    outbox->failure = FAILURE_NONE;
    if (result == NULL) {
        outbox->failure = FAILURE_OTHER;
        pipeline_close(outbox);
        return NULL;
    }
    if (PQresultStatus(result) == status)
        return result;
    outbox->failure = judge_failure(result);
    (void)session_fail(&outbox->session, result, error);
    PQclear(result);
    return NULL;
}

PGresult *pipeline_expect(struct outbox *outbox, ExecStatusType status, struct error *error)
{
    PGresult *result = pipeline_answer(outbox, status, error);

    if (result == NULL)
        pipeline_close(outbox);
    return result;
}

int pipeline_end_transaction(struct outbox *outbox, bool commit, struct error *error)
{
    if (pipeline_queue(outbox, commit ? "commit" : "rollback", 0, NULL, false, error) < 0 ||
        pipeline_sync(outbox, error) < 0 || pipeline_skip(outbox, PGRES_COMMAND_OK, error) < 0 ||
        pipeline_skip(outbox, PGRES_PIPELINE_SYNC, error) < 0)
        return -1;
    outbox->in_transaction = false;
    return 0;
}

int pipeline_roll_back(struct outbox *outbox, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + SESSION_WAIT_MS;
    PGresult *result;
    ExecStatusType status;

    do { /* what is left of the pipeline is aborted up to its Sync */
        result = session_next(&outbox->session, deadline_ms, error);
        if (result == NULL)
            return pipeline_abort(outbox);
        status = PQresultStatus(result);
        PQclear(result);
    } while (status != PGRES_PIPELINE_SYNC);
    return pipeline_end_transaction(outbox, false, error);
}

int pipeline_try(struct outbox *outbox, struct error *error)
{
    PGresult *result = session_next(&outbox->session, clock_now_ms() + SESSION_WAIT_MS, error);
    bool done = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;

    if (result == NULL)
        return pipeline_abort(outbox);
    if (!done) {
        outbox->failure = judge_failure(result);
        (void)session_fail(&outbox->session, result, error);
    }
    PQclear(result);
    return done;
}

int pipeline_skip(struct outbox *outbox, ExecStatusType status, struct error *error)
{
    PGresult *result = pipeline_expect(outbox, status, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

int pipeline_queue(struct outbox *outbox, const char *statement, int param_count,
                   const struct array *params, bool binary, struct error *error)
{
    enum { PARAMS_MAX = 9 };
    const char *values[PARAMS_MAX] = {NULL};
    int lengths[PARAMS_MAX] = {0};
    int formats[PARAMS_MAX] = {0};

    for (int i = 0; i < param_count; i++) {
        values[i] = params[i].bytes;
        lengths[i] = (int)params[i].len;
        formats[i] = 1;
    }
    if (outbox->session.conn != NULL &&
        PQsendQueryPrepared(outbox->session.conn, statement, param_count, values, lengths, formats,
                            binary) == 1)
        return 0;
    return fail(outbox, NULL, error);
}

static void name_claim(char name[32], enum claim_kind kind, int level)
{
    static const char *const kinds[CLAIM_KINDS] = {"claim", "claim_slices", "claim_parked"};

    (void)snprintf(name, 32, "%s_%d", kinds[kind], level);
}

static enum claim_kind kind_of(const struct outbox *outbox, const struct claim_request *request)
{
    if (request->parked)
        return CLAIM_PARKED;
    return outbox->options->order == ORDER_KEY ? CLAIM_SLICES : CLAIM_TABLE;
}

/* A claim or what stands for it: all of a kind take the same parameters. */
static int queue_rows(struct outbox *outbox, struct batch *batch,
                      const struct claim_request *request, const char *name, struct error *error)
{
    bool bounded = kind_of(outbox, request) == CLAIM_TABLE && table_has_integer_ids(&outbox->table);
    uint64_t away = htobe64(request->away);
    uint64_t payload_max = htobe64((uint64_t)request->payload_max);
    uint64_t low = htobe64((uint64_t)outbox->view.bounds[0].low);
    uint64_t high = htobe64((uint64_t)outbox->view.bounds[0].high);
    uint64_t file = htobe64(outbox->view.file);
    uint64_t end = htobe64((uint64_t)outbox->walk.end);
    struct array params[7] = {{.bytes = (char *)&away, .len = sizeof away},
                              {.bytes = (char *)&payload_max, .len = sizeof payload_max},
                              {.bytes = (char *)&low, .len = sizeof low},
                              {.bytes = (char *)&high, .len = sizeof high},
                              [5] = {.bytes = (char *)&file, .len = sizeof file},
                              [6] = {.bytes = (char *)&end, .len = sizeof end}};

    if (bounded &&
        array_of_xid8(&params[4], batch, outbox->view.holders, outbox->view.holder_count) < 0)
        return error_no_memory(error);
    return pipeline_queue(outbox, name, bounded ? 7 : 2, params, true, error);
}

int pipeline_queue_transaction(struct outbox *outbox, struct batch *batch,
                               const struct claim_request *request, struct error *error)
{
    outbox->asked_ms = clock_boot_ms();
    outbox->reads_all = false;
    if (pipeline_queue(outbox, "begin", 0, NULL, false, error) < 0 ||
        pipeline_queue(outbox, "lock", 0, NULL, false, error) < 0)
        return -1;
    return slice_lock_queue(outbox, batch, request, error);
}

int pipeline_queue_first_row(struct outbox *outbox, struct batch *batch,
                             const struct claim_request *request, struct error *error)
{
    return queue_rows(outbox, batch, request, request->parked ? "first_parked_row" : "first_row",
                      error);
}

/* The lock of the slices comes first: it says from where on the claim behind it goes. */
int pipeline_queue_claim(struct outbox *outbox, struct batch *batch,
                         const struct claim_request *request, struct error *error)
{
    char name[32];

    name_claim(name, kind_of(outbox, request), outbox->level);
    if (pipeline_queue_transaction(outbox, batch, request, error) < 0 ||
        queue_rows(outbox, batch, request, name, error) < 0)
        return -1;
    return pipeline_queue(outbox, "claimed", 0, NULL, true, error);
}

PGresult *pipeline_run(struct outbox *outbox, const char *statement, int param_count,
                       const char *const *params, struct error *error)
{
    PGresult *result;

    if (PQsendQueryPrepared(outbox->session.conn, statement, param_count, params, NULL, NULL, 0) !=
        1) {
        (void)fail(outbox, NULL, error);
        return NULL;
    }
    if (pipeline_sync(outbox, error) < 0)
        return NULL;
    result = pipeline_expect(outbox, PGRES_TUPLES_OK, error);
    if (result != NULL && pipeline_skip(outbox, PGRES_PIPELINE_SYNC, error) < 0) {
        PQclear(result);
        return NULL;
    }
    return result;
}

/* Takes ownership of the text. */
static int prepare(struct outbox *outbox, const char *name, char *sql, struct error *error)
{
    int sent = sql != NULL && PQsendPrepare(outbox->session.conn, name, sql, 0, NULL) == 1;

    free(sql);
    if (sql == NULL)
        return error_no_memory(error);
    outbox->prepared++;
    return sent ? 0 : fail(outbox, NULL, error);
}

static int prepare_slices(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;

    if (options->order == ORDER_KEY &&
        (prepare(outbox, "lock_slices",
                 sql_lock_slices(table, options, outbox->routes, &outbox->sequence), error) < 0 ||
         prepare(outbox, "lock_parked_slices",
                 sql_lock_parked_slices(table, options, outbox->routes), error) < 0))
        return -1;
    if (!table_has_integer_ids(table))
        return 0;
    return prepare(outbox, "scan",
                   sql_scan(table, options, outbox->routes,
                            options->order == ORDER_KEY ? 0 : AWAY_WINDOW_ROWS),
                   error);
}

static int prepare_claims(struct outbox *outbox, struct error *error)
{
    char name[32];

    for (int i = 0; i < CLAIM_KINDS * CLAIM_LEVELS; i++) {
        int level = i / CLAIM_KINDS;
        struct claim_text text = {.kind = (enum claim_kind)(i % CLAIM_KINDS),
                                  .limit = pipeline_limit(outbox, level),
                                  .routes = outbox->routes};

        if (text.kind != CLAIM_PARKED &&
            (text.kind == CLAIM_SLICES) != (outbox->options->order == ORDER_KEY))
            continue;
        text.inline_bytes = outbox->options->batch_bytes / text.limit;
        name_claim(name, text.kind, level);
        if (prepare(outbox, name, sql_claim(&outbox->table, outbox->options, &text), error) < 0)
            return -1;
    }
    return 0;
}

/* For a row that cannot be read: the place of the first that is due, and the values of one alone.
 */
static int prepare_single_rows(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;
    struct claim_text text = {.kind = options->order == ORDER_KEY ? CLAIM_SLICES : CLAIM_TABLE,
                              .limit = 1,
                              .inline_bytes = options->batch_bytes,
                              .routes = outbox->routes};
    struct claim_text parked = text;

    parked.kind = CLAIM_PARKED;
    if (prepare(outbox, "first_row", sql_first_row(table, options, &text), error) < 0 ||
        prepare(outbox, "first_parked_row", sql_first_row(table, options, &parked), error) < 0)
        return -1;
    text.alone = true;
    parked.alone = true;
    if (prepare(outbox, "read_row", sql_claim(table, options, &text), error) < 0)
        return -1;
    return prepare(outbox, "read_parked_row", sql_claim(table, options, &parked), error);
}

static int prepare_all(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;

    outbox->prepared = 0;
    if (prepare(outbox, "begin", strdup("BEGIN"), error) < 0 ||
        prepare(outbox, "commit", strdup("COMMIT"), error) < 0 ||
        prepare(outbox, "rollback", strdup("ROLLBACK"), error) < 0 ||
        prepare(outbox, "savepoint", strdup("SAVEPOINT parking"), error) < 0 ||
        prepare(outbox, "rollback_to", strdup("ROLLBACK TO SAVEPOINT parking"), error) < 0 ||
        prepare(outbox, "lock", sql_lock(table), error) < 0 ||
        prepare(outbox, "claimed", sql_claimed(), error) < 0 ||
        prepare(outbox, "sent", sql_sent(table, options, false), error) < 0 ||
        prepare(outbox, "sent_parked", sql_sent(table, options, true), error) < 0 ||
        prepare(outbox, "park", sql_park(table, options, false), error) < 0 ||
        prepare(outbox, "park_parked", sql_park(table, options, true), error) < 0 ||
        prepare(outbox, "park_bare", sql_park_bare(table), error) < 0 ||
        prepare(outbox, "leftover", sql_leftover(table, options), error) < 0 ||
        prepare_slices(outbox, error) < 0 || prepare_claims(outbox, error) < 0 ||
        prepare_single_rows(outbox, error) < 0 || pipeline_sync(outbox, error) < 0)
        return -1;
    for (int i = 0; i < outbox->prepared; i++)
        if (pipeline_skip(outbox, PGRES_COMMAND_OK, error) < 0)
            return -1;
    return pipeline_skip(outbox, PGRES_PIPELINE_SYNC, error);
}

/* Nobody can tell a table without the column from one whose column was renamed a moment ago. */
static void warn_of_absent_columns(const struct table *table)
{
    for (int i = 0; i < COLUMN_SENT_AT; i++)
        if (table->columns[i].name != NULL && !table_has(table, (enum column)i))
            log_warn("table %s has no column \"%s\": its messages go without", table->quoted,
                     table->columns[i].name);
}

/* It may also be somebody's own column of that name. */
static void warn_of_marks(const struct table *table, const struct outbox_options *options)
{
    if (options->on_sent == ON_SENT_DELETE && table_has(table, COLUMN_SENT_AT))
        log_warn("rows of table %s whose %s is set count as sent, although on_sent is \"delete\"",
                 table->quoted, table->columns[COLUMN_SENT_AT].quoted);
}

static bool is_json(const char *type)
{
    return strcmp(type, "json") == 0 || strcmp(type, "jsonb") == 0;
}

/* Before an index is missed that another condition would need. */
static int check_condition(const struct table *table, struct outbox *outbox, struct error *error)
{
    struct adoption adoption;

    if (adoption_read_note(&adoption, table, &outbox->session, error) < 0)
        return -1;
    if (adoption.state != ADOPTION_CONDITION)
        return 0;
    adoption_explain(&adoption, table, outbox->options, error);
    return -1;
}

/* What is remembered is the last table that was whole. */
static int describe(struct outbox *outbox, struct error *error)
{
    struct table table = {0};
    struct adoption adoption;
    bool first = !outbox->table.exists;

    if (table_describe(&table, &outbox->session, outbox->options, error) < 0 ||
        filter_try_index(&table, &outbox->session, error) < 0 ||
        table_whole(&table, outbox->options, error) < 0 ||
        check_condition(&table, outbox, error) < 0 ||
        table_usable(&table, outbox->options, error) < 0 ||
        table_still_whole(&table, &outbox->table, error) < 0 ||
        sequence_describe(&outbox->sequence, &outbox->session, &table, error) < 0 ||
        adoption_settle(&adoption, &table, &outbox->session, outbox->options, error) < 0)
        return -1;
    outbox->table = table;
    outbox->payload_is_json = is_json(table.columns[COLUMN_PAYLOAD].base);
    if (!first)
        return 0;
    warn_of_absent_columns(&table);
    warn_of_marks(&table, outbox->options);
    return 0;
}

int pipeline_open(struct outbox *outbox, struct error *error)
{
    if (session_open(&outbox->session, outbox->options, outbox->name, error) < 0)
        return -1;
    if (server_check_role(&outbox->session, outbox->options, error) < 0 ||
        server_recognise(&outbox->server, &outbox->session, error) < 0 ||
        server_end_previous(&outbox->session, error) < 0)
        return pipeline_abort(outbox);
    server_tell_commit(&outbox->server, &outbox->session);
    if (describe(outbox, error) < 0 ||
        session_keep_plans(&outbox->session, outbox->options, error) < 0)
        return pipeline_abort(outbox);
    if (PQenterPipelineMode(outbox->session.conn) != 1)
        return fail(outbox, NULL, error);
    if (prepare_all(outbox, error) < 0)
        return pipeline_abort(outbox);
    if (outbox->horizon != NULL)
        horizon_join(outbox->horizon, &outbox->server);
    return 0;
}
