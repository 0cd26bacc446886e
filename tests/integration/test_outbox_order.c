/* The order of each key, on the level of outbox.h: slices, bounds, and rows parked behind another.
 */
#include "integration/lane_fixture.h"

#include "base/clock.h"
#include "outbox/choose.h"
#include "outbox/parked.h"
#include "outbox/row.h"
#include "outbox/sql_choose.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICES 8

static int set_up_mark(void **state)
{
    return open_ordered(state, ON_SENT_MARK, SLICES);
}

static int set_up_deleting(void **state)
{
    return open_ordered(state, ON_SENT_DELETE, SLICES);
}

static int set_up_64(void **state)
{
    return set_up_by(state, ON_SENT_DELETE, ORDER_KEY, 64);
}

static void insert(struct lane_fixture *fixture, const char *key)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) VALUES ('t', '%s', '1')", key);
}

/* All there is to claim now, however many looks it takes: "KEY:ID KEY:ID ...". */
static const char *claim_all(struct lane_fixture *fixture, bool parked)
{
    static char text[4096];
    size_t len = 0;

    text[0] = '\0';
    do {
        if (claim_from(fixture->outbox, &fixture->batch, parked, &fixture->error) < 0)
            fail_msg("%s", fixture->error.text);
    } while (fixture->batch.count == 0 && fixture->batch.more);
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

static void dead(struct lane_fixture *fixture, enum parked_verb verb, const char *id)
{
    const char *ids[] = {id};
    struct parked_request request = {.verb = verb, .ids = ids, .id_count = 1};
    struct admin *admin = admin_open(&fixture->options, &fixture->error);

    assert_non_null(admin);
    assert_int_equal(admin_parked(admin, &request, &(struct parked_rows){0}, &fixture->error), 1);
    admin_close(admin);
}

static void the_rows_of_a_key_are_claimed_by_one_lane_at_a_time(void **state)
{
    struct lane_fixture *fixture = *state;
    struct outbox *second = outbox_open(&fixture->options, NULL, "test/2");
    struct batch batch;

    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
    insert(fixture, "k");
    assert_int_equal(batch_init(&batch, 500), 0);
    assert_int_equal(outbox_ready(second, &fixture->error), 0);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_int_equal(batch.count, 0);
    send_all(fixture);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_int_equal(batch.count, 1);
    assert_text(batch.messages[0].id, "3");
    batch_free(&batch);
    outbox_close(second);
}

static void lanes_share_the_slices(void **state)
{
    struct lane_fixture *fixture = *state;
    struct outbox *second = outbox_open(&fixture->options, NULL, "test/2");
    struct batch batch;
    int first;

    insert_rows(fixture, 4000);
    assert_int_equal(claim(fixture), 0);
    first = fixture->batch.count;
    assert_true(first > 0 && fixture->batch.more);
    send_all(fixture);
    for (int i = 0; i < 5; i++) { /* full claims take ever fewer slices */
        assert_int_equal(claim(fixture), 0);
        if (i < 4)
            send_all(fixture);
    }
    assert_int_equal(batch_init(&batch, 500), 0);
    assert_int_equal(outbox_ready(second, &fixture->error), 0);
    assert_int_equal(claim_from(second, &batch, false, &fixture->error), 0);
    assert_true(batch.count > 0);
    batch_free(&batch);
    outbox_close(second);
}

static void rows_without_a_key_are_claimed_too(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 100)");
    claim_count(fixture, 100);
    send_all(fixture);
    claim_count(fixture, 0);
}

static void behind_a_dead_row_its_key_waits_and_no_other(void **state)
{
    struct lane_fixture *fixture = *state;

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
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(id || ' ' || coalesce(due::text,"
                                                " 'dead'), ', ' ORDER BY seq) FROM outbox_parked"),
                        "1 dead, 2 infinity, 3 infinity");
}

static void a_retried_row_leaves_first_and_the_rest_of_its_key_behind_it(void **state)
{
    struct lane_fixture *fixture = *state;

    insert(fixture, "k");
    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2 k:3");
    park_behind_dead(fixture);
    dead(fixture, PARKED_RETRY, "1");
    assert_string_equal(claim_all(fixture, true), "k:1 k:2 k:3");
    decide_all(&fixture->batch, OUTCOME_BEHIND);
    fixture->batch.messages[0].outcome = OUTCOME_SENT;
    fixture->batch.messages[1].outcome = OUTCOME_DEAD;
    settle(fixture, false);
    assert_string_equal(claim_all(fixture, true), "");
    dead(fixture, PARKED_DROP, "2");
    assert_string_equal(claim_all(fixture, true), "k:3");
    send_all(fixture);
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:4");
    send_all(fixture);
}

static void a_sent_row_frees_the_next_of_its_key_even_when_the_batch_ended_there(void **state)
{
    struct lane_fixture *fixture = *state;

    insert(fixture, "k");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2");
    park_behind_dead(fixture);
    dead(fixture, PARKED_RETRY, "1");
    assert_string_equal(claim_all(fixture, true), "k:1 k:2");
    decide_all(&fixture->batch, OUTCOME_LEAVE);
    fixture->batch.messages[0].outcome = OUTCOME_SENT;
    settle(fixture, false);
    assert_string_equal(claim_all(fixture, true), "k:2");
    send_all(fixture);
    assert_int_equal(
        sql_number(fixture->conn, "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL"), 0);
}

static void the_janitor_frees_what_waits_behind_a_row_that_was_deleted_by_hand(void **state)
{
    struct lane_fixture *fixture = *state;
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

static void a_row_that_is_too_large_comes_with_its_key(void **state)
{
    struct lane_fixture *fixture = *state;

    insert(fixture, "k");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type) VALUES ('t', 'k', repeat('x', 200000))");
    insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2 k:3");
}

static void a_row_that_is_too_large_for_its_key_to_be_fetched_travels_alone(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type) SELECT 't', repeat('k', 2000),"
        " CASE WHEN i = 2 THEN repeat('x', 200000) END FROM generate_series(1, 3) i");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claim(fixture), 0);
        assert_int_equal(fixture->batch.count, 1);
        send_all(fixture);
    }
}

static void few_large_rows_are_no_reason_to_ask_for_more(void **state)
{
    struct lane_fixture *fixture = *state;

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

/* An operator in a process of his own: touches row 2, says so, and commits when the lane waits. */
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

static void a_row_that_an_operator_touches_is_not_overtaken(void **state)
{
    struct lane_fixture *fixture = *state;
    int pipes[2];
    char told;
    int status;
    pid_t operator;

    for (int i = 0; i < 4; i++)
        insert(fixture, "k");
    assert_string_equal(claim_all(fixture, false), "k:1 k:2 k:3 k:4");
    park_behind_dead(fixture);
    sql(fixture->conn, "UPDATE outbox_parked SET due = now() WHERE id = 1");
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

static void the_rows_of_a_key_leave_in_the_order_of_their_ids_however_they_were_parked(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, due) VALUES"
                       " (7, gen_random_uuid(), 't', 'k', now()), (5, gen_random_uuid(), 't', 'k',"
                       " 'infinity'), (6, gen_random_uuid(), 't', 'k', NULL)");
    assert_string_equal(claim_all(fixture, true), "");
    dead(fixture, PARKED_RETRY, "6");
    assert_string_equal(claim_all(fixture, true), "");
    dead(fixture, PARKED_RETRY, "5");
    assert_string_equal(claim_all(fixture, true), "k:5 k:6 k:7");
}

static void a_probe_that_stands_behind_a_dead_row_is_none(void **state)
{
    struct lane_fixture *fixture = *state;
    struct admin *admin;

    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, due, waits_for) VALUES"
                       " (1, gen_random_uuid(), 'x', 'k', NULL, NULL),"
                       " (2, gen_random_uuid(), 'm', 'k', now(), 's/m'),"
                       " (3, gen_random_uuid(), 'm', 'j', 'infinity', 's/m')");
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
    } while (fixture->batch.count > 0 || fixture->batch.more);
}

/* A bound trails by a moment of the lane's clock: as if it had passed. */
static void let_time_pass(struct lane_fixture *fixture)
{
    for (int i = 0; i < SLICES; i++)
        for (int j = 0; j < fixture->outbox->bounds.slices[i].trail.count; j++)
            fixture->outbox->bounds.slices[i].trail.ids[j].drawn_ms -= 10000;
}

/* Rows of other keys in every slice, settled by the lane; twice, for a bound passes what it saw
 * once the next claim has seen that nothing is left below. */
static void let_bounds_pass(struct lane_fixture *fixture)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 30; i++)
            sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'x%d')", i);
        send_what_there_is(fixture);
        let_time_pass(fixture);
    }
    send_what_there_is(fixture);
}

static int bounds_known(const struct lane_fixture *fixture)
{
    int known = 0;

    for (int i = 0; i < SLICES; i++)
        known += fixture->outbox->bounds.slices[i].first != BOUNDS_UNKNOWN;
    return known;
}

static void the_bounds_of_an_idle_lane_come_to_the_end_of_the_table(void **state)
{
    struct lane_fixture *fixture = *state;

    for (int i = 0; i < 2; i++) { /* the second so soon that it cannot wait beside the first */
        insert_rows(fixture, 100);
        send_what_there_is(fixture);
    }
    for (int look = 0; look < 6; look++) { /* sees the end, raises the fence, passes it; twice */
        let_time_pass(fixture);
        claim_count(fixture, 0);
    }
    for (int i = 0; i < SLICES; i++) {
        const struct bound *bound = &fixture->outbox->bounds.slices[i];

        assert_true(bound->last != BOUNDS_UNKNOWN);
        assert_int_equal(bound->first, bound->last + 1);
    }
}

static void the_bounds_of_a_busy_lane_follow_its_claims(void **state)
{
    struct lane_fixture *fixture = *state;

    for (int i = 0; i < 3; i++) { /* never idle: each claim finds rows */
        insert_rows(fixture, 100);
        claim_count(fixture, 100);
        send_all(fixture);
        let_time_pass(fixture);
    }
    assert_int_equal(bounds_known(fixture), SLICES);
}

static void a_foreign_lock_on_a_parked_row_leaves_the_outbox_alone(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *other = harness_connect(fixture->url);

    insert(fixture, "k");
    send_what_there_is(fixture);
    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key, due) VALUES"
                       " (7, gen_random_uuid(), 't', 'p', now())");
    sql(other, "BEGIN");
    sql(other, "SELECT FROM outbox_parked FOR UPDATE");
    assert_int_equal(claim_from(fixture->outbox, &fixture->batch, true, &fixture->error), -1);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(fixture->outbox->bounds.slices[i].avoid_ms, 0);
    insert(fixture, "k");
    claim_count(fixture, 1);
    PQfinish(other);
}

static void a_retried_row_that_stands_behind_another_is_not_due(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "INSERT INTO outbox_parked (id, event_id, topic, key) VALUES"
                       " (1, gen_random_uuid(), 't', 'k'), (2, gen_random_uuid(), 't', 'k')");
    dead(fixture, PARKED_RETRY, "2");
    assert_string_equal(sql_text(fixture->conn, "SELECT due FROM outbox_parked WHERE id = 2"),
                        "infinity");
}

static void no_bound_passes_a_row_that_is_not_committed_yet(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);

    let_bounds_pass(fixture);
    assert_int_equal(bounds_known(fixture), SLICES);
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    let_bounds_pass(fixture);
    sql(writer, "COMMIT");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('later', 'k')");
    fixture->outbox->bounds.sweep_ms = INT64_MAX; /* the sweeps are not what is tested */
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(fixture->batch.count, 2);
    assert_text(fixture->batch.messages[0].topic, "late");
    assert_text(fixture->batch.messages[1].topic, "later");
    PQfinish(writer);
}

static void a_row_below_the_bound_is_found_by_a_sweep(void **state)
{
    struct lane_fixture *fixture = *state;
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

static void the_largest_id_does_not_blind_a_slice(void **state)
{
    struct lane_fixture *fixture = *state;
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

static void a_claim_of_as_many_slices_as_it_may_take_says_that_there_may_be_more(void **state)
{
    struct lane_fixture *fixture = *state;

    insert(fixture, "k");
    assert_int_equal(claim(fixture), 0); /* describes the table */
    send_all(fixture);
    insert(fixture, "k");
    fixture->outbox->bounds.width = 1;
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(fixture->batch.count, 1);
    assert_true(fixture->batch.more);
    send_all(fixture);
    insert(fixture, "k");
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(fixture->batch.count, 1);
    assert_false(fixture->batch.more);
    send_all(fixture);
}

/* Rows of the batch by slice, the slices in the order in which they came. */
static int count_by_slice(const struct outbox *outbox, const struct batch *batch, int counts[])
{
    const PGresult *rows = batch->rows;
    int count = 0;

    for (int row = 0; row < PQntuples(rows); row++) {
        int slice = row_int4(PQgetvalue(rows, row, CLAIM_SLICE));

        if (count == 0 || outbox->claimed[count - 1].slice != slice)
            counts[count++] = 0;
        assert_int_equal(outbox->claimed[count - 1].slice, slice);
        counts[count - 1]++;
    }
    return count;
}

static void the_rows_of_a_backlog_come_of_several_slices(void **state)
{
    struct lane_fixture *fixture = *state;
    struct bounds *bounds = &fixture->outbox->bounds;
    int counts[BOUNDS_WIDTH_MAX];

    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'k' || i"
                       " FROM generate_series(1, 20000) i");
    bounds->width = bounds->floor;
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(fixture->batch.count, 500);
    assert_int_equal(count_by_slice(fixture->outbox, &fixture->batch, counts), 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(counts[i], 125);
    send_all(fixture);
    assert_int_equal(claim(fixture), 0);
    assert_int_equal(count_by_slice(fixture->outbox, &fixture->batch, counts), 4);
    send_all(fixture);
}

static void the_only_slice_with_rows_gives_the_whole_claim(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'k'"
                       " FROM generate_series(1, 600) i");
    fixture->outbox->bounds.width = fixture->outbox->bounds.floor;
    claim_count(fixture, 500);
    assert_true(fixture->batch.more);
    send_all(fixture);
    claim_count(fixture, 100);
    send_all(fixture);
    claim_count(fixture, 0);
}

static void a_slice_that_gave_no_more_than_its_share_may_have_more(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'k'"
                       " FROM generate_series(1, 600) i");
    insert(fixture, "j"); /* of another slice */
    fixture->outbox->bounds.width = fixture->outbox->bounds.floor;
    claim_count(fixture, 251);
    assert_true(fixture->batch.more);
    send_all(fixture);
    claim_count(fixture, 350);
    assert_false(fixture->batch.more);
    send_all(fixture);
}

static void slices_that_others_have_emptied_meanwhile_hide_no_row(void **state)
{
    struct lane_fixture *fixture = *state;
    struct bounds *bounds = &fixture->outbox->bounds;

    insert(fixture, "k");
    bounds->width = bounds->floor;
    for (int i = 0; i < SLICES; i++)
        bounds->sure[i] = true;
    assert_string_equal(claim_all(fixture, false), "k:1");
    send_all(fixture);
    claim_count(fixture, 0);
    assert_false(fixture->batch.more);
}

/* A claim of one row takes four slices, and comes to one of them. */
static void a_sweep_comes_to_each_slice_of_a_backlog_in_small_batches(void **state)
{
    struct lane_fixture *fixture = *state;
    struct bounds *bounds = &fixture->outbox->bounds;

    fixture->options.batch = 1;
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                       " SELECT sign * i, 't', 'k' || i"
                       " FROM generate_series(1, 2000) i, unnest(ARRAY[-1, 1]) sign");
    claim_count(fixture, 1);
    send_all(fixture);
    for (int i = 0; i < bounds->count; i++)
        bounds->slices[i].first = 1;
    bounds->sweep_left = 0;
    for (int i = 0; i < bounds->count; i++) {
        bounds->sweep_ms = i == 0 ? 0 : INT64_MAX;
        claim_count(fixture, 1);
        send_all(fixture);
    }
    for (int i = 0; i < bounds->count; i++)
        assert_true(bounds->slices[i].first == BOUNDS_UNKNOWN);
}

static void another_number_of_slices_ends_the_claims(void **state)
{
    struct lane_fixture *fixture = *state;

    insert(fixture, "k");
    sql(fixture->conn, "UPDATE outbox_slice SET slices = 16");
    assert_int_equal(claim(fixture), -1);
    assert_non_null(strstr(fixture->error.text, "has 16 slices now"));
    assert_int_equal(fixture->error.kind, ERROR_PERMANENT);
}

static void a_row_that_somebody_locks_holds_up_its_slice_and_no_other(void **state)
{
    struct lane_fixture *fixture = *state;
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

static void the_rows_of_a_sink_that_is_away_are_met_again_when_it_is_back(void **state)
{
    struct lane_fixture *fixture = *state;
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
    char chosen[32];  /* what the slices' choice left to be flushed, */
    char between[32]; /* where the WAL ended before the claim, */
    char claimed[32]; /* and what the claim left */
};

static void choose_and_claim(struct lane_fixture *fixture, PGconn *lane, const char *between,
                             struct flushes *flushes)
{
    const struct claim_text text = {.kind = CLAIM_SLICES, .limit = 500, .inline_bytes = 16384};
    const struct table *table = &fixture->outbox->table;

    sql(lane, "BEGIN");
    (void)snprintf(
        flushes->chosen, 32, "%s",
        value_of(lane, sql_choose(table, &fixture->options, NULL, false),
                 "('{0,1,2,3,4,5,6,7}', '{0,0,0,0,0,0,0,0}', 8, 0, false, '{0,0,0,0,0,0,0,0}')"));
    sql(fixture->conn, "%s", between);
    (void)snprintf(flushes->between, 32, "%s",
                   sql_text(fixture->conn, "SELECT pg_current_wal_insert_lsn()"));
    (void)snprintf(flushes->claimed, 32, "%s",
                   value_of(lane, sql_claim(table, &fixture->options, &text), "(0, 1000)"));
    sql(lane, "COMMIT");
}

static void
what_must_be_flushed_ends_before_the_slices_locks_unless_somebody_committed(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *lane = harness_connect(fixture->url);
    struct flushes flushes;

    assert_int_equal(claim(fixture), 0); /* describes the table */
    sql(fixture->conn, "SET synchronous_commit = off");
    insert(fixture, "k");
    choose_and_claim(fixture, lane, "SELECT", &flushes);
    assert_string_equal(flushes.claimed, flushes.chosen);
    assert_true(is_before(lane, flushes.claimed, flushes.between)); /* by the lock records */
    choose_and_claim(fixture, lane, "INSERT INTO outbox (topic, key) VALUES ('t', 'k')", &flushes);
    assert_true(is_before(lane, flushes.chosen, flushes.claimed));
    assert_false(is_before(lane, flushes.claimed, flushes.between));
    PQfinish(lane);
}

static void wait_for_lock(PGconn *conn)
{
    int64_t deadline_ms = clock_now_ms() + 10000;

    while (sql_text(conn, "SELECT count(*) FROM pg_locks WHERE NOT granted")[0] == '0')
        assert_true(clock_now_ms() < deadline_ms);
}

static void a_row_that_was_waited_for_must_be_flushed_as_it_is_then(void **state)
{
    const struct claim_text text = {.kind = CLAIM_SLICES, .limit = 500, .inline_bytes = 16384};
    struct lane_fixture *fixture = *state;
    PGconn *lane = harness_connect(fixture->url);
    PGconn *other = harness_connect(fixture->url);
    struct flushes flushes;
    const char *updated;
    char *statement;

    assert_int_equal(claim(fixture), 0); /* describes the table */
    insert(fixture, "k");
    choose_and_claim(fixture, lane, "SELECT", &flushes);
    statement = sql_claim(&fixture->outbox->table, &fixture->options, &text);
    sql(lane, "PREPARE waiting AS %s", statement);
    free(statement);
    sql(other, "SET synchronous_commit = off; BEGIN; UPDATE outbox SET payload = '2'");
    sql(lane, "BEGIN; SET LOCAL outbox_relay.slices = '{0,1,2,3,4,5,6,7}';"
              " SET LOCAL outbox_relay.firsts = '{0,0,0,0,0,0,0,0}'");
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

static void rows_that_share_an_id_are_claimed(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey");
    for (int i = 0; i < 3; i++)
        sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                           " VALUES (7, 't', 'k'), (8, 't', 'l')");
    while (sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NULL") > 0) {
        assert_int_equal(claim(fixture), 0);
        assert_true(fixture->batch.count > 0);
        send_all(fixture);
    }
}

static void a_claim_whose_rows_are_not_in_their_order_is_refused(void **state)
{
    struct lane_fixture *fixture = *state;
    struct message *messages = fixture->batch.messages;
    struct text first;

    insert(fixture, "k");
    insert(fixture, "k");
    claim_count(fixture, 2);
    first = messages[0].id;
    messages[0].id = messages[1].id;
    messages[1].id = first;
    fixture->outbox->claimed_count = 0;
    assert_int_equal(
        choose_note_claimed(fixture->outbox, &fixture->batch, fixture->batch.rows, &fixture->error),
        -1);
    assert_non_null(strstr(fixture->error.text, "out of their order, at id 1"));
}

/* The server's own records may come in between, now and then. */
static void a_claim_of_what_is_on_disk_asks_for_no_flush(void **state)
{
    struct lane_fixture *fixture = *state;
    int flushed = 0;

    for (int i = 0; i < 10; i++) {
        insert(fixture, "k");
        assert_int_equal(claim(fixture), 0);
        assert_int_equal(fixture->batch.count, 1);
        flushed += fixture->outbox->flushed;
        send_all(fixture);
    }
    assert_in_range(flushed, 5, 10);
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

static void assert_planned_well(const char *plan, const char *wanted)
{
    if (strstr(plan, wanted) == NULL || strstr(plan, "Seq Scan on outbox") != NULL ||
        strstr(plan, "using outbox_pkey") != NULL || strstr(plan, "Bitmap") != NULL)
        fail_msg("%s", plan);
}

static void assert_plans(struct lane_fixture *fixture)
{
    const struct table *table = &fixture->outbox->table;
    struct claim_text text = {.kind = CLAIM_SLICES, .limit = 500, .inline_bytes = 16384};
    const char *plan = plan_of(fixture, sql_claim(table, &fixture->options, &text),
                               "EXPLAIN EXECUTE planned (0, 1000)");

    assert_planned_well(plan, "Index Scan using outbox_slice_idx");
    assert_null(strstr(plan, "Sort"));
    assert_planned_well(plan_of(fixture, sql_choose(table, &fixture->options, NULL, false),
                                "EXPLAIN EXECUTE planned ('{1,2}', '{5,6}', 2, 0, false, '{0,1}')"),
                        "using outbox_slice_idx");
    assert_planned_well(plan_of(fixture, sql_empty(table, &fixture->options, NULL),
                                "EXPLAIN EXECUTE planned ('{1,2}', '{5,6}', 0)"),
                        "using outbox_slice_idx");
    assert_planned_well(
        plan_of(fixture, sql_first(table, &fixture->options), "EXPLAIN EXECUTE planned (3)"),
        "using outbox_slice_idx");
    assert_non_null(strstr(plan_of(fixture, sql_newest(table), "EXPLAIN EXECUTE planned"),
                           "Scan Backward using outbox_pkey"));
    plan = plan_of(fixture, sql_newest_of_slices(table, &fixture->options),
                   "EXPLAIN EXECUTE planned ('{1,2}', '{5,6}')");
    assert_planned_well(plan, "Scan Backward using outbox_slice_idx");
    assert_null(strstr(plan, "Sort"));
    assert_planned_well(plan_of(fixture, sql_choose(table, &fixture->options, NULL, true),
                                "EXPLAIN EXECUTE planned (2, 0)"),
                        "using outbox_parked_due_idx");
    text.kind = CLAIM_PARKED;
    assert_planned_well(plan_of(fixture, sql_claim(table, &fixture->options, &text),
                                "EXPLAIN EXECUTE planned (0, 1000)"),
                        "using outbox_parked_due_idx");
}

static void say_the_tables_are_large(struct lane_fixture *fixture)
{
    sql(fixture->conn, "UPDATE pg_class SET reltuples = 1e7, relpages = 3e5 WHERE relname IN"
                       " ('outbox', 'outbox_parked')");
    sql(fixture->conn, "UPDATE pg_class SET reltuples = 1e7, relpages = 5e4 WHERE relname IN"
                       " ('outbox_pkey', 'outbox_slice_idx', 'outbox_parked_due_idx')");
}

static void every_statement_goes_by_its_index_whatever_the_statistics_say(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture->conn,
        "SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;"
        " SET jit = off; SET plan_cache_mode = force_generic_plan;"
        " SET outbox_relay.slices = '{3}'; SET outbox_relay.firsts = '{5}'");
    assert_plans(fixture); /* never analysed */
    sql(fixture->conn, "ANALYZE outbox, outbox_parked");
    assert_plans(fixture); /* analysed while empty */
    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 't', 'hot' FROM"
                       " generate_series(1, 20000)");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, due) SELECT i,"
        " gen_random_uuid(), 't', 'hot', 'infinity' FROM generate_series(1, 5000) i");
    assert_plans(fixture);
    sql(fixture->conn, "ANALYZE outbox, outbox_parked");
    assert_plans(fixture); /* one key in all rows */
    sql(fixture->conn, "DELETE FROM outbox");
    assert_plans(fixture); /* all dead */
    say_the_tables_are_large(fixture);
    assert_plans(fixture);
}

/* Rows that were marked before are passed over, by the index that leaves them out or not. */
static void with_delete_beside_marked_rows_every_statement_goes_by_its_index(void **state)
{
    struct lane_fixture *fixture = *state;
    char index[512];

    fixture->options.on_sent = ON_SENT_DELETE;
    sql(fixture->conn,
        "SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off;"
        " SET jit = off; SET plan_cache_mode = force_generic_plan;"
        " SET outbox_relay.slices = '{3}'; SET outbox_relay.firsts = '{5}'");
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

/* Left to itself PostgreSQL plans each claim anew. */
static void a_lane_keeps_the_plans_of_its_statements(void **state)
{
    struct lane_fixture *fixture = *state;
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_mark, tear_down)
#define TEST_DELETE(name) cmocka_unit_test_setup_teardown(name, set_up_deleting, tear_down)
#define TEST_64(name) cmocka_unit_test_setup_teardown(name, set_up_64, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_rows_of_a_key_are_claimed_by_one_lane_at_a_time),
        TEST_DELETE(the_rows_of_a_key_are_claimed_by_one_lane_at_a_time),
        TEST(lanes_share_the_slices),
        TEST(rows_without_a_key_are_claimed_too),
        TEST(behind_a_dead_row_its_key_waits_and_no_other),
        TEST_DELETE(behind_a_dead_row_its_key_waits_and_no_other),
        TEST(a_retried_row_leaves_first_and_the_rest_of_its_key_behind_it),
        TEST_DELETE(a_retried_row_leaves_first_and_the_rest_of_its_key_behind_it),
        TEST(a_sent_row_frees_the_next_of_its_key_even_when_the_batch_ended_there),
        TEST(the_janitor_frees_what_waits_behind_a_row_that_was_deleted_by_hand),
        TEST(a_row_that_is_too_large_comes_with_its_key),
        TEST(a_row_that_is_too_large_for_its_key_to_be_fetched_travels_alone),
        TEST(few_large_rows_are_no_reason_to_ask_for_more),
        TEST(a_row_that_an_operator_touches_is_not_overtaken),
        TEST(the_rows_of_a_key_leave_in_the_order_of_their_ids_however_they_were_parked),
        TEST(a_probe_that_stands_behind_a_dead_row_is_none),
        TEST(the_bounds_of_an_idle_lane_come_to_the_end_of_the_table),
        TEST(the_bounds_of_a_busy_lane_follow_its_claims),
        TEST(a_foreign_lock_on_a_parked_row_leaves_the_outbox_alone),
        TEST(a_retried_row_that_stands_behind_another_is_not_due),
        TEST(no_bound_passes_a_row_that_is_not_committed_yet),
        TEST_DELETE(no_bound_passes_a_row_that_is_not_committed_yet),
        TEST(a_row_below_the_bound_is_found_by_a_sweep),
        TEST(the_largest_id_does_not_blind_a_slice),
        TEST(a_claim_of_as_many_slices_as_it_may_take_says_that_there_may_be_more),
        TEST_64(the_rows_of_a_backlog_come_of_several_slices),
        TEST_64(the_only_slice_with_rows_gives_the_whole_claim),
        TEST_64(a_slice_that_gave_no_more_than_its_share_may_have_more),
        TEST_64(a_sweep_comes_to_each_slice_of_a_backlog_in_small_batches),
        TEST(slices_that_others_have_emptied_meanwhile_hide_no_row),
        TEST(another_number_of_slices_ends_the_claims),
        TEST(a_row_that_somebody_locks_holds_up_its_slice_and_no_other),
        TEST(the_rows_of_a_sink_that_is_away_are_met_again_when_it_is_back),
        TEST(what_must_be_flushed_ends_before_the_slices_locks_unless_somebody_committed),
        TEST(a_row_that_was_waited_for_must_be_flushed_as_it_is_then),
        TEST(rows_that_share_an_id_are_claimed),
        TEST(a_claim_whose_rows_are_not_in_their_order_is_refused),
        TEST(a_claim_of_what_is_on_disk_asks_for_no_flush),
        TEST(every_statement_goes_by_its_index_whatever_the_statistics_say),
        TEST(with_delete_beside_marked_rows_every_statement_goes_by_its_index),
        TEST(a_lane_keeps_the_plans_of_its_statements),
        TEST_DELETE(every_statement_goes_by_its_index_whatever_the_statistics_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
