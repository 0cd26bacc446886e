#ifndef CONFIG_PARSED_H
#define CONFIG_PARSED_H

/* A configuration from text, for the tests of this folder; free_parsed() ends it. */

#include "config/config.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* What a file needs at least. No [relay], so that a test can write one behind it. */
#define MINIMAL "[outbox]\norder = \"none\"\n[sink.out]\ntype = \"stdout\"\n"

struct parsed {
    struct config config;
    struct config_problems problems;
    int status;
};

static struct parsed *parse_text(const char *text)
{
    struct parsed *parsed = calloc(1, sizeof *parsed);

    assert_non_null(parsed);
    parsed->status =
        config_parse(&parsed->config, "relay.toml", text, strlen(text), &parsed->problems);
    return parsed;
}

static void free_parsed(struct parsed *parsed)
{
    config_free(&parsed->config);
    config_problems_free(&parsed->problems);
    free(parsed);
}

static bool has_line(const struct parsed *parsed, const char *line)
{
    for (int i = 0; i < parsed->problems.count; i++)
        if (strcmp(parsed->problems.lines[i], line) == 0)
            return true;
    return false;
}

static inline struct parsed *parse_accepted(const char *text)
{
    struct parsed *parsed = parse_text(text);

    if (parsed->status != 0)
        fail_msg("refused:\n%s\n%s", text, parsed->problems.lines[0]);
    assert_int_equal(parsed->problems.count, 0);
    return parsed;
}

static inline void assert_accepted(const char *text)
{
    free_parsed(parse_accepted(text));
}

/* The text is refused, and this is one of the lines that say why. */
static inline void assert_refused(const char *text, const char *line)
{
    struct parsed *parsed = parse_text(text);

    assert_int_equal(parsed->status, -1);
    assert_true(parsed->problems.count > 0);
    if (!has_line(parsed, line))
        fail_msg("no line is\n%s\nthe first is\n%s", line, parsed->problems.lines[0]);
    free_parsed(parsed);
}

/* The same, and nothing else is wrong. */
static inline void assert_only_problem(const char *text, const char *line)
{
    struct parsed *parsed = parse_text(text);

    for (int i = 0; i < parsed->problems.count; i++)
        if (strcmp(parsed->problems.lines[i], line) != 0)
            fail_msg("expected only\n%s\ngot\n%s", line, parsed->problems.lines[i]);
    assert_int_equal(parsed->problems.count, 1);
    assert_int_equal(parsed->status, -1);
    free_parsed(parsed);
}

/* No message of any kind repeats `secret`. */
static inline void assert_not_shown(const char *text, const char *secret)
{
    struct parsed *parsed = parse_text(text);

    for (int i = 0; i < parsed->problems.count; i++)
        if (strstr(parsed->problems.lines[i], secret) != NULL)
            fail_msg("shown: %s", parsed->problems.lines[i]);
    free_parsed(parsed);
}

struct refusal {
    const char *text;
    const char *line;
};

static inline void assert_each_refused(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_only_problem(refusals[i].text, refusals[i].line);
}

#define REFUSALS(table) (table), sizeof(table) / sizeof((table)[0])

/* What config_print writes, to free(). */
static inline char *printed(const struct config *config)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    assert_non_null(out);
    config_print(config, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

#endif
