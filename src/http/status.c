/* What /status answers: `status` of the table, what this process knows of itself, and how large the
 * tables are. A name that is here stays, as in admin/status/json.c. */
#include "http/responses.h"

#include "admin/status/json.h"
#include "base/clock.h"
#include "base/version.h"

static double seconds(int64_t ms)
{
    return (double)ms / 1000;
}

static json_t *pack_peer(const struct peer_report *peer, const char *state)
{
    bool is_used = peer->state == PEER_UP || peer->state == PEER_PAUSED;
    const char *error = is_used || peer->error_for_ms < 0 ? "" : peer->error.text;

    return json_pack("{s:s, s:o, s:o, s:o}", "state", state, "since", pack_time(peer->since_ms),
                     "error", text_or_null(error), "fix",
                     text_or_null(error[0] == '\0'              ? ""
                                  : peer->error.hint[0] != '\0' ? peer->error.hint
                                                                : "outbox-relay check"));
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
    if (sample_is_unconnected(sample) && trouble_is_of_absence(&sample->error))
        return pack_peer(peer, "away");
    return pack_peer(peer, peer->state == PEER_AWAY && !trouble_is_of_absence(&peer->error)
                               ? "failing"
                               : name_state(peer));
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

        (void)json_object_update(sink, state);
        json_decref(state);
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

    return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "state", trace_state_name(trace->state),
                     "since", pack_time(report->now_ms - trace->state_for_ms), "error",
                     text_or_null(trace->error), "waiting", (json_int_t)trace->waiting, "sent",
                     (json_int_t)trace->sent, "dropped", (json_int_t)trace->dropped, "failed",
                     (json_int_t)trace->failed);
}

static json_t *pack_process(const struct relay_report *report, const struct sample *sample)
{
    char stuck[256];
    bool is_healthy = report_is_healthy(report, stuck, sizeof stuck);

    return json_pack(
        "{s:o, s:o, s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:o}", "time", pack_time(report->now_ms),
        "since", pack_time(report->now_ms - report->up_for_ms), "version", RELAY_VERSION, "stuck",
        text_or_null(is_healthy ? "" : stuck), "stable_id_still_seconds",
        seconds(report->still_for_ms), "database",
        pack_database(&report->peers[REPORT_DATABASE], sample), "troubles", pack_troubles(report),
        "sinks", pack_sinks(report), "lanes", pack_lanes(report), "trace", pack_trace(report));
}

static json_t *pack_measurement(const struct sample *sample)
{
    bool known = sample->is_known;

    return json_pack("{s:o, s:o, s:o, s:o}", "error",
                     text_or_null(sample->has_failed ? sample->error.text : ""), "fix",
                     text_or_null(sample->has_failed ? sample->error.hint : ""), "age_seconds",
                     number_or_null(known ? seconds(clock_now_ms() - sample->taken_at_ms) : -1),
                     "took_seconds", number_or_null(known ? seconds(sample->took_ms) : -1));
}

static json_t *pack_storage(const struct gauges *gauges)
{
    char holder[sizeof gauges->xmin_kind + sizeof gauges->xmin_holder + 1] = "";

    if (gauges->xmin_kind[0] != '\0')
        (void)snprintf(holder, sizeof holder, "%s %s", gauges->xmin_kind, gauges->xmin_holder);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "table_bytes",
        count_or_null(gauges->table_bytes), "index_bytes", count_or_null(gauges->index_bytes),
        "parked_table_bytes", count_or_null(gauges->parked_bytes), "dead_tuples",
        count_or_null(gauges->dead_tuples), "held_rows", count_or_null(gauges->held_rows),
        "held_keys", count_or_null(gauges->held_keys), "vacuum_held_by", text_or_null(holder),
        "vacuum_held_seconds", number_or_null(gauges->xmin_for_s), "vacuum_held_transactions",
        count_or_null(gauges->xmin_age));
}

char *status_answer(const struct relay_options *options, const struct relay_report *report,
                    const struct sample *sample)
{
    json_t *object = sample->is_known ? status_pack(&sample->status)
                                      : json_pack("{s:s, s:o}", "error",
                                                  "the database has not been measured yet", "table",
                                                  pack_text(options->outbox.table));
    json_t *more = json_pack("{s:o, s:o, s:o}", "this_process", pack_process(report, sample),
                             "measurement", pack_measurement(sample), "storage",
                             sample->is_known ? pack_storage(&sample->gauges) : json_null());

    if (json_object_update(object, more) < 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return status_dump(object);
}
