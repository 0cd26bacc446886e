/*
 * NOTIFY is expensive for inserts: each commit that notifies takes a lock of the whole cluster. So
 * the trigger (config/schema.sql, [notify]) notifies only while an idle relay holds an advisory
 * lock in exclusive mode. Each insert tries to take that lock in share mode for its transaction,
 * and notifies when it cannot get it.
 *
 * When a relay gets the exclusive lock, no transaction is open that has inserted without notifying:
 * PostgreSQL makes a transaction visible before it releases its locks. So one poll after that finds
 * every earlier row, and every later insert notifies.
 *
 * The session is hardly ever inside a transaction, which would delay notifications. If the session
 * ends, the lock is released with it.
 */
#include "wake/listener.h"

#include "base/clock.h"
#include "catalog/notify.h"
#include "catalog/table.h"

#include <stdio.h>
#include <stdlib.h>

#define LEASE_MS 10000
#define READS_MAX 64 /* bounds the reading when notifications arrive as fast as they are read */
#define ECHO_MS 1000 /* how long the session's own notification may take to arrive */

struct listener {
    struct session *session;   /* the watcher's session */
    const struct table *table; /* as the watcher has described it */
    struct notify notify;
    bool armed;
};

struct listener *listener_open(struct session *session, const struct table *table)
{
    struct listener *listener = calloc(1, sizeof *listener);

    if (listener == NULL)
        return NULL;
    listener->session = session;
    listener->table = table;
    return listener;
}

void listener_forget(struct listener *listener)
{
    listener->armed = false;
    listener->session->notifications.arrived = 0;
    listener->session->notifications.empty = 0;
}

void listener_close(struct listener *listener)
{
    free(listener);
}

/* libpq reads only part of what has arrived at a time. */
int listener_hear(struct listener *listener, int *arrived, int *heard, struct error *error)
{
    int before = -1;
    int status = 0;

    for (int i = 0;
         i < READS_MAX && status == 0 && listener->session->notifications.arrived != before; i++) {
        before = listener->session->notifications.arrived;
        status = session_read_input(listener->session, error);
    }
    *arrived = listener->session->notifications.arrived;
    *heard = listener->session->notifications.empty;
    listener->session->notifications.arrived = 0;
    listener->session->notifications.empty = 0;
    return status;
}

bool listener_has_heard(const struct listener *listener)
{
    session_count_notifications(listener->session);
    return listener->session->notifications.arrived > 0;
}

/* Returns the first value of a query, which is a number; -1 with *error set. */
static int ask(struct listener *listener, const char *sql, struct error *error)
{
    PGresult *result = session_query(listener->session, sql, 0, NULL, error);
    int answer;

    if (result == NULL)
        return -1;
    answer = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return answer;
}

/* If not even the share lock is available, another relay holds the exclusive lock. */
int listener_arm(struct listener *listener, bool *another, struct error *error)
{
    enum { SHARED, OURS, ANOTHERS };
    char sql[256];
    int holder;

    (void)snprintf(sql, sizeof sql,
                   "SELECT CASE WHEN pg_catalog.pg_try_advisory_lock(%d, %d) THEN %d"
                   " WHEN pg_catalog.pg_try_advisory_xact_lock_shared(%d, %d) THEN %d ELSE %d END",
                   NOTIFY_LOCK, (int)listener->notify.oid, OURS, NOTIFY_LOCK,
                   (int)listener->notify.oid, SHARED, ANOTHERS);
    holder = ask(listener, sql, error);
    listener->armed = holder == OURS;
    *another = holder == ANOTHERS;
    return holder < 0 ? -1 : 0;
}

int listener_disarm(struct listener *listener, struct error *error)
{
    char sql[128];

    (void)snprintf(sql, sizeof sql, "SELECT pg_catalog.pg_advisory_unlock(%d, %d)::int",
                   NOTIFY_LOCK, (int)listener->notify.oid);
    listener->armed = false;
    return ask(listener, sql, error) < 0 ? -1 : 0;
}

/* Resets the lease too, because nothing keeps this session busy while it does not listen. */
int listener_stop(struct listener *listener, struct error *error)
{
    bool has_lease = session_server_version(listener->session) >= 140000;
    int status = listener->armed ? listener_disarm(listener, error) : 0;

    if (status == 0)
        status = session_execute(
            listener->session, has_lease ? "UNLISTEN *; RESET idle_session_timeout" : "UNLISTEN *",
            error);
    listener_forget(listener);
    return status;
}

bool listener_is_armed(const struct listener *listener)
{
    return listener->armed;
}

int listener_renew(struct listener *listener, struct error *error)
{
    uint32_t oid = listener->notify.oid; /* the table may have been replaced by another */

    if (notify_describe(&listener->notify, listener->session, listener->table, error) < 0)
        return -1;
    if (listener->notify.fires && listener->notify.oid == oid)
        return 0;
    return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE, "%s has lost the trigger \"%s\"",
                     listener->table->quoted, listener->notify.name);
}

/* Whether the session receives its own notification: 1, 0, or -1 with *error set. */
static int hears_itself(struct listener *listener, struct error *error)
{
    char sql[160];

    (void)snprintf(sql, sizeof sql, "LISTEN %s; NOTIFY %s, '%s'", listener->notify.channel,
                   listener->notify.channel, session_expect_notification(listener->session));
    if (session_execute(listener->session, sql, error) < 0)
        return -1;
    return session_await_notification(listener->session, clock_now_ms() + ECHO_MS, error);
}

static enum listener_result try_to_listen(struct listener *listener, struct error *error)
{
    int hears = hears_itself(listener, error);

    if (hears < 0)
        return LISTENER_FAILED;
    if (hears == 1)
        return LISTENER_READY;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "notifications do not arrive: connect to PostgreSQL directly");
    return LISTENER_DEAF;
}

static int set_lease(struct listener *listener, struct error *error)
{
    char sql[64];

    if (session_server_version(listener->session) < 140000)
        return 0;
    (void)snprintf(sql, sizeof sql, "SET idle_session_timeout = %d", LEASE_MS);
    return session_execute(listener->session, sql, error);
}

enum listener_result listener_start(struct listener *listener, struct error *error)
{
    if (notify_describe(&listener->notify, listener->session, listener->table, error) < 0)
        return LISTENER_FAILED;
    if (!listener->notify.fires)
        return LISTENER_ABSENT;
    if (set_lease(listener, error) < 0)
        return LISTENER_FAILED;
    return try_to_listen(listener, error);
}
