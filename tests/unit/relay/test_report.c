#include "relay/report.h"

#include "base/clock.h"
#include "test.h"

#include <string.h>

static char events_name[] = "events";
static char events_type[] = "kafka";
static char bus_name[] = "bus";
static char bus_type[] = "nats";
static const struct relay_options options = {
    .publish_timeout_ms = 10000,
    .poll_interval_ms = 250,
    .sinks = {{.name = events_name, .type = events_type}, {.name = bus_name, .type = bus_type}},
    .sink_count = 2,
};
static struct lane_report lanes[2];
static struct report report;
static struct relay_report snapshot;

static int set_up(void **state)
{
    (void)state;
    memset(lanes, 0, sizeof lanes);
    report_init(&report, &options);
    for (int i = 0; i < 2; i++) {
        lane_report_init(&lanes[i], i + 1);
        report_add_lane(&report, &lanes[i]);
    }
    return 0;
}

FIXTURE(set_up, NULL)

static void lose(int lane, int peer, const char *why)
{
    struct error error;

    (void)error_set(&error, ERROR_TRANSIENT, ERROR_BROKER, "%s", why);
    lane_report_away(&lanes[lane], peer, &error);
}

static const struct peer_report *read_sink(int sink)
{
    report_read(&report, &snapshot);
    return &snapshot.peers[sink];
}

TEST(a_sink_is_away_when_one_lane_cannot_use_it)
{
    lane_report_up(&lanes[0], 0);
    lose(1, 0, "connection refused");
    assert_int_equal(read_sink(0)->state, PEER_AWAY);
    assert_int_equal(read_sink(0)->lanes_away, 1);
    assert_string_equal(read_sink(0)->error.text, "connection refused");
    assert_int_equal(report_away(&report), 1);
    assert_int_equal(read_sink(1)->state, PEER_UNKNOWN);
}

TEST(a_sink_that_is_back_keeps_its_last_error_and_counts_the_connection)
{
    lane_report_up(&lanes[0], 0);
    lose(0, 0, "connection refused");
    lane_report_up(&lanes[0], 0);
    lane_report_up(&lanes[0], 0);
    assert_int_equal(read_sink(0)->state, PEER_UP);
    assert_int_equal(read_sink(0)->connects, 2);
    assert_string_equal(read_sink(0)->error.text, "connection refused");
    assert_true(read_sink(0)->error_for_ms >= 0);
}

TEST(a_paused_sink_is_not_away_whatever_it_was_before)
{
    lose(0, 0, "connection refused");
    lane_report_paused(&lanes[0], 0);
    lane_report_paused(&lanes[1], 0);
    assert_int_equal(read_sink(0)->state, PEER_PAUSED);
    assert_int_equal(report_away(&report), 0);
    lane_report_up(&lanes[0], 0);
    lane_report_up(&lanes[1], 0);
    assert_int_equal(read_sink(0)->state, PEER_UP);
}

TEST(a_further_failure_does_not_make_a_sink_away_anew)
{
    const struct peer_report *sink;

    lose(0, 0, "connection refused");
    atomic_store(&lanes[0].peers[0].since_ms, clock_now_ms() - 60000);
    lose(0, 0, "no route to host");
    sink = read_sink(0);
    assert_true(sink->state_for_ms >= 60000);
    assert_string_equal(sink->error.text, "no route to host");
    assert_true(snapshot.now_ms - sink->since_ms >= 60000);
}

static void add(struct batch *batch, int sink, enum verdict verdict, enum outcome outcome)
{
    struct message *message = batch_add(batch);

    message->sink = sink;
    message->verdict = verdict;
    message->outcome = outcome;
}

TEST(rows_are_counted_by_sink_and_reason)
{
    struct batch batch;

    assert_int_equal(batch_init(&batch, 10), 0);
    add(&batch, 0, VERDICT_SENT, OUTCOME_SENT);
    add(&batch, 1, VERDICT_SENT, OUTCOME_SENT);
    add(&batch, 1, VERDICT_WAIT, OUTCOME_PARK);
    add(&batch, 1, VERDICT_PAUSED, OUTCOME_PARK);
    add(&batch, 1, VERDICT_RETRY, OUTCOME_PARK);
    add(&batch, 1, VERDICT_EARLY, OUTCOME_PARK);
    add(&batch, 1, VERDICT_PENDING, OUTCOME_BEHIND);
    add(&batch, -1, VERDICT_REJECTED, OUTCOME_DEAD);
    add(&batch, 0, VERDICT_PENDING, OUTCOME_UNSENT);
    lane_report_settled(&lanes[0], &batch);
    batch_free(&batch);
    report_read(&report, &snapshot);
    assert_int_equal(snapshot.counts[0][REPORT_SENT], 1);
    assert_int_equal(snapshot.counts[1][REPORT_SENT], 1);
    assert_int_equal(snapshot.counts[1][REPORT_PARKED_WAITING], 1);
    assert_int_equal(snapshot.counts[1][REPORT_PARKED_PAUSED], 1);
    assert_int_equal(snapshot.counts[1][REPORT_PARKED_RETRY], 1);
    assert_int_equal(snapshot.counts[1][REPORT_PARKED_SCHEDULED], 1);
    assert_int_equal(snapshot.counts[1][REPORT_PARKED_BEHIND], 1);
    assert_int_equal(snapshot.counts[REPORT_NO_SINK][REPORT_DEAD_REJECTED], 1);
    assert_int_equal(report_total(&report, REPORT_SENT), 2);
    assert_int_equal(report_total(&report, REPORT_RETRIED), 0);
}

TEST(a_parked_row_that_is_tried_again_is_retried_and_not_parked_anew)
{
    struct batch batch;

    assert_int_equal(batch_init(&batch, 10), 0);
    add(&batch, 0, VERDICT_RETRY, OUTCOME_PARK);
    add(&batch, 0, VERDICT_SENT, OUTCOME_SENT);
    add(&batch, 0, VERDICT_PENDING, OUTCOME_BEHIND);
    batch.parked = true;
    lane_report_settled(&lanes[0], &batch);
    batch_free(&batch);
    assert_int_equal(report_total(&report, REPORT_RETRIED), 2);
    assert_int_equal(report_total(&report, REPORT_SENT), 1);
    assert_int_equal(report_total(&report, REPORT_PARKED_RETRY), 0);
    assert_int_equal(report_total(&report, REPORT_PARKED_BEHIND), 0);
}

TEST(a_lane_that_publishes_for_longer_than_its_deadlines_allow_is_stuck)
{
    char why[256];

    lane_report_enter(&lanes[1], LANE_IS_PUBLISHING);
    report_read(&report, &snapshot);
    assert_true(report_is_healthy(&snapshot, why, sizeof why));
    atomic_store(&lanes[1].state_at_ms, clock_now_ms() - 120000);
    report_read(&report, &snapshot);
    assert_false(report_is_healthy(&snapshot, why, sizeof why));
    assert_non_null(strstr(why, "lane 2 has been publishing for 120 s"));
}

TEST(a_lane_that_has_ended_is_not_stuck)
{
    char why[256];

    lane_report_enter(&lanes[1], LANE_IS_ENDED);
    atomic_store(&lanes[1].state_at_ms, clock_now_ms() - 1200000);
    report_read(&report, &snapshot);
    assert_true(report_is_healthy(&snapshot, why, sizeof why));
}

TEST(a_main_thread_that_does_not_turn_is_unhealthy)
{
    char why[256];

    atomic_store(&report.loop_at_ms, clock_now_ms() - 45000);
    report_read(&report, &snapshot);
    assert_false(report_is_healthy(&snapshot, why, sizeof why));
    assert_non_null(strstr(why, "main thread"));
}

/* What a restart would accept without a question, an old primary, does not call for one. */
TEST(only_another_cluster_that_stays_calls_for_a_restart)
{
    struct error error;
    char why[256];

    for (int restarts = 0; restarts < 2; restarts++) {
        (void)error_set(&error, ERROR_PERMANENT, ERROR_DATABASE, "another one");
        error.needs_restart = restarts == 1;
        for (int i = 0; i < 2; i++)
            lane_report_away(&lanes[i], REPORT_DATABASE, &error);
        report_read(&report, &snapshot);
        assert_false(report_needs_restart(&snapshot));
        snapshot.peers[REPORT_DATABASE].state_for_ms = 11000;
        assert_int_equal(report_needs_restart(&snapshot), restarts == 1);
        assert_int_equal(report_is_healthy(&snapshot, why, sizeof why), restarts == 0);
        snapshot.peers[REPORT_DATABASE].lanes_away = 1;
        assert_false(report_needs_restart(&snapshot));
    }
}
