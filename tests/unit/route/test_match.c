#include "route/match.h"
#include "unit/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct match_case {
    const char *pattern;
    const char *topic;
    bool matches;
};

static void assert_matches(const struct match_case *cases, size_t count)
{
    char why[160];
    struct match match;

    for (size_t i = 0; i < count; i++) {
        if (match_parse(&match, cases[i].pattern, why, sizeof why) != 0)
            fail_msg("\"%s\": %s", cases[i].pattern, why);
        if (match_topic(&match, text_of(cases[i].topic)) != cases[i].matches)
            fail_msg("\"%s\" on \"%s\"", cases[i].pattern, cases[i].topic);
        match_free(&match);
    }
}

#define ASSERT_MATCHES(cases) assert_matches(cases, sizeof cases / sizeof cases[0])

TEST(a_wildcard_matches_exactly_one_token)
{
    static const struct match_case cases[] = {
        {"*", "order", true},
        {"*", "order.created", false},
        {"*", "", false},
        {"order.*", "order.created", true},
        {"order.*", "order", false},
        {"order.*", "order.", false},
        {"order.*", "order.created.v1", false},
        {"order.*", "orders.created", false},
        {"*.created", "order.created", true},
        {"*.created", ".created", false},
        {"*.created", "created", false},
        {"*.*", "a.b", true},
        {"*.*", "a..b", false},
        {"a.*.c", "a.b.c", true},
        {"a.*.c", "a.c", false},
        {"a.*.c", "a..c", false},
        {"a.*.c", "a.b.b.c", false},
    };

    ASSERT_MATCHES(cases);
}

TEST(the_tail_wildcard_matches_one_token_or_more)
{
    static const struct match_case cases[] = {
        {">", "order", true},
        {">", "order.created.v1", true},
        {">", "", false},
        {"order.>", "order.created", true},
        {"order.>", "order.created.v1", true},
        {"order.>", "order", false},
        {"order.>", "order.", false},
        {"order.>", "orders.created", false},
        {"*.>", "a.b", true},
        {"*.>", "a.b.c", true},
        {"*.>", "a", false},
        {"a.*.>", "a.b.c.d", true},
        {"a.*.>", "a.b", false},
    };

    ASSERT_MATCHES(cases);
}

TEST(a_wildcard_character_inside_a_token_is_literal)
{
    static const struct match_case cases[] = {
        {"a*", "a*", true},          {"a*", "ab", false},    {"*a", "ba", false},
        {"a.b*.c", "a.bx.c", false}, {"a>", "a>", true},     {"a>", "a.b", false},
        {">a.b", ">a.b", true},      {">a.b", "a.b", false}, {"**", "a", false},
    };

    ASSERT_MATCHES(cases);
}

TEST(a_regular_expression_matches_somewhere)
{
    static const struct match_case cases[] = {
        {"re:der", "order.created", true},
        {"re:^order\\.", "order.created", true},
        {"re:^order\\.", "orders", false},
        {"re:^(order|invoice)\\.[a-z]+$", "invoice.paid", true},
        {"re:^(order|invoice)\\.[a-z]+$", "invoice.PAID", false},
        {"re:^x{2,3}$", "xxx", true},
        {"re:^x{2,3}$", "xxxx", false},
        {"re:a..b", "a..b", true},
        {"RE:a", "a", false},
        {"re", "re", true},
    };

    ASSERT_MATCHES(cases);
}

TEST(a_topic_is_compared_beyond_a_nul)
{
    char why[160];
    struct match match;

    assert_int_equal(match_parse(&match, "order", why, sizeof why), 0);
    assert_false(match_topic(&match, (struct text){"order\0.x", 8}));
    match_free(&match);
    assert_int_equal(match_parse(&match, "re:^order$", why, sizeof why), 0);
    assert_false(match_topic(&match, (struct text){"order\0.x", 8}));
    match_free(&match);
}

TEST(a_malformed_pattern_is_refused_with_a_reason)
{
    static const char *const patterns[] = {"",     ".",     "a.",        ".a",   "a..b",
                                           ">.a",  "a.>.b", ">.",        "a.>.", "*..*",
                                           "re:(", "re:[",  "re:a{2,1}", "re:\\"};
    char why[160];
    struct match match;

    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        why[0] = '\0';
        if (match_parse(&match, patterns[i], why, sizeof why) != -1)
            fail_msg("\"%s\" was accepted", patterns[i]);
        assert_true(strlen(why) > 0);
    }
}

/* glibc takes each; PostgreSQL reads it in another way, or refuses it in the middle of a run. */
TEST(a_regular_expression_that_posix_leaves_undefined_is_refused)
{
    static const char *const cases[][2] = {
        {"re:\\w", "backslash"},     {"re:a\\b", "backslash"},
        {"re:^\\s$", "backslash"},   {"re:(a)\\1", "backslash"},
        {"re:\\<a", "backslash"},    {"re:a\\>", "backslash"},
        {"re:\\`a", "backslash"},    {"re:a\\'", "backslash"},
        {"re:[a]\\d", "backslash"},  {"re:[[:alpha:]]\\d", "backslash"},
        {"re:[]]\\d", "backslash"},  {"re:[^]]\\d", "backslash"},
        {"re:\\\\\\d", "backslash"}, {"re:[a-z]{1,300}", "255"},
        {"re:a{256}", "255"},        {"re:a{256,}", "255"},
        {"re:a{0,256}", "255"},      {"re:a{,5}", "255"},
        {"re:a{,}", "255"},          {"re:a**", "parentheses"},
        {"re:a+?", "parentheses"},   {"re:a{2}{3}", "parentheses"},
        {"re:a?{3}", "parentheses"}, {"re:[a]{2}*", "parentheses"}};
    char why[160];
    struct match match;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (match_parse(&match, cases[i][0], why, sizeof why) != -1)
            fail_msg("\"%s\" was accepted", cases[i][0]);
        if (strstr(why, cases[i][1]) == NULL)
            fail_msg("\"%s\": %s", cases[i][0], why);
        assert_null(match.source);
    }
}

TEST(what_posix_defines_is_taken)
{
    static const struct match_case cases[] = {
        {"re:^\\.\\[\\]\\{\\}\\(\\)\\*\\+\\?\\|\\^\\$\\\\$", ".[]{}()*+?|^$\\", true},
        {"re:^a{255}$", "a", false},
        {"re:^a{2,}$", "aaa", true},
        {"re:^(a{2})*$", "aaaa", true},
        {"re:^[\\w]$", "w", true},
        {"re:^[{300}]$", "{", true},
        {"re:^[*+?]+$", "?*", true},
        {"re:^[]\\d]$", "]", true},
        {"re:^[^]\\d]$", "x", true},
        {"re:^[[:digit:]]+$", "42", true},
        {"re:^[[.].]\\w]$", "]", true},
        {"re:^\\*+$", "**", true},
        {"re:^a\\{300$", "a{300", true},
    };

    ASSERT_MATCHES(cases);
}

/* ---- against a second, recursive reading of the rules ---- */

static bool model(const char *pattern, const char *topic)
{
    size_t want = strcspn(pattern, ".");
    size_t have = strcspn(topic, ".");

    if (strcmp(pattern, ">") == 0)
        return *topic != '\0';
    if (have == 0 ||
        (strncmp(pattern, "*", want) != 0 && (want != have || strncmp(pattern, topic, want) != 0)))
        return false;
    if (pattern[want] == '\0' || topic[have] == '\0')
        return pattern[want] == topic[have];
    return model(pattern + want + 1, topic + have + 1);
}

/* One to four tokens out of a few, the tail wildcard at the end only. */
static void build(char *out, const char *const tokens[], int count, bool tail)
{
    int parts = 1 + rand() % 4;

    *out = '\0';
    for (int i = 0; i < parts; i++) {
        const char *token = tokens[rand() % count];

        if (tail && i + 1 == parts && rand() % 3 == 0)
            token = ">";
        (void)snprintf(out + strlen(out), 8, "%s%s", i > 0 ? "." : "", token);
    }
}

TEST(random_patterns_agree_with_the_model)
{
    static const char *const tokens[] = {"a", "bb", "*", "*"};
    char pattern[64];
    char topic[64];
    char why[160];
    struct match match;
    int matched = 0;

    (void)seed_random();
    for (int i = 0; i < 20000; i++) {
        build(pattern, tokens, 4, true);
        build(topic, tokens, 2, false);
        assert_int_equal(match_parse(&match, pattern, why, sizeof why), 0);
        if (match_topic(&match, text_of(topic)) != model(pattern, topic))
            fail_msg("\"%s\" on \"%s\"", pattern, topic);
        matched += model(pattern, topic);
        match_free(&match);
    }
    assert_in_range(matched, 1000, 19000);
}
