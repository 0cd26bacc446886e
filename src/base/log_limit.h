#ifndef BASE_LOG_LIMIT_H
#define BASE_LOG_LIMIT_H

#include "base/log.h"

#include <stdint.h>

/*
 * Bounds what one source of lines that others decide on (a server's warnings, a library's log) may
 * write: within a minute the same text once, digits ignored, and LOG_LIMIT_TEXTS different ones.
 * The other lines are counted, and the count is written before the next line and when the minute
 * ends. At most 2 * LOG_LIMIT_TEXTS + 1 lines a minute; no memory grows. Thread-safe.
 */

#define LOG_LIMIT_TEXTS 8
#define LOG_LIMIT_MS 60000

/* One for each source: static, and zero except for `lines`. */
struct log_limit {
    const char *lines; /* completes "N more ...": "warnings of the database" */
    struct log_limit *next;
    int64_t begin_ms;   /* when the minute began */
    int64_t counted_ms; /* since when `held` has counted */
    uint64_t held;
    uint64_t texts[LOG_LIMIT_TEXTS]; /* hashes of what was written in this minute */
    int text_count;                  /* or the number of lines, for log_limit_takes() */
    bool listed;
};

/* Writes the line, or counts it. `now_ms` is of clock_now_ms(), here and below. */
void log_limit_line(struct log_limit *limit, enum log_level level, int64_t now_ms,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* For lines that are written elsewhere: whether this one may be, of at most `lines` in a minute. If
 * not, it is counted. */
bool log_limit_takes(struct log_limit *limit, int lines, int64_t now_ms);

/* Of a trouble that lasts, a line is written when it begins and then once a minute. Whether one is
 * due at `now_ms`, which becomes *logged_ms: when the last one was written, 0: none was. */
bool log_limit_is_due(int64_t *logged_ms, int64_t now_ms);

/* The same for texts that differ in digits only. */
uint64_t log_limit_hash(const char *text);

/* Writes the counts of all minutes that have ended; to be called about once a second. */
void log_limit_tick(int64_t now_ms);
/* Writes all counts: the program ends. */
void log_limit_flush(int64_t now_ms);

#endif
