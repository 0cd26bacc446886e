#include "relay/changes.h"

#include "unit/logged.h"

static char table[] = "public.outbox";
static char events_name[] = "events";
static char bus_name[] = "bus";
static char kafka_type[] = "kafka";
static char nats_type[] = "nats";
static char broker[] = "k1:9092";
static const struct relay_options options = {
    .lanes = 2,
    .outbox = {.table = table, .batch = 500},
    .sinks = {{.name = events_name, .type = kafka_type, .brokers = {.items = {broker}, .count = 1}},
              {.name = bus_name, .type = nats_type}},
    .sink_count = 2,
};
static struct changes changes;
static struct relay_report report;

/* A process of two lanes, in which everything is up from its first second on. */
static int set_up(void **state)
{
    (void)state;
    changes_init(&changes, &options);
    report = (struct relay_report){.now_ms = 1769897700000, .sink_count = 2, .lane_count = 2};
    report.peers[REPORT_DATABASE] = (struct peer_report){
        .name = "database", .state = PEER_UP, .connects = 2, .error_for_ms = -1};
    for (int i = 0; i < 2; i++) {
        report.peers[i] = report.peers[REPORT_DATABASE];
        report.peers[i].name = options.sinks[i].name;
    }
    log_to_file();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    forget_logged();
    return 0;
}

FIXTURE(set_up, tear_down)

/* Second by second, as the main thread does. */
static void pass(int seconds)
{
    for (int i = 0; i < seconds; i++) {
        report.now_ms += 1000;
        report.up_for_ms += 1000;
        report.peers[REPORT_DATABASE].state_for_ms += 1000;
        for (int sink = 0; sink < 2; sink++)
            report.peers[sink].state_for_ms += 1000;
        changes_log(&changes, &report);
    }
}

static void enter(struct peer_report *peer, enum peer_state state, const char *why)
{
    peer->state = state;
    peer->state_for_ms = 0;
    peer->lanes_away = state == PEER_AWAY ? 2 : 0;
    if (state == PEER_AWAY) {
        (void)error_set(&peer->error, ERROR_TRANSIENT, ERROR_BROKER, "%s", why);
        (void)error_mark_unanswered(&peer->error);
    } else
        peer->connects += 2;
}

TEST(what_is_connected_is_logged_once_and_then_that_it_relays)
{
    const char *connected;

    pass(30);
    connected = strstr(logged(), "msg=\"sink bus is connected\" sink=bus\n");
    assert_non_null(connected);
    assert_non_null(strstr(connected, "relaying from public.outbox with 2 lanes of 500 rows"));
    assert_non_null(strstr(logged_text, "msg=\"the database is connected\"\n"));
    assert_int_equal(count_words(logged_text, "\n"), 4);
}

TEST(nothing_is_called_connected_before_it_was)
{
    report.peers[REPORT_DATABASE].connects = 0;
    enter(&report.peers[REPORT_DATABASE], PEER_AWAY, "connection refused");
    for (int i = 0; i < 2; i++)
        report.peers[i] = (struct peer_report){.name = "x", .error_for_ms = -1};
    pass(10);
    assert_non_null(strstr(logged(), "level=error msg=\"the database is away\""
                                     " error=\"connection refused\" since="));
    assert_int_equal(count_words(logged_text, "\n"), 1);
    assert_int_equal(count_words(logged_text, "relaying"), 0);
}

TEST(what_was_away_is_logged_when_the_lanes_of_a_drain_have_ended)
{
    report.peers[1] = (struct peer_report){.name = bus_name, .error_for_ms = 20};
    (void)error_set(&report.peers[1].error, ERROR_TRANSIENT, ERROR_BROKER, "refused");
    changes_log(&changes, &report);
    assert_int_equal(count_words(logged(), "msg=\"sink bus is away: its rows wait\" sink=bus"
                                           " error=refused"),
                     1);
}

TEST(a_sink_that_is_away_costs_a_line_a_minute)
{
    pass(1);
    enter(&report.peers[0], PEER_AWAY, "connection refused");
    pass(600);
    assert_int_equal(
        count_words(logged(), "msg=\"sink events is away: its rows wait\" sink=events"), 1);
    assert_int_equal(count_words(logged_text, "sink events has been away for 61 s"), 1);
    assert_int_equal(count_words(logged_text, "sink events "), 1 + 1 + 9); /* connected, away */
    assert_int_equal(
        count_words(logged_text, "level=info msg=\"sent 0 in all (0/s), parked 0, dead 0\""), 10);
    assert_int_equal(count_words(logged_text, "\n"), 4 + 10 + 10);
}

TEST(its_end_has_the_same_name_and_how_long_it_was)
{
    pass(1);
    enter(&report.peers[0], PEER_AWAY, "connection refused");
    pass(40);
    enter(&report.peers[0], PEER_UP, NULL);
    pass(10);
    assert_int_equal(count_words(logged(), "msg=\"sink events is back after 40 s\" sink=events"
                                           " since="),
                     1);
    assert_int_equal(count_words(logged_text, "sink events is"), 3);
}

TEST(another_reason_is_logged_at_once_and_once)
{
    static const char *const reasons[] = {"timed out after 3 ms", "timed out after 7 ms",
                                          "refused"};

    pass(1);
    for (int i = 0; i < 30; i++) {
        enter(&report.peers[0], PEER_AWAY, reasons[i % 3]);
        pass(1);
    }
    assert_int_equal(count_words(logged(), "error=\"timed out after 3 ms\""), 1);
    assert_int_equal(count_words(logged_text, "error=refused"), 1);
    assert_int_equal(count_words(logged_text, "after 7 ms"), 0);
    assert_non_null(strstr(logged_text, "sink events has been away for 3 s: its rows wait"));
}

/* A probe connects, and the next publish fails. */
TEST(a_probe_is_no_end)
{
    pass(1);
    for (int i = 0; i < 12; i++) {
        enter(&report.peers[0], PEER_AWAY, "timed out");
        pass(3);
        enter(&report.peers[0], PEER_UP, NULL);
        pass(1);
    }
    assert_int_equal(count_words(logged(), "is back"), 0);
    assert_int_equal(count_words(logged_text, "is away"), 1);
}

TEST(messages_that_are_taken_are_its_end)
{
    pass(1);
    enter(&report.peers[0], PEER_AWAY, "timed out");
    pass(10);
    enter(&report.peers[0], PEER_UP, NULL);
    report.counts[0][REPORT_SENT] = 500;
    pass(1);
    assert_int_equal(count_words(logged(), "sink events is back after 10 s"), 1);
}

TEST(a_server_that_hangs_is_named_before_its_sink_is_away_and_when_it_answers)
{
    pass(1);
    report.peers[0].silent_ms = 3000;
    report.peers[1].silent_ms = 3000;
    report.peers[1].server = "nats://n1:4222";
    pass(3);
    report.peers[0].silent_ms = 0;
    enter(&report.peers[1], PEER_AWAY, "nothing answers");
    report.peers[1].silent_ms = 0;
    pass(1);
    report.counts[0][REPORT_SENT] = 1;
    pass(1);
    assert_int_equal(count_words(logged(),
                                 "msg=\"sink events has not acknowledged a batch for 3 s\""
                                 " sink=events error=\"kafka at k1:9092\""),
                     1);
    assert_int_equal(count_words(logged_text, "error=\"nats at nats://n1:4222\""), 1);
    assert_int_equal(count_words(logged_text, "msg=\"sink events acknowledges again after "), 1);
    assert_int_equal(count_words(logged_text, "sink bus acknowledges again"), 0);
    assert_int_equal(count_words(logged_text, "sink bus is away: its rows wait"), 1);
}

TEST(a_gap_between_two_looks_is_logged_once_a_minute)
{
    pass(1);
    for (int i = 0; i < 10; i++) {
        enter(&report.peers[REPORT_DATABASE], PEER_AWAY, "terminating connection");
        enter(&report.peers[REPORT_DATABASE], PEER_UP, NULL);
        report.peers[REPORT_DATABASE].error_for_ms = 400;
        pass(1);
        report.peers[REPORT_DATABASE].error_for_ms = 4000;
        report.peers[0].connects++; /* a lane that is late has had no error */
        pass(1);
    }
    assert_int_equal(count_words(logged(), "level=warn msg=\"the database was away for a moment\""
                                           " error=\"terminating connection\"\n"),
                     1);
    assert_int_equal(count_words(logged_text, "\n"), 4 + 1);
}

/* The database is there, and nobody is away. */
TEST(a_wait_for_a_lock_is_called_one)
{
    pass(1);
    enter(&report.peers[REPORT_DATABASE], PEER_AWAY, "canceling statement due to lock timeout");
    report.peers[REPORT_DATABASE].error.cause = ERROR_LOCKED;
    report.peers[REPORT_DATABASE].error.is_unanswered = false;
    pass(2);
    enter(&report.peers[REPORT_DATABASE], PEER_UP, NULL);
    pass(4);
    assert_int_equal(count_words(logged(), "msg=\"the database has the relay wait for a lock\""),
                     1);
    assert_int_equal(count_words(logged_text, "msg=\"the database has given the lock after "), 1);
    assert_int_equal(count_words(logged_text, "away"), 0);
}

TEST(an_outage_after_a_gap_is_logged_at_once)
{
    pass(1);
    enter(&report.peers[REPORT_DATABASE], PEER_AWAY, "permission denied");
    enter(&report.peers[REPORT_DATABASE], PEER_UP, NULL);
    report.peers[REPORT_DATABASE].error_for_ms = 400;
    pass(1);
    enter(&report.peers[REPORT_DATABASE], PEER_AWAY, "permission denied");
    pass(2);
    assert_int_equal(count_words(logged(), "the database was away for a moment"), 1);
    assert_int_equal(count_words(logged_text, "msg=\"the database is away\""), 1);
}

/* Its end is not logged when its beginning was not. */
TEST(one_that_comes_and_goes_is_logged_once_a_minute)
{
    pass(1);
    for (int i = 0; i < 18; i++) {
        enter(&report.peers[0], PEER_AWAY, "timed out");
        pass(5);
        enter(&report.peers[0], PEER_UP, NULL);
        pass(5);
    }
    assert_in_range(count_words(logged(), "sink events is away"), 3, 4);
    assert_int_equal(count_words(logged_text, "sink events is away"),
                     count_words(logged_text, "sink events is back"));
}

TEST(a_database_that_refuses_is_not_away)
{
    pass(1);
    enter(&report.peers[REPORT_DATABASE], PEER_AWAY, "permission denied");
    report.peers[REPORT_DATABASE].error.kind = ERROR_PERMANENT;
    report.peers[REPORT_DATABASE].error.is_unanswered = false;
    pass(70);
    enter(&report.peers[REPORT_DATABASE], PEER_UP, NULL);
    pass(5);
    assert_int_equal(count_words(logged(), "msg=\"the database refuses the relay\""), 1);
    assert_int_equal(count_words(logged_text, "msg=\"the database has refused the relay for 61 s"),
                     1);
    assert_int_equal(count_words(logged_text, "msg=\"the database is back after 70 s\""), 1);
}

TEST(the_line_of_figures_has_rate_and_means)
{
    static const struct histogram_scale scale = {{1000000}, 1};

    pass(1);
    report.counts[0][REPORT_SENT] = 6000;
    report.counts[1][REPORT_PARKED_BEHIND] = 2;
    report.counts[REPORT_NO_SINK][REPORT_DEAD_REJECTED] = 1;
    report.times[REPORT_PUBLISH] = (struct histogram_sum){&scale, {2}, 6400};
    pass(119);
    assert_int_equal(
        count_words(logged(), "msg=\"sent 6000 in all (100/s), parked 2, dead 1, publish 3.2 ms\""),
        1);
    assert_int_equal(count_words(logged_text, "msg=\"sent 6000 in all (0/s), parked 2, dead 1\""),
                     1);
}
