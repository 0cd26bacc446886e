#include "outbox/trail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct trail trail;

static int setup(void **state)
{
    (void)state;
    trail = (struct trail){0};
    return 0;
}

static int64_t end(int64_t xmin, int64_t last)
{
    return trail_end(&trail, xmin, last);
}

static void an_id_wants_a_fence_after_250_ms_and_not_before(void **state)
{
    (void)state;
    trail_add(&trail, 100, 1000);
    assert_false(trail_lacks_fence(&trail, 1249));
    trail_fence(&trail, 60, 1249);
    assert_int_equal(trail.ids[0].fence, 0);
    assert_true(trail_lacks_fence(&trail, 1250));
    trail_fence(&trail, 70, 1250);
    assert_false(trail_lacks_fence(&trail, 1250));
    trail_fence(&trail, 80, 1350); /* it has one */
    assert_int_equal(trail.ids[0].fence, 70);
}

static void each_id_waits_for_a_fence_of_its_own(void **state)
{
    (void)state;
    trail_add(&trail, 100, 1000);
    trail_add(&trail, 150, 1070);
    trail_fence(&trail, 70, 1250);
    assert_true(end(1000, INT64_MAX) == 100);
    assert_false(trail_lacks_fence(&trail, 1319));
    assert_true(trail_lacks_fence(&trail, 1320));
    trail_fence(&trail, 80, 1320);
    assert_true(end(70, INT64_MAX) == TRAIL_NONE);
    assert_true(end(71, INT64_MAX) == 100);
    assert_true(end(80, INT64_MAX) == 100);
    assert_true(end(81, INT64_MAX) == 150);
}

static void the_end_is_no_further_than_the_claim_came(void **state)
{
    (void)state;
    trail_add(&trail, 100, 1000);
    trail_add(&trail, 150, 1070);
    trail_fence(&trail, 70, 2000);
    assert_true(end(71, 99) == 99);
    assert_true(end(71, 149) == 149);
    assert_true(end(71, 151) == 150);
}

static void an_id_that_is_no_higher_or_too_close_is_not_kept(void **state)
{
    (void)state;
    trail_add(&trail, 100, 1000);
    trail_add(&trail, 150, 1069);
    trail_add(&trail, 100, 2000);
    trail_add(&trail, 90, 2000);
    assert_int_equal(trail.count, 1);
    trail_add(&trail, 150, 1070);
    trail_add(&trail, 160, 1139);
    assert_int_equal(trail.count, 2);
}

/* A higher one in its place would have the time of a lower one. */
static void a_full_trail_stays_as_it_is(void **state)
{
    (void)state;
    for (int i = 0; i < TRAIL_IDS_MAX + 2; i++)
        trail_add(&trail, 100 + i, 1000 + 70 * i);
    assert_int_equal(trail.count, TRAIL_IDS_MAX);
    for (int i = 0; i < TRAIL_IDS_MAX; i++) {
        assert_int_equal(trail.ids[i].id, 100 + i);
        assert_int_equal(trail.ids[i].drawn_ms, 1000 + 70 * i);
    }
}

static void the_newest_id_takes_the_place_of_the_latest_where_there_is_none(void **state)
{
    (void)state;
    for (int i = 0; i < TRAIL_IDS_MAX; i++)
        trail_add(&trail, 100 + i, 1000 + 70 * i);
    trail_add_newest(&trail, 500, 2000);
    assert_int_equal(trail.count, TRAIL_IDS_MAX);
    assert_int_equal(trail.ids[TRAIL_IDS_MAX - 1].id, 500);
    assert_int_equal(trail.ids[TRAIL_IDS_MAX - 1].drawn_ms, 2000);
    trail_pass(&trail, 499);
    trail_add_newest(&trail, 600, 2069); /* too close */
    assert_int_equal(trail.count, 1);
    assert_int_equal(trail.ids[0].id, 600);
    trail_add_newest(&trail, 700, 2139);
    assert_int_equal(trail.count, 2);
}

static void a_newest_id_that_waits_goes_on_waiting(void **state)
{
    (void)state;
    trail_add_newest(&trail, 500, 1000);
    trail_add_newest(&trail, 500, 1069); /* too close to itself */
    trail_add_newest(&trail, 500, 1300);
    trail_fence(&trail, 70, 1250);
    assert_int_equal(trail.count, 1);
    assert_true(end(71, INT64_MAX) == 500);
}

static void a_newest_id_that_is_lower_than_before_begins_anew(void **state)
{
    (void)state;
    trail_add(&trail, 100, 1000);
    trail_add(&trail, 500, 1070);
    trail_fence(&trail, 70, 1400);
    trail_add_newest(&trail, 90, 1500);
    assert_int_equal(trail.count, 1);
    assert_true(end(1000, INT64_MAX) == TRAIL_NONE);
}

/* Or a bound would be as old as two waits. */
static void the_ids_of_a_full_trail_cover_the_whole_wait(void **state)
{
    (void)state;
    for (int64_t ms = 0; ms < 250; ms += 10)
        trail_add(&trail, 100 + ms, 1000 + ms);
    assert_int_equal(trail.count, TRAIL_IDS_MAX);
    assert_int_equal(trail.ids[TRAIL_IDS_MAX - 1].drawn_ms, 1210);
}

static void what_was_passed_makes_room_and_the_rest_waits_on(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        trail_add(&trail, 100 + i, 1000 + 70 * i);
    trail_fence(&trail, 70, 1250);
    trail_pass(&trail, 101);
    assert_int_equal(trail.count, 1);
    assert_int_equal(trail.ids[0].id, 102);
    assert_int_equal(trail.ids[0].fence, 0);
    trail_add(&trail, 103, 1210);
    assert_int_equal(trail.ids[1].id, 103);
    assert_int_equal(trail.ids[1].fence, 0); /* not that of the one whose place it took */
    trail_pass(&trail, 103);
    assert_int_equal(trail.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_id_wants_a_fence_after_250_ms_and_not_before, setup),
        cmocka_unit_test_setup(each_id_waits_for_a_fence_of_its_own, setup),
        cmocka_unit_test_setup(the_end_is_no_further_than_the_claim_came, setup),
        cmocka_unit_test_setup(an_id_that_is_no_higher_or_too_close_is_not_kept, setup),
        cmocka_unit_test_setup(a_full_trail_stays_as_it_is, setup),
        cmocka_unit_test_setup(the_newest_id_takes_the_place_of_the_latest_where_there_is_none,
                               setup),
        cmocka_unit_test_setup(a_newest_id_that_waits_goes_on_waiting, setup),
        cmocka_unit_test_setup(a_newest_id_that_is_lower_than_before_begins_anew, setup),
        cmocka_unit_test_setup(the_ids_of_a_full_trail_cover_the_whole_wait, setup),
        cmocka_unit_test_setup(what_was_passed_makes_room_and_the_rest_waits_on, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
