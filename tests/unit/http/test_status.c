#include "http/responses.h"

#include "base/clock.h"
#include "source/json.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char table_name[] = "public.outbox";
static char sink_name[] = "bus";
static char sink_type[] = "nats";
static const struct relay_options options = {
    .publish_timeout_ms = 10000,
    .poll_interval_ms = 250,
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
    lane_report_up(&lane, REPORT_DATABASE);
    sample.document = json_pack("{s:i, s:{s:i, s:s}, s:i}", "backlog", 5, "storage", "held_rows", 7,
                                "_held_seconds", "hidden", "_unknown", 0);
    sample.taken_at_ms = clock_now_ms();
    sample.took_ms = 30;
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

static void assert_answer_says(const char *words)
{
    json_t *document;

    free(text);
    report_read(&report, &snapshot);
    document = status_document(&options, &snapshot, &sample);
    text = status_dump(document);
    json_decref(document);
    assert_non_null(text);
    if (strstr(text, words) == NULL)
        fail_msg("%s is not in %s", words, text);
}

TEST(before_the_first_measurement_the_process_is_known)
{
    json_decref(sample.document);
    sample.document = NULL;
    assert_answer_says(
        "{\"error\":\"the database has not been measured yet\",\"table\":\"public.outbox\","
        "\"storage\":null,\"this_process\":{\"time\":\"2");
    assert_answer_says("\"measurement\":{\"error\":null,\"fix\":null,\"age_seconds\":null,"
                       "\"took_seconds\":null}}");
    assert_answer_says("\"program\":\"outbox-relay\",\"version\":\"");
    assert_answer_says("{\"lane\":1,\"state\":\"starting\",\"state_seconds\":");
    assert_null(strstr(text, "\"backlog\""));
}

TEST(a_sink_that_is_away_says_why_and_what_mends_it)
{
    struct error error;

    assert_answer_says("\"state\":\"connecting\"");
    (void)error_set(&error, ERROR_TRANSIENT, ERROR_BROKER, "%s", "</td><script>\"\xff");
    (void)error_hint(&error, "start it");
    lane_report_away(&lane, 0, &error);
    assert_answer_says("{\"name\":\"bus\",\"type\":\"nats\",\"sent\":0,\"parked\":0,\"dead\":0,"
                       "\"retried\":0,\"connections\":0,\"state\":\"away\",\"since\":\"2");
    assert_answer_says("\"error\":\"</td><script>\\\"\\\\xff\",\"fix\":\"start it\"}");
    lane_report_up(&lane, 0);
    assert_answer_says("\"connections\":1,\"state\":\"up\"");
    assert_null(strstr(text, "</td>"));
}

TEST(a_process_counts_what_it_parked_and_gave_up)
{
    for (int i = 0; i < REPORT_COUNT_COUNT; i++)
        lane.counts[0][i] = UINT64_C(1) << i;
    assert_answer_says("\"sent\":1,\"parked\":124,\"dead\":384,\"retried\":2,");
}

TEST(a_database_that_the_sampler_cannot_reach_is_away)
{
    assert_answer_says("\"database\":{\"state\":\"up\"");
    (void)error_set(&sample.error, ERROR_TRANSIENT, ERROR_DATABASE, "statement timeout");
    sample.has_failed = true;
    sample.is_connected = true;
    assert_answer_says("\"database\":{\"state\":\"up\"");
    assert_answer_says("\"measurement\":{\"error\":\"statement timeout\",\"fix\":null,");
    sample.is_connected = false;
    (void)error_mark_unanswered(&sample.error);
    assert_answer_says("\"database\":{\"state\":\"away\"");
}

TEST(the_figures_of_the_database_are_those_of_the_last_measurement)
{
    assert_answer_says("\"backlog\":5,\"storage\":{\"held_rows\":7},\"this_process\":{");
    assert_null(strstr(text, "\"_"));
}
