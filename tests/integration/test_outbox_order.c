/* The order of each key, on the level of outbox.h: slices, bounds, and rows parked behind another.
 */
#include "integration/lane_fixture.h"

#include "desk/run.h"
#include "base/clock.h"
#include "outbox/row.h"
#include "outbox/slices/slice_lock.h"
#include "pg/wire.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICES 8

static int set_up_mark(void **state)
{
    return open_ordered(state, ON_SENT_MARK, SLICES);
}

FIXTURE(set_up_mark, tear_down)

static int set_up_deleting(void **state)
{
    return open_ordered(state, ON_SENT_DELETE, SLICES);
}

/* A lane as it starts, which leaves most slices to others. */
static int set_up_64(void **state)
{
    struct lane_fixture *fixture;

    if (open_ordered(state, ON_SENT_DELETE, 64) < 0)
        return -1;
    fixture = *state;
    fixture->outbox->slices->choice.width = fixture->outbox->slices->choice.busy_width;
    return 0;
}

static int set_up_row_by_row(void **state)
{
    struct lane_fixture *fixture;

    if (set_up_by(state, ON_SENT_DELETE, ORDER_KEY, SLICES) != 0)
        return -1;
    fixture = *state;
    fixture->options.batch = 1;
    connect_lane(fixture, fixture->outbox);
    return 0;
}

static void insert(struct lane_fixture *fixture, const char *key)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', '%s', '1')", key);
}

/* Everything that can be claimed now, in as many claims as it takes: "KEY:ID KEY:ID ...". */
static const char *claim_all(struct lane_fixture *fixture, bool parked)
{
    static char text[4096];
    size_t len = 0;

    text[0] = '\0';
    do {
        if (claim_from(fixture->outbox, &fixture->batch, parked, &fixture->error) < 0)
            fail_msg("%s", fixture->error.text);
    } while (fixture->batch.count == 0 && fixture->batch.has_more);
    for (int i = 0; i < fixture->batch.count; i++) {
        const struct message *message = &fixture->batch.messages[i];

        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s:%.*s%s", i > 0 ? " " : "",
                                (int)message->key.len, message->key.data, (int)message->id.len,
                                message->id.data, message->blocked ? "!" : "");
    }
    return text;
}

static void send_all(struct lane_fixture *fixture)
{
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
}

static void park_behind_dead(struct lane_fixture *fixture)
{
    decide_all(&fixture->batch, OUTCOME_BEHIND);
    fixture->batch.messages[0].outcome = OUTCOME_DEAD;
    settle(fixture, false);
}

static void dead(struct lane_fixture *fixture, const char *verb, const char *id)
{
    struct admin *admin = admin_open(&fixture->options, &fixture->error);
    struct desk *desk = admin != NULL ? desk_new(admin, &fixture->error) : NULL;
    char step[32];

    (void)snprintf(step, sizeof step, "  rows dead_%s", verb);
    assert_non_null(desk);
    assert_int_equal(desk_set_array(desk, "ids", &id, 1, &fixture->error), 0);
    assert_int_equal(desk_run(desk, text_of(step), &fixture->error), 0);
    assert_int_equal(desk_total(desk), 1);
    desk_free(desk);
    admin_close(admin);
}

LANE_TEST(the_rows_of_a_key_are_claimed_by_one_lane_at_a_time)
{
    struct outbox *second = open_second(fixture);
    struct batch batch;

    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
    insert(fixture, "k");
    assert_int_equal(batch_init(&batch, 500), 0);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_int_equal(batch.count, 0);
    send_all(fixture);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_int_equal(batch.count, 1);
    assert_text(batch.messages[0].id, "3");
    batch_free(&batch);
    outbox_close(second);
}

TEST_AGAIN(the_rows_of_a_key_are_claimed_by_one_lane_at_a_time, set_up_deleting, tear_down)

LANE_TEST(lanes_share_the_slices)
{
    struct outbox *second = open_second(fixture);
    struct batch batch;
    int first;

    insert_rows(fixture, 4000);
    assert_int_equal(claim(fixture), 0);
    first = fixture->batch.count;
    assert_true(first > 0 && fixture->batch.has_more);
    send_all(fixture);
    for (int i = 0; i < 5; i++) { /* full claims take ever fewer slices */
        assert_int_equal(claim(fixture), 0);
        if (i < 4)
            send_all(fixture);
    }
    assert_int_equal(batch_init(&batch, 500), 0);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_true(batch.count > 0);
    batch_free(&batch);
    outbox_close(second);
}

LANE_TEST(behind_a_dead_row_its_key_waits_and_no_other)
{
    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
    park_behind_dead(fixture);
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:3!");
    decide_all(&fixture->batch, OUTCOME_BEHIND);
    settle(fixture, false);
    insert(fixture, "other");
    assert_string_equal(claim_all(fixture, false), "other:4");
    send_all(fixture);
    assert_string_equal(claim_all(fixture, true), "");
    assert_string_equal(sql_text(fixture->conn,
                                 "SELECT string_agg(id || ' ' || state, ', ' ORDER BY"
                                 " seq) FROM outbox_parked"),
                        "1 dead, 2 behind, 3 behind");
}

TEST_AGAIN(behind_a_dead_row_its_key_waits_and_no_other, set_up_deleting, tear_down)

LANE_TEST(a_retried_row_leaves_first_and_the_rest_of_its_key_behind_it)
{
    insert(fixture, "k");
    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2 k:3");
    park_behind_dead(fixture);
    dead(fixture, "retry", "1");
    assert_string_equal(claim_all(fixture, true), "k:1 k:2 k:3");
    decide_all(&fixture->batch, OUTCOME_BEHIND);
    fixture->batch.messages[0].outcome = OUTCOME_SENT;
    fixture->batch.messages[1].outcome = OUTCOME_DEAD;
    settle(fixture, false);
    assert_string_equal(claim_all(fixture, true), "");
    dead(fixture, "drop", "2");
    assert_string_equal(claim_all(fixture, true), "k:3");
    send_all(fixture);
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:4");
    send_all(fixture);
}

TEST_AGAIN(a_retried_row_leaves_first_and_the_rest_of_its_key_behind_it, set_up_deleting, tear_down)

LANE_TEST(a_sent_row_frees_the_next_of_its_key_even_when_the_batch_ended_there)
{
    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
    park_behind_dead(fixture);
    dead(fixture, "retry", "1");
    assert_string_equal(claim_all(fixture, true), "k:1 k:2");
    decide_all(&fixture->batch, OUTCOME_UNSENT);
    fixture->batch.messages[0].outcome = OUTCOME_SENT;
    settle(fixture, false);
    assert_string_equal(claim_all(fixture, true), "k:2");
    send_all(fixture);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL");
}

LANE_TEST(the_janitor_frees_what_waits_behind_a_row_that_was_deleted_by_hand)
{
    struct admin *admin;

    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
    park_behind_dead(fixture);
    sql(fixture->conn, "DELETE FROM outbox_parked WHERE id = 1");
    assert_string_equal(claim_all(fixture, true), "");
    admin = admin_open(&fixture->options, &fixture->error);
    assert_non_null(admin);
    assert_int_equal(admin_adopt_waiting(admin, &fixture->error), 0);
    admin_close(admin);
    assert_string_equal(claim_all(fixture, true), "k:2");
}

LANE_TEST(a_row_that_is_too_large_comes_with_its_key)
{
    fixture->outbox->rich_claims = 2; /* a lean claim would end before the row */
    insert(fixture, "k");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type) VALUES ('t', 'k', repeat('x', 200000))");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2 k:3");
}

LANE_TEST(a_row_that_is_too_large_for_its_key_to_be_fetched_travels_alone)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type) SELECT 't', repeat('k', 2000),"
        " CASE WHEN i = 2 THEN repeat('x', 200000) END FROM generate_series(1, 3) i");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claim(fixture), 0);
        assert_int_equal(fixture->batch.count, 1);
        send_all(fixture);
    }
}

LANE_TEST(few_large_rows_do_not_raise_the_limit_of_the_next_claim)
{
    fixture->outbox->level = 2;
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload) VALUES ('t', to_jsonb(repeat('x', 500000)))");
    claim_count(fixture, 1);
    assert_int_equal(fixture->outbox->level, 2); /* 62 of them would be too many */
    send_all(fixture);
    for (int level = 1; level >= 0; level--) {
        insert(fixture, "k");
        claim_count(fixture, 1);
        assert_int_equal(fixture->outbox->level, level);
        send_all(fixture);
    }
}

#define LANE_WAITS                                                                                 \
    "SELECT FROM pg_stat_activity WHERE application_name = 'outbox-relay/test/1'"                  \
    " AND wait_event_type = 'Lock' AND datname = current_database()"

/* An operator in a process of its own updates row 2, tells the test, and commits once the lane
 * waits for the row. */
static _Noreturn void operate(const char *url, int told)
{
    PGconn *conn = PQconnectdb(url);
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    bool waited = false;

    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE outbox_parked SET attempts = 7 WHERE id = 2"));
    if (write(told, "x", 1) != 1)
        _exit(2);
    while (!waited && harness_now_ms() < deadline_ms) {
        PGresult *result = PQexec(conn, LANE_WAITS);

        waited = PQntuples(result) == 1;
        PQclear(result);
    }
    PQclear(PQexec(conn, "COMMIT"));
    PQfinish(conn);
    _exit(waited ? 0 : 1);
}

LANE_TEST(a_row_that_an_operator_touches_is_not_overtaken)
{
    int pipes[2];
    char told;
    int status;
    pid_t operator;

    for (int i = 0; i < 4; i++)
        insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2 k:3 k:4");
    park_behind_dead(fixture);
    sql(fixture->conn, "UPDATE outbox_parked SET state = 'retry', due = now() WHERE id = 1");
    assert_int_equal(pipe(pipes), 0);
    operator= fork();
    if (operator== 0)
        operate(fixture->url, pipes[1]);
    assert_int_equal(read(pipes[0], &told, 1), 1);
    assert_string_equal(claim_all(fixture, true), "k:1 k:2 k:3 k:4");
    assert_int_equal(waitpid(operator, & status, 0), operator);
    assert_int_equal(status, 0); /* the lane has waited for him */
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

LANE_TEST(the_rows_of_a_key_leave_in_the_order_of_their_ids_however_they_were_parked)
{
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state, due) VALUES"
                       " (7, gen_random_uuid(), 't', 'k', 'retry', now()),"
                       " (5, gen_random_uuid(), 't', 'k', 'behind', NULL),"
                       " (6, gen_random_uuid(), 't', 'k', 'dead', NULL)");
    assert_string_equal(claim_all(fixture, true), "");
    dead(fixture, "retry", "6");
    assert_string_equal(claim_all(fixture, true), "");
    dead(fixture, "retry", "5");
    assert_string_equal(claim_all(fixture, true), "k:5 k:6 k:7");
}

LANE_TEST(a_row_behind_a_dead_one_is_not_tried_for_those_that_wait_for_its_destination)
{
    struct admin *admin;

    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state, due,"
                       " waits_for) VALUES (1, gen_random_uuid(), 'x', 'k', 'dead', NULL, NULL),"
                       " (2, gen_random_uuid(), 'm', 'k', 'waiting', now(), 's/m'),"
                       " (3, gen_random_uuid(), 'm', 'j', 'waiting', NULL, 's/m')");
    admin = admin_open(&fixture->options, &fixture->error);
    assert_non_null(admin);
    assert_int_equal(admin_adopt_waiting(admin, &fixture->error), 0);
    admin_close(admin);
    assert_string_equal(claim_all(fixture, true), "j:3");
}

static void send_what_there_is(struct lane_fixture *fixture)
{
    do {
        assert_int_equal(claim(fixture), 0);
        if (fixture->batch.count > 0)
            send_all(fixture);
    } while (fixture->batch.count > 0 || fixture->batch.has_more);
}

static int64_t last_id(struct lane_fixture *fixture)
{
    return sql_number(fixture->conn, "SELECT last_value FROM outbox_id_seq");
}

/* Rows of other keys in every slice are settled by the lane, so that all bounds rise. */
static void let_bounds_pass(struct lane_fixture *fixture)
{
    for (int i = 0; i < 30; i++)
        sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'x%d')", i);
    send_what_there_is(fixture);
    await_bounds(fixture, false, last_id(fixture) + 1);
}

LANE_TEST(the_bounds_of_an_idle_lane_come_to_the_end_of_the_table)
{
    insert_rows(fixture, 100);
    send_what_there_is(fixture);
    insert(fixture, "k"); /* so soon that its id is not stable */
    send_what_there_is(fixture);
    await_bounds(fixture, false, 102);
    assert_int_equal(lowest_bound(fixture, true), 102);
}

/* Bounds rise up to ids that are stable; newer ids wait for the watcher. */
LANE_TEST(the_bounds_of_a_busy_lane_follow_its_claims_at_once)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    insert_rows(fixture, 1000);
    do {
        assert_true(harness_now_ms() < deadline_ms);
        read_horizon(fixture);
    } while (fixture->view.stamp.stable_low < 1000);
    for (int sent = 0; sent < 1000;) {
        int64_t before = lowest_bound(fixture, false);

        assert_int_equal(claim(fixture), 0);
        sent += fixture->batch.count;
        send_all(fixture);
        assert_true(lowest_bound(fixture, false) > before);
    }
    assert_int_equal(lowest_bound(fixture, false), 1001);
}

LANE_TEST(a_foreign_lock_on_a_parked_row_leaves_the_outbox_alone)
{
    PGconn *other = harness_connect(fixture->url);

    insert(fixture, "k");
    send_what_there_is(fixture);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state, due)"
                       " VALUES (7, gen_random_uuid(), 't', 'p', 'retry', now())");
    sql(other, "BEGIN");
    sql(other, "SELECT FROM outbox_parked FOR UPDATE");
    assert_int_equal(claim_from(fixture->outbox, &fixture->batch, true, &fixture->error), -1);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(fixture->outbox->slices->choice.retry_after_ms[i], 0);
    insert(fixture, "k");
    claim_count(fixture, 1);
    PQfinish(other);
}

static void claim_late_and_later(struct lane_fixture *fixture, PGconn *writer)
{
    sql(writer, "COMMIT");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('later', 'k')");
    claim_count(fixture, 2);
    assert_text(fixture->batch.messages[0].topic, "late");
    assert_text(fixture->batch.messages[1].topic, "later");
    PQfinish(writer);
}

/* The INSERT has drawn its id and its transaction has no number yet: only its lock shows. */
LANE_TEST(no_bound_passes_an_id_that_was_drawn_and_is_not_inserted_yet)
{
    PGconn *writer = harness_connect(fixture->url);
    int64_t late;

    let_bounds_pass(fixture);
    sql(writer, "BEGIN; SELECT FROM outbox WHERE false; LOCK TABLE outbox IN ROW EXCLUSIVE MODE");
    late = sql_number(writer, "SELECT nextval('outbox_id_seq')");
    insert_rows(fixture, 30);
    send_what_there_is(fixture);
    await_bounds(fixture, true, late);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(fixture->view.bounds[i].high, late);
    sql(writer,
        "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE VALUES (%lld, 'late', 'k')",
        (long long)late);
    claim_late_and_later(fixture, writer);
}

/* Of the two bounds the lower one stays at its row. The upper one goes on, and claims that begin
 * there know from their own snapshot when the transaction has ended. */
LANE_TEST(a_row_that_commits_late_comes_before_the_later_rows_of_its_key)
{
    PGconn *writer = harness_connect(fixture->url);
    int64_t late;

    let_bounds_pass(fixture);
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    late = last_id(fixture);
    insert_rows(fixture, 30);
    send_what_there_is(fixture);
    await_bounds(fixture, false, late);
    await_bounds(fixture, true, late + 31);
    assert_true(fixture->view.stamp.stable_low < late);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(fixture->view.bounds[i].low, late);
    assert_int_equal(fixture->view.holder_count, 1);
    insert(fixture, "k2");
    claim_count(fixture, 1);
    assert_true(fixture->outbox->slices->read_high);
    send_all(fixture);
    claim_late_and_later(fixture, writer);
    assert_false(fixture->outbox->slices->read_high);
}

TEST_AGAIN(a_row_that_commits_late_comes_before_the_later_rows_of_its_key, set_up_deleting,
           tear_down)

LANE_TEST(a_row_below_the_bound_is_found_by_a_full_scan)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    let_bounds_pass(fixture);
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                       " VALUES (-5, 't', 'x1')");
    do
        assert_int_equal(claim(fixture), 0);
    while (fixture->batch.count == 0 && harness_now_ms() < deadline_ms);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].id, "-5");
}

/* The lane is busy with a backlog, of which each claim takes one row. */
LANE_TEST_WITH(the_full_scans_come_to_each_slice_of_a_backlog, set_up_row_by_row, tear_down)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    let_bounds_pass(fixture);
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                       " SELECT -i, 't', 'k' || i FROM generate_series(1, 200) i");
    insert_rows(fixture, 20000);
    while (sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE id < 0") > 0) {
        assert_true(harness_now_ms() < deadline_ms);
        claim_count(fixture, 1);
        send_all(fixture);
    }
    assert_true(sql_number(fixture->conn, "SELECT count(*) FROM outbox") > 0);
}

/* A claim that finds rows of other lanes only is no reason to wait. */
LANE_TEST_WITH(single_row_claims_go_on_until_no_row_is_left, set_up_row_by_row, tear_down)
{
    insert_rows(fixture, 300);
    send_what_there_is(fixture);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox");
}

LANE_TEST(the_largest_id_does_not_blind_a_slice)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                       " VALUES (9223372036854775807, 't', 'x1')");
    claim_count(fixture, 1);
    send_all(fixture);
    let_bounds_pass(fixture);
    insert(fixture, "x1");
    do
        assert_int_equal(claim(fixture), 0);
    while (fixture->batch.count == 0 && harness_now_ms() < deadline_ms);
    assert_int_equal(fixture->batch.count, 1);
}

LANE_TEST(a_claim_of_as_many_slices_as_it_may_take_says_that_there_may_be_more)
{
    insert(fixture, "k");
    fixture->outbox->slices->choice.width = 1;
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(fixture->batch.count, 1);
    assert_true(fixture->batch.has_more);
    send_all(fixture);
    insert(fixture, "k");
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(fixture->batch.count, 1);
    assert_false(fixture->batch.has_more);
    send_all(fixture);
}

LANE_TEST_WITH(the_only_slice_with_rows_gives_the_whole_claim, set_up_64, tear_down)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'k'"
                       " FROM generate_series(1, 600) i");
    claim_count(fixture, 500);
    assert_true(fixture->batch.has_more);
    send_all(fixture);
    claim_count(fixture, 100);
    send_all(fixture);
    claim_count(fixture, 0);
}

LANE_TEST_WITH(a_slice_that_gave_no_more_than_its_share_may_have_more, set_up_64, tear_down)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'k'"
                       " FROM generate_series(1, 600) i");
    insert(fixture, "j"); /* of another slice */
    claim_count(fixture, 251);
    assert_true(fixture->batch.has_more);
    send_all(fixture);
    claim_count(fixture, 350);
    send_all(fixture);
    claim_count(fixture, 0);
    assert_false(fixture->batch.has_more);
}

LANE_TEST(slices_that_others_have_emptied_meanwhile_hide_no_row)
{
    insert(fixture, "k");
    fixture->outbox->slices->choice.width = 1;
    for (int i = 0; i < SLICES; i++)
        horizon_has_more(fixture->shared.source->horizon)[i] = true;
    assert_string_equal(claim_all(fixture, false), "k:1");
    send_all(fixture);
    claim_count(fixture, 0);
    assert_false(fixture->batch.has_more);
}

LANE_TEST(a_row_that_somebody_locks_holds_up_its_slice_and_no_other)
{
    PGconn *other = harness_connect(fixture->url);
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    int rows = 0;

    for (int i = 0; i < 40; i++)
        sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'x%d')", i);
    sql(other, "BEGIN");
    sql(other, "SELECT FROM outbox WHERE key = 'x7' FOR UPDATE");
    while (rows < 30) { /* of 40, in 8 slices, of which one waits for the lock */
        if (claim(fixture) < 0)
            continue;
        for (int i = 0; i < fixture->batch.count; i++)
            assert_false(text_equal(fixture->batch.messages[i].key, text_of("x7")));
        rows += fixture->batch.count;
        if (fixture->batch.count > 0)
            send_all(fixture);
        assert_true(harness_now_ms() < deadline_ms);
    }
    assert_true(rows < 40);
    sql(other, "ROLLBACK");
    PQfinish(other);
}

LANE_TEST(the_rows_of_a_sink_that_is_away_are_met_again_when_it_is_back)
{
    const struct claim_request away = {.payload_max = PAYLOAD_MAX, .away = 1};

    insert(fixture, "k");
    assert_int_equal(outbox_claim(fixture->outbox, &fixture->batch, &away, &fixture->error), 0);
    assert_int_equal(fixture->batch.count, 0);
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
}

/* One value of a statement that the relay prepares, run by hand in the other session. */
static const char *value_of(PGconn *conn, char *statement, const char *parameters)
{
    assert_non_null(statement);
    sql(conn, "PREPARE planned AS %s", statement);
    free(statement);
    sql(conn, "EXECUTE planned %s", parameters);
    sql(conn, "DEALLOCATE planned");
    return sql_text(conn, "SELECT pg_catalog.current_setting('outbox_relay.wal')");
}

static bool is_before(PGconn *conn, const char *wal, const char *other)
{
    return sql_text(conn, "SELECT '%s'::pg_lsn < '%s'::pg_lsn", wal, other)[0] == 't';
}

struct flushes {
    char locked[32];  /* what the lock of the slices left to be flushed, */
    char between[32]; /* where the WAL ended before the claim, */
    char claimed[32]; /* and what the claim left */
};

#define ALL_SLICES                                                                                 \
    "('{0,1,2,3,4,5,6,7}', '{0,0,0,0,0,0,0,0}', '{0,0,0,0,0,0,0,0}', 8, 0, '{0,0,0,0,0,0,0,0}',"   \
    " '{}', 0, 0)"

static char *statement_of(struct lane_fixture *fixture, const char *name)
{
    const struct slice_facts about = {
        .tables = {&fixture->outbox->table, &fixture->options},
        .sequence = &fixture->outbox->sequence,
    };
    struct statement statement;
    int at = 0;

    do
        assert_true(sql_next(&at, &about, &statement));
    while (strcmp(statement.name, name) != 0);
    return sql_statement(&statement, &about);
}

static void lock_and_claim(struct lane_fixture *fixture, PGconn *lane, const char *between,
                           struct flushes *flushes)
{
    sql(lane, "BEGIN");
    (void)snprintf(flushes->locked, 32, "%s",
                   value_of(lane, statement_of(fixture, "lock_slices"), ALL_SLICES));
    sql(fixture->conn, "%s", between);
    (void)snprintf(flushes->between, 32, "%s",
                   sql_text(fixture->conn, "SELECT pg_current_wal_insert_lsn()"));
    (void)snprintf(flushes->claimed, 32, "%s",
                   value_of(lane, statement_of(fixture, "claim_0"), "(0, 1000)"));
    sql(lane, "COMMIT");
}

/* An ANALYZE that runs meanwhile holds a transaction id, beside which more has to be flushed. */
static void keep_autovacuum_out(struct lane_fixture *fixture)
{
    sql(fixture->conn, "ALTER SYSTEM SET autovacuum = off");
    sql(fixture->conn, "SELECT pg_reload_conf()");
    wait_for_number(fixture->conn, 0,
                    "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum %'");
}

static void let_autovacuum_in(struct lane_fixture *fixture)
{
    sql(fixture->conn, "ALTER SYSTEM RESET autovacuum");
    sql(fixture->conn, "SELECT pg_reload_conf()");
}

LANE_TEST(the_flush_covers_what_was_committed_after_the_slices_were_locked)
{
    PGconn *lane = harness_connect(fixture->url);
    struct flushes flushes;

    keep_autovacuum_out(fixture);
    sql(fixture->conn, "SET synchronous_commit = off");
    insert(fixture, "k");
    lock_and_claim(fixture, lane, "SELECT", &flushes);
    assert_string_equal(flushes.claimed, flushes.locked);
    assert_true(is_before(lane, flushes.claimed, flushes.between)); /* by the lock records */
    lock_and_claim(fixture, lane, "INSERT INTO outbox (topic, key) VALUES ('t', 'k')", &flushes);
    assert_true(is_before(lane, flushes.locked, flushes.claimed));
    assert_false(is_before(lane, flushes.claimed, flushes.between));
    let_autovacuum_in(fixture);
    PQfinish(lane);
}

static void wait_for_lock(PGconn *conn)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;

    while (sql_text(conn, "SELECT count(*) FROM pg_locks WHERE NOT granted")[0] == '0')
        assert_true(clock_now_ms() < deadline_ms);
}

LANE_TEST(the_flush_covers_a_row_that_changed_while_the_claim_waited_for_it)
{
    PGconn *lane = harness_connect(fixture->url);
    PGconn *other = harness_connect(fixture->url);
    struct flushes flushes;
    const char *updated;
    char *statement;

    insert(fixture, "k");
    lock_and_claim(fixture, lane, "SELECT", &flushes);
    statement = statement_of(fixture, "claim_0");
    sql(lane, "PREPARE waiting AS %s", statement);
    free(statement);
    sql(other, "SET synchronous_commit = off; BEGIN; UPDATE outbox SET payload = '2'");
    sql(lane, "BEGIN; SET LOCAL outbox_relay.slices = '{0,1,2,3,4,5,6,7}';"
              " SET LOCAL outbox_relay.lows = '{0,0,0,0,0,0,0,0}';"
              " SET LOCAL outbox_relay.highs = '{0,0,0,0,0,0,0,0}';"
              " SET LOCAL outbox_relay.holders = '{}'");
    assert_int_equal(PQsendQuery(lane, "EXECUTE waiting (0, 1000)"), 1);
    wait_for_lock(fixture->conn);
    (void)snprintf(flushes.between, 32, "%s",
                   sql_text(other, "SELECT pg_current_wal_insert_lsn()"));
    sql(other, "COMMIT");
    PQclear(PQgetResult(lane));
    assert_null(PQgetResult(lane));
    updated = sql_text(lane, "SELECT pg_catalog.current_setting('outbox_relay.wal')");
    assert_true(is_before(fixture->conn, flushes.between, updated));
    PQfinish(other);
    PQfinish(lane);
}

LANE_TEST(rows_that_share_an_id_are_claimed)
{
    sql(fixture->conn, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey");
    for (int i = 0; i < 3; i++)
        sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                           " VALUES (7, 't', 'k'), (8, 't', 'l')");
    claim_count(fixture, 0); /* the table has changed: it is described anew */
    assert_true(fixture->batch.has_more);
    while (sql_number(fixture->conn, UNSENT) > 0) {
        assert_int_equal(claim(fixture), 0);
        assert_true(fixture->batch.count > 0);
        send_all(fixture);
    }
}

/* Records of the server's own may come in between, on a busy machine more often than not. */
LANE_TEST(rows_that_are_on_disk_already_are_claimed_without_a_flush)
{
    int flushed = 0;

    keep_autovacuum_out(fixture);
    for (int i = 0; i < 10; i++) {
        insert(fixture, "k");
        assert_int_equal(claim(fixture), 0);
        assert_int_equal(fixture->batch.count, 1);
        flushed += fixture->outbox->flushed;
        send_all(fixture);
    }
    let_autovacuum_in(fixture);
    assert_in_range(flushed, 2, 10);
}

/* They end up in several batches; what else is written meanwhile need not be on disk. */
LANE_TEST(rows_that_are_older_than_a_flush_wait_for_no_other)
{
    struct wal_flush *flush = fixture->outbox->flush;

    keep_autovacuum_out(fixture);
    sql(fixture->conn, "CREATE TABLE noise (id int); SET synchronous_commit = off");
    insert_rows(fixture, 100);
    for (int sent = 0; sent < 100; sent += fixture->batch.count) {
        fixture->outbox->level = 2; /* 7 rows */
        assert_int_equal(claim(fixture), 0);
        assert_in_range(fixture->batch.count, 1, 7);
        assert_true(fixture->outbox->is_lean);
        fixture->outbox->flush = NULL; /* who needed it would say so */
        sql(fixture->conn, "INSERT INTO noise VALUES (1)");
        send_all(fixture);
    }
    fixture->outbox->flush = flush;
    let_autovacuum_in(fixture);
}

LANE_TEST(a_key_that_is_parked_meanwhile_is_blocked)
{
    insert(fixture, "k");
    send_what_there_is(fixture);
    assert_true(fixture->outbox->is_lean);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state)"
                       " VALUES (1, gen_random_uuid(), 't', 'k', 'dead')");
    insert(fixture, "other");
    assert_string_equal(claim_all(fixture, false), "other:2");
    assert_true(fixture->outbox->is_lean); /* no row of the parked key is claimed */
    send_all(fixture);
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:3!");
    assert_false(fixture->outbox->is_lean);
    park_behind_dead(fixture);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state) SELECT -i,"
                       " gen_random_uuid(), 't', 'd' || i, 'dead' FROM generate_series(1, 101) i");
    fixture->outbox->rich_claims = 0;
    insert(fixture, "d101");
    assert_string_equal(claim_all(fixture, false), "d101:4!");
    assert_false(fixture->outbox->is_lean);
    park_behind_dead(fixture);
    sql(fixture->conn, "DELETE FROM outbox_parked");
    fixture->outbox->rich_claims = 0;
    for (int i = 0; i < 2; i++) {
        insert(fixture, "k");
        assert_int_equal(claim(fixture), 0);
        assert_int_equal(fixture->batch.count, 1);
        assert_false(fixture->batch.messages[0].blocked);
        send_all(fixture);
    }
    assert_true(fixture->outbox->is_lean);
}

/* A payload of few bytes on disk may be a long text. */
LANE_TEST(a_large_row_ends_a_batch_and_begins_the_next)
{
    static const char *const large[] = {
        "to_jsonb(repeat('x', 500000))",
        "(SELECT jsonb_agg(1e4000) FROM generate_series(1, 20))",
    };

    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k', CASE WHEN i = 3 THEN %s ELSE"
            " '1' END FROM generate_series(1, 5) i",
            large[i]);
        fixture->outbox->rich_claims = 0;
        claim_count(fixture, 2);
        assert_true(fixture->outbox->is_lean);
        send_all(fixture);
        claim_count(fixture, 3);
        assert_false(fixture->outbox->is_lean);
        assert_true(fixture->batch.messages[0].payload.len > 2000);
        send_all(fixture);
        fixture->outbox->rich_claims = 0;
        sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', 'k', %s)",
            large[i]);
        claim_count(fixture, 1); /* by another statement, in one call */
        assert_true(fixture->batch.messages[0].payload.len > 2000);
        send_all(fixture);
    }
}

/* The plan of a statement of the lane, as the session would make it for any parameters. */
static const char *plan_of(struct lane_fixture *fixture, char *statement, const char *parameters)
{
    static char plan[65536];
    PGresult *result;
    size_t len = 0;

    assert_non_null(statement);
    sql(fixture->conn, "PREPARE planned AS %s", statement);
    free(statement);
    result = PQexec(fixture->conn, parameters);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s", PQerrorMessage(fixture->conn));
    plan[0] = '\0';
    for (int row = 0; row < PQntuples(result); row++)
        len += (size_t)snprintf(plan + len, sizeof plan - len, "%s\n", PQgetvalue(result, row, 0));
    PQclear(result);
    sql(fixture->conn, "DEALLOCATE planned");
    return plan;
}

/* The sequence has one row. */
static void assert_planned_well(const char *plan, const char *wanted)
{
    if (strstr(plan, wanted) == NULL || strstr(plan, "Seq Scan on outbox ") != NULL ||
        strstr(plan, "Seq Scan on outbox_parked") != NULL ||
        strstr(plan, "using outbox_pkey") != NULL || strstr(plan, "Bitmap") != NULL)
        fail_msg("%s", plan);
}

static void assert_plan(struct lane_fixture *fixture, const char *name, const char *parameters,
                        const char *wanted)
{
    char execute[128];

    (void)snprintf(execute, sizeof execute, "EXPLAIN EXECUTE planned %s", parameters);
    assert_planned_well(plan_of(fixture, statement_of(fixture, name), execute), wanted);
}

static void assert_plans(struct lane_fixture *fixture)
{
    static const char outbox[] = "Index Scan using outbox_slice_idx";
    static const char parked[] = "using outbox_parked_due_idx";
    const char *plan =
        plan_of(fixture, statement_of(fixture, "claim_0"), "EXPLAIN EXECUTE planned (0, 1000)");

    assert_planned_well(plan, outbox);
    assert_null(strstr(plan, "Sort"));
    plan = plan_of(fixture, statement_of(fixture, "lean_claim_0"), "EXPLAIN EXECUTE planned");
    assert_planned_well(plan, outbox);
    assert_null(strstr(plan, "Sort"));
    assert_plan(fixture, "first_row", "(0, 1000)", outbox);
    assert_plan(fixture, "read_row", "(0, 1000, '(0,1)', '1')", "Tid Scan");
    assert_plan(fixture, "claim_parked_0", "(0, 1000, '{}')", parked);
    assert_plan(fixture, "claim_parked_0", "(0, 1000, '{}')", outbox);
    assert_plan(fixture, "first_parked_row", "(0, 1000, '{}')", parked);
    assert_plan(fixture, "read_parked_row", "(0, 1000, '(0,1)', '1')", "Tid Scan");
    assert_plan(fixture, "lock_slices", "('{1,2}', '{5,6}', '{0,1}', 3, 4, '{7,8}', '{900}', 2, 0)",
                "using outbox_slice_idx");
    assert_plan(fixture, "lean_lock_slices", "('{1,2}', '{5,6}', '{0,1}', 3, 4)",
                "using outbox_slice_idx");
    plan = plan_of(fixture, statement_of(fixture, "scan"),
                   "EXPLAIN EXECUTE planned ('{1,2}', '{5,6}', '{7,8}', '{900}', 0)");
    assert_planned_well(plan, "using outbox_slice_idx");
    assert_null(strstr(plan, "Sort"));
    assert_plan(fixture, "lock_parked_slices", "(2, 0, '{}', '{5}', '{7}', '{900}', 0, 4)", parked);
}

static void say_the_tables_are_large(struct lane_fixture *fixture)
{
    sql(fixture->conn, "UPDATE pg_class SET reltuples = 1e7, relpages = 3e5 WHERE relname IN"
                       " ('outbox', 'outbox_parked')");
    sql(fixture->conn, "UPDATE pg_class SET reltuples = 1e7, relpages = 5e4 WHERE relname IN"
                       " ('outbox_pkey', 'outbox_slice_idx', 'outbox_parked_due_idx')");
}

static void set_as_a_lane_does(PGconn *conn)
{
    sql(conn, "SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;"
              " SET jit = off; SET plan_cache_mode = force_generic_plan;"
              " SET outbox_relay.slices = '{3}'; SET outbox_relay.lows = '{5}';"
              " SET outbox_relay.highs = '{7}'; SET outbox_relay.holders = '{900}'");
}

LANE_TEST(every_statement_goes_by_its_index_whatever_the_statistics_say)
{
    set_as_a_lane_does(fixture->conn);
    assert_plans(fixture); /* never analysed */
    sql(fixture->conn, "ANALYZE outbox, outbox_parked");
    assert_plans(fixture); /* analysed while empty */
    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'hot' FROM"
                       " generate_series(1, 20000)");
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state) SELECT i,"
                       " gen_random_uuid(), 't', 'hot', 'behind' FROM generate_series(1, 5000) i");
    assert_plans(fixture);
    sql(fixture->conn, "ANALYZE outbox, outbox_parked");
    assert_plans(fixture); /* one key in all rows */
    sql(fixture->conn, "DELETE FROM outbox");
    assert_plans(fixture); /* all dead */
    say_the_tables_are_large(fixture);
    assert_plans(fixture);
}

TEST_AGAIN(every_statement_goes_by_its_index_whatever_the_statistics_say, set_up_deleting,
           tear_down)

/* Rows that were marked before are passed over, by the index that leaves them out or not. */
LANE_TEST(with_delete_beside_marked_rows_every_statement_goes_by_its_index)
{
    char index[512];

    fixture->options.on_sent = ON_SENT_DELETE;
    set_as_a_lane_does(fixture->conn);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, sent_at) SELECT 't', i::text, now() FROM"
                       " generate_series(1, 20000) i");
    assert_plans(fixture);
    sql(fixture->conn, "ANALYZE outbox, outbox_parked");
    assert_plans(fixture);
    (void)snprintf(index, sizeof index, "%s",
                   sql_text(fixture->conn, "SELECT split_part(pg_get_indexdef("
                                           "'outbox_slice_idx'::regclass), ' WHERE ', 1)"));
    sql(fixture->conn, "DROP INDEX outbox_slice_idx; %s", index);
    assert_plans(fixture);
    sql(fixture->conn, "ANALYZE outbox");
    assert_plans(fixture);
    say_the_tables_are_large(fixture);
    assert_plans(fixture);
}

/* Without plan_cache_mode PostgreSQL would plan each claim anew. */
LANE_TEST(a_lane_keeps_the_plans_of_its_statements)
{
    PGresult *result;
    PGconn *conn;
    bool counted; /* by PostgreSQL 14 and later */

    for (int i = 0; i < 10; i++) {
        insert_rows(fixture, 1);
        claim_count(fixture, 1);
        send_all(fixture);
    }
    conn = fixture->outbox->session.conn;
    counted = PQserverVersion(conn) >= 140000;
    assert_int_equal(PQexitPipelineMode(conn), 1);
    result = PQexec(conn, counted ? "SELECT sum(generic_plans) > 30, sum(custom_plans)"
                                    " FROM pg_catalog.pg_prepared_statements"
                                  : "SELECT current_setting('plan_cache_mode') ="
                                    " 'force_generic_plan', 0");
    assert_string_equal(PQgetvalue(result, 0, 0), "t");
    assert_string_equal(PQgetvalue(result, 0, 1), "0");
    PQclear(result);
}

/* The prepared statements find the new table by its name, but the lane's locks and ids are those of
 * the old one. */
LANE_TEST_WITH(a_table_that_is_swapped_by_rename_is_noticed_by_the_next_claim, set_up_deleting,
               tear_down)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    insert_rows(fixture, 1);
    while (claim(fixture) == 0 && fixture->batch.count == 0)
        assert_true(harness_now_ms() < deadline_ms);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
    sql(fixture->conn, "BEGIN; ALTER TABLE outbox RENAME TO outbox_before;"
                       " CREATE TABLE outbox (LIKE outbox_before INCLUDING ALL); COMMIT");
    insert_rows(fixture, 2);
    while (claim(fixture) == 0 && fixture->batch.count == 0)
        assert_true(harness_now_ms() < deadline_ms);
    assert_int_equal(fixture->batch.count, 2);
    assert_int_equal(fixture->outbox->table.oid,
                     sql_number(fixture->conn, "SELECT 'outbox'::regclass::oid"));
    outbox_abandon(fixture->outbox);
}

static int set_up_position(void **state)
{
    return open_ordered(state, ON_SENT_POSITION, SLICES);
}

/* The bounds of this process then rest on positions that are no longer valid. */
LANE_TEST_WITH(rows_below_a_bound_are_sent_after_another_process_began_the_positions_anew,
               set_up_position, tear_down)
{
    struct source *source = source_open(&fixture->options);
    struct outbox *other = outbox_open(&fixture->options, NULL, "other/1");
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    for (int i = 1; i <= 2; i++) { /* the second time the low ids rise above those of the first */
        insert_rows(fixture, 40);
        send_what_there_is(fixture);
        await_bounds(fixture, false, 40 * i + 1);
    }
    sql(fixture->conn, "BEGIN; DELETE FROM outbox; ALTER SEQUENCE outbox_id_seq RESTART;"
                       " INSERT INTO outbox (topic, key) SELECT 't', 'k' || i"
                       " FROM generate_series(1, 5) i; COMMIT");
    while (lowest_bound(fixture, false) != 6) { /* by a scan that found nothing unsent */
        assert_true(harness_now_ms() < deadline_ms);
        harness_pause();
    }
    assert_int_equal(outbox_share(other, source), 0);
    if (outbox_ready(other, &fixture->error) < 0)
        fail_msg("%s", fixture->error.text);
    outbox_close(other);
    source_close(source);
    while (claim(fixture) < 0 || fixture->batch.count < 5)
        assert_true(harness_now_ms() < deadline_ms);
    assert_int_equal(fixture->batch.count, 5);
    outbox_abandon(fixture->outbox);
}
