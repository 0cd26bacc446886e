/*
 * The watcher's session: it flushes the log for the lanes, looks for new rows in their place, keeps
 * the horizon, and writes what the process says of itself into the control table.
 *
 * The horizon (docs/internals/horizon-mysql.md has the proof) needs to know who may still commit a
 * row with a low id. A statement takes a metadata lock on the outbox before it draws its first id,
 * and the server releases it only after the commit is visible; so whoever has inserted and not
 * committed has one. A transaction that was prepared by XA PREPARE and has lost its session may
 * have none: XA RECOVER lists it. Where the locks cannot be read, nothing raises the bounds, and
 * claims read from the front of the table.
 */
#include "source/watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "mysql/memory.h"
#include "mysql/statements.h"

#include <inttypes.h>
#include <mysqld_error.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS 50       /* between looks for new rows, while all lanes wait for one */
#define POLL_REST 20     /* or this many times what the look has taken */
#define REPEAT_MS 1000   /* until a row that still waits wakes a lane again */
#define TICK_BUSY_MS 250 /* between ticks, while rows are claimed */
#define TICK_IDLE_MS 1000
#define FULL_REST 100 /* this many times what a look for a row below the bounds has taken, */
#define FULL_MS 30000 /* but at most so long, is between two of them */
#define SAY_MS 5000   /* between what the process says of itself */

struct watch {
    const struct outbox_options *options;
    struct source *source;
    struct watch_process process;
    char name[WATCH_NAME_BYTES];
    struct db_session session;
    struct db_server server;
    struct tables tables;
    struct horizon_view view;
    bool armed;           /* the lanes wait for this session to see new rows */
    int64_t poll_at_ms;   /* when it looks next */
    char seen[2][24];     /* the first and the last row of the last look */
    int64_t repeat_at_ms; /* when the same rows wake a lane again: it may have met a locked slice */
    int64_t full_at_ms;   /* when a row below the bounds is looked for next */
    int64_t say_at_ms;
    bool is_blind;       /* the server does not show who has a lock on the outbox */
    bool is_blind_to_xa; /* nor transactions that are prepared */
};

struct watch *watch_open(const struct outbox_options *options, const char *name,
                         struct source *source, const struct watch_process *process)
{
    struct watch *watch = calloc(1, sizeof *watch);

    if (watch == NULL || horizon_view_init(&watch->view, horizon_slices(source->horizon)) < 0) {
        free(watch);
        return NULL;
    }
    watch->options = options;
    watch->source = source;
    watch->process = *process;
    (void)snprintf(watch->name, sizeof watch->name, "%s", name);
    return watch;
}

/* Of the row in which the process says what it does. */
static void name_row(const struct watch *watch, char name[WATCH_NAME_BYTES + 8])
{
    (void)snprintf(name, WATCH_NAME_BYTES + 8, "relay %.*s", (int)strcspn(watch->name, "/"),
                   watch->name);
}

void watch_close(struct watch *watch)
{
    char name[WATCH_NAME_BYTES + 8];
    struct error ignored;

    if (watch == NULL)
        return;
    name_row(watch, name);
    if (watch_is_connected(watch) && watch->tables.exists && watch->say_at_ms != 0)
        (void)memory_drop_setting(&watch->tables, &watch->session, name, &ignored);
    watch_disconnect(watch);
    db_end(&watch->session);
    horizon_view_free(&watch->view);
    free(watch);
}

int watch_connect(struct watch *watch, struct error *error)
{
    if (db_open(&watch->session, watch->options, watch->options->publish_timeout_ms, watch->name,
                error) < 0)
        return -1;
    if (db_server_read(&watch->server, &watch->session, error) < 0 ||
        db_server_check(&watch->server, watch->options, error) < 0) {
        watch->session.first_host++;
        return db_abort(&watch->session);
    }
    watch->is_blind = false;
    watch->is_blind_to_xa = false;
    return 0;
}

int watch_describe(struct watch *watch, struct error *error)
{
    tables_free(&watch->tables);
    if (tables_describe(&watch->tables, watch->options, &watch->session, error) < 0)
        return -1;
    if (!watch->tables.exists)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "there is no table %s",
                         watch->tables.outbox);
    horizon_connected(watch->source->horizon, &watch->server.identity);
    watch->full_at_ms = 0;
    return 0;
}

static void disarm(struct watch *watch)
{
    if (watch->armed)
        wake_disarm(watch->process.wake);
    watch->armed = false;
}

void watch_disconnect(struct watch *watch)
{
    disarm(watch);
    db_close(&watch->session);
    tables_free(&watch->tables);
}

bool watch_is_connected(const struct watch *watch)
{
    return watch->session.conn != NULL;
}

int watch_rename(struct watch *watch, const char *name, struct error *error)
{
    (void)error;
    (void)snprintf(watch->name, sizeof watch->name, "%s", name);
    watch->say_at_ms = 0;
    return 0;
}

/* ---- the flush ---- */

/* The commit of a change of its own returns only when everything before it is on disk, if a commit
 * flushes at all: that can be changed at any time. */
static int flush(struct watch *watch, struct error *error)
{
    int64_t flushes;

    if (tables_ask(&watch->tables, &watch->session,
                   "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit", NULL, &flushes, 1, error) < 0)
        return -1;
    if (flushes == 1)
        return tables_execute(&watch->tables, &watch->session, db_sql_flush, NULL, error) < 0 ? -1
                                                                                              : 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: durable_before_publish needs innodb_flush_log_at_trx_commit = 1");
    return error_hint(error, "SET GLOBAL innodb_flush_log_at_trx_commit = 1;");
}

int watch_flush(struct watch *watch, struct error *error)
{
    uint64_t wanted = wal_flush_wanted(watch->source->flush);

    if (wanted == 0 || !watch->tables.exists)
        return 0;
    if (flush(watch, error) < 0)
        return -1;
    wal_flush_done(watch->source->flush, wanted, &watch->server.identity, NULL);
    return 0;
}

void watch_fail_flush(struct watch *watch, const struct error *error)
{
    uint64_t wanted = wal_flush_wanted(watch->source->flush);

    if (wanted != 0)
        wal_flush_done(watch->source->flush, wanted, &watch->server.identity, error);
}

/* ---- new rows ---- */

static void put_from(const struct watch *watch, char out[24])
{
    int64_t from = horizon_lowest(watch->source->horizon);

    (void)snprintf(out, 24, "%" PRId64, from > 0 && from != INT64_MAX ? from : 0);
}

/* Whether there are rows of which the first or the last is another one than at the last look, or
 * which have waited since. */
static int look_for_rows(struct watch *watch, bool *arrived, struct error *error)
{
    char from[24];
    const struct sql_fact facts[] = {{"from", .text = from}, {.name = NULL}};
    MYSQL_RES *rows;
    MYSQL_ROW row;

    put_from(watch, from);
    rows = tables_query(&watch->tables, &watch->session, db_sql_arrivals, facts, error);
    if (rows == NULL)
        return -1;
    row = mysql_fetch_row(rows);
    *arrived = row != NULL && row[0] != NULL && clock_left_ms(watch->repeat_at_ms) == 0;
    for (int i = 0; row != NULL && i < 2; i++) {
        const char *id = row[i] != NULL ? row[i] : "";

        *arrived = *arrived || (row[0] != NULL && strcmp(id, watch->seen[i]) != 0);
        (void)snprintf(watch->seen[i], sizeof watch->seen[i], "%s", id);
    }
    mysql_free_result(rows);
    return 0;
}

int watch_hear(struct watch *watch, struct error *error)
{
    int64_t began_ms = clock_now_ms();
    bool arrived;

    if (!watch->armed || began_ms < watch->poll_at_ms)
        return 0;
    if (look_for_rows(watch, &arrived, error) < 0)
        return -1;
    watch->poll_at_ms = clock_now_ms() + POLL_REST * (clock_now_ms() - began_ms);
    if (watch->poll_at_ms < began_ms + POLL_MS)
        watch->poll_at_ms = began_ms + POLL_MS;
    if (arrived) {
        watch->repeat_at_ms = clock_now_ms() + REPEAT_MS;
        wake_notify(watch->process.wake);
    }
    return 0;
}

/* While a lane has rows to claim, nobody waits for this session to see some. */
int watch_listen(struct watch *watch, struct error *error)
{
    (void)error;
    if (watch->process.wake == NULL || watch->armed || !wake_is_quiet(watch->process.wake))
        return 0;
    watch->armed = true;
    watch->poll_at_ms = 0;
    watch->seen[0][0] = watch->seen[1][0] = '\0';
    wake_arm(watch->process.wake);
    return 0;
}

/* ---- what the process says of itself ---- */

int watch_answer(struct watch *watch, struct error *error)
{
    char said[STATUS_ANSWER_BYTES];
    char name[WATCH_NAME_BYTES + 8];
    int64_t now_ms = clock_now_ms();

    if (watch->process.describe == NULL || !watch->tables.exists || now_ms < watch->say_at_ms)
        return 0;
    watch->say_at_ms = now_ms + SAY_MS;
    name_row(watch, name);
    if (tables_execute(&watch->tables, &watch->session, db_sql_forget_relays, NULL, error) < 0)
        return -1;
    return memory_keep_setting(&watch->tables, &watch->session, name,
                               watch->process.describe(watch->process.closure, 0, said), error);
}

int watch_find_holder(struct watch *watch, struct error *holder, struct error *error)
{
    (void)watch;
    (void)holder;
    (void)error;
    return 0;
}

const char *watch_control_table(const struct watch *watch)
{
    return watch->tables.fact_count > 0 ? tables_fact(&watch->tables, "control")
                                        : "the control table";
}

int watch_keep_acknowledged(struct watch *watch, const char *items, struct error *error)
{
    return memory_keep_acknowledged(&watch->tables, &watch->session, items, error);
}

int watch_keep_loss(struct watch *watch, const char *loss, struct error *error)
{
    return memory_keep_loss(&watch->tables, &watch->session, loss, error);
}

/* ---- the horizon ---- */

static int read_drawn(struct watch *watch, struct horizon_tick *tick, struct error *error)
{
    int64_t numbers[2];

    if (tables_ask(&watch->tables, &watch->session, db_sql_drawn, NULL, numbers, 2, error) < 0)
        return -1;
    if (numbers[0] != INT64_MIN) /* else the ids are drawn elsewhere: that of the last claim */
        tick->drawn = numbers[0] - 1;
    tick->file = numbers[1] != INT64_MIN ? (uint32_t)numbers[1] : 0;
    return 0;
}

static int add_holders(struct horizon_tick *tick, MYSQL_RES *rows, bool prepared,
                       struct error *error)
{
    size_t count = (size_t)tick->holder_count + (size_t)mysql_num_rows(rows);
    struct horizon_holder *holders = realloc(tick->holders, (count + 1) * sizeof *holders);
    MYSQL_ROW row;

    if (holders == NULL)
        return error_no_memory(error);
    tick->holders = holders;
    while ((row = mysql_fetch_row(rows)) != NULL) {
        const char *name = row[prepared ? 3 : 0];
        struct text text = {name, name != NULL ? mysql_fetch_lengths(rows)[prepared ? 3 : 0] : 0};

        holders[tick->holder_count++] =
            (struct horizon_holder){.transaction = prepared       ? text_hash(text)
                                                   : name != NULL ? strtoull(name, NULL, 10)
                                                                  : 0,
                                    .prepared = prepared};
    }
    return 0;
}

static bool has_null(MYSQL_RES *rows)
{
    MYSQL_ROW row;
    bool found = false;

    while (!found && (row = mysql_fetch_row(rows)) != NULL)
        found = row[0] == NULL;
    mysql_data_seek(rows, 0);
    return found;
}

/* Reads them into the tick. *is_blind: the role may not, or the server cannot; that may change. */
static int read_holders(struct watch *watch, struct horizon_tick *tick, bool prepared,
                        bool *is_blind, struct error *error)
{
    MYSQL_RES *rows =
        prepared ? db_query(&watch->session, "XA RECOVER", error)
                 : tables_query(&watch->tables, &watch->session, db_sql_holders, NULL, error);
    bool was_blind = *is_blind;
    int status;

    *is_blind = rows != NULL ? has_null(rows)
                             : watch->session.failure == DB_FAILURE_STATEMENT &&
                                   error->kind == ERROR_PERMANENT;
    if (*is_blind && !was_blind) {
        if (!prepared) /* what would show that the bounds are void cannot be read any longer */
            horizon_reset(watch->source->horizon, watch->view.stamp.epoch);
        log_event(LOG_INFO, LOG_FIELDS(.error = rows == NULL ? error->text : NULL),
                  prepared ? "transactions that are prepared by XA cannot be read"
                           : "metadata locks cannot be read: claims read from the front of the"
                             " table, which takes longer beside a long transaction");
    }
    if (rows == NULL)
        return *is_blind ? 0 : -1;
    status = *is_blind ? 0 : add_holders(tick, rows, prepared, error);
    mysql_free_result(rows);
    return status;
}

/* The lowest unsent id, from the bounds on. */
static int scan(struct watch *watch, struct error *error)
{
    struct horizon *horizon = watch->source->horizon;
    int64_t least = horizon_lowest(horizon);
    const struct horizon_bound from = {least, least};
    char text[24];
    const struct sql_fact facts[] = {{"from", .text = text}, {.name = NULL}};
    int64_t lowest;

    put_from(watch, text);
    if (tables_ask(&watch->tables, &watch->session, db_sql_lowest, facts, &lowest, 1, error) < 0)
        return -1;
    if (lowest == INT64_MIN)
        lowest = INT64_MAX;
    for (int i = 0; i < horizon_slices(horizon); i++)
        (void)horizon_note_scan(horizon, &watch->view.stamp, i, &from, false, lowest, false);
    return 0;
}

/* "1,7,.."; free() it. NULL: no memory. */
static char *pack_bounds(const struct watch *watch, int64_t *highest)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    for (int i = 0; i < horizon_slices(watch->source->horizon); i++) {
        int64_t bound = watch->view.bounds[i].low > 0 ? watch->view.bounds[i].low : 0;

        (void)fprintf(writer.out, "%s%" PRId64, i == 0 ? "" : ",", bound);
        *highest = bound > *highest ? bound : *highest;
    }
    return writer_end(&writer);
}

/* From the front: a row below the bound of its slice. Where there is one, there may be more. */
static int look_below(struct watch *watch, struct error *error)
{
    static struct log_limit limit = {.lines = "rows below the bound"};
    int64_t began_ms = clock_now_ms();
    int64_t highest = 0;
    int64_t rest_ms;
    char *bounds = pack_bounds(watch, &highest);
    char text[24];
    const struct sql_fact facts[] = {
        {"bounds", .text = bounds}, {"highest", .text = text}, {.name = NULL}};
    int slices = horizon_slices(watch->source->horizon);
    MYSQL_RES *rows;
    MYSQL_ROW row;

    if (bounds == NULL)
        return error_no_memory(error);
    (void)snprintf(text, sizeof text, "%" PRId64, highest);
    rows = tables_query(&watch->tables, &watch->session, db_sql_late, facts, error);
    free(bounds);
    rest_ms = FULL_REST * (clock_now_ms() - began_ms);
    watch->full_at_ms = clock_now_ms() + (rest_ms < FULL_MS ? rest_ms : FULL_MS);
    if (rows == NULL) /* one that takes too long says nothing against the bounds */
        return watch->session.failure == DB_FAILURE_STATEMENT && error->kind == ERROR_TRANSIENT
                   ? 0
                   : -1;
    row = mysql_fetch_row(rows);
    if (row != NULL && row[0] != NULL && row[1] != NULL) {
        int64_t id = strtoll(row[0], NULL, 10);
        int slice = (int)strtol(row[1], NULL, 10);
        bool late = slice >= 0 && slice < slices &&
                    horizon_note_scan(watch->source->horizon, &watch->view.stamp, slice,
                                      &watch->view.bounds[slice], true, id, false);

        if (late) {
            watch->full_at_ms = 0;
            log_limit_line(&limit, LOG_WARN, clock_now_ms(),
                           "row %" PRId64 " of %s was found below the bound from which claims"
                           " read: its id was drawn before its INSERT, or it was"
                           " marked as unsent again",
                           id, watch->tables.outbox);
        }
    }
    mysql_free_result(rows);
    return 0;
}

static int tick(struct watch *watch, bool *has_claimed, struct error *error)
{
    struct horizon_tick seen = {.now_ms = clock_now_ms()};
    bool full = seen.now_ms >= watch->full_at_ms;
    int status = -1;

    seen.drawn = horizon_highest_claimed(watch->source->horizon, has_claimed);
    if (read_drawn(watch, &seen, error) == 0 &&
        read_holders(watch, &seen, false, &watch->is_blind, error) == 0 &&
        read_holders(watch, &seen, true, &watch->is_blind_to_xa, error) == 0)
        status = 0;
    if (status == 0 && !watch->is_blind &&
        horizon_tick(watch->source->horizon, &seen, &watch->view.stamp)) {
        status = scan(watch, error);
        if (status == 0 && full)
            status = look_below(watch, error);
    }
    free(seen.holders);
    return status;
}

int watch_tick(struct watch *watch, int64_t *again_ms, bool *opened, struct error *error)
{
    bool has_claimed = false;

    *opened = false;
    *again_ms = clock_now_ms() + TICK_IDLE_MS;
    horizon_read(watch->source->horizon, &watch->server.identity, &watch->view);
    if (watch->view.stamp.epoch == 0)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "database: the lanes are connected to another server");
    if (tick(watch, &has_claimed, error) < 0)
        return -1;
    *again_ms = clock_now_ms() + (has_claimed ? TICK_BUSY_MS : TICK_IDLE_MS);
    return 0;
}

static bool take_event(const struct pollfd *event)
{
    uint64_t count;

    return (event->revents & POLLIN) != 0 && read(event->fd, &count, sizeof count) > 0;
}

bool watch_wait(struct watch *watch, int stop_fd, int64_t until_ms)
{
    struct pollfd events[3] = {{.fd = wal_flush_fd(watch->source->flush), .events = POLLIN},
                               {.fd = horizon_fd(watch->source->horizon), .events = POLLIN},
                               {.fd = stop_fd, .events = POLLIN}};

    if (watch->armed && watch->poll_at_ms < until_ms)
        until_ms = watch->poll_at_ms;
    if (poll(events, 3, clock_left_ms(until_ms)) <= 0)
        return false;
    (void)take_event(&events[0]);
    return take_event(&events[1]); /* a new epoch has begun, in which no bound is known */
}
