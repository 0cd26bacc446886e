/*
 * The watcher, a thread with a session of its own. It waits for the earliest of four events: the
 * next tick of the horizon, a lane that needs a WAL flush, a notification, and the time to arm.
 *
 * It arms the listener (takes the lock that makes every insert notify) when all lanes are idle, and
 * keeps it armed while notifications are few. More than NOTIFICATIONS_MAX of them within COUNT_MS
 * are too many: commits that notify wait for each other, so that lanes which poll every few
 * milliseconds cost the inserting applications less. The listener is then disarmed, and for longer
 * each time if it never stays armed for long.
 *
 * Anyone may NOTIFY, so notifications cost credit. A read costs 1 for all empty notifications in
 * it, which the trigger sends, plus 1 for each other notification. Credit is earned: 1 for each
 * claim that found rows, 1 for each id drawn from the sequence, because another relay may have
 * taken that row, and 1 every CREDIT_MS. Without credit the session stops listening for a while and
 * the lanes poll, because the replies that lanes wait for would queue behind the notifications.
 */
#include "relay/watcher.h"

#include "base/clock.h"
#include "base/log.h"
#include "relay/lane.h"
#include "relay/status_replies.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARM_MS 20
#define COUNT_MS 100 /* with NOTIFICATIONS_MAX: 400 notifications per second */
#define NOTIFICATIONS_MAX 40
#define DISARMED_MS_MAX 320
#define BRIEF_MS (2 * COUNT_MS)
#define ARM_MS_MAX 1000 /* between attempts to arm while inserts or another relay hold the lock */
#define RENEW_MS 5000   /* well within the listener's lease */
#define RETRY_MS 250    /* before reconnecting; doubled after each failure */
#define RETRY_MS_MAX 2000
#define LASTING_MS 5000 /* a connection that lasted this long counts as healthy */
#define CREDIT_MAX 400  /* enough for the second or two until drawn ids are known */
#define CREDIT_MS 250   /* the default poll interval */
#define MUTED_MS 5000   /* without listening when credit has run out; doubled each time */
#define MUTED_MS_MAX 60000
#define ABSENT_MS 30000 /* before looking for a missing trigger again */

struct watcher {
    const struct watcher_shared *shared;
    struct watch *watch;
    struct listener *listener; /* uses the session of `watch` */
    int failures;              /* consecutive connections that failed or did not last LASTING_MS */
    int64_t connected_at_ms;   /* when the session was connected last */
    bool has_input;            /* the socket is readable: data, or the end of the session */
    int64_t tick_at_ms;        /* when the next tick of the horizon is due */
    uint64_t away;             /* the sinks that the session's name shows as away */
    struct status_replies replies;
    bool answering;       /* the session listens for the questions of `status` */
    int64_t answer_at_ms; /* when to try to listen for questions next */
    bool listening;       /* the session listens for notifications of inserts */
    bool warned;          /* a warning that inserts do not wake this relay has been logged */
    int64_t listen_at_ms; /* when to try to listen for inserts next */
    int64_t arm_retry_ms; /* between attempts to arm */
    int64_t arm_at_ms;    /* when the next attempt to arm is due */
    int64_t renew_at_ms;  /* when the lease is renewed next */
    int64_t armed_at_ms;  /* when the listener was armed last */
    int64_t disarmed_ms;  /* how long it stays disarmed after too many notifications */
    int notifications;    /* notifications since counted_since_ms */
    int64_t counted_since_ms;
    int64_t credit;
    int64_t credit_at_ms;       /* when the credit grows by time next */
    int64_t drawn;              /* the highest id for which credit was given */
    int64_t muted_ms;           /* how long not to listen when credit has run out */
    int64_t listening_since_ms; /* when the session began to listen */
};

/* If the listener never stays armed for long, inserts are so frequent that polling is as fast, and
 * cheaper for the applications. So it stays disarmed for longer each time. */
static void arm_later(struct watcher *watcher)
{
    int64_t lasted_ms = clock_now_ms() - watcher->armed_at_ms;
    int64_t longer_ms =
        2 * watcher->disarmed_ms < DISARMED_MS_MAX ? 2 * watcher->disarmed_ms : DISARMED_MS_MAX;

    watcher->disarmed_ms = lasted_ms < BRIEF_MS ? longer_ms : ARM_MS;
    watcher->arm_retry_ms = ARM_MS;
    watcher->arm_at_ms = clock_now_ms() + watcher->disarmed_ms;
}

static int disarm(struct watcher *watcher, struct error *error)
{
    arm_later(watcher);
    wake_disarm(watcher->shared->wake);
    return listener_disarm(watcher->listener, error);
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

/* The pauses between attempts grow, so that a long transaction with an insert costs few
 * attempts. */
static int try_to_arm(struct watcher *watcher, struct error *error)
{
    bool another;

    if (listener_arm(watcher->listener, &another, error) < 0)
        return -1;
    watcher->armed_at_ms = clock_now_ms();
    if (listener_is_armed(watcher->listener))
        return wake_arm(watcher->shared->wake) ? 0 : disarm(watcher, error);
    wake_cover(watcher->shared->wake, another);
    watcher->arm_at_ms = clock_now_ms() + watcher->arm_retry_ms;
    watcher->arm_retry_ms =
        2 * watcher->arm_retry_ms < ARM_MS_MAX ? 2 * watcher->arm_retry_ms : ARM_MS_MAX;
    return 0;
}

static bool wants_to_arm(struct watcher *watcher)
{
    return !listener_is_armed(watcher->listener) && wake_is_quiet(watcher->shared->wake);
}

static void grow_credit(struct watcher *watcher, int64_t now_ms)
{
    int64_t drawn = watch_drawn(watcher->watch);

    if (watcher->shared->wake != NULL)
        watcher->credit += wake_take_found(watcher->shared->wake);
    if (watcher->drawn != HORIZON_UNKNOWN && drawn > watcher->drawn)
        watcher->credit += drawn - watcher->drawn;
    watcher->drawn = drawn;
    if (now_ms >= watcher->credit_at_ms) {
        watcher->credit++;
        watcher->credit_at_ms = now_ms + CREDIT_MS;
    }
    if (watcher->credit > CREDIT_MAX)
        watcher->credit = CREDIT_MAX;
}

/* Stops listening, for twice as long as the last time, or for MUTED_MS if it had listened for
 * MUTED_MS_MAX. */
static int stop_listening(struct watcher *watcher, struct error *error)
{
    int64_t now_ms = clock_now_ms();

    watcher->muted_ms *= 2;
    if (now_ms - watcher->listening_since_ms >= MUTED_MS_MAX || watcher->muted_ms < MUTED_MS)
        watcher->muted_ms = MUTED_MS;
    if (watcher->muted_ms > MUTED_MS_MAX)
        watcher->muted_ms = MUTED_MS_MAX;
    watcher->answering = false;
    watcher->answer_at_ms = now_ms + watcher->muted_ms;
    if (watcher->listening) {
        if (!watcher->warned)
            log_warn("inserts do not wake this relay, it polls: more notifications arrive than"
                     " inserts send");
        watcher->warned = true;
        watcher->listening = false;
        watcher->listen_at_ms = now_ms + watcher->muted_ms;
        wake_disarm(watcher->shared->wake);
    }
    return listener_stop(watcher->listener, error);
}

static int handle_notifications(struct watcher *watcher, struct error *error)
{
    struct listener *listener = watcher->listener;
    int arrived;
    int heard;

    if (listener_hear(listener, &arrived, &heard, error) < 0)
        return -1;
    watcher->credit -= arrived - heard + (heard > 0);
    if (heard > 0 && watcher->listening)
        wake_notify(watcher->shared->wake);
    if (watcher->credit <= 0)
        return stop_listening(watcher, error);
    if (!watcher->listening)
        return 0;
    if (heard > 0 && !listener_is_armed(listener))
        watcher->arm_retry_ms = ARM_MS;
    if (too_many_notifications(watcher, heard) && listener_is_armed(listener))
        return disarm(watcher, error);
    return 0;
}

/* Handles notifications, the lease and arming. 0, or -1: the session is lost or the trigger is
 * gone. */
static int serve_listener(struct watcher *watcher, struct error *error)
{
    struct listener *listener = watcher->listener;
    int64_t now_ms = clock_now_ms();

    grow_credit(watcher, now_ms);
    if (handle_notifications(watcher, error) < 0)
        return -1;
    if (!watcher->listening)
        return 0;
    if (now_ms >= watcher->renew_at_ms) {
        watcher->renew_at_ms = now_ms + RENEW_MS;
        return listener_renew(listener, error);
    }
    return now_ms >= watcher->arm_at_ms && wants_to_arm(watcher) ? try_to_arm(watcher, error) : 0;
}

static void reset_credit(struct watcher *watcher)
{
    watcher->credit = CREDIT_MAX;
    watcher->drawn = HORIZON_UNKNOWN;
    watcher->listening_since_ms = clock_now_ms();
}

static int answer_if_due(struct watcher *watcher, struct error *error)
{
    struct session *session = watch_session(watcher->watch);

    if (watcher->answering || watcher->shared->report == NULL ||
        clock_now_ms() < watcher->answer_at_ms)
        return 0;
    if (!watcher->listening)
        reset_credit(watcher);
    watcher->answering = true;
    return status_replies_listen(&watcher->replies, session, error);
}

static void start_listening(struct watcher *watcher)
{
    if (watcher->warned)
        log_info("inserts wake this relay again");
    watcher->listening = true;
    watcher->warned = false;
    watcher->arm_retry_ms = ARM_MS;
    watcher->disarmed_ms = ARM_MS;
    watcher->arm_at_ms = clock_now_ms();
    watcher->renew_at_ms = clock_now_ms() + RENEW_MS;
    reset_credit(watcher);
}

static int listen_if_due(struct watcher *watcher, struct error *error)
{
    if (watcher->shared->wake == NULL || watcher->listening ||
        clock_now_ms() < watcher->listen_at_ms)
        return 0;
    watcher->listen_at_ms = clock_now_ms() + ABSENT_MS;
    switch (listener_start(watcher->listener, error)) {
    case LISTENER_READY:
        start_listening(watcher);
        return 0;
    case LISTENER_ABSENT:
        return 0;
    case LISTENER_DEAF:
        if (!watcher->warned)
            log_event(LOG_WARN, LOG_FIELDS(.error = error->text),
                      "inserts do not wake this relay, it polls");
        watcher->warned = true;
        return 0;
    case LISTENER_FAILED:
        break;
    }
    return -1;
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

/* The flush is done first, because a lane that has claimed rows waits for it. */
static int work(struct watcher *watcher, struct error *error)
{
    if (watcher->has_input && watch_read_input(watcher->watch, error) < 0)
        return -1;
    watcher->has_input = false;
    if (watch_flush(watcher->watch, error) < 0 || answer_if_due(watcher, error) < 0 ||
        listen_if_due(watcher, error) < 0 ||
        ((watcher->listening || watcher->answering) && serve_listener(watcher, error) < 0) ||
        status_replies_send(&watcher->replies, watch_session(watcher->watch),
                            watch_table(watcher->watch)->oid, error) < 0)
        return -1;
    if (clock_now_ms() < watcher->tick_at_ms)
        return 0;
    if (watcher->shared->report != NULL)
        status_replies_tick(&watcher->replies);
    return show_away(watcher, error) < 0 ? -1 : tick(watcher, error);
}

static int64_t next_event_ms(struct watcher *watcher)
{
    int64_t until_ms = watcher->tick_at_ms;

    if (!watcher->listening)
        return until_ms; /* at most a second away */
    if (watcher->renew_at_ms < until_ms)
        until_ms = watcher->renew_at_ms;
    if (wants_to_arm(watcher) && watcher->arm_at_ms < until_ms)
        until_ms = watcher->arm_at_ms;
    return until_ms;
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
    struct pollfd events[5] = {
        {.fd = watch_fd(watcher->watch), .events = POLLIN},
        {.fd = shared->wake != NULL ? wake_fd(shared->wake) : -1, .events = POLLIN},
        {.fd = wal_flush_fd(shared->flush), .events = POLLIN},
        {.fd = horizon_fd(shared->horizon), .events = POLLIN},
        {.fd = shared->stop->fd, .events = POLLIN}};

    if ((watcher->listening || watcher->answering) && listener_has_heard(watcher->listener))
        return;
    if (poll(events, 5, clock_left_ms(next_event_ms(watcher))) <= 0)
        return;
    (void)take_event(&events[1]);
    (void)take_event(&events[2]);
    if (take_event(&events[3])) /* a new epoch has begun, in which the horizon is unknown */
        watcher->tick_at_ms = 0;
    watcher->has_input = events[0].revents != 0;
}

static void wait_to_reconnect(struct watcher *watcher, const struct error *error)
{
    int64_t retry_ms = RETRY_MS;

    for (int i = 0; i < watcher->failures && retry_ms < RETRY_MS_MAX; i++)
        retry_ms *= 2;
    if (++watcher->failures == 6)
        log_event(LOG_WARN, LOG_FIELDS(.error = error->text, .hint = error->hint),
                  "the watcher cannot stay connected");
    (void)stop_wait(watcher->shared->stop, retry_ms);
}

/* Ends the session. Lanes are woken, because notifications may have been missed. A session that did
 * not last counts as a failure to connect. */
static void end_session(struct watcher *watcher, const struct error *error)
{
    log_event(LOG_DEBUG, LOG_FIELDS(.error = error->text), "the watcher's connection has ended");
    listener_forget(watcher->listener);
    watch_disconnect(watcher->watch);
    watch_fail_flush(watcher->watch, error);
    watcher->answering = false;
    if (watcher->listening) {
        watcher->listening = false;
        wake_disarm(watcher->shared->wake);
        wake_notify(watcher->shared->wake);
    }
    if (clock_now_ms() - watcher->connected_at_ms >= LASTING_MS)
        watcher->failures = 0;
    if (watcher->failures > 0)
        wait_to_reconnect(watcher, error);
    else
        watcher->failures = 1;
}

/* A failure is not logged at once, because the lanes log that the database is away. */
static void reconnect(struct watcher *watcher)
{
    struct error error;

    if (watch_connect(watcher->watch, &error) == 0) {
        watcher->connected_at_ms = clock_now_ms();
        watcher->away = 0;
        watcher->tick_at_ms = 0;
        watcher->listen_at_ms = 0;
        watcher->answer_at_ms = 0;
        return;
    }
    watch_fail_flush(watcher->watch, &error);
    wait_to_reconnect(watcher, &error);
}

void watcher_run(const struct watcher_shared *shared)
{
    struct watcher watcher = {.shared = shared, .replies.report = shared->report};
    struct error error;
    char name[48];

    lane_name_session(name, sizeof name, "watch");
    watcher.watch = watch_open(shared->options, name, shared->horizon, shared->flush);
    if (watcher.watch != NULL)
        watcher.listener = listener_open(watch_session(watcher.watch), watch_table(watcher.watch));
    if (watcher.listener == NULL) {
        log_error("out of memory");
        watch_close(watcher.watch);
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
    listener_forget(watcher.listener);
    watch_close(watcher.watch);
    listener_close(watcher.listener);
}
