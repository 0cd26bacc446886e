#include "relay/missing.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REPEAT_MS 60000

void missing_init(struct missing *missing, const struct relay_options *options)
{
    *missing = (struct missing){.options = options};
    (void)pthread_mutex_init(&missing->mutex, NULL);
}

static void log_missing(const struct missing *missing, const struct missing_destination *item,
                        enum log_level level, int64_t now_ms, const char *text)
{
    const struct sink_options *sink = &missing->options->sinks[item->sink];
    bool is_away = level != LOG_INFO;
    char hint[400];
    char lasted[40] = "";

    (void)snprintf(hint, sizeof hint,
                   strcmp(sink->type, "kafka") == 0
                       ? "create the topic, or set create = true in [sink.%s]; grant the relay the"
                         " right to write to it"
                       : "have the stream of [sink.%s] take this subject; grant the relay the right"
                         " to publish to it",
                   sink->name);
    if (now_ms > item->since_ms)
        (void)snprintf(lasted, sizeof lasted, " after %" PRId64 " s",
                       (now_ms - item->since_ms) / 1000);
    log_event(level,
              LOG_FIELDS(.sink = sink->name, .destination = text_of(item->name),
                         .error = is_away ? item->reason : NULL, .hint = is_away ? hint : NULL,
                         .since_ms = clock_wall_us() / 1000 - (now_ms - item->since_ms)),
              "%s%s", text, lasted);
}

/* NULL: the destination is not in the list. */
static struct missing_destination *find(struct missing *missing, int sink, struct text destination)
{
    size_t len = destination.len;

    if (len >= sizeof missing->items[0].name)
        len = sizeof missing->items[0].name - 1;
    for (int i = 0; i < missing->count; i++) {
        struct missing_destination *item = &missing->items[i];

        if (item->sink == sink && strlen(item->name) == len &&
            memcmp(item->name, destination.data, len) == 0)
            return item;
    }
    return NULL;
}

void missing_note(struct missing *missing, int sink, struct text destination, const char *reason,
                  int64_t now_ms)
{
    struct missing_destination *item;

    (void)pthread_mutex_lock(&missing->mutex);
    item = find(missing, sink, destination);
    if (item == NULL && missing->count < MISSING_MAX) {
        item = &missing->items[missing->count++];
        *item = (struct missing_destination){
            .sink = sink, .since_ms = now_ms, .noted_at_ms = now_ms, .logged_at_ms = now_ms};
        (void)snprintf(item->name, sizeof item->name, "%.*s", (int)destination.len,
                       destination.data);
        (void)snprintf(item->reason, sizeof item->reason, "%s", reason != NULL ? reason : "");
        log_missing(missing, item, LOG_WARN, now_ms,
                    "the destination takes no messages: its rows wait");
    } else if (item != NULL) {
        (void)snprintf(item->reason, sizeof item->reason, "%s", reason != NULL ? reason : "");
        item->noted_at_ms = now_ms;
    }
    (void)pthread_mutex_unlock(&missing->mutex);
}

void missing_end(struct missing *missing, int sink, struct text destination, int64_t now_ms)
{
    struct missing_destination *item;

    if (atomic_load_explicit(&missing->count, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&missing->mutex);
    item = find(missing, sink, destination);
    if (item != NULL) {
        log_missing(missing, item, LOG_INFO, now_ms, "the destination takes messages again");
        *item = missing->items[--missing->count];
    }
    (void)pthread_mutex_unlock(&missing->mutex);
}

void missing_tick(struct missing *missing, int64_t now_ms)
{
    int64_t silent_ms = 2 * missing->options->retry.backoff_max_ms + REPEAT_MS;

    (void)pthread_mutex_lock(&missing->mutex);
    for (int i = missing->count - 1; i >= 0; i--) {
        struct missing_destination *item = &missing->items[i];

        if (now_ms - item->noted_at_ms > silent_ms) {
            log_missing(missing, item, LOG_INFO, now_ms,
                        "no row is tried for the destination any more");
            *item = missing->items[--missing->count];
        } else if (now_ms - item->logged_at_ms >= REPEAT_MS) {
            item->logged_at_ms = now_ms;
            log_missing(missing, item, LOG_WARN, now_ms, "the destination still takes no messages");
        }
    }
    (void)pthread_mutex_unlock(&missing->mutex);
}
