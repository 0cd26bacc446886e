#include "outbox/slices/choice.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#define SLICES 64
#define FLOOR 4 /* of 64 slices */
#define NOW_MS 1000000
#define POSTPONE_MS 10000
#define SUSPECT_MS 20000

static struct slice_choice choice;
static struct horizon_bound bounds[SLICES];

static void begin(int count)
{
    choice_free(&choice);
    assert_int_equal(choice_init(&choice, count), 0);
    for (int i = 0; i < count; i++)
        bounds[i] = (struct horizon_bound){100, 100};
}

static int set_up(void **state)
{
    (void)state;
    choice = (struct slice_choice){0};
    begin(SLICES);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    choice_free(&choice);
    return 0;
}

FIXTURE(set_up, tear_down)

/* The first of the candidates: "3 9 17". */
static const char *choose_at(int64_t now_ms, int count)
{
    static char text[SLICES * 4];
    size_t len = 0;

    choice_list_candidates(&choice, bounds, now_ms);
    text[0] = '\0';
    for (int i = 0; i < count && i < choice.candidate_count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", i > 0 ? " " : "",
                                (int)choice.candidates[i]);
    return text;
}

static const char *choose(int count)
{
    return choose_at(NOW_MS, count);
}

TEST(a_slice_that_was_chosen_is_the_only_candidate_of_the_next_claim)
{
    choice_postpone(&choice, &(int32_t){7}, 1, NOW_MS + POSTPONE_MS);
    choice.only = 7;
    assert_string_equal(choose(SLICES), "7");
    assert_int_equal(choice.candidate_count, 1);
    assert_string_equal(choose(3), "0 1 2");
}

static bool is_candidate(int slice, int64_t now_ms)
{
    choice_list_candidates(&choice, bounds, now_ms);
    for (int i = 0; i < choice.candidate_count; i++)
        if (choice.candidates[i] == slice)
            return true;
    return false;
}

static void claim(int32_t slice)
{
    choice_note_claimed(&choice, &slice, 1);
}

/* ---- which ---- */

TEST(the_slice_that_is_furthest_behind_comes_first)
{
    begin(4);
    bounds[0].high = 300;
    bounds[1].high = HORIZON_UNKNOWN;
    bounds[2].high = 200;
    bounds[3].high = -7;
    assert_string_equal(choose(4), "1 3 2 0");
    claim(1); /* it does not matter where the bounds differ */
    claim(3);
    assert_string_equal(choose(4), "1 3 2 0");
}

/* `low` may be held up by a long holder for hours, in all slices. */
TEST(the_high_bound_decides_which_slice_is_behind)
{
    begin(2);
    bounds[0] = (struct horizon_bound){10, 300};
    bounds[1] = (struct horizon_bound){20, 200};
    assert_string_equal(choose(2), "1 0");
}

TEST(of_equal_bounds_each_has_its_turn)
{
    int seen[8] = {0};

    begin(8);
    for (int i = 0; i < 80; i++) {
        int slice = (int)strtol(choose(1), NULL, 10);

        seen[slice]++;
        claim(slice);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(seen[i], 10);
}

/* ---- how many ---- */

/* A claim of the whole width. */
static void adapt(bool full, bool half)
{
    choice_adapt_width(&choice, choice.width, full, half);
}

TEST(a_claim_with_few_rows_doubles_the_width_up_to_all)
{
    for (int width = FLOOR; width < SLICES_PER_CLAIM_MAX; width *= 2) {
        assert_int_equal(choice.width, width);
        adapt(false, false);
    }
    assert_int_equal(choice.width, SLICES_PER_CLAIM_MAX);
    adapt(false, false);
    assert_int_equal(choice.width, SLICES_PER_CLAIM_MAX);
}

TEST(a_full_claim_halves_the_width_down_to_the_floor)
{
    choice.width = SLICES_PER_CLAIM_MAX;
    for (int width = SLICES_PER_CLAIM_MAX; width > FLOOR; width /= 2) {
        assert_int_equal(choice.width, width);
        adapt(true, true);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(choice.width, FLOOR);
        adapt(true, true);
    }
}

TEST(a_claim_that_is_half_full_keeps_the_floor_and_doubles_more)
{
    adapt(false, true);
    assert_int_equal(choice.width, FLOOR);
    adapt(false, false);
    adapt(false, true);
    assert_int_equal(choice.width, 4 * FLOOR);
}

/* Only so few slices had rows or were free, so the other lanes are to have some of them. */
TEST(a_full_claim_of_fewer_slices_than_it_wanted_leaves_half_of_them)
{
    choice_adapt_width(&choice, 2, true, true);
    assert_int_equal(choice.width, 1);
    adapt(true, true);
    assert_int_equal(choice.width, 2);
    adapt(true, true);
    assert_int_equal(choice.width, FLOOR);
    choice_adapt_width(&choice, 1, true, true);
    assert_int_equal(choice.width, 1);
}

/* ---- rows that somebody holds ---- */

static void avoid(const int32_t *slices, int count, int64_t now_ms)
{
    choice_postpone(&choice, slices, count, now_ms + POSTPONE_MS);
}

TEST(a_slice_that_was_claimed_alone_is_left_for_a_while)
{
    static const int32_t seven = 7;

    avoid(&seven, 1, NOW_MS);
    assert_int_equal(choice.width, 1);
    assert_false(is_candidate(7, NOW_MS));
    assert_false(is_candidate(7, NOW_MS + POSTPONE_MS - 1));
    assert_true(is_candidate(6, NOW_MS));
    assert_true(is_candidate(7, NOW_MS + POSTPONE_MS));
    adapt(false, false); /* it is known which, so the others go on */
    assert_int_equal(choice.width, 2);
}

TEST(of_several_slices_each_is_taken_alone_until_it_is_known_which)
{
    static const int32_t several[] = {3, 7, 9};
    static const int32_t seven = 7;

    begin(16);
    avoid(several, 3, NOW_MS);
    for (int i = 0; i < 3; i++)
        assert_true(is_candidate(several[i], NOW_MS));
    for (int i = 0; i < 16; i++) { /* none of these is it */
        assert_int_equal(choice.width, 1);
        adapt(i % 2 == 0, false);
    }
    assert_int_equal(choice.width, 1);
    adapt(false, false);
    assert_int_equal(choice.width, 2);
    avoid(&seven, 1, NOW_MS);
    assert_false(is_candidate(7, NOW_MS));
}

/* It was locked a while ago, and has given no row since. */
TEST(among_several_slices_the_one_that_was_locked_before_is_suspected)
{
    static const int32_t several[] = {3, 7, 9};
    static const int32_t seven = 7;
    int64_t later_ms = NOW_MS + POSTPONE_MS + 1;

    avoid(&seven, 1, NOW_MS);
    avoid(several, 3, later_ms);
    assert_false(is_candidate(7, later_ms));
    assert_true(is_candidate(3, later_ms));
    assert_true(is_candidate(9, later_ms));
    adapt(false, false);
    assert_int_equal(choice.width, 2);
}

TEST(a_lock_seen_long_ago_casts_no_suspicion)
{
    static const int32_t several[] = {3, 7, 9};
    static const int32_t seven = 7;
    int64_t later_ms = NOW_MS + SUSPECT_MS + 1;

    avoid(&seven, 1, NOW_MS);
    avoid(several, 3, later_ms);
    assert_true(is_candidate(7, later_ms));
    adapt(false, false);
    assert_int_equal(choice.width, 1);
}

TEST(of_two_slices_that_were_locked_before_neither_is_suspected)
{
    static const int32_t several[] = {3, 7, 9};
    int64_t later_ms = NOW_MS + POSTPONE_MS + 1;

    avoid(&several[0], 1, NOW_MS);
    avoid(&several[1], 1, NOW_MS);
    avoid(several, 3, later_ms);
    for (int i = 0; i < 3; i++)
        assert_true(is_candidate(several[i], later_ms));
}

TEST(a_slice_that_has_given_a_row_since_is_no_suspect)
{
    static const int32_t several[] = {3, 7, 9};
    static const int32_t seven = 7;
    int64_t later_ms = NOW_MS + POSTPONE_MS + 1;

    avoid(&seven, 1, NOW_MS);
    claim(7);
    assert_true(is_candidate(7, NOW_MS));
    avoid(several, 3, later_ms);
    assert_true(is_candidate(7, later_ms));
}
