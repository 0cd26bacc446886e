/* What docs/messages.md promises: a payload in the wire format of a schema registry
 * reaches the real Kafka byte for byte, and so does a key; an id in a header arrives as text, and
 * one that [outbox.headers] makes as bytes. */
#include "integration/harness_kafka.h"
#include "integration/program.h"

#include <unistd.h>

static void configure_with(struct fixture *fixture, const char *headers)
{
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("wire.toml",
                                "[database]\nurl = \"%s\"\n[outbox]\nadopt = true\n%s[sink.k]\n"
                                "type = \"kafka\"\nbrokers = [\"%s\"]\n",
                                fixture->url, headers, harness_env("TEST_KAFKA_BROKERS")));
}

static void configure_kafka(struct fixture *fixture)
{
    (void)snprintf(topic, sizeof topic, "wire%d", (int)getpid());
    configure_with(fixture, "");
}

static int set_up_kafka(void **state)
{
    return fixture_open(state, configure_kafka);
}

static int tear_down_kafka(void **state)
{
    delete_topic(topic);
    forget_consumed();
    return fixture_close(state);
}

ONCE(kafka_open_reader, kafka_close_reader)
FIXTURE(set_up_kafka, tear_down_kafka)

static void assert_bytes(const void *found, size_t found_len, const unsigned char *bytes,
                         size_t len)
{
    assert_int_equal(found_len, len);
    assert_memory_equal(found, bytes, len);
}

/* A zero byte, the id, and behind it all bytes that there are. */
FIXTURE_TEST(a_framed_payload_and_key_arrive_byte_for_byte_and_an_id_in_a_header)
{
    static const unsigned char key[] = {0, 0, 0, 3, 0xEA, 'k', 0, 0xFF, '\n'};
    static const unsigned char id[] = {0, 0, 0, 0, 0, 0, 3, 0xE9};
    unsigned char value[5 + 256] = {0, 0, 0, 3, 0xE9};
    rd_kafka_headers_t *headers = NULL;
    const void *found = NULL;
    size_t len = 0;
    char hex[2 * 256 + 1];

    for (unsigned i = 0; i < 256; i++) {
        value[5 + i] = (unsigned char)i;
        (void)snprintf(hex + (size_t)2 * i, 3, "%02x", i);
    }
    create_topic(1, NULL);
    sql(fixture->conn,
        "DROP TABLE outbox, outbox_parked, outbox_slice, outbox_control;"
        "CREATE TABLE outbox (id bigserial PRIMARY KEY, event_id uuid NOT NULL UNIQUE DEFAULT"
        " gen_random_uuid(), topic text NOT NULL, key bytea, payload bytea, headers jsonb, schema_id bigint,"
        " sent_at timestamptz); ALTER TABLE outbox OWNER TO " HARNESS_RELAY);
    configure_with(fixture,
                   "[outbox.headers]\n\"apicurio.value.globalId\" = \"(int8send(schema_id))\"\n");
    expect(fixture, run_command(fixture, "init"), 5);
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload, headers, schema_id) VALUES ('%s', '\\x00'::bytea ||"
        " int4send(1002) || '\\x6b00ff0a', '\\x00'::bytea || int4send(1001) || '\\x%s'::bytea,"
        " '{\"schema-id\": 1001}', 1001)",
        topic, hex);
    expect(fixture, run_drain(fixture), 0);
    consume(1, 1);
    assert_bytes(consumed[0]->payload, consumed[0]->len, value, sizeof value);
    assert_bytes(consumed[0]->key, consumed[0]->key_len, key, sizeof key);
    assert_header(consumed[0], 1, "schema-id", "1001");
    assert_int_equal(rd_kafka_message_headers(consumed[0], &headers), 0);
    assert_int_equal(rd_kafka_header_get_last(headers, "apicurio.value.globalId", &found, &len), 0);
    assert_bytes(found, len, id, sizeof id);
}
