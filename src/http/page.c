/*
 * The status page. Everything is rendered here, the curves too, so that it works without
 * JavaScript, which only refreshes it.
 */
#include "http/page.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const char embedded_status_page[]; /* config/status-page.html */

#define CURVE_WIDTH 600
#define CURVE_HEIGHT 100
#define HISTORY_S 600
#define XMIN_NOTE_S 60 /* snapshots held for less are not shown */

void page_put_text(FILE *out, const char *text)
{
    size_t len = strlen(text);

    for (size_t i = 0; i < len;) {
        size_t bytes = text_utf8_len(text + i, len - i);

        if (bytes == 0 || text_is_control(text + i, bytes))
            (void)fputs(text[i] == '\n' || text[i] == '\t' ? " " : "\xEF\xBF\xBD", out);
        else if (text[i] == '&')
            (void)fputs("&amp;", out);
        else if (text[i] == '<')
            (void)fputs("&lt;", out);
        else if (text[i] == '>')
            (void)fputs("&gt;", out);
        else if (text[i] == '"')
            (void)fputs("&quot;", out);
        else if (text[i] == '\'')
            (void)fputs("&#39;", out);
        else
            (void)fwrite(text + i, 1, bytes, out);
        i += bytes == 0 ? 1 : bytes;
    }
}

/* 1,234,567 */
static const char *group(char out[32], int64_t number)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRId64, number);
    size_t at = 0;

    if (number < 0)
        return memcpy(out, "?", 2);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* "0.4 s", "12 s", "3 min 20 s", "5 h 12 min", "3 d 4 h" */
static const char *span(char out[32], double seconds)
{
    int64_t whole = (int64_t)seconds;

    if (seconds < 10)
        (void)snprintf(out, 32, "%.1f s", seconds < 0 ? 0 : seconds);
    else if (whole < 60)
        (void)snprintf(out, 32, "%" PRId64 " s", whole);
    else if (whole < 3600)
        (void)snprintf(out, 32, "%" PRId64 " min %" PRId64 " s", whole / 60, whole % 60);
    else if (whole < 86400)
        (void)snprintf(out, 32, "%" PRId64 " h %" PRId64 " min", whole / 3600, whole / 60 % 60);
    else
        (void)snprintf(out, 32, "%" PRId64 " d %" PRId64 " h", whole / 86400, whole / 3600 % 24);
    return out;
}

static const char *moment(char out[32], int64_t unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc;

    if (gmtime_r(&seconds, &utc) == NULL || strftime(out, 32, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
        out[0] = '\0';
    return out;
}

static const char *size(char out[32], int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int unit = 0;

    if (bytes < 0)
        return memcpy(out, "?", 2);
    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    (void)snprintf(out, 32, unit == 0 || value >= 100 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return out;
}

struct page {
    FILE *out;
    const struct relay_options *options;
    const struct relay_report *report;
    const struct sample *sample;
    const struct history *history;
};

/* "9,999"; or "10,000+", when counting stopped there. */
static const char *rows(char out[64], int64_t counted, bool is_bound)
{
    char number[32];

    (void)snprintf(out, 64, "%s%s", group(number, counted), is_bound ? "+" : "");
    return out;
}

static int sinks_away(const struct relay_report *report)
{
    int away = 0;

    for (int i = 0; i < report->sink_count; i++)
        away += report->sinks[i].peer.state == PEER_AWAY;
    return away;
}

/* Shows the worst problem that there is. */
static void put_verdict(const struct page *page)
{
    const struct sample *sample = page->sample;
    char why[256];
    const char *style = "bad";
    const char *text;

    if (!report_is_healthy(page->report, why, sizeof why))
        text = "A thread is stuck";
    else if (page->report->database.state == PEER_AWAY || sample_is_unconnected(sample))
        text = "The database is away";
    else if (sinks_away(page->report) > 0)
        text = "A sink is away";
    else if (sample->has_failed)
        style = "warn", text = "The figures are not up to date";
    else if (sample->is_known && sample->status.dead > 0)
        style = "warn", text = "Rows are dead";
    else if (sample->is_known && sample->status.attention.count > 0)
        style = "warn", text = "Something needs attention";
    else if (!sample->is_known || page->report->database.state == PEER_UNKNOWN)
        style = "warn", text = "Starting";
    else
        style = "good", text = "Relaying";
    (void)fprintf(page->out, "<span class=\"pill %s\">%s</span>", style, text);
}

static void put_header(const struct page *page)
{
    char when[32];
    char up[32];

    (void)fprintf(page->out, "<header><h1>outbox-relay</h1><code>");
    page_put_text(page->out, page->options->outbox.table);
    (void)fprintf(page->out, "</code>");
    put_verdict(page);
    (void)fprintf(
        page->out,
        "<span class=\"quiet end\" id=\"updated\">running for %s &middot; %s</span></header>",
        span(up, (double)page->report->up_for_ms / 1000), moment(when, page->report->now_ms));
}

static void put_figure(const struct page *page, const char *style, const char *value,
                       const char *label)
{
    (void)fprintf(page->out,
                  "<div class=\"card figure\"><b class=\"%s\">%s</b><span>%s</span></div>", style,
                  value, label);
}

static void put_figures(const struct page *page)
{
    const struct status *status = &page->sample->status;
    bool known = page->sample->is_known;
    double rate = history_rate(page->history);
    char text[64];
    char number[32];

    (void)fprintf(page->out, "<section class=\"grid figures\">");
    put_figure(page, "",
               known && status->backlog >= 0 ? rows(text, status->backlog, status->backlog_is_bound)
                                             : "?",
               "unsent rows");
    put_figure(page, "",
               known && status->backlog == 0            ? "none"
               : known && status->backlog_oldest_s >= 0 ? span(number, status->backlog_oldest_s)
                                                        : "?",
               "oldest unsent row");
    (void)snprintf(text, sizeof text, "%s/s",
                   rate < 0 ? "?" : group(number, (int64_t)(rate + 0.5)));
    put_figure(page, "", text, "sent by this relay");
    put_figure(page, known && status->parked > 0 ? "warn" : "",
               known && status->parked >= 0 ? rows(text, status->parked, status->parked_is_bound)
                                            : "?",
               "rows parked");
    put_figure(page, known && status->dead > 0 ? "bad" : "",
               known && status->dead >= 0 ? rows(text, status->dead, status->dead_is_bound) : "?",
               "rows dead");
    (void)snprintf(text, sizeof text, "%s", known ? group(number, status->relays) : "?");
    put_figure(page, "", text, "relays connected");
    (void)fprintf(page->out, "</section>");
}

static void put_item(const struct page *page, const char *text, const char *fix)
{
    (void)fprintf(page->out, "<li>");
    page_put_text(page->out, text);
    if (fix[0] != '\0') {
        (void)fprintf(page->out, "<pre>");
        page_put_text(page->out, fix);
        (void)fprintf(page->out, "</pre>");
    }
    (void)fprintf(page->out, "</li>");
}

/* Problems that this process knows itself come first, then those that `status` lists. */
static void put_attention(const struct page *page)
{
    const struct sample *sample = page->sample;
    const struct findings *findings = &sample->status.attention;
    const struct peer_report *database = &page->report->database;
    char text[256 + sizeof database->error.text];
    char lasted[32];
    char why[256];
    bool healthy = report_is_healthy(page->report, why, sizeof why);
    bool database_away = database->state == PEER_AWAY;
    int listed = sample->is_known ? findings->count : 0;

    if (healthy && !database_away && !sample->has_failed && listed == 0)
        return;
    (void)fprintf(page->out, "<section class=\"card attention\"><h2>Needs attention</h2><ul>");
    if (!healthy)
        put_item(page, why, "");
    if (database_away) {
        (void)snprintf(text, sizeof text, "the database has been away for %s: %s",
                       span(lasted, (double)database->state_for_ms / 1000), database->error.text);
        put_item(page, text, database->error.hint);
    }
    if (sample->has_failed && !database_away)
        put_item(page, sample->error.text, sample->error.hint);
    for (int i = 0; i < listed; i++)
        put_item(page, findings->items[i].text, findings->items[i].fix);
    (void)fprintf(page->out, "</ul></section>");
}

static double backlog_at(const struct point *point)
{
    return point->backlog;
}

static double oldest_at(const struct point *point)
{
    return point->oldest_s;
}

/* The x coordinate of a point, with now at the right edge. */
static double place(const struct page *page, const struct point *point)
{
    const struct point *newest = history_at(page->history, page->history->count - 1);

    return CURVE_WIDTH * (1 - (double)(newest->at_ms - point->at_ms) / (HISTORY_S * 1000.0));
}

/* Each run of points without a gap becomes a separate curve. */
static void put_curve(const struct page *page, double (*value)(const struct point *), double top)
{
    const struct history *history = page->history;

    for (int i = 0; i < history->count; i++) {
        int first = i;

        if (value(history_at(history, i)) < 0)
            continue;
        while (i + 1 < history->count && value(history_at(history, i + 1)) >= 0)
            i++;
        for (int area = 1; area >= 0; area--) {
            (void)fprintf(page->out, "<path class=\"%s\" d=\"", area ? "area" : "curve");
            if (area)
                (void)fprintf(page->out, "M%.1f %d", place(page, history_at(history, first)),
                              CURVE_HEIGHT);
            for (int j = first; j <= i; j++)
                (void)fprintf(page->out, "%c%.1f %.1f", j == first && !area ? 'M' : 'L',
                              place(page, history_at(history, j)),
                              CURVE_HEIGHT - 92 * value(history_at(history, j)) / top);
            if (area)
                (void)fprintf(page->out, "L%.1f %dZ", place(page, history_at(history, i)),
                              CURVE_HEIGHT);
            (void)fprintf(page->out, "\"/>");
        }
    }
}

static void put_chart(const struct page *page, const char *title,
                      double (*value)(const struct point *), bool is_time)
{
    double highest = 0;
    char text[32];

    for (int i = 0; i < page->history->count; i++)
        if (value(history_at(page->history, i)) > highest)
            highest = value(history_at(page->history, i));
    if (is_time)
        (void)span(text, highest);
    else
        (void)group(text, (int64_t)highest);
    (void)fprintf(page->out,
                  "<section class=\"card\"><h2>%s</h2><div class=\"scale\"><span>highest %s</span>"
                  "</div><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\""
                  " aria-label=\"%s over the last ten minutes, highest %s\">"
                  "<line class=\"axis\" x1=\"0\" y1=\"99.5\" x2=\"%d\" y2=\"99.5\"/>",
                  title, text, CURVE_WIDTH, CURVE_HEIGHT, title, text, CURVE_WIDTH);
    put_curve(page, value, highest > 0 ? highest : 1);
    (void)fprintf(page->out, "</svg><div class=\"scale\"><span>10 min ago</span><span>now</span>"
                             "</div></section>");
}

static void put_cell(const struct page *page, const char *label, const char *style,
                     const char *text)
{
    (void)fprintf(page->out, "<td data-label=\"%s\" class=\"%s\">", label, style);
    page_put_text(page->out, text);
    (void)fprintf(page->out, "</td>");
}

static void put_number_cell(const struct page *page, const char *label, uint64_t number)
{
    char text[32];

    put_cell(page, label, "number", group(text, (int64_t)number));
}

static void put_sink(const struct page *page, int number)
{
    static const char *const states[] = {[PEER_UNKNOWN] = "connecting",
                                         [PEER_UP] = "up",
                                         [PEER_PAUSED] = "paused",
                                         [PEER_AWAY] = "away"};
    static const char *const styles[] = {[PEER_UNKNOWN] = "state warn",
                                         [PEER_UP] = "state good",
                                         [PEER_PAUSED] = "state warn",
                                         [PEER_AWAY] = "state bad"};
    const struct sink_report *sink = &page->report->sinks[number];
    const uint64_t *counts = page->report->counts[number];
    char name[128];
    char since[32];
    char lasted[32];
    char text[80];

    (void)snprintf(name, sizeof name, "%.64s (%.32s)", sink->peer.name, sink->type);
    (void)snprintf(text, sizeof text, "%s, since %s",
                   span(lasted, (double)sink->peer.state_for_ms / 1000),
                   moment(since, sink->peer.since_ms));
    (void)fprintf(page->out, "<tr>");
    put_cell(page, "sink", "", name);
    put_cell(page, "state", styles[sink->peer.state], states[sink->peer.state]);
    put_cell(page, "for", "", text);
    put_number_cell(page, "sent", counts[REPORT_SENT]);
    put_number_cell(page, "parked",
                    counts[REPORT_PARKED_REFUSED] + counts[REPORT_PARKED_NO_DESTINATION] +
                        counts[REPORT_PARKED_PAUSED] + counts[REPORT_PARKED_BEHIND]);
    put_number_cell(page, "dead", counts[REPORT_DEAD_REJECTED] + counts[REPORT_DEAD_ATTEMPTS]);
    put_number_cell(page, "retried", counts[REPORT_RETRIED]);
    put_number_cell(page, "connections", sink->peer.connects);
    (void)fprintf(page->out, "</tr>");
    if (sink->peer.state == PEER_UP || sink->peer.state == PEER_PAUSED ||
        sink->peer.error_for_ms < 0)
        return;
    (void)fprintf(page->out, "<tr class=\"why\"><td colspan=\"8\" class=\"bad\">");
    page_put_text(page->out, sink->peer.error.text);
    if (sink->peer.error.hint[0] != '\0') {
        (void)fprintf(page->out, "<pre>");
        page_put_text(page->out, sink->peer.error.hint);
        (void)fprintf(page->out, "</pre>");
    }
    (void)fprintf(page->out, "</td></tr>");
}

static void put_sinks(const struct page *page)
{
    (void)fprintf(
        page->out,
        "<section class=\"card block\"><h2>Sinks of this process</h2><table class=\"wide\">"
        "<thead><tr><th>sink</th><th>state</th><th>for</th><th class=\"number\">sent</th>"
        "<th class=\"number\">parked</th><th class=\"number\">dead</th>"
        "<th class=\"number\">retried</th><th class=\"number\">connections</th></tr>"
        "</thead><tbody>");
    for (int i = 0; i < page->report->sink_count; i++)
        put_sink(page, i);
    (void)fprintf(page->out, "</tbody></table></section>");
}

static void put_lanes(const struct page *page)
{
    (void)fprintf(page->out,
                  "<section class=\"card\"><h2>Lanes of this process</h2><table><thead><tr>"
                  "<th>lane</th><th>state</th><th class=\"number\">for</th>"
                  "<th class=\"number\">claim open</th></tr></thead><tbody>");
    for (int i = 0; i < page->report->lane_count; i++) {
        const struct lane_snapshot *lane = &page->report->lanes[i];
        char text[32];

        (void)fprintf(page->out, "<tr><td>%d</td>", lane->number);
        put_cell(page, "state", "", lane_state_name(lane->state));
        put_cell(page, "for", "number", span(text, (double)lane->state_for_ms / 1000));
        put_cell(page, "claim open", "number",
                 lane->claim_for_ms < 0 ? "-" : span(text, (double)lane->claim_for_ms / 1000));
        (void)fprintf(page->out, "</tr>");
    }
    (void)fprintf(page->out, "</tbody></table></section>");
}

static void put_reasons(const struct page *page)
{
    const struct status *status = &page->sample->status;

    if (!page->sample->is_known || status->reason_count == 0)
        return;
    (void)fprintf(page->out,
                  "<section class=\"card block\"><h2>Why rows are parked or dead</h2><table><thead>"
                  "<tr><th class=\"number narrow\">rows</th><th>reason</th></tr></thead><tbody>");
    for (int i = 0; i < status->reason_count; i++) {
        (void)fprintf(page->out, "<tr>");
        put_number_cell(page, "rows", (uint64_t)status->reasons[i].count);
        put_cell(page, "reason", "", status->reasons[i].text);
        (void)fprintf(page->out, "</tr>");
    }
    (void)fprintf(page->out, "</tbody></table><pre>outbox-relay dead list</pre></section>");
}

static void put_term(const struct page *page, const char *term, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_term(const struct page *page, const char *term, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fprintf(page->out, "<dt>%s</dt><dd>", term);
    page_put_text(page->out, text);
    (void)fprintf(page->out, "</dd>");
}

static void put_database(const struct page *page)
{
    const struct sample *sample = page->sample;
    const struct gauges *gauges = &sample->gauges;
    char a[32];
    char b[32];

    (void)fprintf(page->out, "<section class=\"card\"><h2>Database</h2><dl>");
    if (!sample->is_known) {
        put_term(page, "figures", "not measured yet");
    } else {
        put_term(page, "table", "%s, of which indexes %s", size(a, gauges->table_bytes),
                 size(b, gauges->index_bytes));
        put_term(page, "dead tuples", "%s", group(a, gauges->dead_tuples));
        put_term(page, "parked table", "%s", size(a, gauges->parked_bytes));
        if (gauges->held_rows > 0)
            put_term(page, "behind dead rows", "%s rows, keys: %s", group(a, gauges->held_rows),
                     group(b, gauges->held_keys));
        if (gauges->xmin_for_s >= XMIN_NOTE_S)
            put_term(page, "vacuum is held by", "%s %s, for %s, %" PRId64 " transactions",
                     gauges->xmin_kind, gauges->xmin_holder, span(a, gauges->xmin_for_s),
                     gauges->xmin_age);
        else
            put_term(page, "vacuum is held by", "nobody for longer than a minute");
        put_term(page, "measured", "%s ago, in %" PRId64 " ms",
                 span(a, (double)(clock_now_ms() - sample->taken_at_ms) / 1000), sample->took_ms);
    }
    if (page->report->still_for_ms > 0)
        put_term(page, "stable id", "has not moved for %s",
                 span(a, (double)page->report->still_for_ms / 1000));
    (void)fprintf(page->out, "</dl></section>");
}

static void put_main(const struct page *page)
{
    put_header(page);
    put_figures(page);
    put_attention(page);
    (void)fprintf(page->out, "<div class=\"grid two\">");
    put_chart(page, "Backlog", backlog_at, false);
    put_chart(page, "Age of the oldest row", oldest_at, true);
    (void)fprintf(page->out, "</div>");
    put_sinks(page);
    put_reasons(page);
    (void)fprintf(page->out, "<div class=\"grid two\">");
    put_lanes(page);
    put_database(page);
    (void)fprintf(page->out,
                  "</div><footer><span>outbox-relay %s</span><a href=\"/metrics\">metrics</a>"
                  "<a href=\"/status\">status as JSON</a><a href=\"/healthz\">health</a>"
                  "<a href=\"/readyz\">readiness</a></footer>",
                  RELAY_VERSION);
}

void page_put(FILE *out, const char *nonce, const struct relay_options *options,
              const struct relay_report *report, const struct sample *sample,
              const struct history *history)
{
    const struct page page = {out, options, report, sample, history};
    const char *rest = embedded_status_page;

    for (const char *at; (at = strchr(rest, '@')) != NULL;) {
        (void)fwrite(rest, 1, (size_t)(at - rest), out);
        rest = at + 1;
        if (strncmp(rest, "nonce@", 6) == 0) {
            (void)fputs(nonce, out);
            rest += 6;
        } else if (strncmp(rest, "title@", 6) == 0) {
            (void)fputs("outbox-relay ", out);
            page_put_text(out, options->outbox.table);
            rest += 6;
        } else if (strncmp(rest, "main@", 5) == 0) {
            put_main(&page);
            rest += 5;
        } else {
            (void)fputc('@', out);
        }
    }
    (void)fputs(rest, out);
}
