#include "integration/mysql/lane_fixture.h"

FIXTURE(set_up, tear_down)

/* By the transaction of the lane. */
static int rows_locked(struct lane_fixture *fixture)
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "SELECT trx_rows_locked FROM information_schema.innodb_trx"
                   " WHERE trx_mysql_thread_id = %lu",
                   mysql_thread_id(fixture->outbox->session.conn));
    return (int)number_of(fixture, text);
}

TEST(rows_are_claimed_in_the_order_of_their_ids_and_deleted_when_they_are_sent)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "INSERT INTO outbox (event_id, topic, `key`, type, payload, headers) VALUES"
                 " ('a', 't', 'k', 'made', '{\"n\":1}', '{\"h\":\"x\"}'),"
                 " ('b', 'u', X'00ff27', NULL, NULL, NULL), ('c', 't', 'k', NULL, '', NULL)");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 3);
    assert_text(fixture->batch.messages[0].id, "1");
    assert_text(fixture->batch.messages[0].event_id, "a");
    assert_text(fixture->batch.messages[0].topic, "t");
    assert_text(fixture->batch.messages[0].key, "k");
    assert_text(fixture->batch.messages[0].type, "made");
    assert_text(fixture->batch.messages[0].payload, "{\"n\":1}");
    assert_int_equal(fixture->batch.messages[0].header_count, 1);
    assert_int_equal(fixture->batch.messages[0].created_at.len,
                     strlen("2026-01-01T00:00:00.000000Z"));
    assert_int_equal(fixture->batch.messages[1].key.len, 3);
    assert_null(fixture->batch.messages[1].payload.data);
    assert_int_equal(fixture->batch.messages[1].payload_len, -1);
    assert_int_equal(fixture->batch.messages[2].payload.len, 0);
    assert_non_null(fixture->batch.messages[2].payload.data);
    assert_int_equal(fixture->batch.messages[0].slice, fixture->batch.messages[2].slice);
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 0);
}

TEST_AGAIN(rows_are_claimed_in_the_order_of_their_ids_and_deleted_when_they_are_sent,
           set_up_unordered, tear_down)

TEST_WITH(sent_rows_are_marked_and_not_claimed_again, set_up_mark, tear_down)
{
    struct lane_fixture *fixture = *state;

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', '1'), ('t', 'l', '2')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NOT NULL"),
                     2);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 0);
}

TEST(a_claim_locks_no_row_of_the_outbox_and_waits_for_no_insert)
{
    struct lane_fixture *fixture = *state;
    struct db_session writer;

    connect_to(&writer, fixture->url);
    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) SELECT 't', seq, 'p' FROM numbers WHERE seq <= 100");
    assert_true(db_execute(&writer,
                           "START TRANSACTION; INSERT INTO outbox (topic, `key`) VALUES ('t', 'w')",
                           &fixture->error) >= 0);
    claim(fixture);
    assert_true(fixture->batch.count > 0);
    assert_int_equal(rows_locked(fixture), fixture->outbox->locked_count);
    /* nobody waits for the lane either; one more row, and some servers wait for the writer */
    sql(fixture, "UPDATE outbox SET type = 'changed' ORDER BY id LIMIT 100");
    send_all(fixture);
    assert_true(db_execute(&writer, "COMMIT", &fixture->error) >= 0);
    db_end(&writer);
}

TEST(a_settle_waits_for_no_other_row_of_a_small_table)
{
    struct lane_fixture *fixture = *state;
    struct db_session writer;

    connect_to(&writer, fixture->url);
    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) SELECT 't', seq, 'p' FROM numbers WHERE seq <= 20");
    assert_true(db_execute(&writer,
                           "START TRANSACTION; INSERT INTO outbox (topic, `key`) VALUES ('t', 'w')",
                           &fixture->error) >= 0);
    for (int sent = 0; sent < 20; sent += fixture->batch.count) {
        claim(fixture);
        assert_true(fixture->batch.count > 0);
        send_all(fixture); /* fails after three seconds if it waits */
    }
    db_end(&writer);
}

TEST(two_lanes_never_have_rows_of_one_key_at_the_same_time)
{
    struct lane_fixture *fixture = *state;
    struct outbox *other = open_lane(fixture);
    const struct claim_request request = {.payload_max = PAYLOAD_MAX};
    struct batch batch;
    int shared = 0;

    assert_int_equal(batch_init(&batch, 500), 0);
    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) SELECT 't', seq MOD 50, seq FROM numbers WHERE seq <= 400");
    claim_by(fixture, fixture->outbox, &fixture->batch, &request);
    claim_by(fixture, other, &batch, &request);
    assert_true(fixture->batch.count > 0);
    assert_true(batch.count > 0);
    for (int i = 0; i < fixture->batch.count; i++)
        for (int j = 0; j < batch.count; j++)
            shared += text_equal(fixture->batch.messages[i].key, batch.messages[j].key);
    assert_int_equal(shared, 0);
    outbox_abandon(other);
    outbox_close(other);
    batch_free(&batch);
}

static void decide(struct message *message, enum outcome outcome, int64_t retry_ms,
                   const char *reason)
{
    message->outcome = outcome;
    message->retry_ms = retry_ms;
    message->reason = reason;
}

TEST(a_parked_row_holds_back_the_later_rows_of_its_key_and_releases_them_in_order)
{
    struct lane_fixture *fixture = *state;

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', '1'), ('t', 'k', '2'), ('t', 'l', '3')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 3);
    decide(&fixture->batch.messages[0], OUTCOME_PARK, 0, "broker said: \"no\" \xff");
    decide(&fixture->batch.messages[1], OUTCOME_BEHIND, 0, "waits for an earlier row of its key");
    decide(&fixture->batch.messages[2], OUTCOME_SENT, 0, NULL);
    settle(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_int_equal(
        number_of(fixture,
                  "SELECT COUNT(*) FROM outbox_parked WHERE state = 'retry' AND due IS NOT NULL"),
        1);
    assert_int_equal(
        number_of(fixture,
                  "SELECT COUNT(*) FROM outbox_parked WHERE state = 'behind' AND due IS NULL"),
        1);

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', '4'), ('t', 'm', '5')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    assert_true(fixture->batch.messages[0].blocked);
    assert_false(fixture->batch.messages[1].blocked);
    decide(&fixture->batch.messages[0], OUTCOME_BEHIND, 0, "waits");
    decide(&fixture->batch.messages[1], OUTCOME_SENT, 0, NULL);
    settle(fixture);

    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 3);
    for (int i = 0; i < 3; i++) {
        static const char *const payloads[] = {"1", "2", "4"};

        assert_text(fixture->batch.messages[i].payload, payloads[i]);
    }
    send_all(fixture);
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 0);
}

TEST(the_rows_behind_a_parked_one_are_claimed_with_it_up_to_one_that_waits_for_something_else)
{
    struct lane_fixture *fixture = *state;
    static const char *const claimed[] = {"1", "2"};
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    sql(fixture,
        "INSERT INTO outbox (id, topic, `key`, payload) VALUES (10, 't', 'k', '1'), (20, 't', 'k', '2'),"
        " (30, 't', 'k', '3'), (40, 't', 'k', '4')");
    claim(fixture);
    decide(&fixture->batch.messages[0], OUTCOME_PARK, 0, "no");
    decide(&fixture->batch.messages[1], OUTCOME_BEHIND, 0, "waits");
    decide(&fixture->batch.messages[2], OUTCOME_DEAD, 0, "too large");
    decide(&fixture->batch.messages[3], OUTCOME_BEHIND, 0, "waits");
    settle(fixture);
    for (int times = 0; times < 2; times++) {
        claim_parked(fixture);
        assert_int_equal(fixture->batch.count, 2);
        for (int i = 0; i < 2; i++)
            assert_text(fixture->batch.messages[i].payload, claimed[i]);
        decide(&fixture->batch.messages[0], OUTCOME_PARK, 0, "no");
        decide(&fixture->batch.messages[1], OUTCOME_BEHIND, 0, "waits");
        settle(fixture);
    }
    sql(fixture, "INSERT INTO outbox (id, topic, `key`, payload) VALUES (15, 't', 'k', '1.5')");
    do /* the first time in vain, when it finds that a row has come below the bound */
        claim_parked(fixture);
    while (fixture->batch.count == 0 && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(fixture->batch.count, 1);
    send_all(fixture);
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 0);
    sql(fixture, "DELETE FROM outbox");
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].payload, "2");
    send_all(fixture);
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 0);
}

TEST(of_rows_that_wait_for_a_destination_one_is_tried_until_it_is_there)
{
    struct lane_fixture *fixture = *state;
    bool due;
    int parked;

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'a', '1'), ('t', 'b', '2'), ('t', 'c', '3')");
    claim(fixture);
    for (int i = 0; i < 3; i++) {
        decide(&fixture->batch.messages[i], OUTCOME_PARK, 0, "no such topic");
        fixture->batch.messages[i].waits_for = text_of("main/it's");
    }
    settle(fixture);
    assert_int_equal(
        number_of(fixture,
                  "SELECT COUNT(*) FROM outbox_parked WHERE state = 'waiting' AND due IS NOT NULL"),
        1);
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 1);
    send_all(fixture);
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 2);
    decide(&fixture->batch.messages[0], OUTCOME_DEAD, 0, "too large");
    decide(&fixture->batch.messages[1], OUTCOME_SENT, 0, NULL);
    settle(fixture);
    assert_int_equal(
        number_of(fixture,
                  "SELECT COUNT(*) FROM outbox_parked WHERE state = 'dead' AND due IS NULL"),
        1);
    assert_int_equal(outbox_remaining(fixture->outbox, NULL, &due, &parked, &fixture->error), 0);
    assert_false(due);
    assert_int_equal(parked, 1);
}

TEST(a_row_that_the_server_refuses_to_delete_gets_a_note_and_the_others_are_settled)
{
    struct lane_fixture *fixture = *state;
    const struct claim_request refused = {.payload_max = PAYLOAD_MAX, .refused = true};

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) SELECT 't', seq, 'p' FROM numbers WHERE seq <= 9;"
        "CREATE TABLE uses (id BIGINT UNSIGNED NOT NULL, FOREIGN KEY (id) REFERENCES outbox (id)) ENGINE=InnoDB;"
        "INSERT INTO uses VALUES (4)");
    claim(fixture);
    while (fixture->batch.count > 0) {
        send_all(fixture);
        claim(fixture);
    }
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 1);
    assert_int_equal(
        number_of(
            fixture,
            "SELECT id FROM outbox_parked WHERE state = 'unsettled' AND error LIKE '%settle this row%'"),
        4);
    sql(fixture, "DROP TABLE uses; UPDATE outbox_parked SET due = UTC_TIMESTAMP(6)");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 0);
    assert_true(outbox_refused_are_due(fixture->outbox));
    claim_by(fixture, fixture->outbox, &fixture->batch, &refused);
    assert_int_equal(fixture->batch.count, 1);
    assert_int_equal(fixture->batch.messages[0].verdict, VERDICT_SENT);
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 0);
}

TEST(a_note_whose_row_is_gone_ends_and_holds_back_its_key_no_longer)
{
    struct lane_fixture *fixture = *state;
    const struct claim_request refused = {.payload_max = PAYLOAD_MAX, .refused = true};

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', '1'), ('t', 'k', '2');"
        "INSERT INTO outbox_parked (id, topic, `key`, state, due)"
        " VALUES (1, 't', 'k', 'refused', UTC_TIMESTAMP(6))");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_true(fixture->batch.messages[0].blocked);
    decide(&fixture->batch.messages[0], OUTCOME_BEHIND, 0, "waits");
    settle(fixture);
    sql(fixture, "DELETE FROM outbox WHERE id = 1");
    claim_by(fixture, fixture->outbox, &fixture->batch, &refused);
    assert_int_equal(fixture->batch.count, 0);
    assert_int_equal(fixture->outbox->locked_count, 0); /* else it would claim without a lock */
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].payload, "2");
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 0);
}

TEST(a_locked_row_makes_no_half_of_a_settle)
{
    struct lane_fixture *fixture = *state;
    struct db_session operator;

    connect_to(&operator, fixture->url);
    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'a', '1'), ('t', 'b', '2')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    assert_true(db_execute(&operator,
                           "START TRANSACTION; UPDATE outbox SET type = 'x' WHERE id = 2",
                           &fixture->error) >= 0);
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 1);
    assert_int_equal(fixture->batch.messages[1].outcome, OUTCOME_REFUSED);
    db_end(&operator);
}

TEST(a_table_that_is_being_rebuilt_is_no_view_and_lacks_nothing)
{
    struct lane_fixture *fixture = *state;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    struct db_session operator;

    connect_to(&operator, fixture->url);
    assert_true(
        db_execute(&operator,
                   "XA START 'lane'; INSERT INTO outbox (topic) VALUES ('t'); XA END 'lane';"
                   " XA PREPARE 'lane'",
                   &fixture->error) >= 0);
    db_end(&operator);
    connect_to(&operator, fixture->url);
    assert_int_equal(mysql_send_query(operator.conn, "OPTIMIZE TABLE outbox", 21), 0);
    await_number(fixture,
                 "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'OPTIMIZE%'",
                 1);
    if (outbox_ready(fixture->outbox, &fixture->error) < 0) {
        assert_int_equal(fixture->error.kind, ERROR_TRANSIENT);
        assert_false(fixture->error.is_schema);
    } else { /* MySQL describes a table whose lock is waited for */
        assert_false(fixture->outbox->session.is_mariadb);
    }
    sql(fixture, "XA COMMIT 'lane'");
    db_end(&operator);
    while (outbox_ready(fixture->outbox, &fixture->error) < 0)
        assert_true(clock_left_ms(deadline_ms) > 0);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
}

/* The lane is killed before each of its statements. */
TEST(a_killed_connection_settles_nothing_and_the_rows_are_claimed_again)
{
    struct lane_fixture *fixture = *state;
    char kill[64];

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'a', '1'), ('t', 'b', '2')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    (void)snprintf(kill, sizeof kill, "KILL %lu", mysql_thread_id(fixture->outbox->session.conn));
    sql(fixture, kill);
    for (int i = 0; i < 2; i++)
        fixture->batch.messages[i].outcome = OUTCOME_SENT;
    assert_int_equal(outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error), -1);
    assert_true(fixture->error.is_unanswered);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 2);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
}

TEST(a_batch_is_limited_in_bytes)
{
    struct lane_fixture *fixture = *state;
    int sent = 0;

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) SELECT 't', 'k', REPEAT('p', 1500000) FROM numbers WHERE seq <= 12");
    while (sent < 12) {
        claim(fixture);
        assert_in_range(fixture->batch.count, 1, 6);
        for (int i = 0; i < fixture->batch.count; i++)
            assert_int_equal(strtol(fixture->batch.messages[i].id.data, NULL, 10), sent + i + 1);
        sent += fixture->batch.count;
        send_all(fixture);
    }
}

TEST(the_horizon_rises_behind_sent_rows_and_not_past_an_open_insert)
{
    struct lane_fixture *fixture = *state;
    struct db_session writer;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    connect_to(&writer, fixture->url);
    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) SELECT 't', seq, 'p' FROM numbers WHERE seq <= 100");
    for (int sent = 0; sent < 100; sent += fixture->batch.count) {
        claim(fixture);
        send_all(fixture);
    }
    while (source_unsent_from(fixture->shared.source) < 100 && clock_left_ms(deadline_ms) > 0) {
        claim(fixture);
        (void)usleep(20000);
    }
    assert_true(source_unsent_from(fixture->shared.source) >= 100);
    assert_true(db_execute(&writer,
                           "START TRANSACTION; INSERT INTO outbox (topic, `key`) VALUES ('t', 'w')",
                           &fixture->error) >= 0);
    long long open_id = (long long)mysql_insert_id(writer.conn);

    for (int i = 0; i < 60; i++) {
        sql(fixture, "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'x', 'p')");
        claim(fixture);
        send_all(fixture);
        assert_true(source_unsent_from(fixture->shared.source) <= open_id);
        (void)usleep(20000);
    }
    assert_true(db_execute(&writer, "COMMIT", &fixture->error) >= 0);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    db_end(&writer);
}

/* 600 rows of the sink that works, and one without a topic, behind those of the other one. */
static void assert_claimed_past(struct lane_fixture *fixture, const char *topic, int rounds,
                                struct source *source)
{
    const struct claim_request request = {.payload_max = PAYLOAD_MAX, .away = 1};
    struct route entries[2] = {{.sink = 0}, {.sink = 1}};
    const struct routes routes = {.entries = entries, .count = 2};
    char why[128], text[256];
    int claimed = 0;
    int topicless = 0;

    assert_int_equal(match_parse(&entries[0].match, "Away.>", why, sizeof why), 0);
    assert_int_equal(match_parse(&entries[1].match, "away.>", why, sizeof why), 0);
    fixture->options.durable_before_publish = source != NULL;
    outbox_reopen(fixture->outbox, &fixture->options, &routes);
    assert_int_equal(outbox_share(fixture->outbox, source), 0);
    sql(fixture, "ALTER TABLE outbox MODIFY topic VARCHAR(200) CHARACTER SET latin1");
    for (int i = 0; i < rounds; i++) {
        (void)snprintf(text, sizeof text,
                       "INSERT INTO outbox (topic, `key`, payload)"
                       " SELECT CONCAT('Away.', %s, '.%d'), seq, 'p' FROM numbers",
                       topic, i);
        sql(fixture, text);
    }
    sql(fixture, "INSERT INTO outbox (topic, `key`, payload)"
                 " SELECT CONCAT('away.', seq), seq, 'p' FROM numbers WHERE seq <= 600;"
                 "INSERT INTO outbox (topic, `key`, payload) VALUES (NULL, 'none', 'p')");
    do {
        fixture->outbox->choice.width = fixture->outbox->choice.count;
        claim_by(fixture, fixture->outbox, &fixture->batch, &request);
        for (int i = 0; i < fixture->batch.count; i++) {
            const char *sent_to = fixture->batch.messages[i].topic.data;

            topicless += sent_to == NULL || sent_to[0] == '\0';
            assert_true(topicless > 0 || sent_to[0] == 'a');
        }
        claimed += fixture->batch.count;
        if (fixture->batch.count > 0)
            send_all(fixture);
    } while (fixture->batch.has_more);
    assert_int_equal(claimed, 601);
    assert_int_equal(topicless, 1);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 500);
    match_free(&entries[0].match);
    match_free(&entries[1].match);
}

TEST(the_rows_of_a_sink_that_is_away_stay_and_those_of_others_are_claimed_past_them)
{
    struct lane_fixture *fixture = *state;

    assert_claimed_past(fixture, "seq MOD 90", 1, fixture->shared.source);
}

TEST(so_are_they_past_many_rows_that_have_a_topic_each)
{
    struct lane_fixture *fixture = *state;

    assert_claimed_past(fixture, "seq", 20, fixture->shared.source);
}

TEST(so_are_they_where_no_bound_rises)
{
    assert_claimed_past(*state, "seq", 20, NULL);
}
