#include "http/metrics.h"
#include "http/responses.h"

#include "base/clock.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char table_name[] = "public.outbox";
static char sink_name[] = "bus";
static char sink_type[] = "nats";
static const struct relay_options options = {
    .publish_timeout_ms = 10000,
    .outbox = {.table = table_name},
    .sinks = {{.name = sink_name, .type = sink_type}},
    .sink_count = 1,
};
static struct lane_report lane;
static struct report report;
static struct relay_report snapshot;
static struct sample sample;
static char *text;

static int set_up(void **state)
{
    (void)state;
    memset(&lane, 0, sizeof lane);
    memset(&sample, 0, sizeof sample);
    report_init(&report, &options);
    lane_report_init(&lane, 1);
    report_add_lane(&report, &lane);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    json_decref(sample.document);
    return 0;
}

FIXTURE(set_up, tear_down)

static void expose(void)
{
    size_t len;
    json_t *document;
    FILE *out;

    free(text);
    out = open_memstream(&text, &len);
    assert_non_null(out);
    report_read(&report, &snapshot);
    document = status_document(&options, &snapshot, &sample);
    metrics_put(out, document, &snapshot);
    json_decref(document);
    assert_int_equal(fclose(out), 0);
}

static void assert_line(const char *line)
{
    char whole[256];

    (void)snprintf(whole, sizeof whole, "\n%s\n", line);
    if (strstr(text, whole) == NULL)
        fail_msg("no line \"%s\" in %s", line, text);
}

TEST(a_histogram_is_cumulative_and_ends_with_its_count)
{
    lane_report_time(&lane, REPORT_CLAIM, 500);      /* microseconds: at its bound */
    lane_report_time(&lane, REPORT_CLAIM, 600);      /* the next bucket */
    lane_report_time(&lane, REPORT_CLAIM, 60000000); /* above all bounds */
    expose();
    assert_line("# TYPE outbox_relay_claim_duration_seconds histogram");
    assert_line("outbox_relay_claim_duration_seconds_bucket{le=\"0.00025\"} 0");
    assert_line("outbox_relay_claim_duration_seconds_bucket{le=\"0.0005\"} 1");
    assert_line("outbox_relay_claim_duration_seconds_bucket{le=\"0.001\"} 2");
    assert_line("outbox_relay_claim_duration_seconds_bucket{le=\"30\"} 2");
    assert_line("outbox_relay_claim_duration_seconds_bucket{le=\"+Inf\"} 3");
    assert_line("outbox_relay_claim_duration_seconds_sum 60.0011");
    assert_line("outbox_relay_claim_duration_seconds_count 3");
}

static void know(json_t *document)
{
    json_decref(sample.document);
    sample.document = document;
    sample.taken_at_ms = clock_now_ms();
    expose();
}

TEST(every_metric_is_described_once)
{
    int described = 0;

    expose();
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        char again[128];
        const char *name = at + strlen("# TYPE ");

        (void)snprintf(again, sizeof again, "# TYPE %.*s ", (int)strcspn(name, " "), name);
        assert_null(strstr(name, again));
        described++;
    }
    assert_true(described > 20);
}

TEST(what_is_not_measured_is_left_out)
{
    expose();
    assert_line("outbox_relay_sample_ok 0");
    assert_null(strstr(text, "outbox_relay_backlog_rows"));
    know(json_pack("{s:i, s:b, s:n}", "backlog", 5, "backlog_is_lower_bound", 1,
                   "backlog_oldest_seconds"));
    assert_line("outbox_relay_sample_ok 1");
    assert_line("outbox_relay_backlog_rows 5");
    assert_line("outbox_relay_backlog_is_bound 1");
    assert_null(strstr(text, "outbox_relay_backlog_oldest_seconds"));
    know(json_pack("{s:i, s:n}", "backlog", 0, "backlog_oldest_seconds"));
    assert_line("outbox_relay_backlog_oldest_seconds 0");
}

TEST(a_path_through_an_array_or_an_object_gives_a_value_for_each_of_its_labels)
{
    lane.counts[0][REPORT_PARKED_WAITING] = 3;
    lane.counts[REPORT_NO_SINK][REPORT_DEAD_REJECTED] = 4;
    know(json_pack("{s:{s:i}, s:{s:{s:i, s:f}}}", "_sink_losses", "bus", 2, "storage",
                   "_held_seconds", "standby", 0, "backend", 1.5));
    assert_line("outbox_relay_parked_total{sink=\"bus\",state=\"waiting\"} 3");
    assert_line("outbox_relay_dead_total{sink=\"\",reason=\"rejected\"} 4");
    assert_line("outbox_relay_lanes{state=\"starting\"} 1");
    assert_line("outbox_relay_sink_up{sink=\"bus\"} 0");
    assert_line("outbox_relay_sink_losses{sink=\"bus\"} 2");
    assert_line("outbox_relay_xmin_held_seconds{kind=\"backend\"} 1.5");
    assert_null(strstr(text, "sink_duplicate_window_seconds{"));
}
