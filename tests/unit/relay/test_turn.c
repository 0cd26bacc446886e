#include "relay/turn.h"
#include "test.h"

TEST(the_outbox_and_parked_rows_take_turns)
{
    struct turns_of_lane turns = {0};

    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_PARKED);
    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_OUTBOX);
    assert_int_equal(turn_begin(&turns, false, false, 1001), TURN_OUTBOX);
    assert_int_equal(turn_begin(&turns, false, false, 1900), TURN_PARKED);
    turn_more_parked(&turns, 1901);
    assert_int_equal(turn_begin(&turns, false, false, 1901), TURN_OUTBOX);
    assert_int_equal(turn_begin(&turns, false, false, 1901), TURN_PARKED);
}

TEST(a_claim_that_was_sent_ahead_is_of_the_outbox)
{
    struct turns_of_lane turns = {0};

    assert_int_equal(turn_begin(&turns, true, true, 1000), TURN_OUTBOX);
    assert_true(turn_is_of_parked(&turns, 1000));
}

TEST(refused_rows_have_every_other_turn)
{
    static const enum turn expected[] = {TURN_REFUSED, TURN_PARKED,  TURN_REFUSED,
                                         TURN_OUTBOX,  TURN_REFUSED, TURN_OUTBOX};
    struct turns_of_lane turns = {0};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(turn_begin(&turns, false, true, 1000), expected[i]);
}

TEST(parked_rows_that_take_long_have_a_tenth_of_the_time_while_the_outbox_has_rows)
{
    struct turns_of_lane turns = {.parked_at_ms = 1000};

    turn_note_parked(&turns, 199);
    assert_true(turn_is_of_parked(&turns, 1000));
    turn_note_parked(&turns, 1000);
    assert_false(turn_is_of_parked(&turns, 9999));
    assert_true(turn_is_of_parked(&turns, 10000));
    turns.outbox_empty = true;
    assert_true(turn_is_of_parked(&turns, 1000));
}

TEST(a_lane_waits_once_both_are_empty_and_then_looks_into_the_outbox)
{
    struct turns_of_lane turns = {0};

    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_PARKED);
    assert_false(turn_end_empty(&turns, 1000));
    assert_int_equal(turn_begin(&turns, false, false, 1000), TURN_OUTBOX);
    assert_true(turn_end_empty(&turns, 1000));
    assert_int_equal(turn_begin(&turns, false, false, 5000), TURN_OUTBOX);
    assert_false(turn_end_empty(&turns, 5000)); /* parked rows are due */
    assert_int_equal(turn_begin(&turns, false, false, 5000), TURN_PARKED);
    assert_true(turn_end_empty(&turns, 5000));
}
