#include "config/keys/keys.h"

#include "source/source.h"

#define SECONDS(n) ((int64_t)(n)*1000)
#define HOUR SECONDS(3600)
#define DAYS(n) ((n)*24 * HOUR)
#define KIB(n) ((int64_t)(n)*1024)
#define GIB (KIB(1024) * 1024)
#define WHERE_BYTES_MAX 512 /* messages show the SQL of the index, which contains it */
#define HEADER_NAME_MAX 255
#define PATTERN_MAX 1024 /* bytes; limits the recursion of the regular expression compiler */

#define IN_CONFIG(field) offsetof(struct config, field)
#define IN_OUTBOX(field) offsetof(struct config, relay.outbox.field)
#define IN_SINK(field) offsetof(struct sink_options, field)
#define IN_ROUTE(field) offsetof(struct route_source, field)

static const char *const on_sent_words[] = {"mark", "delete", "position", NULL};
static const char *const order_words[] = {"key", "none", NULL};
static const char *const switch_words[] = {"off", "on", NULL};
static const char *const event_words[] = {"off", "binary", "structured", NULL};
static const char *const level_words[] = {"error", "warn", "info", "debug", NULL};
static const char *const format_words[] = {"text", "json", "logfmt", NULL};

#define TEXT(part, name, field, min, max, flags)                                                   \
    {                                                                                              \
        SECTION_##part, name, KEY_STRING, field, NULL, min, max, NULL, flags                       \
    }
#define BOOLEAN(part, name, field, initial, flags)                                                 \
    {                                                                                              \
        SECTION_##part, name, KEY_BOOLEAN, field, initial, 0, 0, NULL, flags                       \
    }

const struct key keys[] = {
    {SECTION_DATABASE, "url", KEY_STRING, IN_OUTBOX(url), "", 0, 0, NULL, KEY_SECRET},
    TEXT(DATABASE, "password_file", IN_OUTBOX(password_file), 1, 0, 0),
    BOOLEAN(DATABASE, "allow_plaintext", IN_OUTBOX(allow_plaintext), "false", 0),
    BOOLEAN(DATABASE, "allow_superuser", IN_OUTBOX(allow_superuser), "false", 0),

    {SECTION_OUTBOX, "table", KEY_STRING, IN_OUTBOX(table), source_table, 1, 0, NULL, 0},
    {SECTION_OUTBOX, "on_sent", KEY_WORD, IN_OUTBOX(on_sent), "mark", 0, 0, on_sent_words, 0},
    {SECTION_OUTBOX, "retention", KEY_DURATION, IN_OUTBOX(retention_ms), "7d", SECONDS(1),
     DAYS(3650), NULL, KEY_ZERO | KEY_RELOAD},
    {SECTION_OUTBOX, "order", KEY_WORD, IN_OUTBOX(order), "key", 0, 0, order_words, 0},
    {SECTION_OUTBOX, "slices", KEY_INTEGER, IN_OUTBOX(slices), "64", 1, 1024, NULL, 0},
    BOOLEAN(OUTBOX, "durable_before_publish", IN_OUTBOX(durable_before_publish), "true", 0),
    TEXT(OUTBOX, "where", IN_OUTBOX(where), 1, WHERE_BYTES_MAX, 0),
    TEXT(OUTBOX, "mark", IN_OUTBOX(mark), 1, WHERE_BYTES_MAX, 0),
    TEXT(OUTBOX, "park", IN_OUTBOX(park), 1, WHERE_BYTES_MAX, 0),
    TEXT(OUTBOX, "due", IN_OUTBOX(columns[COLUMN_DUE]), 0, 0, 0),
    TEXT(OUTBOX, "time_zone", IN_OUTBOX(time_zone), 1, 63, 0),
    BOOLEAN(OUTBOX, "adopt", IN_OUTBOX(adopt), "false", 0),
    {SECTION_OUTBOX, "preset", KEY_STRING, IN_OUTBOX(preset), "default", 1, 0, NULL, 0},

    TEXT(COLUMNS, "id", IN_OUTBOX(columns[COLUMN_ID]), 0, 0, 0),
    TEXT(COLUMNS, "order", IN_OUTBOX(columns[COLUMN_ORDER]), 0, 0, 0),
    TEXT(COLUMNS, "event_id", IN_OUTBOX(columns[COLUMN_EVENT_ID]), 0, 0, 0),
    TEXT(COLUMNS, "topic", IN_OUTBOX(columns[COLUMN_TOPIC]), 0, 0, 0),
    TEXT(COLUMNS, "key", IN_OUTBOX(columns[COLUMN_KEY]), 0, 0, 0),
    TEXT(COLUMNS, "type", IN_OUTBOX(columns[COLUMN_TYPE]), 0, 0, 0),
    TEXT(COLUMNS, "payload", IN_OUTBOX(columns[COLUMN_PAYLOAD]), 0, 0, 0),
    TEXT(COLUMNS, "headers", IN_OUTBOX(columns[COLUMN_HEADERS]), 0, 0, 0),
    TEXT(COLUMNS, "created_at", IN_OUTBOX(columns[COLUMN_CREATED_AT]), 0, 0, 0),
    TEXT(COLUMNS, "sent_at", IN_OUTBOX(columns[COLUMN_SENT_AT]), 0, 0, 0),

    {SECTION_RELAY, "lanes", KEY_INTEGER, IN_CONFIG(relay.lanes), "2", 1, LANES_MAX, NULL, 0},
    {SECTION_RELAY, "batch", KEY_INTEGER, IN_OUTBOX(batch), "500", 1, 10000, NULL, KEY_RELOAD},
    {SECTION_RELAY, "batch_bytes", KEY_SIZE, IN_OUTBOX(batch_bytes), "8MiB", KIB(64), GIB, NULL,
     KEY_RELOAD},
    {SECTION_RELAY, "poll_interval", KEY_DURATION, IN_CONFIG(relay.poll_interval_ms), "250ms", 1,
     HOUR, NULL, KEY_RELOAD},
    {SECTION_RELAY, "publish_timeout", KEY_DURATION, IN_CONFIG(relay.publish_timeout_ms), "10s",
     100, SECONDS(600), NULL, KEY_RELOAD},
    {SECTION_RELAY, "shutdown_timeout", KEY_DURATION, IN_CONFIG(relay.shutdown_timeout_ms), "15s",
     0, HOUR, NULL, KEY_RELOAD},
    {SECTION_RELAY, "synchronous_commit", KEY_SWITCH, IN_OUTBOX(synchronous_commit), "on", 0, 0,
     switch_words, KEY_RELOAD},

    {SECTION_RETRY, "max_attempts", KEY_INTEGER, IN_CONFIG(relay.retry.max_attempts), "10", 1, 1000,
     NULL, KEY_RELOAD},
    {SECTION_RETRY, "backoff", KEY_DURATION, IN_CONFIG(relay.retry.backoff_ms), "1s", 1, HOUR, NULL,
     KEY_RELOAD},
    {SECTION_RETRY, "backoff_max", KEY_DURATION, IN_CONFIG(relay.retry.backoff_max_ms), "5m", 1,
     HOUR, NULL, KEY_RELOAD},

    TEXT(SINK, "type", IN_SINK(type), 1, 0, KEY_ANY_SINK),
    {SECTION_SINK, "brokers", KEY_LIST, IN_SINK(brokers), NULL, 1, 0, NULL, KEY_KAFKA},
    {SECTION_SINK, "servers", KEY_LIST, IN_SINK(servers), NULL, 1, 0, NULL, KEY_NATS},
    TEXT(SINK, "stream", IN_SINK(stream), 1, 0, KEY_NATS),
    TEXT(SINK, "domain", IN_SINK(domain), 1, DOMAIN_BYTES_MAX, KEY_NATS),
    {SECTION_SINK, "inbox_prefix", KEY_STRING, IN_SINK(inbox_prefix), "_INBOX", 1, 0, NULL,
     KEY_NATS},
    {SECTION_SINK, "allow", KEY_LIST, IN_SINK(allow), NULL, 1, PATTERN_MAX, NULL, KEY_ANY_SINK},
    BOOLEAN(SINK, "create", IN_SINK(create), "false", KEY_BROKERS),
    BOOLEAN(SINK, "atomic_batches", IN_SINK(atomic_batches), "true", KEY_NATS),
    BOOLEAN(SINK, "allow_plaintext", IN_SINK(allow_plaintext), "false", KEY_BROKERS),
    BOOLEAN(SINK, "null_headers", IN_SINK(null_headers), "false", KEY_KAFKA),
    {SECTION_SINK, "cloudevents", KEY_WORD, IN_SINK(cloudevents), "off", 0, 0, event_words,
     KEY_BROKERS},
    TEXT(SINK, "username", IN_SINK(username), 1, 0, KEY_NATS),
    TEXT(SINK, "password", IN_SINK(password), 1, 0, KEY_NATS | KEY_SECRET),
    TEXT(SINK, "password_file", IN_SINK(password_file), 1, 0, KEY_NATS),
    TEXT(SINK, "token", IN_SINK(token), 1, 0, KEY_NATS | KEY_SECRET),
    TEXT(SINK, "token_file", IN_SINK(token_file), 1, 0, KEY_NATS),
    TEXT(SINK, "credentials_file", IN_SINK(credentials_file), 1, 0, KEY_NATS),
    TEXT(SINK, "nkey", IN_SINK(nkey), 1, 0, KEY_NATS),
    TEXT(SINK, "nkey_file", IN_SINK(nkey_file), 1, 0, KEY_NATS),
    TEXT(SINK, "tls_ca_file", IN_SINK(tls_ca_file), 1, 0, KEY_NATS),
    TEXT(SINK, "tls_cert_file", IN_SINK(tls_cert_file), 1, 0, KEY_NATS),
    TEXT(SINK, "tls_key_file", IN_SINK(tls_key_file), 1, 0, KEY_NATS),

    TEXT(HEADERS, "id", IN_SINK(headers[OWN_ID]), 0, HEADER_NAME_MAX, KEY_BROKERS),
    TEXT(HEADERS, "type", IN_SINK(headers[OWN_TYPE]), 0, HEADER_NAME_MAX, KEY_BROKERS),
    TEXT(HEADERS, "created_at", IN_SINK(headers[OWN_CREATED_AT]), 0, HEADER_NAME_MAX, KEY_BROKERS),
    TEXT(HEADERS, "key", IN_SINK(headers[OWN_KEY]), 0, HEADER_NAME_MAX, KEY_NATS),

    TEXT(CLOUDEVENTS, "source", IN_CONFIG(relay.cloudevents.source), 1, 1024, 0),
    TEXT(CLOUDEVENTS, "type", IN_CONFIG(relay.cloudevents.type), 1, 1024, 0),
    TEXT(CLOUDEVENTS, "content_type", IN_CONFIG(relay.cloudevents.content_type), 1, 255, 0),

    TEXT(ROUTE, "match", IN_ROUTE(match), 1, PATTERN_MAX, 0),
    TEXT(ROUTE, "sink", IN_ROUTE(sink), 1, 0, 0),
    {SECTION_ROUTE, "topic", KEY_STRING, IN_ROUTE(topic), "{topic}", 1, PATTERN_MAX, NULL, 0},
    {SECTION_ROUTE, "key", KEY_STRING, IN_ROUTE(key), "{key}", 1, PATTERN_MAX, NULL, 0},

    {SECTION_HTTP, "listen", KEY_STRING, IN_CONFIG(http_listen), "127.0.0.1:9464", 0, 0, NULL, 0},

    {SECTION_LOG, "level", KEY_WORD, IN_CONFIG(log_level), "info", 0, 0, level_words, KEY_RELOAD},
    {SECTION_LOG, "format", KEY_WORD, IN_CONFIG(log_format), "text", 0, 0, format_words,
     KEY_RELOAD},

    TEXT(TRACE, "endpoint", IN_CONFIG(trace.endpoint), 0, 1024, KEY_RELOAD),
    TEXT(TRACE, "headers", IN_CONFIG(trace.headers), 0, KIB(8), KEY_SECRET | KEY_RELOAD),
    {SECTION_TRACE, "service_name", KEY_STRING, IN_CONFIG(trace.service_name), "outbox-relay", 1,
     255, NULL, KEY_RELOAD},
    TEXT(TRACE, "tls_ca_file", IN_CONFIG(trace.tls_ca_file), 1, 0, KEY_RELOAD),
    {SECTION_TRACE, "timeout", KEY_DURATION, IN_CONFIG(trace.timeout_ms), "10s", 100, SECONDS(60),
     NULL, KEY_RELOAD},
};

const size_t key_count = sizeof keys / sizeof keys[0];
