/* docs/monitoring.md says what each metric means and what to do about it. */
#include "http/responses.h"

#include "base/clock.h"
#include "base/version.h"

#include <inttypes.h>
#include <string.h>

static void describe(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP outbox_relay_%s %s\n# TYPE outbox_relay_%s %s\n", name, help, name,
                  type);
}

static void put(FILE *out, const char *name, const char *type, const char *help, double value)
{
    describe(out, name, type, help);
    (void)fprintf(out, "outbox_relay_%s %.15g\n", name, value);
}

/* The names of sinks need no escaping: config/ takes letters, digits, "_" and "-". */
static void put_by_sink(FILE *out, const struct relay_report *report, const char *name,
                        const char *type, const char *help,
                        double (*value)(const struct peer_report *peer))
{
    describe(out, name, type, help);
    for (int i = 0; i < report->sink_count; i++)
        (void)fprintf(out, "outbox_relay_%s{sink=\"%s\"} %.15g\n", name, report->peers[i].name,
                      value(&report->peers[i]));
}

/* Rows that no route matches have an empty label. */
static const char *sink_name(const struct relay_report *report, int sink)
{
    return sink < report->sink_count ? report->peers[sink].name : "";
}

static void put_count(FILE *out, const struct relay_report *report, const char *name,
                      const char *label, enum report_count count)
{
    for (int i = 0; i <= report->sink_count; i++) {
        int sink = i < report->sink_count ? i : REPORT_NO_SINK;

        (void)fprintf(out, "outbox_relay_%s{sink=\"%s\"%s} %" PRIu64 "\n", name,
                      sink_name(report, sink), label, report->counts[sink][count]);
    }
}

static void put_counts(FILE *out, const struct relay_report *report)
{
    describe(out, "sent_total", "counter", "Rows that this process sent and settled.");
    put_count(out, report, "sent_total", "", REPORT_SENT);
    describe(out, "retried_total", "counter",
             "Further attempts to send rows that were parked before.");
    put_count(out, report, "retried_total", "", REPORT_RETRIED);
    describe(out, "parked_total", "counter", "Rows that were parked, by their first state.");
    put_count(out, report, "parked_total", ",state=\"retry\"", REPORT_PARKED_RETRY);
    put_count(out, report, "parked_total", ",state=\"waiting\"", REPORT_PARKED_WAITING);
    put_count(out, report, "parked_total", ",state=\"paused\"", REPORT_PARKED_PAUSED);
    put_count(out, report, "parked_total", ",state=\"scheduled\"", REPORT_PARKED_SCHEDULED);
    put_count(out, report, "parked_total", ",state=\"behind\"", REPORT_PARKED_BEHIND);
    describe(out, "dead_total", "counter",
             "Rows that became dead: they stay until somebody retries or drops them.");
    put_count(out, report, "dead_total", ",reason=\"rejected\"", REPORT_DEAD_REJECTED);
    put_count(out, report, "dead_total", ",reason=\"attempts\"", REPORT_DEAD_ATTEMPTS);
}

/* `unit` converts a stored value into a shown one: 1e-6 makes seconds of microseconds. */
static void put_histogram(FILE *out, const char *name, const char *help,
                          const struct histogram_sum *sum, double unit)
{
    uint64_t count = 0;

    describe(out, name, "histogram", help);
    if (sum->scale == NULL)
        return;
    for (int i = 0; i < sum->scale->count; i++) {
        count += sum->counts[i];
        (void)fprintf(out, "outbox_relay_%s_bucket{le=\"%.15g\"} %" PRIu64 "\n", name,
                      (double)sum->scale->bounds[i] * unit, count);
    }
    count += sum->counts[sum->scale->count];
    (void)fprintf(out,
                  "outbox_relay_%s_bucket{le=\"+Inf\"} %" PRIu64 "\noutbox_relay_%s_sum %.15g\n"
                  "outbox_relay_%s_count %" PRIu64 "\n",
                  name, count, name, (double)sum->sum * unit, name, count);
}

static void put_times(FILE *out, const struct relay_report *report)
{
    const double microsecond = 1e-6;

    put_histogram(out, "claim_duration_seconds", "Time of a claim that found rows.",
                  &report->times[REPORT_CLAIM], microsecond);
    put_histogram(out, "publish_duration_seconds",
                  "Time to publish a batch, until its last acknowledgement.",
                  &report->times[REPORT_PUBLISH], microsecond);
    put_histogram(out, "settle_duration_seconds", "Time to settle a batch, until its COMMIT.",
                  &report->times[REPORT_SETTLE], microsecond);
    put_histogram(out, "delivery_duration_seconds",
                  "Age of a row, from its created_at, when the broker has acknowledged its batch.",
                  &report->times[REPORT_DELIVER], microsecond);
    put_histogram(out, "batch_rows", "Rows a batch.", &report->times[REPORT_BATCH], 1);
}

static void put_lanes(FILE *out, const struct relay_report *report)
{
    int counts[LANE_STATE_COUNT] = {0};
    int64_t oldest_ms = 0;

    for (int i = 0; i < report->lane_count; i++) {
        counts[report->lanes[i].state]++;
        if (report->lanes[i].claim_for_ms > oldest_ms)
            oldest_ms = report->lanes[i].claim_for_ms;
    }
    describe(out, "lanes", "gauge", "Lanes of this process by state.");
    for (int i = 0; i < LANE_STATE_COUNT; i++)
        (void)fprintf(out, "outbox_relay_lanes{state=\"%s\"} %d\n",
                      lane_state_name((enum lane_state)i), counts[i]);
    put(out, "oldest_claim_seconds", "gauge", "Age of this process's oldest claim transaction.",
        (double)oldest_ms / 1000);
}

static void put_troubles(FILE *out, const struct relay_report *report)
{
    put(out, "failed_steps_total", "counter",
        "Steps of lanes and of the watcher that failed, whatever the reason.",
        (double)report->failures);
    put(out, "lanes_without_progress", "gauge",
        "Lanes that have made no progress since a step of theirs failed.", report->failing_lanes);
    put(out, "no_progress_seconds", "gauge", "How long that has lasted, at most.",
        (double)report->failing_for_ms / 1000);
}

static double is_up(const struct peer_report *peer)
{
    return peer->state == PEER_UP || peer->state == PEER_PAUSED;
}

static double state_since_s(const struct peer_report *peer)
{
    return (double)(peer->since_ms / 1000);
}

static double connects(const struct peer_report *peer)
{
    return (double)peer->connects;
}

static double handed(const struct peer_report *peer)
{
    return peer->handed;
}

static void put_peers(FILE *out, const struct relay_report *report, const struct sample *sample)
{
    put_by_sink(
        out, report, "sink_up", "gauge",
        "1 when every lane can publish to the sink, as far as it has tried, or it is paused.",
        is_up);
    put_by_sink(out, report, "sink_state_since_timestamp_seconds", "gauge",
                "Since when the sink is up or away.", state_since_s);
    put_by_sink(out, report, "sink_connects_total", "counter",
                "Connections that lanes have made to the sink.", connects);
    put_by_sink(out, report, "sink_unacknowledged_messages", "gauge",
                "Messages handed to the client library whose wave is not acknowledged yet.",
                handed);
    describe(out, "sink_duplicate_window_seconds", "gauge",
             "How long the sink's stream drops repeated messages (JetStream only).");
    for (int i = 0; i < report->sink_count; i++)
        if (report->peers[i].recognise_ms > 0)
            (void)fprintf(out, "outbox_relay_sink_duplicate_window_seconds{sink=\"%s\"} %.15g\n",
                          report->peers[i].name, (double)report->peers[i].recognise_ms / 1000);
    put(out, "worst_redelivery_seconds", "gauge",
        "How much later a message may be sent again after a fault: twice the publish timeout.",
        (double)report->publish_timeout_ms / 500);
    /* Idle lanes notice later that their connections are gone. */
    put(out, "database_up", "gauge", "1 when every lane can use the database.",
        is_up(&report->peers[REPORT_DATABASE]) != 0 && !sample_is_unconnected(sample));
    put(out, "database_connects_total", "counter", "Connections of lanes to the database.",
        connects(&report->peers[REPORT_DATABASE]));
}

/* Without rows the age is 0, because there is no oldest row. */
static void put_age(FILE *out, const char *name, const char *help, int64_t rows, double age_s)
{
    if (rows == 0 || age_s >= 0)
        put(out, name, "gauge", help, rows == 0 ? 0 : age_s);
}

/* A figure that is unknown is absent. */
static void put_known(FILE *out, const char *name, const char *help, int64_t value)
{
    if (value >= 0)
        put(out, name, "gauge", help, (double)value);
}

static void put_losses(FILE *out, const struct relay_report *report,
                       const struct sink_losses *losses)
{
    describe(out, "sink_losses", "gauge",
             "Topics and streams that may have lost what they had acknowledged, until an audit; a"
             " whole cluster counts as one.");
    for (int i = 0; i < report->sink_count; i++) {
        int64_t count = 0;

        for (int j = 0; j < losses->count; j++)
            if (strcmp(losses->items[j].sink, report->peers[i].name) == 0)
                count = losses->items[j].count;
        (void)fprintf(out, "outbox_relay_sink_losses{sink=\"%s\"} %" PRId64 "\n",
                      report->peers[i].name, count);
    }
}

static void put_status(FILE *out, const struct relay_report *report, const struct status *status)
{
    put_known(out, "backlog_rows", "Unsent rows, parked ones not counted.", status->backlog);
    put(out, "backlog_is_bound", "gauge", "1 when there are more: counting stopped.",
        status->backlog_is_bound);
    put_age(out, "backlog_oldest_seconds", "Age of the oldest unsent row.", status->backlog,
            status->backlog_oldest_s);
    put_known(out, "parked_rows", "Rows that wait for another try.", status->parked);
    put_age(out, "parked_oldest_seconds",
            "Age of the oldest row that waits for another try, and not for its time.",
            status->parked, status->parked_oldest_s);
    put(out, "scheduled_rows", "gauge",
        "Of the parked rows, those whose time has not come, and those behind them.",
        (double)status->scheduled);
    put(out, "refused_rows", "gauge",
        "Of the parked rows, those that PostgreSQL refuses to mark, delete or park.",
        (double)status->refused);
    put_known(out, "dead_rows", "Rows that wait for a decision.", status->dead);
    put_age(out, "dead_oldest_seconds", "Age of the oldest dead row.", status->dead,
            status->dead_oldest_s);
    put_losses(out, report, &status->losses);
    put(out, "relays", "gauge", "Relay processes that are connected to the database.",
        (double)status->relays);
    put(out, "relays_lanes", "gauge", "Lanes that are connected to the database, of all relays.",
        (double)status->lanes);
}

static void put_gauges(FILE *out, const struct gauges *gauges)
{
    static const char *const kinds[] = {"backend", "prepared transaction", "replication slot",
                                        "standby"};

    put_known(out, "held_keys", "Keys of which rows wait behind a dead row.", gauges->held_keys);
    put_known(out, "held_rows", "Rows that wait behind a dead row of their key, up to 10,000.",
              gauges->held_rows);
    put_known(
        out, "table_dead_tuples",
        "Row versions of the outbox table that VACUUM has not removed, by PostgreSQL's statistics.",
        gauges->dead_tuples);
    put_known(out, "table_bytes", "Size of the outbox table with its indexes.",
              gauges->table_bytes);
    put_known(out, "index_bytes", "Size of the outbox table's indexes.", gauges->index_bytes);
    put_known(out, "parked_table_bytes", "Size of the table of parked rows with its indexes.",
              gauges->parked_bytes);
    put_known(out, "xmin_age_transactions",
              "Transactions begun since the oldest snapshot that VACUUM has to respect.",
              gauges->xmin_age);
    describe(out, "xmin_held_seconds", "gauge",
             "How long that snapshot has been held, by the kind of its holder.");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool holds = strcmp(kinds[i], gauges->xmin_kind) == 0;

        (void)fprintf(out, "outbox_relay_xmin_held_seconds{kind=\"%s\"} %.15g\n", kinds[i],
                      holds ? gauges->xmin_for_s : 0);
    }
}

static void put_sample(FILE *out, const struct relay_report *report, const struct sample *sample)
{
    put(out, "sample_ok", "gauge", "1 when the last measurement of the database succeeded.",
        sample->is_known && !sample->has_failed);
    if (!sample->is_known)
        return;
    put(out, "sample_age_seconds", "gauge",
        "Age of the figures of the database: backlog, parked, dead, relays, table, xmin.",
        (double)(clock_now_ms() - sample->taken_at_ms) / 1000);
    put(out, "sample_duration_seconds", "gauge", "How long their measurement took.",
        (double)sample->took_ms / 1000);
    put(out, "unknown_figures", "gauge",
        "How many of these figures could not be read; they are absent or incomplete.",
        sample->status.unknown);
    put_status(out, report, &sample->status);
    put_gauges(out, &sample->gauges);
}

static void put_spans(FILE *out, const struct trace_report *trace)
{
    describe(out, "trace_spans_total", "counter",
             "Spans that a collector took, that found the queue full, or that it did not take.");
    (void)fprintf(out,
                  "outbox_relay_trace_spans_total{result=\"sent\"} %" PRIu64 "\n"
                  "outbox_relay_trace_spans_total{result=\"dropped\"} %" PRIu64 "\n"
                  "outbox_relay_trace_spans_total{result=\"failed\"} %" PRIu64 "\n",
                  trace->sent, trace->dropped, trace->failed);
}

void metrics_put(FILE *out, const struct relay_report *report, const struct sample *sample)
{
    describe(out, "build_info", "gauge", "1, with the version as a label.");
    (void)fprintf(out, "outbox_relay_build_info{version=\"%s\"} 1\n", RELAY_VERSION);
    put(out, "start_time_seconds", "gauge", "When this process started, since 1970.",
        (double)((report->now_ms - report->up_for_ms) / 1000));
    put_counts(out, report);
    put_times(out, report);
    put_lanes(out, report);
    put_troubles(out, report);
    put_peers(out, report, sample);
    put(out, "stable_id_still_seconds", "gauge",
        "How long the highest id below which no row can appear any more has not moved.",
        (double)report->still_for_ms / 1000);
    put_spans(out, &report->trace);
    put_sample(out, report, sample);
}
