#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One line an event, to stderr, as logfmt or as a JSON object, with the same names:
 *
 *   time=2026-01-31T22:15:00.123Z level=warn msg="the row is dead" lane=1 row=42 error="no route"
 *
 * LOG_TEXT is logfmt, but on a terminal for people, as `check` writes it:
 *
 *   2026-01-31T22:15:00Z warn: the row is dead: no route (lane 1, row 42)
 *     fix: outbox-relay dead show 42
 *
 * Logging never blocks the relay: a line that stderr does not take at once is dropped and counted,
 * and the count is written when stderr takes lines again. No line holds a payload or a secret.
 */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON, LOG_LOGFMT };

/* What a line is about. What is 0, NULL or "" is not written. */
struct log_fields {
    int lane;
    const char *sink; /* its name */
    struct text destination;
    struct text row;   /* its id */
    const char *error; /* why */
    const char *hint;  /* what mends it */
    int64_t since_ms;  /* of CLOCK_REALTIME: when the state that the line is about began */
};

#define LOG_FIELDS(...) (&(const struct log_fields){__VA_ARGS__})

/* Another thread may log meanwhile. */
void log_configure(enum log_level level, enum log_format format);
bool log_wants(enum log_level level);

/* A line holds at most 4 KiB; a value that is longer is cut. Control bytes are escaped, quotes too:
 * each value but a number or a plain word is a JSON string. `fields` may be NULL. Thread-safe. */
void log_event(enum log_level level, const struct log_fields *fields, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(...) log_event(LOG_ERROR, NULL, __VA_ARGS__)
#define log_warn(...) log_event(LOG_WARN, NULL, __VA_ARGS__)
#define log_info(...) log_event(LOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...) log_event(LOG_DEBUG, NULL, __VA_ARGS__)

#endif
