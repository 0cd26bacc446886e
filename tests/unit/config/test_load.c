#include "unit/config/parsed.h"

TEST(an_unknown_key_names_the_nearest_one)
{
    static const struct refusal refusals[] = {
        {MINIMAL "[relay]\nbacth = 5",
         "relay.toml:6:1: unknown key \"bacth\" in [relay]; did you mean \"batch\"?"},
        {MINIMAL "[relay]\n  \"bacth_size\" = 5",
         "relay.toml:6:3: unknown key \"bacth_size\" in [relay]; known: \"lanes\", \"batch\", "
         "\"batch_bytes\", \"poll_interval\", \"publish_timeout\", \"shutdown_timeout\", "
         "\"synchronous_commit\""},
        {MINIMAL "tpye = 5",
         "relay.toml:5:1: unknown key \"tpye\" in [sink.out]; did you mean \"type\"?"},
        {MINIMAL "propertys = {}",
         "relay.toml:5:1: unknown key \"propertys\" in [sink.out]; did you mean \"properties\"?"},
        {MINIMAL "[outbox.columns]\nevent-id = \"x\"",
         "relay.toml:6:1: unknown key \"event-id\" in [outbox.columns]; did you mean "
         "\"event_id\"?"},
        {MINIMAL "[[route]]\nmatch = \">\"\nsnik = 1",
         "relay.toml:7:1: unknown key \"snik\" in [[route]]; did you mean \"sink\"?"},
        {MINIMAL "[log]\n\"a\\nb\\u001b\" = 1",
         "relay.toml:6:1: unknown key \"a\\nb\\x1b\" in [log]; known: \"level\", \"format\""},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_key_of_another_section_is_reported_with_its_section)
{
    static const struct refusal refusals[] = {
        {MINIMAL "[log]\nbatch = 5",
         "relay.toml:6:1: unknown key \"batch\" in [log]; it belongs in [relay]"},
        {"batch = 5\n" MINIMAL,
         "relay.toml:1:1: unknown key \"batch\" before any section; it belongs in [relay]"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(an_unknown_section_names_the_nearest_one)
{
    static const struct refusal refusals[] = {
        {MINIMAL "[relayy]", "relay.toml:5:1: unknown section [relayy]; did you mean \"relay\"?"},
        {MINIMAL "[kubernetes]\na = 1",
         "relay.toml:5:1: unknown section [kubernetes]; known: "
         "\"database\", \"outbox\", \"relay\", "
         "\"retry\", \"sink\", \"cloudevents\", \"route\", \"http\", \"log\", \"trace\""},
        {MINIMAL "[outbox.column]",
         "relay.toml:5:1: unknown key \"column\" in [outbox]; did you mean \"columns\"?"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_section_that_is_no_table_is_refused)
{
    static const struct refusal refusals[] = {
        {"relay = 5\n" MINIMAL,
         "relay.toml:1:1: relay: expected a section [relay], got an integer"},
        {MINIMAL "[[relay]]", "relay.toml:5:1: relay: expected a section [relay], got a list"},
        {"[outbox]\norder = \"none\"\ncolumns = 1\n[sink.out]\ntype = \"stdout\"",
         "relay.toml:3:1: columns: expected a section [outbox.columns], got an integer"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(all_problems_are_reported_in_file_order)
{
    static const char *const expected[] = {
        "relay.toml:2:1: unknown key \"tabel\" in [outbox]; did you mean \"table\"?",
        "relay.toml:3:1: slices = 1025: must be 1..1024",
        "relay.toml:5:1: lanes = 65: must be 1..64",
        "relay.toml:6:1: publish_timeout (30s) must not be longer than shutdown_timeout (15s)",
        "relay.toml:9:1: there is no sink \"b\"; did you mean \"a\"?",
        "relay.toml:10:1: a sink of type \"kafka\" needs brokers = [\"HOST:PORT\"]",
        "relay.toml:13:1: unknown section [lgo]; did you mean \"log\"?",
    };
    struct parsed *parsed = parse_text("[outbox]\ntabel = \"x\"\nslices = 1025\n"
                                       "[relay]\nlanes = 65\npublish_timeout = \"30s\"\n"
                                       "[[route]]\nmatch = \">\"\nsink = \"b\"\n"
                                       "[sink.a]\ntype = \"kafka\"\n\n[lgo]\n");

    assert_int_equal(parsed->problems.count, 7);
    for (int i = 0; i < 7; i++)
        assert_string_equal(parsed->problems.lines[i], expected[i]);
    free_parsed(parsed);
}

TEST(a_flood_of_problems_ends_in_a_count)
{
    char *text = malloc(200000);
    size_t used = 0;
    struct parsed *parsed;

    assert_non_null(text);
    for (int i = 0; i < 10000; i++)
        used += (size_t)snprintf(text + used, 200000 - used, "x%d = 1\n", i);
    parsed = parse_text(text);
    assert_int_equal(parsed->problems.count, CONFIG_PROBLEMS_MAX);
    assert_string_equal(parsed->problems.lines[CONFIG_PROBLEMS_MAX - 1],
                        "relay.toml: and 9938 more problems");
    free_parsed(parsed);
    free(text);
}

TEST(table_and_columns_must_be_names)
{
    static const struct refusal refusals[] = {
        {"[outbox]\norder = \"none\"\ntable = \"a.b.c\"\n[sink.out]\ntype = \"stdout\"",
         "relay.toml:3:1: table: \"a.b.c\" has more than one dot: one stands between schema and table,"
         " and a name with a dot stands in double quotes"},
        {MINIMAL "[outbox.columns]\nid = 'a\"b'",
         "relay.toml:6:1: id: \"a\"b\" contains a double quote; write the whole name in double"
         " quotes, and two for one inside it"},
        {MINIMAL "[outbox.columns]\nid = '\"a\"b'",
         "relay.toml:6:1: id: \"\"a\"b\" has something behind the closing quote of a name"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_shorter_duration_must_be_shorter)
{
    static const struct refusal refusals[] = {
        {MINIMAL "[relay]\npublish_timeout = \"16s\"",
         "relay.toml:6:1: publish_timeout (16s) must not be longer than shutdown_timeout (15s)"},
        {MINIMAL "[relay]\nshutdown_timeout = \"9999ms\"",
         "relay.toml:6:1: publish_timeout (10s) must not be longer than shutdown_timeout (9999ms)"},
        {MINIMAL "[retry]\nbackoff = \"6m\"",
         "relay.toml:6:1: backoff (6m) must not be longer than backoff_max (5m)"},
        {MINIMAL "[retry]\nbackoff_max = \"1ms\"",
         "relay.toml:6:1: backoff (1s) must not be longer than backoff_max (1ms)"},
        {MINIMAL "[relay]\npublish_timeout = \"16s\"\nshutdown_timeout = \"x\"",
         "relay.toml:7:1: shutdown_timeout: expected a duration such as \"250ms\" or \"10s\", got "
         "a "
         "string \"x\""},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(MINIMAL "[relay]\npublish_timeout = \"10m\"\nshutdown_timeout = \"0\"\n");
    assert_accepted(MINIMAL "[relay]\npublish_timeout = \"15s\"\n");
}

TEST(listening_everywhere_is_a_warning)
{
    static const char *const addresses[] = {"0.0.0.0:9464", "[::]:9464", ":9464"};

    for (size_t i = 0; i < 3; i++) {
        struct parsed *parsed;
        char text[128];

        (void)snprintf(text, sizeof text, MINIMAL "[http]\nlisten = \"%s\"\n", addresses[i]);
        parsed = parse_accepted(text);
        assert_int_equal(parsed->problems.warning_count, 1);
        assert_string_equal(parsed->problems.warnings[0],
                            "relay.toml:6:1: listen: every machine that can reach this one can "
                            "read the metrics; with 127.0.0.1 only this machine can");
        free_parsed(parsed);
    }
}

TEST(an_address_to_listen_on_has_a_host_and_a_port)
{
    static const struct refusal refusals[] = {
        {MINIMAL "[http]\nlisten = \"localhost\"",
         "relay.toml:6:1: listen = \"localhost\": must be \"HOST:PORT\", or \"\" for none"},
        {MINIMAL "[http]\nlisten = \"localhost:0\"",
         "relay.toml:6:1: listen = \"localhost:0\": must be \"HOST:PORT\", or \"\" for none"},
        {MINIMAL "[http]\nlisten = \"::1:80\"",
         "relay.toml:6:1: listen = \"::1:80\": must be \"HOST:PORT\", or \"\" for none"},
        {MINIMAL "[http]\nlisten = \"[::1:80\"",
         "relay.toml:6:1: listen = \"[::1:80\": must be \"HOST:PORT\", or \"\" for none"},
        {MINIMAL "[http]\nlisten = \"h:65536\"",
         "relay.toml:6:1: listen = \"h:65536\": must be \"HOST:PORT\", or \"\" for none"},
    };
    struct parsed *parsed = parse_accepted(MINIMAL "[http]\nlisten = \"\"\n");

    assert_int_equal(parsed->problems.warning_count, 0);
    assert_string_equal(parsed->config.http_listen, "");
    free_parsed(parsed);
    assert_each_refused(REFUSALS(refusals));
}

TEST(a_collector_is_a_url_without_secrets_and_headers_are_names_with_values)
{
#define URL_FORM                                                                                   \
    "relay.toml:6:1: endpoint: must be \"http://HOST:PORT\" or \"https://HOST:PORT\", with a path" \
    " where the collector wants another than /v1/traces"
#define URL_SECRET                                                                                 \
    "relay.toml:6:1: endpoint: secrets do not belong in a URL, which ends up in logs; use headers"
#define HEADER_FORM "relay.toml:6:1: headers: must be \"name=value\", and more of them after commas"
    static const struct refusal refusals[] = {
        {MINIMAL "[trace]\nendpoint = \"localhost:4318\"", URL_FORM},
        {MINIMAL "[trace]\nendpoint = \"grpc://localhost:4317\"", URL_FORM},
        {MINIMAL "[trace]\nendpoint = \"http://\"", URL_FORM},
        {MINIMAL "[trace]\nendpoint = \"http://h:0\"", URL_FORM},
        {MINIMAL "[trace]\nendpoint = \"http://h:1x\"", URL_FORM},
        {MINIMAL "[trace]\nendpoint = \"http://h:1/a b\"", URL_FORM},
        {MINIMAL "[trace]\nendpoint = \"http://u:p@h\"", URL_SECRET},
        {MINIMAL "[trace]\nendpoint = \"https://h/?key=x\"", URL_SECRET},
        {MINIMAL "[trace]\nheaders = \"canary\"", HEADER_FORM},
        {MINIMAL "[trace]\nheaders = \"a=b,=canary\"", HEADER_FORM},
        {MINIMAL "[trace]\nheaders = \"a b=canary\"",
         "relay.toml:6:1: headers: a name has a character that names of headers must not have"},
        {MINIMAL "[trace]\nheaders = \"a=b%0d%0acanary: x\"",
         "relay.toml:6:1: headers: a value has a control character"},
        {MINIMAL "[trace]\ntimeout = \"99ms\"",
         "relay.toml:6:1: timeout = \"99ms\": must be 100ms..1m"},
    };
    struct parsed *parsed =
        parse_accepted(MINIMAL "[trace]\nendpoint = \"http://h\"\nheaders = \"a=b, c=%20d\"\n");

    assert_int_equal(parsed->problems.warning_count, 1);
    assert_string_equal(
        parsed->problems.warnings[0],
        "relay.toml:7:1: headers: others on the network can read them; write https:// in endpoint");
    free_parsed(parsed);
    parsed = parse_accepted(MINIMAL "[trace]\nendpoint = \"\"\nheaders = \"\"\n");
    assert_null(parsed->config.trace.endpoint);
    free_parsed(parsed);
    assert_each_refused(REFUSALS(refusals));
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        assert_not_shown(refusals[i].text, "canary");
}

TEST(fields_that_follow_from_other_sections_are_set)
{
    struct parsed *parsed = parse_accepted(
        "[sink.a]\ntype = \"stdout\"\nallow = [\"x.>\", \"re:^y\"]\n[sink.b]\ntype = \"stdout\"\n"
        "[[route]]\nmatch = \">\"\nsink = \"b\"\n[outbox]\norder = \"key\"\n"
        "[relay]\nbatch = 7\nbatch_bytes = \"1MiB\"\npublish_timeout = \"3s\"\n"
        "synchronous_commit = \"off\"\n");
    const struct relay_options *relay = &parsed->config.relay;

    assert_int_equal(relay->outbox.batch, 7);
    assert_int_equal(relay->outbox.batch_bytes, 1048576);
    assert_int_equal(relay->outbox.publish_timeout_ms, 3000);
    assert_false(relay->outbox.synchronous_commit);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(relay->sinks[i].batch, 7);
        assert_int_equal(relay->sinks[i].publish_timeout_ms, 3000);
        assert_true(relay->sinks[i].keep_order);
    }
    assert_string_equal(relay->sinks[0].name, "a");
    assert_true(match_topic(&relay->sinks[0].allowed[0], text_of("x.1")));
    assert_true(match_topic(&relay->sinks[0].allowed[1], text_of("y")));
    free_parsed(parsed);
}
