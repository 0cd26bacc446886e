/* What a lane's bounds pass in a backlog, and what the lanes of a process tell each other of them.
 */
#include "integration/lane_fixture.h"

#include "base/clock.h"
#include "outbox/bounds_pass.h"

#define BATCH 10
#define OUTLIERS 10
#define SLICES 64
#define LONG_AGO_MS 10000

struct other_lane {
    struct outbox *outbox;
    struct batch batch;
};

static struct shared *shared;
static struct other_lane other;

/* Without sweeps, which are not what is tested. */
static int open_lane(struct outbox *outbox, struct batch *batch, struct error *error)
{
    outbox_share(outbox, shared);
    outbox->bounds.sweep_ms = INT64_MAX;
    return batch_init(batch, BATCH) < 0 ? -1 : outbox_ready(outbox, error);
}

static int set_up_lanes(void **state, enum on_sent on_sent, enum order order, int slices)
{
    struct lane_fixture *fixture;

    if (set_up_by(state, on_sent, order, slices) != 0)
        return -1;
    fixture = *state;
    fixture->options.batch = BATCH;
    batch_free(&fixture->batch);
    shared = shared_open(slices);
    other.outbox = outbox_open(&fixture->options, NULL, "test/2");
    if (shared == NULL || other.outbox == NULL ||
        open_lane(fixture->outbox, &fixture->batch, &fixture->error) < 0)
        return -1;
    return open_lane(other.outbox, &other.batch, &fixture->error);
}

static int set_up_mark(void **state)
{
    return set_up_lanes(state, ON_SENT_MARK, ORDER_KEY, 1);
}

static int set_up_deleting(void **state)
{
    return set_up_lanes(state, ON_SENT_DELETE, ORDER_KEY, 1);
}

static int set_up_slices(void **state)
{
    return set_up_lanes(state, ON_SENT_DELETE, ORDER_KEY, SLICES);
}

static int set_up_none(void **state)
{
    return set_up_lanes(state, ON_SENT_MARK, ORDER_NONE, 0);
}

static int tear_down_lanes(void **state)
{
    batch_free(&other.batch);
    outbox_close(other.outbox);
    (void)tear_down(state);
    shared_close(shared);
    return 0;
}

static int64_t bound_of(const struct outbox *outbox)
{
    return outbox->bounds.slices[0].first;
}

/* As if all that waits had been there for long. */
static void let_time_pass(struct outbox *outbox)
{
    for (int i = 0; i < outbox->bounds.count; i++)
        for (int j = 0; j < outbox->bounds.slices[i].trail.count; j++)
            outbox->bounds.slices[i].trail.ids[j].drawn_ms -= LONG_AGO_MS;
}

static void claim_some(struct outbox *outbox, struct batch *batch, struct error *error)
{
    do {
        if (outbox_ready(outbox, error) < 0 || claim_from(outbox, batch, false, error) < 0)
            fail_msg("%s", error->text);
    } while (batch->count == 0 && batch->more);
}

/* One claim of it, sent. */
static void send_some(struct outbox *outbox, struct batch *batch, struct error *error)
{
    claim_some(outbox, batch, error);
    decide_all(batch, OUTCOME_SENT);
    if (batch->count > 0 && outbox_settle(outbox, batch, NULL, error) < 0)
        fail_msg("%s", error->text);
}

static void send_batch(struct lane_fixture *fixture)
{
    send_some(fixture->outbox, &fixture->batch, &fixture->error);
}

static void send_by_other(struct lane_fixture *fixture)
{
    send_some(other.outbox, &other.batch, &fixture->error);
}

/* Ids from 1 to `newest`, and behind them those that are not taken for the newest. */
static void insert_backlog(struct lane_fixture *fixture, int newest)
{
    insert_rows(fixture, newest + OUTLIERS);
}

/* The lane has seen the newest id of a backlog, and the fence behind it has ended. */
static void see_newest(struct lane_fixture *fixture)
{
    send_batch(fixture);
    fixture->outbox->bounds.newest_ms = INT64_MAX; /* and is not asked for another */
    let_time_pass(fixture->outbox);
    send_batch(fixture); /* the fence */
}

static void in_a_backlog_a_bound_passes_at_once_what_is_settled(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 50);
    see_newest(fixture);
    assert_true(bound_of(fixture->outbox) == BOUNDS_UNKNOWN);
    send_batch(fixture);
    assert_int_equal(bound_of(fixture->outbox), 31);
    send_batch(fixture);
    assert_int_equal(bound_of(fixture->outbox), 41);
}

static void with_a_claim_ahead_a_bound_passes_all_but_the_rows_in_hand(void **state)
{
    struct lane_fixture *fixture = *state;
    int settled = 20;

    insert_backlog(fixture, 60);
    see_newest(fixture);
    claim_count(fixture, BATCH);
    while (settled < 60) {
        decide_all(&fixture->batch, OUTCOME_SENT);
        settle(fixture, true);
        settled += fixture->batch.count;
        assert_int_equal(bound_of(fixture->outbox), settled + 1);
        claim_some(fixture->outbox, &fixture->batch, &fixture->error);
    }
}

static bool was_claimed_of(const struct outbox *outbox, int slice)
{
    for (int i = 0; i < outbox->claimed_count; i++)
        if (outbox->claimed[i].slice == slice)
            return true;
    return false;
}

static void of_a_full_claim_each_slice_passes_what_it_gave(void **state)
{
    struct lane_fixture *fixture = *state;
    const struct outbox *outbox = fixture->outbox;

    insert_rows(fixture, 5000);
    for (int i = 0; i < 100; i++)
        send_batch(fixture); /* all slices have rows for sure */
    fixture->outbox->bounds.newest_ms = 0;
    see_newest(fixture);
    for (int i = 0; i < 20; i++) {
        int64_t before[SLICES];

        for (int slice = 0; slice < SLICES; slice++)
            before[slice] = outbox->bounds.slices[slice].first;
        send_batch(fixture);
        assert_true(outbox->claimed_count > 1);
        for (int j = 0; j < outbox->claimed_count; j++)
            assert_int_equal(outbox->bounds.slices[outbox->claimed[j].slice].first,
                             outbox->claimed[j].last + 1);
        for (int slice = 0; slice < SLICES; slice++)
            assert_true(was_claimed_of(outbox, slice) ||
                        outbox->bounds.slices[slice].first == before[slice]);
    }
}

static void a_batch_that_leaves_a_row_lets_no_bound_pass(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 50);
    see_newest(fixture);
    claim_count(fixture, BATCH);
    decide_all(&fixture->batch, OUTCOME_SENT);
    fixture->batch.messages[3].outcome = OUTCOME_LEAVE;
    settle(fixture, false);
    assert_true(bound_of(fixture->outbox) == BOUNDS_UNKNOWN);
    claim_count(fixture, BATCH);
    assert_text(fixture->batch.messages[0].id, "24");
}

static void no_bound_passes_a_row_of_the_backlog_that_is_not_committed_yet(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);

    insert_rows(fixture, 5);
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    insert_rows(fixture, 50);
    see_newest(fixture);
    send_batch(fixture);
    sql(writer, "COMMIT");
    assert_true(bound_of(fixture->outbox) == BOUNDS_UNKNOWN);
    claim_count(fixture, BATCH);
    assert_text(fixture->batch.messages[0].topic, "late");
    PQfinish(writer);
}

static void who_draws_an_id_behind_the_newest_that_was_seen_is_waited_for(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);

    insert_backlog(fixture, 30);
    see_newest(fixture);
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    insert_rows(fixture, BATCH);
    for (int i = 0; i < 3; i++)
        send_batch(fixture);
    assert_int_equal(bound_of(fixture->outbox), 31);
    sql(writer, "COMMIT");
    claim_count(fixture, 1);
    assert_text(fixture->batch.messages[0].topic, "late");
    PQfinish(writer);
}

static void a_few_rows_far_above_the_others_end_nobody_s_wait(void **state)
{
    struct lane_fixture *fixture = *state;
    PGconn *writer = harness_connect(fixture->url);

    sql(fixture->conn, "INSERT INTO outbox (id, topic, key, sent_at) OVERRIDING SYSTEM VALUE VALUES"
                       " (1000000, 't', 'x', NULL), (1000001, 't', 'y', NULL),"
                       " (1000002, 't', 'z', now())");
    insert_backlog(fixture, 30);
    see_newest(fixture);
    sql(writer, "BEGIN");
    sql(writer, "INSERT INTO outbox (topic, key) VALUES ('late', 'k')");
    insert_rows(fixture, BATCH);
    for (int i = 0; i < 3; i++)
        send_batch(fixture);
    sql(writer, "COMMIT");
    claim_count(fixture, 3);
    assert_text(fixture->batch.messages[0].topic, "late");
    PQfinish(writer);
}

static void a_claim_asks_for_the_newest_when_slices_have_more(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, BATCH - 1);
    send_batch(fixture);
    assert_int_equal(fixture->outbox->bounds.newest_ms, 0);
    insert_rows(fixture, BATCH);
    send_batch(fixture);
    assert_true(fixture->outbox->bounds.newest_ms > 0);
    assert_true(fixture->outbox->bounds.newest_ms < clock_now_ms() + 1000);
}

/* Of the lane's session. */
static void break_newest(struct lane_fixture *fixture)
{
    PGconn *conn = fixture->outbox->session.conn;

    assert_int_equal(PQexitPipelineMode(conn), 1);
    sql(conn, "DEALLOCATE newest_of_slices");
    assert_int_equal(PQenterPipelineMode(conn), 1);
}

static void when_the_newest_cannot_be_told_it_is_not_asked_for_again_at_once(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 20);
    break_newest(fixture);
    assert_int_equal(claim(fixture), -1);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    break_newest(fixture);
    claim_count(fixture, BATCH);
}

static void a_lane_learns_how_far_another_has_come(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 50);
    see_newest(fixture);
    send_batch(fixture);
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
    send_by_other(fixture);
    assert_int_equal(bound_of(other.outbox), 31);
    assert_text(other.batch.messages[0].id, "31");
}

static void a_lane_that_connects_learns_only_what_is_asked_for_from_then_on(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 60);
    see_newest(fixture);
    send_batch(fixture);
    claim_count(fixture, BATCH);
    pipeline_close(other.outbox);
    assert_int_equal(outbox_ready(other.outbox, &fixture->error), 0);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, false);
    assert_int_equal(bound_of(fixture->outbox), 41);
    send_by_other(fixture);
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
    send_batch(fixture);
    send_by_other(fixture);
    assert_int_equal(bound_of(other.outbox), 61);
}

/* As behind a crash that lost what was committed. */
static void
what_was_asked_for_before_a_lane_connected_is_not_told_behind_a_claim_ahead(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 60);
    see_newest(fixture);
    claim_count(fixture, BATCH);
    pipeline_close(other.outbox);
    assert_int_equal(outbox_ready(other.outbox, &fixture->error), 0);
    decide_all(&fixture->batch, OUTCOME_SENT);
    settle(fixture, true);
    assert_int_equal(bound_of(fixture->outbox), 31);
    outbox_abandon(fixture->outbox);
    claim_some(other.outbox, &other.batch, &fixture->error);
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
}

static void without_slices_lanes_tell_each_other_no_bound(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_rows(fixture, 3 * BATCH);
    send_batch(fixture);
    let_time_pass(fixture->outbox);
    send_batch(fixture);
    send_batch(fixture);
    assert_true(bound_of(fixture->outbox) > BOUNDS_UNKNOWN);
    assert_int_equal(fixture->outbox->sight.shared_epoch, 0);
    send_by_other(fixture);
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
}

static void a_lane_whose_sink_is_away_neither_tells_nor_learns(void **state)
{
    struct lane_fixture *fixture = *state;
    const struct claim away = {.payload_max = PAYLOAD_MAX, .away = 1};

    insert_backlog(fixture, 60);
    see_newest(fixture);
    send_batch(fixture);
    assert_int_equal(outbox_claim(other.outbox, &other.batch, &away, &fixture->error), 0);
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
    assert_int_equal(other.outbox->sight.shared_epoch, 0);
    outbox_abandon(other.outbox);
    send_by_other(fixture);
    assert_int_equal(bound_of(other.outbox), 31);
}

static void a_row_below_a_bound_ends_what_lanes_tell_each_other_for_a_while(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 60);
    see_newest(fixture);
    send_batch(fixture);
    send_by_other(fixture);
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                       " VALUES (-5, 't', 'x1')");
    other.outbox->bounds.sweep_ms = 0;
    send_by_other(fixture);
    assert_text(other.batch.messages[0].id, "-5");
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
    send_batch(fixture);
    other.outbox->bounds.sweep_ms = INT64_MAX;
    send_by_other(fixture);
    assert_true(bound_of(other.outbox) == BOUNDS_UNKNOWN);
}

static void look_for_what_is_left(struct lane_fixture *fixture)
{
    bool due = false;
    int parked = 0;

    assert_int_equal(outbox_leftover(fixture->outbox, &due, &parked, &fixture->error), 0);
    assert_true(due);
}

static void a_drain_that_finds_rows_left_relies_on_no_lane_s_bound(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 60);
    see_newest(fixture);
    send_batch(fixture);
    send_by_other(fixture);
    sql(fixture->conn, "INSERT INTO outbox (id, topic, key) OVERRIDING SYSTEM VALUE"
                       " SELECT i, 't', 'x1' FROM generate_series(-15, -1) i");
    look_for_what_is_left(fixture);
    send_by_other(fixture); /* it knows no better, and tells */
    send_batch(fixture);
    assert_text(fixture->batch.messages[0].id, "-15");
    send_batch(fixture);
    assert_text(fixture->batch.messages[0].id, "-5");
}

static void a_drain_that_only_looked_again_learns_as_before(void **state)
{
    struct lane_fixture *fixture = *state;

    insert_backlog(fixture, 60);
    see_newest(fixture);
    send_batch(fixture);
    send_by_other(fixture);
    look_for_what_is_left(fixture);
    send_batch(fixture);
    assert_int_equal(fixture->outbox->sight.shared_epoch, 0);
    send_batch(fixture);
    assert_int_not_equal(fixture->outbox->sight.shared_epoch, 0);
    assert_true(bound_of(fixture->outbox) > BOUNDS_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_mark, tear_down_lanes)
#define TEST_DELETE(name) cmocka_unit_test_setup_teardown(name, set_up_deleting, tear_down_lanes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_a_backlog_a_bound_passes_at_once_what_is_settled),
        TEST_DELETE(in_a_backlog_a_bound_passes_at_once_what_is_settled),
        TEST(with_a_claim_ahead_a_bound_passes_all_but_the_rows_in_hand),
        TEST_DELETE(with_a_claim_ahead_a_bound_passes_all_but_the_rows_in_hand),
        cmocka_unit_test_setup_teardown(of_a_full_claim_each_slice_passes_what_it_gave,
                                        set_up_slices, tear_down_lanes),
        TEST(a_batch_that_leaves_a_row_lets_no_bound_pass),
        TEST(no_bound_passes_a_row_of_the_backlog_that_is_not_committed_yet),
        TEST_DELETE(no_bound_passes_a_row_of_the_backlog_that_is_not_committed_yet),
        TEST(who_draws_an_id_behind_the_newest_that_was_seen_is_waited_for),
        TEST(a_few_rows_far_above_the_others_end_nobody_s_wait),
        TEST(a_claim_asks_for_the_newest_when_slices_have_more),
        TEST(when_the_newest_cannot_be_told_it_is_not_asked_for_again_at_once),
        TEST(a_lane_learns_how_far_another_has_come),
        TEST(a_lane_that_connects_learns_only_what_is_asked_for_from_then_on),
        TEST(what_was_asked_for_before_a_lane_connected_is_not_told_behind_a_claim_ahead),
        TEST(a_lane_whose_sink_is_away_neither_tells_nor_learns),
        cmocka_unit_test_setup_teardown(without_slices_lanes_tell_each_other_no_bound, set_up_none,
                                        tear_down_lanes),
        TEST(a_row_below_a_bound_ends_what_lanes_tell_each_other_for_a_while),
        TEST(a_drain_that_finds_rows_left_relies_on_no_lane_s_bound),
        TEST(a_drain_that_only_looked_again_learns_as_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
