/*
 * The watcher, a thread with a session of its own. It waits for the earliest of four events: the
 * next tick of the horizon, a lane that needs a WAL flush, a notification, and the time to arm.
 *
 * NOTIFY is expensive for inserts: each commit that notifies takes a lock of the whole cluster. So
 * the trigger (config/sql/notify.sql) notifies only while an idle relay is armed: while it
 * holds an advisory lock in exclusive mode. Each insert tries to take that lock in share mode for
 * its transaction, and notifies when it cannot get it.
 *
 * When a relay gets the exclusive lock, no transaction is open that has inserted without notifying:
 * PostgreSQL makes a transaction visible before it releases its locks. So one poll after that finds
 * every earlier row, and every later insert notifies. The session is hardly ever inside a
 * transaction, which would delay notifications. If the session ends, the lock is released with it.
 *
 * The watcher tries to arm every ARM_MS while all lanes are idle. After more than NOTIFICATIONS_MAX
 * notifications within COUNT_MS it disarms: commits that notify wait for each other, so that lanes
 * which poll every few milliseconds cost the inserting applications less.
 *
 * Anyone may NOTIFY, so notifications cost credit. A read costs 1 for all empty notifications in
 * it, which the trigger sends, plus 1 for each other notification. Credit is earned: 1 for each row
 * sent, 1 for each id drawn from the sequence, because another relay may have taken that row, and
 * CREDIT_TICK at each tick. Without credit the session stops listening for a while and the lanes
 * poll, because the replies that lanes wait for would queue behind the notifications.
 */
#include "relay/watcher.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "catalog/notify.h"
#include "pg/holders.h"
#include "relay/lane.h"
#include "relay/status_replies.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARM_MS 100      /* between attempts to arm, and after too many notifications */
#define ANOTHER_MS 1000 /* between attempts to arm while another relay is armed */
#define COUNT_MS 100    /* with NOTIFICATIONS_MAX: 400 notifications per second */
#define NOTIFICATIONS_MAX 40
#define CREDIT_MAX 400 /* enough for the second or two until drawn ids are known */
#define CREDIT_TICK 4  /* the polls of a second, by default */
#define READS_MAX 64   /* bounds the reading when notifications arrive as fast as they are read */
#define ECHO_MS 1000   /* how long the session's own notification may take to arrive */
#define LEASE_MS 10000
#define CHECK_MS 5000  /* between checks of the trigger, which renew the lease */
#define LATER_MS 30000 /* without listening when credit has run out or nothing arrives */
#define LOOK_MS 2000   /* between looks for somebody who has locked slices */
#define LOCKED_MS 5000 /* before that is logged */
#define RETRY_MS 250   /* before reconnecting; doubled after each failure */
#define RETRY_MS_MAX 2000
#define LASTING_MS 5000 /* a connection that lasted this long counts as healthy */

struct watcher {
    const struct watcher_shared *shared;
    struct watch *watch;
    int failures;             /* consecutive connections that failed or did not last LASTING_MS */
    int64_t connect_at_ms;    /* not before then is a connection made */
    int64_t describe_at_ms;   /* when the tables are described; until then it answers questions */
    int64_t described_at_ms;  /* when they were, in this session; 0: they are not */
    int64_t tick_at_ms;       /* when the next tick of the horizon is due */
    int64_t look_at_ms;       /* when it looks next for somebody who has locked slices */
    int64_t locked_logged_ms; /* when it has logged one last */
    uint64_t away;            /* the sinks that the session's name shows as away */
    struct status_replies replies;
    struct notify notify; /* the trigger, as of the last check */
    bool answering;       /* the session listens for the questions of `status` */
    bool listening;       /* the session listens for notifications of inserts */
    bool armed;           /* the session holds the lock: every insert notifies */
    bool warned;          /* a warning that inserts do not wake this relay has been logged */
    int64_t check_at_ms;  /* when the trigger is checked next */
    int64_t arm_at_ms;    /* when the next attempt to arm is due */
    int notifications;    /* notifications since counted_since_ms */
    int64_t counted_since_ms;
    int64_t credit;
    uint64_t rows; /* the rows for which credit was given: sent ones and ids drawn */
};

static int disarm(struct watcher *watcher, struct error *error)
{
    char sql[96];

    watcher->arm_at_ms = clock_now_ms() + ARM_MS;
    wake_disarm(watcher->shared->wake);
    if (!watcher->armed)
        return 0;
    watcher->armed = false;
    (void)snprintf(sql, sizeof sql, "SELECT pg_catalog.pg_advisory_unlock(%d, %d)", NOTIFY_LOCK,
                   (int)watcher->notify.oid);
    return session_execute(watch_session(watcher->watch), sql, error);
}

/* Arming fails without an error while a transaction is open that has inserted without notifying.
 * If not even the share lock is available, another relay is armed: then inserts notify all the
 * same. */
static int try_to_arm(struct watcher *watcher, struct error *error)
{
    enum { SHARED, OURS, ANOTHERS };
    char sql[256];
    PGresult *result;
    int holder;

    watcher->arm_at_ms = clock_now_ms() + ARM_MS;
    if (!wake_is_quiet(watcher->shared->wake))
        return 0;
    (void)snprintf(sql, sizeof sql,
                   "SELECT CASE WHEN pg_catalog.pg_try_advisory_lock(%d, %d) THEN %d"
                   " WHEN pg_catalog.pg_try_advisory_xact_lock_shared(%d, %d) THEN %d ELSE %d END",
                   NOTIFY_LOCK, (int)watcher->notify.oid, OURS, NOTIFY_LOCK,
                   (int)watcher->notify.oid, SHARED, ANOTHERS);
    result = session_query(watch_session(watcher->watch), sql, 0, NULL, error);
    if (result == NULL)
        return -1;
    holder = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    watcher->armed = holder == OURS;
    if (holder == ANOTHERS)
        watcher->arm_at_ms = clock_now_ms() + ANOTHER_MS;
    if (holder == SHARED)
        wake_disarm(watcher->shared->wake);
    else
        wake_arm(watcher->shared->wake);
    return 0;
}

static bool too_many_notifications(struct watcher *watcher, int heard)
{
    int64_t now_ms = clock_now_ms();

    if (now_ms - watcher->counted_since_ms >= COUNT_MS) {
        watcher->counted_since_ms = now_ms;
        watcher->notifications = 0;
    }
    watcher->notifications += heard;
    return watcher->notifications > NOTIFICATIONS_MAX;
}

static void earn_credit(struct watcher *watcher, int64_t more)
{
    const struct report *report = watcher->shared->report;
    uint64_t rows = (uint64_t)watch_drawn(watcher->watch) +
                    (report != NULL ? report_total(report, REPORT_SENT) : 0);
    int64_t earned = (int64_t)(rows - watcher->rows);

    if (earned > 0)
        more += earned < CREDIT_MAX ? earned : CREDIT_MAX;
    watcher->rows = rows;
    watcher->credit = watcher->credit + more < CREDIT_MAX ? watcher->credit + more : CREDIT_MAX;
}

/* Resets the lease too, because nothing keeps this session busy while it does not listen. */
static int stop_listening(struct watcher *watcher, struct error *error)
{
    struct session *session = watch_session(watcher->watch);
    int status;

    if (watcher->listening && !watcher->warned) {
        log_warn("inserts do not wake this relay, it polls: more notifications arrive than"
                 " inserts send");
        watcher->warned = true;
    }
    if (watcher->listening && disarm(watcher, error) < 0)
        return -1;
    watcher->listening = false;
    watcher->answering = false;
    watcher->check_at_ms = clock_now_ms() + LATER_MS;
    status = session_execute(session,
                             session_server_version(session) >= 140000
                                 ? "UNLISTEN *; RESET idle_session_timeout"
                                 : "UNLISTEN *",
                             error);
    session->notifications.arrived = 0;
    session->notifications.empty = 0;
    watcher->credit = CREDIT_MAX;
    return status;
}

/* Reads what has arrived, without waiting; libpq reads only part of it at a time. */
static int hear(struct watcher *watcher, struct error *error)
{
    struct session *session = watch_session(watcher->watch);
    int before = -1;
    int arrived;
    int heard;

    for (int i = 0; i < READS_MAX && session->notifications.arrived != before; i++) {
        before = session->notifications.arrived;
        if (session_read_input(session, error) < 0)
            return -1;
    }
    arrived = session->notifications.arrived;
    heard = session->notifications.empty;
    if (arrived == 0)
        return 0;
    session->notifications.arrived = 0;
    session->notifications.empty = 0;
    earn_credit(watcher, 0);
    watcher->credit -= arrived - heard + (heard > 0);
    if (heard > 0 && watcher->listening)
        wake_notify(watcher->shared->wake);
    if (watcher->credit <= 0)
        return stop_listening(watcher, error);
    return watcher->listening && too_many_notifications(watcher, heard) ? disarm(watcher, error)
                                                                        : 0;
}

/* Starts to listen for inserts, if the session receives its own notification. From PostgreSQL 14
 * on, when the lease of a frozen relay expires, the server ends its session, so that inserts need
 * not notify any more. */
static int listen_for_inserts(struct watcher *watcher, struct error *error)
{
    struct session *session = watch_session(watcher->watch);
    char sql[160];
    int hears;

    (void)snprintf(sql, sizeof sql, "LISTEN %s; NOTIFY %s, '%s'", watcher->notify.channel,
                   watcher->notify.channel, session_expect_notification(session));
    if (session_execute(session, sql, error) < 0)
        return -1;
    hears = session_await_notification(session, clock_now_ms() + ECHO_MS, error);
    if (hears == 0) {
        if (!watcher->warned)
            log_event(LOG_WARN,
                      LOG_FIELDS(.error = "notifications do not arrive: connect to PostgreSQL"
                                          " directly"),
                      "inserts do not wake this relay, it polls");
        watcher->warned = true;
        watcher->check_at_ms = clock_now_ms() + LATER_MS;
    }
    if (hears <= 0)
        return hears;
    watcher->listening = true;
    watcher->arm_at_ms = clock_now_ms();
    (void)snprintf(sql, sizeof sql, "SET idle_session_timeout = %d", LEASE_MS);
    return session_server_version(session) >= 140000 ? session_execute(session, sql, error) : 0;
}

static int start_to_answer(struct watcher *watcher, struct error *error)
{
    if (watcher->answering || watcher->shared->report == NULL)
        return 0;
    watcher->answering = true;
    return status_replies_listen(&watcher->replies, watch_session(watcher->watch), error);
}

/* Starts what the session should listen for. When it listens, checks that the trigger still exists,
 * which renews the lease. */
static int check_listening(struct watcher *watcher, struct error *error)
{
    const struct watcher_shared *shared = watcher->shared;
    const struct table *table = watch_table(watcher->watch);
    struct session *session = watch_session(watcher->watch);
    uint32_t oid = watcher->notify.oid; /* the table may have been replaced by another */

    watcher->check_at_ms = clock_now_ms() + CHECK_MS;
    if (start_to_answer(watcher, error) < 0)
        return -1;
    if (shared->wake == NULL)
        return 0;
    if (notify_describe(&watcher->notify, session, table, error) < 0)
        return -1;
    if (!watcher->listening)
        return watcher->notify.fires ? listen_for_inserts(watcher, error) : 0;
    if (!watcher->notify.fires || watcher->notify.oid != oid)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "%s has lost the trigger \"%s\"",
                         table->quoted, watcher->notify.name);
    if (watcher->warned) /* not at once: a flood that continues would be logged again and again */
        log_info("inserts wake this relay again");
    watcher->warned = false;
    return 0;
}

/* Claims find nothing until the horizon's first scan is done. Lanes that were woken or polled
 * before are woken again. */
static int tick(struct watcher *watcher, struct error *error)
{
    bool opened;
    int status = watch_tick(watcher->watch, &watcher->tick_at_ms, &opened, error);

    if (opened && watcher->shared->wake != NULL)
        wake_notify(watcher->shared->wake);
    return status;
}

/* Renames the session from "HOST:PID/watch" to "HOST:PID/away:SINK,SINK", truncated as PostgreSQL
 * would do it. */
static int show_away(struct watcher *watcher, struct error *error)
{
    const struct report *report = watcher->shared->report;
    uint64_t away = report != NULL ? report_away(report) : 0;
    char part[WATCH_NAME_BYTES] = "";
    char name[WATCH_NAME_BYTES];

    if (away == watcher->away)
        return 0;
    for (int sink = 0; away >> sink != 0; sink++) {
        size_t len = strlen(part);

        if ((away >> sink & 1) != 0)
            (void)snprintf(part + len, sizeof part - len, "%s%s", len == 0 ? "away:" : ",",
                           report->options->sinks[sink].name);
    }
    lane_name_session(name, sizeof name, away != 0 ? part : "watch");
    watcher->away = away;
    return watch_rename(watcher->watch, name, error);
}

static int store_memory(struct watcher *watcher, bool now, struct error *error)
{
    struct watch *watch = watcher->watch;

    if (watcher->shared->memory == NULL)
        return 0;
    return memory_store(watcher->shared->memory, watch_table(watch), watch_session(watch), now,
                        error);
}

static int answer(struct watcher *watcher, struct error *error)
{
    return status_replies_send(&watcher->replies, watch_session(watcher->watch),
                               watch_table(watcher->watch)->oid, error);
}

/* A lane passes over a slice that is locked, as if another lane had it. So it is found here that
 * somebody else has. */
static int look_at_slices(struct watcher *watcher, struct error *error)
{
    struct trouble *trouble = watcher->shared->report->watcher;
    int64_t now_ms = clock_now_ms();
    struct error holder;
    int held = 0;

    if (watcher->shared->options->order == ORDER_KEY) {
        if (now_ms < watcher->look_at_ms)
            return 0;
        watcher->look_at_ms = now_ms + LOOK_MS;
        held = holders_of_rows(watch_session(watcher->watch),
                               watch_table(watcher->watch)->slice_quoted, &holder, error);
    }
    if (held == 0)
        trouble_end(trouble);
    if (held <= 0)
        return held;
    trouble_note(trouble, &holder, false);
    if (trouble_for_ms(trouble, now_ms) >= LOCKED_MS &&
        log_limit_is_due(&watcher->locked_logged_ms, now_ms))
        log_event(LOG_WARN, LOG_FIELDS(.error = holder.text, .hint = holder.hint),
                  "some events wait");
    return 0;
}

/* Whatever is wrong with the tables, the session answers questions about it. */
static int describe(struct watcher *watcher, struct error *error)
{
    if (clock_now_ms() < watcher->describe_at_ms)
        return answer(watcher, error);
    if (watch_describe(watcher->watch, error) < 0)
        return -1;
    watcher->described_at_ms = clock_now_ms();
    watcher->tick_at_ms = 0;
    watcher->check_at_ms = 0;
    return 0;
}

/* The flush is done first, because a lane that has claimed rows waits for it. */
static int work(struct watcher *watcher, struct error *error)
{
    if (watch_flush(watcher->watch, error) < 0 || hear(watcher, error) < 0)
        return -1;
    if (watcher->described_at_ms == 0)
        return describe(watcher, error);
    if (clock_now_ms() >= watcher->check_at_ms && check_listening(watcher, error) < 0)
        return -1;
    if (watcher->listening && !watcher->armed && clock_now_ms() >= watcher->arm_at_ms &&
        try_to_arm(watcher, error) < 0)
        return -1;
    if (answer(watcher, error) < 0)
        return -1;
    if (clock_now_ms() < watcher->tick_at_ms)
        return 0;
    earn_credit(watcher, CREDIT_TICK);
    if (watcher->shared->report != NULL)
        status_replies_tick(&watcher->replies);
    if (show_away(watcher, error) < 0 || tick(watcher, error) < 0 ||
        store_memory(watcher, false, error) < 0)
        return -1;
    return watcher->shared->report != NULL ? look_at_slices(watcher, error) : 0;
}

/* A tick, which is at most a second away, or the time to describe or to arm. */
static int64_t next_event_ms(const struct watcher *watcher)
{
    if (watcher->described_at_ms == 0)
        return watcher->describe_at_ms;
    return watcher->listening && !watcher->armed && watcher->arm_at_ms < watcher->tick_at_ms
               ? watcher->arm_at_ms
               : watcher->tick_at_ms;
}

static bool take_event(const struct pollfd *event)
{
    uint64_t told;

    if ((event->revents & POLLIN) == 0)
        return false;
    (void)!read(event->fd, &told, sizeof told);
    return true;
}

static void wait_for_event(struct watcher *watcher)
{
    const struct watcher_shared *shared = watcher->shared;
    struct session *session = watch_session(watcher->watch);
    struct pollfd events[4] = {{.fd = watch_fd(watcher->watch), .events = POLLIN},
                               {.fd = wal_flush_fd(shared->flush), .events = POLLIN},
                               {.fd = horizon_fd(shared->horizon), .events = POLLIN},
                               {.fd = shared->stop->fd, .events = POLLIN}};

    session_count_notifications(session);
    if (session->notifications.arrived > 0) /* it came together with the result of a query */
        return;
    if (poll(events, 4, clock_left_ms(next_event_ms(watcher))) <= 0)
        return;
    (void)take_event(&events[1]);
    if (take_event(&events[2])) /* a new epoch has begun, in which the horizon is unknown */
        watcher->tick_at_ms = 0;
}

/* The first failure is followed by the next try at once. */
static int64_t retry_ms(const struct watcher *watcher)
{
    int64_t ms = watcher->failures > 1 ? RETRY_MS : 0;

    for (int i = 2; i < watcher->failures && ms < RETRY_MS_MAX; i++)
        ms *= 2;
    return ms < RETRY_MS_MAX ? ms : RETRY_MS_MAX;
}

/* A failure is not logged at once, because the lanes log that the database is away. */
static void note_failure(struct watcher *watcher, const struct error *error, bool was_connecting)
{
    if (++watcher->failures == 6)
        log_event(LOG_WARN, LOG_FIELDS(.error = error->text, .hint = error->hint),
                  "the watcher cannot stay connected");
    if (watcher->shared->report != NULL)
        trouble_note(watcher->shared->report->watcher, error, was_connecting);
    watch_fail_flush(watcher->watch, error);
}

/* Ends the session. Lanes are woken, because notifications may have been missed. A session that did
 * not last counts as a failure to connect. */
static void end_session(struct watcher *watcher, const struct error *error)
{
    log_event(LOG_DEBUG, LOG_FIELDS(.error = error->text), "the watcher's connection has ended");
    watch_disconnect(watcher->watch);
    watcher->answering = false;
    watcher->armed = false;
    if (watcher->listening) {
        watcher->listening = false;
        wake_disarm(watcher->shared->wake);
        wake_notify(watcher->shared->wake);
    }
    if (watcher->described_at_ms != 0 && clock_now_ms() - watcher->described_at_ms >= LASTING_MS)
        watcher->failures = 0;
    note_failure(watcher, error, false);
}

/* Connections are as far apart as failures ask for. The time until the next try is spent connected,
 * so that questions are answered. */
static void reconnect(struct watcher *watcher)
{
    struct error error;

    if (stop_wait(watcher->shared->stop, clock_left_ms(watcher->connect_at_ms)))
        return;
    watcher->connect_at_ms = clock_now_ms() + retry_ms(watcher);
    if (watch_connect(watcher->watch, &error) < 0) {
        note_failure(watcher, &error, true);
        return;
    }
    watcher->describe_at_ms = watcher->connect_at_ms;
    watcher->described_at_ms = 0;
    watcher->away = 0;
    watcher->credit = CREDIT_MAX;
    if (start_to_answer(watcher, &error) < 0)
        end_session(watcher, &error);
}

void watcher_run(const struct watcher_shared *shared)
{
    struct watcher watcher = {.shared = shared, .replies.report = shared->report};
    struct error error;
    char name[48];

    lane_name_session(name, sizeof name, "watch");
    watcher.watch = watch_open(shared->options, name, shared->horizon, shared->flush);
    if (watcher.watch == NULL) {
        log_error("out of memory");
        return;
    }
    while (!stop_requested(shared->stop)) {
        if (shared->report != NULL)
            atomic_store(&shared->report->watcher_loop_at_ms, clock_now_ms());
        if (!watch_is_connected(watcher.watch))
            reconnect(&watcher);
        else if (work(&watcher, &error) < 0)
            end_session(&watcher, &error);
        else
            wait_for_event(&watcher);
    }
    if (watch_is_connected(watcher.watch) && watcher.described_at_ms != 0)
        (void)store_memory(&watcher, true, &error);
    watch_close(watcher.watch);
}
