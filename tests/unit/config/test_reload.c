#include "config/config.h"

#include "config/keys/keys.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

#define BEFORE                                                                                     \
    "[database]\nurl = \"postgresql://a:canary@localhost/x\"\n[outbox]\ntable = \"a\"\n"           \
    "[sink.k]\ntype = \"kafka\"\nbrokers = [\"localhost:1\"]\n"                                    \
    "[sink.k.properties]\n\"linger.ms\" = \"5\"\n[sink.o]\ntype = \"stdout\"\n"                    \
    "[[route]]\nmatch = \"a\"\nsink = \"k\"\n"

static struct config before;
static struct config after;
static char told[4096];

static void read_config(struct config *config, const char *text)
{
    struct config_problems problems;

    if (config_parse(config, "relay.toml", text, strlen(text), &problems) < 0)
        fail_msg("%s", problems.lines[0]);
    config_problems_free(&problems);
}

static void tell(const struct config_change *change, void *closure)
{
    size_t len = strlen(told);

    assert_ptr_equal(closure, told);
    (void)snprintf(told + len, sizeof told - len, "%s: %s -> %s%s\n", change->key, change->before,
                   change->after, change->applied ? "" : " (restart)");
}

/* What is told of a change from BEFORE to this text. */
static const char *reload(const char *text)
{
    told[0] = '\0';
    read_config(&before, BEFORE);
    read_config(&after, text);
    config_reload(&before, &after, tell, told);
    config_free(&after);
    return told;
}

static int tear_down(void **state)
{
    (void)state;
    config_free(&before);
    return 0;
}

FIXTURE(NULL, tear_down)

TEST(the_same_text_changes_nothing)
{
    assert_string_equal(reload(BEFORE), "");
}

TEST(a_number_is_taken_over_with_what_depends_on_it)
{
    assert_string_equal(
        reload(BEFORE "[relay]\nbatch = 9\npublish_timeout = \"2s\"\n[retry]\nbackoff = \"2s\"\n"),
        "[relay] batch: 500 -> 9\n[relay] publish_timeout: 10s -> 2s\n[retry] backoff: 1s -> 2s\n");
    assert_int_equal(before.relay.outbox.batch, 9);
    assert_int_equal(before.relay.sinks[0].batch, 9);
    assert_int_equal(before.relay.sinks[0].publish_timeout_ms, 2000);
    assert_int_equal(before.relay.outbox.publish_timeout_ms, 2000);
    assert_int_equal(before.relay.retry.backoff_ms, 2000);
}

TEST(a_collector_is_taken_over_and_its_headers_are_not_told)
{
    assert_string_equal(reload(BEFORE "[trace]\nendpoint = \"http://localhost\"\n"
                                      "headers = \"a=canary\"\ntimeout = \"1s\"\n"),
                        "[trace] endpoint: not given -> http://localhost\n"
                        "[trace] headers: *** -> ***\n[trace] timeout: 10s -> 1s\n");
    assert_string_equal(before.trace.endpoint, "http://localhost");
    assert_string_equal(before.trace.headers, "a=canary");
    assert_int_equal(before.trace.timeout_ms, 1000);
}

TEST(what_needs_a_restart_is_told_and_stays)
{
    assert_string_equal(
        reload(
            "[database]\nurl = \"postgresql://a:other@localhost/x\"\n[outbox]\ntable = \"b\"\n"
            "[relay]\nlanes = 7\n[sink.k]\ntype = \"kafka\"\nbrokers = [\"localhost:2\"]\n"
            "headers.id = \"x\"\n[sink.k.properties]\n\"linger.ms\" = \"6\"\n[sink.p]\ntype = \"stdout\"\n"
            "[[route]]\nmatch = \"b\"\nsink = \"k\"\n"),
        "[database] url: *** -> *** (restart)\n[outbox] table: a -> b (restart)\n"
        "[relay] lanes: 2 -> 7 (restart)\n[sink.k] brokers: localhost:1 -> localhost:2 (restart)\n"
        "[sink.k.headers] id: not given -> x (restart)\n"
        "[sink.k.properties]: the old ones -> others (restart)\n"
        "sink.o: a sink -> not given (restart)\nsink.p: not given -> a sink (restart)\n"
        "[[route]]: the old ones -> others (restart)\n");
    assert_int_equal(before.relay.lanes, 2);
    assert_string_equal(before.relay.outbox.table, "a");
    assert_string_equal(before.relay.sinks[0].brokers.items[0], "localhost:1");
}
