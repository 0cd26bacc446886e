/*
 * The thread beside the lanes. Each wait ends for what comes first: a tick of the horizon, a lane
 * that waits for a flush, a notification, or the time to arm.
 *
 * It takes the listener's lock (armed: every insert notifies) when all lanes wait, and keeps it
 * while notifications are few. CALLS_MAX of them within CALLS_MS are too many: those who insert
 * wait for each other at each commit that notifies, and lanes that look every few milliseconds cost
 * them less. How long it then stays unarmed grows where being armed is always brief.
 *
 * Anybody may NOTIFY, so hearing costs credit. One read costs 1 for all empty notifications in it,
 * which is what the trigger sends, and 1 for each other one. Credit comes back: 1 for each look
 * that found rows, 1 for each id drawn, because another relay may have taken its row, and 1 as
 * often as a relay polls. Without credit the session stops listening for a while and lanes poll:
 * the answers that lanes wait for come behind what was notified.
 */
#include "relay/watcher.h"

#include "base/clock.h"
#include "base/log.h"
#include "relay/answers.h"
#include "relay/lane.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARM_MS 20
#define CALLS_MS 100 /* 400 a second */
#define CALLS_MAX 40
#define HOLD_MS_MAX 320
#define BRIEF_MS (2 * CALLS_MS)
#define ARM_MS_MAX 1000 /* while others hold the lock: inserters, or another relay */
#define RENEW_MS 5000   /* well within the lease */
#define RETRY_MS 250    /* to connect, doubled */
#define RETRY_MS_MAX 2000
#define LASTING_MS 5000
#define CREDIT_MAX 400 /* what is drawn is known a second or two later */
#define CREDIT_MS 250  /* as a relay polls by default */
#define DEAF_MS 5000   /* without credit, doubled */
#define DEAF_MS_MAX 60000
#define ABSENT_MS 30000 /* until the trigger is looked for again */

struct watcher {
    const struct watched *shared;
    struct watch *watch;
    struct listener *listener; /* on the session of the watch */
    int failures;              /* to connect, or to stay connected for LASTING_MS, in a row */
    int64_t connected_ms;
    bool has_input;  /* the session has sent something, or has ended */
    int64_t tick_ms; /* when the horizon is looked at */
    uint64_t away;   /* the sinks that the session's name shows as away */
    struct answers answers;
    bool answering;    /* it listens for the questions of `status`, */
    int64_t answer_ms; /* or tries to from then on */
    bool listening;    /* for inserts */
    bool warned;       /* that nothing is heard here */
    int64_t listen_ms; /* when it is tried to listen, unless it does */
    int64_t pause_ms;  /* between two tries to arm */
    int64_t arm_ms;    /* when it may be tried again */
    int64_t renew_ms;
    int64_t armed_ms; /* since when it is, or was */
    int64_t hold_ms;  /* how long it then stays unarmed */
    int calls;        /* notifications */
    int64_t calls_ms; /* since then */
    int64_t credit;
    int64_t credit_ms; /* when it grows next */
    int64_t drawn;     /* the highest id, for which credit was given */
    int64_t deaf_ms;   /* how long it does not listen without credit */
    int64_t heard_ms;  /* since when it listens, or did */
};

/* Where being armed is always brief, inserts are so many that polling is as fast, and cheaper for
 * them. */
static void arm_soon(struct watcher *watcher)
{
    int64_t lasted_ms = clock_now_ms() - watcher->armed_ms;
    int64_t longer_ms = 2 * watcher->hold_ms < HOLD_MS_MAX ? 2 * watcher->hold_ms : HOLD_MS_MAX;

    watcher->hold_ms = lasted_ms < BRIEF_MS ? longer_ms : ARM_MS;
    watcher->pause_ms = ARM_MS;
    watcher->arm_ms = clock_now_ms() + watcher->hold_ms;
}

static int let_go(struct watcher *watcher, struct error *error)
{
    arm_soon(watcher);
    wake_disarm(watcher->shared->wake);
    return listener_disarm(watcher->listener, error);
}

static bool calls_are_many(struct watcher *watcher, int heard)
{
    int64_t now_ms = clock_now_ms();

    if (now_ms - watcher->calls_ms >= CALLS_MS) {
        watcher->calls_ms = now_ms;
        watcher->calls = 0;
    }
    watcher->calls += heard;
    return watcher->calls > CALLS_MAX;
}

/* While the lock cannot be had the pauses grow: an insert that is open for long costs little. */
static int try_to_arm(struct watcher *watcher, struct error *error)
{
    bool another;

    if (listener_arm(watcher->listener, &another, error) < 0)
        return -1;
    watcher->armed_ms = clock_now_ms();
    if (listener_is_armed(watcher->listener))
        return wake_arm(watcher->shared->wake) ? 0 : let_go(watcher, error);
    wake_cover(watcher->shared->wake, another);
    watcher->arm_ms = clock_now_ms() + watcher->pause_ms;
    watcher->pause_ms = 2 * watcher->pause_ms < ARM_MS_MAX ? 2 * watcher->pause_ms : ARM_MS_MAX;
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
    if (now_ms >= watcher->credit_ms) {
        watcher->credit++;
        watcher->credit_ms = now_ms + CREDIT_MS;
    }
    if (watcher->credit > CREDIT_MAX)
        watcher->credit = CREDIT_MAX;
}

/* For longer each time, unless it has listened for as long as it may not. */
static int stop_listening(struct watcher *watcher, struct error *error)
{
    int64_t now_ms = clock_now_ms();

    watcher->deaf_ms *= 2;
    if (now_ms - watcher->heard_ms >= DEAF_MS_MAX || watcher->deaf_ms < DEAF_MS)
        watcher->deaf_ms = DEAF_MS;
    if (watcher->deaf_ms > DEAF_MS_MAX)
        watcher->deaf_ms = DEAF_MS_MAX;
    watcher->answering = false;
    watcher->answer_ms = now_ms + watcher->deaf_ms;
    if (watcher->listening) {
        if (!watcher->warned)
            log_warn("inserts do not wake this relay, it polls: more notifications come than"
                     " inserts send");
        watcher->warned = true;
        watcher->listening = false;
        watcher->listen_ms = now_ms + watcher->deaf_ms;
        wake_disarm(watcher->shared->wake);
    }
    return listener_stop(watcher->listener, error);
}

static int hear(struct watcher *watcher, struct error *error)
{
    struct listener *listener = watcher->listener;
    int arrived;
    int heard;

    if (listener_hear(listener, &arrived, &heard, error) < 0)
        return -1;
    watcher->credit -= arrived - heard + (heard > 0);
    if (heard > 0 && watcher->listening)
        wake_call(watcher->shared->wake);
    if (watcher->credit <= 0)
        return stop_listening(watcher, error);
    if (!watcher->listening)
        return 0;
    if (heard > 0 && !listener_is_armed(listener))
        watcher->pause_ms = ARM_MS;
    if (calls_are_many(watcher, heard) && listener_is_armed(listener))
        return let_go(watcher, error);
    return 0;
}

/* 0, or -1 when the session is lost or inserts do not notify any more. */
static int attend(struct watcher *watcher, struct error *error)
{
    struct listener *listener = watcher->listener;
    int64_t now_ms = clock_now_ms();

    grow_credit(watcher, now_ms);
    if (hear(watcher, error) < 0)
        return -1;
    if (!watcher->listening)
        return 0;
    if (now_ms >= watcher->renew_ms) {
        watcher->renew_ms = now_ms + RENEW_MS;
        return listener_renew(listener, error);
    }
    return now_ms >= watcher->arm_ms && wants_to_arm(watcher) ? try_to_arm(watcher, error) : 0;
}

static void begin_to_hear(struct watcher *watcher)
{
    watcher->credit = CREDIT_MAX;
    watcher->drawn = HORIZON_UNKNOWN;
    watcher->heard_ms = clock_now_ms();
}

static int answer_if_due(struct watcher *watcher, struct error *error)
{
    struct session *session = watch_session(watcher->watch);

    if (watcher->answering || watcher->shared->report == NULL ||
        clock_now_ms() < watcher->answer_ms)
        return 0;
    if (!watcher->listening)
        begin_to_hear(watcher);
    watcher->answering = true;
    return answers_listen(&watcher->answers, session, error);
}

static void begin_to_listen(struct watcher *watcher)
{
    if (watcher->warned)
        log_info("inserts wake this relay again");
    watcher->listening = true;
    watcher->warned = false;
    watcher->pause_ms = ARM_MS;
    watcher->hold_ms = ARM_MS;
    watcher->arm_ms = clock_now_ms();
    watcher->renew_ms = clock_now_ms() + RENEW_MS;
    begin_to_hear(watcher);
}

static int listen_if_due(struct watcher *watcher, struct error *error)
{
    if (watcher->shared->wake == NULL || watcher->listening || clock_now_ms() < watcher->listen_ms)
        return 0;
    watcher->listen_ms = clock_now_ms() + ABSENT_MS;
    switch (listener_start(watcher->listener, error)) {
    case LISTENER_READY:
        begin_to_listen(watcher);
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

/* Who was called, or looked, while claims waited for the first scan found nothing. */
static int tick(struct watcher *watcher, struct error *error)
{
    bool opened;
    int status = watch_tick(watcher->watch, &watcher->tick_ms, &opened, error);

    if (opened && watcher->shared->wake != NULL)
        wake_call(watcher->shared->wake);
    return status;
}

/* "HOST:PID/away:SINK,SINK" in place of "HOST:PID/watch", cut where PostgreSQL would cut it. */
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

/* A flush comes first: a lane waits for it with rows in hand. */
static int work(struct watcher *watcher, struct error *error)
{
    if (watcher->has_input && watch_read_input(watcher->watch, error) < 0)
        return -1;
    watcher->has_input = false;
    if (watch_flush(watcher->watch, error) < 0 || answer_if_due(watcher, error) < 0 ||
        listen_if_due(watcher, error) < 0 ||
        ((watcher->listening || watcher->answering) && attend(watcher, error) < 0) ||
        answers_send(&watcher->answers, watch_session(watcher->watch),
                     watch_table(watcher->watch)->oid, error) < 0)
        return -1;
    if (clock_now_ms() < watcher->tick_ms)
        return 0;
    if (watcher->shared->report != NULL)
        answers_tick(&watcher->answers);
    return show_away(watcher, error) < 0 ? -1 : tick(watcher, error);
}

static int64_t next_event_ms(struct watcher *watcher)
{
    int64_t until_ms = watcher->tick_ms;

    if (!watcher->listening)
        return until_ms; /* a tick is due within a second */
    if (watcher->renew_ms < until_ms)
        until_ms = watcher->renew_ms;
    if (wants_to_arm(watcher) && watcher->arm_ms < until_ms)
        until_ms = watcher->arm_ms;
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
    const struct watched *shared = watcher->shared;
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
    if (take_event(&events[3])) /* an epoch has begun: nothing is known */
        watcher->tick_ms = 0;
    watcher->has_input = events[0].revents != 0;
}

static void rest(struct watcher *watcher, const struct error *error)
{
    int64_t retry_ms = RETRY_MS;

    for (int i = 0; i < watcher->failures && retry_ms < RETRY_MS_MAX; i++)
        retry_ms *= 2;
    if (++watcher->failures == 6)
        log_event(LOG_WARN, LOG_FIELDS(.error = error->text, .hint = error->hint),
                  "the connection beside the lanes fails");
    (void)stop_wait(watcher->shared->stop, retry_ms);
}

/* What was not heard meanwhile is looked for. A session that ends before its first tick is no
 * better than none. */
static void lose(struct watcher *watcher, const struct error *error)
{
    log_event(LOG_DEBUG, LOG_FIELDS(.error = error->text), "the watching connection ends");
    listener_forget(watcher->listener);
    watch_disconnect(watcher->watch);
    watch_fail_flush(watcher->watch, error);
    watcher->answering = false;
    if (watcher->listening) {
        watcher->listening = false;
        wake_disarm(watcher->shared->wake);
        wake_call(watcher->shared->wake);
    }
    if (clock_now_ms() - watcher->connected_ms >= LASTING_MS)
        watcher->failures = 0;
    if (watcher->failures > 0)
        rest(watcher, error);
    else
        watcher->failures = 1;
}

/* The lanes say first that the database is away. */
static void connect_again(struct watcher *watcher)
{
    struct error error;

    if (watch_connect(watcher->watch, &error) == 0) {
        watcher->connected_ms = clock_now_ms();
        watcher->away = 0;
        watcher->tick_ms = 0;
        watcher->listen_ms = 0;
        watcher->answer_ms = 0;
        return;
    }
    watch_fail_flush(watcher->watch, &error);
    rest(watcher, &error);
}

void watcher_run(const struct watched *watched)
{
    struct watcher watcher = {.shared = watched, .answers.report = watched->report};
    struct error error;
    char name[48];

    lane_name_session(name, sizeof name, "watch");
    watcher.watch = watch_open(watched->options, name, watched->horizon, watched->flush);
    if (watcher.watch != NULL)
        watcher.listener = listener_open(watch_session(watcher.watch), watch_table(watcher.watch));
    if (watcher.listener == NULL) {
        log_error("out of memory");
        watch_close(watcher.watch);
        return;
    }
    while (!stop_requested(watched->stop)) {
        if (watched->report != NULL)
            atomic_store(&watched->report->watched_ms, clock_now_ms());
        if (!watch_is_connected(watcher.watch))
            connect_again(&watcher);
        else if (work(&watcher, &error) < 0)
            lose(&watcher, &error);
        else
            wait_for_event(&watcher);
    }
    listener_forget(watcher.listener);
    watch_close(watcher.watch);
    listener_close(watcher.listener);
}
