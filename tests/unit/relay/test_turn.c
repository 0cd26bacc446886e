#include "relay/turn.h"
#include "test.h"

static void the_outbox_and_parked_rows_take_turns(void **state)
{
    struct turns_of_lane turns = {0};

    (void)state;
    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_PARKED);
    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_OUTBOX);
    assert_int_equal(turn_begin(&turns, false, false, 1001), TURN_OUTBOX);
    assert_int_equal(turn_begin(&turns, false, false, 1900), TURN_PARKED);
    turn_more_parked(&turns, 1901);
    assert_int_equal(turn_begin(&turns, false, false, 1901), TURN_OUTBOX);
    assert_int_equal(turn_begin(&turns, false, false, 1901), TURN_PARKED);
}

static void a_claim_that_was_sent_ahead_is_of_the_outbox(void **state)
{
    struct turns_of_lane turns = {0};

    (void)state;
    assert_int_equal(turn_begin(&turns, true, true, 1000), TURN_OUTBOX);
    assert_true(turn_is_of_parked(&turns, 1000));
}

static void refused_rows_have_every_other_turn(void **state)
{
    static const enum turn expected[] = {TURN_REFUSED, TURN_PARKED,  TURN_REFUSED,
                                         TURN_OUTBOX,  TURN_REFUSED, TURN_OUTBOX};
    struct turns_of_lane turns = {0};

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(turn_begin(&turns, false, true, 1000), expected[i]);
}

static void
parked_rows_that_take_long_have_a_tenth_of_the_time_while_the_outbox_has_rows(void **state)
{
    struct turns_of_lane turns = {.parked_at_ms = 1000};

    (void)state;
    turn_note_parked(&turns, 199);
    assert_true(turn_is_of_parked(&turns, 1000));
    turn_note_parked(&turns, 1000);
    assert_false(turn_is_of_parked(&turns, 9999));
    assert_true(turn_is_of_parked(&turns, 10000));
    turns.outbox_empty = true;
    assert_true(turn_is_of_parked(&turns, 1000));
}

static void a_lane_waits_once_both_are_empty_and_then_looks_into_the_outbox(void **state)
{
    struct turns_of_lane turns = {0};

    (void)state;
    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_PARKED);
    assert_false(turn_end_empty(&turns, 1000));
    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_OUTBOX);
    assert_true(turn_end_empty(&turns, 1000));
    assert_int_equal(turn_begin(&turns, false, false, 5000), TURN_OUTBOX);
    assert_false(turn_end_empty(&turns, 5000)); /* parked rows are due */
    assert_int_equal(turn_begin(&turns, false, false, 5000), TURN_PARKED);
    assert_true(turn_end_empty(&turns, 5000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outbox_and_parked_rows_take_turns),
        cmocka_unit_test(a_claim_that_was_sent_ahead_is_of_the_outbox),
        cmocka_unit_test(refused_rows_have_every_other_turn),
        cmocka_unit_test(
            parked_rows_that_take_long_have_a_tenth_of_the_time_while_the_outbox_has_rows),
        cmocka_unit_test(a_lane_waits_once_both_are_empty_and_then_looks_into_the_outbox),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
