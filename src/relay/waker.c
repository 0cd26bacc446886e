/*
 * The thread that listens. It holds the listener's lock (armed: every insert notifies) only while
 * all lanes wait, and lets go of it when a lane has had rows or a notification came: a moment
 * later, because on a small machine it would be in the way of the look that was called for.
 *
 * Arming is never tried more often than every ARM_MS: when other relays keep the table busy, those
 * who insert would else be serialised by the notifications that an idle relay asks for.
 */
#include "relay/waker.h"

#include "base/clock.h"
#include "base/log.h"
#include "outbox/listener.h"
#include "relay/lane.h"

#include <poll.h>
#include <unistd.h>

#define ARM_MS 20
#define HOLD_MS_MAX 320
#define LET_GO_MS 5
#define BRIEF_MS (15 + LET_GO_MS)
#define ARM_MS_MAX 1000 /* while others hold the lock: inserters, or another relay */
#define RENEW_MS 3000   /* well within the lease */
#define RETRY_MS 1000
#define RETRY_MS_MAX 30000
#define ABSENT_MS 30000 /* until the trigger is looked for again */

struct waker {
    struct listener *listener;
    struct wake *wake;
    const struct stop *stop;
    bool warned;      /* that nothing is heard here */
    int failures;     /* to connect, in a row */
    int64_t pause_ms; /* between two tries to arm */
    int64_t arm_ms;   /* when it may be tried again */
    int64_t renew_ms;
    int64_t let_go_ms; /* when it is let go; 0: not yet known */
    int64_t armed_ms;  /* since when it is, or was */
    int64_t hold_ms;   /* how long it then stays unarmed */
};

static int64_t fail(struct waker *waker, const struct error *error)
{
    int64_t retry_ms = RETRY_MS;

    for (int i = 0; i < waker->failures && retry_ms < RETRY_MS_MAX; i++)
        retry_ms *= 2;
    if (++waker->failures == 3) /* when the database is away, the lanes say so first */
        log_warn("inserts do not wake this relay, it polls: %s", error->text);
    return retry_ms < RETRY_MS_MAX ? retry_ms : RETRY_MS_MAX;
}

static void begin(struct waker *waker)
{
    if (waker->failures > 2 || waker->warned)
        log_info("inserts wake this relay again");
    waker->failures = 0;
    waker->warned = false;
    waker->pause_ms = ARM_MS;
    waker->hold_ms = ARM_MS;
    waker->arm_ms = clock_now_ms();
    waker->renew_ms = clock_now_ms() + RENEW_MS;
    waker->let_go_ms = 0;
}

/* 0: it listens; else how long to wait before it is tried again. */
static int64_t get_ready(struct waker *waker)
{
    struct error error;

    switch (listener_connect(waker->listener, &error)) {
    case LISTENER_READY:
        begin(waker);
        return 0;
    case LISTENER_ABSENT:
        return ABSENT_MS;
    case LISTENER_DEAF:
        if (!waker->warned)
            log_warn("inserts do not wake this relay, it polls: %s", error.text);
        waker->warned = true;
        return ABSENT_MS;
    case LISTENER_FAILED:
        break;
    }
    return fail(waker, &error);
}

/* Where being armed is always brief, inserts are so many that polling is as fast, and cheaper for
 * them. */
static void arm_soon(struct waker *waker)
{
    int64_t lasted_ms = clock_now_ms() - waker->armed_ms;
    int64_t longer_ms = 2 * waker->hold_ms < HOLD_MS_MAX ? 2 * waker->hold_ms : HOLD_MS_MAX;

    waker->hold_ms = lasted_ms < BRIEF_MS ? longer_ms : ARM_MS;
    waker->pause_ms = ARM_MS;
    waker->arm_ms = clock_now_ms() + waker->hold_ms;
}

static int let_go(struct waker *waker, struct error *error)
{
    waker->let_go_ms = 0;
    arm_soon(waker);
    return listener_disarm(waker->listener, error);
}

/* At once where nobody looks, or where calls follow each other: so many inserts are not to wait for
 * each other longer than they must. */
static int let_go_soon(struct waker *waker, bool heard, struct error *error)
{
    int64_t now_ms = clock_now_ms();

    if (!listener_is_armed(waker->listener) || wake_is_armed(waker->wake))
        return 0;
    if (heard && waker->let_go_ms == 0) {
        waker->let_go_ms = now_ms + LET_GO_MS;
        return 0;
    }
    if (!heard && now_ms < waker->let_go_ms)
        return 0;
    wake_rouse(waker->wake);
    return let_go(waker, error);
}

/* While the lock cannot be had the pauses grow: an insert that is open for long costs little. */
static int try_to_arm(struct waker *waker, struct error *error)
{
    bool another;

    if (listener_arm(waker->listener, &another, error) < 0)
        return -1;
    waker->armed_ms = clock_now_ms();
    if (listener_is_armed(waker->listener))
        return wake_arm(waker->wake) ? 0 : let_go(waker, error);
    wake_cover(waker->wake, another);
    waker->arm_ms = clock_now_ms() + waker->pause_ms;
    waker->pause_ms = 2 * waker->pause_ms < ARM_MS_MAX ? 2 * waker->pause_ms : ARM_MS_MAX;
    return 0;
}

static bool wants_to_arm(struct waker *waker)
{
    return !listener_is_armed(waker->listener) && wake_is_quiet(waker->wake);
}

/* 0, or -1 when the connection is lost or inserts do not notify any more. */
static int attend(struct waker *waker, struct error *error)
{
    int64_t now_ms = clock_now_ms();
    bool heard = false;

    if (listener_hear(waker->listener, &heard, error) < 0)
        return -1;
    if (heard)
        wake_call(waker->wake);
    if (heard && !listener_is_armed(waker->listener)) {
        waker->pause_ms = ARM_MS;
        wake_rouse(waker->wake);
    }
    if (let_go_soon(waker, heard, error) < 0)
        return -1;
    if (now_ms >= waker->renew_ms) {
        waker->renew_ms = now_ms + RENEW_MS;
        return listener_renew(waker->listener, error);
    }
    return now_ms >= waker->arm_ms && wants_to_arm(waker) ? try_to_arm(waker, error) : 0;
}

static void wait_for_event(struct waker *waker)
{
    struct pollfd events[3] = {{.fd = listener_fd(waker->listener), .events = POLLIN},
                               {.fd = wake_fd(waker->wake), .events = POLLIN},
                               {.fd = waker->stop->fd, .events = POLLIN}};
    int64_t until_ms = waker->renew_ms;
    uint64_t told;

    if (listener_has_heard(waker->listener))
        return;
    if (waker->let_go_ms > 0 && waker->let_go_ms < until_ms)
        until_ms = waker->let_go_ms;
    if (wants_to_arm(waker) && waker->arm_ms < until_ms)
        until_ms = waker->arm_ms;
    if (poll(events, 3, clock_left_ms(until_ms)) > 0 && (events[1].revents & POLLIN) != 0)
        (void)!read(events[1].fd, &told, sizeof told);
}

/* What was not heard meanwhile is looked for, at the pace that the call starts afresh. */
static void lose(struct waker *waker, const struct error *error)
{
    log_debug("the listening connection ends: %s", error->text);
    listener_disconnect(waker->listener);
    wake_call(waker->wake);
    wake_rouse(waker->wake);
    (void)stop_wait(waker->stop, RETRY_MS);
}

void waker_run(const struct outbox_options *options, struct wake *wake, const struct stop *stop)
{
    struct waker waker = {.wake = wake, .stop = stop};
    struct error error;
    char name[48];

    lane_name_session(name, sizeof name, "listener");
    waker.listener = listener_open(options, name);
    if (waker.listener == NULL) {
        log_warn("inserts do not wake this relay: out of memory");
        return;
    }
    while (!stop_requested(stop)) {
        int64_t retry_ms = listener_fd(waker.listener) >= 0 ? 0 : get_ready(&waker);

        if (retry_ms > 0)
            (void)stop_wait(stop, retry_ms);
        else if (attend(&waker, &error) < 0)
            lose(&waker, &error);
        else
            wait_for_event(&waker);
    }
    listener_close(waker.listener);
}
