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

TEST(bounds_are_void_where_locks_cannot_be_read_any_longer)
{
    struct lane_fixture *fixture = *state;
    bool claimed;

    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100");
    raise_bound_to(fixture, 100);
    sql(fixture, "UNINSTALL SONAME 'metadata_lock_info'");
    (void)usleep(2500000);
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

/* The one slice is locked, and the server refuses to delete the row of the other. */
TEST(a_full_scan_finds_nothing_late_in_slices_that_wait_or_in_a_row_with_a_note)
{
    struct lane_fixture *fixture = *state;
    int64_t until_ms = clock_now_ms() + 33000;

    connect_to(&other, fixture->url);
    assert_true(db_execute(&other,
                           "START TRANSACTION; UPDATE outbox_slice SET slices = slices"
                           " WHERE slice < 8",
                           &fixture->error) >= 0);
    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 200;"
                 "CREATE TABLE uses (id BIGINT UNSIGNED NOT NULL,"
                 " FOREIGN KEY (id) REFERENCES outbox (id)) ENGINE=InnoDB;"
                 "INSERT INTO uses SELECT id FROM outbox WHERE CRC32(`key`) MOD 64 = 9 LIMIT 1");
    while (clock_left_ms(until_ms) > 0) {
        fixture->outbox->choice.width = 8;
        claim_by(fixture, fixture->outbox, &fixture->batch,
                 &(struct claim_request){.payload_max = PAYLOAD_MAX});
        if (fixture->batch.count > 0)
            send_all(fixture);
        (void)usleep(20000);
    }
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE CRC32(`key`) MOD 64 = 9"), 1);
    assert_true(number_of(fixture, "SELECT COUNT(*) FROM outbox") > 1);
    assert_int_equal(lowered(fixture), 0);
}

TEST(a_full_scan_finds_a_row_below_the_bound_of_its_slice)
{
    struct lane_fixture *fixture = *state;
    int64_t until_ms = clock_now_ms() + 40000;

    sql(fixture,
        "INSERT INTO outbox (id, topic, `key`) SELECT seq + 10, 't', seq FROM numbers WHERE seq <= 100");
    raise_bound_to(fixture, 110);
    sql(fixture, "INSERT INTO outbox (id, topic, `key`) VALUES (5, 't', 'k'), (6, 't', 'l')");
    while (number_of(fixture, "SELECT COUNT(*) FROM outbox") > 0 && clock_left_ms(until_ms) > 0) {
        claim(fixture);
        if (fixture->batch.count > 0)
            send_all(fixture);
        (void)usleep(50000);
    }
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_true(lowered(fixture) > 0);
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
