#include "outbox/pipeline.h"

#include "outbox/choose.h"

#include "outbox/sql_choose.h"

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
    survey_end(&outbox->survey);
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

/* query_canceled (here: statement_timeout), program_limit_exceeded, out_of_memory. */
static bool is_overload(const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return sqlstate != NULL && (strcmp(sqlstate, "57014") == 0 || strcmp(sqlstate, "54000") == 0 ||
                                strcmp(sqlstate, "53200") == 0);
}

static bool is_lock_timeout(const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return sqlstate != NULL && strcmp(sqlstate, "55P03") == 0;
}

PGresult *pipeline_expect(struct outbox *outbox, ExecStatusType status, struct error *error)
{
    PGresult *result = session_next(&outbox->session, clock_now_ms() + SESSION_WAIT_MS, error);

    if (result == NULL) {
        pipeline_close(outbox);
        return NULL;
    }
    if (PQresultStatus(result) == status)
        return result;
    outbox->overloaded = is_overload(result);
    outbox->lock_waited = is_lock_timeout(result);
    (void)fail(outbox, result, error);
    PQclear(result);
    return NULL;
}

int pipeline_try(struct outbox *outbox, struct error *error)
{
    PGresult *result = session_next(&outbox->session, clock_now_ms() + SESSION_WAIT_MS, error);
    bool done = result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK;

    if (result == NULL)
        return pipeline_abort(outbox);
    if (!done)
        (void)session_fail(&outbox->session, result, error);
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
    enum { PARAMS_MAX = 6 };
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
    static const char *const kinds[CLAIM_KINDS] = {"claim", "claim_slices", "claim_after",
                                                   "claim_window", "claim_parked"};

    (void)snprintf(name, 32, "%s_%d", kinds[kind], level);
}

static int queue_claim(struct outbox *outbox, const struct claim *claim, struct error *error)
{
    static const int param_counts[CLAIM_KINDS] = {2, 2, 3, 4, 2};
    enum claim_kind kind = pipeline_choose_claim(outbox, claim);
    uint64_t away = htobe64(claim->away);
    uint64_t payload_max = htobe64((uint64_t)claim->payload_max);
    char *from = strdupa(pipeline_passed_from(outbox));
    struct array params[4] = {{.bytes = (char *)&away, .len = sizeof away},
                              {.bytes = (char *)&payload_max, .len = sizeof payload_max},
                              {.bytes = from, .len = strlen(from)},
                              {.bytes = outbox->passed.to, .len = strlen(outbox->passed.to)}};
    char name[32];

    name_claim(name, kind, outbox->level);
    outbox->asked_ms = clock_boot_ms();
    if (pipeline_queue(outbox, name, param_counts[kind], params, true, error) < 0)
        return -1;
    return pipeline_queue(outbox, "claimed", 0, NULL, true, error);
}

/* The look comes first: it says from where on the claim behind it goes. */
int pipeline_queue_claim(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                         struct error *error)
{
    if (pipeline_queue(outbox, "begin", 0, NULL, false, error) < 0 ||
        pipeline_queue(outbox, "lock", 0, NULL, false, error) < 0 ||
        choose_queue(outbox, batch, claim, error) < 0)
        return -1;
    return queue_claim(outbox, claim, error);
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

static bool is_claimed_so(const struct outbox *outbox, enum claim_kind kind)
{
    bool slices = outbox->options->order == ORDER_KEY;

    return kind == CLAIM_PARKED || (kind == CLAIM_SLICES) == slices;
}

static int prepare_choosing(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;

    if (prepare(outbox, "choose", sql_choose(table, options, outbox->routes, false), error) < 0 ||
        prepare(outbox, "choose_parked", sql_choose(table, options, outbox->routes, true), error) <
            0)
        return -1;
    if (!choose_is_bounded(outbox))
        return 0;
    if (options->order == ORDER_KEY &&
        (prepare(outbox, "newest", sql_newest(table), error) < 0 ||
         prepare(outbox, "newest_of_slices", sql_newest_of_slices(table, options), error) < 0 ||
         prepare(outbox, "horizon",
                 strdup("SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())"),
                 error) < 0 ||
         prepare(outbox, "first", sql_first(table, options), error) < 0))
        return -1;
    if (prepare(outbox, "fence", strdup("SELECT pg_catalog.pg_current_xact_id()::text"), error) < 0)
        return -1;
    return prepare(outbox, "empty", sql_empty(table, options, outbox->routes), error);
}

static int prepare_claims(struct outbox *outbox, struct error *error)
{
    char name[32];

    for (int i = 0; i < CLAIM_KINDS * CLAIM_LEVELS; i++) {
        int level = i / CLAIM_KINDS;
        struct claim_text text = {.kind = (enum claim_kind)(i % CLAIM_KINDS),
                                  .limit = pipeline_limit(outbox, level),
                                  .routes = outbox->routes};

        if (!is_claimed_so(outbox, text.kind))
            continue;
        text.inline_bytes = outbox->options->batch_bytes / text.limit;
        name_claim(name, text.kind, level);
        if (prepare(outbox, name, sql_claim(&outbox->table, outbox->options, &text), error) < 0)
            return -1;
    }
    return 0;
}

static int prepare_all(struct outbox *outbox, struct error *error)
{
    const struct table *table = &outbox->table;
    const struct outbox_options *options = outbox->options;

    outbox->prepared = 0;
    if (prepare(outbox, "begin", strdup("BEGIN"), error) < 0 ||
        prepare(outbox, "commit", strdup("COMMIT"), error) < 0 ||
        prepare(outbox, "savepoint", strdup("SAVEPOINT parking"), error) < 0 ||
        prepare(outbox, "rollback_to", strdup("ROLLBACK TO SAVEPOINT parking"), error) < 0 ||
        prepare(outbox, "lock", sql_lock(table), error) < 0 ||
        prepare(outbox, "claimed", sql_claimed(), error) < 0 ||
        prepare(outbox, "sent", sql_sent(table, options, false), error) < 0 ||
        prepare(outbox, "sent_parked", sql_sent(table, options, true), error) < 0 ||
        prepare(outbox, "park", sql_park(table, options, false), error) < 0 ||
        prepare(outbox, "park_parked", sql_park(table, options, true), error) < 0 ||
        prepare(outbox, "last", sql_last(table), error) < 0 ||
        prepare(outbox, "window", sql_window(table), error) < 0 ||
        prepare(outbox, "leftover", sql_leftover(table, options), error) < 0 ||
        prepare_choosing(outbox, error) < 0 || prepare_claims(outbox, error) < 0 ||
        pipeline_sync(outbox, error) < 0)
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

/* What is remembered is the last table that was whole. */
static int describe(struct outbox *outbox, struct error *error)
{
    struct table table = {0};
    bool first = !outbox->table.exists;

    if (table_describe(&table, &outbox->session, outbox->options, error) < 0 ||
        table_usable(&table, outbox->options, error) < 0 ||
        table_still_whole(&table, &outbox->table, error) < 0)
        return -1;
    outbox->table = table;
    outbox->payload_is_json = is_json(table.columns[COLUMN_PAYLOAD].base);
    if (!first)
        return 0;
    warn_of_absent_columns(&table);
    warn_of_marks(&table, outbox->options);
    return 0;
}

/* PostgreSQL thinks that it plans a claim better with the parameters at hand, and would do so for
 * each one: five times the cost of starting the plan that it has. With slices that is the same,
 * whatever the statistics say; without, a plan made for an empty table may not do for a full one.
 */
static int keep_plans(struct outbox *outbox, struct error *error)
{
    if (outbox->options->order != ORDER_KEY)
        return 0;
    return session_execute(&outbox->session, "SET plan_cache_mode = force_generic_plan", error);
}

int pipeline_open(struct outbox *outbox, struct error *error)
{
    if (session_open(&outbox->session, outbox->options, outbox->name, error) < 0)
        return -1;
    if (server_recognise(&outbox->server, &outbox->session, error) < 0 ||
        server_end_previous(&outbox->session, error) < 0)
        return pipeline_abort(outbox);
    server_tell_commit(&outbox->server, &outbox->session);
    if (describe(outbox, error) < 0 || keep_plans(outbox, error) < 0)
        return pipeline_abort(outbox);
    barrier_close(&outbox->barrier); /* another server may stand behind the address */
    bounds_forget(&outbox->bounds);
    if (outbox->shared != NULL)
        shared_join(outbox->shared, &outbox->server);
    if (PQenterPipelineMode(outbox->session.conn) != 1)
        return fail(outbox, NULL, error);
    if (prepare_all(outbox, error) < 0)
        return pipeline_abort(outbox);
    return 0;
}
