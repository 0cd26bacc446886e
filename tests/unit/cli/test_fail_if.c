#include "cli/fail_if.h"
#include "test.h"

#include <limits.h>
#include <string.h>

static struct fail_if condition;
static char why[512];

static bool holds(const char *text, const struct status *status)
{
    why[0] = '\0';
    assert_int_equal(fail_if_parse(&condition, text, why, sizeof why), 0);
    return fail_if_holds(&condition, status, why, sizeof why);
}

static void assert_refused(const char *text, const char *says)
{
    assert_int_equal(fail_if_parse(&condition, text, why, sizeof why), -1);
    if (strstr(why, says) == NULL)
        fail_msg("%s: %s", text, why);
}

static void each_comparison_is_made(void **state)
{
    const struct status status = {.backlog = 7, .oldest_s = 60.5, .per_s = 2.5, .relays = 1};

    (void)state;
    assert_true(holds("backlog>6", &status));
    assert_false(holds("backlog>7", &status));
    assert_true(holds("backlog>=7", &status));
    assert_true(holds("backlog <= 7", &status));
    assert_false(holds("backlog<7", &status));
    assert_true(holds("  backlog = 7  ", &status));
    assert_false(holds("backlog!=7", &status));
    assert_true(holds("oldest>1m", &status));
    assert_false(holds("oldest>61s", &status));
    assert_true(holds("oldest>60250ms", &status));
    assert_true(holds("rate<2.6", &status));
    assert_false(holds("relays<1", &status));
}

static void and_binds_closer_than_or(void **state)
{
    const struct status status = {.backlog = 1, .dead = 0, .relays = 1};

    (void)state;
    assert_true(holds("backlog>0 or dead>0 and relays<1", &status));
    assert_false(holds("backlog>1 or dead>0 and relays=1", &status));
    assert_true(holds("dead>0 and relays<1 or backlog=1", &status));
    assert_false(holds("dead>0 and relays=1", &status));
}

static void it_says_which_alternative_holds(void **state)
{
    const struct status status = {.oldest_s = 75.25, .dead = 3, .relays = 1};

    (void)state;
    assert_true(holds("relays<1 or oldest > 60s and dead>0 or dead>1", &status));
    assert_string_equal(why, "oldest>60s: oldest is 75.2 s, dead>0: dead is 3");
}

static void what_is_unknown_counts_as_nothing(void **state)
{
    const struct status status = {.oldest_s = -1, .parked_oldest_s = -1, .per_s = -1};

    (void)state;
    assert_false(holds("oldest>0", &status));
    assert_true(holds("parked_oldest=0", &status));
    assert_true(holds("rate<1", &status));
}

static void rows_of_unknown_age_are_older_than_any(void **state)
{
    const struct status status = {.backlog = 5, .oldest_s = 2, .backlog_oldest_s = -1};

    (void)state;
    assert_true(holds("oldest>60s", &status));
    assert_string_equal(why, "oldest>60s: oldest is unknown");
    assert_false(holds("oldest<60s", &status));
}

static void sinks_that_are_away_and_what_needs_attention_are_counted(void **state)
{
    struct status_sink sinks[] = {{.state = "up"}, {.state = "away"}, {.state = "unknown"}};
    const struct status status = {.sinks = sinks, .sink_count = 3, .attention.count = 2};

    (void)state;
    assert_true(holds("sinks_away=1 and attention=2", &status));
}

static void rows_are_counted_as_far_as_the_condition_needs(void **state)
{
    const struct status status = {.backlog = 250001, .backlog_is_bound = true, .dead = 3};

    (void)state;
    assert_true(holds("rate<900000 and backlog>250000 and dead<10", &status));
    assert_string_equal(why, "rate<900000: rate is 0.0, backlog>250000: backlog is 250001 or more,"
                             " dead<10: dead is 3");
    assert_int_equal(
        fail_if_parse(&condition, "rate<900000 and backlog>250000 and oldest>9d", why, sizeof why),
        0);
    assert_int_equal(fail_if_count_max(&condition), 250001);
    assert_int_equal(fail_if_parse(&condition, "parked>=9999999999999", why, sizeof why), 0);
    assert_int_equal(fail_if_count_max(&condition), INT_MAX);
}

static void a_mistake_is_named(void **state)
{
    (void)state;
    assert_refused("oldst>60s", "unknown field \"oldst\"; there are backlog, oldest, parked,");
    assert_refused("", "a field is missing at the end");
    assert_refused("dead>0 or", "a field is missing at the end");
    assert_refused("dead", "one of < <= > >= = != is missing at the end");
    assert_refused("dead=>0", "one of < <= > >= = != is missing at \"=>0\"");
    assert_refused("dead>", "a value is missing at the end");
    assert_refused("dead>many", "dead is a number, \"many\" is not");
    assert_refused("dead>nan", "dead is a number, \"nan\" is not");
    assert_refused("dead>5m", "dead is a number, \"5m\" is not");
    assert_refused("dead>1.2.3", "dead is a number");
    assert_refused("oldest>60", "oldest is an age: write a duration such as 60s, 5m or 2h");
    assert_refused("dead>0 dead>1", "`and` or `or` is missing at \"dead>1\"");
    assert_refused("dead>0 or (relays<1)", "a field is missing at \"(relays<1)\"");
    assert_refused("dead>99999999999999999999999999999999999999", "dead is a number");
    assert_refused("dead>0 or dead>0 or dead>0 or dead>0 or dead>0 or dead>0 or dead>0 or dead>0"
                   " or dead>0 or dead>0 or dead>0 or dead>0 or dead>0 or dead>0 or dead>0 or"
                   " dead>0 or dead>0",
                   "too many comparisons");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_comparison_is_made),
        cmocka_unit_test(and_binds_closer_than_or),
        cmocka_unit_test(it_says_which_alternative_holds),
        cmocka_unit_test(what_is_unknown_counts_as_nothing),
        cmocka_unit_test(rows_of_unknown_age_are_older_than_any),
        cmocka_unit_test(sinks_that_are_away_and_what_needs_attention_are_counted),
        cmocka_unit_test(rows_are_counted_as_far_as_the_condition_needs),
        cmocka_unit_test(a_mistake_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
