#include "config/config.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define BEFORE                                                                                     \
    "[database]\nurl = \"postgresql://a:canary@localhost/x\"\n[outbox]\ntable = \"a\"\n"           \
    "[sink.k]\ntype = \"kafka\"\nbrokers = [\"localhost:1\"]\n"                                    \
    "[sink.k.properties]\n\"linger.ms\" = \"5\"\n[sink.o]\ntype = \"stdout\"\n"                    \
    "[[route]]\nmatch = \"a\"\nsink = \"k\"\n"

static char told[4096];

static void read_config(struct config *config, const char *text)
{
    struct config_problems problems;

    if (config_parse(config, "relay.toml", text, strlen(text), &problems) < 0)
        fail_msg("%s", problems.lines[0]);
    config_problems_free(&problems);
}

static void tell(const char *text)
{
    size_t len = strlen(told);

    (void)snprintf(told + len, sizeof told - len, "%s\n", text);
}

static void assert_told(const char *text, const char *wanted)
{
    struct config before;
    struct config after;

    told[0] = '\0';
    read_config(&before, BEFORE);
    read_config(&after, text);
    config_compare(&before, &after, tell);
    config_free(&before);
    config_free(&after);
    assert_string_equal(told, wanted);
}

TEST(the_same_text_changes_nothing)
{
    assert_told(BEFORE, "");
}

TEST(each_key_that_differs_is_told_and_no_secret)
{
    assert_told("[database]\nurl = \"postgresql://b:other@localhost/x\"\n[outbox]\ntable = \"a\"\n"
                "[relay]\nbatch = 9\n[sink.k]\ntype = \"kafka\"\nbrokers = [\"localhost:2\"]\n"
                "headers.id = \"x\"\n[sink.p]\ntype = \"stdout\"\n[[route]]\nmatch = \"b\"\n"
                "sink = \"k\"\n[[route]]\nmatch = \"a\"\nsink = \"k\"\n",
                "[database] url = \"user=b password=*** dbname=x host=localhost\","
                " was \"user=a password=*** dbname=x host=localhost\"\n"
                "[relay] batch = 9, was 500\n"
                "[sink.k] brokers = [\"localhost:2\"], was [\"localhost:1\"]\n"
                "[sink.k.headers] id = \"x\", was not given\n"
                "[sink.p] type = \"stdout\", was not given\n"
                "[[route]] 1: match = \"b\", was \"a\"\n"
                "[[route]] 2: match = \"a\", was not given\n"
                "[[route]] 2: sink = \"k\", was not given\n"
                "[[route]] 2: topic = \"{topic}\", was not given\n"
                "[[route]] 2: key = \"{key}\", was not given\n"
                "[sink.k.properties] \"linger.ms\" is not given, was \"5\"\n"
                "[sink.o] type is not given, was \"stdout\"\n");
}
