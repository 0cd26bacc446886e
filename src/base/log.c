#include "base/log.h"

#include "base/text.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES_MAX 2048
#define TEXT_BYTES_MAX (LINE_BYTES_MAX - 96) /* around it stand 65 bytes at most */

static enum log_level level_max = LOG_INFO;
static enum log_format line_format = LOG_TEXT;
static unsigned long dropped;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void log_configure(enum log_level level, enum log_format format)
{
    level_max = level;
    line_format = format;
}

bool log_wants(enum log_level level)
{
    return level <= level_max;
}

static const char *level_name(enum log_level level)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};

    return names[level];
}

static size_t render(char *line, size_t size, enum log_level level, const char *text)
{
    struct timespec now;
    struct tm utc;
    char when[32];
    int len;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &utc);
    len = snprintf(line, size,
                   line_format == LOG_JSON
                       ? "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"message\":\"%s\"}\n"
                       : "%s.%03ldZ %s %s\n",
                   when, now.tv_nsec / 1000000, level_name(level), text);
    return len < 0 ? 0 : (size_t)len < size ? (size_t)len : size - 1;
}

/* stderr is shared with whoever started us, so it is not made non-blocking: a pipe that poll(2)
 * calls writable takes PIPE_BUF bytes without blocking. */
static bool stderr_takes_a_line(void)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0;
}

static bool write_line(enum log_level level, const char *text)
{
    char line[LINE_BYTES_MAX];
    size_t len = render(line, sizeof line, level, text);

    return stderr_takes_a_line() && write(STDERR_FILENO, line, len) >= 0;
}

static void report_dropped(void)
{
    char text[80];

    if (dropped == 0)
        return;
    (void)snprintf(text, sizeof text, "%lu log lines were dropped: stderr was not read", dropped);
    if (write_line(LOG_WARN, text))
        dropped = 0;
}

void log_line(enum log_level level, const char *format, ...)
{
    char raw[TEXT_BYTES_MAX + 1]; /* one more, so that escaping marks the cut */
    char text[TEXT_BYTES_MAX];
    va_list args;

    if (!log_wants(level))
        return;
    va_start(args, format);
    (void)vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (line_format == LOG_JSON)
        text_escape_json(text, sizeof text, raw, strlen(raw));
    else
        text_escape(text, sizeof text, raw, strlen(raw));
    (void)pthread_mutex_lock(&mutex);
    report_dropped();
    if (!write_line(level, text))
        dropped++;
    (void)pthread_mutex_unlock(&mutex);
}
