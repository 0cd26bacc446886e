#include "unit/config/parsed.h"

#include "config/keys/keys.h"

#define FULL                                                                                                  \
    "[database]\nurl = \"postgresql://u:hunter2@localhost/shop?sslmode=disable\"\n"                           \
    "[outbox]\ntable = \"app.events\"\non_sent = \"delete\"\nretention = \"0\"\norder = "                     \
    "\"none\"\n"                                                                                              \
    "preset = \"debezium\"\ncolumns.key = \"aggregate\"\n"                                                    \
    "[relay]\nlanes = 64\nbatch_bytes = 65537\nshutdown_timeout = \"0\"\n"                                    \
    "synchronous_commit = \"off\"\n"                                                                          \
    "[sink.events]\ntype = \"kafka\"\nbrokers = [\"a:1\", \"b:2\"]\ncreate = true\n"                          \
    "null_headers = true\ncloudevents = \"binary\"\n[sink.events.headers]\nid = \"\xc3\xa9:\"\ntype = \"\"\n" \
    "[sink.events.properties]\n\"compression.type\" = \"lz4\"\n\"sasl.password\" = \"hunter2\"\n"             \
    "[sink.bus]\ntype = \"nats\"\nservers = [\"tls://a\"]\nstream = \"S$${x}\"\n"                             \
    "allow = [\"a.>\", \"re:\\\\.\\\"b\"]\nusername = \"\\u0001\\t\\n\xc3\xa9\"\n"                            \
    "password = \"hunter2\"\ntls_ca_file = \"/x\"\n"                                                          \
    "[sink.bus2]\ntype = \"nats\"\nservers = [\"nats://b:4222\"]\nstream = \"T\"\n"                           \
    "allow_plaintext = true\n"                                                                                \
    "token = \"hunter2\"\n[sink.out]\ntype = \"stdout\"\n"                                                    \
    "[[route]]\nmatch = \"re:^a{1,2}$\"\nsink = \"bus\"\ntopic = \"a.{{x}}.{topic}\"\nkey = "                 \
    "\"{id}\"\n"                                                                                              \
    "[cloudevents]\nsource = \"/shop\"\n[cloudevents.attributes]\ntenant = \"(lower(t))\"\n"                  \
    "[outbox.headers]\n\"x-a\" = \"x\"\n"                                                                     \
    "[[route]]\nmatch = \">\"\nsink = \"out\"\n[log]\nlevel = \"debug\"\nformat = \"json\"\n"                 \
    "[trace]\nendpoint = \"https://h\"\nheaders = \"authorization=hunter2\"\n"

TEST(a_printed_configuration_reads_back_the_same)
{
    struct parsed *first = parse_accepted(FULL);
    char *first_text = printed(&first->config);
    struct parsed *second = parse_accepted(first_text);
    char *second_text = printed(&second->config);

    assert_string_equal(first_text, second_text);
    assert_string_equal(second->config.relay.sinks[1].stream, "S${x}");
    assert_string_equal(second->config.relay.sinks[1].username, "\x01\t\n\xc3\xa9");
    assert_string_equal(second->config.relay.sinks[1].allow.items[1], "re:\\.\"b");
    assert_int_equal(second->config.relay.sink_count, 4);
    assert_int_equal(second->config.relay.outbox.header_count, 2);
    assert_string_equal(second->config.relay.outbox.headers[1].name, "ce_tenant");
    assert_int_equal(second->config.relay.routes.count, 2);
    assert_int_equal(second->config.relay.routes.entries[0].sink, 1);
    free(first_text);
    free(second_text);
    free_parsed(first);
    free_parsed(second);
}

TEST(secrets_are_masked)
{
    struct parsed *parsed = parse_accepted(FULL);
    char *text = printed(&parsed->config);

    assert_null(strstr(text, "hunter2"));
    assert_non_null(strstr(text, "url = \"user=u password=*** dbname=shop host=localhost "
                                 "sslmode=disable\"\n"));
    assert_non_null(strstr(text, "\"sasl.password\" = \"***\"\n"));
    assert_non_null(strstr(text, "\npassword = \"***\"\n"));
    assert_non_null(strstr(text, "\ntoken = \"***\"\n"));
    assert_non_null(strstr(text, "\nheaders = \"***\"\n"));
    free(text);
    free_parsed(parsed);
}

TEST(the_columns_that_a_preset_fills_in_are_shown)
{
    struct parsed *parsed =
        parse_accepted("[outbox]\npreset = \"debezium\"\norder = \"none\"\n[outbox.columns]\n"
                       "type = \"kind\"\n[sink.out]\ntype = \"stdout\"\n");
    char *text = printed(&parsed->config);

    assert_non_null(strstr(text, "[outbox.columns]\nid = \"id\"\nevent_id = \"id\"\n"));
    assert_non_null(strstr(text, "\ntype = \"kind\"\npayload = \"payload\"\nheaders = \"\"\n"));
    assert_non_null(strstr(text, "\n# sent_at = \"sent_at\" (by default)\n"));
    assert_null(strstr(text, "# type"));
    free(text);
    free_parsed(parsed);
}

TEST(a_refused_configuration_can_be_printed_too)
{
    struct parsed *parsed = parse_text("[sink.a]\n[sink.b]\ntype = \"x\"\n[[route]]\nmatch = 1\n");

    free(printed(&parsed->config));
    free_parsed(parsed);
}
