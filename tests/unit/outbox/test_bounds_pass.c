#include "outbox/bounds_pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SLICES 4

static struct bounds bounds;
static int64_t now_ms;

static int setup(void **state)
{
    (void)state;
    now_ms = 1000;
    return bounds_init(&bounds, SLICES);
}

static int teardown(void **state)
{
    (void)state;
    bounds_free(&bounds);
    return 0;
}

static struct sight sight_of(int64_t xmin, int64_t xact)
{
    return (struct sight){.xmin = xmin, .xact = xact, .asked_ms = now_ms, .epoch = bounds.epoch};
}

/* As a lane does it, after a claim whose transaction has the number `xact`. */
static void settle(int slice, int64_t last, int64_t xmin, int64_t xact)
{
    struct sight sight = sight_of(xmin, xact);

    bounds_fence(&bounds, sight.xact, sight.asked_ms);
    bounds_settled(&bounds, slice, last, &sight, now_ms);
}

static void a_bound_passes_when_all_up_to_the_fence_have_ended(void **state)
{
    (void)state;
    settle(1, 100, 50, 60);
    now_ms += 300;
    settle(1, 150, 60, 70); /* 70 is the fence */
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
    settle(1, 200, 71, 80);
    assert_int_equal(bounds.slices[1].first, 101);
    assert_true(bounds.slices[0].first == BOUNDS_UNKNOWN);
}

static void an_open_writer_holds_the_bound_back(void **state)
{
    (void)state;
    settle(1, 100, 50, 60);
    now_ms += 300;
    settle(1, 150, 50, 70);
    settle(1, 200, 65, 80);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
    settle(1, 250, 71, 90);
    assert_int_equal(bounds.slices[1].first, 101);
}

static void a_transaction_that_is_numbered_after_it_drew_its_id_is_waited_for(void **state)
{
    (void)state;
    settle(1, 100, 60, 60); /* somebody has drawn 99, and gets number 65 a moment later */
    now_ms += 150;
    settle(1, 150, 64, 64); /* too early for a fence */
    now_ms += 150;
    settle(1, 200, 65, 70);
    settle(1, 250, 65, 80);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

/* Or the bound would be as old as two waits. */
static void several_ids_wait_for_their_fences_at_once(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 100;
    settle(1, 150, 70, 70);
    now_ms += 160;
    settle(1, 200, 80, 80); /* the fence of the first */
    settle(1, 250, 81, 90);
    assert_int_equal(bounds.slices[1].first, 101);
    now_ms += 100;
    settle(1, 300, 95, 100); /* and of the second, which waits no longer than itself */
    settle(1, 350, 101, 110);
    assert_int_equal(bounds.slices[1].first, 151);
}

static void a_claim_passes_of_several_ids_those_it_came_to(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 100;
    settle(1, 150, 60, 70);
    now_ms += 300;
    settle(1, 90, 60, 80); /* the fence of both */
    settle(1, 120, 90, 90);
    assert_int_equal(bounds.slices[1].first, 121);
    assert_int_equal(bounds.slices[1].trail.count, 1);
    settle(1, 150, 90, 100);
    assert_int_equal(bounds.slices[1].first, 151);
}

static void ids_that_wait_keep_a_distance_and_are_few(void **state)
{
    (void)state;
    for (int i = 0; i < 13; i++) {
        settle(1, 100 + i, 60, 60);
        assert_int_equal(bounds.slices[1].trail.count, i < 12 ? 1 + i / 4 : TRAIL_IDS_MAX);
        now_ms += 20;
    }
}

static void a_claim_that_ended_below_what_waits_moves_the_bound_to_its_end(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 300;
    settle(1, 40, 70, 70);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
    settle(1, 50, 80, 80);
    assert_int_equal(bounds.slices[1].first, 51);
    assert_int_equal(bounds.slices[1].trail.ids[0].id, 100);
}

static void what_was_claimed_before_all_was_forgotten_is_not_noted(void **state)
{
    struct sight before = sight_of(60, 60);

    (void)state;
    bounds_forget(&bounds);
    bounds_settled(&bounds, 1, 100, &before, now_ms);
    assert_int_equal(bounds.slices[1].trail.count, 0);
}

static void an_empty_slice_lets_its_bound_pass(void **state)
{
    struct sight later;

    (void)state;
    settle(2, 100, 60, 60);
    assert_false(bounds_lack_fence(&bounds, now_ms));
    now_ms += 300;
    assert_true(bounds_lack_fence(&bounds, now_ms));
    bounds_fence(&bounds, 70, now_ms);
    later = sight_of(70, 0);
    assert_int_equal(bounds_pending(&bounds, &later), 0);
    later = sight_of(71, 0);
    assert_int_equal(bounds_pending(&bounds, &later), 1);
    assert_int_equal(bounds.look[0], 2);
    bounds_empty(&bounds, 2, &later, now_ms);
    assert_int_equal(bounds.slices[2].first, 101);
    assert_int_equal(bounds_pending(&bounds, &later), 0);
}

static void an_empty_slice_lets_its_bound_pass_what_the_sight_covers(void **state)
{
    struct sight later;

    (void)state;
    settle(2, 100, 60, 60);
    now_ms += 100;
    settle(2, 150, 60, 60);
    now_ms += 160;
    bounds_fence(&bounds, 70, now_ms); /* of 100 alone */
    later = sight_of(75, 0);
    assert_int_equal(bounds_pending(&bounds, &later), 1);
    bounds_empty(&bounds, 2, &later, now_ms);
    assert_int_equal(bounds.slices[2].first, 101);
    now_ms += 100;
    assert_true(bounds_lack_fence(&bounds, now_ms));
    bounds_fence(&bounds, 80, now_ms);
    assert_int_equal(bounds_pending(&bounds, &later), 0);
    later = sight_of(81, 0);
    bounds_empty(&bounds, 2, &later, now_ms);
    assert_int_equal(bounds.slices[2].first, 151);
    settle(2, 200, 90, 0);
    now_ms += 100;
    settle(2, 260, 90, 0);
    now_ms += 300;
    bounds_fence(&bounds, 100, now_ms);
    later = sight_of(101, 0);
    bounds_empty(&bounds, 2, &later, now_ms); /* of several the highest */
    assert_int_equal(bounds.slices[2].first, 261);
}

static void what_waits_is_forgotten_with_the_bound(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    bounds_forget(&bounds);
    assert_int_equal(bounds.slices[1].trail.count, 0);
    settle(1, 100, 60, 60);
    bounds.slices[1].first = 50;
    assert_true(bounds_take_back(&bounds, 1, 7, now_ms));
    assert_int_equal(bounds.slices[1].trail.count, 0);
}

static void an_id_that_the_bound_has_just_passed_does_not_wait_again(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 300;
    settle(1, 90, 60, 70);
    settle(1, 100, 71, 80);
    assert_int_equal(bounds.slices[1].first, 101);
    assert_int_equal(bounds.slices[1].trail.count, 0);
}

static void what_was_settled_too_soon_to_wait_waits_when_its_slice_is_empty(void **state)
{
    struct sight later;

    (void)state;
    bounds_claimed(&bounds, 2, 100);
    settle(2, 100, 60, 60);
    bounds_claimed(&bounds, 2, 110);
    settle(2, 110, 60, 60); /* at once */
    now_ms += 300;
    bounds_fence(&bounds, 70, now_ms);
    later = sight_of(71, 0);
    bounds_empty(&bounds, 2, &later, now_ms);
    assert_int_equal(bounds.slices[2].first, 101);
    assert_int_equal(bounds.slices[2].trail.ids[0].id, 110);
    now_ms += 300;
    bounds_fence(&bounds, 80, now_ms);
    later = sight_of(81, 0);
    bounds_empty(&bounds, 2, &later, now_ms);
    assert_int_equal(bounds.slices[2].first, 111);
    assert_int_equal(bounds.slices[2].trail.count, 0);
}

static void the_largest_id_is_no_bound(void **state)
{
    (void)state;
    settle(1, INT64_MAX, 60, 60);
    assert_int_equal(bounds.slices[1].trail.count, 0);
}

static void a_row_below_the_bound_takes_it_back(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 300;
    settle(1, 150, 70, 70);
    settle(1, 200, 80, 80);
    assert_false(bounds_take_back(&bounds, 1, 101, now_ms));
    assert_int_equal(bounds.slices[1].first, 101);
    assert_true(bounds_take_back(&bounds, 1, 7, now_ms));
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void a_bound_is_not_taken_back_by_what_was_asked_for(void **state)
{
    const int64_t firsts[SLICES] = {10, 10, 10, 10};
    const int64_t lower[SLICES] = {5, 5, 5, 5};

    (void)state;
    settle(1, 8, 50, 60); /* it waits for its fence */
    bounds_raise(&bounds, firsts, 100, now_ms);
    bounds_raise(&bounds, lower, 100, now_ms);
    now_ms += 300;
    settle(1, 12, 60, 70);
    settle(1, 14, 71, 80);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(bounds.slices[i].first, 10);
}

/* Slice 1 had this newest id, and its fence is `fence`. */
static void draw(int64_t id, int64_t fence)
{
    bounds_newest(&bounds, 1, id, now_ms);
    now_ms += 300;
    bounds_fence(&bounds, fence, now_ms);
}

static void what_was_drawn_long_ago_is_passed_as_soon_as_it_is_settled(void **state)
{
    (void)state;
    draw(1000, 60);
    settle(1, 100, 61, 70);
    assert_int_equal(bounds.slices[1].first, 101);
    settle(1, 150, 62, 71);
    settle(2, 120, 63, 72);
    assert_int_equal(bounds.slices[1].first, 151);
    assert_true(bounds.slices[2].first == BOUNDS_UNKNOWN);
}

static void above_the_newest_id_that_there_was_a_bound_waits_as_ever(void **state)
{
    (void)state;
    draw(1000, 60);
    settle(1, 1100, 61, 70);
    assert_int_equal(bounds.slices[1].first, 1001);
    assert_int_equal(bounds.slices[1].trail.count, 1);
    assert_int_equal(bounds.slices[1].trail.ids[0].id, 1100);
}

static void an_open_writer_holds_back_what_was_drawn_too(void **state)
{
    (void)state;
    draw(1000, 60);
    settle(1, 100, 60, 70);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
    settle(1, 150, 61, 71);
    assert_int_equal(bounds.slices[1].first, 151);
}

static void who_has_just_drawn_a_lower_id_is_waited_for(void **state)
{
    (void)state;
    bounds_newest(&bounds, 1, 1000, now_ms); /* 99 was drawn before, and gets number 65 later */
    now_ms += 200;
    settle(1, 100, 64, 64);
    settle(1, 150, 70, 70);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void while_a_newer_id_waits_the_one_before_counts(void **state)
{
    (void)state;
    draw(1000, 60);
    bounds_newest(&bounds, 1, 2000, now_ms);
    settle(1, 1500, 71, 71);
    assert_int_equal(bounds.slices[1].first, 1001);
    now_ms += 300;
    bounds_fence(&bounds, 80, now_ms);
    settle(1, 1600, 81, 81);
    assert_int_equal(bounds.slices[1].first, 1601);
}

static void what_was_drawn_does_not_take_a_bound_back(void **state)
{
    (void)state;
    draw(1000, 60);
    bounds.slices[1].first = 500;
    settle(1, 100, 61, 70);
    assert_int_equal(bounds.slices[1].first, 500);
}

static void the_largest_id_is_no_newest(void **state)
{
    (void)state;
    draw(INT64_MAX, 60);
    assert_int_equal(bounds.slices[1].trail.count, 0);
}

static void where_a_slice_has_rows_for_sure_the_newest_ids_are_asked_for(void **state)
{
    (void)state;
    assert_false(bounds_ask_newest(&bounds, now_ms));
    bounds.sure[1] = true;
    bounds.slices[3].first = 7;
    assert_true(bounds_ask_newest(&bounds, now_ms));
    assert_int_equal(bounds.looked, SLICES);
    for (int i = 0; i < SLICES; i++) {
        assert_int_equal(bounds.look[i], i);
        assert_true(bounds.firsts[i] == (i == 3 ? 7 : BOUNDS_UNKNOWN));
    }
}

static void the_newest_ids_are_asked_for_now_and_then(void **state)
{
    (void)state;
    bounds.sure[1] = true;
    assert_true(bounds_ask_newest(&bounds, now_ms));
    assert_false(bounds_ask_newest(&bounds, now_ms + 599999)); /* there was no answer */
    bounds_forget(&bounds);
    bounds.sure[1] = true;
    assert_false(bounds_ask_newest(&bounds, now_ms + 599999)); /* and the connection ended */
    assert_true(bounds_ask_newest(&bounds, now_ms + 600000));
    bounds_told_newest(&bounds, 1, now_ms);
    assert_false(bounds_ask_newest(&bounds, now_ms + 299));
    assert_true(bounds_ask_newest(&bounds, now_ms + 300));
    bounds_told_newest(&bounds, 50, now_ms);
    assert_false(bounds_ask_newest(&bounds, now_ms + 999));
    assert_true(bounds_ask_newest(&bounds, now_ms + 1000));
}

static void behind_a_row_below_its_bound_the_newest_ids_are_not_asked_for_soon(void **state)
{
    (void)state;
    draw(1000, 60);
    settle(1, 100, 61, 70);
    bounds.sure[1] = true;
    assert_true(bounds_take_back(&bounds, 1, 7, now_ms));
    settle(1, 100, 71, 71);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
    assert_false(bounds_ask_newest(&bounds, now_ms + 599999));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_bound_passes_when_all_up_to_the_fence_have_ended),
        TEST(an_open_writer_holds_the_bound_back),
        TEST(a_transaction_that_is_numbered_after_it_drew_its_id_is_waited_for),
        TEST(several_ids_wait_for_their_fences_at_once),
        TEST(a_claim_passes_of_several_ids_those_it_came_to),
        TEST(ids_that_wait_keep_a_distance_and_are_few),
        TEST(a_claim_that_ended_below_what_waits_moves_the_bound_to_its_end),
        TEST(what_was_claimed_before_all_was_forgotten_is_not_noted),
        TEST(an_empty_slice_lets_its_bound_pass),
        TEST(an_empty_slice_lets_its_bound_pass_what_the_sight_covers),
        TEST(what_waits_is_forgotten_with_the_bound),
        TEST(an_id_that_the_bound_has_just_passed_does_not_wait_again),
        TEST(what_was_settled_too_soon_to_wait_waits_when_its_slice_is_empty),
        TEST(the_largest_id_is_no_bound),
        TEST(a_row_below_the_bound_takes_it_back),
        TEST(a_bound_is_not_taken_back_by_what_was_asked_for),
        TEST(what_was_drawn_long_ago_is_passed_as_soon_as_it_is_settled),
        TEST(an_open_writer_holds_back_what_was_drawn_too),
        TEST(who_has_just_drawn_a_lower_id_is_waited_for),
        TEST(while_a_newer_id_waits_the_one_before_counts),
        TEST(what_was_drawn_does_not_take_a_bound_back),
        TEST(the_largest_id_is_no_newest),
        TEST(above_the_newest_id_that_there_was_a_bound_waits_as_ever),
        TEST(where_a_slice_has_rows_for_sure_the_newest_ids_are_asked_for),
        TEST(the_newest_ids_are_asked_for_now_and_then),
        TEST(behind_a_row_below_its_bound_the_newest_ids_are_not_asked_for_soon),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
