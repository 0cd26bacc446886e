#include "cli/status_text.h"

#include "cli/terminal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#define DAY_MS 86400000
#define LINE_BYTES 4096 /* a finding's text, or its fix, escaped */
#define RELAYS_SHOWN 6
#define INDENT "  "

char *status_count(char *out, size_t size, int64_t count)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%" PRId64, count);
    size_t at = 0;

    if (count < 0) {
        (void)snprintf(out, size, "unknown");
        return out;
    }
    for (int i = 0; i < len && at + 2 < size; i++) {
        out[at++] = digits[i];
        if (i + 1 < len && (len - i - 1) % 3 == 0)
            out[at++] = ',';
    }
    out[at] = '\0';
    return out;
}

char *status_age(char *out, size_t size, double seconds)
{
    int64_t whole = (int64_t)seconds;

    if (seconds < 10)
        (void)snprintf(out, size, "%.1f s", seconds);
    else if (whole < 60)
        (void)snprintf(out, size, "%" PRId64 " s", whole);
    else if (whole < 3600)
        (void)snprintf(out, size, "%" PRId64 " min %02" PRId64 " s", whole / 60, whole % 60);
    else if (whole < 86400)
        (void)snprintf(out, size, "%" PRId64 " h %02" PRId64 " min", whole / 3600,
                       whole % 3600 / 60);
    else
        (void)snprintf(out, size, "%" PRId64 " d %" PRId64 " h", whole / 86400,
                       whole % 86400 / 3600);
    return out;
}

/* In UTC, as all times that the program writes; with the date when that is another day. */
static const char *format_time(char *out, size_t size, int64_t unix_ms, int64_t now_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    bool is_today = unix_ms / DAY_MS == now_ms / DAY_MS;
    struct tm utc;

    if (gmtime_r(&seconds, &utc) == NULL ||
        strftime(out, size, is_today ? "%H:%M:%SZ" : "%FT%H:%M:%SZ", &utc) == 0)
        (void)snprintf(out, size, "?");
    return out;
}

static void put_line(FILE *out, int columns, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_line(FILE *out, int columns, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (columns > 0)
        (void)terminal_fit(line, sizeof line, line, columns);
    (void)fprintf(out, "%s\n", line);
}

static void put_summary(const struct status *status, const struct status_view *view, FILE *out)
{
    char count[32];
    char age[32];
    char next[64] = "";
    char now[32];
    char table[sizeof status->table];
    int columns = view->columns;

    put_line(out, columns, "%s at %s",
             terminal_text(table, sizeof table, text_of(status->table), false),
             format_time(now, sizeof now, status->taken_ms, status->taken_ms));
    put_line(out, columns, "backlog  %s%s%s%s", status_count(count, sizeof count, status->backlog),
             status->backlog_is_bound ? " or more" : "",
             status->backlog_oldest_s >= 0 ? ", oldest " : "",
             status->backlog_oldest_s >= 0 ? status_age(age, sizeof age, status->backlog_oldest_s)
                                           : "");
    if (status->next_try_s > 0)
        (void)snprintf(next, sizeof next, ", next try in %s",
                       status_age(age, sizeof age, status->next_try_s));
    else if (status->next_try_s == 0)
        (void)snprintf(next, sizeof next, ", next try now");
    put_line(
        out, columns, "parked   %s%s%s%s%s", status_count(count, sizeof count, status->parked),
        status->parked_is_bound ? " or more" : "", status->parked_oldest_s >= 0 ? ", oldest " : "",
        status->parked_oldest_s >= 0 ? status_age(age, sizeof age, status->parked_oldest_s) : "",
        status->parked > 0 ? next : "");
    if (status->scheduled > 0)
        put_line(out, columns, "scheduled  %s of them, until their time",
                 status_count(count, sizeof count, status->scheduled));
    if (status->refused > 0)
        put_line(out, columns, "refused  %s of them, by PostgreSQL",
                 status_count(count, sizeof count, status->refused));
    put_line(out, columns, "dead     %s%s%s%s", status_count(count, sizeof count, status->dead),
             status->dead_is_bound ? " or more" : "", status->dead_oldest_s >= 0 ? ", oldest " : "",
             status->dead_oldest_s >= 0 ? status_age(age, sizeof age, status->dead_oldest_s) : "");
    if (status->locks_keys[0] != '\0')
        put_line(out, columns, "order    the %s each key",
                 strcmp(status->locks_keys, "trigger") == 0 ? "trigger locks"
                                                            : "application must lock");
    if (status->per_s >= 0)
        put_line(out, columns, "rate     %s/s",
                 status_count(count, sizeof count, (int64_t)(status->per_s + 0.5)));
}

/* "[sink.events] kafka at HOST:PORT: " stands before what happened: both are known here. */
static const char *without_prefix(const char *error)
{
    const char *end = error[0] == '[' ? strstr(error, ": ") : NULL;

    return end != NULL ? end + 2 : error;
}

static void put_sink(const struct status *status, const struct status_sink *sink,
                     const struct status_view *view, FILE *out)
{
    bool away = strcmp(sink->state, "away") == 0;
    bool unknown = strcmp(sink->state, "unknown") == 0;
    char name[256];
    char error[1024];
    char order[128];
    char since[32];
    char count[32];
    char rows[64] = "";
    char line[LINE_BYTES];

    (void)terminal_text(name, sizeof name, text_of(sink->name), false);
    (void)terminal_text(error, sizeof error, text_of(without_prefix(sink->error)), false);
    (void)terminal_text(order, sizeof order, text_of(sink->order), false);
    (void)format_time(since, sizeof since, sink->since_ms, status->taken_ms);
    if (sink->rows > 0)
        (void)snprintf(rows, sizeof rows, ", %s%s", status_count(count, sizeof count, sink->rows),
                       status->backlog_is_bound ? " or more rows wait"
                       : sink->rows == 1        ? " row waits"
                                                : " rows wait");
    if (unknown && sink->rows <= 0)
        return;
    (void)snprintf(
        line, sizeof line, "%s: %s%s%s%s%s%s%s%s", name,
        unknown ? "no relay says how it is" : sink->state, sink->since_ms > 0 ? " since " : "",
        sink->since_ms > 0 ? since : "", away && error[0] != '\0' ? ", " : "", away ? error : "",
        rows, !away && order[0] != '\0' ? "; the events of a key leave " : "", away ? "" : order);
    if (!away || view->columns == 0 || terminal_width(line) <= view->columns) {
        put_line(out, view->columns, "%s", line);
        return;
    }
    put_line(out, view->columns, "%s: away%s%s%s", name, sink->since_ms > 0 ? " since " : "",
             sink->since_ms > 0 ? since : "", rows);
    (void)snprintf(line, sizeof line, INDENT "%s", error);
    terminal_put_wrapped(out, view->columns, INDENT, 2, line);
}

static void put_relay(const struct status *status, const struct status_relay *relay,
                      const struct status_view *view, FILE *out)
{
    char name[256];
    char version[128];
    char up[32];
    char sent[32];
    char rate[32];

    (void)terminal_text(name, sizeof name, text_of(relay->name), false);
    if (!relay->answers) {
        put_line(out, view->columns, INDENT "%s  %d lanes%s", name, relay->lanes,
                 status->has_asked ? ", does not answer" : "");
        return;
    }
    (void)terminal_text(version, sizeof version, text_of(relay->version), false);
    put_line(out, view->columns, INDENT "%s  %d lanes, up %s, %s sent, %s/s, version %s", name,
             relay->lanes,
             status_age(up, sizeof up, (double)(status->taken_ms - relay->since_ms) / 1000),
             status_count(sent, sizeof sent, relay->sent),
             status_count(rate, sizeof rate, (int64_t)(relay->per_s + 0.5)), version);
}

static void put_lanes(const struct status *status, const char *relay,
                      const struct status_view *view, FILE *out)
{
    for (int i = 0; i < status->lane_count; i++) {
        const struct status_lane *lane = &status->lane_list[i];
        char state[128];
        char age[32];
        char claim[32];

        if (strcmp(lane->relay, relay) != 0)
            continue;
        (void)terminal_text(state, sizeof state, text_of(lane->state), false);
        put_line(out, view->columns, INDENT INDENT "lane %d  %s%s%s%s%s", lane->number,
                 state[0] != '\0' ? state : "unknown", lane->state_s > 0 ? " for " : "",
                 lane->state_s > 0 ? status_age(age, sizeof age, lane->state_s) : "",
                 lane->transaction_s >= 0 ? ", claim open for " : "",
                 lane->transaction_s >= 0 ? status_age(claim, sizeof claim, lane->transaction_s)
                                          : "");
    }
}

static void put_relays(const struct status *status, const struct status_view *view, FILE *out)
{
    int shown = status->process_count;

    if (view->columns > 0 && !view->lanes && shown > RELAYS_SHOWN)
        shown = RELAYS_SHOWN - 1;
    put_line(out, view->columns, "relays   %" PRId64 " with %" PRId64 " lanes", status->relays,
             status->lanes);
    for (int i = 0; i < shown; i++) {
        put_relay(status, &status->processes[i], view, out);
        if (view->lanes)
            put_lanes(status, status->processes[i].name, view, out);
    }
    if (shown < status->relays)
        put_line(out, view->columns, INDENT "%" PRId64 " more: status --lanes",
                 status->relays - shown);
}

/* What mends it is one line, so that it can be copied. */
static void put_attention(const struct status *status, const struct status_view *view, FILE *out)
{
    if (status->attention.count == 0)
        return;
    put_line(out, view->columns, "\nattention");
    for (int i = 0; i < status->attention.count; i++) {
        const struct finding *finding = &status->attention.items[i];
        char text[LINE_BYTES];
        char line[LINE_BYTES + 8];

        (void)terminal_text(text, sizeof text, text_of(finding->text), false);
        (void)snprintf(line, sizeof line, "- %s", text);
        terminal_put_wrapped(out, view->columns, INDENT, 3, line);
        if (finding->fix[0] != '\0')
            (void)fprintf(out, INDENT "fix: %s\n",
                          terminal_text(text, sizeof text, text_of(finding->fix), false));
    }
    put_line(out, view->columns, "%s", "");
}

void status_print(const struct status *status, const struct status_view *view, FILE *out)
{
    put_summary(status, view, out);
    put_attention(status, view, out);
    if (status->reason_count > 0)
        put_line(out, view->columns, "why rows are parked or dead:");
    for (int i = 0; i < status->reason_count; i++) {
        char count[32];
        char text[4 * sizeof status->reasons[i].text];

        put_line(out, view->columns, INDENT "%s: %s",
                 status_count(count, sizeof count, status->reasons[i].count),
                 terminal_text(text, sizeof text, text_of(status->reasons[i].text), false));
    }
    for (int i = 0; i < status->sink_count; i++)
        put_sink(status, &status->sinks[i], view, out);
    put_relays(status, view, out);
}
