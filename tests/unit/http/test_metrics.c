#include "http/responses.h"

#include "base/clock.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char sink_name[] = "bus";
static char sink_type[] = "nats";
static const struct relay_options options = {
    .publish_timeout_ms = 10000,
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
    return 0;
}

FIXTURE(set_up, tear_down)

static void expose(void)
{
    size_t len;
    FILE *out;

    free(text);
    out = open_memstream(&text, &len);
    assert_non_null(out);
    report_read(&report, &snapshot);
    metrics_put(out, &snapshot, &sample);
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

TEST(every_metric_is_described_once)
{
    int described = 0;

    sample.is_known = true;
    sample.taken_at_ms = clock_now_ms();
    expose();
    for (const char *at = text; (at = strstr(at, "# TYPE ")) != NULL; at++) {
        char again[128];
        const char *name = at + strlen("# TYPE ");

        (void)snprintf(again, sizeof again, "# TYPE %.*s ", (int)strcspn(name, " "), name);
        assert_null(strstr(name, again));
        described++;
    }
    assert_true(described > 30);
}

TEST(what_is_not_measured_is_left_out)
{
    expose();
    assert_line("outbox_relay_sample_ok 0");
    assert_null(strstr(text, "outbox_relay_backlog_rows"));
    sample.is_known = true;
    sample.status.backlog = 5;
    sample.status.backlog_oldest_s = -1; /* the table has no created_at */
    expose();
    assert_line("outbox_relay_sample_ok 1");
    assert_line("outbox_relay_backlog_rows 5");
    assert_null(strstr(text, "outbox_relay_backlog_oldest_seconds"));
    sample.status.backlog = 0;
    expose();
    assert_line("outbox_relay_backlog_oldest_seconds 0");
}

TEST(a_count_that_stopped_is_a_bound)
{
    sample.is_known = true;
    sample.status.backlog = SAMPLER_COUNT_MAX;
    sample.status.backlog_is_bound = true;
    expose();
    assert_line("outbox_relay_backlog_rows 10000");
    assert_line("outbox_relay_backlog_is_bound 1");
}
