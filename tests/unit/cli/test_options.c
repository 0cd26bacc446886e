#include "cli/cli.h"
#include "test.h"

#include <string.h>

#define ARGUMENTS_MAX 16

static struct arguments arguments;

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
    return cli_parse(cli_find_command(name), argc, argv, &arguments);
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
