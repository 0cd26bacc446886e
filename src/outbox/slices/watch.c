/*
 * The watcher's session: one for each process, beside those of the lanes.
 *
 * A tick is one round trip with these queries, in this order: the highest id drawn; the holders of
 * the table's lock; the lowest unsent id of each slice, from its bound on; and the same from the
 * start for some slices, to find rows whose ids were drawn before their INSERT. Each statement of a
 * pipeline has its own snapshot, so the results of the first two are valid for the scans after
 * them.
 */
#include "source/watch.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "catalog/memory.h"
#include "outbox/slices/arrivals.h"
#include "outbox/slices/scan.h"
#include "outbox/slices/source_state.h"
#include "outbox/slices/statements.h"
#include "pg/server.h"
#include "pg/holders.h"
#include "catalog/session_options.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_BUSY_MS 100     /* between ticks while lanes claim rows */
#define TICK_UNORDERED_MS 20 /* the same with order = "none", where only scans raise the bounds */
#define TICK_IDLE_MS 1000    /* between ticks while they claim none */
#define TICK_FIRST_MS 20     /* between ticks at the start of an epoch, until bounds can rise */
#define BOUNDS_MS 450     /* between scans of bounds that lanes of this process raise by claims */
#define FIRST_WAIT_MS 300 /* how long the first scan waits for that */
#define FULL_ROUND_MS                                                                              \
    60000                /* a round of full scans takes no longer, however slow the scans are      \
                          */
#define LOWEST_MS 1000   /* statement_timeout of the search for the table's lowest id */
#define SCAN_MS_MAX 2500 /* statement_timeout of a tick: lanes may be waiting for a flush */
/* How long it waits for a lock: less than `status` waits for an answer of this session. */
#define LOCK_TIMEOUT "SET lock_timeout = 500"

struct watch {
    const struct outbox_options *options;
    char name[64];
    struct session session;
    struct table table;
    struct server server;
    struct sequence sequence;
    struct horizon *horizon;
    struct wal_flush *flush;
    struct watch_process process;
    struct arrivals arrivals;
    bool bounded; /* the ids are integers, so there is a horizon */
    struct horizon_view view;
    struct horizon_holder *holders;
    struct scan_round full; /* the round of the epoch's first scan, then those of full scans */
    int first_scanned;      /* how many slices the first scan of this epoch has covered */
    int64_t epoch_ms;       /* when this epoch began */
    bool lowest_searched;   /* the lowest id of the table was searched for in this epoch */
    int64_t bounds_ms;      /* when the slices are scanned from their bounds again */
    int64_t late_logged_ms;
};

struct watch *watch_open(const struct outbox_options *options, const char *name,
                         struct source *source, const struct watch_process *process)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL)
        return NULL;
    watch->options = options;
    watch->horizon = source->horizon;
    watch->flush = source->flush;
    watch->process = *process;
    watch->arrivals = (struct arrivals){.process = &watch->process,
                                        .session = &watch->session,
                                        .table = &watch->table,
                                        .view = &watch->view};
    (void)snprintf(watch->name, sizeof watch->name, "%s", name);
    if (horizon_view_init(&watch->view, horizon_slices(watch->horizon)) == 0)
        return watch;
    watch_close(watch);
    return NULL;
}

void watch_disconnect(struct watch *watch)
{
    session_close(&watch->session);
    arrivals_end(&watch->arrivals);
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

/* ---- connecting ---- */

static int prepare(struct watch *watch, enum horizon_statement statement, struct error *error)
{
    const struct slice_facts about = {.tables = {&watch->table, watch->options},
                                      .sequence = &watch->sequence};

    return session_prepare(
        &watch->session, horizon_statement_name(statement),
        slice_statement(horizon_statement_text(statement, watch->options), &about), error);
}

/* The query of the holders joins pg_locks: with 500 writing sessions a nested loop takes 47 ms, a
 * hash join 2 ms. */
static int prepare_queries(struct watch *watch, struct error *error)
{
    const struct slice_facts about = {.tables = {&watch->table, watch->options}};
    struct session *session = &watch->session;
    char limit[96];

    (void)snprintf(limit, sizeof limit,
                   "SELECT pg_catalog.set_config('statement_timeout', '%d', true)", SCAN_MS_MAX);
    if (session_execute(session, "SET enable_nestloop = off", error) < 0 ||
        sequence_describe(&watch->sequence, session, &watch->table, error) < 0)
        return -1;
    if (watch->sequence.increment < 0) /* last_value is then the lowest id drawn, not the highest */
        watch->sequence.readable = false;
    if (session_prepare(session, "limit", strdup(limit), error) < 0 ||
        session_prepare(session, "lowest", slice_statement(statement_scan_table, &about), error) <
            0 ||
        prepare(watch, HORIZON_SHAPE, error) < 0 ||
        (watch->sequence.readable && prepare(watch, HORIZON_DRAWN, error) < 0) ||
        prepare(watch, HORIZON_HOLDERS, error) < 0 || prepare(watch, HORIZON_SCAN, error) < 0)
        return -1;
    return session_read_prepared(session, error);
}

static int connect_session(struct watch *watch, struct error *error)
{
    struct session_options session = outbox_session_options(watch->options);

    session.synchronous_commit = true; /* this session's commits have to flush the WAL */
    if (session_open(&watch->session, &session, watch->name, error) < 0 ||
        server_check_role(&watch->session, watch->options->allow_superuser, error) < 0 ||
        server_check_identity(&watch->server, &watch->session, error) < 0 ||
        server_terminate_previous(&watch->session, error) < 0)
        return -1;
    watch->session.wait_ms = 0;
    return session_execute(&watch->session, LOCK_TIMEOUT, error);
}

static int describe(struct watch *watch, struct error *error)
{
    if (describe_table(&watch->table, &watch->session, watch->options, error) < 0 ||
        describe_check_usable(&watch->table, &watch->session, watch->options, error) < 0)
        return -1;
    watch->bounded = table_has_integer_ids(&watch->table);
    if (watch->bounded && ((watch->options->order == ORDER_KEY &&
                            session_force_generic_plans(&watch->session, error) < 0) ||
                           prepare_queries(watch, error) < 0))
        return -1;
    horizon_connected(watch->horizon, &watch->server);
    return 0;
}

int watch_connect(struct watch *watch, struct error *error)
{
    if (connect_session(watch, error) == 0 && arrivals_begin(&watch->arrivals, error) == 0)
        return 0;
    watch_disconnect(watch);
    return -1;
}

int watch_describe(struct watch *watch, struct error *error)
{
    if (describe(watch, error) == 0) {
        watch->arrivals.check_at_ms = 0; /* what the session listens for */
        return 0;
    }
    table_name_holders(&watch->table, &watch->session, error);
    return -1;
}

int watch_rename(struct watch *watch, const char *name, struct error *error)
{
    const char *params[1] = {name};

    return session_command(&watch->session,
                           "SELECT pg_catalog.set_config('application_name',"
                           " 'outbox-relay/' || $1::text, false)",
                           1, params, error);
}

/* ---- what arrives, and what is asked and kept ---- */

int watch_hear(struct watch *watch, struct error *error)
{
    return arrivals_hear(&watch->arrivals, error);
}

int watch_listen(struct watch *watch, struct error *error)
{
    return arrivals_listen(&watch->arrivals, error);
}

int watch_answer(struct watch *watch, struct error *error)
{
    return questions_answer(&watch->arrivals.questions, &watch->session, &watch->process,
                            watch->table.oid, error);
}

static bool take_event(const struct pollfd *event)
{
    uint64_t told;

    if ((event->revents & POLLIN) == 0)
        return false;
    (void)!read(event->fd, &told, sizeof told);
    return true;
}

bool watch_wait(struct watch *watch, int stop_fd, int64_t until_ms)
{
    const struct arrivals *arrivals = &watch->arrivals;
    struct session *session = &watch->session;
    struct pollfd events[4] = {{.fd = session_socket(session), .events = POLLIN},
                               {.fd = wal_flush_fd(watch->flush), .events = POLLIN},
                               {.fd = horizon_fd(watch->horizon), .events = POLLIN},
                               {.fd = stop_fd, .events = POLLIN}};

    session_count_notifications(session);
    if (session->notifications.arrived > 0) /* it came together with the result of a query */
        return false;
    if (arrivals->listening && !arrivals->armed && arrivals->arm_at_ms < until_ms)
        until_ms = arrivals->arm_at_ms; /* arrivals_listen() is due before */
    if (poll(events, 4, clock_left_ms(until_ms)) <= 0)
        return false;
    (void)take_event(&events[1]);
    return take_event(&events[2]); /* a new epoch has begun, in which the horizon is unknown */
}

int watch_find_holder(struct watch *watch, struct error *holder, struct error *error)
{
    return holders_of_rows(&watch->session, watch->table.slice_quoted, holder, error);
}

const char *watch_control_table(const struct watch *watch)
{
    return watch->table.control_quoted;
}

int watch_keep_acknowledged(struct watch *watch, const char *items, struct error *error)
{
    return memory_keep_acknowledged(&watch->table, &watch->session, items, error);
}

int watch_keep_loss(struct watch *watch, const char *loss, struct error *error)
{
    return memory_keep_loss(&watch->table, &watch->session, loss, error);
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

void watch_fail_flush(struct watch *watch, const struct error *error)
{
    uint64_t wanted = wal_flush_wanted(watch->flush);

    if (wanted != 0)
        wal_flush_done(watch->flush, wanted, &watch->server, error);
}

/* ---- the horizon ---- */

static bool is_by_position(const struct watch *watch)
{
    return watch->options->on_sent == ON_SENT_POSITION;
}

/* Decides which slices this tick scans. An epoch begins with a first scan: every slice from its
 * current bound, without pauses. It is planned as `full`, although full->full is false until it is
 * done. */
static void plan_scans(struct watch *watch, struct scan *bounds, struct scan *full)
{
    int slices = horizon_slices(watch->horizon);
    int64_t now_ms = clock_now_ms();

    *bounds = (struct scan){0};
    if (watch->full.epoch != watch->view.stamp.epoch) {
        watch->full = (struct scan_round){.epoch = watch->view.stamp.epoch, .width = 1};
        watch->first_scanned = 0;
        watch->epoch_ms = now_ms;
        watch->lowest_searched = false;
    }
    *full = (struct scan){.full = watch->first_scanned == slices};
    if (watch->first_scanned < slices && watch->view.stamp.stable_high == HORIZON_UNKNOWN &&
        now_ms < watch->epoch_ms + FIRST_WAIT_MS)
        return;
    if (watch->first_scanned == slices && now_ms >= watch->bounds_ms)
        bounds->count = slices;
    if (now_ms >= watch->full.due_ms) {
        full->first = watch->full.next;
        full->count = watch->full.width;
    }
}

/* Asks the server to send the earlier results first, so that each scan can be timed. */
static int send_scan(struct watch *watch, struct scan *scan, struct error *error)
{
    if (scan->count == 0)
        return 0;
    if (scan_fill(scan, &watch->view, horizon_slices(watch->horizon), error) < 0 ||
        session_request_flush(&watch->session, error) < 0)
        return -1;
    return session_queue(&watch->session, "horizon_scan", SCAN_PARAMS, scan->params, false, error);
}

static int send_queries(struct watch *watch, struct scan *bounds, struct scan *full,
                        struct error *error)
{
    struct session *session = &watch->session;

    if (session_queue(session, "limit", 0, NULL, false, error) < 0 ||
        session_queue(session, "horizon_shape", 0, NULL, false, error) < 0 ||
        (watch->sequence.readable &&
         session_queue(session, "horizon_drawn", 0, NULL, false, error) < 0) ||
        session_queue(session, "horizon_holders", 0, NULL, false, error) < 0 ||
        send_scan(watch, bounds, error) < 0 || send_scan(watch, full, error) < 0)
        return -1;
    return session_sync(session, error);
}

/* Parses a virtual transaction id, "3/1234" or "-1/733": two 32-bit numbers. */
static uint64_t parse_transaction(const char *text)
{
    char *end;
    uint64_t backend = (uint32_t)strtol(text, &end, 10);

    return backend << 32 | (uint32_t)strtoul(*end == '/' ? end + 1 : end, NULL, 10);
}

enum holders_column {
    HOLDERS_FILE,
    HOLDERS_TRANSACTION,
    HOLDERS_PREPARED,
    HOLDERS_XID,
    HOLDERS_COLUMNS
};

static const char *const holders_columns[HOLDERS_COLUMNS] = {
    [HOLDERS_FILE] = "file",
    [HOLDERS_TRANSACTION] = "transaction",
    [HOLDERS_PREPARED] = "prepared",
    [HOLDERS_XID] = "xid",
};

static int read_holders(struct watch *watch, const PGresult *result, struct horizon_tick *tick,
                        struct error *error)
{
    int rows = PQntuples(result);

    if (wire_check_columns(result, holders_columns, HOLDERS_COLUMNS, error) < 0)
        return -1;
    free(watch->holders);
    watch->holders = calloc((size_t)rows, sizeof *watch->holders);
    if (watch->holders == NULL)
        return error_no_memory(error);
    if (PQgetisnull(result, 0, HOLDERS_FILE))
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "table %s was replaced by another table", watch->table.quoted);
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

/* Bounds that are found by an old description could be above unsent rows. */
static int read_shape(struct watch *watch, struct error *error)
{
    PGresult *result = session_expect(&watch->session, PGRES_TUPLES_OK, error);
    bool same;

    if (result == NULL)
        return -1;
    if (session_check_backend(&watch->session, PQgetvalue(result, 0, 1), error) < 0) {
        PQclear(result);
        return -1;
    }
    same = strcmp(PQgetvalue(result, 0, 0), watch->table.shape) == 0;
    PQclear(result);
    return same ? 0
                : error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                            "table %s has changed: described anew", watch->table.quoted);
}

static int read_tick(struct watch *watch, struct horizon_tick *tick, struct error *error)
{
    struct session *session = &watch->session;
    PGresult *result;
    int status;

    if (session_skip(session, PGRES_TUPLES_OK, error) < 0 || read_shape(watch, error) < 0)
        return -1;
    if (watch->sequence.readable) {
        result = session_expect(session, PGRES_TUPLES_OK, error);
        if (result == NULL)
            return -1;
        tick->drawn = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
        PQclear(result);
    }
    result = session_expect(session, PGRES_TUPLES_OK, error);
    if (result == NULL)
        return -1;
    tick->now_ms = clock_now_ms();
    status = read_holders(watch, result, tick, error);
    PQclear(result);
    return status;
}

/* Such a row is outside the contract (docs/internals/horizon.md): its order is not guaranteed, but
 * its delivery is. */
static void note_late(struct watch *watch, int slice, int64_t id)
{
    bool is_of_before = watch->table.numbered && id < FIRST_NUMBER; /* no relay claims yet */

    if (!is_of_before && log_limit_is_due(&watch->late_logged_ms, clock_now_ms()))
        log_info("row %" PRId64 " of slice %d became visible late: its id was drawn before its"
                 " INSERT, or an UPDATE has %schanged its key or marked it as unsent; later rows"
                 " may have been sent before it",
                 id, slice, watch->options->where != NULL ? "made [outbox] where true, " : "");
    if (!watch->sequence.readable)
        horizon_reset(watch->horizon, watch->view.stamp.epoch);
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

        if (horizon_note_scan(watch->horizon, &watch->view.stamp, slice, &watch->view.bounds[slice],
                              scan->full, lowest,
                              PQgetvalue(result, row, SCAN_READ_HIGH)[0] == 't'))
            note_late(watch, slice, lowest);
    }
}

enum scan_result { SCAN_DONE, SCAN_OVERRAN, SCAN_FAILED };

/* *took_ms: the time since the previous result. After a scan that timed out, the rest of the round
 * trip is skipped and the session stays open. */
static enum scan_result read_scan(struct watch *watch, const struct scan *scan, int64_t *took_ms,
                                  struct error *error)
{
    int64_t began_ms = clock_now_ms();
    PGresult *result;

    *took_ms = 0;
    if (scan->count == 0)
        return SCAN_DONE;
    result = scan_answer(&watch->session, error);
    *took_ms = clock_now_ms() - began_ms;
    if (result == NULL)
        return watch_is_connected(watch) && *took_ms >= SCAN_MS_MAX / 2 ? SCAN_OVERRAN
                                                                        : SCAN_FAILED;
    take_scanned(watch, scan, result);
    PQclear(result);
    return SCAN_DONE;
}

/* A slice that was scanned alone and timed out counts as scanned: it keeps its present bound. */
static void note_full(struct watch *watch, const struct scan *scan, bool overran, int64_t took_ms)
{
    int slices = horizon_slices(watch->horizon);
    int64_t rest_ms = 2 * SCAN_REST * took_ms;
    int64_t rest_ms_max = (int64_t)FULL_ROUND_MS * scan->count / slices;
    int seen = overran && scan->count > 1 ? 0 : scan->count;

    watch->full.next = (scan->first + seen) % slices;
    scan_round_adapt(&watch->full, took_ms, slices);
    if (watch->first_scanned < slices) {
        watch->first_scanned += seen;
        horizon_note_first_scan(watch->horizon, watch->full.epoch, watch->first_scanned >= slices);
        if (watch->first_scanned < slices)
            return;
        watch->first_scanned = slices;
        watch->full.width = 1; /* the full scans that follow may take much longer */
    }
    if (is_by_position(watch)) { /* claims find rows that come late by their transactions */
        watch->full.due_ms = INT64_MAX;
        return;
    }
    watch->full.due_ms = clock_now_ms() + (rest_ms < rest_ms_max ? rest_ms : rest_ms_max);
}

static enum scan_result read_scans(struct watch *watch, struct scan *bounds, struct scan *full,
                                   struct error *error)
{
    int64_t began_ms = clock_now_ms();
    int64_t took_ms;
    enum scan_result read = read_scan(watch, bounds, &took_ms, error);

    if (bounds->count > 0) {
        watch->bounds_ms = clock_now_ms() + SCAN_REST * took_ms;
        if (watch->options->order == ORDER_KEY && watch->bounds_ms < began_ms + BOUNDS_MS)
            watch->bounds_ms = began_ms + BOUNDS_MS;
    }
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
    if (send_queries(watch, bounds, full, error) < 0 || read_tick(watch, tick, error) < 0)
        return -1;
    (void)horizon_tick(watch->horizon, tick, &watch->view.stamp);
    if (read_scans(watch, bounds, full, error) == SCAN_FAILED)
        return -1;
    return session_finish(&watch->session, error) > 0 ? 0 : -1;
}

/* NULL with *error set; a search that timed out leaves the session open. */
static PGresult *find_lowest(struct watch *watch, struct error *error)
{
    struct session *session = &watch->session;
    struct scan scan = {.count = 1, .full = true};
    PGresult *result = NULL;
    struct error other;

    if (scan_fill(&scan, &watch->view, 1, error) == 0 &&
        session_queue(session, "lowest", SCAN_PARAMS, scan.params, false, error) == 0 &&
        session_sync(session, error) == 0) {
        result = scan_answer(session, error);
        (void)session_skip(session, PGRES_PIPELINE_SYNC, result != NULL ? error : &other);
    }
    scan_free(&scan);
    return result;
}

/* With on_sent = "delete" the lowest id of the whole table is found through the primary key, in the
 * order of the table's pages. After millions of deleted rows this takes a tenth of the time that
 * scans of all slices would take; these scans then begin at that id. If the search times out, they
 * begin at the start. */
static int start_at_lowest(struct watch *watch, struct error *error)
{
    char sql[64];
    PGresult *result;

    watch->lowest_searched = true;
    if (watch->options->order != ORDER_KEY || watch->options->on_sent != ON_SENT_DELETE ||
        watch->table.numbered) /* no index is by the numbers alone */
        return 0;
    (void)snprintf(sql, sizeof sql, "SET statement_timeout = %d", LOWEST_MS);
    if (session_execute(&watch->session, sql, error) < 0)
        return -1;
    result = find_lowest(watch, error);
    if (!watch_is_connected(watch)) {
        PQclear(result);
        return -1;
    }
    for (int i = 0; result != NULL && i < horizon_slices(watch->horizon); i++)
        (void)horizon_note_scan(watch->horizon, &watch->view.stamp, i, &watch->view.bounds[i], true,
                                read_lowest(result, 0),
                                PQgetvalue(result, 0, SCAN_READ_HIGH)[0] == 't');
    PQclear(result);
    (void)snprintf(sql, sizeof sql, "SET statement_timeout = %d", SESSION_STATEMENT_MS);
    return session_execute(&watch->session, sql, error);
}

/* During the first scan the next tick follows at once. Later the interval depends on whether lanes
 * claim rows, and on when the next full scan is due. */
static int64_t next_tick_ms(const struct watch *watch, const struct scan *full, bool has_claimed)
{
    int slices = horizon_slices(watch->horizon);
    int64_t now_ms = clock_now_ms();
    int64_t busy_ms = watch->options->order == ORDER_KEY ? TICK_BUSY_MS : TICK_UNORDERED_MS;

    if (watch->first_scanned < slices)
        return now_ms + (full->count > 0 ? 0 : TICK_FIRST_MS);
    if (has_claimed || (watch->full.width < slices && watch->full.due_ms < now_ms + TICK_BUSY_MS))
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
    bool has_claimed;
    bool first;
    int status;

    arrivals_earn(&watch->arrivals, CREDIT_TICK);
    *opened = false;
    *again_ms = clock_now_ms() + TICK_IDLE_MS;
    horizon_read(watch->horizon, &watch->server, &watch->view);
    if (watch->view.stamp.epoch == 0)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "database: the lanes are connected to another server");
    if (!watch->bounded)
        return 0;
    plan_scans(watch, &bounds, &full);
    first = watch->first_scanned < slices;
    if (first && full.count > 0)
        horizon_note_first_scan(watch->horizon, watch->full.epoch, false);
    if (full.count > 0 && !watch->lowest_searched) {
        if (start_at_lowest(watch, error) < 0)
            return -1;
        horizon_read(watch->horizon, &watch->server, &watch->view);
    }
    tick.drawn = horizon_highest_claimed(watch->horizon, &has_claimed);
    status = ask(watch, &bounds, &full, &tick, error);
    if (status < 0)
        filter_name_error(&watch->table, error);
    scan_free(&bounds);
    scan_free(&full);
    *opened = first && watch->first_scanned == slices;
    *again_ms = next_tick_ms(watch, &full, has_claimed);
    return status;
}
