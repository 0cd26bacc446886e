#include "base/log.h"

#include "base/clock.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES_MAX PIPE_BUF /* a pipe that can be written takes so much without blocking */

/* Of values, escaped. Their sum leaves a quarter of a line for the message. */
#define SINK_BYTES_MAX 80
#define DESTINATION_BYTES_MAX 288
#define ROW_BYTES_MAX 80
#define ERROR_BYTES_MAX 1100
#define HINT_BYTES_MAX 1200

struct line {
    char bytes[LINE_BYTES_MAX];
    size_t len;
};

static const char *const levels[] = {"error", "warn", "info", "debug"};
static _Atomic enum log_level level_max = LOG_INFO;
static _Atomic enum log_format line_format = LOG_TEXT;
static unsigned long dropped;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void log_configure(enum log_level level, enum log_format format)
{
    atomic_store(&level_max, level);
    atomic_store(&line_format, format);
}

bool log_wants(enum log_level level)
{
    return level <= atomic_load(&level_max);
}

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    size_t room = sizeof line->bytes - line->len;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line->bytes + line->len, room, format, args);
    va_end(args);
    if (len > 0)
        line->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void put_name(struct line *line, enum log_format format, const char *name)
{
    put(line, format == LOG_JSON ? ",\"%s\":" : " %s=", name);
}

/* A word that no reader of logfmt takes for more than one. */
static bool is_plain(struct text value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char byte = (unsigned char)value.data[i];

        if (byte <= ' ' || byte >= 0x7F || byte == '"' || byte == '=' || byte == '\\')
            return false;
    }
    return value.len > 0;
}

/* A string of JSON is one of logfmt too. */
static void put_string(struct line *line, enum log_format format, const char *name,
                       struct text value, size_t bytes_max)
{
    char escaped[LINE_BYTES_MAX];

    (void)text_escape_json(escaped, bytes_max, value.data, value.len);
    put_name(line, format, name);
    put(line, format != LOG_JSON && is_plain(value) && value.len < bytes_max ? "%s" : "\"%s\"",
        escaped);
}

static void put_field(struct line *line, enum log_format format, const char *name,
                      struct text value, size_t bytes_max)
{
    if (value.len > 0)
        put_string(line, format, name, value, bytes_max);
}

static void put_fields(struct line *line, enum log_format format, const struct log_fields *fields)
{
    char since[40] = "";

    if (fields->lane != 0) {
        put_name(line, format, "lane");
        put(line, "%d", fields->lane);
    }
    if (fields->since_ms != 0)
        (void)clock_utc(since, fields->since_ms, true);
    put_field(line, format, "sink", text_of(fields->sink), SINK_BYTES_MAX);
    put_field(line, format, "destination", fields->destination, DESTINATION_BYTES_MAX);
    put_field(line, format, "row", fields->row, ROW_BYTES_MAX);
    put_field(line, format, "error", text_of(fields->error), ERROR_BYTES_MAX);
    put_field(line, format, "hint", text_of(fields->hint), HINT_BYTES_MAX);
    put_field(line, format, "since", text_of(since), sizeof since);
}

/* ---- for people ---- */

static void put_shown(struct line *line, const char *before, struct text value, size_t bytes_max)
{
    char shown[LINE_BYTES_MAX];

    if (value.len > 0)
        put(line, "%s%s", before, text_show(shown, bytes_max, value, false));
}

static void put_about(struct line *line, const struct log_fields *fields)
{
    struct line about = {.len = 0};
    char since[40] = "";

    if (fields->lane != 0)
        put(&about, ", lane %d", fields->lane);
    if (fields->since_ms != 0)
        (void)clock_utc(since, fields->since_ms / 1000 * 1000, true);
    put_shown(&about, ", sink ", text_of(fields->sink), SINK_BYTES_MAX);
    put_shown(&about, ", ", fields->destination, DESTINATION_BYTES_MAX);
    put_shown(&about, ", row ", fields->row, ROW_BYTES_MAX);
    put_shown(&about, ", since ", text_of(since), sizeof since);
    if (about.len > 0)
        put(line, " (%s)", about.bytes + 2);
}

static void render_for_people(struct line *line, enum log_level level, const char *text,
                              const struct log_fields *fields)
{
    char when[40];

    put(line, "%s %s", clock_utc(when, clock_wall_us() / 1000, false), levels[level]);
    put_shown(line, ": ", text_of(text), LINE_BYTES_MAX / 4);
    if (fields != NULL) {
        put_shown(line, ": ", text_of(fields->error), ERROR_BYTES_MAX);
        put_about(line, fields);
        put_shown(line, "\n  fix: ", text_of(fields->hint), HINT_BYTES_MAX);
    }
    put(line, "\n");
}

/* ---- for programs ---- */

/* The message gets what the fields leave. */
static void render(struct line *line, enum log_level level, const char *text,
                   const struct log_fields *fields)
{
    enum log_format format = atomic_load(&line_format);
    struct line end = {.len = 0};
    char when[40];

    if (fields != NULL)
        put_fields(&end, format, fields);
    put(&end, format == LOG_JSON ? "}\n" : "\n");
    put(line, format == LOG_JSON ? "{\"time\":\"%s\",\"level\":\"%s\"" : "time=%s level=%s",
        clock_utc(when, clock_wall_us() / 1000, true), levels[level]);
    put_name(line, format, "msg");
    put(line, "\"");
    (void)text_escape_json(line->bytes + line->len, sizeof line->bytes - line->len - end.len - 2,
                           text, strlen(text));
    line->len += strlen(line->bytes + line->len);
    put(line, "\"%s", end.bytes);
}

/* stderr is shared with whoever started us, so it is not made non-blocking: a pipe that poll(2)
 * calls writable takes PIPE_BUF bytes without blocking. */
static bool write_line(enum log_level level, const char *text, const struct log_fields *fields)
{
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    struct line line = {.len = 0};

    if (atomic_load(&line_format) == LOG_TEXT && isatty(STDERR_FILENO) == 1)
        render_for_people(&line, level, text, fields);
    else
        render(&line, level, text, fields);
    return poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0 &&
           write(STDERR_FILENO, line.bytes, line.len) >= 0;
}

static void report_dropped(void)
{
    char text[80];

    if (dropped == 0)
        return;
    (void)snprintf(text, sizeof text, "%lu log lines were dropped: stderr was not read", dropped);
    if (write_line(LOG_WARN, text, NULL))
        dropped = 0;
}

void log_event(enum log_level level, const struct log_fields *fields, const char *format, ...)
{
    char text[LINE_BYTES_MAX]; /* more than a line takes, so that escaping marks the cut */
    va_list args;

    if (!log_wants(level))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)pthread_mutex_lock(&mutex);
    report_dropped();
    if (!write_line(level, text, fields))
        dropped++;
    (void)pthread_mutex_unlock(&mutex);
}
