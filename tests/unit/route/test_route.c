#include "route/route.h"
#include "unit/batch.h"

#include <stdlib.h>
#include <string.h>

#define ROUTES_MAX 8

static struct routes routes;

static int setup(void **state)
{
    routes = (struct routes){.entries = calloc(ROUTES_MAX, sizeof *routes.entries)};
    return routes.entries == NULL ? -1 : open_batch(state);
}

static int teardown(void **state)
{
    routes_free(&routes);
    return close_batch(state);
}

FIXTURE(setup, teardown)

static void add_route(const char *match, int sink, const char *topic, const char *key)
{
    struct route *route = &routes.entries[routes.count++];
    char why[160];
    size_t position;

    route->sink = sink;
    assert_int_equal(match_parse(&route->match, match, why, sizeof why), 0);
    assert_int_equal(template_parse(&route->topic, topic, why, sizeof why, &position), 0);
    assert_int_equal(template_parse(&route->key, key, why, sizeof why, &position), 0);
}

static struct message *add_message(const char *topic, const char *key)
{
    struct message *message = batch_add(&batch);

    message->topic = text_of(topic);
    message->key = text_of(key);
    return message;
}

static void assert_routed(const struct message *message, int sink, const char *destination)
{
    assert_int_equal(message->verdict, VERDICT_PENDING);
    assert_int_equal(message->sink, sink);
    assert_true(text_equal(message->destination, text_of(destination)));
}

static void assert_refused(const struct message *message, enum verdict verdict,
                           const char *part_of_reason)
{
    assert_int_equal(message->verdict, verdict);
    assert_int_equal(message->sink, -1);
    assert_non_null(message->reason);
    assert_non_null(strstr(message->reason, part_of_reason));
}

static void assert_rejected(const struct message *message, const char *part_of_reason)
{
    assert_refused(message, VERDICT_REJECTED, part_of_reason);
}

TEST(the_first_route_that_matches_wins)
{
    struct message *special = add_message("order.created", "k");
    struct message *general = add_message("order.paid", "k");
    struct message *rest = add_message("invoice", "k");

    add_route("order.created", 2, "first.{topic}", "{key}");
    add_route("order.*", 1, "second.{topic}", "{key}");
    add_route("order.created", 3, "never", "{key}");
    add_route(">", 0, "{topic}", "{key}");
    route_batch(&routes, &batch);
    assert_routed(special, 2, "first.order.created");
    assert_routed(general, 1, "second.order.paid");
    assert_routed(rest, 0, "invoice");
}

TEST(without_routes_all_goes_to_the_only_sink_as_it_is)
{
    struct message *keyed = add_message("any thing", "k");
    struct message *keyless = add_message("b", NULL);

    route_batch(&routes, &batch);
    assert_routed(keyed, 0, "any thing");
    assert_true(text_equal(keyed->route_key, text_of("k")));
    assert_routed(keyless, 0, "b");
    assert_null(keyless->route_key.data);
}

TEST(the_key_template_makes_the_key_at_the_broker)
{
    struct message *message = add_message("order", "k");

    add_route(">", 0, "{topic}", "{topic}/{key}");
    route_batch(&routes, &batch);
    assert_true(text_equal(message->route_key, text_of("order/k")));
}

TEST(a_null_key_stays_null_and_an_empty_one_empty)
{
    struct message *null = add_message("order", NULL);
    struct message *empty = add_message("order", "");
    struct message *built = add_message("invoice", NULL);

    add_route("order", 0, "{topic}", "{key}");
    add_route("invoice", 0, "{topic}", "prefix.{key}");
    route_batch(&routes, &batch);
    assert_routed(null, 0, "order");
    assert_null(null->route_key.data);
    assert_routed(empty, 0, "order");
    assert_non_null(empty->route_key.data);
    assert_int_equal(empty->route_key.len, 0);
    assert_routed(built, 0, "invoice");
    assert_null(built->route_key.data);
}

TEST(a_null_or_empty_topic_is_rejected_with_and_without_routes)
{
    struct message *null = add_message(NULL, "k");
    struct message *empty = add_message("", "k");

    route_batch(&routes, &batch);
    assert_rejected(null, "NULL");
    assert_rejected(empty, "empty");
    add_route(">", 0, "constant", "{key}");
    batch_reset(&batch);
    null = add_message(NULL, "k");
    empty = add_message("", "k");
    route_batch(&routes, &batch);
    assert_rejected(null, "NULL");
    assert_rejected(empty, "empty");
}

TEST(a_topic_that_no_route_matches_is_declined_by_name)
{
    struct message *message = add_message("invoice.paid", "k");

    add_route("order.>", 0, "{topic}", "{key}");
    route_batch(&routes, &batch);
    assert_refused(message, VERDICT_DECLINED, "\"invoice.paid\"");
}

TEST(the_topic_in_a_reason_is_escaped_and_cut)
{
    char topic[4096];
    struct message *hostile = add_message("a\n\x1b[2Jb", "k");
    struct message *endless;

    memset(topic, 'x', sizeof topic);
    topic[sizeof topic - 1] = '\0';
    endless = add_message(topic, "k");
    add_route("order", 0, "{topic}", "{key}");
    route_batch(&routes, &batch);
    assert_refused(hostile, VERDICT_DECLINED, "a\\n\\x1b[2Jb");
    assert_null(strpbrk(hostile->reason, "\n\x1b"));
    assert_refused(endless, VERDICT_DECLINED, "xxx...");
    assert_true(strlen(endless->reason) < 512);
}

TEST(a_destination_built_from_a_null_column_is_rejected)
{
    struct message *message = add_message("order", NULL);
    struct message *neighbour = add_message("order", "k");

    add_route(">", 1, "shop.{key}", "{key}");
    route_batch(&routes, &batch);
    assert_rejected(message, "shop.{key}");
    assert_non_null(strstr(message->reason, "NULL"));
    assert_routed(neighbour, 1, "shop.k");
}

TEST(messages_that_have_a_verdict_are_left_alone)
{
    static const enum verdict verdicts[] = {VERDICT_SENT, VERDICT_RETRY, VERDICT_WAIT,
                                            VERDICT_REJECTED};

    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        struct message *message = add_message("order", "k");

        message->verdict = verdicts[i];
        message->reason = "before";
    }
    route_batch(&routes, &batch);
    for (int i = 0; i < batch.count; i++) {
        assert_int_equal(batch.messages[i].verdict, verdicts[i]);
        assert_int_equal(batch.messages[i].sink, -1);
        assert_string_equal(batch.messages[i].reason, "before");
        assert_null(batch.messages[i].destination.data);
    }
}
