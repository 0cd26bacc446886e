#include "cli/cli.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16

extern const char embedded_commands[];
static struct arguments arguments;

static int set_up(void **state)
{
    static const struct own_command none[] = {{NULL, NULL, false}};
    static const struct program program = {.commands = embedded_commands, .own = none};

    (void)state;
    cli_use(&program);
    return 0;
}

ONCE(set_up, NULL)

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

/* The command's first error. */
static const char *said(const char *rules, char *argv[], int argc)
{
    static char text[256];
    const struct command command = {
        .name = "things", .rules = text_of(rules), .synopsis = text_of("X")};
    int saved = dup(STDERR_FILENO);
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
    assert_false(cli_parse(&command, argc, argv, &arguments));
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    rewind(file);
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    return text;
}

TEST(an_error_shows_what_a_rule_says_and_not_how_it_is_written)
{
    static const char rules[] =
        "@ drop ID...|--all|--attempts=N|--limit=N:rows\n@ list --limit=N:rows --attempts=N\n";
    char *neither[] = {"things", "drop"};
    char *rows[] = {"things", "list", "--limit", "0"};
    char *number[] = {"things", "list", "--attempts", "x"};

    assert_string_equal(said(rules, neither, 2),
                        "outbox-relay things drop: give either ID...|--all|--attempts|--limit\n");
    assert_string_equal(
        said(rules, rows, 4),
        "outbox-relay things: --limit wants a number of rows from 1 on, not \"0\"\n");
    assert_string_equal(said(rules, number, 4),
                        "outbox-relay things: --attempts wants a number from 1 on, not \"x\"\n");
}

TEST(an_option_that_would_be_ignored_is_refused)
{
    assert_true(parse("pause", "--json", NULL));
    assert_true(parse("pause", "sink", "bus", "--reason", "upgrade", NULL));
    assert_false(parse("pause", "--reason", "upgrade", NULL));
    assert_false(parse("pause", "sink", "bus", "--json", NULL));
}
