#include "pg/pipeline.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

void pipeline_close(struct pipeline *pipeline)
{
    session_close(&pipeline->session);
    pipeline->in_transaction = false;
    pipeline->in_flight = false;
}

int pipeline_abort(struct pipeline *pipeline)
{
    pipeline_close(pipeline);
    return -1;
}

static int fail(struct pipeline *pipeline, const PGresult *result, struct error *error)
{
    (void)session_fail(&pipeline->session, result, error);
    return pipeline_abort(pipeline);
}

int pipeline_enter(struct pipeline *pipeline, struct error *error)
{
    pipeline->prepared = 0;
    return PQenterPipelineMode(pipeline->session.conn) == 1 ? 0 : fail(pipeline, NULL, error);
}

int pipeline_request_flush(struct pipeline *pipeline, struct error *error)
{
    return PQsendFlushRequest(pipeline->session.conn) == 1 ? 0 : fail(pipeline, NULL, error);
}

int pipeline_sync(struct pipeline *pipeline, struct error *error)
{
    if (PQpipelineSync(pipeline->session.conn) != 1)
        return fail(pipeline, NULL, error);
    if (session_flush(&pipeline->session, clock_now_ms() + SESSION_WAIT_MS, error) < 0)
        return pipeline_abort(pipeline);
    return 0;
}

/* Classes in `not_rows` are about the connection, the transaction, the catalog, permissions,
 * resources or the server, not about a row. The exceptions in `rows` are query_canceled, which here
 * means statement_timeout, and out_of_memory. */
static enum failure classify_failure(const PGresult *result)
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

PGresult *pipeline_answer(struct pipeline *pipeline, ExecStatusType status, struct error *error)
{
    PGresult *result = session_next(&pipeline->session, clock_now_ms() + SESSION_WAIT_MS, error);

    pipeline->failure = FAILURE_NONE;
    if (result == NULL) {
        pipeline->failure = FAILURE_OTHER;
        pipeline_close(pipeline);
        return NULL;
    }
    if (PQresultStatus(result) == status)
        return result;
    pipeline->failure = classify_failure(result);
    (void)session_fail(&pipeline->session, result, error);
    PQclear(result);
    return NULL;
}

PGresult *pipeline_expect(struct pipeline *pipeline, ExecStatusType status, struct error *error)
{
    PGresult *result = pipeline_answer(pipeline, status, error);

    if (result == NULL)
        pipeline_close(pipeline);
    return result;
}

int pipeline_end_transaction(struct pipeline *pipeline, bool commit, struct error *error)
{
    if (pipeline_queue(pipeline, commit ? "commit" : "rollback", 0, NULL, false, error) < 0 ||
        pipeline_sync(pipeline, error) < 0 ||
        pipeline_skip(pipeline, PGRES_COMMAND_OK, error) < 0 ||
        pipeline_skip(pipeline, PGRES_PIPELINE_SYNC, error) < 0)
        return -1;
    pipeline->in_transaction = false;
    return 0;
}

int pipeline_roll_back(struct pipeline *pipeline, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + SESSION_WAIT_MS;
    PGresult *result;
    ExecStatusType status;

    do { /* skip the aborted rest of the pipeline up to its Sync */
        result = session_next(&pipeline->session, deadline_ms, error);
        if (result == NULL)
            return pipeline_abort(pipeline);
        status = PQresultStatus(result);
        PQclear(result);
    } while (status != PGRES_PIPELINE_SYNC);
    return pipeline_end_transaction(pipeline, false, error);
}

int pipeline_try(struct pipeline *pipeline, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + SESSION_WAIT_MS;
    ExecStatusType status;

    pipeline->failure = FAILURE_NONE;
    do {
        PGresult *result = session_next(&pipeline->session, deadline_ms, error);

        if (result == NULL)
            return pipeline_abort(pipeline);
        status = PQresultStatus(result);
        if (status == PGRES_FATAL_ERROR) { /* what follows it is PGRES_PIPELINE_ABORTED */
            pipeline->failure = classify_failure(result);
            (void)session_fail(&pipeline->session, result, error);
        }
        PQclear(result);
    } while (status != PGRES_PIPELINE_SYNC);
    return pipeline->failure == FAILURE_NONE;
}

int pipeline_skip(struct pipeline *pipeline, ExecStatusType status, struct error *error)
{
    PGresult *result = pipeline_expect(pipeline, status, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

int pipeline_queue(struct pipeline *pipeline, const char *statement, int param_count,
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
    if (pipeline->session.conn != NULL &&
        PQsendQueryPrepared(pipeline->session.conn, statement, param_count, values, lengths,
                            formats, binary) == 1)
        return 0;
    return fail(pipeline, NULL, error);
}

PGresult *pipeline_run(struct pipeline *pipeline, const char *statement, int param_count,
                       const char *const *params, struct error *error)
{
    PGresult *result;

    if (PQsendQueryPrepared(pipeline->session.conn, statement, param_count, params, NULL, NULL,
                            0) != 1) {
        (void)fail(pipeline, NULL, error);
        return NULL;
    }
    if (pipeline_sync(pipeline, error) < 0)
        return NULL;
    result = pipeline_expect(pipeline, PGRES_TUPLES_OK, error);
    if (result != NULL && pipeline_skip(pipeline, PGRES_PIPELINE_SYNC, error) < 0) {
        PQclear(result);
        return NULL;
    }
    return result;
}

int pipeline_prepare(struct pipeline *pipeline, const char *name, char *sql, struct error *error)
{
    int sent = sql != NULL && PQsendPrepare(pipeline->session.conn, name, sql, 0, NULL) == 1;

    free(sql);
    if (sql == NULL)
        return error_no_memory(error);
    pipeline->prepared++;
    return sent ? 0 : fail(pipeline, NULL, error);
}

int pipeline_read_prepared(struct pipeline *pipeline, struct error *error)
{
    if (pipeline_sync(pipeline, error) < 0)
        return -1;
    for (; pipeline->prepared > 0; pipeline->prepared--)
        if (pipeline_skip(pipeline, PGRES_COMMAND_OK, error) < 0)
            return -1;
    return pipeline_skip(pipeline, PGRES_PIPELINE_SYNC, error);
}
