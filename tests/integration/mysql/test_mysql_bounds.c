/* Where claims and scans begin to read: bounds that are void, and rows that stay in front. */
#include "integration/mysql/lane_fixture.h"

#include "mysql/admin.h"
#include "mysql/parked.h"

static struct db_session other; /* whose locks end with the test */

static int end_other_and_tear_down(void **state)
{
    db_end(&other);
    return tear_down(state);
}

FIXTURE(set_up, end_other_and_tear_down)

/* Sends what there is until the bound is behind these ids. */
static void raise_bound_to(struct lane_fixture *fixture, int64_t id)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (source_unsent_from(fixture->shared.source) < id) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("the bound stays at %lld",
                     (long long)source_unsent_from(fixture->shared.source));
        claim(fixture);
        if (fixture->batch.count > 0)
            send_all(fixture);
        (void)usleep(20000);
    }
}

static bool is_claimed_within(struct lane_fixture *fixture, int64_t ms)
{
    int64_t deadline_ms = clock_now_ms() + ms;

    do {
        claim(fixture);
        if (fixture->batch.count > 0)
            return true;
        (void)usleep(50000);
    } while (clock_left_ms(deadline_ms) > 0);
    return false;
}

static void await_void_bounds(struct lane_fixture *fixture)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (source_unsent_from(fixture->shared.source) > 0) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("the bound stays at %lld",
                     (long long)source_unsent_from(fixture->shared.source));
        (void)usleep(20000);
    }
}

TEST(bounds_are_void_where_locks_cannot_be_read_any_longer)
{
    struct lane_fixture *fixture = *state;
    bool claimed;

    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100");
    raise_bound_to(fixture, 100);
    sql(fixture, "UNINSTALL SONAME 'metadata_lock_info'");
    await_void_bounds(fixture);
    sql(fixture, "TRUNCATE TABLE outbox; INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
    claimed = is_claimed_within(fixture, 5000);
    sql(fixture, "INSTALL SONAME 'metadata_lock_info'");
    assert_true(claimed);
}

static uint64_t lowered(struct lane_fixture *fixture)
{
    struct horizon_view view;
    uint64_t count;

    assert_int_equal(horizon_view_init(&view, 64), 0);
    horizon_read(fixture->shared.source->horizon, &fixture->outbox->server.identity, &view);
    count = view.stamp.lowered_count;
    horizon_view_free(&view);
    return count;
}

static int64_t bound_of(struct lane_fixture *fixture, int slice)
{
    struct horizon_view view;
    int64_t bound;

    assert_int_equal(horizon_view_init(&view, 64), 0);
    horizon_read(fixture->shared.source->horizon, &fixture->outbox->server.identity, &view);
    bound = view.bounds[slice].low;
    horizon_view_free(&view);
    return bound;
}

static void claim_eight_slices(struct lane_fixture *fixture)
{
    fixture->outbox->choice.width = 8;
    claim_by(fixture, fixture->outbox, &fixture->batch,
             &(struct claim_request){.payload_max = PAYLOAD_MAX});
    if (fixture->batch.count > 0)
        send_all(fixture);
    (void)usleep(20000);
}

/* Slices 0 to 7 are locked, and the server refuses to delete a row of slice 9: their rows stay, and
 * are not late. The row of slice `slice` is. */
TEST(a_full_scan_finds_the_row_below_the_bound_of_its_slice_and_no_other)
{
    struct lane_fixture *fixture = *state;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    int slice;

    connect_to(&other, fixture->url);
    assert_true(db_execute(&other,
                           "START TRANSACTION; UPDATE outbox_slice SET slices = slices"
                           " WHERE slice < 8",
                           &fixture->error) >= 0);
    sql(fixture, "INSERT INTO outbox (id, topic, `key`) SELECT 2 * seq, 't', seq FROM numbers"
                 " WHERE seq <= 200;"
                 "CREATE TABLE uses (id BIGINT UNSIGNED NOT NULL,"
                 " FOREIGN KEY (id) REFERENCES outbox (id)) ENGINE=InnoDB;"
                 "INSERT INTO uses SELECT id FROM outbox WHERE CRC32(`key`) MOD 64 = 9 LIMIT 1");
    slice = (int)number_of(fixture, "SELECT MAX(CRC32(`key`) MOD 64) FROM outbox");
    while (bound_of(fixture, slice) <= 201) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("the bound of slice %d stays at %lld", slice,
                     (long long)bound_of(fixture, slice));
        claim_eight_slices(fixture);
    }
    assert_int_equal(lowered(fixture), 0);
    sql(fixture, "INSERT INTO outbox (id, topic, `key`) SELECT 201, 't', `key` FROM"
                 " (SELECT seq AS `key` FROM numbers WHERE seq <= 200) k"
                 " ORDER BY CRC32(`key`) MOD 64 DESC LIMIT 1");
    deadline_ms = clock_now_ms() + DEADLINE_MS;
    while (number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE id = 201") > 0) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("the row is not found");
        claim_eight_slices(fixture);
    }
    assert_int_equal(lowered(fixture), 1);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE CRC32(`key`) MOD 64 = 9"), 1);
    assert_true(number_of(fixture, "SELECT COUNT(*) FROM outbox") > 1);
}

TEST_WITH(parked_rows_are_claimed_beside_many_that_were_sent, set_up_mark, end_other_and_tear_down)
{
    struct lane_fixture *fixture = *state;
    int64_t began_ms;

    for (int i = 0; i < 20; i++)
        sql(fixture, "INSERT INTO outbox (topic, `key`, sent_at)"
                     " SELECT 't', a.seq, NOW() FROM numbers a, numbers b WHERE b.seq <= 10");
    sql(fixture, "INSERT INTO outbox (topic, `key`)"
                 " SELECT 't', seq + 10000 FROM numbers WHERE seq <= 40");
    claim(fixture);
    for (int i = 0; i < fixture->batch.count; i++) {
        fixture->batch.messages[i].outcome = OUTCOME_PARK;
        fixture->batch.messages[i].reason = "no";
    }
    settle(fixture);
    horizon_reset(fixture->shared.source->horizon, 2);
    began_ms = clock_now_ms();
    claim_parked(fixture);
    print_message("%d of %lld rows in %lld ms\n", fixture->batch.count,
                  number_of(fixture, "SELECT COUNT(*) FROM outbox"),
                  (long long)(clock_now_ms() - began_ms));
    assert_true(clock_now_ms() - began_ms < 1000);
}
