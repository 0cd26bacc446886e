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

const struct key keys[] = {
    {SECTION_DATABASE, "url", KEY_STRING, IN_OUTBOX(url), "", 0, 0, NULL, KEY_SECRET},
    {SECTION_DATABASE, "password_file", KEY_STRING, IN_OUTBOX(password_file), NULL, 1, 0, NULL, 0},
    {SECTION_DATABASE, "allow_plaintext", KEY_BOOLEAN, IN_OUTBOX(allow_plaintext), "false", 0, 0,
     NULL, 0},
    {SECTION_DATABASE, "allow_superuser", KEY_BOOLEAN, IN_OUTBOX(allow_superuser), "false", 0, 0,
     NULL, 0},

    {SECTION_OUTBOX, "table", KEY_STRING, IN_OUTBOX(table), source_table, 1, 0, NULL, 0},
    {SECTION_OUTBOX, "on_sent", KEY_WORD, IN_OUTBOX(on_sent), "mark", 0, 0, on_sent_words, 0},
    {SECTION_OUTBOX, "retention", KEY_DURATION, IN_OUTBOX(retention_ms), "7d", SECONDS(1),
     DAYS(3650), NULL, KEY_ZERO | KEY_RELOAD},
    {SECTION_OUTBOX, "order", KEY_WORD, IN_OUTBOX(order), "key", 0, 0, order_words, 0},
    {SECTION_OUTBOX, "slices", KEY_INTEGER, IN_OUTBOX(slices), "64", 1, 1024, NULL, 0},
    {SECTION_OUTBOX, "durable_before_publish", KEY_BOOLEAN, IN_OUTBOX(durable_before_publish),
     "true", 0, 0, NULL, 0},
    {SECTION_OUTBOX, "where", KEY_STRING, IN_OUTBOX(where), NULL, 1, WHERE_BYTES_MAX, NULL, 0},
    {SECTION_OUTBOX, "mark", KEY_STRING, IN_OUTBOX(mark), NULL, 1, WHERE_BYTES_MAX, NULL, 0},
    {SECTION_OUTBOX, "park", KEY_STRING, IN_OUTBOX(park), NULL, 1, WHERE_BYTES_MAX, NULL, 0},
    {SECTION_OUTBOX, "due", KEY_STRING, IN_OUTBOX(columns[COLUMN_DUE]), NULL, 0, 0, NULL, 0},
    {SECTION_OUTBOX, "time_zone", KEY_STRING, IN_OUTBOX(time_zone), NULL, 1, 63, NULL, 0},
    {SECTION_OUTBOX, "adopt", KEY_BOOLEAN, IN_OUTBOX(adopt), "false", 0, 0, NULL, 0},
    {SECTION_OUTBOX, "preset", KEY_STRING, IN_OUTBOX(preset), "default", 1, 0, NULL, 0},

    {SECTION_COLUMNS, "id", KEY_STRING, IN_OUTBOX(columns[COLUMN_ID]), NULL, 0, 0, NULL, 0},
    {SECTION_COLUMNS, "order", KEY_STRING, IN_OUTBOX(columns[COLUMN_ORDER]), NULL, 0, 0, NULL, 0},
    {SECTION_COLUMNS, "event_id", KEY_STRING, IN_OUTBOX(columns[COLUMN_EVENT_ID]), NULL, 0, 0, NULL,
     0},
    {SECTION_COLUMNS, "topic", KEY_STRING, IN_OUTBOX(columns[COLUMN_TOPIC]), NULL, 0, 0, NULL, 0},
    {SECTION_COLUMNS, "key", KEY_STRING, IN_OUTBOX(columns[COLUMN_KEY]), NULL, 0, 0, NULL, 0},
    {SECTION_COLUMNS, "type", KEY_STRING, IN_OUTBOX(columns[COLUMN_TYPE]), NULL, 0, 0, NULL, 0},
    {SECTION_COLUMNS, "payload", KEY_STRING, IN_OUTBOX(columns[COLUMN_PAYLOAD]), NULL, 0, 0, NULL,
     0},
    {SECTION_COLUMNS, "headers", KEY_STRING, IN_OUTBOX(columns[COLUMN_HEADERS]), NULL, 0, 0, NULL,
     0},
    {SECTION_COLUMNS, "created_at", KEY_STRING, IN_OUTBOX(columns[COLUMN_CREATED_AT]), NULL, 0, 0,
     NULL, 0},
    {SECTION_COLUMNS, "sent_at", KEY_STRING, IN_OUTBOX(columns[COLUMN_SENT_AT]), NULL, 0, 0, NULL,
     0},

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

    {SECTION_SINK, "type", KEY_STRING, IN_SINK(type), NULL, 1, 0, NULL, KEY_ANY_SINK},
    {SECTION_SINK, "brokers", KEY_LIST, IN_SINK(brokers), NULL, 1, 0, NULL, KEY_KAFKA},
    {SECTION_SINK, "servers", KEY_LIST, IN_SINK(servers), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "stream", KEY_STRING, IN_SINK(stream), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "domain", KEY_STRING, IN_SINK(domain), NULL, 1, DOMAIN_BYTES_MAX, NULL,
     KEY_NATS},
    {SECTION_SINK, "inbox_prefix", KEY_STRING, IN_SINK(inbox_prefix), "_INBOX", 1, 0, NULL,
     KEY_NATS},
    {SECTION_SINK, "allow", KEY_LIST, IN_SINK(allow), NULL, 1, PATTERN_MAX, NULL, KEY_ANY_SINK},
    {SECTION_SINK, "create", KEY_BOOLEAN, IN_SINK(create), "false", 0, 0, NULL,
     KEY_KAFKA | KEY_NATS},
    {SECTION_SINK, "atomic_batches", KEY_BOOLEAN, IN_SINK(atomic_batches), "true", 0, 0, NULL,
     KEY_NATS},
    {SECTION_SINK, "allow_plaintext", KEY_BOOLEAN, IN_SINK(allow_plaintext), "false", 0, 0, NULL,
     KEY_KAFKA | KEY_NATS},
    {SECTION_SINK, "null_headers", KEY_BOOLEAN, IN_SINK(null_headers), "false", 0, 0, NULL,
     KEY_KAFKA},
    {SECTION_SINK, "cloudevents", KEY_WORD, IN_SINK(cloudevents), "off", 0, 0, event_words,
     KEY_KAFKA | KEY_NATS},
    {SECTION_SINK, "username", KEY_STRING, IN_SINK(username), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "password", KEY_STRING, IN_SINK(password), NULL, 1, 0, NULL,
     KEY_NATS | KEY_SECRET},
    {SECTION_SINK, "password_file", KEY_STRING, IN_SINK(password_file), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "token", KEY_STRING, IN_SINK(token), NULL, 1, 0, NULL, KEY_NATS | KEY_SECRET},
    {SECTION_SINK, "token_file", KEY_STRING, IN_SINK(token_file), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "credentials_file", KEY_STRING, IN_SINK(credentials_file), NULL, 1, 0, NULL,
     KEY_NATS},
    {SECTION_SINK, "nkey", KEY_STRING, IN_SINK(nkey), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "nkey_file", KEY_STRING, IN_SINK(nkey_file), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "tls_ca_file", KEY_STRING, IN_SINK(tls_ca_file), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "tls_cert_file", KEY_STRING, IN_SINK(tls_cert_file), NULL, 1, 0, NULL, KEY_NATS},
    {SECTION_SINK, "tls_key_file", KEY_STRING, IN_SINK(tls_key_file), NULL, 1, 0, NULL, KEY_NATS},

    {SECTION_HEADERS, "id", KEY_STRING, IN_SINK(headers[OWN_ID]), NULL, 0, HEADER_NAME_MAX, NULL,
     KEY_KAFKA | KEY_NATS},
    {SECTION_HEADERS, "type", KEY_STRING, IN_SINK(headers[OWN_TYPE]), NULL, 0, HEADER_NAME_MAX,
     NULL, KEY_KAFKA | KEY_NATS},
    {SECTION_HEADERS, "created_at", KEY_STRING, IN_SINK(headers[OWN_CREATED_AT]), NULL, 0,
     HEADER_NAME_MAX, NULL, KEY_KAFKA | KEY_NATS},
    {SECTION_HEADERS, "key", KEY_STRING, IN_SINK(headers[OWN_KEY]), NULL, 0, HEADER_NAME_MAX, NULL,
     KEY_NATS},

    {SECTION_CLOUDEVENTS, "source", KEY_STRING, IN_CONFIG(relay.cloudevents.source), NULL, 1, 1024,
     NULL, 0},
    {SECTION_CLOUDEVENTS, "type", KEY_STRING, IN_CONFIG(relay.cloudevents.type), NULL, 1, 1024,
     NULL, 0},
    {SECTION_CLOUDEVENTS, "content_type", KEY_STRING, IN_CONFIG(relay.cloudevents.content_type),
     NULL, 1, 255, NULL, 0},

    {SECTION_ROUTE, "match", KEY_STRING, IN_ROUTE(match), NULL, 1, PATTERN_MAX, NULL, 0},
    {SECTION_ROUTE, "sink", KEY_STRING, IN_ROUTE(sink), NULL, 1, 0, NULL, 0},
    {SECTION_ROUTE, "topic", KEY_STRING, IN_ROUTE(topic), "{topic}", 1, PATTERN_MAX, NULL, 0},
    {SECTION_ROUTE, "key", KEY_STRING, IN_ROUTE(key), "{key}", 1, PATTERN_MAX, NULL, 0},

    {SECTION_HTTP, "listen", KEY_STRING, IN_CONFIG(http_listen), "127.0.0.1:9464", 0, 0, NULL, 0},

    {SECTION_LOG, "level", KEY_WORD, IN_CONFIG(log_level), "info", 0, 0, level_words, KEY_RELOAD},
    {SECTION_LOG, "format", KEY_WORD, IN_CONFIG(log_format), "text", 0, 0, format_words,
     KEY_RELOAD},

    {SECTION_TRACE, "endpoint", KEY_STRING, IN_CONFIG(trace.endpoint), NULL, 0, 1024, NULL,
     KEY_RELOAD},
    {SECTION_TRACE, "headers", KEY_STRING, IN_CONFIG(trace.headers), NULL, 0, KIB(8), NULL,
     KEY_SECRET | KEY_RELOAD},
    {SECTION_TRACE, "service_name", KEY_STRING, IN_CONFIG(trace.service_name), "outbox-relay", 1,
     255, NULL, KEY_RELOAD},
    {SECTION_TRACE, "tls_ca_file", KEY_STRING, IN_CONFIG(trace.tls_ca_file), NULL, 1, 0, NULL,
     KEY_RELOAD},
    {SECTION_TRACE, "timeout", KEY_DURATION, IN_CONFIG(trace.timeout_ms), "10s", 100, SECONDS(60),
     NULL, KEY_RELOAD},
};

const size_t key_count = sizeof keys / sizeof keys[0];
