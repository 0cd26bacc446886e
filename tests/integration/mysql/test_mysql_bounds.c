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

static bool is_claimed(struct lane_fixture *fixture)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

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

static void show_locks(struct lane_fixture *fixture, bool shown)
{
    if (fixture->db.is_mariadb)
        sql(fixture, shown ? "INSTALL SONAME 'metadata_lock_info'"
                           : "UNINSTALL SONAME 'metadata_lock_info'");
    else
        sql(fixture, shown ? "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES'"
                             " WHERE NAME = 'wait/lock/metadata/sql/mdl'"
                           : "UPDATE performance_schema.setup_instruments SET ENABLED = 'NO'"
                             " WHERE NAME = 'wait/lock/metadata/sql/mdl'");
}

TEST(bounds_are_void_where_locks_cannot_be_read_any_longer)
{
    struct lane_fixture *fixture = *state;
    bool claimed;

    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100");
    raise_bound_to(fixture, 100);
    show_locks(fixture, false);
    await_void_bounds(fixture);
    sql(fixture, "TRUNCATE TABLE outbox; INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
    claimed = is_claimed(fixture);
    show_locks(fixture, true);
    assert_true(claimed);
}

static void assert_sent_in_order(struct lane_fixture *fixture, int wanted)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    long long last = 0;

    for (int sent = 0; sent < wanted; sent += fixture->batch.count) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%d of %d rows", sent, wanted);
        claim(fixture);
        for (int i = 0; i < fixture->batch.count; i++) {
            long long id = strtoll(fixture->batch.messages[i].id.data, NULL, 10);

            if (id <= last)
                fail_msg("%lld after %lld", id, last);
            last = id;
        }
        if (fixture->batch.count > 0)
            send_all(fixture);
    }
}

#define MORE_ROWS "INSERT INTO outbox (topic, `key`) SELECT 't', 'k' FROM numbers WHERE seq <= 300"

/* Between two ticks the ids begin again and grow beyond the bound. */
static void assert_order_after(struct lane_fixture *fixture, const char *what, int rows)
{
    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100");
    raise_bound_to(fixture, 100);
    await_number(fixture,
                 "SELECT CREATE_TIME < NOW() FROM information_schema.TABLES"
                 " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox'",
                 1);
    end_watcher(fixture);
    sql(fixture, what);
    assert_sent_in_order(fixture, rows);
    begin_watcher(fixture);
}

TEST(rows_that_come_after_a_truncate_are_sent_in_order)
{
    assert_order_after(*state, "TRUNCATE TABLE outbox; " MORE_ROWS, 300);
}

TEST_WITH(so_are_they_where_sent_rows_are_marked, set_up_mark, end_other_and_tear_down)
{
    assert_order_after(*state, "TRUNCATE TABLE outbox; " MORE_ROWS, 300);
}

TEST(so_are_rows_of_another_slice_than_the_first_ones_in_the_table)
{
    assert_order_after(*state,
                       "TRUNCATE TABLE outbox; INSERT INTO outbox (topic, `key`)"
                       " SELECT 't', 'a' FROM numbers WHERE seq <= 40; " MORE_ROWS,
                       340);
}

TEST(rows_that_come_after_the_ids_were_set_back_are_sent_in_order)
{
    assert_order_after(
        *state, "DELETE FROM outbox; ALTER TABLE outbox AUTO_INCREMENT = 50; " MORE_ROWS, 300);
}

TEST(rows_of_a_table_that_took_the_place_of_the_outbox_are_sent_in_order)
{
    assert_order_after(*state,
                       "CREATE TABLE copy LIKE outbox; INSERT INTO copy (id, topic, `key`)"
                       " VALUES (30, 't', 'k'), (5000, 't', 'k');"
                       " RENAME TABLE outbox TO gone, copy TO outbox",
                       2);
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

TEST(bounds_rise_again_when_locks_can_be_read_again)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100");
    raise_bound_to(fixture, 100);
    show_locks(fixture, false);
    await_void_bounds(fixture);
    show_locks(fixture, true);
    raise_bound_to(fixture, 100);
}

/* Of the slices that are not locked. */
static int64_t least_bound(struct lane_fixture *fixture)
{
    struct horizon_view view;
    int64_t least = INT64_MAX;

    assert_int_equal(horizon_view_init(&view, 64), 0);
    horizon_read(fixture->shared.source->horizon, &fixture->outbox->server.identity, &view);
    for (int i = 8; i < 64; i++)
        least = view.bounds[i].low < least ? view.bounds[i].low : least;
    horizon_view_free(&view);
    return least;
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
 * are not late. The row 33 is, which no claim looks up. */
TEST(a_full_scan_finds_the_row_below_the_bound_of_its_slice_and_no_other)
{
    struct lane_fixture *fixture = *state;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

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
    while (least_bound(fixture) <= 400) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("the bound stays at %lld", (long long)least_bound(fixture));
        claim_eight_slices(fixture);
    }
    assert_int_equal(lowered(fixture), 0);
    sql(fixture, "INSERT INTO outbox (id, topic, `key`) SELECT 33, 't', `key` FROM"
                 " (SELECT seq AS `key` FROM numbers WHERE seq <= 200) k"
                 " ORDER BY CRC32(`key`) MOD 64 DESC LIMIT 1");
    deadline_ms = clock_now_ms() + DEADLINE_MS;
    while (number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE id = 33") > 0) {
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
    int64_t began_ms, took_ms;

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
    took_ms = clock_now_ms() - began_ms;
    print_message("%d of %lld rows in %lld ms\n", fixture->batch.count,
                  number_of(fixture, "SELECT COUNT(*) FROM outbox"), (long long)took_ms);
    assert_true(took_ms < 1000);
}
