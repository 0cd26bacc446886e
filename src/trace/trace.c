#include "trace/trace.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/log_limit.h"
#include "message/outcome.h"
#include "trace/collector.h"
#include "trace/document.h"
#include "trace/queue.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define BATCH_SPANS 512
#define LINGER_MS 1000 /* how long a span waits for others */
#define TRIES_MAX 5
#define BACKOFF_MS 1000
#define BACKOFF_MAX_MS 30000
#define FLUSH_MS 1000
#define JOIN_MS 500 /* a library may take longer to notice that its time is over */
#define INSPECT_MS 5000
#define SLOW_MS 1000

struct trace {
    struct span_queue queue;
    struct collector *collector;
    _Atomic(struct trace_options *) next; /* for the thread to take; NULL: none */
    struct trace_options *options;        /* the thread's; NULL: none yet */
    atomic_bool on;
    _Atomic int64_t leave_at_ms; /* INT64_MAX until the process ends */
    char instance[64];
    pthread_t thread;
    bool started;
    uint32_t random;
    int64_t logged_ms; /* when the trouble was logged last; 0: there is none */
    _Atomic uint64_t sent;
    _Atomic uint64_t failed;
    pthread_mutex_t lock; /* guards the next three */
    enum trace_state state;
    int64_t state_at_ms;
    char error[256];
};

void trace_init(void)
{
    collector_init();
}

/* ---- options ---- */

static void options_free(struct trace_options *options)
{
    if (options == NULL)
        return;
    free(options->endpoint);
    free(options->headers);
    free(options->service_name);
    free(options->tls_ca_file);
    free(options);
}

/* False: no memory. */
static bool copy_string(char **out, const char *string)
{
    *out = string != NULL ? strdup(string) : NULL;
    return string == NULL || *out != NULL;
}

static struct trace_options *options_copy(const struct trace_options *options)
{
    struct trace_options *copy = calloc(1, sizeof *copy);

    if (copy == NULL)
        return NULL;
    copy->timeout_ms = options->timeout_ms;
    if (copy_string(&copy->endpoint, options->endpoint) &&
        copy_string(&copy->headers, options->headers) &&
        copy_string(&copy->service_name, options->service_name) &&
        copy_string(&copy->tls_ca_file, options->tls_ca_file))
        return copy;
    options_free(copy);
    return NULL;
}

/* ---- the thread ---- */

static bool is_stopping(const struct trace *trace)
{
    return atomic_load(&trace->leave_at_ms) != INT64_MAX;
}

static void enter(struct trace *trace, enum trace_state state, const char *error)
{
    (void)pthread_mutex_lock(&trace->lock);
    if (state != trace->state)
        trace->state_at_ms = clock_now_ms();
    trace->state = state;
    (void)snprintf(trace->error, sizeof trace->error, "%s", error);
    (void)pthread_mutex_unlock(&trace->lock);
}

static void take_options(struct trace *trace)
{
    struct trace_options *next = atomic_exchange(&trace->next, NULL);

    if (next == NULL)
        return;
    options_free(trace->options);
    trace->options = next;
    trace->logged_ms = 0;
    enter(trace, next->endpoint != NULL ? TRACE_UNKNOWN : TRACE_OFF, "");
    if (collector_configure(trace->collector, next) < 0)
        log_error("trace: out of memory");
}

static void note_answer(struct trace *trace, const struct collector_answer *answer)
{
    bool is_well = answer->result == COLLECTOR_TOOK && answer->rejected == 0;

    if (!is_well && log_limit_is_due(&trace->logged_ms, clock_now_ms()))
        log_event(LOG_WARN, LOG_FIELDS(.error = answer->error),
                  "trace: the collector does not take spans; rows are sent all the same");
    if (is_well && trace->state != TRACE_UP)
        log_info("trace: the collector takes spans");
    if (is_well)
        trace->logged_ms = 0;
    enter(trace, is_well ? TRACE_UP : TRACE_AWAY, answer->error);
}

/* Lanes end single waits. */
static void wait_for_try(struct trace *trace, int64_t wait_ms)
{
    int64_t until_ms = clock_now_ms() + wait_ms;

    while (clock_left_ms(until_ms) > 0 && !is_stopping(trace))
        collector_wait(trace->collector, clock_left_ms(until_ms));
}

static int64_t wait_ms_after(struct trace *trace, const struct collector_answer *answer, int try)
{
    int64_t wait_ms = backoff_ms(BACKOFF_MS, BACKOFF_MAX_MS, try, backoff_random(&trace->random));

    if (answer->retry_after_ms > wait_ms)
        wait_ms = answer->retry_after_ms;
    return wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS;
}

/* Returns how many of the spans the collector took. */
static unsigned deliver(struct trace *trace, const struct document *document, unsigned count)
{
    struct collector_answer answer;

    for (int try = 1;; try++) {
        bool last = try == TRIES_MAX || is_stopping(trace);

        take_options(trace);
        if (trace->options->endpoint == NULL)
            return 0;
        collector_send(trace->collector, document, &trace->leave_at_ms, &answer);
        note_answer(trace, &answer);
        if (answer.result == COLLECTOR_TOOK)
            return count > answer.rejected ? count - answer.rejected : 0;
        if (answer.result == COLLECTOR_REFUSED || last)
            return 0;
        wait_for_try(trace, wait_ms_after(trace, &answer, try));
        if (clock_left_ms(atomic_load(&trace->leave_at_ms)) == 0)
            return 0;
    }
}

static void name_spans(struct trace *trace, unsigned count)
{
    static const char digits[] = "0123456789abcdef";

    for (unsigned i = 0; i < count; i++) {
        struct span *span = queue_at(&trace->queue, i);
        unsigned char random[SPAN_ID_BYTES / 2] = {0};

        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            random[0] = 1; /* an id of zeros is none */
        for (size_t j = 0; j < sizeof random; j++) {
            span->id[2 * j] = digits[random[j] >> 4];
            span->id[2 * j + 1] = digits[random[j] & 15];
        }
    }
}

/* Its place in the queue is free as soon as it is written down. */
static void send_batch(struct trace *trace, unsigned count)
{
    struct document document;
    unsigned took = 0;

    name_spans(trace, count);
    document = document_make(&trace->queue, count, trace->options->service_name, trace->instance);
    queue_remove(&trace->queue, count);
    if (document.text != NULL)
        took = deliver(trace, &document, count);
    free(document.text);
    (void)atomic_fetch_add(&trace->sent, took);
    (void)atomic_fetch_add(&trace->failed, count - took);
}

static void send_waiting(struct trace *trace)
{
    unsigned count;

    while (clock_left_ms(atomic_load(&trace->leave_at_ms)) > 0 &&
           (count = queue_count(&trace->queue)) > 0)
        send_batch(trace, count < BATCH_SPANS ? count : BATCH_SPANS);
}

static void *run(void *argument)
{
    struct trace *trace = argument;

    (void)background_enter();
    while (!is_stopping(trace)) {
        take_options(trace);
        send_waiting(trace);
        if (!is_stopping(trace))
            collector_wait(trace->collector, LINGER_MS);
    }
    send_waiting(trace);
    return NULL;
}

/* ---- for other threads ---- */

static int start(struct trace *trace)
{
    if (trace->started)
        return 0;
    if (queue_open(&trace->queue) < 0 || pthread_create(&trace->thread, NULL, run, trace) != 0)
        return -1;
    trace->started = true;
    return 0;
}

void trace_configure(struct trace *trace, const struct trace_options *options)
{
    struct trace_options *copy = trace != NULL ? options_copy(options) : NULL;

    if (trace == NULL || (options->endpoint == NULL && !trace->started)) {
        options_free(copy);
        return;
    }
    if (copy != NULL)
        options_free(atomic_exchange(&trace->next, copy));
    if (copy == NULL || start(trace) < 0) {
        log_error("trace: no memory or no thread: spans are made as before, or not at all");
        return;
    }
    atomic_store(&trace->on, options->endpoint != NULL);
    collector_wake(trace->collector);
}

struct trace *trace_open(const struct trace_options *options, const char *instance)
{
    struct trace *trace = calloc(1, sizeof *trace);

    if (trace != NULL)
        trace->collector = collector_open();
    if (trace == NULL || trace->collector == NULL) {
        log_error("trace: out of memory: no spans are made");
        free(trace);
        return NULL;
    }
    queue_init(&trace->queue);
    (void)pthread_mutex_init(&trace->lock, NULL);
    atomic_init(&trace->leave_at_ms, INT64_MAX);
    (void)snprintf(trace->instance, sizeof trace->instance, "%s", instance);
    trace->state_at_ms = clock_now_ms();
    trace->random = (uint32_t)trace->state_at_ms;
    trace_configure(trace, options);
    return trace;
}

/* A thread that libcurl keeps is left behind with what it uses: the process ends. */
static bool join(struct trace *trace)
{
    struct timespec until;

    atomic_store(&trace->leave_at_ms, clock_now_ms() + FLUSH_MS);
    collector_wake(trace->collector);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (FLUSH_MS + JOIN_MS) / 1000;
    until.tv_nsec += (FLUSH_MS + JOIN_MS) % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_timedjoin_np(trace->thread, NULL, &until) == 0;
}

void trace_close(struct trace *trace)
{
    struct trace_report report;

    if (trace == NULL)
        return;
    atomic_store(&trace->on, false);
    if (trace->started && !join(trace)) {
        log_warn("trace: the last spans were not sent in time");
        return;
    }
    trace_read(trace, &report);
    if (report.waiting + report.dropped + report.failed > 0)
        log_warn("trace: of %" PRIu64 " spans %" PRIu64 " were sent",
                 report.sent + report.waiting + report.dropped + report.failed, report.sent);
    collector_close(trace->collector);
    options_free(trace->options);
    options_free(atomic_exchange(&trace->next, NULL));
    queue_free(&trace->queue);
    (void)pthread_mutex_destroy(&trace->lock);
    free(trace);
}

bool trace_is_on(const struct trace *trace)
{
    return trace != NULL && atomic_load_explicit(&trace->on, memory_order_acquire);
}

void trace_put(struct trace *trace, const struct span *span)
{
    if (queue_put(&trace->queue, span) == BATCH_SPANS)
        collector_wake(trace->collector);
}

void trace_read(struct trace *trace, struct trace_report *out)
{
    *out = (struct trace_report){.state = TRACE_OFF};
    if (trace == NULL)
        return;
    out->waiting = queue_count(&trace->queue);
    out->sent = atomic_load(&trace->sent);
    out->failed = atomic_load(&trace->failed);
    out->dropped = atomic_load(&trace->queue.dropped);
    (void)pthread_mutex_lock(&trace->lock);
    out->state = trace->state;
    out->state_for_ms = clock_now_ms() - trace->state_at_ms;
    (void)snprintf(out->error, sizeof out->error, "%s", trace->error);
    (void)pthread_mutex_unlock(&trace->lock);
}

const char *trace_state_name(enum trace_state state)
{
    static const char *const names[] = {"off", "unknown", "up", "away"};

    return names[state];
}

/* ---- check ---- */

static void judge(const struct trace_options *options, const struct collector_answer *answer,
                  struct findings *findings)
{
    char url[512];

    (void)collector_url(url, sizeof url, options->endpoint);
    if (answer->error[0] != '\0')
        (void)findings_add(findings, FINDING_WARNING,
                           "trace: no spans reach %s: %s; rows are sent all the same", url,
                           answer->error);
    else if (answer->took_ms > SLOW_MS)
        (void)findings_add(findings, FINDING_WARNING,
                           "trace: %s takes spans, but its answer took %.1f s; spans that come"
                           " faster are dropped",
                           url, (double)answer->took_ms / 1000);
    else
        (void)findings_add(findings, FINDING_OK, "trace: %s takes spans", url);
}

void trace_inspect(const struct trace_options *options, struct findings *findings)
{
    const _Atomic int64_t leave_at_ms = clock_now_ms() + INSPECT_MS;
    struct document document = document_make(NULL, 0, "", "");
    struct collector_answer answer;
    struct collector *collector;

    if (options->endpoint == NULL) {
        free(document.text);
        return;
    }
    collector = collector_open();
    if (document.text != NULL && collector != NULL &&
        collector_configure(collector, options) == 0) {
        collector_send(collector, &document, &leave_at_ms, &answer);
        judge(options, &answer, findings);
    }
    collector_close(collector);
    free(document.text);
}
