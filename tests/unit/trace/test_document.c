#include "trace/document.h"

#include "base/version.h"
#include "test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct span_queue queue;
static struct document document;

static int set_up(void **state)
{
    (void)state;
    queue_init(&queue);
    return queue_open(&queue);
}

static int tear_down(void **state)
{
    (void)state;
    queue_free(&queue);
    free(document.text);
    document.text = NULL;
    return 0;
}

FIXTURE(set_up, tear_down)

#define BEGIN                                                                                      \
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"     \
    "\"stringValue\":\"shop \\\"relay\\\"\"}},{\"key\":\"service.version\",\"value\":{"            \
    "\"stringValue\":\"" RELAY_VERSION "\"}},{\"key\":\"service.instance.id\",\"value\":{"         \
    "\"stringValue\":\"host:1\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"outbox-relay\","        \
    "\"version\":\"" RELAY_VERSION "\"},\"spans\":["
#define END "]}]}]}"
#define IDS                                                                                        \
    "{\"traceId\":\"4bf92f3577b34da6a3ce929d0e0e4736\",\"spanId\":\"0123456789abcdef\","           \
    "\"parentSpanId\":\"00f067aa0ba902b7\""

static const struct span sent = {
    .parent = {"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"},
    .id = "0123456789abcdef",
    .state = "a=\"b\"",
    .created_us = 1700000000000001,
    .claimed_us = 1700000000000002,
    .published_us = 1700000000000003,
    .acknowledged_us = 1700000000000004,
    .ended_us = 1700000000000004,
    .sink = "bus",
    .system = "nats",
    .event_id = "e-1",
    .row = "7",
    .topic = "order\n\xff",
    .destination = "shop.order",
    .attempts = 2,
};

static const struct span dead = {
    .parent = {"4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"},
    .id = "0123456789abcdef",
    .created_us = 0,
    .claimed_us = 1700000000000002,
    .ended_us = 1700000000000009,
    .failure = "rejected",
    .reason = "no \"route\"",
    .row = "8",
    .topic = "order",
    .attempts = 1,
};

static const char *make(const struct span *spans, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(queue_put(&queue, &spans[i]) > 0);
    document = document_make(&queue, (unsigned)count, "shop \"relay\"", "host:1");
    assert_int_equal(document.len, strlen(document.text));
    return document.text;
}

TEST(a_row_that_was_sent_is_this_document)
{
    assert_string_equal(
        make(&sent, 1), BEGIN IDS
        ",\"traceState\":\"a=\\\"b\\\"\",\"flags\":769,\"name\":\"outbox\",\"kind\":4,"
        "\"attributes\":["
        "{\"key\":\"messaging.system\",\"value\":{\"stringValue\":\"nats\"}},"
        "{\"key\":\"messaging.operation.name\",\"value\":{\"stringValue\":\"publish\"}},"
        "{\"key\":\"messaging.operation.type\",\"value\":{\"stringValue\":\"send\"}},"
        "{\"key\":\"messaging.destination.name\",\"value\":{\"stringValue\":\"shop.order\"}},"
        "{\"key\":\"messaging.message.id\",\"value\":{\"stringValue\":\"e-1\"}},"
        "{\"key\":\"outbox.row\",\"value\":{\"stringValue\":\"7\"}},"
        "{\"key\":\"outbox.topic\",\"value\":{\"stringValue\":\"order\\n\\ufffd\"}},"
        "{\"key\":\"outbox.sink\",\"value\":{\"stringValue\":\"bus\"}},"
        "{\"key\":\"outbox.attempts\",\"value\":{\"intValue\":\"2\"}}],"
        "\"events\":[{\"timeUnixNano\":\"1700000000000001000\",\"name\":\"insert\"},"
        "{\"timeUnixNano\":\"1700000000000002000\",\"name\":\"claim\"},"
        "{\"timeUnixNano\":\"1700000000000003000\",\"name\":\"publish\"},"
        "{\"timeUnixNano\":\"1700000000000004000\",\"name\":\"acknowledge\"}],"
        "\"startTimeUnixNano\":\"1700000000000001000\","
        "\"endTimeUnixNano\":\"1700000000000004000\"}" END);
}

TEST(a_row_that_is_dead_has_an_error_and_no_events_that_did_not_happen)
{
    assert_string_equal(
        make(&dead, 1),
        BEGIN IDS ",\"flags\":769,\"name\":\"outbox\",\"kind\":4,\"attributes\":["
                  "{\"key\":\"messaging.operation.name\",\"value\":{\"stringValue\":\"publish\"}},"
                  "{\"key\":\"messaging.operation.type\",\"value\":{\"stringValue\":\"send\"}},"
                  "{\"key\":\"error.type\",\"value\":{\"stringValue\":\"rejected\"}},"
                  "{\"key\":\"outbox.row\",\"value\":{\"stringValue\":\"8\"}},"
                  "{\"key\":\"outbox.topic\",\"value\":{\"stringValue\":\"order\"}},"
                  "{\"key\":\"outbox.attempts\",\"value\":{\"intValue\":\"1\"}}],"
                  "\"events\":[{\"timeUnixNano\":\"1700000000000002000\",\"name\":\"claim\"}],"
                  "\"startTimeUnixNano\":\"1700000000000002000\","
                  "\"endTimeUnixNano\":\"1700000000000009000\","
                  "\"status\":{\"code\":2,\"message\":\"no \\\"route\\\"\"}}" END);
}

TEST(without_spans_it_is_an_empty_request)
{
    assert_string_equal(make(NULL, 0), "{\"resourceSpans\":[]}");
}

/* The clocks of the database and of this machine differ, and either may be set back. */
TEST(no_time_is_before_the_one_that_came_before_it)
{
    struct span span = sent;

    span.created_us = INT64_MAX; /* "infinity" of a foreign table */
    span.published_us = 1;
    span.acknowledged_us = 1700000000000003;
    assert_non_null(strstr(make(&span, 1),
                           "\"events\":[{\"timeUnixNano\":\"1700000000000002000\",\"name\":"
                           "\"insert\"},{\"timeUnixNano\":\"1700000000000002000\",\"name\":"
                           "\"claim\"},{\"timeUnixNano\":\"1700000000000002000\",\"name\":"
                           "\"publish\"},{\"timeUnixNano\":\"1700000000000003000\",\"name\":"
                           "\"acknowledge\"}]"));
}

TEST(many_spans_with_the_longest_texts_are_one_document_of_json)
{
    struct span spans[512];
    json_t *json;

    for (int i = 0; i < 512; i++) {
        spans[i] = i % 2 == 0 ? sent : dead;
        memset(spans[i].topic, 1, sizeof spans[i].topic - 1);
        memset(spans[i].reason, '"', sizeof spans[i].reason - 1);
        memset(spans[i].state, '\\', sizeof spans[i].state - 1);
    }
    json = json_loads(make(spans, 512), 0, NULL);
    assert_non_null(json);
    json_decref(json);
}
