#include "outbox/bounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

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

/* One look that takes these slices, in the time given. */
static void look(int count, const int *slices, int64_t took_ms)
{
    bounds_look(&bounds, now_ms);
    bounds.chosen_count = count;
    for (int i = 0; i < count; i++)
        bounds.chosen[i] = slices[i];
    now_ms += took_ms;
    bounds_looked(&bounds, took_ms, now_ms);
}

static void at_first_every_slice_is_looked_at_without_a_bound(void **state)
{
    (void)state;
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.looked, SLICES);
    for (int i = 0; i < SLICES; i++)
        assert_true(bounds.firsts[i] == BOUNDS_UNKNOWN);
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

static void a_claim_that_ended_below_what_was_seen_does_not_move_the_bound(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 300;
    settle(1, 40, 70, 70);
    settle(1, 50, 80, 80);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void what_was_claimed_before_all_was_forgotten_is_not_noted(void **state)
{
    struct sight before = sight_of(60, 60);

    (void)state;
    bounds_forget(&bounds);
    bounds_settled(&bounds, 1, 100, &before, now_ms);
    assert_true(bounds.slices[1].seen == BOUNDS_UNKNOWN);
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
    bounds_empty(&bounds, 2);
    assert_int_equal(bounds.slices[2].first, 101);
    assert_int_equal(bounds_pending(&bounds, &later), 0);
}

static void the_largest_id_is_no_bound(void **state)
{
    (void)state;
    settle(1, INT64_MAX, 60, 60);
    assert_true(bounds.slices[1].seen == BOUNDS_UNKNOWN);
}

static void a_row_below_the_bound_takes_it_back(void **state)
{
    (void)state;
    settle(1, 100, 60, 60);
    now_ms += 300;
    settle(1, 150, 70, 70);
    settle(1, 200, 80, 80);
    bounds_claimed(&bounds, 1, 101);
    assert_int_equal(bounds.slices[1].first, 101);
    bounds_claimed(&bounds, 1, 7);
    assert_true(bounds.slices[1].first == BOUNDS_UNKNOWN);
}

static void the_slices_take_turns(void **state)
{
    static const int first[] = {1};
    static const int second[] = {2};

    (void)state;
    bounds.sweep_ms = INT64_MAX;
    look(1, first, 1);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.look[0], 2);
    look(1, second, 1);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.look[0], 3);
}

static void a_slice_that_was_taken_and_gave_no_row_is_the_first_of_the_next_look(void **state)
{
    static const int taken[] = {1, 2};

    (void)state;
    bounds.sweep_ms = INT64_MAX;
    look(2, taken, 1);
    bounds_claimed(&bounds, 1, 7);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.look[0], 2);
}

static void a_sweep_looks_at_each_slice_once_and_then_rests(void **state)
{
    (void)state;
    bounds.sweep_width = 3;
    look(0, NULL, 50);
    assert_int_equal(bounds.sweep_left, 1);
    look(0, NULL, 50);
    assert_int_equal(bounds.sweep_left, 0);
    assert_int_equal(bounds.sweep_ms, now_ms + 20 * 100);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.unbounded, 0);
    now_ms += 2000;
    bounds_look(&bounds, now_ms);
    assert_true(bounds.unbounded > 0);
}

static void a_claim_that_was_full_has_not_swept_what_stood_behind_it(void **state)
{
    static const int taken[] = {0};

    (void)state;
    bounds.width = 1;
    look(1, taken, 1);
    assert_int_equal(bounds.sweep_left, SLICES - 1);
    assert_int_equal(bounds.sweep_next, 1);
}

static void a_claim_that_was_full_has_not_swept_the_slices_that_gave_it_nothing(void **state)
{
    static const int taken[] = {0, 1, 2, 3};

    (void)state;
    look(SLICES, taken, 1);
    assert_int_equal(bounds.sweep_left, 0);
    bounds_cut(&bounds, 1);
    assert_int_equal(bounds.sweep_left, 2);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.unbounded, 2);
    assert_int_equal(bounds.look[0], 2);
    assert_true(bounds.firsts[0] == BOUNDS_UNKNOWN);
    bounds_cut(&bounds, 2); /* of a look that has not come to its end nothing is taken back */
    assert_int_equal(bounds.sweep_left, 2);
}

static void a_full_claim_takes_fewer_slices_the_next_time(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        bounds_adapt(&bounds, 500, 500);
    assert_int_equal(bounds.width, 1);
    for (int i = 0; i < 10; i++)
        bounds_adapt(&bounds, 3, 500);
    assert_int_equal(bounds.width, BOUNDS_WIDTH_MAX);
}

static void a_full_claim_of_many_slices_still_takes_a_few(void **state)
{
    struct bounds many;

    (void)state;
    assert_int_equal(bounds_init(&many, 64), 0);
    assert_int_equal(many.width, 4);
    many.width = BOUNDS_WIDTH_MAX;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(bounds_share(&many), many.width == 4);
        many.chosen_count = many.width;
        bounds_adapt(&many, 500, 500);
    }
    assert_int_equal(many.width, 4);
    bounds_adapt(&many, 400, 500); /* one of them has given its last, and others have more */
    assert_int_equal(many.width, 4);
    many.width = 1; /* and of one slice alone that gave its last there are more, too */
    bounds_adapt(&many, 400, 500);
    bounds_adapt(&many, 400, 500);
    bounds_adapt(&many, 400, 500);
    assert_int_equal(many.width, 4);
    bounds_adapt(&many, 3, 500);
    assert_false(bounds_share(&many));
    bounds_free(&many);
}

static void a_lane_that_had_all_the_slices_there_were_leaves_half_of_them(void **state)
{
    struct bounds many;

    (void)state;
    assert_int_equal(bounds_init(&many, 64), 0);
    many.chosen_count = 2;
    bounds_adapt(&many, 500, 500);
    assert_int_equal(many.width, 1);
    for (int i = 0; i < 4; i++) { /* as long as it finds as many as it may take */
        many.chosen_count = many.width;
        bounds_adapt(&many, 500, 500);
    }
    assert_int_equal(many.width, 4);
    bounds_free(&many);
}

static void a_slice_that_gave_its_share_has_more_until_a_claim_falls_short(void **state)
{
    static const int taken[] = {1};

    (void)state;
    look(1, taken, 1);
    bounds_adapt(&bounds, 500, 500);
    assert_true(bounds.sure[1]);
    assert_false(bounds.sure[0]);
    bounds_doubt(&bounds);
    assert_false(bounds.sure[1]);
    bounds_adapt(&bounds, 500, 500);
    bounds_adapt(&bounds, 499, 500);
    assert_false(bounds.sure[1]);
}

static void lanes_that_share_know_of_slices_that_gave_to_another(void **state)
{
    static const int taken[] = {1};
    atomic_bool sure[SLICES] = {false};
    struct bounds other;

    (void)state;
    assert_int_equal(bounds_init(&other, SLICES), 0);
    bounds_use(&bounds, sure);
    bounds_use(&other, sure);
    look(1, taken, 1);
    bounds_adapt(&bounds, 500, 500);
    assert_true(other.sure[1]);
    bounds_use(&other, NULL);
    assert_false(other.sure[1]);
    bounds_doubt(&other);
    bounds_forget(&other);
    assert_true(bounds.sure[1]);
    bounds_use(&other, sure);
    bounds_doubt(&other);
    assert_false(bounds.sure[1]);
    bounds_free(&other);
}

static void a_slice_that_is_locked_is_left_alone_for_a_while(void **state)
{
    static const int taken[] = {2};

    (void)state;
    bounds.sweep_ms = INT64_MAX;
    look(1, taken, 1);
    bounds_avoid(&bounds, now_ms + 500);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.looked, SLICES - 1);
    bounds.sweep_ms = 0; /* by a sweep too */
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.looked, SLICES - 1);
    bounds_look(&bounds, now_ms + 500);
    assert_int_equal(bounds.looked, SLICES);
}

static void while_nobody_knows_which_slice_is_locked_each_is_taken_alone(void **state)
{
    static const int taken[] = {1, 2};

    (void)state;
    look(2, taken, 1);
    bounds_avoid(&bounds, now_ms + 500);
    for (int claim = 0; claim < SLICES; claim++) {
        assert_int_equal(bounds.width, 1);
        bounds_adapt(&bounds, claim % 2 == 0 ? 500 : 3, 500); /* also when it was full */
    }
    bounds_adapt(&bounds, 3, 500);
    assert_int_equal(bounds.width, 2);
}

static const int one_to_three[] = {1, 2, 3};

/* Slice 2 was locked, was left alone, and is chosen among others now. */
static void choose_the_locked_one_again(void)
{
    static const int locked[] = {2};

    look(1, locked, 1);
    bounds_avoid(&bounds, now_ms + 500);
    now_ms += 500;
    look(3, one_to_three, 1);
}

static void a_slice_that_is_still_locked_is_known_among_others(void **state)
{
    (void)state;
    choose_the_locked_one_again();
    bounds_avoid(&bounds, now_ms + 500);
    assert_int_equal(bounds.narrow, 0);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.looked, SLICES - 1);
    assert_true(bounds.slices[2].avoid_ms > now_ms);
}

static void a_slice_that_gave_rows_since_it_was_locked_is_no_suspect(void **state)
{
    (void)state;
    choose_the_locked_one_again();
    bounds_claimed(&bounds, 2, 7);
    look(3, one_to_three, 1);
    bounds_avoid(&bounds, now_ms + 500);
    assert_int_equal(bounds.narrow, SLICES);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.looked, SLICES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(at_first_every_slice_is_looked_at_without_a_bound),
        TEST(a_bound_passes_when_all_up_to_the_fence_have_ended),
        TEST(an_open_writer_holds_the_bound_back),
        TEST(a_transaction_that_is_numbered_after_it_drew_its_id_is_waited_for),
        TEST(a_claim_that_ended_below_what_was_seen_does_not_move_the_bound),
        TEST(what_was_claimed_before_all_was_forgotten_is_not_noted),
        TEST(an_empty_slice_lets_its_bound_pass),
        TEST(the_largest_id_is_no_bound),
        TEST(a_row_below_the_bound_takes_it_back),
        TEST(the_slices_take_turns),
        TEST(a_slice_that_was_taken_and_gave_no_row_is_the_first_of_the_next_look),
        TEST(a_sweep_looks_at_each_slice_once_and_then_rests),
        TEST(a_claim_that_was_full_has_not_swept_what_stood_behind_it),
        TEST(a_claim_that_was_full_has_not_swept_the_slices_that_gave_it_nothing),
        TEST(a_full_claim_takes_fewer_slices_the_next_time),
        TEST(a_full_claim_of_many_slices_still_takes_a_few),
        TEST(a_lane_that_had_all_the_slices_there_were_leaves_half_of_them),
        TEST(a_slice_that_gave_its_share_has_more_until_a_claim_falls_short),
        TEST(lanes_that_share_know_of_slices_that_gave_to_another),
        TEST(a_slice_that_is_locked_is_left_alone_for_a_while),
        TEST(while_nobody_knows_which_slice_is_locked_each_is_taken_alone),
        TEST(a_slice_that_is_still_locked_is_known_among_others),
        TEST(a_slice_that_gave_rows_since_it_was_locked_is_no_suspect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
