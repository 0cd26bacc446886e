/*
 * The watch: one session a process, beside the lanes.
 *
 * A tick asks, in one round trip and in this order: the highest id drawn; who holds the table's
 * lock; where the unsent rows of each slice begin, from its bound on; and the same from the very
 * beginning for some slices, for rows whose ids were drawn before their INSERT. Statements of one
 * pipeline have a snapshot each, so what the first two prove holds for the scans behind them.
 */
#include "outbox/slices/watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "outbox/slices/scan.h"
#include "outbox/slices/sql_horizon.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_BUSY_MS 100
#define TICK_UNORDERED_MS 20 /* the same with order = "none", whose bounds rise by scans alone */
#define TICK_IDLE_MS 1000
#define TICK_FIRST_MS 20  /* until the bounds can be raised at all, */
#define FIRST_WAIT_MS 300 /* or for so long */
#define FULL_ROUND_MS                                                                              \
    60000 /* full scans come to each slice as often as this, however long they take */
#define LATE_LOG_MS 60000
#define LOWEST_MS 1000   /* how long the lowest id of the table may take to find */
#define SCAN_MS_MAX 2500 /* and a question of a tick: lanes may wait for a flush meanwhile */

struct watch {
    const struct outbox_options *options;
    char name[64];
    struct session session;
    struct table table;
    struct server server;
    struct sequence sequence;
    struct horizon *horizon;
    struct wal_flush *flush;
    bool bounded; /* the ids are integers */
    struct horizon_view view;
    struct horizon_holder *holders;
    struct round full; /* of scans from the very beginning, */
    int seen;          /* which have come to so many slices in this epoch, */
    int64_t epoch_ms;  /* that began then, */
    bool lowest_asked; /* and for which the lowest id of the table was asked for */
    int64_t bounds_ms; /* when the slices are scanned from their bounds again */
    int64_t late_logged_ms;
};

struct watch *watch_open(const struct outbox_options *options, const char *name,
                         struct horizon *horizon, struct wal_flush *flush)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL)
        return NULL;
    watch->options = options;
    watch->horizon = horizon;
    watch->flush = flush;
    (void)snprintf(watch->name, sizeof watch->name, "%s", name);
    if (horizon_view_init(&watch->view, horizon_slices(horizon)) == 0)
        return watch;
    watch_close(watch);
    return NULL;
}

void watch_disconnect(struct watch *watch)
{
    session_close(&watch->session);
}

void watch_close(struct watch *watch)
{
    if (watch == NULL)
        return;
    watch_disconnect(watch);
    session_end(&watch->session);
    horizon_view_free(&watch->view);
    free(watch->holders);
    free(watch);
}

bool watch_is_connected(const struct watch *watch)
{
    return watch->session.conn != NULL;
}

int watch_fd(const struct watch *watch)
{
    return watch->session.conn != NULL ? PQsocket(watch->session.conn) : -1;
}

struct session *watch_session(struct watch *watch)
{
    return &watch->session;
}

const struct table *watch_table(const struct watch *watch)
{
    return &watch->table;
}

/* ---- connecting ---- */

/* Takes ownership of the text. */
static int prepare(struct watch *watch, const char *name, char *sql, struct error *error)
{
    int status = -1;

    if (sql == NULL)
        return error_no_memory(error);
    status = session_prepare(&watch->session, name, sql, error);
    free(sql);
    return status;
}

/* Beside 500 writing sessions a nested loop over their locks takes 47 ms, a hash join 2. */
static int prepare_questions(struct watch *watch, struct error *error)
{
    char limit[96];

    (void)snprintf(limit, sizeof limit,
                   "SELECT pg_catalog.set_config('statement_timeout', '%d', true)", SCAN_MS_MAX);
    if (session_execute(&watch->session, "SET enable_nestloop = off", error) < 0 ||
        sequence_describe(&watch->sequence, &watch->session, &watch->table, error) < 0 ||
        session_prepare(&watch->session, "limit", limit, error) < 0)
        return -1;
    if (watch->sequence.increment < 0) /* ids that fall have no horizon */
        watch->sequence.readable = false;
    if (watch->sequence.readable &&
        prepare(watch, "drawn", sql_drawn(&watch->table, &watch->sequence), error) < 0)
        return -1;
    if (prepare(watch, "holders", sql_holders(&watch->table), error) < 0)
        return -1;
    return prepare(watch, "scan", sql_scan(&watch->table, watch->options, NULL, 0), error);
}

static int connect_session(struct watch *watch, struct error *error)
{
    struct session_options session = outbox_session_options(watch->options);

    session.synchronous_commit = true; /* so that this session's commits flush */
    if (session_open(&watch->session, &session, watch->name, error) < 0 ||
        server_check_role(&watch->session, watch->options->allow_superuser, error) < 0 ||
        server_check_identity(&watch->server, &watch->session, error) < 0 ||
        server_terminate_previous(&watch->session, error) < 0 ||
        describe_table(&watch->table, &watch->session, watch->options, error) < 0 ||
        describe_check_usable(&watch->table, watch->options, error) < 0)
        return -1;
    watch->bounded = table_has_integer_ids(&watch->table);
    if (watch->bounded && ((watch->options->order == ORDER_KEY &&
                            session_force_generic_plans(&watch->session, error) < 0) ||
                           prepare_questions(watch, error) < 0))
        return -1;
    watch->session.wait_ms = 0;
    horizon_join(watch->horizon, &watch->server);
    return 0;
}

int watch_connect(struct watch *watch, struct error *error)
{
    if (connect_session(watch, error) == 0)
        return 0;
    watch_disconnect(watch);
    return -1;
}

int watch_rename(struct watch *watch, const char *name, struct error *error)
{
    const char *params[1] = {name};

    return session_command(&watch->session,
                           "SELECT pg_catalog.set_config('application_name',"
                           " 'outbox-relay/' || $1::text, false)",
                           1, params, NULL, NULL, error);
}

/* ---- the WAL ---- */

int watch_flush(struct watch *watch, struct error *error)
{
    uint64_t wanted = wal_flush_wanted(watch->flush);
    PGresult *result;

    if (wanted == 0)
        return 0;
    watch->session.wait_ms = WAL_FLUSH_MS_MAX;
    result = session_query(&watch->session,
                           "SELECT pg_catalog.pg_logical_emit_message(true, 'outbox-relay', '')", 0,
                           NULL, error);
    watch->session.wait_ms = 0;
    wal_flush_done(watch->flush, wanted, &watch->server, result != NULL ? NULL : error);
    PQclear(result);
    return result != NULL ? 0 : -1;
}

void watch_refuse_flush(struct watch *watch, const struct error *error)
{
    uint64_t wanted = wal_flush_wanted(watch->flush);

    if (wanted != 0)
        wal_flush_done(watch->flush, wanted, &watch->server, error);
}

/* ---- the horizon ---- */

/* Which slices this tick scans. An epoch begins with a scan of each from where its bound is by
 * then, without a rest. */
static void choose_scans(struct watch *watch, struct scan *bounds, struct scan *full)
{
    int slices = horizon_slices(watch->horizon);
    int64_t now_ms = clock_now_ms();

    *bounds = (struct scan){0};
    if (watch->full.epoch != watch->view.stamp.epoch) {
        watch->full = (struct round){.epoch = watch->view.stamp.epoch, .width = 1};
        watch->seen = 0;
        watch->epoch_ms = now_ms;
        watch->lowest_asked = false;
    }
    *full = (struct scan){.full = watch->seen == slices};
    if (watch->seen < slices && watch->view.stamp.stable_high == HORIZON_UNKNOWN &&
        now_ms < watch->epoch_ms + FIRST_WAIT_MS)
        return;
    if (watch->seen == slices && now_ms >= watch->bounds_ms)
        bounds->count = slices;
    if (now_ms >= watch->full.due_ms) {
        full->first = watch->full.next;
        full->count = watch->full.width;
    }
}

/* The answers before it are flushed, so that the time of each scan can be told. */
static int send_scan(struct watch *watch, struct scan *scan, struct error *error)
{
    if (scan->count == 0)
        return 0;
    if (scan_fill(scan, &watch->view, horizon_slices(watch->horizon), error) < 0 ||
        session_request_flush(&watch->session, error) < 0)
        return -1;
    return session_queue(&watch->session, "scan", 5, (const char *const *)scan->params, error);
}

static int send_questions(struct watch *watch, struct scan *bounds, struct scan *full,
                          struct error *error)
{
    if (session_queue(&watch->session, "limit", 0, NULL, error) < 0 ||
        (watch->sequence.readable && session_queue(&watch->session, "drawn", 0, NULL, error) < 0) ||
        session_queue(&watch->session, "holders", 0, NULL, error) < 0 ||
        send_scan(watch, bounds, error) < 0 || send_scan(watch, full, error) < 0)
        return -1;
    return session_sync(&watch->session, error);
}

/* "3/1234", "-1/733": two numbers of 32 bits. */
static uint64_t parse_transaction(const char *text)
{
    char *end;
    uint64_t backend = (uint32_t)strtol(text, &end, 10);

    return backend << 32 | (uint32_t)strtoul(*end == '/' ? end + 1 : end, NULL, 10);
}

static int read_holders(struct watch *watch, const PGresult *result, struct horizon_tick *tick,
                        struct error *error)
{
    int rows = PQntuples(result);

    free(watch->holders);
    watch->holders = calloc((size_t)rows, sizeof *watch->holders);
    if (watch->holders == NULL)
        return error_no_memory(error);
    if (PQgetisnull(result, 0, HOLDERS_FILE))
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "table %s is another one than before", watch->table.quoted);
    tick->file = (uint32_t)strtoul(PQgetvalue(result, 0, HOLDERS_FILE), NULL, 10);
    tick->holders = watch->holders;
    for (int row = 0; row < rows; row++) {
        if (PQgetisnull(result, row, HOLDERS_TRANSACTION))
            continue;
        watch->holders[tick->holder_count++] =
            (struct horizon_holder){parse_transaction(PQgetvalue(result, row, HOLDERS_TRANSACTION)),
                                    PQgetvalue(result, row, HOLDERS_PREPARED)[0] == 't',
                                    strtoull(PQgetvalue(result, row, HOLDERS_XID), NULL, 10)};
    }
    return 0;
}

static int read_tick(struct watch *watch, struct horizon_tick *tick, struct error *error)
{
    PGresult *result = session_answer(&watch->session, error);
    int status;

    if (result == NULL)
        return -1;
    PQclear(result);
    if (watch->sequence.readable) {
        result = session_answer(&watch->session, error);
        if (result == NULL)
            return -1;
        tick->drawn = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
        PQclear(result);
    }
    result = session_answer(&watch->session, error);
    if (result == NULL)
        return -1;
    tick->now_ms = clock_now_ms();
    status = read_holders(watch, result, tick, error);
    PQclear(result);
    return status;
}

/* A row whose id was drawn before its INSERT is outside the contract, but is still delivered. */
static void note_late(struct watch *watch, int slice, int64_t id)
{
    int64_t now_ms = clock_now_ms();

    if (now_ms - watch->late_logged_ms >= LATE_LOG_MS || watch->late_logged_ms == 0) {
        log_info("row %" PRId64 " of slice %d became visible late: its id was drawn before its"
                 " INSERT%s, so it may have been overtaken",
                 id, slice,
                 watch->options->where != NULL ? ", or an UPDATE has made [outbox] where true"
                                               : "");
        watch->late_logged_ms = now_ms;
    }
    if (!watch->sequence.readable)
        horizon_forget(watch->horizon, watch->view.stamp.epoch);
}

static int64_t read_lowest(const PGresult *result, int row)
{
    if (PQgetisnull(result, row, SCAN_LOWEST))
        return INT64_MAX;
    return strtoll(PQgetvalue(result, row, SCAN_LOWEST), NULL, 10);
}

static void take_scanned(struct watch *watch, const struct scan *scan, const PGresult *result)
{
    for (int row = 0; row < PQntuples(result); row++) {
        int slice = (int)strtol(PQgetvalue(result, row, SCAN_SLICE), NULL, 10);
        int64_t lowest = read_lowest(result, row);

        if (horizon_scanned(watch->horizon, &watch->view.stamp, slice, &watch->view.bounds[slice],
                            scan->full, lowest, PQgetvalue(result, row, SCAN_READ_HIGH)[0] == 't'))
            note_late(watch, slice, lowest);
    }
}

enum scan_result { SCAN_DONE, SCAN_OVERRAN, SCAN_FAILED };

/* *took_ms: since the answer before it. Behind a scan that overran, the rest of the round trip is
 * void, and the session goes on. */
static enum scan_result read_scan(struct watch *watch, const struct scan *scan, int64_t *took_ms,
                                  struct error *error)
{
    int64_t began_ms = clock_now_ms();
    PGresult *result;

    *took_ms = 0;
    if (scan->count == 0)
        return SCAN_DONE;
    result = session_answer(&watch->session, error);
    *took_ms = clock_now_ms() - began_ms;
    if (result == NULL)
        return watch_is_connected(watch) && *took_ms >= SCAN_MS_MAX / 2 ? SCAN_OVERRAN
                                                                        : SCAN_FAILED;
    take_scanned(watch, scan, result);
    PQclear(result);
    return SCAN_DONE;
}

/* A slice whose scan overran counts as seen: claims do without its bound. */
static void note_full(struct watch *watch, const struct scan *scan, bool overran, int64_t took_ms)
{
    int slices = horizon_slices(watch->horizon);
    int64_t rest_ms = 2 * SCAN_REST * took_ms;
    int64_t rest_ms_max = (int64_t)FULL_ROUND_MS * scan->count / slices;
    int seen = overran && scan->count > 1 ? 0 : scan->count;

    watch->full.next = (scan->first + seen) % slices;
    round_adapt(&watch->full, took_ms, slices);
    if (watch->seen < slices) {
        watch->seen += seen;
        horizon_first_scan(watch->horizon, watch->full.epoch, watch->seen >= slices);
        if (watch->seen < slices)
            return;
        watch->seen = slices;
        watch->full.width = 1; /* from the very beginning a scan may take much longer */
    }
    watch->full.due_ms = clock_now_ms() + (rest_ms < rest_ms_max ? rest_ms : rest_ms_max);
}

static enum scan_result read_scans(struct watch *watch, struct scan *bounds, struct scan *full,
                                   struct error *error)
{
    int64_t took_ms;
    enum scan_result read = read_scan(watch, bounds, &took_ms, error);

    if (bounds->count > 0)
        watch->bounds_ms = clock_now_ms() + SCAN_REST * took_ms;
    if (read != SCAN_DONE)
        return read;
    read = read_scan(watch, full, &took_ms, error);
    if (read != SCAN_FAILED && full->count > 0)
        note_full(watch, full, read == SCAN_OVERRAN, took_ms);
    return read;
}

static int ask(struct watch *watch, struct scan *bounds, struct scan *full,
               struct horizon_tick *tick, struct error *error)
{
    if (send_questions(watch, bounds, full, error) < 0 || read_tick(watch, tick, error) < 0)
        return -1;
    (void)horizon_tick(watch->horizon, tick, &watch->view.stamp);
    if (read_scans(watch, bounds, full, error) == SCAN_FAILED)
        return -1;
    return session_end_sync(&watch->session, error);
}

static PGresult *find_lowest(struct watch *watch, struct error *error)
{
    struct outbox_options by_id = *watch->options;
    struct scan scan = {.count = 1, .full = true};
    PGresult *result = NULL;
    char *sql;

    by_id.order = ORDER_NONE;
    sql = sql_scan(&watch->table, &by_id, NULL, 0);
    if (sql == NULL || scan_fill(&scan, &watch->view, 1, error) < 0)
        (void)error_no_memory(error);
    else
        result = session_query(&watch->session, sql, 5, (const char *const *)scan.params, error);
    scan_free(&scan);
    free(sql);
    return result;
}

/* With "delete" the lowest unsent id of the whole table is found by its primary key, in the order
 * of the table's pages: behind millions of rows that have left that takes a tenth of what scans of
 * all slices take, which then begin there. Where it takes too long they begin at the front. */
static int begin_at_lowest(struct watch *watch, struct error *error)
{
    char sql[64];
    PGresult *result;

    watch->lowest_asked = true;
    if (watch->options->order != ORDER_KEY || watch->options->on_sent != ON_SENT_DELETE)
        return 0;
    (void)snprintf(sql, sizeof sql, "SET statement_timeout = %d", LOWEST_MS);
    if (session_execute(&watch->session, sql, error) < 0)
        return -1;
    result = find_lowest(watch, error);
    if (result == NULL && !watch_is_connected(watch))
        return -1;
    for (int i = 0; result != NULL && i < horizon_slices(watch->horizon); i++)
        (void)horizon_scanned(watch->horizon, &watch->view.stamp, i, &watch->view.bounds[i], true,
                              read_lowest(result, 0),
                              PQgetvalue(result, 0, SCAN_READ_HIGH)[0] == 't');
    PQclear(result);
    (void)snprintf(sql, sizeof sql, "SET statement_timeout = %d", SESSION_STATEMENT_MS);
    return session_execute(&watch->session, sql, error);
}

/* Until the first scan is done at once again; then as often as the lanes work, or a full round of
 * slices that take long needs. */
static int64_t next_tick_ms(const struct watch *watch, const struct scan *full, bool worked)
{
    int slices = horizon_slices(watch->horizon);
    int64_t now_ms = clock_now_ms();
    int64_t busy_ms = watch->options->order == ORDER_KEY ? TICK_BUSY_MS : TICK_UNORDERED_MS;

    if (watch->seen < slices)
        return now_ms + (full->count > 0 ? 0 : TICK_FIRST_MS);
    if (worked || (watch->full.width < slices && watch->full.due_ms < now_ms + TICK_BUSY_MS))
        return now_ms + busy_ms;
    if (watch->full.width < slices && watch->full.due_ms < now_ms + TICK_IDLE_MS)
        return watch->full.due_ms;
    return now_ms + TICK_IDLE_MS;
}

int watch_tick(struct watch *watch, int64_t *again_ms, bool *opened, struct error *error)
{
    int slices = horizon_slices(watch->horizon);
    struct horizon_tick tick = {.holder_count = 0};
    struct scan bounds;
    struct scan full;
    bool worked;
    bool first;
    int status;

    *opened = false;
    *again_ms = clock_now_ms() + TICK_IDLE_MS;
    if (!watch->bounded)
        return 0;
    horizon_read(watch->horizon, &watch->server, &watch->view);
    if (watch->view.stamp.epoch == 0)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "database: the lanes have reached another server");
    choose_scans(watch, &bounds, &full);
    first = watch->seen < slices;
    if (first && full.count > 0)
        horizon_first_scan(watch->horizon, watch->full.epoch, false);
    if (full.count > 0 && !watch->lowest_asked) {
        if (begin_at_lowest(watch, error) < 0)
            return -1;
        horizon_read(watch->horizon, &watch->server, &watch->view);
    }
    tick.drawn = horizon_highest_claimed(watch->horizon, &worked);
    status = session_enter_pipeline(&watch->session, error);
    if (status == 0)
        status = ask(watch, &bounds, &full, &tick, error);
    if (status == 0)
        status = session_leave_pipeline(&watch->session, error);
    if (status < 0)
        filter_name_error(&watch->table, error);
    scan_free(&bounds);
    scan_free(&full);
    *opened = first && watch->seen == slices;
    *again_ms = next_tick_ms(watch, &full, worked);
    return status;
}

int64_t watch_drawn(const struct watch *watch)
{
    return watch->view.stamp.drawn;
}

int watch_read_input(struct watch *watch, struct error *error)
{
    if (PQconsumeInput(watch->session.conn) == 0)
        return session_fail(&watch->session, NULL, error);
    return 0;
}
