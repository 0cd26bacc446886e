/*
 * Idle lanes, and what makes one of them look. The rule:
 *
 *   - A lane that took all there was rests for a millisecond for every REST_ROWS rows of it, at
 * least REST_MS and at most REST_MS_MAX, and looks again: the more rows come, the more share a
 *     transaction. A lane that could not take all there was does not rest.
 *   - Each look that finds nothing doubles the time to the next one, up to the poll interval.
 *   - While every insert is known to call (armed, or covered by another relay that is), a lane
 * looks at each call, and by itself once a second only.
 *
 * A look costs a claim or two, so one lane looks on behalf of all: whoever is first to see that a
 * look is due takes it. The lane that waited last keeps the time, and is the one that a call wakes:
 * its caches, and those of its server process, are warm, and the others, which would be in its way,
 * sleep through its looks. They are there for when it is held up, so one that fell asleep for a
 * longer time is told when looks come sooner again. While a lane waits that has lost a sink, a call
 * wakes all: it may be for a row that this one leaves to the others.
 *
 * No call is lost, by construction. A call adds to `wanted`, the number of looks that are owed,
 * under the mutex, and only a lane that leaves its wait takes one off: its look begins afterwards
 * and so sees every row committed before the call. A lane that was at work when the call came finds
 * `wanted` above zero before it waits, never after. A lane whose look breaks looks again by itself
 * when its back-off ends, while the others go on.
 *
 * What is not promised: that anybody calls. Without calls a row is found by the looks.
 */
#include "wake/wake.h"

#include "base/clock.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* The rest of the first rule: rows that come meanwhile share a transaction, and none waits for it
 * longer than REST_MS_MAX. */
#define REST_ROWS 8
#define REST_MS 2
#define REST_MS_MAX 20
#define BEHIND_MS 10   /* then another lane looks, when the one that keeps the time does not */
#define CALLED_MS 1000 /* between two looks of lanes that every insert calls */
#define RUSH_MS 100    /* between two times that a full batch makes the others look */

/* A lane that waits. */
struct sleeper {
    pthread_cond_t changed;
    struct sleeper *before; /* who waited before it */
    uint64_t wait;          /* its number */
};

struct wake {
    pthread_mutex_t mutex;
    struct sleeper *latest;
    int fd; /* eventfd(2) */
    int lanes;
    int waiting;   /* lanes, */
    int partial;   /* and those of them that leave rows to the others */
    uint64_t last; /* the number of the latest wait: its lane keeps the time */
    int wanted;    /* looks that are owed */
    int found;     /* looks that had rows, since the watcher asked */
    bool busy;     /* the last lane to wait had had rows, and looks again: it may find more */
    bool armed;
    bool covered; /* by another relay, which is armed */
    int64_t poll_ms;
    int64_t pace_ms;
    int64_t look_ms;  /* when a look is due that nobody called for */
    int64_t sleep_ms; /* no lane sleeps longer than until then for such a look */
    int64_t rush_ms;  /* when a full batch counts again */
};

int64_t wake_rest_ms(int rows)
{
    int64_t rest_ms = rows / REST_ROWS;

    if (rest_ms < REST_MS)
        return REST_MS;
    return rest_ms < REST_MS_MAX ? rest_ms : REST_MS_MAX;
}

static int64_t slowest_ms(const struct wake *wake)
{
    bool called = wake->armed || wake->covered;

    return called && wake->poll_ms < CALLED_MS ? CALLED_MS : wake->poll_ms;
}

static void set_pace(struct wake *wake, int64_t pace_ms)
{
    wake->pace_ms = pace_ms < slowest_ms(wake) ? pace_ms : slowest_ms(wake);
    wake->look_ms = clock_now_ms() + wake->pace_ms;
}

struct wake *wake_open(int lanes, int64_t poll_ms)
{
    struct wake *wake = calloc(1, sizeof *wake);

    if (wake == NULL)
        return NULL;
    wake->lanes = lanes;
    wake->poll_ms = poll_ms;
    set_pace(wake, REST_MS);
    wake->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake->fd < 0 || pthread_mutex_init(&wake->mutex, NULL) != 0) {
        if (wake->fd >= 0)
            (void)close(wake->fd);
        free(wake);
        return NULL;
    }
    return wake;
}

void wake_close(struct wake *wake)
{
    if (wake == NULL)
        return;
    (void)pthread_mutex_destroy(&wake->mutex);
    (void)close(wake->fd);
    free(wake);
}

static void signal_watcher(const struct wake *wake)
{
    uint64_t one = 1;

    (void)!write(wake->fd, &one, sizeof one); /* full: it is readable already */
}

/* Whether the lane that asks is to look now; then one look less is owed, and the next is timed. */
static bool take_look(struct wake *wake, int64_t rested_ms)
{
    int64_t now_ms = clock_now_ms();
    bool due = now_ms >= wake->look_ms;

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

static void sleep_for_look(struct wake *wake, struct sleeper *sleeper, int64_t rested_ms)
{
    int64_t look_ms = sleeper->wait == wake->last ? wake->look_ms : wake->look_ms + BEHIND_MS;

    if (look_ms > wake->sleep_ms)
        wake->sleep_ms = look_ms;
    sleep_until(wake, sleeper, look_ms < rested_ms ? look_ms : rested_ms);
}

static void tell_all(struct wake *wake)
{
    for (struct sleeper *sleeper = wake->latest; sleeper != NULL; sleeper = sleeper->before)
        (void)pthread_cond_signal(&sleeper->changed);
}

/* In a steady flow nobody is told: then the others do not sleep longer than this anyway. */
static void tell_late_sleepers(struct wake *wake)
{
    if (wake->sleep_ms <= wake->look_ms + REST_MS_MAX + BEHIND_MS)
        return;
    wake->sleep_ms = 0;
    tell_all(wake);
}

/* A lane rests behind its work. It does not put off a look that another's work has made due. */
static void rest_behind_work(struct wake *wake, int64_t rest_ms)
{
    int64_t now_ms = clock_now_ms();
    int64_t look_ms = wake->look_ms;

    set_pace(wake, rest_ms);
    if (look_ms > now_ms && look_ms < wake->look_ms)
        wake->look_ms = look_ms;
    tell_late_sleepers(wake);
}

static bool is_quiet(const struct wake *wake)
{
    return wake->waiting == wake->lanes && !wake->busy;
}

static void enter(struct wake *wake, struct sleeper *sleeper, bool whole)
{
    sleeper->wait = ++wake->last;
    sleeper->before = wake->latest;
    wake->latest = sleeper;
    wake->waiting++;
    wake->partial += !whole;
    if (is_quiet(wake))
        signal_watcher(wake);
}

static void leave(struct wake *wake, const struct sleeper *sleeper, bool whole)
{
    struct sleeper **at = &wake->latest;

    while (*at != sleeper)
        at = &(*at)->before;
    *at = sleeper->before;
    wake->waiting--;
    wake->partial -= !whole;
}

void wake_wait(struct wake *wake, const struct stop *stop, const struct wait *wait)
{
    int64_t rested_ms = clock_now_ms() + wait->rest_ms;
    struct sleeper sleeper = {.changed = PTHREAD_COND_INITIALIZER};

    (void)pthread_mutex_lock(&wake->mutex);
    wake->busy = wait->pace_ms > 0 && !wake->armed && !wake->covered;
    if (wake->busy)
        rest_behind_work(wake, wait->pace_ms);
    enter(wake, &sleeper, wait->whole);
    while (!stop_requested(stop) && !take_look(wake, rested_ms))
        sleep_for_look(wake, &sleeper, rested_ms);
    leave(wake, &sleeper, wait->whole);
    (void)pthread_mutex_unlock(&wake->mutex);
}

static void owe_a_look(struct wake *wake)
{
    int looks = wake->partial > 0 ? wake->waiting : 1;

    if (wake->wanted < looks)
        wake->wanted = looks;
    if (wake->partial > 0)
        tell_all(wake);
    else if (wake->latest != NULL)
        (void)pthread_cond_signal(&wake->latest->changed);
}

void wake_found(struct wake *wake, bool more)
{
    int64_t now_ms = clock_now_ms();

    (void)pthread_mutex_lock(&wake->mutex);
    if (wake->found < INT_MAX)
        wake->found++;
    if (more && wake->waiting > 0 && now_ms >= wake->rush_ms) {
        wake->rush_ms = now_ms + RUSH_MS;
        wake->wanted = wake->waiting;
        tell_all(wake);
    }
    (void)pthread_mutex_unlock(&wake->mutex);
}

int wake_take_found(struct wake *wake)
{
    int found;

    (void)pthread_mutex_lock(&wake->mutex);
    found = wake->found;
    wake->found = 0;
    (void)pthread_mutex_unlock(&wake->mutex);
    return found;
}

void wake_call(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    owe_a_look(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
}

void wake_disarm(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    wake->armed = false;
    wake->covered = false;
    set_pace(wake, REST_MS);
    tell_all(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
}

void wake_stop(struct wake *wake)
{
    (void)pthread_mutex_lock(&wake->mutex);
    tell_all(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
}

bool wake_is_quiet(struct wake *wake)
{
    bool quiet;

    (void)pthread_mutex_lock(&wake->mutex);
    quiet = is_quiet(wake);
    (void)pthread_mutex_unlock(&wake->mutex);
    return quiet;
}

bool wake_arm(struct wake *wake)
{
    bool armed;

    (void)pthread_mutex_lock(&wake->mutex);
    armed = is_quiet(wake);
    if (armed) {
        wake->armed = true;
        set_pace(wake, slowest_ms(wake));
        owe_a_look(wake);
    }
    (void)pthread_mutex_unlock(&wake->mutex);
    return armed;
}

void wake_cover(struct wake *wake, bool covered)
{
    (void)pthread_mutex_lock(&wake->mutex);
    if (wake->covered && !covered) {
        wake->covered = false;
        set_pace(wake, REST_MS);
        tell_all(wake);
    }
    if (!wake->covered && covered && is_quiet(wake)) {
        wake->covered = true;
        set_pace(wake, slowest_ms(wake));
    }
    (void)pthread_mutex_unlock(&wake->mutex);
}

int wake_fd(const struct wake *wake)
{
    return wake->fd;
}
