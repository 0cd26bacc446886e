#include "http/sampler.h"

#include "base/clock.h"
#include "base/log.h"
#include "wake/stop.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_FACTOR 20 /* a pause lasts at least so many times as long as the measurement */
#define CLOSE_MS 500
#define START_LOOKS 50
#define START_LOOK_MS 200
#define RELAYS_MS 300000 /* how long relays are asked after sampler_want_relays() */
#define ANSWER_MS 300

struct sampler {
    const struct report *report; /* until a stop is requested */
    const struct relay_options *options;
    const char *sinks[SINKS_MAX];
    struct stop stop;
    pthread_t thread;
    _Atomic int64_t wanted_at_ms; /* when sampler_want_relays() was called last */
    uint64_t connects;            /* report_connects() when the session was opened */
    pthread_mutex_t lock;         /* guards the sample */
    struct sample sample;
};

static json_t *measure(struct sampler *sampler, struct admin *admin, struct error *error)
{
    int64_t wanted_ms = atomic_load(&sampler->wanted_at_ms);
    bool wanted = wanted_ms != 0 && clock_now_ms() - wanted_ms < RELAYS_MS;
    const struct status_query query = {.routes = &sampler->options->routes,
                                       .sinks = sampler->sinks,
                                       .sink_count = sampler->options->sink_count,
                                       .self = sampler->report->name,
                                       .wait_ms = wanted ? ANSWER_MS : 0,
                                       .count_max = SAMPLER_COUNT_MAX,
                                       .has_storage = true,
                                       .before = sampler->sample.document};

    return admin_status(admin, &query, error);
}

static bool knows_all(const json_t *document)
{
    return json_integer_value(json_object_get(document, "_unknown")) == 0;
}

static void log_unknown(const json_t *document)
{
    const json_t *attention = json_object_get(document, "attention");

    for (size_t i = 0; i < json_array_size(attention); i++) {
        const json_t *item = json_array_get(attention, i);
        const char *text = json_string_value(json_object_get(item, "text"));

        if (strncmp(text, "unknown: ", 9) == 0)
            log_event(LOG_WARN, LOG_FIELDS(.hint = json_string_value(json_object_get(item, "fix"))),
                      "http: of the figures of the database one is %s", text);
    }
}

static double figure(const json_t *document, const char *name)
{
    const json_t *value = json_object_get(document, name);

    return json_is_number(value) ? json_number_value(value) : -1;
}

/* An outbox without unsent rows has no oldest one. */
static void remember(struct sampler *sampler, const json_t *document, uint64_t sent)
{
    double unsent = figure(document, "unsent");

    history_add(&sampler->sample.history, clock_now_ms(), unsent,
                unsent == 0 ? 0 : figure(document, "oldest_seconds"), sent);
}

static void keep(struct sampler *sampler, json_t *document, uint64_t sent, int64_t began_ms)
{
    struct sample *sample = &sampler->sample;

    (void)pthread_mutex_lock(&sampler->lock);
    if (sample->has_failed && sample->is_connected)
        log_info("http: the figures of the database are up to date again");
    if (knows_all(sample->document) && !knows_all(document))
        log_unknown(document);
    json_decref(sample->document);
    sample->document = document;
    sample->has_failed = false;
    sample->taken_at_ms = clock_now_ms();
    sample->took_ms = sample->taken_at_ms - began_ms;
    remember(sampler, document, sent);
    (void)pthread_mutex_unlock(&sampler->lock);
}

static void fail(struct sampler *sampler, bool is_connected, uint64_t sent,
                 const struct error *error)
{
    /* When there is no connection, the lanes say so. */
    if (is_connected && !sampler->sample.has_failed)
        log_event(LOG_WARN, LOG_FIELDS(.error = error->text, .hint = error->hint),
                  "http: the figures of the database are not up to date");
    (void)pthread_mutex_lock(&sampler->lock);
    sampler->sample.has_failed = true;
    sampler->sample.is_connected = is_connected;
    sampler->sample.error = *error;
    remember(sampler, NULL, sent);
    (void)pthread_mutex_unlock(&sampler->lock);
}

/* The connection is kept as long as measurements succeed and the lanes keep theirs. Lanes leave a
 * primary that has become read-only, which a session that only reads would not notice. A new
 * connection reads the table's description again. */
static struct admin *sample(struct sampler *sampler, struct admin *admin)
{
    int64_t unsent_from = atomic_load(&sampler->report->unsent_from);
    uint64_t connects = report_connects(sampler->report);
    uint64_t sent =
        report_total(sampler->report, REPORT_SENT); /* before a query: a stop frees it */
    int64_t began_ms = clock_now_ms();
    json_t *document;
    struct error error;

    if (connects != sampler->connects) {
        admin_close(admin);
        admin = NULL;
    }
    if (admin == NULL) {
        sampler->connects = connects;
        admin = admin_open(&sampler->options->outbox, &error);
        if (admin == NULL) {
            fail(sampler, false, sent, &error);
            return NULL;
        }
        if (admin_gauges_begin(admin, &error) < 0) {
            fail(sampler, true, sent, &error);
            admin_close(admin);
            return NULL;
        }
    }
    admin_gauges_unsent_from(admin, unsent_from);
    document = measure(sampler, admin, &error);
    if (document != NULL) {
        keep(sampler, document, sent, began_ms);
        return admin;
    }
    fail(sampler, true, sent, &error);
    admin_close(admin);
    return NULL;
}

static void *run(void *argument)
{
    struct sampler *sampler = argument;
    struct admin *admin = NULL;
    int64_t wait_ms = 0;

    /* The first measurement may take long unless it is known where the unsent rows begin. */
    for (int i = 0; i < START_LOOKS && atomic_load(&sampler->report->unsent_from) == INT64_MIN; i++)
        if (stop_wait(&sampler->stop, START_LOOK_MS))
            return NULL;
    while (!stop_wait(&sampler->stop, wait_ms)) {
        int64_t began_ms = clock_now_ms();

        admin = sample(sampler, admin);
        wait_ms = PAUSE_FACTOR * (clock_now_ms() - began_ms);
        if (wait_ms < SAMPLER_MS)
            wait_ms = SAMPLER_MS;
        if (wait_ms > SAMPLER_MS_MAX)
            wait_ms = SAMPLER_MS_MAX;
    }
    admin_close(admin);
    return NULL;
}

struct sampler *sampler_open(const struct report *report)
{
    const struct relay_options *options = report->options;
    struct sampler *sampler = calloc(1, sizeof *sampler);

    if (sampler == NULL)
        return NULL;
    sampler->report = report;
    sampler->options = options;
    for (int i = 0; i < options->sink_count; i++)
        sampler->sinks[i] = options->sinks[i].name;
    (void)pthread_mutex_init(&sampler->lock, NULL);
    if (stop_init(&sampler->stop) == 0 && pthread_create(&sampler->thread, NULL, run, sampler) == 0)
        return sampler;
    stop_free(&sampler->stop);
    free(sampler);
    return NULL;
}

void sampler_close(struct sampler *sampler)
{
    struct timespec until;

    if (sampler == NULL)
        return;
    stop_request(&sampler->stop);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += CLOSE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    if (pthread_timedjoin_np(sampler->thread, NULL, &until) != 0) {
        (void)pthread_detach(sampler->thread);
        return;
    }
    json_decref(sampler->sample.document);
    stop_free(&sampler->stop);
    (void)pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}

const struct sample *sampler_lock(struct sampler *sampler)
{
    (void)pthread_mutex_lock(&sampler->lock);
    return &sampler->sample;
}

void sampler_unlock(struct sampler *sampler)
{
    (void)pthread_mutex_unlock(&sampler->lock);
}

void sampler_want_relays(struct sampler *sampler)
{
    atomic_store(&sampler->wanted_at_ms, clock_now_ms());
}
