/* Claim and settle against a real PostgreSQL, on the level of outbox.h. */
#include "integration/lane_fixture.h"

#include "outbox/fill.h"
#include "outbox/row.h"
#include "outbox/state.h"

#include "base/clock.h"
#include "pg/wire.h"

#include <stdio.h>
#include <string.h>

FIXTURE(set_up, tear_down)

LANE_TEST(a_claimed_row_carries_every_column)
{
    const struct message *message = &fixture->batch.messages[0];

    sql(fixture->conn,
        "INSERT INTO outbox (event_id, topic, key, type, payload, headers, created_at) VALUES"
        " ('00000000-0000-4000-8000-000000000001', 'order.paid', 'o-1', 'OrderPaid', '{\"a\": 1}',"
        "  '{\"trace\": \"x\", \"n\": 7}', '2026-01-02 03:04:05.678901+00')");
    claim_count(fixture, 1);
    assert_text(message->id, "1");
    assert_text(message->event_id, "00000000-0000-4000-8000-000000000001");
    assert_text(message->topic, "order.paid");
    assert_text(message->key, "o-1");
    assert_text(message->type, "OrderPaid");
    assert_text(message->payload, "{\"a\": 1}");
    assert_text(message->created_at, "2026-01-02T03:04:05.678901Z");
    assert_int_equal(message->payload_len, 8);
    assert_true(message->payload_is_json);
    assert_int_equal(message->header_count, 2);
    assert_int_equal(message->attempts, 0);
    assert_int_equal(message->verdict, VERDICT_PENDING);
}

LANE_TEST(two_claimers_never_share_a_row)
{
    struct outbox *second = open_second(fixture);
    struct batch batch;

    insert_rows(fixture, 700);
    claim_count(fixture, 500);
    assert_int_equal(batch_init(&batch, 500), 0);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_int_equal(batch.count, 200);
    assert_text(batch.messages[0].id, "501");
    batch_free(&batch);
    outbox_close(second);
}

TEST_AGAIN(two_claimers_never_share_a_row, set_up_delete, tear_down)

LANE_TEST(a_row_that_is_not_committed_is_not_claimed)
{
    PGconn *writer = harness_connect(fixture->url);

    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic) VALUES ('t')");
    claim_count(fixture, 0);
    sql(writer, "ROLLBACK");
    claim_count(fixture, 0);
    sql(writer, "INSERT INTO outbox (topic) VALUES ('t')");
    claim_count(fixture, 1);
    PQfinish(writer);
}

LANE_TEST(only_the_rows_that_were_sent_are_settled)
{
    insert_rows(fixture, 3);
    claim_count(fixture, 3);
    decide_all(&fixture->batch, OUTCOME_UNSENT);
    fixture->batch.messages[1].outcome = OUTCOME_SENT;
    settle(fixture, false);
    assert_string_equal(
        sql_text(fixture->conn,
                 "SELECT string_agg(id::text, ',') FROM outbox WHERE sent_at IS NOT NULL"),
        "2");
    claim_count(fixture, 2);
}

LANE_TEST(the_next_claim_travels_with_the_settle)
{
    insert_rows(fixture, 600);
    claim_count(fixture, 500);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, true);
    claim_count(fixture, 100);
    assert_text(fixture->batch.messages[0].id, "501");
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, true);
    claim_count(fixture, 0);
    assert_number(fixture->conn, 0, UNSENT);
}

LANE_TEST(an_abandoned_claim_is_due_again)
{
    insert_rows(fixture, 2);
    claim_count(fixture, 2);
    outbox_abandon(fixture->outbox);
    claim_count(fixture, 2);
}

TEST_AGAIN(an_abandoned_claim_is_due_again, set_up_delete, tear_down)

LANE_TEST(rows_that_were_claimed_ahead_are_due_again_when_abandoned)
{
    insert_rows(fixture, 501);
    claim_count(fixture, 500);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, true);
    outbox_abandon(fixture->outbox);
    claim_count(fixture, 1);
}

/* Ends these backends, and returns when they are gone. (PostgreSQL 13 has no pg_terminate_backend()
 * that waits.) `which`: a condition on pg_stat_activity. */
static void end_backends(PGconn *conn, const char *which)
{
    char pids[256];
    char query[320];

    (void)snprintf(
        pids, sizeof pids, "%s",
        sql_text(conn, "SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE %s", which));
    assert_string_not_equal(pids, "");
    sql(conn, "SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[%s]) pid", pids);
    (void)snprintf(query, sizeof query, "SELECT count(*) FROM pg_stat_activity WHERE pid IN (%s)",
                   pids);
    wait_for_number(conn, 0, query);
}

static void kill_relays(struct lane_fixture *fixture)
{
    end_backends(fixture->conn,
                 "application_name LIKE 'outbox-relay/%' AND datname = current_database()");
}

LANE_TEST(a_claim_whose_session_has_ended_is_known_before_it_is_published)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;

    insert_rows(fixture, 5);
    claim_count(fixture, 5);
    assert_false(outbox_claim_is_lost(fixture->outbox));
    kill_relays(fixture);
    while (!outbox_claim_is_lost(fixture->outbox))
        assert_true(clock_now_ms() < deadline_ms);
}

LANE_TEST(a_connection_lost_between_claim_and_commit_rolls_back)
{
    insert_rows(fixture, 5);
    claim_count(fixture, 5);
    decide_all(&fixture->batch, OUTCOME_SENT);
    kill_relays(fixture);
    assert_int_equal(settle_all(fixture, true), -1);
    assert_int_equal(fixture->error.kind, ERROR_TRANSIENT);
    assert_int_equal(fixture->error.origin, ERROR_DATABASE);
    assert_number(fixture->conn, 5, UNSENT);
    claim_count(fixture, 5);
}

LANE_TEST(a_connection_lost_before_the_claim_is_replaced)
{
    insert_rows(fixture, 1);
    claim_count(fixture, 1);
    outbox_abandon(fixture->outbox);
    kill_relays(fixture);
    assert_int_equal(claim(fixture), -1);
    claim_count(fixture, 1);
}

LANE_TEST(rows_whose_mark_a_trigger_swallows_are_noted_as_sent)
{
    sql(fixture->conn, "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS"
                       " 'BEGIN RETURN NULL; END'");
    sql(fixture->conn, "CREATE TRIGGER swallow BEFORE UPDATE ON outbox FOR EACH ROW"
                       " EXECUTE FUNCTION swallow()");
    insert_rows(fixture, 2);
    claim_count(fixture, 2);
    decide_all(&fixture->batch, OUTCOME_SENT);
    assert_int_equal(settle_all(fixture, false), 0);
    assert_number(fixture->conn, 2, UNSENT);
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM outbox_parked WHERE state = 'unsettled'"
                  " AND error LIKE '%%settled 0 rows instead of%%'");
    claim_count(fixture, 0);
}

LANE_TEST(null_empty_and_binary_values_are_three_things)
{
    const struct message *messages = fixture->batch.messages;

    sql(fixture->conn, "ALTER TABLE outbox ALTER payload TYPE bytea USING NULL");
    sql(fixture->conn, "ALTER TABLE outbox_parked ALTER payload TYPE bytea USING NULL");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload) VALUES ('t', NULL, NULL, NULL),"
        " ('t', '', '', ''), ('t', 'k', 'y', '\\x00ff0a005c'::bytea)");
    claim_count(fixture, 3);
    assert_text(messages[0].key, NULL);
    assert_text(messages[0].type, NULL);
    assert_text(messages[0].payload, NULL);
    assert_int_equal(messages[0].payload_len, -1);
    assert_text(messages[1].key, "");
    assert_text(messages[1].type, "");
    assert_text(messages[1].payload, "");
    assert_int_equal(messages[1].payload_len, 0);
    assert_int_equal(messages[2].payload.len, 5);
    assert_memory_equal(messages[2].payload.data, "\x00\xff\x0a\x00\x5c", 5);
    assert_false(messages[2].payload_is_json);
}

LANE_TEST(bytes_stay_bytes_where_the_database_quotes_every_identifier)
{
    sql(fixture->conn, "ALTER TABLE outbox ALTER payload TYPE bytea USING NULL");
    sql(fixture->conn, "ALTER TABLE outbox_parked ALTER payload TYPE bytea USING NULL");
    sql(fixture->conn, "DO $$BEGIN EXECUTE format('ALTER DATABASE %%I SET quote_all_identifiers ="
                       " on', current_database()); END$$");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', 'hello'::bytea)");
    claim_count(fixture, 1);
    assert_text(fixture->batch.messages[0].payload, "hello");
}

static void claim_again_as_parked(struct lane_fixture *fixture)
{
    refuse_all(fixture, OUTCOME_PARK, 0);
    settle(fixture, false);
    assert_int_equal(claim_from(fixture->outbox, &fixture->batch, true, &fixture->error), 0);
    assert_int_equal(fixture->batch.count, 1);
}

LANE_TEST(a_domain_travels_as_what_it_is_over)
{
    const struct message *message = &fixture->batch.messages[0];

    sql(fixture->conn, "CREATE DOMAIN bytes AS bytea; CREATE DOMAIN blob AS bytes NOT NULL;"
                       " CREATE DOMAIN word AS varchar(20); CREATE DOMAIN ident AS uuid;"
                       " CREATE DOMAIN flat AS jsonb; DROP TABLE outbox_parked, outbox_control;"
                       " ALTER TABLE outbox ALTER payload TYPE blob USING '', ALTER key TYPE bytes"
                       " USING NULL, ALTER topic TYPE word, ALTER event_id TYPE ident,"
                       " ALTER headers TYPE flat");
    init_tables(fixture);
    sql(fixture->conn, "INSERT INTO outbox (event_id, topic, key, payload, headers) VALUES"
                       " ('00000000-0000-4000-8000-000000000001', 't', '\\xff01', '\\x00ff',"
                       "  '{\"n\": 12345678901234567890}')");
    claim_count(fixture, 1);
    for (int i = 0; i < 2; i++) {
        assert_text(message->event_id, "00000000-0000-4000-8000-000000000001");
        assert_text(message->topic, "t");
        assert_text(message->key, "\xff\x01");
        assert_int_equal(message->payload.len, 2);
        assert_memory_equal(message->payload.data, "\x00\xff", 2);
        assert_text(message->headers[0].value, "12345678901234567890");
        if (i == 0)
            claim_again_as_parked(fixture);
    }
}

LANE_TEST(json_in_a_domain_is_known_as_json)
{
    sql(fixture->conn, "CREATE DOMAIN document AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');"
                       " ALTER TABLE outbox ALTER payload TYPE document;"
                       " INSERT INTO outbox (topic, payload) VALUES ('t', '{\"a\": 1}')");
    claim_count(fixture, 1);
    assert_text(fixture->batch.messages[0].payload, "{\"a\": 1}");
    assert_true(fixture->batch.messages[0].payload_is_json);
}

LANE_TEST(a_payload_above_the_limit_does_not_come)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1'),"
                       " ('t', to_jsonb(repeat('x', 3000000))), ('t', '3')");
    claim_count(fixture, 3);
    assert_text(fixture->batch.messages[0].payload, "1");
    assert_null(fixture->batch.messages[1].payload.data);
    assert_int_equal(fixture->batch.messages[1].payload_len, 3000002);
    assert_text(fixture->batch.messages[2].payload, "3");
}

static int64_t payload_length(const PGresult *rows, int row)
{
    return wire_int8(PQgetvalue(rows, row, CLAIM_LENGTHS));
}

LANE_TEST(payloads_beyond_the_byte_limit_are_neither_read_nor_sent_by_the_server)
{
    const struct message *messages = fixture->batch.messages;
    const PGresult *rows;

    fixture->options.batch_bytes = 1000000;
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(repeat(x, 600000))"
                       " FROM unnest('{a,b,c,NULL}'::text[]) x");
    insert_rows(fixture, 1);
    claim_count(fixture, 1);
    assert_int_equal(messages[0].payload.data[1], 'a');
    rows = fixture->batch.rows;
    assert_int_equal(PQntuples(rows), 5);
    assert_int_equal(payload_length(rows, 1), 600002);
    assert_int_equal(payload_length(rows, 2), -1);
    assert_true(PQgetisnull(rows, 3, CLAIM_LENGTHS)); /* a tombstone */
    assert_string_equal(PQgetvalue(rows, 4, CLAIM_PAYLOAD), "1");
    for (char expected = 'b'; expected <= 'c'; expected++) {
        decide_all(&fixture->batch, OUTCOME_SENT);
        settle(fixture, true);
        assert_int_equal(claim(fixture), 0);
        assert_int_equal(messages[0].payload.len, 600002);
        assert_int_equal(messages[0].payload.data[1], expected);
    }
    assert_int_equal(fixture->batch.count, 3);
    assert_null(messages[1].payload.data);
    assert_text(messages[2].payload, "1");
}

/* As when a broker came back with another limit while a claim was under way. */
LANE_TEST(a_payload_that_the_broker_did_not_take_before_is_claimed_anew)
{
    const struct claim_request less = {.payload_max = 1000};

    insert_rows(fixture, 1);
    claim_count(fixture, 1);
    decide_all(&fixture->batch, OUTCOME_SENT);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', to_jsonb(repeat('x', "
                       "500000)))");
    assert_int_equal(outbox_settle(fixture->outbox, &fixture->batch, &less, &fixture->error), 0);
    claim_count(fixture, 0);
    assert_true(fixture->batch.has_more);
    claim_count(fixture, 1);
    assert_int_equal(fixture->batch.messages[0].payload.len, 500002);
}

LANE_TEST(a_row_with_a_huge_key_is_refused_and_its_neighbours_are_not)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) VALUES ('t', repeat('k', 200000), '1'),"
        " ('t', repeat('k', 20000), '2')");
    claim_count(fixture, 2);
    assert_int_equal(fixture->batch.messages[0].verdict, VERDICT_REJECTED);
    assert_int_equal(fixture->batch.messages[1].verdict, VERDICT_PENDING);
    assert_int_equal(fixture->batch.messages[1].key.len, 20000);
    assert_text(fixture->batch.messages[1].payload, "2");
}

LANE_TEST(headers_that_are_no_flat_object_refuse_the_row)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, headers) VALUES ('t', '[1]'), ('t', '{\"a\": {\"b\": 1}}'),"
        " ('t', '\"x\"'), ('t', '{\"a\": null, \"b\": true}')");
    claim_count(fixture, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fixture->batch.messages[i].verdict, VERDICT_REJECTED);
    assert_int_equal(fixture->batch.messages[3].verdict, VERDICT_PENDING);
    assert_int_equal(fixture->batch.messages[3].header_count, 2);
    assert_null(fixture->batch.messages[3].headers[0].value.data);
    assert_text(fixture->batch.messages[3].headers[1].value, "true");
}

LANE_TEST(numbers_in_headers_keep_every_digit)
{
    const struct message *message = &fixture->batch.messages[0];

    sql(fixture->conn, "INSERT INTO outbox (topic, headers) VALUES"
                       " ('t', '{\"a\": 12345678901234567890, \"b\": 1.10, \"c\": \"7\"}')");
    claim_count(fixture, 1);
    assert_int_equal(message->header_count, 3);
    assert_text(message->headers[0].value, "12345678901234567890");
    assert_text(message->headers[1].value, "1.10");
    assert_text(message->headers[2].value, "7");
}

LANE_TEST(a_parked_row_moves_with_its_reason_and_all_it_holds)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) VALUES"
        " ('t', 'k', 'y', '{\"a\": [1]}', '{\"h\": \"v\"}'), ('u', NULL, NULL, NULL, NULL)");
    sql(fixture->conn, "CREATE TABLE before AS SELECT * FROM outbox");
    claim_count(fixture, 2);
    refuse_all(fixture, OUTCOME_DEAD, 0);
    settle(fixture, false);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM outbox_parked p JOIN before b USING (id) WHERE"
                  " (p.event_id, p.topic, p.key, p.type, p.payload, p.headers, p.created_at) IS NOT"
                  " DISTINCT FROM (b.event_id, b.topic, b.key, b.type, b.payload, b.headers, "
                  "b.created_at)"
                  " AND error = 'reason ' || id AND attempts = 1 AND state = 'dead'");
}

LANE_TEST_WITH(a_parked_row_comes_back_when_it_is_due_and_not_before, set_up_delete, tear_down)
{
    struct batch *batch = &fixture->batch;

    insert_rows(fixture, 2);
    claim_count(fixture, 2);
    refuse_all(fixture, OUTCOME_PARK, 3600000);
    settle(fixture, false);
    assert_int_equal(claim_from(fixture->outbox, batch, true, &fixture->error), 0);
    assert_int_equal(batch->count, 0);
    sql(fixture->conn, "UPDATE outbox_parked SET due = now() WHERE id = 2");
    assert_int_equal(claim_from(fixture->outbox, batch, true, &fixture->error), 0);
    assert_int_equal(batch->count, 1);
    assert_text(batch->messages[0].id, "2");
    assert_text(batch->messages[0].payload, "2");
    assert_int_equal(batch->messages[0].attempts, 1);
    refuse_all(fixture, OUTCOME_PARK, 60000);
    settle(fixture, false);
    assert_number(fixture->conn, 2, "SELECT attempts FROM outbox_parked WHERE id = 2");
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM outbox_parked WHERE"
                  " due > now() + interval '50 s'");
}

TEST_AGAIN(a_parked_row_comes_back_when_it_is_due_and_not_before, set_up, tear_down)

LANE_TEST(locked_rows_remain_and_parked_ones_are_counted)
{
    struct outbox *second = outbox_open(&fixture->options, NULL, "test/2");
    bool due = false;
    int parked = 0;

    insert_rows(fixture, 2);
    claim_count(fixture, 2);
    assert_int_equal(outbox_ready(second, &fixture->error), 0);
    assert_int_equal(outbox_remaining(second, NULL, &due, &parked, &fixture->error), 0);
    assert_true(due);
    refuse_all(fixture, OUTCOME_DEAD, 0);
    settle(fixture, false);
    assert_int_equal(outbox_remaining(second, NULL, &due, &parked, &fixture->error), 0);
    assert_false(due);
    assert_int_equal(parked, 2);
    outbox_close(second);
}

LANE_TEST(a_foreign_key_share_lock_does_not_hide_a_row)
{
    PGconn *other = harness_connect(fixture->url);

    insert_rows(fixture, 3);
    sql(other, "BEGIN");
    sql(other, "SELECT FROM outbox WHERE id = 1 FOR KEY SHARE");
    claim_count(fixture, 3);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
    PQfinish(other);
}

LANE_TEST(nothing_can_lock_the_table_between_claim_and_settle)
{
    PGconn *other = harness_connect(fixture->url);
    PGresult *result;

    insert_rows(fixture, 1);
    claim_count(fixture, 1);
    sql(other, "BEGIN");
    result = PQexec(other, "LOCK TABLE outbox IN SHARE MODE NOWAIT"); /* as CREATE INDEX does */
    assert_int_equal(PQresultStatus(result), PGRES_FATAL_ERROR);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "55P03");
    PQclear(result);
    PQfinish(other);
}

LANE_TEST(a_row_that_cannot_be_parked_does_not_keep_others_from_being_settled)
{
    insert_rows(fixture, 3);
    sql(fixture->conn, "CREATE TABLE witness (outbox_id bigint REFERENCES outbox (id))");
    sql(fixture->conn, "INSERT INTO witness VALUES (2)");
    claim_count(fixture, 3);
    decide_all(&fixture->batch, OUTCOME_SENT);
    batch_refuse(&fixture->batch, &fixture->batch.messages[1], VERDICT_REJECTED, "poison");
    fixture->batch.messages[1].outcome = OUTCOME_DEAD;
    settle(fixture, true);
    assert_null(fixture->batch.park_failure);
    assert_non_null(strstr(fixture->batch.messages[1].reason, "foreign key"));
    assert_string_equal(sql_text(fixture->conn,
                                 "SELECT string_agg(id::text, ',' ORDER BY id) FROM outbox"
                                 " WHERE sent_at IS NOT NULL"),
                        "1,3");
    claim_count(fixture, 0); /* its note keeps it out of claims */
}

LANE_TEST(a_purge_finds_old_rows_whatever_the_order_of_the_ids)
{
    static char table[] = "public.theirs";
    struct purge purge = {0};
    struct admin *admin;
    char own_id[] = "id";
    char topic[] = "aggregatetype";
    char *executed;
    char *missing = NULL;

    sql(fixture->conn, "CREATE TABLE theirs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),"
                       " aggregatetype text, aggregateid text, type text, payload jsonb,"
                       " sent_at timestamptz)");
    sql(fixture->conn, "INSERT INTO theirs (aggregatetype, sent_at) SELECT 't', now() - CASE WHEN"
                       " i %% 2 = 0 THEN interval '30 days' ELSE interval '1 minute' END"
                       " FROM generate_series(1, 6000) i");
    sql(fixture->conn, "CREATE INDEX ON theirs (id) WHERE sent_at IS NULL");
    sql(fixture->conn, "COMMENT ON COLUMN theirs.sent_at IS"
                       " 'outbox-relay: only the relay writes this column'");
    fixture->options.table = table;
    fixture->options.columns[COLUMN_EVENT_ID] = own_id;
    fixture->options.columns[COLUMN_TOPIC] = topic;
    admin = admin_open(&fixture->options, &fixture->error);
    assert_non_null(admin);
    assert_int_equal(admin_init(admin, &executed, &missing, &fixture->error), 0);
    assert_int_equal(admin_settle_adoption(admin, &fixture->error), 0);
    sql(fixture->conn, "UPDATE theirs_control SET set_at = now() - interval '60 days'");
    assert_int_equal(admin_purge(admin, 86400000, 0, NULL, NULL, &purge, &fixture->error), 0);
    assert_int_equal(purge.purged, 3000);
    assert_number(fixture->conn, 3000, "SELECT count(*) FROM theirs");
    admin_close(admin);
}

LANE_TEST(what_is_claimed_has_been_flushed_to_disk)
{
    sql(fixture->conn, "SET synchronous_commit = off");
    for (int i = 0; i < 20; i++) {
        insert_rows(fixture, 1);
        sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
        (void)snprintf(fixture->error.text, sizeof fixture->error.text, "%s",
                       sql_text(fixture->conn, "SELECT pg_current_wal_insert_lsn()"));
        claim_count(fixture, 2);
        assert_string_equal(sql_text(fixture->conn, "SELECT pg_current_wal_flush_lsn() >= '%s'",
                                     fixture->error.text),
                            "t");
        decide_all(&fixture->batch, OUTCOME_SENT);
        settle(fixture, false);
    }
}

/* Its pid; 0: there is none. */
static long long flushing_session(struct lane_fixture *fixture)
{
    return sql_number(fixture->conn, "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE"
                                     " application_name LIKE 'outbox-relay/%%/watch'"
                                     " AND datname = current_database()");
}

static void claim_what_must_be_flushed(struct lane_fixture *fixture)
{
    sql(fixture->conn, "SET synchronous_commit = off");
    do {
        insert_rows(fixture, 1);
        claim_count(fixture, 1);
        decide_all(&fixture->batch, OUTCOME_SENT);
        settle(fixture, false);
    } while (fixture->outbox->flushed);
}

LANE_TEST(the_session_that_flushes_is_replaced_when_it_has_ended)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    long long before;

    claim_what_must_be_flushed(fixture);
    before = flushing_session(fixture);
    assert_int_not_equal(before, 0);
    sql(fixture->conn, "SELECT pg_terminate_backend(%d)", (int)before);
    while (flushing_session(fixture) == before || flushing_session(fixture) == 0)
        assert_true(harness_now_ms() < deadline_ms);
    claim_what_must_be_flushed(fixture);
}

/* A lane that lost its connection goes on with the session that its process has. */
LANE_TEST(a_lane_that_connects_anew_is_flushed_for_as_before)
{
    claim_what_must_be_flushed(fixture);
    end_backends(fixture->conn,
                 "application_name = 'outbox-relay/test/1' AND datname = current_database()");
    assert_int_equal(claim(fixture), -1);
    claim_what_must_be_flushed(fixture);
}

LANE_TEST(a_lane_beside_which_nobody_flushes_claims_nothing)
{
    struct outbox *alone = outbox_open(&fixture->options, NULL, "test/2");

    sql(fixture->conn, "SET synchronous_commit = off");
    assert_int_equal(outbox_ready(alone, &fixture->error), 0);
    do
        insert_rows(fixture, 1);
    while (claim_from(alone, &fixture->batch, false, &fixture->error) == 0);
    assert_string_equal(fixture->error.text, "no session flushes the log");
    outbox_abandon(alone);
    outbox_close(alone);
}

LANE_TEST(a_claim_never_needs_a_sequential_scan_or_a_sort)
{
    /* Statistics of an empty table, then many rows: the worst a planner can be told. */
    sql(fixture->conn, "ANALYZE outbox");
    sql(fixture->conn, "ALTER TABLE outbox SET (autovacuum_enabled = off)");
    insert_rows(fixture, 50000);
    sql(fixture->conn, "SELECT pg_stat_reset()");
    for (int i = 0; i < 3; i++) {
        claim_count(fixture, 500);
        decide_all(&fixture->batch, OUTCOME_SENT);
        settle(fixture, false);
    }
    outbox_close(fixture->outbox); /* a session's figures are complete when it has ended */
    fixture->outbox = outbox_open(&fixture->options, NULL, "test/1");
    wait_for_number(
        fixture->conn, 1,
        "SELECT (n_tup_upd >= 1500)::int FROM pg_stat_user_tables WHERE relname = 'outbox'");
    assert_number(fixture->conn, 0,
                  "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'outbox'");
    assert_true(sql_number(fixture->conn, "SELECT idx_tup_fetch FROM pg_stat_user_tables"
                                          " WHERE relname = 'outbox'") < 3000);
}
