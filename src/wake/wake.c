/*
 * When idle lanes poll the outbox again. A poll is an attempt to claim. The rules:
 *
 *   - A lane that has emptied the outbox rests before it polls again: one millisecond for every
 *     REST_ROWS rows that it claimed, at least REST_MS_MIN and at most REST_MS_MAX. So the more
 * rows arrive, the more of them share a transaction. A lane that could not claim all rows does not
 *     rest.
 *   - Each poll that finds nothing doubles the time to the next one, up to the poll interval.
 *   - While every insert notifies (this relay or another one is armed), a lane
 *     polls at each notification, and otherwise only once a second.
 *
 * A poll costs a claim or two, so one lane polls on behalf of all: the first one to notice that a
 * poll is due. The lane that began to wait last sets the pace, and is the one that a notification
 * wakes: its caches, and those of its server process, are warm, and the other lanes, which would be
 * in its way, sleep on. They take over when it is held up, so a lane that fell asleep for a longer
 * time is woken when polls become more frequent again. While one of the waiting lanes has a sink
 * that is away, a notification wakes all lanes: the row may be one that this lane does not claim.
 *
 * No notification is lost. Under the mutex it raises `wanted`, the number of polls to do, and only
 * a lane that ends its wait lowers it: its poll begins afterwards, and so sees every row committed
 * before the notification. A lane that was working when the notification came finds `wanted` above
 * zero before it waits. A lane whose poll fails polls again after its back-off, while the others
 * continue.
 *
 * Notifications are not guaranteed to come. Without them rows are found by polling.
 */
#include "wake/wake.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* The rest in the first rule: rows that arrive meanwhile share a transaction, and none of them
 * waits longer than REST_MS_MAX for it. */
#define REST_ROWS 8
#define REST_MS_MIN 2
#define REST_MS_MAX 20
#define BEHIND_MS 10     /* how much later another lane polls if the pace-setting one does not */
#define NOTIFIED_MS 1000 /* poll interval while every insert notifies */
#define RUSH_MS 100      /* a full batch makes the other lanes poll at most once in this time */

/* A lane that waits. */
struct sleeper {
    pthread_cond_t changed;
    struct sleeper *previous; /* the lane that began to wait before this one */
    uint64_t wait;            /* the number of this wait */
};

struct wake {
    pthread_mutex_t mutex;
    struct sleeper *latest; /* the lane that began to wait last */
    int lanes;              /* number of lanes */
    int waiting;            /* how many of them wait */
    int partial;            /* how many of those do not claim all rows, because a sink is away */
    uint64_t latest_wait;   /* the number of the latest wait; its lane sets the pace */
    int wanted;             /* polls to do at once */
    bool busy;          /* the lane that began to wait last had rows: its next poll may find more */
    bool armed;         /* every insert notifies, because this relay or another one is armed */
    int64_t poll_ms;    /* the configured poll interval */
    int64_t pace_ms;    /* the current poll interval */
    int64_t due_at_ms;  /* when the next poll is due without a notification */
    int64_t wake_at_ms; /* no lane sleeps for such a poll beyond this time */
    int64_t rush_at_ms; /* when a full batch may wake the other lanes again */
};

int64_t wake_pace_ms(int rows)
{
    int64_t rest_ms = rows / REST_ROWS;

    if (rest_ms < REST_MS_MIN)
        return REST_MS_MIN;
    return rest_ms < REST_MS_MAX ? rest_ms : REST_MS_MAX;
}

static int64_t max_pace_ms(const struct wake *wake)
{
    return wake->armed && wake->poll_ms < NOTIFIED_MS ? NOTIFIED_MS : wake->poll_ms;
}

static void set_pace(struct wake *wake, int64_t pace_ms)
{
    wake->pace_ms = pace_ms < max_pace_ms(wake) ? pace_ms : max_pace_ms(wake);
    wake->due_at_ms = clock_now_ms() + wake->pace_ms;
}

struct wake *wake_open(int lanes, int64_t poll_ms)
{
    struct wake *wake = calloc(1, sizeof *wake);

    if (wake == NULL)
        return NULL;
    wake->lanes = lanes;
    wake->poll_ms = poll_ms;
    set_pace(wake, REST_MS_MIN);
    if (pthread_mutex_init(&wake->mutex, NULL) != 0) {
        free(wake);
        return NULL;
    }
    return wake;
}

void wake_set_poll(struct wake *wake, int64_t poll_ms)
{
    (void)pthread_mutex_lock(&wake->mutex);
    wake->poll_ms = poll_ms;
    set_pace(wake, REST_MS_MIN);
    (void)pthread_mutex_unlock(&wake->mutex);
}

void wake_close(struct wake *wake)
{
    if (wake == NULL)
        return;
    (void)pthread_mutex_destroy(&wake->mutex);
    free(wake);
}

/* Whether the calling lane is to poll now. If so, counts the poll and schedules the next one. */
static bool take_poll(struct wake *wake, int64_t rested_ms)
{
    int64_t now_ms = clock_now_ms();
    bool due = now_ms >= wake->due_at_ms;

    if (wake->wanted == 0 && !due && now_ms < rested_ms)
        return false;
    if (wake->wanted > 0)
        wake->wanted--;
    if (due)
        set_pace(wake, 2 * wake->pace_ms);
    return true;
}

static void sleep_until(struct wake *wake, struct sleeper *sleeper, int64_t deadline_ms)
{
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ms / 1000),
                                .tv_nsec = (long)(deadline_ms % 1000) * 1000000};

    (void)pthread_cond_clockwait(&sleeper->changed, &wake->mutex, CLOCK_MONOTONIC, &deadline);
}

static void sleep_until_poll(struct wake *wake, struct sleeper *sleeper, int64_t rested_ms)
{
    int64_t due_at_ms =
        sleeper->wait == wake->latest_wait ? wake->due_at_ms : wake->due_at_ms + BEHIND_MS;

    if (due_at_ms > wake->wake_at_ms)
        wake->wake_at_ms = due_at_ms;
    sleep_until(wake, sleeper, due_at_ms < rested_ms ? due_at_ms : rested_ms);
}

static void wake_all(struct wake *wake)
{
    for (struct sleeper *sleeper = wake->latest; sleeper != NULL; sleeper = sleeper->previous)
        (void)pthread_cond_signal(&sleeper->changed);
}

/* Wakes the other lanes when polls have become more frequent. In a steady flow no lane sleeps that
 * long, so none is woken. */
static void wake_late_sleepers(struct wake *wake)
{
    if (wake->wake_at_ms <= wake->due_at_ms + REST_MS_MAX + BEHIND_MS)
        return;
    wake->wake_at_ms = 0;
    wake_all(wake);
}

/* Schedules the next poll after a lane had rows, but not later than another lane's work has. */
static void rest_after_work(struct wake *wake, int64_t rest_ms)
{
    int64_t now_ms = clock_now_ms();
    int64_t due_at_ms = wake->due_at_ms;

    set_pace(wake, rest_ms);
    if (due_at_ms > now_ms && due_at_ms < wake->due_at_ms)
        wake->due_at_ms = due_at_ms;
    wake_late_sleepers(wake);
}

static void add_sleeper(struct wake *wake, struct sleeper *sleeper, bool whole)
{
    sleeper->wait = ++wake->latest_wait;
    sleeper->previous = wake->latest;
    wake->latest = sleeper;
    wake->waiting++;
    wake->partial += !whole;
}

static void remove_sleeper(struct wake *wake, const struct sleeper *sleeper, bool whole)
{
    struct sleeper **at = &wake->latest;

    while (*at != sleeper)
        at = &(*at)->previous;
    *at = sleeper->previous;
    wake->waiting--;
    wake->partial -= !whole;
}

void wake_wait(struct wake *wake, const struct stop *stop, const struct wait *wait)
{
    int64_t rested_ms = clock_now_ms() + wait->poll_anyway_ms;
    struct sleeper sleeper = {.changed = PTHREAD_COND_INITIALIZER};

    (void)pthread_mutex_lock(&wake->mutex);
    wake->busy = wait->pace_ms > 0 && !wake->armed;
    if (wake->busy)
        rest_after_work(wake, wait->pace_ms);
    add_sleeper(wake, &sleeper, wait->whole);
    while (!stop_requested(stop) && !take_poll(wake, rested_ms))
        sleep_until_poll(wake, &sleeper, rested_ms);
    remove_sleeper(wake, &sleeper, wait->whole);
    (void)pthread_mutex_unlock(&wake->mutex);
}

static void request_poll(struct wake *wake)
{
    int polls = wake->partial > 0 ? wake->waiting : 1;

    if (wake->wanted < polls)
        wake->wanted = polls;
    if (wake->partial > 0)
        wake_all(wake);
    else if (wake->latest != NULL)
        (void)pthread_cond_signal(&wake->latest->changed);
}

void wake_others(struct wake *wake)
{
    int64_t now_ms = clock_now_ms();

    (void)pthread_mutex_lock(&wake->mutex);
    if (wake->waiting > 0 && now_ms >= wake->rush_at_ms) {
        wake->rush_at_ms = now_ms + RUSH_MS;
        wake->wanted = wake->waiting;
        wake_all(wake);
    }
    (void)pthread_mutex_unlock(&wake->mutex);
}

void wake_notify(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    request_poll(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
}

void wake_disarm(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    if (wake->armed) {
        wake->armed = false;
        set_pace(wake, REST_MS_MIN);
        wake_all(wake);
    }
    (void)pthread_mutex_unlock(&wake->mutex);
}

void wake_stop(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    wake_all(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
}

bool wake_is_quiet(struct wake *wake)
{
    bool quiet;

    (void)pthread_mutex_lock(&wake->mutex);
    quiet = wake->waiting == wake->lanes && !wake->busy;
    (void)pthread_mutex_unlock(&wake->mutex);
    return quiet;
}

void wake_arm(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    wake->armed = true;
    set_pace(wake, max_pace_ms(wake));
    request_poll(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
}
