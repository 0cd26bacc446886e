#include "unit/config/parsed.h"

#define TWO                                                                                        \
    "[outbox]\norder = \"none\"\n[sink.events]\ntype = \"kafka\"\nbrokers = [\"a:1\"]\n"           \
    "allow = [\"shop.>\"]\n[sink.bus]\ntype = \"stdout\"\n"

TEST(routes_are_kept_in_file_order)
{
    struct parsed *parsed = parse_accepted("[[route]]\nmatch = \"order.*\"\nsink = \"bus\"\n"
                                           "topic = \"shop.{topic}\"\nkey = \"{id}\"\n" TWO
                                           "[[route]]\nmatch = \"re:^x\"\nsink = \"events\"\n");
    const struct routes *routes = &parsed->config.relay.routes;

    assert_int_equal(routes->count, 2);
    assert_string_equal(routes->entries[0].match.source, "order.*");
    assert_int_equal(routes->entries[0].sink, 1);
    assert_string_equal(routes->entries[0].topic.source, "shop.{topic}");
    assert_string_equal(routes->entries[0].key.source, "{id}");
    assert_true(routes->entries[1].match.is_regex);
    assert_int_equal(routes->entries[1].sink, 0);
    assert_string_equal(routes->entries[1].topic.source, "{topic}");
    assert_string_equal(routes->entries[1].key.source, "{key}");
    free_parsed(parsed);
}

TEST(the_only_sink_need_not_be_named)
{
    struct parsed *parsed = parse_accepted(MINIMAL "[[route]]\nmatch = \">\"\n");

    assert_int_equal(parsed->config.relay.routes.count, 1);
    assert_int_equal(parsed->config.relay.routes.entries[0].sink, 0);
    free_parsed(parsed);
}

TEST(a_route_says_what_is_wrong_with_it)
{
    static const struct refusal refusals[] = {
        {TWO,
         "relay.toml:7:1: with more than one sink at least one [[route]] must say what goes where"},
        {TWO "[[route]]\nmatch = \">\"", "relay.toml:9:1: a route needs a sink: there are 2"},
        {TWO "[[route]]\nsink = \"bus\"",
         "relay.toml:9:1: a route needs a match; \">\" matches every topic"},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"evnets\"",
         "relay.toml:11:1: there is no sink \"evnets\"; did you mean \"events\"?"},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"warehouse\"",
         "relay.toml:11:1: there is no sink \"warehouse\"; known: \"events\", \"bus\""},
        {TWO "[[route]]\nmatch = \">\"\nsink = 1",
         "relay.toml:11:1: sink: expected a string, got an integer 1"},
        {TWO "[[route]]\nmatch = \"a..b\"\nsink = \"bus\"", "relay.toml:10:1: match: empty token"},
        {TWO "[[route]]\nmatch = \"\"\nsink = \"bus\"",
         "relay.toml:10:1: match: must not be empty"},
        {TWO "[[route]]\nmatch = \"re:(\"\nsink = \"bus\"",
         "relay.toml:10:1: match: Unmatched ( or \\("},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"bus\"\ntopic = \"shop.{topc}\"",
         "relay.toml:12:1: topic: at position 6: unknown placeholder {topc}; known: {topic} {key} "
         "{type} {id} {event_id}"},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"bus\"\nkey = \"{key\"",
         "relay.toml:12:1: key: at position 1: \"{\" without \"}\"; write \"{{\" for a literal "
         "brace"},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"bus\"\nkey = \"{\\u001b[2J}\"",
         "relay.toml:12:1: key: at position 1: unknown placeholder {\\x1b[2J}; known: {topic} "
         "{key} "
         "{type} {id} {event_id}"},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"bus\"\nkey = \"\"",
         "relay.toml:12:1: key: must not be empty"},
        {TWO "[route]\nmatch = \">\"", "relay.toml:9:1: route: write [[route]], with two brackets"},
        {"route = [1]\n" MINIMAL,
         "relay.toml:1:10: route: expected a list of tables; write [[route]]"},
    };

    assert_each_refused(REFUSALS(refusals));
}

TEST(a_topic_without_placeholders_is_checked_at_once)
{
    static const struct refusal refusals[] = {
        {TWO "[[route]]\nmatch = \">\"\nsink = \"events\"\ntopic = \"a/b\"",
         "relay.toml:12:1: topic: invalid topic name: only letters, digits, \".\", \"_\" and \"-\" "
         "are allowed"},
        {TWO "[[route]]\nmatch = \">\"\nsink = \"events\"\ntopic = \"other\"",
         "relay.toml:12:1: topic: the sink's allow list does not permit this topic"},
        {"[outbox]\norder = \"none\"\n[sink.n]\ntype = \"nats\"\nservers = [\"nats://a\"]\n"
         "stream = \"S\"\n[[route]]\nmatch = \">\"\ntopic = \"$JS.API\"",
         "relay.toml:9:1: topic: reserved subject: \"$...\" and \"_INBOX\" belong to NATS"},
    };

    assert_each_refused(REFUSALS(refusals));
    assert_accepted(TWO "[[route]]\nmatch = \">\"\nsink = \"events\"\ntopic = \"shop.a\"\n");
    assert_accepted(TWO "[[route]]\nmatch = \">\"\nsink = \"events\"\ntopic = \"x/{topic}\"\n");
    assert_accepted(TWO "[[route]]\nmatch = \">\"\nsink = \"bus\"\ntopic = \"a b\"\n");
}

TEST(a_refused_allow_list_is_not_matched_against)
{
    assert_only_problem(MINIMAL "allow = [\"a..b\"]\n[[route]]\nmatch = \">\"\ntopic = \"x\"\n",
                        "relay.toml:5:10: allow: empty token");
}

TEST(patterns_and_routes_are_bounded)
{
    char *text = malloc(20000);
    size_t used = 0;

    assert_non_null(text);
    (void)snprintf(text, 20000, MINIMAL "[[route]]\nmatch = \"re:%01100d\"\n", 0);
    assert_only_problem(text, "relay.toml:6:1: match: longer than 1024 bytes");
    used = (size_t)snprintf(text, 20000, MINIMAL);
    for (int i = 0; i < 128; i++)
        used += (size_t)snprintf(text + used, 20000 - used, "[[route]]\nmatch = \">\"\n");
    assert_accepted(text);
    (void)snprintf(text + used, 20000 - used, "[[route]]\nmatch = \">\"\n");
    assert_only_problem(text, "relay.toml:5:1: 129 routes; at most 128");
    free(text);
}
