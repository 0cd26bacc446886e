/* What /status answers and the metrics are drawn from: `status` of the table, with how large the
 * tables are, and what this process knows of itself. A name that is here stays; those that begin
 * with "_" are for the metrics alone. */
#include "http/responses.h"

#include "base/clock.h"
#include "base/version.h"
#include "source/json.h"
#include "source/source.h"

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static bool is_used(const struct peer_report *peer)
{
    return peer->state == PEER_UP || peer->state == PEER_PAUSED;
}

static json_t *pack_peer(const struct peer_report *peer, const char *state)
{
    const char *error = is_used(peer) || peer->error_for_ms < 0 ? "" : peer->error.text;

    return json_pack("{s:s, s:o, s:o, s:o}", "state", state, "since", pack_time(peer->since_ms),
                     "error", text_or_null(error), "fix",
                     text_or_null(error[0] == '\0'              ? ""
                                  : peer->error.hint[0] != '\0' ? peer->error.hint
                                                                : source_check));
}

static const char *name_state(const struct peer_report *peer)
{
    static const char *const states[] = {[PEER_UNKNOWN] = "connecting",
                                         [PEER_UP] = "up",
                                         [PEER_PAUSED] = "paused",
                                         [PEER_AWAY] = "away"};

    return states[peer->state];
}

/* A database that answers with an error is not away. Idle lanes notice later than the sampler that
 * it is gone. */
static json_t *pack_database(const struct peer_report *peer, const struct sample *sample)
{
    bool is_away = sample_is_unconnected(sample) && trouble_is_of_absence(&sample->error);
    bool fails = peer->state == PEER_AWAY && !trouble_is_of_absence(&peer->error);
    json_t *database = pack_peer(peer, is_away ? "away" : fails ? "failing" : name_state(peer));

    (void)json_object_set_new(database, "_up",
                              json_boolean(is_used(peer) && !sample_is_unconnected(sample)));
    (void)json_object_set_new(database, "_connects", json_integer((json_int_t)peer->connects));
    return database;
}

static json_t *pack_troubles(const struct relay_report *report)
{
    json_t *list = json_array();

    for (int i = 0; i < report->troubles.count; i++) {
        const struct trouble_report *trouble = &report->troubles.items[i];
        char lanes[32];

        (void)json_array_append_new(
            list, json_pack("{s:s, s:o, s:I, s:s, s:o, s:o}", "lanes",
                            trouble_name_lanes(trouble, report->lane_count, lanes, sizeof lanes),
                            "since", pack_time(report->now_ms - trouble->for_ms), "failures",
                            (json_int_t)trouble->tries, "of",
                            trouble->error.origin == ERROR_BROKER     ? "sink"
                            : trouble->error.origin == ERROR_DATABASE ? "database"
                                                                      : "process",
                            "error", pack_text(trouble->error.text), "fix",
                            text_or_null(trouble->error.hint)));
    }
    return list;
}

static json_t *pack_sinks(const struct relay_report *report)
{
    json_t *list = json_array();

    for (int i = 0; i < report->sink_count; i++) {
        const struct peer_report *peer = &report->peers[i];
        struct report_totals totals = report_totals(report, i);
        json_t *sink =
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "name", peer->name, "type", peer->type,
                      "sent", (json_int_t)totals.sent, "parked", (json_int_t)totals.parked, "dead",
                      (json_int_t)totals.dead, "retried", (json_int_t)totals.retried, "connections",
                      (json_int_t)peer->connects);
        json_t *state = pack_peer(peer, name_state(peer));
        json_t *more =
            json_pack("{s:b, s:I, s:i, s:o}", "_up", is_used(peer), "_since",
                      (json_int_t)(peer->since_ms / 1000), "_handed", peer->handed,
                      "_duplicate_window_seconds",
                      number_or_null(peer->recognise_ms > 0 ? seconds(peer->recognise_ms) : -1));

        (void)json_object_update(sink, state);
        (void)json_object_update(sink, more);
        json_decref(state);
        json_decref(more);
        (void)json_array_append_new(list, sink);
    }
    return list;
}

static json_t *pack_lanes(const struct relay_report *report)
{
    json_t *list = json_array();

    for (int i = 0; i < report->lane_count; i++) {
        const struct lane_snapshot *lane = &report->lanes[i];

        (void)json_array_append_new(list,
                                    json_pack("{s:i, s:s, s:f, s:o}", "lane", lane->number, "state",
                                              lane_state_name(lane->state), "state_seconds",
                                              seconds(lane->state_for_ms), "transaction_seconds",
                                              number_or_null(seconds(lane->claim_for_ms))));
    }
    return list;
}

static json_t *pack_trace(const struct relay_report *report)
{
    const struct trace_report *trace = &report->trace;
    json_int_t sent = (json_int_t)trace->sent;
    json_int_t dropped = (json_int_t)trace->dropped;
    json_int_t failed = (json_int_t)trace->failed;

    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}}", "state",
                     trace_state_name(trace->state), "since",
                     pack_time(report->now_ms - trace->state_for_ms), "error",
                     text_or_null(trace->error), "waiting", (json_int_t)trace->waiting, "sent",
                     sent, "dropped", dropped, "failed", failed, "_spans", "sent", sent, "dropped",
                     dropped, "failed", failed);
}

/* Rows that no route matches have a sink without a name. */
static json_t *pack_counts(const struct relay_report *report)
{
    json_t *list = json_array();

    for (int i = 0; i <= report->sink_count; i++) {
        int sink = i < report->sink_count ? i : REPORT_NO_SINK;
        const uint64_t *counts = report->counts[sink];

        (void)json_array_append_new(
            list, json_pack("{s:s, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I}}", "name",
                            sink == REPORT_NO_SINK ? "" : report->peers[sink].name, "sent",
                            (json_int_t)counts[REPORT_SENT], "retried",
                            (json_int_t)counts[REPORT_RETRIED], "parked", "retry",
                            (json_int_t)counts[REPORT_PARKED_RETRY], "waiting",
                            (json_int_t)counts[REPORT_PARKED_WAITING], "paused",
                            (json_int_t)counts[REPORT_PARKED_PAUSED], "scheduled",
                            (json_int_t)counts[REPORT_PARKED_SCHEDULED], "behind",
                            (json_int_t)counts[REPORT_PARKED_BEHIND], "dead", "rejected",
                            (json_int_t)counts[REPORT_DEAD_REJECTED], "attempts",
                            (json_int_t)counts[REPORT_DEAD_ATTEMPTS]));
    }
    return list;
}

static json_t *count_lanes(const struct relay_report *report)
{
    json_t *states = json_object();
    int counts[LANE_STATE_COUNT] = {0};

    for (int i = 0; i < report->lane_count; i++)
        counts[report->lanes[i].state]++;
    for (int i = 0; i < LANE_STATE_COUNT; i++)
        (void)json_object_set_new(states, lane_state_name((enum lane_state)i),
                                  json_integer(counts[i]));
    return states;
}

static double oldest_claim_s(const struct relay_report *report)
{
    int64_t oldest_ms = 0;

    for (int i = 0; i < report->lane_count; i++)
        if (report->lanes[i].claim_for_ms > oldest_ms)
            oldest_ms = report->lanes[i].claim_for_ms;
    return seconds(oldest_ms);
}

static json_t *pack_process(const struct relay_report *report, const struct sample *sample)
{
    int64_t since_ms = report->now_ms - report->up_for_ms;
    char stuck[256];
    bool is_healthy = report_is_healthy(report, stuck, sizeof stuck);

    return json_pack(
        "{s:o, s:o, s:s, s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:o,"
        " s:{s:i}, s:I, s:o, s:o, s:f, s:I, s:i, s:f, s:f}",
        "time", pack_time(report->now_ms), "since", pack_time(since_ms), "program", source_program,
        "version", RELAY_VERSION, "stuck", text_or_null(is_healthy ? "" : stuck),
        "stable_id_still_seconds", seconds(report->still_for_ms), "database",
        pack_database(&report->peers[REPORT_DATABASE], sample), "troubles", pack_troubles(report),
        "sinks", pack_sinks(report), "lanes", pack_lanes(report), "trace", pack_trace(report),
        "_versions", RELAY_VERSION, 1, "_started", (json_int_t)(since_ms / 1000), "_counts",
        pack_counts(report), "_lane_states", count_lanes(report), "_oldest_claim_seconds",
        oldest_claim_s(report), "_failed_steps", (json_int_t)report->failures, "_failing_lanes",
        report->failing_lanes, "_failing_seconds", seconds(report->failing_for_ms),
        "_worst_redelivery_seconds", seconds(2 * report->publish_timeout_ms));
}

static json_t *pack_measurement(const struct sample *sample)
{
    bool known = sample->document != NULL;

    return json_pack("{s:o, s:o, s:o, s:o, s:b}", "error",
                     text_or_null(sample->has_failed ? sample->error.text : ""), "fix",
                     text_or_null(sample->has_failed ? sample->error.hint : ""), "age_seconds",
                     number_or_null(known ? seconds(clock_now_ms() - sample->taken_at_ms) : -1),
                     "took_seconds", number_or_null(known ? seconds(sample->took_ms) : -1), "_ok",
                     known && !sample->has_failed);
}

json_t *status_document(const struct relay_options *options, const struct relay_report *report,
                        const struct sample *sample)
{
    json_t *document =
        sample->document != NULL
            ? json_copy(sample->document)
            : json_pack("{s:s, s:o, s:n}", "error", "the database has not been measured yet",
                        "table", pack_text(options->outbox.table), "storage");

    (void)json_object_set_new(document, "this_process", pack_process(report, sample));
    (void)json_object_set_new(document, "measurement", pack_measurement(sample));
    return document;
}
