/*
 * The watcher, a thread with a session of its own. It waits for the earliest of four events: the
 * next tick, a lane that needs a flush, something that arrives, and what the session itself has to
 * do (source/watch.h).
 */
#include "relay/watcher.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "relay/lane.h"
#include "relay/status_replies.h"
#include "source/watch.h"

#include <stdio.h>
#include <string.h>

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
    int64_t tick_at_ms;       /* when the next tick is due */
    int64_t look_at_ms;       /* when it looks next for somebody who has locked slices */
    int64_t locked_logged_ms; /* when it has logged one last */
    uint64_t away;            /* the sinks that the session's name shows as away */
    struct status_replies replies;
};

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
    if (watcher->shared->memory == NULL)
        return 0;
    return memory_store(watcher->shared->memory, watcher->watch, now, error);
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
        held = watch_find_holder(watcher->watch, &holder, error);
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
        return watch_answer(watcher->watch, error);
    if (watch_describe(watcher->watch, error) < 0)
        return -1;
    watcher->described_at_ms = clock_now_ms();
    watcher->tick_at_ms = 0;
    return 0;
}

/* The flush is done first, because a lane that has claimed rows waits for it. */
static int work(struct watcher *watcher, struct error *error)
{
    struct watch *watch = watcher->watch;

    if (watch_flush(watch, error) < 0 || watch_hear(watch, error) < 0)
        return -1;
    if (watcher->described_at_ms == 0)
        return describe(watcher, error);
    if (watch_listen(watch, error) < 0 || watch_answer(watch, error) < 0)
        return -1;
    if (clock_now_ms() < watcher->tick_at_ms)
        return 0;
    if (watcher->shared->report != NULL)
        status_replies_tick(&watcher->replies);
    if (show_away(watcher, error) < 0 || tick(watcher, error) < 0 ||
        store_memory(watcher, false, error) < 0)
        return -1;
    return watcher->shared->report != NULL ? look_at_slices(watcher, error) : 0;
}

/* A tick is at most a second away. */
static void wait_for_event(struct watcher *watcher)
{
    int64_t until_ms =
        watcher->described_at_ms == 0 ? watcher->describe_at_ms : watcher->tick_at_ms;

    if (watch_wait(watcher->watch, watcher->shared->stop->fd, until_ms))
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

/* A session that did not last counts as a failure to connect. */
static void end_session(struct watcher *watcher, const struct error *error)
{
    log_event(LOG_DEBUG, LOG_FIELDS(.error = error->text), "the watcher's connection has ended");
    watch_disconnect(watcher->watch);
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
}

static uint64_t count_sent(void *closure)
{
    const struct watcher *watcher = closure;
    const struct report *report = watcher->shared->report;

    return report != NULL ? report_total(report, REPORT_SENT) : 0;
}

static char *describe_process(void *closure, uint32_t table, char out[STATUS_ANSWER_BYTES])
{
    const struct watcher *watcher = closure;

    return status_replies_write(&watcher->replies, table, out);
}

void watcher_run(const struct watcher_shared *shared)
{
    struct watcher watcher = {.shared = shared, .replies.report = shared->report};
    const struct watch_process process = {.wake = shared->wake,
                                          .count_sent = count_sent,
                                          .describe =
                                              shared->report != NULL ? describe_process : NULL,
                                          .closure = &watcher};
    struct error error;
    char name[48];

    lane_name_session(name, sizeof name, "watch");
    watcher.watch = watch_open(shared->options, name, shared->source, &process);
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
