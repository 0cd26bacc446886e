/* The document as lines for a person, and the limits that it exceeds. */
#include "mysql/document.h"

#include "source/source.h"
#include "source/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define PROCESSES_SHOWN 5 /* on a terminal, where there are more than one more of them */

__attribute__((format(printf, 3, 4))) static void say(const struct status_lines *lines,
                                                      const char *layout, const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    lines->on_line(lines->closure, layout, text);
}

/* "1,234,567" */
static const char *count_text(char out[32], double value)
{
    char digits[24];
    size_t len;
    size_t at = 0;

    if (value < 0)
        return "unknown";
    (void)snprintf(digits, sizeof digits, "%.0f", value);
    len = strlen(digits);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static const char *age_text(char out[32], double seconds)
{
    long s = (long)seconds;

    if (seconds < 10)
        (void)snprintf(out, 32, "%.1f s", floor(seconds * 10) / 10);
    else if (s < 60)
        (void)snprintf(out, 32, "%ld s", s);
    else if (s < 3600)
        (void)snprintf(out, 32, "%ld min %02ld s", s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(out, 32, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else
        (void)snprintf(out, 32, "%ld d %ld h", s / 86400, s / 3600 % 24);
    return out;
}

/* "backlog  12 or more, oldest 3.0 s" */
static void say_rows(const struct status_lines *lines, const json_t *document, const char *word,
                     const char *name, const char *more)
{
    char field[48];
    char count[32], age[32];
    double oldest;

    (void)snprintf(field, sizeof field, "%s_oldest_seconds", name);
    oldest = document_number(document, field);
    (void)snprintf(field, sizeof field, "%s_is_lower_bound", name);
    say(lines, "cut", "%s%s%s%s%s%s", word, count_text(count, document_number(document, name)),
        json_is_true(json_object_get(document, field)) ? " or more" : "",
        oldest >= 0 ? ", oldest " : "", oldest >= 0 ? age_text(age, oldest) : "", more);
}

static void say_figures(const struct status_lines *lines, const json_t *document)
{
    double next = document_number(document, "next_try_seconds");
    char more[64] = "";
    char text[32];

    say(lines, "cut", "%s at %.8sZ", document_text(document, "table"),
        strlen(document_text(document, "time")) > 11 ? document_text(document, "time") + 11 : "");
    say_rows(lines, document, "backlog  ", "backlog", "");
    if (document_number(document, "parked") > 0 && next == 0)
        (void)snprintf(more, sizeof more, ", next try now");
    else if (document_number(document, "parked") > 0 && next > 0)
        (void)snprintf(more, sizeof more, ", next try in %s", age_text(text, next));
    say_rows(lines, document, "parked   ", "parked", more);
    if (document_number(document, "scheduled") > 0)
        say(lines, "cut", "scheduled  %s of them, until their time",
            count_text(text, document_number(document, "scheduled")));
    if (document_number(document, "refused") > 0)
        say(lines, "cut", "refused  %s of them, by the database",
            count_text(text, document_number(document, "refused")));
    say_rows(lines, document, "dead     ", "dead", "");
    if (strcmp(document_text(document, "keys_locked_by"), "trigger") == 0)
        say(lines, "cut", "order    the trigger locks each key");
    else if (strcmp(document_text(document, "keys_locked_by"), "application") == 0)
        say(lines, "cut", "order    the application must lock each key");
    if (document_number(document, "rate_per_second") >= 0)
        say(lines, "cut", "rate     %s/s",
            count_text(text, document_number(document, "rate_per_second")));
}

static void say_attention(const struct status_lines *lines, const json_t *document)
{
    const json_t *attention = json_object_get(document, "attention");
    size_t at;
    json_t *item;

    if (json_array_size(attention) == 0)
        return;
    say(lines, "cut", "%s", "");
    say(lines, "cut", "attention");
    json_array_foreach(attention, at, item)
    {
        say(lines, "wrapped", "- %s", document_text(item, "text"));
        if (document_text(item, "fix")[0] != '\0')
            say(lines, "whole", "  fix: %s", document_text(item, "fix"));
    }
    say(lines, "cut", "%s", "");
}

static void say_reasons(const struct status_lines *lines, const json_t *document)
{
    const json_t *reasons = json_object_get(document, "parked_reasons");
    const json_t *dead = json_object_get(document, "dead_first");
    char count[32];
    size_t at;
    json_t *item;

    if (json_array_size(reasons) > 0)
        say(lines, "cut", "why rows are parked or dead:");
    json_array_foreach(reasons, at, item)
    {
        say(lines, "cut", "  %s: %s", count_text(count, document_number(item, "count")),
            document_text(item, "reason"));
    }
    if (json_array_size(dead) > 0)
        say(lines, "cut", "dead for longest:");
    json_array_foreach(dead, at, item)
    {
        say(lines, "cut", "  %s, %s: %s", document_text(item, "id"), document_text(item, "topic"),
            document_text(item, "reason"));
    }
}

/* "[sink.events] kafka at HOST:PORT: " stands before what happened: both are known here. */
static const char *bare_error(const char *error)
{
    const char *behind = error[0] == '[' ? strstr(error, ": ") : NULL;

    return behind != NULL ? behind + 2 : error;
}

static void say_sinks(const struct status_lines *lines, const json_t *document)
{
    size_t at;
    json_t *sink;

    json_array_foreach(json_object_get(document, "sinks"), at, sink)
    {
        const char *state = document_text(sink, "state");
        bool is_away = strcmp(state, "away") == 0;
        bool is_unknown = strcmp(state, "unknown") == 0;
        const char *since = document_text(sink, "since");
        const char *order = document_text(sink, "order");
        double rows = document_number(sink, "rows");
        char waiting[80] = "";
        char count[32];

        if (is_unknown && rows <= 0)
            continue;
        if (rows > 0)
            (void)snprintf(waiting, sizeof waiting, ", %s %s", count_text(count, rows),
                           rows < 2 ? "row waits" : "rows wait");
        say(lines, is_away ? "wrapped" : "cut", "%s: %s%s%s%s%s%s%s%s", document_text(sink, "name"),
            is_unknown ? "no relay says how it is" : state, since[0] != '\0' ? " since " : "",
            since, is_away ? ", " : "", is_away ? bare_error(document_text(sink, "error")) : "",
            waiting, !is_away && order[0] != '\0' ? "; the events of a key leave " : "",
            is_away ? "" : order);
    }
}

static void say_lanes(const struct status_lines *lines, const json_t *document, const char *relay)
{
    size_t at;
    json_t *lane;

    json_array_foreach(json_object_get(document, "lane_states"), at, lane)
    {
        double open = document_number(lane, "transaction_seconds");
        char state[32], claim[32];

        if (strcmp(document_text(lane, "relay"), relay) == 0)
            say(lines, "cut", "    lane %.0f  %s for %s%s%s", document_number(lane, "lane"),
                document_text(lane, "state"),
                age_text(state, document_number(lane, "state_seconds")),
                open >= 0 ? ", claim open for " : "", open >= 0 ? age_text(claim, open) : "");
    }
}

static void say_relays(const struct status_lines *lines, const json_t *document)
{
    const json_t *processes = json_object_get(document, "processes");
    bool shows_lanes = json_is_true(json_object_get(document, "_lanes"));
    size_t count = json_array_size(processes);
    size_t shown = json_is_true(json_object_get(document, "_terminal")) && !shows_lanes &&
                           count > PROCESSES_SHOWN + 1
                       ? PROCESSES_SHOWN
                       : count;
    double lanes = document_number(document, "lanes");

    say(lines, "cut", "relays   %zu with %.0f lane%s", count, lanes,
        lanes > 0 && lanes < 2 ? "" : "s");
    for (size_t i = 0; i < shown; i++) {
        const json_t *process = json_array_get(processes, i);
        double its = document_number(process, "lanes");
        char sent[32], rate[32];

        say(lines, "cut", "  %s  %.0f lane%s, %s sent, %s/s, version %s",
            document_text(process, "name"), its, its > 0 && its < 2 ? "" : "s",
            count_text(sent, document_number(process, "sent")),
            count_text(rate, document_number(process, "rate_per_second")),
            document_text(process, "version"));
        if (shows_lanes)
            say_lanes(lines, document, document_text(process, "name"));
    }
    if (shown < count)
        say(lines, "cut", "  %zu more: status --lanes", count - shown);
}

int admin_status_text(struct admin *admin, const json_t *document, const struct status_lines *lines,
                      struct error *error)
{
    (void)admin;
    (void)error;
    say_figures(lines, document);
    say_attention(lines, document);
    say_reasons(lines, document);
    say_sinks(lines, document);
    say_relays(lines, document);
    return 0;
}

/* A number of rows that is unknown is above any limit. */
static void judge_rows(const struct status_lines *lines, const json_t *document, const char *name,
                       const char *bound, double rows)
{
    double most = document_number(json_object_get(document, "_limits"), name);

    if (most < 0 || (rows >= 0 && rows <= most))
        return;
    if (rows < 0)
        say(lines, "", "%s is unknown, the limit is %.0f", name, most);
    else
        say(lines, "", "%s is %.0f%s, the limit is %.0f", name, rows,
            json_is_true(json_object_get(document, bound)) ? " or more" : "", most);
}

int admin_status_limits(struct admin *admin, const json_t *document,
                        const struct status_lines *lines, struct error *error)
{
    double most = document_number(json_object_get(document, "_limits"), "age") / 1000;
    double backlog = document_number(document, "backlog");
    double parked = document_number(document, "parked");
    bool is_unknown = backlog != 0 && document_number(document, "backlog_oldest_seconds") < 0;
    double age = document_number(document, "oldest_seconds");

    (void)admin;
    (void)error;
    if (most >= 0 && is_unknown)
        say(lines, "", "age is unknown, the limit is %.1f s", most);
    else if (most >= 0 && age > most)
        say(lines, "", "age is %.1f s, the limit is %.1f s", age, most);
    judge_rows(lines, document, "backlog", "backlog_is_lower_bound", backlog);
    judge_rows(lines, document, "dead", "dead_is_lower_bound", document_number(document, "dead"));
    judge_rows(lines, document, "parked", "parked_is_lower_bound",
               parked < 0 ? parked : parked - document_number(document, "scheduled"));
    return 0;
}
