#include "unit/config/parsed.h"

#define ORDER "[outbox]\norder = \"none\"\n"
#define KAFKA ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = [\"a:9092\"]\n"
#define NATS ORDER "[sink.n]\ntype = \"nats\"\nservers = [\"nats://[::1]\"]\nstream = \"S\"\n"

TEST(a_sink_has_a_type_that_is_known)
{
    static const struct refusal refusals[] = {
        {ORDER "[sink.a]", "relay.toml:3:1: a sink needs a type: \"kafka\", \"nats\", \"stdout\""},
        {ORDER "[sink.a]\ntype = \"kafak\"",
         "relay.toml:4:1: type: unknown type \"kafak\"; known: \"kafka\", \"nats\", \"stdout\""},
        {ORDER "[sink.a]\ntype = 1", "relay.toml:4:1: type: expected a string, got an integer 1"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_sink_has_a_name)
{
#define BAD_NAME " is not a name for a sink; use 1 to 64 letters, digits, \"_\" and \"-\""
    static const struct refusal refusals[] = {
        {ORDER "[sink]\ntype = \"stdout\"",
         "relay.toml:4:1: \"type\" is set in [sink] itself, but a sink needs a name: [sink.NAME]"},
        {ORDER "[[sink]]", "relay.toml:3:1: sink: a sink needs a name: [sink.NAME]"},
        {ORDER "[sink]",
         "relay.toml:1:1: there is no sink; add [sink.NAME] with a type: \"kafka\", \"nats\", "
         "\"stdout\""},
        {ORDER "[sink.\"a b\"]\ntype = \"stdout\"", "relay.toml:3:1: \"a b\"" BAD_NAME},
        {ORDER "[sink.\"\"]\ntype = \"stdout\"", "relay.toml:3:1: \"\"" BAD_NAME},
        {ORDER "[sink.\"\\u001b[2J\"]\ntype = \"stdout\"", "relay.toml:3:1: \"\\x1b[2J\"" BAD_NAME},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(ORDER "[sink.A-z_0]\ntype = \"stdout\"\n");
}

TEST(there_are_at_most_16_sinks)
{
    char text[2048] = ORDER "[[route]]\nmatch = \">\"\nsink = \"s0\"\n";

    for (int i = 0; i < 16; i++) {
        size_t used = strlen(text);

        (void)snprintf(text + used, sizeof text - used, "[sink.s%d]\ntype = \"stdout\"\n", i);
    }
    assert_accepted(text);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text),
                   "[sink.x]\ntype = \"stdout\"\n");
    assert_only_problem(text, "relay.toml:38:1: more than 16 sinks");
}

TEST(each_type_needs_and_takes_its_own_keys)
{
#define NO_STREAM                                                                                  \
    "a sink of type \"nats\" needs stream = \"NAME\", a JetStream stream; at-most-once "           \
    "delivery without a stream is not supported"
    static const struct refusal refusals[] = {
        {ORDER "[sink.k]\ntype = \"kafka\"",
         "relay.toml:3:1: a sink of type \"kafka\" needs brokers = [\"HOST:PORT\"]"},
        {KAFKA "stream = \"S\"",
         "relay.toml:6:1: stream: not a key of a sink of type \"kafka\", only of \"nats\"; "
         "librdkafka's own settings go into properties"},
        {KAFKA "username = \"u\"",
         "relay.toml:6:1: username: not a key of a sink of type \"kafka\", only of \"nats\"; "
         "librdkafka's own settings go into properties"},
        {ORDER "[sink.n]\ntype = \"nats\"\nservers = [\"nats://a\"]", "relay.toml:3:1: " NO_STREAM},
        {ORDER "[sink.n]\ntype = \"nats\"\nstream = \"S\"",
         "relay.toml:3:1: a sink of type \"nats\" needs servers = "
         "[\"nats://HOST:PORT\"]"},
        {NATS "brokers = [\"a:1\"]",
         "relay.toml:7:1: brokers: not a key of a sink of type \"nats\", only of \"kafka\""},
        {NATS "properties = {}",
         "relay.toml:7:1: properties: not a key of a sink of type \"nats\", only of \"kafka\""},
        {MINIMAL "create = true",
         "relay.toml:5:1: create: not a key of a sink of type \"stdout\", only of \"kafka\" and "
         "\"nats\""},
        {NATS "stream2 = 1", "relay.toml:7:1: unknown key \"stream2\" in [sink.n]; did you mean "
                             "\"stream\"?"},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(KAFKA "create = true\nallow = [\"a.>\"]\n");
    assert_accepted(NATS "create = true\nallow = [\"a.>\"]\n");
    assert_accepted(MINIMAL "allow = [\"a.>\"]\n");
}

TEST(headers_of_every_row_have_names_that_each_sink_takes)
{
#define ROW_HEADER(name) "\n[outbox.headers]\n\"" name "\" = \"('v')\""
#define WOULD "sink \"n\" would refuse every row: "
    static const struct refusal refusals[] = {
        {NATS ROW_HEADER("Nats-TTL"),
         "relay.toml:9:1: \"Nats-TTL\": " WOULD
         "reserved header: NATS servers obey headers with \"Nats-\" in "
         "their names"},
        {NATS ROW_HEADER("id"), "relay.toml:9:1: \"id\": " WOULD
                                "reserved header: the relay sets one of this name itself"},
        {NATS ROW_HEADER("a b"),
         "relay.toml:9:1: \"a b\": " WOULD "invalid header name: only letters, digits and "
         "!#$%&'*+-.^_`|~ are allowed"},
        {NATS "headers.id = \"X-Id\"" ROW_HEADER("X-Id"),
         "relay.toml:9:1: \"X-Id\": " WOULD
         "reserved header: the relay sets one of this name itself"},
        {KAFKA ROW_HEADER("created_at"),
         "relay.toml:8:1: \"created_at\": sink \"k\" would refuse every row: reserved header: the relay sets "
         "one of this name itself"},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(KAFKA ROW_HEADER("Nats-TTL"));
    assert_accepted(KAFKA ROW_HEADER("key"));
    assert_accepted(NATS "headers.id = \"\"" ROW_HEADER("id"));
    assert_accepted(MINIMAL ROW_HEADER("id"));
}

TEST(the_relays_own_headers_have_names_that_the_broker_takes)
{
#define TWICE ": the header of id has the same name"
    static const struct refusal refusals[] = {
        {NATS "headers.id = \"a:b\"",
         "relay.toml:7:9: id: invalid header name: only letters, digits and !#$%&'*+-.^_`|~ are "
         "allowed"},
        {NATS "headers.id = \"Nats-Msg-Id\"",
         "relay.toml:7:9: id: reserved header: NATS servers obey headers with \"Nats-\" in their "
         "names"},
        {KAFKA "headers.id = \"a\\tb\"",
         "relay.toml:6:9: id: invalid header name: only UTF-8 without control characters is "
         "allowed"},
        {KAFKA "[sink.k.headers]\nid = \"x\"\ntype = \"x\"", "relay.toml:8:1: type" TWICE},
        {KAFKA "[sink.k.headers]\nid = \"type\"", "relay.toml:6:1: type" TWICE},
        {KAFKA "[sink.k.headers]\ncreated_at = \"replayed_at\"",
         "relay.toml:6:1: replayed_at: the header of created_at has the same name"},
        {KAFKA "[sink.k.headers]\nkey = \"k\"",
         "relay.toml:7:1: key: not a key of a sink of type \"kafka\", only of \"nats\""},
        {KAFKA "[sink.k.headers]\nidd = \"k\"",
         "relay.toml:7:1: unknown key \"idd\" in [sink.NAME.headers]; did you mean \"id\"?"},
        {KAFKA "headers = 1",
         "relay.toml:6:1: headers: expected a section [sink.NAME.headers], got "
         "an integer"},
        {MINIMAL "headers.id = \"x\"",
         "relay.toml:5:1: headers: not a key of a sink of type \"stdout\", only of \"kafka\" and "
         "\"nats\""},
        {NATS "null_headers = true", "relay.toml:7:1: null_headers: not a key of a sink of type "
                                     "\"nats\", only of \"kafka\""},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(NATS "[sink.n.headers]\nid = \"X-Event-ID\"\nkey = \"id\"\ntype = \"\"\n");
    assert_accepted(KAFKA "null_headers = true\n[sink.k.headers]\nid = \"_internal_:id\"\n");
}

TEST(a_sink_without_a_header_for_the_id_is_warned_of)
{
    static const char *const texts[] = {KAFKA "headers.id = \"\"\n", NATS "headers.id = \"\"\n"};
    static const char *const warnings[] = {
        "relay.toml:6:9: id: no header holds the event id, by which consumers recognise repeats",
        "relay.toml:7:9: id: no header holds the event id but Nats-Msg-Id, by which consumers "
        "recognise repeats"};

    for (size_t i = 0; i < 2; i++) {
        struct parsed *parsed = parse_accepted(texts[i]);

        assert_int_equal(parsed->problems.warning_count, 1);
        assert_string_equal(parsed->problems.warnings[0], warnings[i]);
        free_parsed(parsed);
    }
}

TEST(a_header_of_the_rows_may_hold_the_id)
{
    struct parsed *parsed =
        parse_accepted(KAFKA "headers.id = \"\"\n[outbox.columns]\nevent_id = \"uid\"\n"
                             "[outbox.headers]\nmessage_uuid = \"uid\"\n");

    assert_int_equal(parsed->problems.warning_count, 0);
    free_parsed(parsed);
}

TEST(cloudevents_need_a_source_and_names_of_their_own)
{
#define EVENTS KAFKA "cloudevents = \"binary\"\n"
#define SOURCE "[cloudevents]\nsource = \"/a\"\n"
    static const struct refusal refusals[] = {
        {EVENTS, "relay.toml:6:1: cloudevents: requires [cloudevents] with a source, which says "
                 "where the events come from"},
        {EVENTS "[cloudevents]\nsource = \"a b\"",
         "relay.toml:8:1: source: only printable ASCII but blanks and \"<>\\^`{|} is allowed"},
        {EVENTS SOURCE "type = \"\xC3\xBC\"",
         "relay.toml:9:1: type: only printable ASCII is allowed"},
        {EVENTS SOURCE "content_type = \"application/cloudevents+json\"",
         "relay.toml:9:1: content_type: it is that of the payload, not of the event"},
        {EVENTS "headers.id = \"ce_id\"\n" SOURCE,
         "relay.toml:7:9: id: this name belongs to CloudEvents"},
        {EVENTS "headers.id = \"Content-Type\"\n" SOURCE,
         "relay.toml:7:9: id: this name belongs to CloudEvents"},
        {EVENTS SOURCE "attributes.id = \"x\"",
         "relay.toml:9:12: \"id\": the relay sets this attribute: it is the event id, event_id of "
         "[outbox.columns]"},
        {EVENTS SOURCE "attributes.data_base64 = \"x\"",
         "relay.toml:9:12: \"data_base64\": this is the payload, and no attribute"},
        {EVENTS SOURCE "attributes.Tenant = \"x\"",
         "relay.toml:9:12: \"Tenant\": the name of an attribute is 1 to 20 of a-z and 0-9"},
        {EVENTS SOURCE "attributes.a23456789012345678901 = \"x\"",
         "relay.toml:9:12: \"a23456789012345678901\": the name of an attribute is 1 to 20 of a-z "
         "and 0-9"},
        {EVENTS SOURCE "attributes.tenant = \"(x\"",
         "relay.toml:9:12: tenant: \"(x\" begins with a parenthesis and does not end with one; "
         "write \"(EXPRESSION)\""},
        {EVENTS SOURCE "attributes.tenant = 1",
         "relay.toml:9:12: tenant: expected a string, got an integer"},
        {EVENTS SOURCE "attributes = 1",
         "relay.toml:9:1: attributes: expected a section [cloudevents.attributes], got an integer"},
        {EVENTS SOURCE "attributes.x = \"x\"\n[outbox.headers]\nce_x = \"y\"",
         "relay.toml:9:12: \"x\": a header of [outbox.headers] and an attribute of "
         "[cloudevents.attributes] are the same"},
        {KAFKA "cloudevents = \"batch\"",
         "relay.toml:6:1: cloudevents = \"batch\": must be \"off\", \"binary\" or \"structured\""},
        {MINIMAL "cloudevents = \"binary\"",
         "relay.toml:5:1: cloudevents: not a key of a sink of type \"stdout\", only of \"kafka\" "
         "and \"nats\""},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(NATS "cloudevents = \"structured\"\nheaders.id = \"\"\n" SOURCE
                         "type = \"a b\"\ncontent_type = \"text/plain; charset=UTF-8\"\n"
                         "[cloudevents.attributes]\nsource = \"s\"\ntype = \"(lower(t))\"\n"
                         "subject = \"u\"\na2345678901234567890 = \"v\"\n");
}

TEST(lists_hold_1_to_32_strings)
{
    static const struct refusal refusals[] = {
        {ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = []",
         "relay.toml:5:1: brokers: 0 items; must be 1..32"},
        {ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = \"a:1\"",
         "relay.toml:5:1: brokers: expected a list of strings, got a string \"a:1\""},
        {ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = [\"a:1\", 2]",
         "relay.toml:5:19: brokers: expected a list of strings, got an integer 2 in it"},
        {ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = [\"a:1\", \"\"]",
         "relay.toml:5:19: brokers: must not be empty"},
        {MINIMAL "allow = [1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6]",
         "relay.toml:5:1: allow: 33 items; must be 1..32"},
        {MINIMAL "allow = [\"a\", \"b..c\"]", "relay.toml:5:15: allow: empty token"},
        {MINIMAL "allow = [\"a.>.b\"]", "relay.toml:5:10: allow: \">\" is allowed only at the end"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(brokers_are_host_and_port)
{
    static const char *const bad[] = {"localhost", "a:",        ":1",    "a:0",
                                      "a:65536",   "a:1,b:2",   "a b:1", "http://a:1",
                                      "[::1]",     "[::1:9092", "a:1x",  "a:-1"};
    static const char *const good[] = {"a:1", "a-b.c_d:65535", "[::1]:9092", "10.0.0.1:9092"};
    char text[256];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char line[256];

        (void)snprintf(text, sizeof text, ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n",
                       bad[i]);
        (void)snprintf(
            line, sizeof line,
            "relay.toml:5:12: brokers: \"%s\": must be \"HOST:PORT\", one broker per item", bad[i]);
        assert_only_problem(text, line);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(text, sizeof text, ORDER "[sink.k]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n",
                       good[i]);
        assert_accepted(text);
    }
}

TEST(servers_are_urls_without_credentials)
{
    static const char *const bad[] = {
        "localhost:4222", "nats://",   "nats://a:",         "nats://a/",
        "ws://a",         "tls://a:0", "nats://a,nats://b", "nats://a b"};
    static const char *const good[] = {"nats://a", "tls://a:4222", "nats://[::1]:4222",
                                       "tls://[::1]"};
    char text[256];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct parsed *parsed;

        (void)snprintf(text, sizeof text,
                       ORDER "[sink.n]\ntype = \"nats\"\nstream = \"S\"\nservers = [\"%s\"]\n",
                       bad[i]);
        parsed = parse_text(text);
        assert_int_equal(parsed->problems.count, 1);
        assert_non_null(strstr(parsed->problems.lines[0], "relay.toml:6:12: servers: \""));
        assert_non_null(strstr(parsed->problems.lines[0],
                               "must be \"nats://HOST:PORT\" or \"tls://HOST:PORT\""));
        free_parsed(parsed);
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(text, sizeof text,
                       ORDER "[sink.n]\ntype = \"nats\"\nstream = \"S\"\nservers = [\"%s\"]\n",
                       good[i]);
        assert_accepted(text);
    }
    assert_only_problem(
        ORDER "[sink.n]\ntype = \"nats\"\nstream = \"S\"\n"
              "servers = [\"nats://u:hunter2@a\"]",
        "relay.toml:6:12: servers: credentials do not belong in a URL, which ends up "
        "in logs; use username and password_file, token_file, nkey and nkey_file, or "
        "credentials_file");
}

TEST(there_is_one_way_to_log_in)
{
    static const struct refusal refusals[] = {
        {NATS "username = \"u\"\npassword = \"hunter2\"\npassword_file = \"/x\"",
         "relay.toml:9:1: password_file: password is given too; keep only one of them"},
        {NATS "token = \"hunter2\"\ntoken_file = \"/x\"",
         "relay.toml:8:1: token_file: token is given too; keep only one of them"},
        {NATS "token_file = \"/x\"\ncredentials_file = \"/x\"",
         "relay.toml:8:1: credentials_file: token_file is given too; keep only one of "
         "them"},
        {NATS "nkey = \"U\"\nnkey_file = \"/x\"\ncredentials_file = \"/x\"",
         "relay.toml:7:1: nkey: credentials_file is given too; keep only one of them"},
        {NATS "nkey = \"U\"", "relay.toml:7:1: nkey: requires nkey_file"},
        {NATS "nkey_file = \"/x\"", "relay.toml:7:1: nkey_file: requires nkey"},
        {NATS "username = \"u\"", "relay.toml:7:1: username: requires password_file"},
        {NATS "password_file = \"/x\"", "relay.toml:7:1: password_file: requires username"},
        {NATS "tls_cert_file = \"/x\"", "relay.toml:7:1: tls_cert_file: requires tls_key_file"},
        {NATS "tls_key_file = \"/x\"", "relay.toml:7:1: tls_key_file: requires tls_cert_file"},
        {NATS "token = \"\"", "relay.toml:7:1: token: must not be empty"},
        {NATS "token = 5", "relay.toml:7:1: token: expected a string, got an integer"},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(NATS "username = \"u\"\npassword = \"hunter2\"\n");
    assert_accepted(NATS "username = \"u\"\npassword_file = \"/x\"\n");
    assert_accepted(NATS "nkey = \"U\"\nnkey_file = \"/x\"\n");
    assert_accepted(NATS "token_file = \"/x\"\ntls_ca_file = \"/x\"\n");
    assert_accepted(NATS
                    "credentials_file = \"/x\"\ntls_cert_file = \"/x\"\ntls_key_file = \"/x\"\n");
}

#define PLAIN(server, secret)                                                                      \
    "relay.toml:5:12: servers: \"" server "\": the " secret                                        \
    " would cross the network without TLS; "                                                       \
    "write tls://, or allow_plaintext = true to say that this network is trusted"
#define NATS_AT(servers)                                                                           \
    ORDER "[sink.n]\ntype = \"nats\"\nservers = [" servers "]\nstream = \"S\"\n"
#define USER "username = \"u\"\npassword_file = \"/x\"\n"

TEST(no_password_crosses_a_network_to_nats_in_the_clear)
{
    static const struct refusal refusals[] = {
        {NATS_AT("\"nats://a\"") USER, PLAIN("nats://a", "password")},
        {NATS_AT("\"nats://10.0.0.1:4222\"") "token = \"hunter2\"\n",
         PLAIN("nats://10.0.0.1:4222", "token")},
        {NATS_AT("\"nats://[fe80::1]:4222\"") "token_file = \"/x\"\n",
         PLAIN("nats://[fe80::1]:4222", "token")},
        {NATS_AT("\"nats://localhost.example\"") USER,
         PLAIN("nats://localhost.example", "password")},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(NATS_AT("\"nats://a\"") USER "allow_plaintext = true\n");
    assert_accepted(NATS_AT("\"nats://a\"") USER "tls_ca_file = \"/x\"\n");
    assert_accepted(NATS_AT("\"tls://a\"") USER);
    assert_accepted(NATS_AT("\"nats://a\""));
    assert_accepted(NATS_AT("\"nats://a\"") "credentials_file = \"/x\"\n");
    assert_accepted(NATS_AT("\"nats://localhost\", \"nats://127.0.0.1:1\", \"nats://[::1]:1\"")
                        USER);
}

TEST(a_stream_is_created_with_subjects)
{
    static const struct refusal refusals[] = {
        {NATS "create = true",
         "relay.toml:7:1: create: requires allow, whose patterns become the stream's subjects"},
        {NATS "create = true\nallow = [\"a\", \"re:b\"]",
         "relay.toml:8:15: allow: a regular expression cannot be a subject of the stream that is "
         "created"},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(NATS "create = false\nallow = [\"re:b\"]\n");
}

TEST(properties_are_kept_as_text_with_their_lines)
{
    struct parsed *parsed = parse_accepted(
        KAFKA "[sink.k.properties]\n\"compression.type\" = \"lz4\"\n\"linger.ms\" = 5\n"
              "\"socket.keepalive.enable\" = true\n");
    const struct sink_options *sink = &parsed->config.relay.sinks[0];

    assert_int_equal(sink->property_count, 3);
    assert_string_equal(sink->properties[0].name, "compression.type");
    assert_string_equal(sink->properties[0].value, "lz4");
    assert_int_equal(sink->properties[0].line, 7);
    assert_string_equal(sink->properties[1].value, "5");
    assert_string_equal(sink->properties[2].value, "true");
    free_parsed(parsed);
}

TEST(a_property_is_a_plain_value_with_a_quoted_name)
{
    static const struct refusal refusals[] = {
        {KAFKA "[sink.k.properties]\ncompression.type = \"lz4\"",
         "relay.toml:7:1: compression.type: write the whole name in quotes: \"compression.type\" = "
         "\"...\""},
        {KAFKA "[sink.k.properties]\n\"linger.ms\" = [5]",
         "relay.toml:7:1: linger.ms: expected a string, an integer or a boolean, got a list"},
        {KAFKA "[sink.k.properties]\n\"linger.ms\" = 0.5",
         "relay.toml:7:1: linger.ms: expected a string, an integer or a boolean, got a float"},
        {KAFKA "properties = 1",
         "relay.toml:6:1: properties: expected a section [sink.NAME.properties], got an integer"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(there_are_at_most_32_properties)
{
    char text[2048] = KAFKA "[sink.k.properties]\n";

    for (int i = 0; i < 33; i++) {
        size_t used = strlen(text);

        (void)snprintf(text + used, sizeof text - used, "\"x.%d\" = \"1\"\n", i);
    }
    assert_refused(text, "relay.toml:39:1: more than 32 properties");
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

TEST(every_property_that_the_client_refuses_is_reported_where_it_stands)
{
    struct parsed *parsed = parse_text(KAFKA "[sink.k.properties]\n\"linger.mss\" = \"5\"\n"
                                             "\"client.id\" = \"x\"\n\"acks\" = \"1\"\n");

    assert_int_equal(parsed->status, -1);
    assert_int_equal(parsed->problems.count, 2);
    assert_true(begins_with(parsed->problems.lines[0], "relay.toml:7:1: "));
    assert_non_null(strstr(parsed->problems.lines[0], "linger.mss"));
    assert_true(begins_with(parsed->problems.lines[1], "relay.toml:9:1: "));
    assert_non_null(strstr(parsed->problems.lines[1], "acks"));
    free_parsed(parsed);
}

TEST(a_secret_is_never_shown)
{
    static const char *const texts[] = {
        KAFKA "[sink.k.properties]\n\"ssl.key.password\" = \"hunter2\"\n\"acks\" = \"hunter2\"\n",
        KAFKA "[sink.k.properties]\n\"sasl.password\" = [\"hunter2\"]\n",
        KAFKA "[sink.k.properties]\nsasl.password = \"hunter2\"\n",
        NATS "password = [\"hunter2\"]\n",
        NATS "password = \"hunter2\"\ntoken = \"hunter2\"\n",
        NATS "token = \"hunter2${\"\n",
        NATS "tokne = \"hunter2\"\n",
        NATS "servers = [\"nats://u:hunter2@a:x\"]\n",
        ORDER "[sink.n]\ntype = \"nats\"\nservers = [\"nats://u:hunter2@a:x\", \"u:hunter2@a\"]\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_not_shown(texts[i], "hunter2");
}
