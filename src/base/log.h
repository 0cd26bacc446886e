#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

/*
 * One line an event, to stderr. Logging never blocks the relay: a line that stderr does not take
 * at once is dropped and counted, and the count is written when stderr takes lines again.
 */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

void log_configure(enum log_level level, enum log_format format);
bool log_wants(enum log_level level);

/* A line holds at most 2 KiB; what is longer is cut. Control bytes are escaped. Thread-safe. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
