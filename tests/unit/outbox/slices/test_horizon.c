/*
 * How far bounds rise and when, epochs, and the rows of some sinks, as a transcript of ticks,
 * claims and scans. That no bound passes a row which is to come is shown by test_horizon_model.c.
 *
 * tick(DRAWN, "a b:7 c!"): DRAWN is the highest id drawn, and then a, b and c hold the table's
 * lock; b runs as xid 7, and c was prepared.
 */
#include "outbox/slices/horizon.h"

#include "base/clock.h"
#include "test.h"

#include <stdio.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICES 2
#define UNKNOWN HORIZON_UNKNOWN
#define END INT64_MAX
#define DEADLINE_MS 20000

static const struct server here = {.system = "7", .timeline = 1};

static struct horizon *horizon;
static struct horizon_view view;
static int64_t began_ms; /* of the clock; all else goes by now_ms */
static int64_t now_ms;
static uint32_t file;

static int set_up(void **state)
{
    (void)state;
    began_ms = clock_now_ms();
    now_ms = 1000000;
    file = 16384;
    horizon = horizon_open(SLICES);
    if (horizon == NULL || horizon_view_init(&view, SLICES) < 0)
        return -1;
    horizon_connected(horizon, &here);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    horizon_view_free(&view);
    horizon_close(horizon);
    return 0;
}

FIXTURE(set_up, tear_down)

static void look(void)
{
    horizon_read(horizon, &here, &view);
}

static void later(int64_t ms)
{
    now_ms += ms;
}

static int read_holders(const char *text, struct horizon_holder *holders)
{
    int count = 0;

    while (*text != '\0') {
        struct horizon_holder *holder = &holders[count++];

        *holder = (struct horizon_holder){.transaction = (uint64_t)*text++};
        if (*text == '!') {
            holder->prepared = true;
            text++;
        }
        if (*text == ':')
            holder->xid = strtoull(text + 1, (char **)&text, 10);
        text += strspn(text, " ");
    }
    return count;
}

/* Whether the horizon took it. The view, and so its stamp, is the one of before. */
static bool try_tick(int64_t drawn, const char *text)
{
    struct horizon_holder holders[HORIZON_LONG_MAX + 8];
    struct horizon_tick tick = {.drawn = drawn,
                                .file = file,
                                .holders = holders,
                                .holder_count = read_holders(text, holders),
                                .now_ms = now_ms};

    look();
    return horizon_tick(horizon, &tick, &view.stamp);
}

static void tick(int64_t drawn, const char *holders)
{
    assert_true(try_tick(drawn, holders));
    look();
}

static void assert_stable(int64_t low, int64_t high)
{
    look();
    assert_int_equal(view.stamp.stable_low, low);
    assert_int_equal(view.stamp.stable_high, high);
}

static void assert_bound(int slice, int64_t low, int64_t high)
{
    look();
    assert_int_equal(view.bounds[slice].low, low);
    assert_int_equal(view.bounds[slice].high, high);
}

/* A claim of slice 0 as a lane makes it: asked for now, settled later. */
struct claim {
    struct horizon_stamp stamp;
    struct horizon_bound from;
};

static struct claim ask(void)
{
    look();
    return (struct claim){view.stamp, view.bounds[0]};
}

static void settle(const struct claim *claim, int64_t last)
{
    horizon_advance(horizon, &claim->stamp, 0, &claim->from, last, false);
}

static void settle_from_high(const struct claim *claim, int64_t last)
{
    horizon_advance(horizon, &claim->stamp, 0, &claim->from, last, true);
}

static void claim(int64_t last)
{
    const struct claim asked = ask();

    settle(&asked, last);
}

static void claim_from_high(int64_t last)
{
    const struct claim asked = ask();

    settle_from_high(&asked, last);
}

/* Scans of slice 0. */
static void scan(int64_t lowest, bool from_high)
{
    look();
    assert_false(
        horizon_note_scan(horizon, &view.stamp, 0, &view.bounds[0], false, lowest, from_high));
}

static bool scan_fully(int64_t lowest)
{
    look();
    return horizon_note_scan(horizon, &view.stamp, 0, &view.bounds[0], true, lowest, false);
}

/* ---- which ids are stable ---- */

TEST(a_new_holder_keeps_the_ids_drawn_before_it_came_stable)
{
    tick(100, "");
    tick(200, "a");
    assert_stable(100, 100);
    tick(300, "a");
    assert_stable(100, 100);
    tick(400, "");
    assert_stable(400, 400);
}

/* Where no sequence can be read the highest id that was claimed stands for it. */
TEST(until_an_id_is_known_none_is_stable)
{
    bool worked;

    assert_int_equal(horizon_highest_claimed(horizon, &worked), UNKNOWN);
    assert_false(worked);
    tick(UNKNOWN, "");
    assert_stable(UNKNOWN, UNKNOWN);
    horizon_note_claimed(horizon, view.stamp.epoch, 70);
    horizon_note_claimed(horizon, view.stamp.epoch, 60);
    assert_int_equal(horizon_highest_claimed(horizon, &worked), 70);
    assert_true(worked);
    assert_int_equal(horizon_highest_claimed(horizon, &worked), 70);
    assert_false(worked);
    tick(70, "");
    assert_stable(70, 70);
}

/* ---- epochs ---- */

static bool epoch_is_told(void)
{
    struct pollfd told = {.fd = horizon_fd(horizon), .events = POLLIN};
    uint64_t count;

    return poll(&told, 1, 0) == 1 && read(told.fd, &count, sizeof count) == sizeof count;
}

static void assert_new_epoch(uint64_t before)
{
    look();
    assert_true(view.stamp.epoch > before);
    assert_true(view.starting);
    assert_true(epoch_is_told());
    assert_stable(UNKNOWN, UNKNOWN);
    for (int i = 0; i < SLICES; i++)
        assert_bound(i, UNKNOWN, UNKNOWN);
}

static uint64_t come_to_101(void)
{
    tick(100, "");
    claim(END);
    assert_bound(0, 101, 101);
    (void)epoch_is_told();
    return view.stamp.epoch;
}

TEST(a_lower_id_begins_a_new_epoch)
{
    uint64_t before;

    before = come_to_101();
    assert_false(try_tick(99, ""));
    assert_new_epoch(before);
    tick(99, "a"); /* its first tick, for which a was there before */
    assert_stable(UNKNOWN, UNKNOWN);
}

TEST(another_file_of_the_table_begins_a_new_epoch)
{
    uint64_t before;

    before = come_to_101();
    file++;
    assert_false(try_tick(101, ""));
    assert_new_epoch(before);
    tick(101, "");
    assert_int_equal(view.file, file);
}

TEST(a_session_that_connects_begins_a_new_epoch)
{
    uint64_t before;

    before = come_to_101();
    horizon_connected(horizon, &here);
    assert_new_epoch(before);
}

TEST(evidence_from_an_older_epoch_does_not_end_the_present_one)
{
    uint64_t before;

    before = come_to_101();
    horizon_reset(horizon, before);
    assert_new_epoch(before);
    tick(100, "");
    claim(END);
    horizon_reset(horizon, before);
    assert_bound(0, 101, 101);
}

TEST(a_claim_that_was_asked_for_in_an_older_epoch_raises_nothing)
{
    struct claim asked;

    tick(100, "");
    asked = ask();
    horizon_connected(horizon, &here);
    tick(100, "");
    settle(&asked, END);
    assert_bound(0, UNKNOWN, UNKNOWN);
}

TEST(another_server_s_session_knows_nothing)
{
    static const struct server others[] = {{.system = "8", .timeline = 1},
                                           {.system = "7", .timeline = 2}};

    come_to_101();
    for (int i = 0; i < 2; i++) {
        horizon_read(horizon, &others[i], &view);
        assert_int_equal(view.stamp.epoch, 0);
        assert_false(view.starting);
        assert_int_equal(view.stamp.stable_high, UNKNOWN);
        assert_int_equal(view.bounds[0].low, UNKNOWN);
        horizon_advance(horizon, &view.stamp, 1, &view.bounds[1], END, false);
    }
    assert_bound(1, UNKNOWN, UNKNOWN);
}

/* ---- the first scan ---- */

TEST(claims_wait_until_the_first_scan_is_done)
{
    look();
    assert_true(view.starting);
    horizon_note_first_scan(horizon, view.stamp.epoch, false);
    look();
    assert_true(view.starting);
    horizon_note_first_scan(horizon, view.stamp.epoch - 1, true);
    look();
    assert_true(view.starting);
    horizon_note_first_scan(horizon, view.stamp.epoch, true);
    look();
    assert_false(view.starting);
}

TEST(claims_wait_a_second_for_a_first_scan_that_does_not_begin)
{
    for (look(); view.starting; look()) {
        assert_true(clock_now_ms() < began_ms + DEADLINE_MS);
        (void)poll(NULL, 0, 5);
    }
    assert_true(clock_now_ms() >= began_ms + 900);
}

/* ---- bounds ---- */

TEST(a_claim_raises_its_slice_s_bound_behind_what_it_took)
{
    tick(100, "");
    claim(50);
    assert_bound(0, 51, 51);
    assert_bound(1, UNKNOWN, UNKNOWN);
    claim(40);
    assert_bound(0, 51, 51);
}

/* As a claim does that begins behind the rows of a sink that is away. */
TEST(a_claim_that_does_not_begin_at_the_bound_leaves_it_alone)
{
    struct claim asked;

    tick(100, "");
    claim(20);
    asked = ask();
    asked.from = (struct horizon_bound){50, 50};
    settle(&asked, END);
    settle_from_high(&asked, END);
    assert_false(horizon_note_scan(horizon, &asked.stamp, 0, &asked.from, false, END, false));
    assert_bound(0, 21, 21);
}

TEST(the_largest_id_is_a_bound_as_any_other)
{
    tick(INT64_MAX, "");
    claim(INT64_MAX);
    assert_bound(0, INT64_MAX, INT64_MAX);
}

TEST(a_scan_raises_a_bound_to_the_lowest_row)
{
    tick(100, "");
    scan(60, false);
    assert_bound(0, 60, 60);
    scan(50, false);
    assert_bound(0, 60, 60);
    scan(END, false);
    assert_bound(0, 101, 101);
}

TEST(a_full_scan_raises_a_bound_too)
{
    tick(100, "");
    assert_false(scan_fully(60));
    assert_bound(0, 60, 60);
    assert_false(scan_fully(60));
    assert_false(scan_fully(END));
    assert_bound(0, 101, 101);
}

/* During the scan a claim has taken the rows that the scan found, and those above. */
TEST(a_full_scan_lowers_no_bound_for_what_was_there_when_it_began)
{
    struct claim before;

    tick(100, "");
    scan(60, false);
    before = ask();
    claim(END);
    assert_false(horizon_note_scan(horizon, &before.stamp, 0, &before.from, true, 60, false));
    assert_bound(0, 101, 101);
}

/* A scan that was sent together with a tick, and ran after it. */
TEST(a_tick_brings_the_stamp_up_to_date)
{
    tick(100, "");
    assert_true(try_tick(200, ""));
    assert_int_equal(view.stamp.stable_low, 200);
    assert_false(horizon_note_scan(horizon, &view.stamp, 0, &view.bounds[0], false, END, false));
    assert_bound(0, 201, 201);
}

TEST(each_slice_remembers_whether_it_has_more_rows)
{
    horizon_has_more(horizon)[1] = true;
    assert_false(horizon_has_more(horizon)[0]);
    assert_true(horizon_has_more(horizon)[1]);
    assert_int_equal(horizon_slices(horizon), SLICES);
}

/* ---- long holders ---- */

static void assert_left_out(int count, uint64_t xid)
{
    look();
    assert_int_equal(view.holder_count, count);
    for (int i = 0; i < count; i++)
        if (view.holders[i] == xid)
            return;
    assert_int_equal(count, 0);
}

TEST(a_holder_with_an_xid_is_left_out_of_high_after_two_seconds)
{
    tick(100, "");
    tick(200, "a:7");
    later(1999);
    tick(300, "a:7");
    assert_stable(100, 100);
    assert_left_out(0, 7);
    later(1);
    tick(400, "a:7");
    assert_stable(100, 400);
    assert_left_out(1, 7);
}

TEST(a_holder_of_the_first_tick_is_left_out_after_a_quarter_of_a_second)
{
    tick(100, "a:7");
    later(249);
    tick(200, "a:7");
    assert_stable(UNKNOWN, UNKNOWN);
    later(1);
    tick(300, "a:7");
    assert_stable(UNKNOWN, 300);
    assert_left_out(1, 7);
}

/* '"' is the first, and their bases are 100. */
static void make_long(int count)
{
    char holders[1024] = "";

    for (int i = 0; i < count; i++) {
        char holder[16];

        (void)snprintf(holder, sizeof holder, "%s%c:%d", i > 0 ? " " : "", '"' + i, 1000 + i);
        (void)strncat(holders, holder, sizeof holders - strlen(holders) - 1);
    }
    tick(100, "");
    tick(200, holders);
    later(2000);
    tick(300, holders);
    tick(400, holders);
}

TEST(many_are_left_out)
{
    make_long(HORIZON_LONG_MAX);
    assert_left_out(HORIZON_LONG_MAX, 1000 + HORIZON_LONG_MAX - 1);
    assert_stable(100, 400);
}

TEST(more_than_are_left_out_hold_the_horizon)
{
    const char *two = "\":1000 b:1064"; /* the first and the last */

    make_long(HORIZON_LONG_MAX + 1);
    assert_left_out(HORIZON_LONG_MAX, 1000);
    assert_stable(100, 100);
    tick(500, two);
    tick(600, two);
    assert_left_out(2, 1000 + HORIZON_LONG_MAX);
    assert_stable(100, 600);
}

static void let_a_be_long(void)
{
    tick(100, "");
    claim(END);
    tick(200, "a:7");
    later(2000);
    tick(300, "a:7");
    assert_bound(0, 101, 101);
}

TEST(high_rises_as_if_a_long_holder_was_not_there_and_low_to_its_base)
{
    tick(100, "");
    tick(200, "a:7");
    later(2000);
    tick(300, "a:7");
    claim_from_high(50);
    assert_bound(0, 51, 51);
    claim_from_high(250);
    assert_bound(0, 101, 251);
    scan(280, true);
    assert_bound(0, 101, 280);
    claim_from_high(END);
    assert_bound(0, 101, 301);
}

/* A full scan has seen everything in any case, and so raises what is true for every snapshot. */
TEST(a_full_scan_of_before_a_long_holder_left_raises_low_alone)
{
    struct claim asked;

    let_a_be_long();
    asked = ask();
    tick(400, "");
    assert_false(horizon_note_scan(horizon, &asked.stamp, 0, &asked.from, true, END, true));
    assert_bound(0, 101, 101);
}

/* ---- the rows of some sinks ---- */

static struct horizon *part;

static int set_up_part(void **state)
{
    part = horizon_open(SLICES);
    return part != NULL ? set_up(state) : -1;
}

static int tear_down_part(void **state)
{
    horizon_close(part);
    return tear_down(state);
}

static void look_at_part(uint64_t sinks)
{
    horizon_read_while_away(part, horizon, sinks, &here, &view);
}

/* Apart from the rows of the sink that is away, which all claims then skip, the slice is empty. */
static void raise_part(int64_t last, bool from_high)
{
    look_at_part(1);
    horizon_advance(part, &view.stamp, 0, &view.bounds[0], last, from_high);
}

static void assert_part(uint64_t sinks, int64_t low, int64_t high)
{
    look_at_part(sinks);
    assert_int_equal(view.bounds[0].low, low);
    assert_int_equal(view.bounds[0].high, high);
}

TEST_WITH(a_part_has_bounds_of_its_own_and_the_stable_id_of_all, set_up_part, tear_down_part)
{
    tick(100, "");
    scan(10, false);
    assert_part(1, 10, 10);
    raise_part(END, false);
    assert_part(1, 101, 101);
    assert_bound(0, 10, 10);
    tick(200, "a");
    look_at_part(1);
    assert_int_equal(view.stamp.stable_low, 100);
}

TEST_WITH(a_part_takes_over_what_is_known_of_all, set_up_part, tear_down_part)
{
    tick(100, "");
    raise_part(50, false);
    assert_part(1, 51, 51);
    claim(END);
    assert_part(1, 101, 101);
}

TEST_WITH(a_part_forgets_when_the_sinks_differ, set_up_part, tear_down_part)
{
    tick(100, "");
    raise_part(END, false);
    assert_part(1, 101, 101);
    assert_part(2, UNKNOWN, UNKNOWN);
    assert_part(1, UNKNOWN, UNKNOWN);
}

TEST_WITH(a_part_forgets_when_an_epoch_begins, set_up_part, tear_down_part)
{
    struct horizon_stamp before;

    tick(100, "");
    raise_part(END, false);
    before = view.stamp;
    horizon_connected(horizon, &here);
    tick(100, "");
    assert_part(1, UNKNOWN, UNKNOWN);
    horizon_advance(part, &before, 0, &view.bounds[0], END, false);
    assert_part(1, UNKNOWN, UNKNOWN);
}

/* The row is below the part's bound, and no scan of the part looks there. */
TEST_WITH(a_part_forgets_when_a_bound_is_taken_back, set_up_part, tear_down_part)
{
    struct horizon_stamp before;

    tick(100, "");
    claim(END);
    raise_part(END, false);
    tick(200, "");
    raise_part(END, false);
    assert_part(1, 201, 201);
    before = view.stamp;
    assert_true(scan_fully(30));
    assert_part(1, 30, 30);
    horizon_advance(part, &before, 0, &view.bounds[0], END, false);
    assert_part(1, 30, 30);
}

TEST_WITH(a_part_s_high_falls_back_when_a_long_holder_leaves, set_up_part, tear_down_part)
{
    struct horizon_stamp before;

    let_a_be_long();
    raise_part(END, true);
    assert_part(1, 101, 301);
    before = view.stamp;
    tick(400, "");
    assert_part(1, 101, 101);
    horizon_advance(part, &before, 0, &view.bounds[0], END, true);
    assert_part(1, 101, 101);
}

TEST_WITH(a_part_knows_nothing_on_another_server, set_up_part, tear_down_part)
{
    static const struct server other = {.system = "8", .timeline = 1};

    tick(100, "");
    raise_part(END, false);
    horizon_read_while_away(part, horizon, 1, &other, &view);
    assert_int_equal(view.stamp.epoch, 0);
    assert_int_equal(view.bounds[0].low, UNKNOWN);
}
