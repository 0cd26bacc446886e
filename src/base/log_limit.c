/*
 * All limits are in one list, so that the main loop can write the counts of sources that have gone
 * quiet. One lock is enough: limited lines are rare.
 */
#include "base/log_limit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define TEXT_BYTES_MAX 2048 /* as much as a line of the log holds */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct log_limit *limits;

/* FNV-1a. Two texts of one hash in one minute: the second is counted, not written. */
uint64_t log_limit_hash(const char *text)
{
    uint64_t hash = 14695981039346656037U;

    for (; *text != '\0'; text++)
        if (*text < '0' || *text > '9')
            hash = (hash ^ (unsigned char)*text) * 1099511628211U;
    return hash;
}

static void list(struct log_limit *limit)
{
    if (limit->listed)
        return;
    limit->listed = true;
    limit->next = limits;
    limits = limit;
}

static void write_count(struct log_limit *limit, int64_t now_ms)
{
    if (limit->held > 0)
        log_warn("%" PRIu64 " more %s in the last %" PRId64 " s", limit->held, limit->lines,
                 (now_ms - limit->counted_ms + 999) / 1000);
    limit->held = 0;
}

static void begin_minute(struct log_limit *limit, int64_t now_ms)
{
    write_count(limit, now_ms);
    limit->text_count = 0;
    limit->begin_ms = now_ms;
}

static bool has_ended(const struct log_limit *limit, int64_t now_ms)
{
    return now_ms - limit->begin_ms >= LOG_LIMIT_MS;
}

static bool admits(struct log_limit *limit, uint64_t text, int64_t now_ms)
{
    if (limit->text_count == 0 || has_ended(limit, now_ms))
        begin_minute(limit, now_ms);
    for (int i = 0; i < limit->text_count; i++)
        if (limit->texts[i] == text)
            return false;
    if (limit->text_count == LOG_LIMIT_TEXTS)
        return false;
    limit->texts[limit->text_count++] = text;
    return true;
}

static void hold(struct log_limit *limit, int64_t now_ms)
{
    if (limit->held == 0)
        limit->counted_ms = now_ms;
    limit->held++;
}

bool log_limit_takes(struct log_limit *limit, int lines, int64_t now_ms)
{
    bool takes;

    (void)pthread_mutex_lock(&mutex);
    list(limit);
    if (limit->text_count == 0 || has_ended(limit, now_ms))
        begin_minute(limit, now_ms);
    takes = limit->text_count < lines;
    if (takes)
        limit->text_count++;
    else
        hold(limit, now_ms);
    (void)pthread_mutex_unlock(&mutex);
    return takes;
}

void log_limit_line(struct log_limit *limit, enum log_level level, int64_t now_ms,
                    const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list args;

    if (!log_wants(level))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)pthread_mutex_lock(&mutex);
    list(limit);
    if (admits(limit, log_limit_hash(text), now_ms)) {
        write_count(limit, now_ms);
        log_event(level, NULL, "%s", text);
    } else {
        hold(limit, now_ms);
    }
    (void)pthread_mutex_unlock(&mutex);
}

bool log_limit_is_due(int64_t *logged_ms, int64_t now_ms)
{
    if (*logged_ms != 0 && now_ms - *logged_ms < LOG_LIMIT_MS)
        return false;
    *logged_ms = now_ms;
    return true;
}

void log_limit_tick(int64_t now_ms)
{
    (void)pthread_mutex_lock(&mutex);
    for (struct log_limit *limit = limits; limit != NULL; limit = limit->next)
        if (has_ended(limit, now_ms))
            begin_minute(limit, now_ms);
    (void)pthread_mutex_unlock(&mutex);
}

void log_limit_flush(int64_t now_ms)
{
    (void)pthread_mutex_lock(&mutex);
    for (struct log_limit *limit = limits; limit != NULL; limit = limit->next)
        write_count(limit, now_ms);
    (void)pthread_mutex_unlock(&mutex);
}
