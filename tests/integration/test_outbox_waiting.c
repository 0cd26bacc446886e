/* What the outbox does with rows whose destination or whose sink is away. */
#include "integration/lane_fixture.h"

#include "outbox/slices/slice_lock_state.h"
#include "outbox/state.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

FIXTURE(set_up, tear_down)

#define AWAY_FIRST 1U  /* sink 0 */
#define AWAY_SECOND 2U /* sink 1 */

static int set_up_keyed(void **state)
{
    return open_ordered(state, ON_SENT_MARK, 8);
}

/* A row's destination is its topic, and it is not there. */
static void let_all_wait(struct lane_fixture *fixture, int64_t retry_ms)
{
    for (int i = 0; i < fixture->batch.count; i++) {
        struct message *message = &fixture->batch.messages[i];

        message->waits_for = message->topic;
        batch_refuse(&fixture->batch, message, VERDICT_WAIT, "unknown topic");
        message->outcome = OUTCOME_PARK;
        message->retry_ms = retry_ms;
    }
}

static void park_waiting(struct lane_fixture *fixture, const char *topic, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload) SELECT '%s', to_jsonb(i) FROM generate_series(1, %d)"
        " i",
        topic, count);
    claim_count(fixture, count);
    let_all_wait(fixture, 3600000);
    settle(fixture, false);
}

static int claim_parked(struct lane_fixture *fixture)
{
    if (claim_from(fixture->outbox, &fixture->batch, true, &fixture->error) < 0)
        fail_msg("%s", fixture->error.text);
    return fixture->batch.count;
}

static void make_probes_due(struct lane_fixture *fixture)
{
    sql(fixture->conn, "UPDATE outbox_parked SET due = now() WHERE due IS NOT NULL");
}

static int64_t count_parked(struct lane_fixture *fixture, const char *condition)
{
    return sql_number(fixture->conn, "SELECT count(*) FROM outbox_parked WHERE %s", condition);
}

LANE_TEST(of_the_rows_that_wait_for_one_destination_one_is_tried)
{
    park_waiting(fixture, "a", 50);
    park_waiting(fixture, "b", 30);
    assert_int_equal(count_parked(fixture, "due IS NOT NULL"), 2);
    park_waiting(fixture, "a", 20); /* has its probe already */
    assert_int_equal(count_parked(fixture, "due IS NOT NULL"), 2);
    assert_int_equal(count_parked(fixture, "waits_for = 'a' AND due IS NULL"), 69);
    make_probes_due(fixture);
    assert_int_equal(claim_parked(fixture), 2);
    assert_int_equal(fixture->batch.messages[0].attempts, 0);
    let_all_wait(fixture, 3600000);
    settle(fixture, false);
    assert_int_equal(count_parked(fixture, "due > now() + interval '50 min'"), 2);
    assert_int_equal(count_parked(fixture, "attempts > 0"), 0);
}

LANE_TEST(a_destination_that_came_takes_all_that_waited_in_their_order)
{
    int64_t last = 0;
    int sent = 0;

    fixture->options.batch = 10;
    outbox_abandon(fixture->outbox);
    park_waiting(fixture, "a", 10);
    for (int i = 0; i < 29; i++)
        park_waiting(fixture, "a", 10);
    make_probes_due(fixture);
    while (claim_parked(fixture) > 0) {
        for (int i = 0; i < fixture->batch.count; i++) {
            int64_t id = strtoll(fixture->batch.messages[i].id.data, NULL, 10);

            assert_true(id > last);
            last = id;
        }
        sent += fixture->batch.count;
        decide_all(&fixture->batch, OUTCOME_SENT);
        settle(fixture, false);
    }
    assert_int_equal(sent, 300);
    assert_int_equal(count_parked(fixture, "sent_at IS NULL"), 0);
}

LANE_TEST_WITH(with_delete_a_destination_that_came_takes_all_that_waited, set_up_delete, tear_down)
{
    park_waiting(fixture, "a", 40);
    make_probes_due(fixture);
    assert_int_equal(claim_parked(fixture), 1);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
    assert_int_equal(claim_parked(fixture), 39);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
    assert_int_equal(count_parked(fixture, "true"), 0);
}

LANE_TEST(when_the_row_that_is_tried_dies_another_waiting_row_is_tried)
{
    park_waiting(fixture, "a", 5);
    make_probes_due(fixture);
    assert_int_equal(claim_parked(fixture), 1);
    refuse_all(fixture, OUTCOME_DEAD, 0);
    settle(fixture, false);
    assert_int_equal(count_parked(fixture, "state = 'dead'"), 1);
    assert_int_equal(claim_parked(fixture), 4);
    let_all_wait(fixture, 1000);
    settle(fixture, false);
    assert_int_equal(count_parked(fixture, "state = 'waiting' AND due IS NULL"), 3);
}

LANE_TEST(when_the_row_that_is_tried_is_dropped_another_waiting_row_is_tried)
{
    struct admin *admin = admin_open(&fixture->options, &fixture->error);

    assert_non_null(admin);
    park_waiting(fixture, "a", 5);
    park_waiting(fixture, "b", 5);
    sql(fixture->conn, "DELETE FROM outbox_parked WHERE waits_for = 'a' AND due IS NOT NULL");
    assert_int_equal(admin_adopt_waiting(admin, &fixture->error), 0);
    assert_int_equal(count_parked(fixture, "waits_for = 'a' AND due <= now()"), 1);
    assert_int_equal(count_parked(fixture, "waits_for = 'b' AND due IS NOT NULL"), 1);
    assert_int_equal(claim_parked(fixture), 1);
    admin_close(admin);
}

/* However it came to be due: what was sent is not sent again. */
LANE_TEST(a_parked_row_that_was_sent_is_never_claimed)
{
    struct admin *admin = admin_open(&fixture->options, &fixture->error);

    assert_non_null(admin);
    park_waiting(fixture, "a", 1);
    sql(fixture->conn, "UPDATE outbox_parked SET state = 'sent', due = NULL, sent_at = now()");
    assert_int_equal(admin_adopt_waiting(admin, &fixture->error), 0);
    assert_int_equal(count_parked(fixture, "due IS NULL"), 1);
    assert_int_equal(claim_parked(fixture), 0);
    admin_close(admin);
}

/* Topics "one.*" and "re:^two" go to sink 0, the rest to sink 1. */
static void open_with_routes(struct lane_fixture *fixture, struct routes *routes)
{
    static const char *const patterns[] = {"one.*", "re:^two+$", ">"};
    char why[128];

    *routes = (struct routes){.entries = calloc(3, sizeof *routes->entries), .count = 3};
    assert_non_null(routes->entries);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(match_parse(&routes->entries[i].match, patterns[i], why, sizeof why), 0);
        routes->entries[i].sink = i / 2;
    }
    outbox_close(fixture->outbox);
    fixture->outbox = outbox_open(&fixture->options, routes, "test/1");
    assert_non_null(fixture->outbox);
    share(fixture, fixture->outbox);
    fixture->outbox->slices->choice.width = SLICES_PER_CLAIM_MAX;
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
}

static int claim_without(struct lane_fixture *fixture, uint64_t away)
{
    const struct claim_request claim = {.payload_max = PAYLOAD_MAX, .away = away};

    if (outbox_claim(fixture->outbox, &fixture->batch, &claim, &fixture->error) < 0)
        fail_msg("%s", fixture->error.text);
    return fixture->batch.count;
}

static void insert_topics(struct lane_fixture *fixture)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT t, '1' FROM unnest(ARRAY["
                       "'one.a', 'one.b.c', 'one.', 'two', 'twoo', 'twox', 'three', 'one.\\d',"
                       " E'one.x''y', 'oneXa']) t");
}

/* Until a row is found; a claim that says `more` has not looked everywhere yet. */
static int claim_soon(struct lane_fixture *fixture, uint64_t away)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    int count;

    while ((count = claim_without(fixture, away)) == 0) {
        assert_true(harness_now_ms() < deadline_ms);
        if (!fixture->batch.has_more)
            harness_pause();
    }
    return count;
}

static void settle_sent(struct lane_fixture *fixture)
{
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
}

LANE_TEST(rows_of_a_sink_that_is_away_are_not_claimed)
{
    struct routes routes;

    open_with_routes(fixture, &routes);
    insert_topics(fixture);
    assert_int_equal(claim_soon(fixture, AWAY_FIRST), 5);
    for (int i = 0; i < 5; i++) {
        const struct text topic = fixture->batch.messages[i].topic;

        assert_false(match_topic(&routes.entries[0].match, topic) ||
                     match_topic(&routes.entries[1].match, topic));
    }
    outbox_abandon(fixture->outbox);
    assert_int_equal(claim_soon(fixture, AWAY_SECOND), 5);
    outbox_abandon(fixture->outbox);
    await_first_scan(fixture, fixture->outbox);
    assert_int_equal(claim_without(fixture, 0), 10);
    outbox_abandon(fixture->outbox);
    routes_free(&routes);
}

TEST_AGAIN(rows_of_a_sink_that_is_away_are_not_claimed, set_up_keyed, tear_down)

/* It was asked for when every sink was there, and has rows for all of them. */
LANE_TEST(rows_that_were_claimed_ahead_are_not_lost_when_a_sink_goes_away)
{
    const struct claim_request next = {.payload_max = PAYLOAD_MAX};
    struct routes routes;

    open_with_routes(fixture, &routes);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload)"
                       " SELECT 'three', to_jsonb(i) FROM generate_series(1, 600) i");
    assert_int_equal(claim_soon(fixture, 0), 500);
    decide_all(&fixture->batch, OUTCOME_SENT);
    assert_int_equal(outbox_settle(fixture->outbox, &fixture->batch, &next, &fixture->error), 0);
    assert_true(fixture->outbox->session.in_flight);
    assert_int_equal(claim_without(fixture, AWAY_FIRST), 100);
    settle_sent(fixture);
    routes_free(&routes);
}

/* 120,000 rows are more than two windows; the other sink's stand before, among and behind them. */
LANE_TEST(behind_a_sink_that_is_away_the_rows_of_others_are_found_wherever_they_stand)
{
    struct routes routes;
    int found = 0;

    open_with_routes(fixture, &routes);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT CASE WHEN i %% 20000 = 1 THEN"
                       " 'three' ELSE 'one.a' END, '1' FROM generate_series(1, 120000) i");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('three', '2')");
    while (found < 7) {
        found += claim_soon(fixture, AWAY_FIRST);
        settle_sent(fixture);
    }
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM outbox WHERE topic = 'three'"
                  " AND sent_at IS NULL");
    assert_true(claim_without(fixture, 0) > 0);
    assert_false(text_equal(fixture->batch.messages[0].topic, text_of("three")));
    outbox_abandon(fixture->outbox);
    routes_free(&routes);
}

TEST_AGAIN(behind_a_sink_that_is_away_the_rows_of_others_are_found_wherever_they_stand,
           set_up_keyed, tear_down)

LANE_TEST(behind_a_sink_that_is_away_rows_with_uuid_ids_are_found_too)
{
    struct routes routes;

    outbox_abandon(fixture->outbox);
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    sql(fixture->conn,
        "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), event_id"
        " uuid NOT NULL DEFAULT gen_random_uuid(), topic text NOT NULL, payload jsonb,"
        " sent_at timestamptz)");
    sql(fixture->conn, "CREATE INDEX ON outbox (id) WHERE sent_at IS NULL");
    init_tables(fixture);
    open_with_routes(fixture, &routes);
    insert_topics(fixture);
    for (int found = 0; found < 5;) {
        found += claim_soon(fixture, AWAY_FIRST);
        settle_sent(fixture);
        assert_true(found <= 5);
    }
    routes_free(&routes);
}

/* The row that was committed late has a lower id than those claimed already. */
LANE_TEST(a_row_that_commits_late_is_found_by_the_next_full_scan)
{
    struct routes routes;
    PGconn *late = harness_connect(fixture->url);

    open_with_routes(fixture, &routes);
    sql(late, "BEGIN; INSERT INTO outbox (topic, payload) VALUES ('three', '1')");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('three', '2')");
    assert_int_equal(claim_soon(fixture, AWAY_FIRST), 1);
    settle_sent(fixture);
    sql(late, "COMMIT");
    PQfinish(late);
    assert_int_equal(claim_soon(fixture, AWAY_FIRST), 1);
    assert_text(fixture->batch.messages[0].payload, "1");
    outbox_abandon(fixture->outbox);
    routes_free(&routes);
}

/* Its id was drawn before its INSERT. */
LANE_TEST(a_row_below_the_bound_is_found_while_a_sink_is_away)
{
    struct routes routes;

    open_with_routes(fixture, &routes);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT CASE WHEN i %% 2 = 0 THEN"
                       " 'three' ELSE 'one.a' END, '1' FROM generate_series(1, 100) i");
    for (int found = 0; found < 50; found += fixture->batch.count) {
        (void)claim_soon(fixture, AWAY_FIRST);
        settle_sent(fixture);
    }
    assert_int_equal(claim_without(fixture, AWAY_FIRST), 0);
    sql(fixture->conn, "DELETE FROM outbox WHERE topic <> 'three'");
    await_bounds(fixture, false, 101);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 'one.a', '1'"
                       " FROM generate_series(1, 100) i");
    assert_int_equal(claim_without(fixture, AWAY_FIRST), 0);
    sql(fixture->conn, "INSERT INTO outbox (id, topic, payload) OVERRIDING SYSTEM VALUE"
                       " VALUES (-5, 'three', '2')");
    assert_int_equal(claim_soon(fixture, AWAY_FIRST), 1);
    assert_text(fixture->batch.messages[0].id, "-5");
    outbox_abandon(fixture->outbox);
    routes_free(&routes);
}

TEST_AGAIN(a_row_below_the_bound_is_found_while_a_sink_is_away, set_up_keyed, tear_down)

/* Messages without what the column held would be worse than none. */
LANE_TEST(a_column_that_goes_while_the_relay_runs_stops_the_claims)
{
    static const char *const optional[] = {"key", "type", "headers", "created_at"};

    sql(fixture->conn, "INSERT INTO outbox (topic, key, type, payload, headers)"
                       " VALUES ('t', 'k', 'T', '1', '{\"h\": \"v\"}')");
    claim_count(fixture, 1);
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        sql(fixture->conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                           " application_name LIKE 'outbox-relay/%%'"
                           " AND datname = current_database()");
        sql(fixture->conn, "ALTER TABLE outbox RENAME %s TO gone", optional[i]);
        assert_int_equal(claim(fixture), -1);
        assert_int_equal(claim(fixture), -1);
        assert_non_null(strstr(fixture->error.text, "has lost its column"));
        assert_non_null(strstr(fixture->error.text, optional[i]));
        assert_int_equal(fixture->error.kind, ERROR_PERMANENT);
        sql(fixture->conn, "ALTER TABLE outbox RENAME gone TO %s", optional[i]);
        (void)claim(fixture); /* meets the other session that was ended */
        outbox_abandon(fixture->outbox);
        claim_count(fixture, 1);
        assert_text(fixture->batch.messages[0].type, "T");
    }
}

/* The flush waits for a standby that does not exist, beyond every timeout of
 * the server's. */
LANE_TEST(a_standby_that_is_away_leaves_no_backends_behind)
{
    insert_rows(fixture, 1);
    sql(fixture->conn, "ALTER SYSTEM SET synchronous_standby_names = 'nosuch'");
    sql(fixture->conn, "SELECT pg_reload_conf()");
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names'"
                    " AND setting = 'nosuch'");
    for (int i = 0; i < 2; i++)
        assert_int_equal(claim(fixture), -1);
    sql(fixture->conn, "ALTER SYSTEM RESET synchronous_standby_names");
    wait_for_number(fixture->conn, 1, /* the last one given up may be on its way out */
                    "SELECT (count(*) <= 2)::int FROM pg_stat_activity WHERE application_name"
                    " LIKE 'outbox-relay/%' AND datname = current_database()");
    sql(fixture->conn, "SELECT pg_reload_conf()");
    wait_for_number(fixture->conn, 0,
                    "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names'"
                    " AND setting = 'nosuch'");
    claim_count(fixture, 1);
}

static const char *pid_query(int64_t pid)
{
    static char query[96];

    (void)snprintf(query, sizeof query, "SELECT count(*) FROM pg_stat_activity WHERE pid = %lld",
                   (long long)pid);
    return query;
}

/* The client finds its connection closed, the server notices nothing: the descriptor to be closed.
 */
static int cut_off(struct lane_fixture *fixture)
{
    int socket = PQsocket(fixture->outbox->session.conn);
    int kept = dup(socket);
    int pair[2];

    assert_true(kept >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_true(dup2(pair[0], socket) >= 0);
    (void)close(pair[0]);
    (void)close(pair[1]);
    return kept;
}

/* What holds the locks of a client that gave up need not be waited for. */
LANE_TEST(the_backend_of_a_connection_given_up_is_ended_by_the_next)
{
    int64_t pid;
    int kept;

    insert_rows(fixture, 3);
    claim_count(fixture, 3);
    pid = sql_number(fixture->conn, "SELECT pid FROM pg_stat_activity WHERE application_name ="
                                    " 'outbox-relay/test/1' AND datname = current_database()");
    kept = cut_off(fixture);
    decide_all(&fixture->batch, OUTCOME_SENT);
    assert_int_equal(settle_all(fixture, false), -1);
    (void)claim(fixture); /* may still meet the locks */
    wait_for_number(fixture->conn, 0, pid_query(pid));
    outbox_abandon(fixture->outbox);
    claim_count(fixture, 3);
    (void)close(kept);
}
