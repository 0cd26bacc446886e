#include "unit/config/parsed.h"

#define SINK "[sink.out]\ntype = \"stdout\"\n"
#define KAFKA "[sink.k]\ntype = \"kafka\"\nbrokers = [\"a:1\"]\n"
#define NATS "[sink.n]\ntype = \"nats\"\nservers = [\"nats://127.0.0.1\"]\nstream = \"S\"\n"

static char *printed_config(const char *text)
{
    struct parsed *parsed = parse_accepted(text);
    char *shown = printed(&parsed->config);

    free_parsed(parsed);
    return shown;
}

static void assert_shown(const char *text, const char *const *lines)
{
    char *shown = printed_config(text);

    for (; *lines != NULL; lines++)
        if (strstr(shown, *lines) == NULL)
            fail_msg("\"%s\" is not in\n%s", *lines, shown);
    free(shown);
}

TEST(a_preset_fills_in_what_the_file_leaves_out)
{
    static const char *const lines[] = {"\ntable = \"public.okapi_outbox\"\n",
                                        "\norder = \"key\"\n",
                                        "\nmark = \"status = 'DELIVERED', last",
                                        "\nkey = \"message_type\"\n",
                                        "\ntopic = \"(delivery_metadata->>'topic')\"\n",
                                        "\nheaders = \"(delivery_metadata->'headers')\"\n",
                                        NULL};

    assert_shown("[outbox]\norder = \"key\"\npreset = \"okapi\"\n"
                 "[outbox.columns]\nkey = \"message_type\"\n" SINK,
                 lines);
}

TEST(a_printed_preset_reads_back_the_same)
{
    char *first = printed_config("[outbox]\npreset = \"cap\"\n" KAFKA);
    char *second = printed_config(first);

    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* Each sink takes what its type has. */
TEST(what_a_preset_has_for_sinks_holds_for_each_that_does_not_say_otherwise)
{
    static const char *const lines[] = {"[sink.k.headers]\nid = \"\"\ntype = \"t\"\n",
                                        "\nnull_headers = true\n",
                                        "[sink.n.headers]\nid = \"\"\ntype = \"\"\ncreated_at ="
                                        " \"\"\nkey = \"\"\n",
                                        NULL};

    assert_shown("[outbox]\npreset = \"cap\"\n" KAFKA "[sink.k.headers]\ntype = \"t\"\n" NATS SINK
                 "[[route]]\nmatch = \">\"\nsink = \"k\"\n",
                 lines);
}

TEST(routes_of_the_file_stand_in_place_of_those_of_the_preset)
{
    static const char *const without[] = {"[[route]]\nmatch = \">\"\nsink = \"out\"\ntopic ="
                                          " \"outbox.event.{topic}\"\n",
                                          NULL};
    struct parsed *parsed = parse_accepted("[outbox]\npreset = \"debezium\"\n" SINK
                                           "[[route]]\nmatch = \"a\"\ntopic = \"b\"\n");

    assert_int_equal(parsed->config.relay.routes.count, 1);
    assert_string_equal(parsed->config.relay.routes.entries[0].topic.source, "b");
    free_parsed(parsed);
    assert_shown("[outbox]\npreset = \"debezium\"\n" SINK, without);
}

TEST(deleting_needs_no_mark_and_an_empty_header_takes_one_away)
{
    struct parsed *parsed =
        parse_accepted("[outbox]\npreset = \"sbmt-outbox\"\non_sent = \"delete\"\n"
                       "[outbox.headers]\n\"Outbox-Name\" = \"\"\n" SINK);

    assert_null(parsed->config.relay.outbox.mark);
    assert_int_equal(parsed->config.relay.outbox.header_count, 2);
    free_parsed(parsed);
}

TEST(an_unknown_preset_is_refused_with_those_that_there_are)
{
    struct parsed *parsed = parse_text("[outbox]\npreset = \"okapy\"\n" SINK);

    assert_int_equal(parsed->problems.count, 1);
    assert_non_null(strstr(parsed->problems.lines[0], ":2:1: preset = \"okapy\": known: default,"
                                                      " boolean-column, cap, debezium,"));
    assert_non_null(strstr(parsed->problems.lines[0], ", wolverine"));
    free_parsed(parsed);
}

TEST(a_preset_may_come_from_a_variable)
{
    static const char *const lines[] = {"\nid = \"Id\"\n", NULL};

    assert_shown("[outbox]\npreset = \"${NO_SUCH_PRESET:-cap}\"\n" KAFKA, lines);
}
