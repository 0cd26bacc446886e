#include "message/outcome.h"
#include "unit/batch.h"

FIXTURE(open_batch, close_batch)

#define MESSAGES 200

static const struct retry_options options = {
    .max_attempts = 3, .backoff_ms = 1000, .backoff_max_ms = 300000};

static struct message *add(enum verdict verdict, int attempts)
{
    struct message *message = batch_add(&batch);

    message->verdict = verdict;
    message->attempts = attempts;
    return message;
}

TEST(a_failed_message_is_parked_until_its_tries_are_spent)
{
    struct message *first = add(VERDICT_RETRY, 0);
    struct message *second = add(VERDICT_RETRY, 1);
    struct message *last = add(VERDICT_RETRY, 2);

    outcome_decide(&batch, &options, 1);
    assert_int_equal(first->outcome, OUTCOME_PARK);
    assert_int_equal(first->attempts, 1);
    assert_int_equal(second->outcome, OUTCOME_PARK);
    assert_int_equal(second->attempts, 2);
    assert_int_equal(last->outcome, OUTCOME_DEAD);
    assert_int_equal(last->attempts, 3);
}

TEST(waiting_costs_no_attempt_however_often)
{
    struct message *fresh = add(VERDICT_WAIT, 0);
    struct message *spent = add(VERDICT_WAIT, 1000);
    struct message *paused = add(VERDICT_PAUSED, 1000);
    struct message *declined = add(VERDICT_DECLINED, 1000);

    for (int i = 0; i < 100; i++)
        outcome_decide(&batch, &options, (uint32_t)i);
    assert_int_equal(fresh->outcome, OUTCOME_PARK);
    assert_int_equal(fresh->attempts, 0);
    assert_true(fresh->retry_ms >= 1);
    assert_int_equal(spent->outcome, OUTCOME_PARK);
    assert_int_equal(spent->attempts, 1000);
    assert_int_equal(paused->outcome, OUTCOME_PARK);
    assert_int_equal(paused->attempts, 1000);
    assert_int_equal(declined->outcome, OUTCOME_PARK);
    assert_int_equal(declined->attempts, 1000);
}

TEST(a_destination_is_asked_for_less_and_less_often)
{
    static const struct {
        int64_t waited_ms;
        int64_t least_ms;
        int64_t most_ms;
    } cases[] = {{0, 500, 1000}, {10000, 5000, 10000}, {1000000000, 150000, 300000}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message *message = add(VERDICT_WAIT, 0);

        message->waited_ms = cases[i].waited_ms;
        outcome_decide(&batch, &options, (uint32_t)i);
        assert_in_range(message->retry_ms, cases[i].least_ms, cases[i].most_ms);
    }
}

TEST(each_message_is_judged_by_its_own_verdict)
{
    static const struct {
        enum verdict verdict;
        enum outcome outcome;
    } cases[] = {
        {VERDICT_SENT, OUTCOME_SENT},      {VERDICT_REJECTED, OUTCOME_DEAD},
        {VERDICT_PENDING, OUTCOME_UNSENT}, {VERDICT_RETRY, OUTCOME_PARK},
        {VERDICT_WAIT, OUTCOME_PARK},      {VERDICT_SENT, OUTCOME_SENT},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        add(cases[i].verdict, 0);
    outcome_decide(&batch, &options, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(batch.messages[i].outcome, cases[i].outcome);
}

TEST(the_delay_doubles_with_the_attempts_up_to_the_cap)
{
    const struct retry_options patient = {
        .max_attempts = 1000, .backoff_ms = 1000, .backoff_max_ms = 60000};

    for (int attempts = 0; attempts < 20; attempts++)
        add(VERDICT_RETRY, attempts);
    outcome_decide(&batch, &patient, 7);
    for (int i = 0; i < batch.count; i++) {
        int64_t whole = i < 6 ? INT64_C(1000) << i : 60000;

        assert_in_range(batch.messages[i].retry_ms, whole / 2, whole);
    }
}

TEST(the_delays_of_one_batch_are_spread)
{
    static const uint32_t seeds[] = {0, 1, 2, UINT32_MAX};

    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        int low = 0;

        batch_reset(&batch);
        for (int i = 0; i < MESSAGES; i++)
            add(VERDICT_RETRY, 1);
        outcome_decide(&batch, &options, seeds[s]);
        for (int i = 0; i < MESSAGES; i++) {
            assert_in_range(batch.messages[i].retry_ms, 1000, 2000);
            low += batch.messages[i].retry_ms < 1500;
        }
        assert_in_range(low, MESSAGES / 4, MESSAGES * 3 / 4);
    }
}

/* ---- held by an earlier one of its key ---- */

static struct message *add_behind(int before, enum verdict verdict)
{
    struct message *message = add(verdict, 1);

    message->before = before;
    return message;
}

static void assert_behind(const struct message *message)
{
    assert_int_equal(message->outcome, OUTCOME_BEHIND);
    assert_string_equal(message->reason, "waits for an earlier row of its key");
    assert_null(message->waits_for.data);
    assert_int_equal(message->attempts, 1);
}

TEST(a_row_that_fails_takes_its_key_with_it_and_nobody_else)
{
    static const enum verdict failures[] = {VERDICT_RETRY, VERDICT_WAIT, VERDICT_REJECTED};

    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        struct message *second, *third, *neighbour;

        batch_reset(&batch);
        (void)add(failures[i], 0);
        second = add_behind(0, VERDICT_PENDING);
        neighbour = add(VERDICT_SENT, 0);
        third = add_behind(1, VERDICT_PENDING);
        outcome_decide(&batch, &options, 1);
        assert_behind(second);
        assert_behind(third);
        assert_int_equal(neighbour->outcome, OUTCOME_SENT);
    }
}

TEST(with_positions_a_row_that_stays_is_parked_only_before_settled_rows_of_its_slice)
{
    static const struct {
        int slice;
        enum outcome before, after;
    } rows[] = {
        {1, OUTCOME_UNSENT, OUTCOME_PARK},   {1, OUTCOME_SENT, OUTCOME_SENT},
        {1, OUTCOME_UNSENT, OUTCOME_PARK},   {1, OUTCOME_DEAD, OUTCOME_DEAD},
        {1, OUTCOME_UNSENT, OUTCOME_UNSENT}, {2, OUTCOME_UNSENT, OUTCOME_UNSENT},
        {2, OUTCOME_UNSENT, OUTCOME_UNSENT}, {3, OUTCOME_UNSENT, OUTCOME_PARK},
        {3, OUTCOME_BEHIND, OUTCOME_BEHIND},
    };
    enum { ROWS = sizeof rows / sizeof *rows };

    batch_reset(&batch);
    for (int i = 0; i < ROWS; i++) {
        struct message *message = add(VERDICT_PENDING, 0);

        message->slice = rows[i].slice;
        message->outcome = rows[i].before;
    }
    outcome_pass(&batch, &options);
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(batch.messages[i].outcome, rows[i].after);
        if (rows[i].after == OUTCOME_PARK)
            assert_int_equal(batch.messages[i].retry_ms, options.backoff_ms);
    }
}

TEST(a_row_that_stays_keeps_its_key_where_it_is)
{
    struct message *second, *third;

    (void)add(VERDICT_PENDING, 0);
    second = add_behind(0, VERDICT_PENDING);
    third = add_behind(1, VERDICT_REJECTED);
    outcome_decide(&batch, &options, 1);
    assert_int_equal(second->outcome, OUTCOME_UNSENT);
    assert_int_equal(third->outcome, OUTCOME_UNSENT);
    assert_int_equal(third->attempts, 1);
}

/* It is judged when its turn comes; judged now, it would be dead too early. */
TEST(a_held_row_is_not_judged_by_its_own_verdict)
{
    struct message *second;

    (void)add(VERDICT_REJECTED, 0);
    second = add_behind(0, VERDICT_REJECTED);
    second->reason = "its own";
    second->waits_for = text_of("sink/topic");
    outcome_decide(&batch, &options, 1);
    assert_behind(second);
}

TEST(a_blocked_row_goes_behind_whatever_is_in_the_batch)
{
    struct message *blocked;

    (void)add(VERDICT_PENDING, 0);
    blocked = add_behind(0, VERDICT_PENDING);
    blocked->blocked = true;
    outcome_decide(&batch, &options, 1);
    assert_behind(blocked);
}

TEST(an_acknowledged_message_counts_as_sent_even_behind_one_that_failed)
{
    struct message *second;

    (void)add(VERDICT_PENDING, 0);
    second = add_behind(0, VERDICT_SENT);
    outcome_decide(&batch, &options, 1);
    assert_int_equal(second->outcome, OUTCOME_SENT);
}
