/*
 * Runs the lanes, the janitor and the watcher as threads. Only the main thread receives signals.
 * There are no signal handlers: signals are blocked before the first thread starts and read from a
 * file descriptor. After the first SIGTERM or SIGINT each lane finishes its current batch. After a
 * second one, or the shutdown timeout, the process exits at once, and the database rolls back the
 * claims.
 */
#include "relay/relay.h"

#include "base/bounded_call.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/supervisor.h"
#include "broker/broker.h"
#include "relay/changes.h"
#include "relay/janitor.h"
#include "relay/lane.h"
#include "relay/memory.h"
#include "relay/watcher.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOP_MS 1000   /* at most, between two loops of the main thread */
#define STARTING_MS 50 /* the same until a lane has tried to connect */
#define EXIT_MS 5000   /* more than the end of the process takes after shutdown_timeout */

struct worker {
    pthread_t thread;
    struct lane lane;
    struct relay *relay;
    _Atomic enum lane_end end;
    bool started;
};

struct relay {
    const struct relay_options *options;
    bool drain;
    void (*on_tick)(void *closure); /* called about once a second; NULL: none */
    void *closure;
    const struct relay_options *(*read_options)(void *closure); /* NULL: SIGHUP changes nothing */
    void *read_closure;
    int64_t shutdown_timeout_ms;
    _Atomic int64_t retention_ms;
    struct stop stop;
    struct worker *workers;
    struct wake *wake;
    struct source *source;
    pthread_t janitor;
    pthread_t watcher;
    bool janitor_started;
    bool watcher_started;
    struct stop
        watcher_stop;   /* requested after the lanes have ended, which need the watcher's flushes */
    atomic_int running; /* running threads */
    atomic_int lanes_running; /* running threads that are lanes */
    struct report report;
    struct trouble watcher_trouble;
    struct changes changes;
    pthread_mutex_t changes_lock; /* guards `changes` while lanes run */
    bool first_try_done;          /* a lane has reached its servers, or has failed to */
    bool is_ready;                /* the supervisor has been told so */
    struct missing missing;
    struct memory memory; /* what was acknowledged to the lanes */
    _Atomic bool worked;  /* a step of a lane has succeeded */
    int ended_fd;         /* eventfd(2): readable when a lane has ended */
    int signals_fd;       /* signalfd(2) */
};

static void note_end(struct relay *relay)
{
    uint64_t one = 1;

    (void)atomic_fetch_sub(&relay->running, 1);
    if (write(relay->ended_fd, &one, sizeof one) < 0)
        log_event(LOG_ERROR, LOG_FIELDS(.error = strerror(errno)), "eventfd failed");
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    struct relay *relay = worker->relay;

    worker->end = lane_run(&worker->lane, relay->drain);
    /* This may take seconds while a server is away, so supervise() still counts the lane. */
    if (worker->end == LANE_DRAINED && worker == relay->workers)
        lane_close_brokers(&worker->lane); /* judge_drained() asks by its session */
    else
        lane_close(&worker->lane);
    lane_report_enter(&worker->lane.report, LANE_IS_ENDED);
    (void)atomic_fetch_sub(&relay->lanes_running, 1);
    note_end(relay);
    return NULL;
}

static void *run_janitor(void *argument)
{
    struct relay *relay = argument;

    janitor_run(&relay->options->outbox, &relay->retention_ms, &relay->stop);
    note_end(relay);
    return NULL;
}

static void *run_watcher(void *argument)
{
    struct relay *relay = argument;
    const struct watcher_shared shared = {.options = &relay->options->outbox,
                                          .source = relay->source,
                                          .wake = relay->drain ? NULL : relay->wake,
                                          .report = &relay->report,
                                          .memory = &relay->memory,
                                          .stop = &relay->watcher_stop};

    watcher_run(&shared);
    note_end(relay);
    return NULL;
}

static int open_signals(struct error *error)
{
    sigset_t set;
    int fd;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        (void)error_set(error, ERROR_FATAL, ERROR_SELF, "signalfd: %s", strerror(errno));
    return fd;
}

static int start_thread(struct relay *relay, pthread_t *thread, void *(*run)(void *argument),
                        void *argument, struct error *error)
{
    int status;

    (void)atomic_fetch_add(&relay->running, 1);
    status = pthread_create(thread, NULL, run, argument);
    if (status == 0)
        return 0;
    (void)atomic_fetch_sub(&relay->running, 1);
    return error_set(error, ERROR_FATAL, ERROR_SELF, "pthread_create: %s", strerror(status));
}

static int start_lanes(struct relay *relay, struct error *error)
{
    for (int i = 0; i < relay->options->lanes; i++) {
        struct worker *worker = &relay->workers[i];

        (void)atomic_fetch_add(&relay->lanes_running, 1);
        worker->started = start_thread(relay, &worker->thread, run_worker, worker, error) == 0;
        if (!worker->started) {
            (void)atomic_fetch_sub(&relay->lanes_running, 1);
            return -1;
        }
    }
    return 0;
}

/* The relay works without a janitor, so a failure is only logged. */
static void start_janitor(struct relay *relay)
{
    struct error error;

    relay->janitor_started = start_thread(relay, &relay->janitor, run_janitor, relay, &error) == 0;
    if (!relay->janitor_started)
        log_warn("cannot start the janitor's thread: sent rows are not purged");
}

static int start_watcher(struct relay *relay, struct error *error)
{
    int status = start_thread(relay, &relay->watcher, run_watcher, relay, error);

    relay->watcher_started = status == 0;
    return status;
}

static void request_stop(struct relay *relay)
{
    stop_request(&relay->stop);
    wake_stop(relay->wake);
}

/* Nobody waits any more for a connection that is being made: it would serve nothing. */
static void request_stop_in_a_hurry(struct relay *relay)
{
    bounded_call_hurry(true);
    request_stop(relay);
}

/* Tells systemd that the relay is ready once the first lane has reached the database and a broker,
 * or waits for one of them. Waiting for servers is part of its work; failing to start would not
 * help. */
static void tell_supervisor(struct relay *relay, const struct relay_report *report)
{
    char status[400];

    if (!relay->first_try_done)
        return;
    changes_describe(&relay->changes, report, status, sizeof status);
    supervisor_notify("%s%sSTATUS=%s", relay->is_ready ? "" : "READY=1\n",
                      relay->changes.stuck ? "" : "WATCHDOG=1\n", status);
    relay->is_ready = true;
}

/* Callable from any thread. */
static void log_connections(void *closure)
{
    struct relay *relay = closure;
    struct relay_report report;

    (void)pthread_mutex_lock(&relay->changes_lock);
    report_read(&relay->report, &report);
    changes_log(&relay->changes, &report);
    (void)pthread_mutex_unlock(&relay->changes_lock);
}

/* The error that ends the process is logged on exit, not here. */
static void log_changes(struct relay *relay, int64_t now_ms)
{
    struct relay_report report;

    for (int i = 0; i < relay->options->lanes; i++)
        if (atomic_load(&relay->workers[i].end) == LANE_FAILED)
            return;
    (void)pthread_mutex_lock(&relay->changes_lock);
    report_read(&relay->report, &report);
    changes_log(&relay->changes, &report);
    relay->first_try_done = relay->first_try_done || changes_are_known(&report);
    missing_tick(&relay->missing, now_ms);
    tell_supervisor(relay, &report);
    (void)pthread_mutex_unlock(&relay->changes_lock);
}

static bool a_lane_failed(const struct relay *relay)
{
    return atomic_load(&relay->lanes_running) < relay->options->lanes && !relay->drain;
}

static void reload(struct relay *relay)
{
    const struct relay_options *options;

    supervisor_notify("RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_now_us());
    options = relay->read_options != NULL ? relay->read_options(relay->read_closure) : NULL;
    relay->is_ready = false;
    if (options == NULL)
        return;
    relay->shutdown_timeout_ms = options->shutdown_timeout_ms;
    atomic_store(&relay->retention_ms, options->outbox.retention_ms);
    wake_set_poll(relay->wake, options->poll_interval_ms);
    report_set_limits(&relay->report, options);
    for (int i = 0; i < relay->options->lanes; i++)
        if (lane_offer_options(&relay->workers[i].lane, options) < 0)
            log_error("out of memory: lane %d keeps its old configuration", i + 1);
}

/* Reads a pending signal, if any. Returns whether it asks the process to end. */
static bool was_signalled(struct relay *relay)
{
    struct signalfd_siginfo info;

    if (read(relay->signals_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    if (info.ssi_signo != SIGHUP)
        return true;
    reload(relay);
    return false;
}

static void wait_for_event(struct relay *relay, int64_t wait_ms)
{
    struct pollfd events[2] = {{.fd = relay->signals_fd, .events = POLLIN},
                               {.fd = relay->ended_fd, .events = POLLIN}};
    uint64_t ended;

    if (poll(events, 2, (int)wait_ms) > 0 && (events[1].revents & POLLIN) != 0)
        (void)!read(relay->ended_fd, &ended, sizeof ended);
}

/* Waits until all threads have ended. False: the process must exit at once. */
static bool supervise(struct relay *relay)
{
    int64_t leave_at_ms = INT64_MAX;
    bool signalled = false; /* only a signal counts here: a lane that fails requests a stop too */

    while (atomic_load(&relay->running) > 0) {
        int64_t now_ms;

        if (atomic_load(&relay->lanes_running) == 0)
            stop_request(&relay->watcher_stop);
        wait_for_event(relay, relay->first_try_done ? LOOP_MS : STARTING_MS);
        now_ms = clock_now_ms();
        log_limit_tick(now_ms);
        atomic_store(&relay->report.loop_at_ms, now_ms);
        atomic_store(&relay->report.still_ms, source_stands_still_ms(relay->source));
        atomic_store(&relay->report.unsent_from, source_unsent_from(relay->source));
        if (relay->on_tick != NULL)
            relay->on_tick(relay->closure);
        if (was_signalled(relay)) {
            if (signalled)
                return false;
            signalled = true;
            log_info("stopping: finishing the current batches");
            /* Its own limit on the time to stop may be shorter. */
            supervisor_notify("STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRId64
                              "\nSTATUS=finishing the current batches",
                              (relay->shutdown_timeout_ms + EXIT_MS) * 1000);
            if (!stop_requested(&relay->stop))
                leave_at_ms = now_ms + relay->shutdown_timeout_ms;
            request_stop_in_a_hurry(relay);
        }
        if (a_lane_failed(relay) && !stop_requested(&relay->stop)) {
            leave_at_ms = now_ms + relay->shutdown_timeout_ms;
            request_stop_in_a_hurry(relay);
        }
        if (now_ms > leave_at_ms)
            return false;
        log_changes(relay, now_ms);
    }
    return true;
}

/* Counts again after the last lane has ended, because a row that one lane saw parked may have been
 * sent by another. */
static enum relay_result judge_drained(const struct relay *relay, struct error *error)
{
    struct outbox *outbox = relay->workers[0].lane.outbox;
    bool due = false;
    int parked = 0;

    bounded_call_hurry(false);
    if (outbox_ready(outbox, error) < 0 || outbox_remaining(outbox, NULL, &due, &parked, error) < 0)
        return RELAY_FAILED;
    return parked > 0 ? RELAY_LEFTOVER : RELAY_DRAINED;
}

static enum relay_result judge(const struct relay *relay, struct error *error)
{
    bool drained = true;

    for (int i = 0; i < relay->options->lanes; i++) {
        const struct worker *worker = &relay->workers[i];

        if (worker->end == LANE_FAILED) {
            *error = worker->lane.error;
            return RELAY_FAILED;
        }
        drained = drained && worker->end == LANE_DRAINED;
    }
    return drained ? judge_drained(relay, error) : RELAY_STOPPED;
}

static void join(struct relay *relay)
{
    request_stop(relay);
    for (int i = 0; i < relay->options->lanes; i++)
        if (relay->workers[i].started)
            (void)pthread_join(relay->workers[i].thread, NULL);
    if (relay->janitor_started)
        (void)pthread_join(relay->janitor, NULL);
    stop_request(&relay->watcher_stop);
    if (relay->watcher_started)
        (void)pthread_join(relay->watcher, NULL);
}

void relay_on_tick(struct relay *relay, void (*on_tick)(void *closure), void *closure)
{
    relay->on_tick = on_tick;
    relay->closure = closure;
}

void relay_on_hangup(struct relay *relay, const struct relay_options *(*read)(void *closure),
                     void *closure)
{
    relay->read_options = read;
    relay->read_closure = closure;
}

void relay_trace(struct relay *relay, struct trace *trace)
{
    relay->report.trace = trace;
    for (int i = 0; i < relay->options->lanes; i++)
        relay->workers[i].lane.trace = trace;
}

enum relay_result relay_run(struct relay *relay, struct error *error)
{
    int started = start_watcher(relay, error);
    struct relay_report report;
    struct report_totals totals;

    if (started == 0)
        started = start_lanes(relay, error);
    if (started == 0 && !relay->drain)
        start_janitor(relay);
    if (started == 0 && !supervise(relay))
        return RELAY_ABORTED;
    if (started == 0)
        log_changes(relay, clock_now_ms());
    join(relay);
    if (started < 0)
        return RELAY_FAILED;
    report_read(&relay->report, &report);
    totals = report_totals(&report, REPORT_ALL);
    if (relay->changes.relaying)
        log_info("sent %" PRIu64 " in all, parked %" PRIu64 ", dead %" PRIu64, totals.sent,
                 totals.parked, totals.dead);
    return judge(relay, error);
}

static int open_lanes(struct relay *relay, struct error *error)
{
    for (int i = 0; i < relay->options->lanes; i++) {
        struct worker *worker = &relay->workers[i];

        worker->relay = relay;
        if (lane_init(&worker->lane, i + 1, relay->options, &relay->memory, &relay->stop, error) <
            0)
            return -1;
        worker->lane.wake = relay->wake;
        worker->lane.missing = &relay->missing;
        worker->lane.worked = &relay->worked;
        worker->lane.announce = log_connections;
        worker->lane.closure = relay;
        if (outbox_share(worker->lane.outbox, relay->source) < 0)
            return error_no_memory(error);
        report_add_lane(&relay->report, &worker->lane.report);
    }
    return 0;
}

static int open_all(struct relay *relay, struct error *error)
{
    relay->workers = calloc((size_t)relay->options->lanes, sizeof *relay->workers);
    relay->wake = wake_open(relay->options->lanes, relay->options->poll_interval_ms);
    relay->source = source_open(&relay->options->outbox);
    relay->ended_fd = eventfd(0, EFD_CLOEXEC);
    relay->signals_fd = open_signals(error);
    if (relay->workers == NULL || relay->wake == NULL || relay->source == NULL)
        return error_no_memory(error);
    if (stop_init(&relay->stop) < 0 || stop_init(&relay->watcher_stop) < 0 || relay->ended_fd < 0)
        return error_set(error, ERROR_FATAL, ERROR_SELF, "eventfd: %s", strerror(errno));
    return relay->signals_fd < 0 ? -1 : open_lanes(relay, error);
}

void relay_close(struct relay *relay)
{
    if (relay == NULL)
        return;
    for (int i = 0; relay->workers != NULL && i < relay->options->lanes; i++)
        lane_close(&relay->workers[i].lane);
    if (relay->ended_fd >= 0)
        (void)close(relay->ended_fd);
    if (relay->signals_fd >= 0)
        (void)close(relay->signals_fd);
    stop_free(&relay->stop);
    stop_free(&relay->watcher_stop);
    wake_close(relay->wake);
    source_close(relay->source);
    free(relay->workers);
    memory_free(&relay->memory);
    free(relay);
    broker_end();
}

struct relay *relay_open(const struct relay_options *options, bool drain, struct error *error)
{
    struct relay *relay = calloc(1, sizeof *relay);

    if (relay == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    *relay = (struct relay){.options = options,
                            .drain = drain,
                            .ended_fd = -1,
                            .signals_fd = -1,
                            .stop.fd = -1,
                            .watcher_stop.fd = -1};
    relay->shutdown_timeout_ms = options->shutdown_timeout_ms;
    atomic_init(&relay->retention_ms, options->outbox.retention_ms);
    report_init(&relay->report, options);
    lane_name_session(relay->report.name, sizeof relay->report.name, "");
    relay->report.name[strcspn(relay->report.name, "/")] = '\0';
    trouble_init(&relay->watcher_trouble);
    relay->report.watcher = &relay->watcher_trouble;
    changes_init(&relay->changes, options);
    (void)pthread_mutex_init(&relay->changes_lock, NULL);
    missing_init(&relay->missing, options);
    if (memory_init(&relay->memory) < 0)
        (void)error_no_memory(error);
    else if (open_all(relay, error) == 0)
        return relay;
    relay_close(relay);
    return NULL;
}

const struct report *relay_report(const struct relay *relay)
{
    return &relay->report;
}
