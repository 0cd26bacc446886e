#include "admin/status/relays.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct admin admin = {.table = {.oid = 1}};
static struct status_sink sinks[STATUS_SINKS_MAX];
static struct status_relay processes[STATUS_RELAYS_MAX];
static struct status_lane lanes[STATUS_LANES_MAX];
static struct status status;
static struct asking asking;

static int set_up(void **state)
{
    (void)state;
    memset(sinks, 0, sizeof sinks);
    memset(lanes, 0, sizeof lanes);
    for (int i = 0; i < 2; i++)
        processes[i] = (struct status_relay){.name = "a:1", .per_s = -1};
    status = (struct status){
        .sinks = sinks, .processes = processes, .lane_list = lanes, .process_count = 2};
    asking = (struct asking){.admin = &admin, .status = &status, .unsent_from = INT64_MIN};
    return 0;
}

FIXTURE(set_up, NULL)

TEST(an_answer_becomes_what_status_shows)
{
    assert_true(relays_take(
        &asking, 0,
        "{\"table\":1,\"version\":\"1.2.3\",\"since\":1790000000123,\"sent\":5000000000,"
        "\"parked\":2,\"dead\":3,\"rate\":12.5,\"unsent_from\":9007199254740993,"
        "\"sinks\":[{\"name\":\"events\",\"state\":\"away\",\"since\":1790000000000,"
        "\"error\":\"refused\"}],\"lanes\":[[7,\"publishing\",20,30],[8,\"idle\",20,-1]]}"));
    assert_true(processes[0].answers);
    assert_string_equal(processes[0].version, "1.2.3");
    assert_int_equal(processes[0].since_ms, 1790000000123);
    assert_int_equal(processes[0].sent, 5000000000);
    assert_int_equal(processes[0].parked, 2);
    assert_int_equal(processes[0].dead, 3);
    assert_true(processes[0].per_s == 12.5);
    assert_int_equal(asking.unsent_from, 9007199254740993);
    assert_int_equal(status.sink_count, 1);
    assert_string_equal(sinks[0].name, "events");
    assert_string_equal(sinks[0].state, "away");
    assert_string_equal(sinks[0].error, "refused");
    assert_int_equal(sinks[0].since_ms, 1790000000000);
    assert_int_equal(status.lane_count, 2);
    assert_int_equal(lanes[0].number, 7);
    assert_string_equal(lanes[0].state, "publishing");
    assert_true(lanes[0].state_s == 0.02);
    assert_true(lanes[0].transaction_s == 0.03);
    assert_true(lanes[1].transaction_s == -1);
}

TEST(of_a_sink_that_two_relays_see_the_longest_absence_counts)
{
    assert_true(relays_take(&asking, 0,
                            "{\"table\":1,\"sinks\":[{\"name\":\"s\",\"state\":\"away\","
                            "\"since\":2000,\"error\":\"late\"}]}"));
    assert_true(relays_take(&asking, 1,
                            "{\"table\":1,\"sinks\":[{\"name\":\"s\",\"state\":\"away\","
                            "\"since\":1000,\"error\":\"early\"},"
                            "{\"name\":\"s\",\"state\":\"up\",\"since\":500,\"error\":\"\"}]}"));
    assert_int_equal(status.sink_count, 1);
    assert_string_equal(sinks[0].state, "away");
    assert_string_equal(sinks[0].error, "early");
    assert_int_equal(sinks[0].since_ms, 1000);
}

TEST(a_relay_that_is_cut_off_from_a_sink_is_told_from_those_that_are_not)
{
    assert_true(relays_take(&asking, 0,
                            "{\"table\":1,\"sinks\":[{\"name\":\"s\",\"state\":\"away\"},"
                            "{\"name\":\"t\",\"state\":\"up\"},"
                            "{\"name\":\"u\",\"state\":\"away\"}]}"));
    assert_true(relays_take(&asking, 1,
                            "{\"table\":1,\"sinks\":[{\"name\":\"s\",\"state\":\"up\"},"
                            "{\"name\":\"t\",\"state\":\"unknown\"}]}"));
    assert_int_equal(processes[0].away, 1U << 0 | 1U << 2);
    assert_int_equal(processes[1].away, 0);
    assert_string_equal(sinks[0].state, "away");
    assert_int_equal(sinks[0].relays_up, 1);
    assert_int_equal(sinks[1].relays_up, 1);
}

TEST(an_answer_that_is_hostile_is_refused_or_cut)
{
    static const char *const refused[] = {"",   "{",    "[]",   "null", "{\"table\":\"1\"}",
                                          "{}", "\xff", "[[[[", "1",    "{\"table\":1.5}"};
    char json[4096];
    size_t len;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_false(relays_take(&asking, 0, refused[i]));
    assert_false(processes[0].answers);
    assert_true(relays_take(&asking, 0,
                            "{\"table\":1,\"sinks\":[1,null,{\"name\":7}],\"lanes\":[{},[\"x\",1]],"
                            "\"sent\":\"many\",\"version\":[]}"));
    assert_int_equal(processes[0].sent, 0);
    assert_string_equal(processes[0].version, "");
    assert_string_equal(sinks[0].name, "");
    len = (size_t)snprintf(json, sizeof json, "{\"table\":1,\"version\":\"%s", "");
    while (len < 3000)
        len += (size_t)snprintf(json + len, sizeof json - len, "\xe2\x82\xac");
    (void)snprintf(json + len, sizeof json - len, "\"}");
    assert_true(relays_take(&asking, 0, json));
    assert_int_equal(strlen(processes[0].version), 30); /* whole characters of three bytes */
}

TEST(figures_that_no_relay_has_are_bounded)
{
    assert_true(
        relays_take(&asking, 0,
                    "{\"table\":1,\"since\":-9223372036854775808,\"sent\":9223372036854775807,"
                    "\"rate\":1e300,\"sinks\":[{\"state\":\"up\",\"since\":9223372036854775807}],"
                    "\"lanes\":[[1,\"idle\",-9223372036854775808,-1]]}"));
    assert_int_equal(processes[0].since_ms, 0);
    assert_int_equal(processes[0].sent, INT64_C(1) << 53);
    assert_true(processes[0].per_s <= 1e12);
    assert_int_equal(sinks[0].since_ms, INT64_C(1) << 53);
    assert_true(lanes[0].state_s == 0);
}

#define CONFIG(routes, server, settings)                                                           \
    "{\"table\":1,\"version\":\"1\",\"config\":{\"routes\":\"" routes                              \
    "\",\"outbox\":\"0b\",\"sinks\":[[\"" server "\",\"" settings                                  \
    "\"]]},\"sinks\":[{\"name\":\"bus\",\"state\":\"up\",\"since\":1,\"error\":\"\"}]}"

/* The only finding, or "". */
static const char *compared(const struct fingerprint *own)
{
    static char text[sizeof((struct finding *)0)->text];
    struct findings findings;

    assert_int_equal(findings_init(&findings), 0);
    relays_compare(&status, own, "relay.toml", &findings);
    assert_true(findings.count <= 1);
    (void)snprintf(text, sizeof text, "%s", findings.count > 0 ? findings.items[0].text : "");
    findings_free(&findings);
    return text;
}

TEST(relays_that_differ_are_told_from_the_most)
{
    struct fingerprint own;

    status.process_count = 3;
    for (int i = 0; i < 3; i++)
        (void)snprintf(processes[i].name, sizeof processes[i].name, "h:%d", i);
    for (int i = 0; i < 3; i++)
        assert_true(relays_take(&asking, i, CONFIG("0a", "01", "02")));
    own = processes[0].config;
    assert_string_equal(compared(NULL), "");
    assert_string_equal(compared(&own), "relay h:0 and 2 like it: the same configuration");
    assert_true(relays_take(&asking, 0, CONFIG("0c", "01", "03")));
    assert_string_equal(compared(NULL), "relay h:0 differs from relay h:1 and 1 like it in: routes;"
                                        " settings of sink bus");
    assert_true(relays_take(&asking, 0, CONFIG("0a", "04", "02")));
    assert_string_equal(compared(NULL), "relay h:0 differs from relay h:1 and 1 like it in: server"
                                        " or stream of sink bus");
    memcpy(own.sinks[0].name, "dev", 4);
    status.process_count = 1;
    assert_string_equal(compared(&own),
                        "relay.toml differs from relay h:0 in: sink dev, which the other has not;"
                        " sink bus, which it has not");
}

TEST(a_relay_that_does_not_say_how_it_is_configured_is_named)
{
    assert_true(relays_take(&asking, 0, "{\"table\":1,\"version\":\"0.1\",\"sinks\":[]}"));
    assert_false(processes[0].config.is_known);
    assert_string_equal(compared(NULL), "");
    assert_true(relays_take(&asking, 1, CONFIG("0a", "01", "02")));
    assert_string_equal(compared(NULL), "relay a:1 does not say how it is configured: its version"
                                        " is 0.1");
    /* Of a configuration that does not fit its sinks nothing is taken. */
    assert_true(relays_take(&asking, 1,
                            "{\"table\":1,\"config\":{\"routes\":\"0a\",\"outbox\":"
                            "\"0b\",\"sinks\":[[\"1\",\"2\"]]},\"sinks\":[]}"));
    assert_false(processes[1].config.is_known);
}
