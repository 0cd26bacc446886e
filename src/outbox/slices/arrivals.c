/*
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
#include "outbox/slices/arrivals.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define ARM_MS 100      /* between attempts to arm, and after too many notifications */
#define ANOTHER_MS 1000 /* between attempts to arm while another relay is armed */
#define COUNT_MS 100    /* with NOTIFICATIONS_MAX: 400 notifications per second */
#define NOTIFICATIONS_MAX 40
#define CREDIT_MAX 400 /* enough for the second or two until drawn ids are known */
#define READS_MAX 64   /* bounds the reading when notifications arrive as fast as they are read */
#define ECHO_MS 1000   /* how long the session's own notification may take to arrive */
#define LEASE_MS 10000
#define CHECK_MS 5000  /* between checks of the trigger, which renew the lease */
#define LATER_MS 30000 /* without listening when credit has run out or nothing arrives */

static int disarm(struct arrivals *arrivals, struct error *error)
{
    char sql[96];

    arrivals->arm_at_ms = clock_now_ms() + ARM_MS;
    wake_disarm(arrivals->process->wake);
    if (!arrivals->armed)
        return 0;
    arrivals->armed = false;
    (void)snprintf(sql, sizeof sql, "SELECT pg_catalog.pg_advisory_unlock(%d, %d)", NOTIFY_LOCK,
                   (int)arrivals->notify.oid);
    return session_execute(arrivals->session, sql, error);
}

/* Arming fails without an error while a transaction is open that has inserted without notifying.
 * If not even the share lock is available, another relay is armed: then inserts notify all the
 * same. */
static int try_to_arm(struct arrivals *arrivals, struct error *error)
{
    enum { SHARED, OURS, ANOTHERS };
    char sql[256];
    PGresult *result;
    int holder;

    arrivals->arm_at_ms = clock_now_ms() + ARM_MS;
    if (!wake_is_quiet(arrivals->process->wake))
        return 0;
    (void)snprintf(sql, sizeof sql,
                   "SELECT CASE WHEN pg_catalog.pg_try_advisory_lock(%d, %d) THEN %d"
                   " WHEN pg_catalog.pg_try_advisory_xact_lock_shared(%d, %d) THEN %d ELSE %d END",
                   NOTIFY_LOCK, (int)arrivals->notify.oid, OURS, NOTIFY_LOCK,
                   (int)arrivals->notify.oid, SHARED, ANOTHERS);
    result = session_query(arrivals->session, sql, 0, NULL, error);
    if (result == NULL)
        return -1;
    holder = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    arrivals->armed = holder == OURS;
    if (holder == ANOTHERS)
        arrivals->arm_at_ms = clock_now_ms() + ANOTHER_MS;
    if (holder == SHARED)
        wake_disarm(arrivals->process->wake);
    else
        wake_arm(arrivals->process->wake);
    return 0;
}

static bool too_many_notifications(struct arrivals *arrivals, int heard)
{
    int64_t now_ms = clock_now_ms();

    if (now_ms - arrivals->counted_since_ms >= COUNT_MS) {
        arrivals->counted_since_ms = now_ms;
        arrivals->notifications = 0;
    }
    arrivals->notifications += heard;
    return arrivals->notifications > NOTIFICATIONS_MAX;
}

void arrivals_earn(struct arrivals *arrivals, int64_t more)
{
    const struct watch_process *process = arrivals->process;
    uint64_t rows = (uint64_t)arrivals->view->stamp.drawn + process->count_sent(process->closure);
    int64_t earned = (int64_t)(rows - arrivals->rows);

    if (earned > 0)
        more += earned < CREDIT_MAX ? earned : CREDIT_MAX;
    arrivals->rows = rows;
    arrivals->credit = arrivals->credit + more < CREDIT_MAX ? arrivals->credit + more : CREDIT_MAX;
}

/* Resets the lease too, because nothing keeps this session busy while it does not listen. */
static int stop_listening(struct arrivals *arrivals, struct error *error)
{
    struct session *session = arrivals->session;
    int status;

    if (arrivals->listening && !arrivals->warned) {
        log_warn("inserts do not wake this relay, it polls: more notifications arrive than"
                 " inserts send");
        arrivals->warned = true;
    }
    if (arrivals->listening && disarm(arrivals, error) < 0)
        return -1;
    arrivals->listening = false;
    arrivals->answering = false;
    arrivals->check_at_ms = clock_now_ms() + LATER_MS;
    status = session_execute(session,
                             session_server_version(session) >= 140000
                                 ? "UNLISTEN *; RESET idle_session_timeout"
                                 : "UNLISTEN *",
                             error);
    session->notifications.arrived = 0;
    session->notifications.empty = 0;
    arrivals->credit = CREDIT_MAX;
    return status;
}

/* Reads what has arrived, without waiting; libpq reads only part of it at a time. */
int arrivals_hear(struct arrivals *arrivals, struct error *error)
{
    struct session *session = arrivals->session;
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
    arrivals_earn(arrivals, 0);
    arrivals->credit -= arrived - heard + (heard > 0);
    if (heard > 0 && arrivals->listening)
        wake_notify(arrivals->process->wake);
    if (arrivals->credit <= 0)
        return stop_listening(arrivals, error);
    if (arrivals->listening && too_many_notifications(arrivals, heard))
        return disarm(arrivals, error);
    return 0;
}

/* Starts to listen for inserts, if the session receives its own notification. From PostgreSQL 14
 * on, when the lease of a frozen relay expires, the server ends its session, so that inserts need
 * not notify any more. */
static int listen_for_inserts(struct arrivals *arrivals, struct error *error)
{
    struct session *session = arrivals->session;
    char sql[160];
    int hears;

    (void)snprintf(sql, sizeof sql, "LISTEN %s; NOTIFY %s, '%s'", arrivals->notify.channel,
                   arrivals->notify.channel, session_expect_notification(session));
    if (session_execute(session, sql, error) < 0)
        return -1;
    hears = session_await_notification(session, clock_now_ms() + ECHO_MS, error);
    if (hears == 0) {
        if (!arrivals->warned)
            log_event(LOG_WARN,
                      LOG_FIELDS(.error = "notifications do not arrive: connect to PostgreSQL"
                                          " directly"),
                      "inserts do not wake this relay, it polls");
        arrivals->warned = true;
        arrivals->check_at_ms = clock_now_ms() + LATER_MS;
    }
    if (hears <= 0)
        return hears;
    arrivals->listening = true;
    arrivals->arm_at_ms = clock_now_ms();
    (void)snprintf(sql, sizeof sql, "SET idle_session_timeout = %d", LEASE_MS);
    return session_server_version(session) >= 140000 ? session_execute(session, sql, error) : 0;
}

static int start_to_answer(struct arrivals *arrivals, struct error *error)
{
    if (arrivals->answering || arrivals->process->describe == NULL)
        return 0;
    arrivals->answering = true;
    return questions_listen(&arrivals->questions, arrivals->session, error);
}

/* Starts what the session should listen for. When it listens, checks that the trigger still exists,
 * which renews the lease. */
static int check_listening(struct arrivals *arrivals, struct error *error)
{
    const struct table *table = arrivals->table;
    struct session *session = arrivals->session;
    uint32_t oid = arrivals->notify.oid; /* the table may have been replaced by another */

    arrivals->check_at_ms = clock_now_ms() + CHECK_MS;
    if (start_to_answer(arrivals, error) < 0)
        return -1;
    if (arrivals->process->wake == NULL)
        return 0;
    if (notify_describe(&arrivals->notify, session, table, error) < 0)
        return -1;
    if (!arrivals->listening)
        return arrivals->notify.fires ? listen_for_inserts(arrivals, error) : 0;
    if (!arrivals->notify.fires || arrivals->notify.oid != oid)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "%s has lost the trigger \"%s\"",
                         table->quoted, arrivals->notify.name);
    if (arrivals->warned) /* not at once: a flood that continues would be logged again and again */
        log_info("inserts wake this relay again");
    arrivals->warned = false;
    return 0;
}

int arrivals_begin(struct arrivals *arrivals, struct error *error)
{
    arrivals->credit = CREDIT_MAX;
    return start_to_answer(arrivals, error);
}

void arrivals_end(struct arrivals *arrivals)
{
    arrivals->answering = false;
    arrivals->armed = false;
    if (arrivals->listening) {
        arrivals->listening = false;
        wake_disarm(arrivals->process->wake);
        wake_notify(arrivals->process->wake);
    }
}

int arrivals_listen(struct arrivals *arrivals, struct error *error)
{
    if (clock_now_ms() >= arrivals->check_at_ms && check_listening(arrivals, error) < 0)
        return -1;
    if (!arrivals->listening || arrivals->armed || clock_now_ms() < arrivals->arm_at_ms)
        return 0;
    return try_to_arm(arrivals, error);
}
