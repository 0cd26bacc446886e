#include "relay/status_replies.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/version.h"
#include "relay/fingerprint.h"
#include "source/json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define MARK_MS 5000
#define ERROR_BYTES_MAX 255

void status_replies_tick(struct status_replies *replies)
{
    int64_t now_ms = clock_now_ms();

    if (replies->marks[0].at_ms != 0 && now_ms - replies->marks[0].at_ms < MARK_MS)
        return;
    replies->marks[1] = replies->marks[0];
    replies->marks[0].sent = report_total(replies->report, REPORT_SENT);
    replies->marks[0].at_ms = now_ms;
}

static double sent_per_s(const struct status_replies *replies)
{
    const int older = replies->marks[1].at_ms != 0 ? 1 : 0;
    int64_t elapsed_ms = clock_now_ms() - replies->marks[older].at_ms;
    uint64_t sent = report_total(replies->report, REPORT_SENT) - replies->marks[older].sent;

    return elapsed_ms > 0 ? (double)sent * 1000 / (double)elapsed_ms : 0;
}

/* A broker's error need not be UTF-8. */
static json_t *pack_error(const char *error, size_t max)
{
    json_t *whole = pack_text(error);
    struct text cut = text_cut(text_of(json_string_value(whole)), max);
    json_t *packed = json_stringn(cut.data, cut.len);

    json_decref(whole);
    return packed;
}

static json_t *pack_sink(const struct peer_report *peer, size_t error_max)
{
    static const char *const states[] = {[PEER_UNKNOWN] = "unknown",
                                         [PEER_UP] = "up",
                                         [PEER_PAUSED] = "unknown",
                                         [PEER_AWAY] = "away"};
    const char *error = peer->state == PEER_AWAY ? peer->error.text
                        : peer->keeps_nothing
                            ? "acknowledges messages and stores none: its stream has retention"
                              " \"interest\" and no consumer"
                            : "";

    return json_pack("{s:s, s:s, s:I, s:o, s:s?}", "name", peer->name, "state", states[peer->state],
                     "since", (json_int_t)peer->since_ms, "error", pack_error(error, error_max),
                     "order", peer->key_order);
}

static json_t *pack_troubles(const struct relay_report *report, size_t error_max)
{
    json_t *list = json_array();

    for (int i = 0; i < report->troubles.count; i++) {
        const struct trouble_report *trouble = &report->troubles.items[i];
        char lanes[32];

        (void)json_array_append_new(
            list, json_pack("{s:s, s:o, s:o, s:I, s:I, s:b}", "lanes",
                            trouble_name_lanes(trouble, report->lane_count, lanes, sizeof lanes),
                            "error", pack_error(trouble->error.text, error_max), "fix",
                            pack_error(trouble->error.hint, 2 * error_max), "since",
                            (json_int_t)(report->now_ms - trouble->for_ms), "failures",
                            (json_int_t)trouble->tries, "of_broker",
                            trouble->error.origin == ERROR_BROKER));
    }
    return list;
}

static json_t *pack(const struct status_replies *replies, uint32_t table,
                    const struct relay_report *report, size_t error_max, int lane_count)
{
    struct report_totals totals = report_totals(report, REPORT_ALL);
    /* `status` may be asked about rows that a condition keeps from this relay. */
    int64_t unsent_from = replies->report->options->outbox.where == NULL
                              ? atomic_load(&replies->report->unsent_from)
                              : INT64_MIN;
    json_t *sinks = json_array();
    json_t *lanes = json_array();
    struct fingerprint fingerprint;

    fingerprint_make(&fingerprint, replies->report->options);
    for (int i = 0; i < report->sink_count; i++)
        (void)json_array_append_new(sinks, pack_sink(&report->peers[i], error_max));
    for (int i = 0; i < lane_count; i++) {
        const struct lane_snapshot *lane = &report->lanes[i];

        (void)json_array_append_new(
            lanes, json_pack("[i, s, I, I]", lane->number, lane_state_name(lane->state),
                             (json_int_t)lane->state_for_ms, (json_int_t)lane->claim_for_ms));
    }
    return json_pack(
        "{s:I, s:s, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:o, s:o, s:o, s:o}", "table",
        (json_int_t)table, "version", RELAY_VERSION, "since",
        (json_int_t)(report->now_ms - report->up_for_ms), "sent", (json_int_t)totals.sent, "parked",
        (json_int_t)totals.parked, "dead", (json_int_t)totals.dead, "rate", sent_per_s(replies),
        "unsent_from", (json_int_t)unsent_from, "sent_at",
        (json_int_t)(report->sent_for_ms < 0 ? 0 : report->now_ms - report->sent_for_ms), "config",
        fingerprint_pack(&fingerprint), "troubles", pack_troubles(report, error_max), "sinks",
        sinks, "lanes", lanes);
}

char *status_replies_write(const struct status_replies *replies, uint32_t table,
                           char out[STATUS_ANSWER_BYTES])
{
    struct relay_report report;
    size_t error_max = ERROR_BYTES_MAX;
    int lanes;

    report_read(replies->report, &report);
    lanes = report.lane_count;
    for (;;) {
        json_t *object = pack(replies, table, &report, error_max, lanes);
        size_t len = json_dumpb(object, out, STATUS_ANSWER_BYTES - 1,
                                JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6));

        json_decref(object);
        if (len < STATUS_ANSWER_BYTES || (error_max == 0 && lanes == 0)) {
            out[len < STATUS_ANSWER_BYTES ? len : 0] = '\0';
            return out;
        }
        if (error_max > 0)
            error_max /= 2;
        else
            lanes /= 2;
    }
}
