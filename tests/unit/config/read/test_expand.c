#include "unit/config/parsed.h"

#include "config/read/expand.h"

struct expansion {
    const char *source;
    const char *result;
};

static int set_variables(void **state)
{
    (void)state;
    (void)setenv("RELAY_A", "one", 1);
    (void)setenv("RELAY_EMPTY", "", 1);
    (void)setenv("RELAY_NESTED", "${RELAY_A}", 1);
    (void)setenv("RELAY_BYTES", "\xff", 1);
    (void)setenv("RELAY_NUMBER", "7", 1);
    return unsetenv("RELAY_UNSET");
}

ONCE(set_variables, NULL)

static void assert_expand(const struct expansion *expansions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char why[256];
        char *result = expand(expansions[i].source, why, sizeof why);

        assert_non_null(result);
        assert_string_equal(result, expansions[i].result);
        free(result);
    }
}

TEST(variables_are_replaced_by_their_values)
{
    static const struct expansion expansions[] = {
        {"", ""},
        {"plain", "plain"},
        {"${RELAY_A}", "one"},
        {"a${RELAY_A}b${RELAY_A}c", "aonebonec"},
        {"${RELAY_EMPTY}", ""},
        {"${RELAY_UNSET:-two}", "two"},
        {"${RELAY_EMPTY:-two}", "two"},
        {"${RELAY_A:-two}", "one"},
        {"${RELAY_UNSET:-}", ""},
        {"${RELAY_UNSET:-a:-b$c{d}", "a:-b$c{d"},
        {"${RELAY_NESTED}", "${RELAY_A}"},
    };

    assert_expand(expansions, sizeof expansions / sizeof *expansions);
}

TEST(a_dollar_alone_stands_for_itself)
{
    static const struct expansion expansions[] = {{"$", "$"},         {"$$", "$$"},
                                                  {"a$b", "a$b"},     {"$RELAY_A", "$RELAY_A"},
                                                  {"$${X}", "${X}"},  {"$$${X}", "$${X}"},
                                                  {"$ {X}", "$ {X}"}, {"{X}", "{X}"},
                                                  {"$${", "${"},      {"cost: 5$", "cost: 5$"}};

    assert_expand(expansions, sizeof expansions / sizeof *expansions);
}

TEST(what_cannot_be_expanded_is_explained)
{
    static const struct expansion expansions[] = {
        {"${RELAY_UNSET}", "the environment variable RELAY_UNSET is not set"},
        {"${RELAY_BYTES}", "the value of the environment variable RELAY_BYTES is not UTF-8"},
        {"${RELAY_A", "\"${\" without \"}\"; write \"$${\" for a literal \"${\""},
        {"${}", "\"${\" without the name of a variable"},
        {"${1A}", "\"${\" without the name of a variable"},
        {"${:-x}", "\"${\" without the name of a variable"},
        {"${RELAY_A-x}", "only ${VAR} and ${VAR:-default} are supported"},
        {"${RELAY A}", "only ${VAR} and ${VAR:-default} are supported"},
        {"${RELAY_A:-${X}}", "a default cannot contain another variable"},
    };

    for (size_t i = 0; i < sizeof expansions / sizeof expansions[0]; i++) {
        char why[256];

        assert_null(expand(expansions[i].source, why, sizeof why));
        assert_string_equal(why, expansions[i].result);
    }
}

TEST(an_expansion_of_more_than_1_mib_is_refused)
{
    const char *unit = "${RELAY_LARGE}";
    char *large = malloc(100001);
    char *source = calloc(11 * strlen(unit) + 1, 1);
    char why[256];

    assert_non_null(large);
    assert_non_null(source);
    memset(large, 'x', 100000);
    large[100000] = '\0';
    (void)setenv("RELAY_LARGE", large, 1);
    for (size_t i = 0; i < 11; i++)
        memcpy(source + i * strlen(unit), unit, strlen(unit));
    assert_null(expand(source, why, sizeof why));
    assert_string_equal(why, "longer than 1 MiB");
    assert_int_equal(unsetenv("RELAY_LARGE"), 0);
    free(large);
    free(source);
}

TEST(strings_lists_and_properties_are_expanded)
{
    struct parsed *parsed = parse_accepted(
        "[outbox]\norder = \"none\"\ntable = \"${RELAY_A}\"\n[sink.k]\ntype = \"kafka\"\n"
        "brokers = [\"${RELAY_A}:9092\", \"b:${RELAY_NUMBER}\"]\n"
        "properties = {\"client.id\" = \"${RELAY_UNSET:-x}\"}\n");

    assert_string_equal(parsed->config.relay.outbox.table, "one");
    assert_string_equal(parsed->config.relay.sinks[0].brokers.items[0], "one:9092");
    assert_string_equal(parsed->config.relay.sinks[0].brokers.items[1], "b:7");
    assert_string_equal(parsed->config.relay.sinks[0].properties[0].value, "x");
    free_parsed(parsed);
}

TEST(a_number_or_a_boolean_may_come_from_a_variable)
{
    struct parsed *parsed =
        parse_accepted("[sink.out]\ntype = \"stdout\"\n[outbox]\norder = \"none\"\n"
                       "durable_before_publish = \"${RELAY_UNSET:-false}\"\n[relay]\nlanes = "
                       "\"${RELAY_NUMBER}\"\n");

    assert_int_equal(parsed->config.relay.lanes, 7);
    assert_false(parsed->config.relay.outbox.durable_before_publish);
    free_parsed(parsed);
    assert_only_problem(MINIMAL "[relay]\nlanes = \"7\"\n",
                        "relay.toml:6:1: lanes: expected an integer, got a string \"7\"");
}

TEST(a_message_names_the_variable_and_not_its_value)
{
    assert_only_problem(MINIMAL "[database]\nurl = \"${RELAY_UNSET}\"\n",
                        "relay.toml:6:1: url: the environment variable RELAY_UNSET is not set");
    assert_only_problem(MINIMAL "[relay]\npoll_interval = \"${RELAY_A}\"\n",
                        "relay.toml:6:1: poll_interval: expected a duration such as \"250ms\" or "
                        "\"10s\", got a string \"${RELAY_A}\"");
    assert_only_problem(MINIMAL "[relay]\nlanes = \"${RELAY_NUMBER}00\"\n",
                        "relay.toml:6:1: lanes = \"${RELAY_NUMBER}00\": must be 1..64");
}
