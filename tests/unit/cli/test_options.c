#include "cli/cli.h"
#include "test.h"

#include <string.h>

#define ARGUMENTS_MAX 16

static struct arguments arguments;

static const struct command *find(const char *name)
{
    for (const struct command *command = commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    fail_msg("no command %s", name);
    return NULL;
}

/* The command's name and what follows it, ended by NULL. */
static bool parse(const char *name, ...)
{
    char *argv[ARGUMENTS_MAX] = {(char *)name};
    va_list args;
    int argc = 1;

    va_start(args, name);
    while (argc < ARGUMENTS_MAX && (argv[argc] = va_arg(args, char *)) != NULL)
        argc++;
    va_end(args);
    assert_true(argc < ARGUMENTS_MAX);
    return cli_parse(find(name), argc, argv, &arguments);
}

TEST(every_option_of_dead_is_taken_wherever_it_stands)
{
    assert_true(parse("dead", "--type", "T", "retry", "--topic=a.*", "--dry-run", "--since", "2h",
                      "--json", "--all", NULL));
    assert_string_equal(arguments.type, "T");
    assert_string_equal(arguments.topic, "a.*");
    assert_string_equal(arguments.since, "2h");
    assert_true(arguments.dry_run && arguments.json && arguments.all);
    assert_int_equal(arguments.operand_count, 1);
    assert_string_equal(arguments.operands[0], "retry");
}

TEST(an_option_that_is_not_given_is_null)
{
    assert_true(parse("dead", "list", NULL));
    assert_null(arguments.type);
    assert_null(arguments.topic);
    assert_null(arguments.since);
    assert_false(arguments.dry_run || arguments.json || arguments.all);
}

TEST(an_empty_type_or_topic_is_given)
{
    assert_true(parse("dead", "list", "--type", "", "--topic=", NULL));
    assert_string_equal(arguments.type, "");
    assert_string_equal(arguments.topic, "");
}

TEST(a_rate_is_a_number_of_rows_above_0)
{
    static const char *const bad[] = {"0", "-1", "1.5", "x", "", "10000000"};

    assert_true(parse("replay", "--since", "2h", "--rate", "50", NULL));
    assert_int_equal(arguments.rate, 50);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(parse("replay", "1", "--rate", bad[i], NULL));
}

TEST(since_takes_durations_and_what_begins_as_a_date_does)
{
    static const char *const good[] = {"250ms",
                                       "10s",
                                       "90m",
                                       "2h",
                                       "7d",
                                       "0",
                                       "2026-01-31",
                                       "2026-01-31 22:15",
                                       "2026-01-31T22:15:00.5+02:00"};
    static const char *const bad[] = {
        "",          "2",       "2w",       "-2h",        "yesterday",  "now",       "infinity",
        "2026-1-31", "2026-01", "26-01-31", "31.01.2026", "2026/01/31", "2026-01-3", " 2026-01-31"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(parse("dead", "list", "--since", good[i], NULL));
        assert_string_equal(arguments.since, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse("dead", "list", "--since", bad[i], NULL))
            fail_msg("--since %s was taken", bad[i]);
}

TEST(the_filters_apply_to_dead_alone)
{
    static const char *const options[] = {"--topic=t", "--since=2h", "--all"};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        assert_false(parse("status", options[i], NULL));
        assert_false(parse("purge", options[i], NULL));
        assert_true(parse("dead", "list", options[i], NULL));
    }
    assert_false(parse("dead", "list", "--older-than", "7d", NULL));
    assert_false(parse("dead", "list", "--watch", NULL));
}

TEST(a_filter_without_its_value_is_refused)
{
    assert_false(parse("dead", "list", "--topic", NULL));
    assert_false(parse("dead", "list", "--since", NULL));
    assert_false(parse("dead", "list", "--all=yes", NULL));
}

TEST(a_negative_id_stands_behind_two_dashes)
{
    assert_false(parse("dead", "drop", "-5", NULL));
    assert_true(parse("dead", "drop", "--dry-run", "--", "-5", "--all", NULL));
    assert_true(arguments.dry_run);
    assert_false(arguments.all);
    assert_int_equal(arguments.operand_count, 3);
    assert_string_equal(arguments.operands[1], "-5");
    assert_string_equal(arguments.operands[2], "--all");
}

TEST(dead_alone_is_refused)
{
    assert_false(parse("dead", NULL));
    assert_false(parse("dead", "--json", NULL));
}

TEST(other_commands_options_still_hold_their_values)
{
    assert_true(parse("purge", "--older-than", "7d", "--dry-run", "-c", "x.toml", NULL));
    assert_int_equal(arguments.older_than_ms, INT64_C(7) * 24 * 3600 * 1000);
    assert_string_equal(arguments.config, "x.toml");
    assert_false(parse("purge", "--older-than", "soon", NULL));
    assert_true(parse("init", "--grant", "role", "--print", "--notify", NULL));
    assert_string_equal(arguments.grant, "role");
    assert_true(arguments.print);
    assert_false(parse("init", "--grant", "", NULL));
    assert_true(parse("emit", "t", "--type", "T", NULL));
    assert_string_equal(arguments.type, "T");
}
