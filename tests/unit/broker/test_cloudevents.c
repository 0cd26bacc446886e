#include "broker/broker.h"
#include "unit/batch.h"

#include <stdio.h>
#include <string.h>

/* broker_wrap: a routed message -> a CloudEvent. tests/cloudevents/ has an independent library read
 * what arrives. */

static struct sink_options options;
static struct broker broker;
static struct header headers[16];
static struct message *message;

static int setup(void **state)
{
    if (open_batch(state) != 0)
        return -1;
    options = (struct sink_options){.name = "events", .event_source = "/shop"};
    message = batch_add(&batch);
    message->sink = 0;
    message->event_id = text_of("e-1");
    message->type = text_of("created");
    message->route_key = text_of("k");
    message->created_at = text_of("2026-01-02T03:04:05Z");
    message->payload = text_of("{\"n\": 1}");
    message->payload_len = 8;
    message->payload_is_json = true;
    message->headers = headers;
    return 0;
}

FIXTURE(setup, close_batch)

static void add(const char *name, const char *value)
{
    headers[message->header_count++] =
        (struct header){text_of(name), value != NULL ? text_of(value) : (struct text){NULL, 0}};
}

static void wrap(const struct broker_ops *ops, enum cloudevents mode)
{
    options.cloudevents = mode;
    broker = (struct broker){.ops = ops, .options = &options};
    broker_wrap(&broker, &batch, 0);
}

static void expect_headers(const char *expected)
{
    char found[2048] = "";

    assert_int_equal(message->verdict, VERDICT_PENDING);
    for (int i = 0; i < message->header_count; i++) {
        const struct header *header = &message->headers[i];
        size_t used = strlen(found);

        if (header->value.data != NULL)
            (void)snprintf(found + used, sizeof found - used, "%.*s: %.*s\n", (int)header->name.len,
                           header->name.data, (int)header->value.len, header->value.data);
    }
    assert_string_equal(found, expected);
}

static void expect_payload(const char *expected)
{
    assert_int_equal(message->verdict, VERDICT_PENDING);
    assert_int_equal(message->payload_len, strlen(expected));
    if (!text_equal(message->payload, text_of(expected)))
        fail_msg("%.*s", (int)message->payload.len, message->payload.data);
}

static void expect_refusal(const char *part)
{
    assert_int_equal(message->verdict, VERDICT_REJECTED);
    if (strstr(message->reason, part) == NULL)
        fail_msg("%s", message->reason);
}

#define KAFKA_HEADERS                                                                              \
    "ce_specversion: 1.0\nce_id: e-1\nce_source: /shop\nce_type: created\nce_subject: k\n"         \
    "ce_time: 2026-01-02T03:04:05Z\ncontent-type: application/json\n"
#define STRUCTURED "content-type: application/cloudevents+json; charset=UTF-8\n"
#define MEMBERS                                                                                    \
    "{\"specversion\":\"1.0\",\"id\":\"e-1\",\"source\":\"/shop\",\"type\":\"created\","           \
    "\"subject\":\"k\",\"time\":\"2026-01-02T03:04:05Z\""

TEST(a_sink_without_cloudevents_changes_nothing)
{
    add("ce_x", "1");
    wrap(&kafka_ops, CLOUDEVENTS_OFF);
    expect_headers("ce_x: 1\n");
    assert_ptr_equal(message->headers, headers);
}

TEST(messages_of_other_sinks_and_with_a_verdict_stay_as_they_are)
{
    message->sink = 1;
    wrap(&kafka_ops, CLOUDEVENTS_BINARY);
    expect_headers("");
    message->sink = 0;
    message->verdict = VERDICT_WAIT;
    wrap(&kafka_ops, CLOUDEVENTS_BINARY);
    assert_int_equal(message->header_count, 0);
}

TEST(binary_mode_has_the_prefix_and_the_encoding_of_the_broker)
{
    add("traceparent", "00-a-b-01");
    add("ce_shard", "\xE2\x82\xAC \"1%\"");
    add("ce_none", NULL);
    wrap(&kafka_ops, CLOUDEVENTS_BINARY);
    expect_headers(KAFKA_HEADERS "ce_shard: \xE2\x82\xAC \"1%\"\ntraceparent: 00-a-b-01\n");
    expect_payload("{\"n\": 1}");
}

TEST(on_nats_values_are_percent_encoded_and_the_media_type_is_an_attribute)
{
    add("traceparent", "00-a-b-01 x");
    add("ce_shard", "Euro \xE2\x82\xAC \xF0\x9F\x98\x80\"%");
    wrap(&nats_ops, CLOUDEVENTS_BINARY);
    expect_headers("ce-specversion: 1.0\nce-id: e-1\nce-source: /shop\nce-type: created\n"
                   "ce-subject: k\nce-time: 2026-01-02T03:04:05Z\n"
                   "ce-datacontenttype: application/json\n"
                   "ce-shard: Euro%20%E2%82%AC%20%F0%9F%98%80%22%25\ntraceparent: 00-a-b-01 x\n");
}

TEST(structured_mode_is_one_object_and_other_headers_pass)
{
    add("ce_shard", "a\"b");
    add("baggage", "a=b");
    wrap(&nats_ops, CLOUDEVENTS_STRUCTURED);
    expect_headers(STRUCTURED "baggage: a=b\n");
    expect_payload(MEMBERS ",\"datacontenttype\":\"application/json\",\"shard\":\"a\\\"b\","
                           "\"data\":{\"n\": 1}}");
}

TEST(what_a_row_lacks_makes_no_attribute)
{
    message->route_key = text_of("");
    message->created_at = (struct text){NULL, 0};
    message->payload = (struct text){NULL, 0};
    message->payload_len = -1;
    message->payload_is_json = false;
    wrap(&kafka_ops, CLOUDEVENTS_STRUCTURED);
    assert_true(text_equal(message->payload,
                           text_of("{\"specversion\":\"1.0\",\"id\":\"e-1\",\"source\":\"/shop\","
                                   "\"type\":\"created\"}")));
}

TEST(a_tombstone_stays_one_in_binary_mode)
{
    message->payload = (struct text){NULL, 0};
    message->payload_len = -1;
    wrap(&kafka_ops, CLOUDEVENTS_BINARY);
    expect_headers(KAFKA_HEADERS);
    assert_null(message->payload.data);
    assert_int_equal(message->payload_len, -1);
}

TEST(data_are_what_their_media_type_says)
{
    static const struct {
        const char *type, *payload, *end;
        bool is_json;
    } cases[] = {
        {NULL, "{\"n\": 1}", ",\"data\":{\"n\": 1}}", false},
        {NULL, "some text", ",\"data\":\"some text\"}", false},
        {NULL, "\xFF", ",\"data_base64\":\"/w==\"}", false},
        {"application/json", "123456789012345678901234567890",
         ",\"datacontenttype\":\"application/json\",\"data\":123456789012345678901234567890}",
         false},
        {"application/vnd.a+JSON; v=1", "[1]",
         ",\"datacontenttype\":\"application/vnd.a+JSON; v=1\",\"data\":[1]}", false},
        {"application/json", "no",
         ",\"datacontenttype\":\"application/json\",\"data_base64\":\"bm8=\"}", false},
        {"text/plain", "1", ",\"datacontenttype\":\"text/plain\",\"data\":\"1\"}", false},
        {"text/plain", "1", ",\"datacontenttype\":\"text/plain\",\"data\":\"1\"}", true},
        {"application/avro", "\xFF",
         ",\"datacontenttype\":\"application/avro\",\"data_base64\":\"/w==\"}", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[512];

        message->headers = headers;
        message->header_count = 0;
        if (cases[i].type != NULL)
            add("Content-Type", cases[i].type);
        message->payload = text_of(cases[i].payload);
        message->payload_is_json = cases[i].is_json;
        wrap(&kafka_ops, CLOUDEVENTS_STRUCTURED);
        (void)snprintf(expected, sizeof expected, MEMBERS "%s", cases[i].end);
        expect_payload(expected);
        expect_headers(STRUCTURED);
    }
}

TEST(the_configured_media_type_is_for_columns_that_are_not_json)
{
    options.event_content_type = "application/avro";
    message->payload_is_json = false;
    wrap(&kafka_ops, CLOUDEVENTS_BINARY);
    assert_true(text_equal(message->headers[6].value, text_of("application/avro")));
}

TEST(a_row_may_name_source_type_and_subject)
{
    message->type = (struct text){NULL, 0};
    options.event_type = "default";
    add("ce_source", "/other");
    add("ce_subject", "s");
    wrap(&kafka_ops, CLOUDEVENTS_BINARY);
    expect_headers(
        "ce_specversion: 1.0\nce_id: e-1\nce_source: /other\nce_type: default\n"
        "ce_subject: s\nce_time: 2026-01-02T03:04:05Z\ncontent-type: application/json\n");
}

static void expect_refused(const char *name, const char *value, const char *part)
{
    for (int i = 0; i < 2; i++) {
        message->verdict = VERDICT_PENDING;
        message->headers = headers;
        message->header_count = 0;
        add(name, value);
        wrap(i == 0 ? &kafka_ops : &nats_ops, CLOUDEVENTS_BINARY);
        expect_refusal(part);
    }
}

TEST(what_would_be_no_event_is_refused)
{
    static const char *const taken[] = {"ce_id", "ce_specversion", "ce_time", "ce_datacontenttype"};
    static const char *const names[] = {"ce_",     "ce_A",           "ce_a_b",
                                        "ce_data", "ce_data_base64", "ce_abcdefghijklmnopqrstu"};

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        expect_refused(taken[i], "x", "the relay sets them");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        expect_refused(names[i], "x", "is no name of an attribute");
    expect_refused("ce_x", "a\nb", "control character");
    expect_refused("ce_x", "a\xC2\x85", "control character");
    expect_refused("content-type", "Application/CloudEvents+json", "is an event already");
    headers[0] = (struct header){text_of("ce-id"), text_of("x")};
    message->headers = headers;
    message->verdict = VERDICT_PENDING;
    wrap(&nats_ops, CLOUDEVENTS_BINARY);
    expect_refusal("name attributes ce_...");
}

TEST(a_row_without_a_type_or_with_a_key_that_is_no_text_is_refused)
{
    message->route_key = text_of("\xFF");
    wrap(&kafka_ops, CLOUDEVENTS_STRUCTURED);
    expect_refusal("the key");
    message->verdict = VERDICT_PENDING;
    message->type = text_of("");
    message->route_key = text_of("k");
    wrap(&kafka_ops, CLOUDEVENTS_STRUCTURED);
    expect_refusal("the row has no type");
}

TEST(a_payload_that_was_too_large_to_fetch_is_left_to_the_client)
{
    message->payload = (struct text){NULL, 0};
    message->payload_len = 1 << 30;
    wrap(&kafka_ops, CLOUDEVENTS_STRUCTURED);
    assert_int_equal(message->verdict, VERDICT_PENDING);
    assert_int_equal(message->header_count, 0);
    assert_int_equal(message->payload_len, 1 << 30);
}

TEST(the_relays_own_headers_are_left_out_unless_they_are_named)
{
    struct header_rules rules;

    options.cloudevents = CLOUDEVENTS_BINARY;
    rules = sink_header_rules(&options, true);
    assert_null(rules.own[OWN_ID].data);
    assert_null(rules.own[OWN_TYPE].data);
    assert_null(rules.own[OWN_CREATED_AT].data);
    assert_non_null(rules.own[OWN_KEY].data);
    assert_non_null(rules.own[OWN_REPLAYED_AT].data);
    options.headers[OWN_ID] = "X-Event-ID";
    rules = sink_header_rules(&options, true);
    assert_string_equal(rules.own[OWN_ID].data, "X-Event-ID");
}
