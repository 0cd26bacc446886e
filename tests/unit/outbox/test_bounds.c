#include "outbox/bounds.h"

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

/* Slices 1 and 3 are behind 0 and 2, and have more rows. */
static void stagger(void)
{
    bounds.sweep_ms = INT64_MAX;
    for (int i = 0; i < SLICES; i++) {
        bounds.sure[i] = true;
        bounds_claimed(&bounds, i, i % 2 == 0 ? 2000 : 1000);
    }
}

/* A lane that takes one slice, the first that is looked at, and gets to `last` in it. */
static int take_one(int64_t last)
{
    bounds_look(&bounds, now_ms);
    bounds.chosen_count = 1;
    bounds.chosen[0] = bounds.look[0];
    bounds_looked(&bounds, 1, now_ms);
    bounds_claimed(&bounds, bounds.look[0], last);
    return bounds.look[0];
}

/* Each takes one slice. */
#define LOOKS_IN_TURN (3 * SLICES)

static void now_and_then_slices_ahead_of_the_others_come_last(void **state)
{
    static const int32_t late_first[] = {1, 3, 0, 2};

    (void)state;
    stagger();
    for (int i = 0; i < LOOKS_IN_TURN; i++)
        assert_int_equal(take_one(i % 2 == 0 ? 2000 : 1000), i % SLICES);
    bounds_look(&bounds, now_ms);
    assert_memory_equal(bounds.look, late_first, sizeof late_first);
    assert_int_equal(take_one(1501), 1);
    assert_int_equal(take_one(1501), 3);
    assert_int_equal(take_one(2001), 1);
    assert_int_equal(take_one(2001), 3);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(take_one(2000), i);
}

static void a_slice_that_stays_behind_takes_no_other_slice_its_turn(void **state)
{
    int turns[SLICES] = {0};

    (void)state;
    stagger();
    for (int i = 0; i < 5 * (LOOKS_IN_TURN + SLICES); i++) {
        bounds.slices[1].last = 1;
        turns[take_one(2000)]++;
    }
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(turns[i], i == 1 ? 35 : 15);
}

/* Of four that are chosen the claim is full with the first. */
static void the_slices_ahead_of_the_others_have_their_turns_too_when_claims_are_cut(void **state)
{
    int turns[SLICES] = {0};

    (void)state;
    stagger();
    bounds.width = SLICES;
    for (int i = 0; i < 5 * (LOOKS_IN_TURN + SLICES); i++) {
        int slice;

        bounds_look(&bounds, now_ms);
        slice = bounds.look[0];
        memcpy(bounds.chosen, bounds.look, sizeof bounds.look[0] * SLICES);
        bounds.chosen_count = SLICES;
        bounds_looked(&bounds, 1, now_ms);
        bounds_claimed(&bounds, slice, slice % 2 == 0 ? 2000 : 1000);
        bounds_cut(&bounds, slice);
        turns[slice]++;
    }
    assert_int_equal(turns[0], 15);
    assert_int_equal(turns[2], 15);
}

static void where_no_slice_has_more_for_sure_none_is_behind(void **state)
{
    (void)state;
    stagger();
    bounds_doubt(&bounds);
    bounds.looks = LOOKS_IN_TURN;
    for (int i = 0; i < 2 * SLICES; i++)
        assert_int_equal(take_one(i % 2 == 0 ? 2000 : 1000), i % SLICES);
}

static void while_a_locked_slice_is_searched_for_none_is_behind(void **state)
{
    (void)state;
    stagger();
    bounds.looks = LOOKS_IN_TURN;
    bounds.narrow = SLICES;
    bounds_look(&bounds, now_ms);
    for (int slice = 0; slice < SLICES; slice++)
        assert_int_equal(bounds.look[slice], slice);
}

static void a_slice_that_is_behind_and_gives_no_rows_is_not_chosen_again_at_once(void **state)
{
    static const int32_t behind[] = {1};

    (void)state;
    stagger();
    bounds.looks = LOOKS_IN_TURN;
    look(1, behind, 1); /* and the claim fails */
    bounds_look(&bounds, now_ms);
    assert_true(bounds.late);
    assert_int_equal(bounds.look[0], 3);
}

static void of_what_was_forgotten_no_slice_is_ahead(void **state)
{
    static const int32_t late_first[] = {1, 3, 0, 2};

    (void)state;
    stagger();
    bounds_forget(&bounds);
    for (int i = 0; i < SLICES; i++)
        bounds.sure[i] = true;
    bounds_claimed(&bounds, 0, 10);
    bounds_claimed(&bounds, 2, 10);
    bounds_claimed(&bounds, 3, 9);
    bounds.looks = LOOKS_IN_TURN;
    bounds_look(&bounds, now_ms);
    assert_memory_equal(bounds.look, late_first, sizeof late_first);
}

static void a_sweep_looks_at_each_slice_once_and_then_rests(void **state)
{
    (void)state;
    bounds.sweep_width = 3;
    look(0, NULL, 50);
    assert_int_equal(bounds.sweep_left, 1);
    look(0, NULL, 50);
    assert_int_equal(bounds.sweep_left, 0);
    assert_int_equal(bounds.sweep_ms, now_ms + 40 * 100);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.unbounded, 0);
    now_ms += 4000;
    bounds_look(&bounds, now_ms);
    assert_true(bounds.unbounded > 0);
}

static void the_claims_behind_the_looks_of_a_sweep_are_part_of_it(void **state)
{
    (void)state;
    bounds.sweep_width = 3;
    look(0, NULL, 50);
    bounds_walked(&bounds, 30, now_ms);
    look(0, NULL, 50);
    assert_int_equal(bounds.sweep_ms, now_ms + 40 * 130);
    bounds_walked(&bounds, 20, now_ms);
    assert_int_equal(bounds.sweep_ms, now_ms + 40 * 150);
    look(0, NULL, 50);
    bounds_walked(&bounds, 40, now_ms); /* its look swept nothing */
    assert_int_equal(bounds.sweep_ms, now_ms - 50 + 40 * 150);
    now_ms = bounds.sweep_ms; /* the next sweep begins at nothing */
    look(0, NULL, 50);
    bounds_walked(&bounds, 50, now_ms);
    assert_int_equal(bounds.sweep_ms, now_ms + 40 * 100);
}

static void a_sweep_goes_on_behind_a_claim_that_was_full_and_counts_it_too(void **state)
{
    static const int taken[] = {0, 1, 2, 3};

    (void)state;
    look(SLICES, taken, 50);
    bounds_walked(&bounds, 30, now_ms);
    bounds_cut(&bounds, 1);
    assert_int_equal(bounds.sweep_left, 2);
    look(0, NULL, 50);
    assert_int_equal(bounds.sweep_ms, now_ms + 40 * 130);
}

static void a_wait_or_a_sleep_does_not_put_off_the_sweeps_for_long(void **state)
{
    (void)state;
    look(0, NULL, 60000);
    bounds_walked(&bounds, 60000, now_ms);
    assert_int_equal(bounds.sweep_ms, now_ms + 40 * 2000);
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

static void bounds_that_were_asked_for_are_swept_later_slice_by_slice(void **state)
{
    const int64_t firsts[SLICES] = {10, 20, 30, 40};

    (void)state;
    bounds_raise(&bounds, firsts, 100, now_ms);
    bounds_look(&bounds, now_ms);
    assert_int_equal(bounds.unbounded, 0);
    for (int i = 0; i < SLICES; i++)
        assert_int_equal(bounds.firsts[i], firsts[bounds.look[i]]);
    bounds_look(&bounds, now_ms + 4000);
    assert_int_equal(bounds.unbounded, 1);
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
        TEST(the_slices_take_turns),
        TEST(a_slice_that_was_taken_and_gave_no_row_is_the_first_of_the_next_look),
        TEST(now_and_then_slices_ahead_of_the_others_come_last),
        TEST(a_slice_that_stays_behind_takes_no_other_slice_its_turn),
        TEST(the_slices_ahead_of_the_others_have_their_turns_too_when_claims_are_cut),
        TEST(where_no_slice_has_more_for_sure_none_is_behind),
        TEST(while_a_locked_slice_is_searched_for_none_is_behind),
        TEST(a_slice_that_is_behind_and_gives_no_rows_is_not_chosen_again_at_once),
        TEST(of_what_was_forgotten_no_slice_is_ahead),
        TEST(a_sweep_looks_at_each_slice_once_and_then_rests),
        TEST(the_claims_behind_the_looks_of_a_sweep_are_part_of_it),
        TEST(a_sweep_goes_on_behind_a_claim_that_was_full_and_counts_it_too),
        TEST(a_wait_or_a_sleep_does_not_put_off_the_sweeps_for_long),
        TEST(a_claim_that_was_full_has_not_swept_what_stood_behind_it),
        TEST(a_claim_that_was_full_has_not_swept_the_slices_that_gave_it_nothing),
        TEST(a_full_claim_takes_fewer_slices_the_next_time),
        TEST(a_full_claim_of_many_slices_still_takes_a_few),
        TEST(a_lane_that_had_all_the_slices_there_were_leaves_half_of_them),
        TEST(a_slice_that_gave_its_share_has_more_until_a_claim_falls_short),
        TEST(bounds_that_were_asked_for_are_swept_later_slice_by_slice),
        TEST(lanes_that_share_know_of_slices_that_gave_to_another),
        TEST(a_slice_that_is_locked_is_left_alone_for_a_while),
        TEST(while_nobody_knows_which_slice_is_locked_each_is_taken_alone),
        TEST(a_slice_that_is_still_locked_is_known_among_others),
        TEST(a_slice_that_gave_rows_since_it_was_locked_is_no_suspect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
