#include "relay/missing.h"

#include "base/clock.h"
#include "base/log_limit.h"
#include "message/remedy.h"
#include "source/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void missing_init(struct missing *missing, const struct relay_options *options)
{
    *missing = (struct missing){.options = options};
    (void)pthread_mutex_init(&missing->mutex, NULL);
}

/* What a message without a sink lacks is a route for its topic. */
static struct text target_of(const struct message *message)
{
    return message->sink >= 0 ? message->destination : message->topic;
}

static void log_missing(const struct missing *missing, const struct missing_destination *item,
                        enum log_level level, int64_t now_ms, const char *text)
{
    const char *sink = item->sink >= 0 ? missing->options->sinks[item->sink].name : NULL;
    bool is_away = level != LOG_INFO;
    const struct remedy_names names = {.outbox = missing->options->outbox.table,
                                       .stays = missing->options->outbox.park != NULL};
    char buffer[REMEDY_BYTES];
    const char *remedy = remedy_write(buffer, sizeof buffer, item->reason, &names);
    char shown[sizeof item->name + 16];
    char lasted[40] = "";

    if (remedy == NULL) {
        (void)snprintf(buffer, sizeof buffer, "%s says what is wrong with it", source_check);
        remedy = buffer;
    }
    (void)snprintf(shown, sizeof shown, "%s", item->name);
    if (item->partition >= 0)
        (void)snprintf(shown, sizeof shown, "%s[%d]", item->name, item->partition);
    if (now_ms > item->since_ms)
        (void)snprintf(lasted, sizeof lasted, " after %" PRId64 " s",
                       (now_ms - item->since_ms) / 1000);
    log_event(level,
              LOG_FIELDS(.sink = sink, .destination = text_of(shown),
                         .error = is_away ? item->reason : NULL, .hint = is_away ? remedy : NULL,
                         .since_ms = clock_wall_us() / 1000 - (now_ms - item->since_ms)),
              "%s%s", text, lasted);
}

/* NULL: the destination is not in the list. */
static struct missing_destination *find(struct missing *missing, const struct message *message,
                                        int partition)
{
    struct text name = target_of(message);
    size_t len = name.len;

    if (len >= sizeof missing->items[0].name)
        len = sizeof missing->items[0].name - 1;
    for (int i = 0; i < missing->count; i++) {
        struct missing_destination *item = &missing->items[i];

        if (item->sink == message->sink && item->partition == partition &&
            strlen(item->name) == len && memcmp(item->name, name.data, len) == 0)
            return item;
    }
    return NULL;
}

void missing_note(struct missing *missing, const struct message *message, int64_t now_ms)
{
    const char *reason = message->reason != NULL ? message->reason : "";
    struct missing_destination *item;

    (void)pthread_mutex_lock(&missing->mutex);
    item = find(missing, message, message->partition);
    if (item == NULL && missing->count < MISSING_MAX) {
        item = &missing->items[missing->count++];
        *item = (struct missing_destination){.sink = message->sink,
                                             .partition = message->partition,
                                             .is_declined = message->verdict == VERDICT_DECLINED,
                                             .since_ms = now_ms,
                                             .noted_at_ms = now_ms,
                                             .logged_at_ms = now_ms};
        (void)snprintf(item->name, sizeof item->name, "%.*s", (int)target_of(message).len,
                       target_of(message).data);
        (void)snprintf(item->reason, sizeof item->reason, "%s", reason);
        log_missing(missing, item, LOG_WARN, now_ms,
                    item->is_declined ? "the configuration does not send these rows: they wait"
                                      : "the destination takes no messages: its rows wait");
    } else if (item != NULL) {
        (void)snprintf(item->reason, sizeof item->reason, "%s", reason);
        item->noted_at_ms = now_ms;
    }
    (void)pthread_mutex_unlock(&missing->mutex);
}

static void end(struct missing *missing, const struct message *message, int partition,
                int64_t now_ms)
{
    struct missing_destination *item = find(missing, message, partition);

    if (item != NULL) {
        log_missing(missing, item, LOG_INFO, now_ms, "the destination takes messages again");
        *item = missing->items[--missing->count];
    }
}

void missing_end(struct missing *missing, const struct message *message, int64_t now_ms)
{
    if (atomic_load_explicit(&missing->count, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&missing->mutex);
    end(missing, message, -1, now_ms);
    if (message->partition >= 0)
        end(missing, message, message->partition, now_ms);
    (void)pthread_mutex_unlock(&missing->mutex);
}

void missing_tick(struct missing *missing, int64_t now_ms)
{
    int64_t silent_ms = 2 * missing->options->retry.backoff_max_ms + LOG_LIMIT_MS;

    (void)pthread_mutex_lock(&missing->mutex);
    for (int i = missing->count - 1; i >= 0; i--) {
        struct missing_destination *item = &missing->items[i];

        if (now_ms - item->noted_at_ms > silent_ms) {
            if (!item->is_declined) /* they may wait without being tried here */
                log_missing(missing, item, LOG_INFO, now_ms,
                            "no row is tried for the destination any more");
            *item = missing->items[--missing->count];
        } else if (log_limit_is_due(&item->logged_at_ms, now_ms)) {
            log_missing(missing, item, LOG_WARN, now_ms,
                        item->is_declined ? "the configuration still does not send these rows"
                                          : "the destination still takes no messages");
        }
    }
    (void)pthread_mutex_unlock(&missing->mutex);
}
