#include "config/keys/keys.h"

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

static const char *const on_sent_words[] = {"mark", "delete", NULL};
static const char *const order_words[] = {"key", "none", NULL};
static const char *const switch_words[] = {"off", "on", NULL};
static const char *const event_words[] = {"off", "binary", "structured", NULL};
static const char *const level_words[] = {"error", "warn", "info", "debug", NULL};
static const char *const format_words[] = {"text", "json", NULL};

const struct key keys[] = {
    {SECTION_DATABASE, "url", KEY_STRING, IN_OUTBOX(url), "", 0, 0, NULL, KEY_SECRET,
     "A libpq connection string: a URI, or parameters such as host=... dbname=... Parameters that "
     "it "
     "omits come from the PG* variables. A host that is not local needs an sslmode."},
    {SECTION_DATABASE, "password_file", KEY_STRING, IN_OUTBOX(password_file), NULL, 1, 0, NULL, 0,
     "A file that holds the password, read again at each connection."},
    {SECTION_DATABASE, "allow_plaintext", KEY_BOOLEAN, IN_OUTBOX(allow_plaintext), "false", 0, 0,
     NULL, 0,
     "Trust the network: a password may be sent to another host with sslmode=disable, allow or "
     "prefer."},
    {SECTION_DATABASE, "allow_superuser", KEY_BOOLEAN, IN_OUTBOX(allow_superuser), "false", 0, 0,
     NULL, 0,
     "Let `run` work as a superuser, or as a role that may become one. Triggers and functions that "
     "others attach to the outbox would run with all its rights."},

    {SECTION_OUTBOX, "table", KEY_STRING, IN_OUTBOX(table), "public.outbox", 1, 0, NULL, 0,
     "The outbox, as \"table\" or \"schema.table\". A name is written as the catalog has it, or in "
     "double quotes as in SQL: '\"tenant.42\".outbox'."},
    {SECTION_OUTBOX, "on_sent", KEY_WORD, IN_OUTBOX(on_sent), "mark", 0, 0, on_sent_words, 0,
     "\"mark\" sets sent_at; \"delete\" removes the row. A row whose sent_at is set counts as sent "
     "with either, where the table has that column."},
    {SECTION_OUTBOX, "retention", KEY_DURATION, IN_OUTBOX(retention_ms), "7d", SECONDS(1),
     DAYS(3650), NULL, KEY_ZERO | KEY_RELOAD,
     "With on_sent = \"mark\", rows that were sent longer ago are deleted in small batches; \"0\" "
     "keeps them. Of a table that `init` did not create only if the comment of sent_at says that "
     "only the relay writes it."},
    {SECTION_OUTBOX, "order", KEY_WORD, IN_OUTBOX(order), "key", 0, 0, order_words, 0,
     "\"key\": the events of a key are sent in the order of their ids, however many relays there "
     "are; ids must be integers that grow. \"none\": in no particular order."},
    {SECTION_OUTBOX, "slices", KEY_INTEGER, IN_OUTBOX(slices), "64", 1, 1024, NULL, 0,
     "Hash slices of the keys. With order = \"key\" a busy lane locks up to four of them, so "
     "choose "
     "at least four per lane of all relays. `init` creates them; all relays must have the same "
     "number."},
    {SECTION_OUTBOX, "durable_before_publish", KEY_BOOLEAN, IN_OUTBOX(durable_before_publish),
     "true", 0, 0, NULL, 0,
     "A row is published only after the commit that made it visible is flushed to disk."},
    {SECTION_OUTBOX, "where", KEY_STRING, IN_OUTBOX(where), NULL, 1, WHERE_BYTES_MAX, NULL, 0,
     "An SQL condition, such as \"status = 'NEW'\". Rows for which it is not true are ignored. It "
     "must be immutable, because `init` makes it part of the index. All relays of a table must "
     "have "
     "the same condition."},
    {SECTION_OUTBOX, "mark", KEY_STRING, IN_OUTBOX(mark), NULL, 1, WHERE_BYTES_MAX, NULL, 0,
     "With on_sent = \"mark\": the SET list that marks a row as sent, such as \"status = 'SENT', "
     "sent_on = now()\". Then `where` alone says which rows are unsent. Without this key sent_at "
     "is set."},
    {SECTION_OUTBOX, "park", KEY_STRING, IN_OUTBOX(park), NULL, 1, WHERE_BYTES_MAX, NULL, 0,
     "The SET list by which a row that must wait or is dead stays in the table, out of "
     "`where`, such as \"status = 'FAILED', last_error = $error, attempts = $attempts\"; $state is "
     "its state. Without this key the row leaves the table."},
    {SECTION_OUTBOX, "due", KEY_STRING, IN_OUTBOX(columns[COLUMN_DUE]), NULL, 0, 0, NULL, 0,
     "A column, or an expression in parentheses: a row is not sent before this time. With order = "
     "\"key\" the later rows of its key wait with it."},
    {SECTION_OUTBOX, "time_zone", KEY_STRING, IN_OUTBOX(time_zone), NULL, 1, 63, NULL, 0,
     "The zone of a created_at or sent_at that is a `timestamp` without time zone, such as "
     "\"Asia/Tokyo\"; without this key it is UTC."},
    {SECTION_OUTBOX, "adopt", KEY_BOOLEAN, IN_OUTBOX(adopt), "false", 0, 0, NULL, 0,
     "Confirms that the unsent rows of a table that `init` did not create are meant for the relay. "
     "Needed once, before anything is sent from it."},
    {SECTION_OUTBOX, "preset", KEY_STRING, IN_OUTBOX(preset), "default", 1, 0, NULL, 0,
     "Fits the table of a framework, such as \"debezium\" or \"cap\": config/presets/NAME.toml has "
     "what this file leaves out of [outbox], its parts, [sink.NAME.headers] and [[route]]. "
     "`outbox-relay config --preset NAME` prints it."},

    {SECTION_COLUMNS, "id", KEY_STRING, IN_OUTBOX(columns[COLUMN_ID]), NULL, 0, 0, NULL, 0,
     "The primary key."},
    {SECTION_COLUMNS, "event_id", KEY_STRING, IN_OUTBOX(columns[COLUMN_EVENT_ID]), NULL, 0, 0, NULL,
     0, "The id consumers deduplicate by."},
    {SECTION_COLUMNS, "topic", KEY_STRING, IN_OUTBOX(columns[COLUMN_TOPIC]), NULL, 0, 0, NULL, 0,
     "What the event is about; routes match on it."},
    {SECTION_COLUMNS, "key", KEY_STRING, IN_OUTBOX(columns[COLUMN_KEY]), NULL, 0, 0, NULL, 0,
     "The key of order and partition."},
    {SECTION_COLUMNS, "type", KEY_STRING, IN_OUTBOX(columns[COLUMN_TYPE]), NULL, 0, 0, NULL, 0,
     "The header \"type\"."},
    {SECTION_COLUMNS, "payload", KEY_STRING, IN_OUTBOX(columns[COLUMN_PAYLOAD]), NULL, 0, 0, NULL,
     0, "The message itself."},
    {SECTION_COLUMNS, "headers", KEY_STRING, IN_OUTBOX(columns[COLUMN_HEADERS]), NULL, 0, 0, NULL,
     0, "A flat JSON object of headers."},
    {SECTION_COLUMNS, "created_at", KEY_STRING, IN_OUTBOX(columns[COLUMN_CREATED_AT]), NULL, 0, 0,
     NULL, 0, "When the event was inserted."},
    {SECTION_COLUMNS, "sent_at", KEY_STRING, IN_OUTBOX(columns[COLUMN_SENT_AT]), NULL, 0, 0, NULL,
     0,
     "NULL until the row is sent. With on_sent = \"delete\" it may be absent; a column that is NOT "
     "NULL or has a default is not the relay's and is ignored."},

    {SECTION_RELAY, "lanes", KEY_INTEGER, IN_CONFIG(relay.lanes), "2", 1, LANES_MAX, NULL, 0,
     "Lanes work in parallel, each on a database connection of its own; a process has two more."},
    {SECTION_RELAY, "batch", KEY_INTEGER, IN_OUTBOX(batch), "500", 1, 10000, NULL, KEY_RELOAD,
     "Rows per claim."},
    {SECTION_RELAY, "batch_bytes", KEY_SIZE, IN_OUTBOX(batch_bytes), "8MiB", KIB(64), GIB, NULL,
     KEY_RELOAD, "Bytes per claim, which a lane holds in memory."},
    {SECTION_RELAY, "poll_interval", KEY_DURATION, IN_CONFIG(relay.poll_interval_ms), "250ms", 1,
     HOUR, NULL, KEY_RELOAD, "The longest time an idle lane waits before it polls again."},
    {SECTION_RELAY, "publish_timeout", KEY_DURATION, IN_CONFIG(relay.publish_timeout_ms), "10s",
     100, SECONDS(600), NULL, KEY_RELOAD,
     "How long a batch waits for the broker's acknowledgements."},
    {SECTION_RELAY, "shutdown_timeout", KEY_DURATION, IN_CONFIG(relay.shutdown_timeout_ms), "15s",
     0, HOUR, NULL, KEY_RELOAD,
     "How long a stopping relay may take to finish its batches; at least publish_timeout. \"0\" "
     "exits at once."},
    {SECTION_RELAY, "synchronous_commit", KEY_SWITCH, IN_OUTBOX(synchronous_commit), "on", 0, 0,
     switch_words, KEY_RELOAD,
     "The setting of the relay's own sessions; \"off\" is faster and repeats messages after a "
     "database crash."},

    {SECTION_RETRY, "max_attempts", KEY_INTEGER, IN_CONFIG(relay.retry.max_attempts), "10", 1, 1000,
     NULL, KEY_RELOAD, "A message is dead after this many attempts."},
    {SECTION_RETRY, "backoff", KEY_DURATION, IN_CONFIG(relay.retry.backoff_ms), "1s", 1, HOUR, NULL,
     KEY_RELOAD, "The wait before the second attempt; doubled for each further one, with jitter."},
    {SECTION_RETRY, "backoff_max", KEY_DURATION, IN_CONFIG(relay.retry.backoff_max_ms), "5m", 1,
     HOUR, NULL, KEY_RELOAD, "The longest wait between two attempts."},

    {SECTION_SINK, "type", KEY_STRING, IN_SINK(type), NULL, 1, 0, NULL, KEY_ANY_SINK,
     "\"kafka\", \"nats\" or \"stdout\"; required."},
    {SECTION_SINK, "brokers", KEY_LIST, IN_SINK(brokers), NULL, 1, 0, NULL, KEY_KAFKA,
     "\"HOST:PORT\" of one or more brokers; required."},
    {SECTION_SINK, "servers", KEY_LIST, IN_SINK(servers), NULL, 1, 0, NULL, KEY_NATS,
     "\"nats://HOST:PORT\" or \"tls://HOST:PORT\" of one or more servers; tls:// needs nats.c 3.11 "
     "or later; required."},
    {SECTION_SINK, "stream", KEY_STRING, IN_SINK(stream), NULL, 1, 0, NULL, KEY_NATS,
     "The JetStream stream; an acknowledgement from another one is a failure; required."},
    {SECTION_SINK, "domain", KEY_STRING, IN_SINK(domain), NULL, 1, DOMAIN_BYTES_MAX, NULL, KEY_NATS,
     "The JetStream domain of the stream, if it is not that of the server, as beside a leaf node."},
    {SECTION_SINK, "inbox_prefix", KEY_STRING, IN_SINK(inbox_prefix), "_INBOX", 1, 0, NULL,
     KEY_NATS,
     "The prefix of the subjects to which acknowledgements are sent. Anyone else who may publish "
     "there could forge them, so give each relay its own prefix."},
    {SECTION_SINK, "allow", KEY_LIST, IN_SINK(allow), NULL, 1, PATTERN_MAX, NULL, KEY_ANY_SINK,
     "Patterns of the destinations that may be published to; rows for others wait until a relay "
     "permits them. Without it, all valid, unreserved ones are permitted."},
    {SECTION_SINK, "create", KEY_BOOLEAN, IN_SINK(create), "false", 0, 0, NULL,
     KEY_KAFKA | KEY_NATS,
     "`init` and `run` create missing topics, or the stream with the subjects in allow."},
    {SECTION_SINK, "atomic_batches", KEY_BOOLEAN, IN_SINK(atomic_batches), "true", 0, 0, NULL,
     KEY_NATS,
     "The events of a key travel together in atomic batches if the stream has allow_atomic "
     "(nats-server 2.12.1 or later); otherwise one by one. `create` sets allow_atomic."},
    {SECTION_SINK, "allow_plaintext", KEY_BOOLEAN, IN_SINK(allow_plaintext), "false", 0, 0, NULL,
     KEY_KAFKA | KEY_NATS,
     "Passwords and tokens may cross a network without TLS, where others can read them. Otherwise "
     "such a sink is refused, unless its servers are on this machine."},
    {SECTION_SINK, "null_headers", KEY_BOOLEAN, IN_SINK(null_headers), "false", 0, 0, NULL,
     KEY_KAFKA,
     "A null in the row's headers becomes a header whose value is Kafka's null. Otherwise it makes "
     "no header."},
    {SECTION_SINK, "cloudevents", KEY_WORD, IN_SINK(cloudevents), "off", 0, 0, event_words,
     KEY_KAFKA | KEY_NATS,
     "Messages are CloudEvents 1.0: \"binary\", with attributes as headers, or \"structured\", one "
     "JSON object. The relay's own headers id, type and created_at are left out unless they are "
     "named in [sink.NAME.headers]."},
    {SECTION_SINK, "username", KEY_STRING, IN_SINK(username), NULL, 1, 0, NULL, KEY_NATS,
     "The user to log in as."},
    {SECTION_SINK, "password", KEY_STRING, IN_SINK(password), NULL, 1, 0, NULL,
     KEY_NATS | KEY_SECRET, "Its password."},
    {SECTION_SINK, "password_file", KEY_STRING, IN_SINK(password_file), NULL, 1, 0, NULL, KEY_NATS,
     "A file that holds the password, read again at each connection."},
    {SECTION_SINK, "token", KEY_STRING, IN_SINK(token), NULL, 1, 0, NULL, KEY_NATS | KEY_SECRET,
     "A token in place of user and password."},
    {SECTION_SINK, "token_file", KEY_STRING, IN_SINK(token_file), NULL, 1, 0, NULL, KEY_NATS,
     "A file that holds the token, read again at each connection."},
    {SECTION_SINK, "credentials_file", KEY_STRING, IN_SINK(credentials_file), NULL, 1, 0, NULL,
     KEY_NATS, "A .creds file: user JWT and NKey seed."},
    {SECTION_SINK, "nkey", KEY_STRING, IN_SINK(nkey), NULL, 1, 0, NULL, KEY_NATS,
     "The public NKey of the user, \"U...\", in place of user and password."},
    {SECTION_SINK, "nkey_file", KEY_STRING, IN_SINK(nkey_file), NULL, 1, 0, NULL, KEY_NATS,
     "A file with the NKey's seed, \"SU...\", read again at each connection."},
    {SECTION_SINK, "tls_ca_file", KEY_STRING, IN_SINK(tls_ca_file), NULL, 1, 0, NULL, KEY_NATS,
     "Trusted certificates, PEM. Without it, those of the system."},
    {SECTION_SINK, "tls_cert_file", KEY_STRING, IN_SINK(tls_cert_file), NULL, 1, 0, NULL, KEY_NATS,
     "The client's certificate, PEM."},
    {SECTION_SINK, "tls_key_file", KEY_STRING, IN_SINK(tls_key_file), NULL, 1, 0, NULL, KEY_NATS,
     "The client's private key, PEM."},

    {SECTION_HEADERS, "id", KEY_STRING, IN_SINK(headers[OWN_ID]), NULL, 0, HEADER_NAME_MAX, NULL,
     KEY_KAFKA | KEY_NATS,
     "The event id, by which consumers recognise repeats; \"id\" without this key. On NATS it is "
     "in Nats-Msg-Id too."},
    {SECTION_HEADERS, "type", KEY_STRING, IN_SINK(headers[OWN_TYPE]), NULL, 0, HEADER_NAME_MAX,
     NULL, KEY_KAFKA | KEY_NATS, "The type; \"type\" without this key."},
    {SECTION_HEADERS, "created_at", KEY_STRING, IN_SINK(headers[OWN_CREATED_AT]), NULL, 0,
     HEADER_NAME_MAX, NULL, KEY_KAFKA | KEY_NATS,
     "When the event was inserted; \"created_at\" without this key."},
    {SECTION_HEADERS, "key", KEY_STRING, IN_SINK(headers[OWN_KEY]), NULL, 0, HEADER_NAME_MAX, NULL,
     KEY_NATS, "The message's key, which Kafka has outside the headers; \"key\" without this key."},

    {SECTION_CLOUDEVENTS, "source", KEY_STRING, IN_CONFIG(relay.cloudevents.source), NULL, 1, 1024,
     NULL, 0,
     "Where the events come from, a URI or a part of one such as \"/shop/orders\"; required for a "
     "sink with cloudevents."},
    {SECTION_CLOUDEVENTS, "type", KEY_STRING, IN_CONFIG(relay.cloudevents.type), NULL, 1, 1024,
     NULL, 0, "The type of rows that have none. Without it, such a row is dead."},
    {SECTION_CLOUDEVENTS, "content_type", KEY_STRING, IN_CONFIG(relay.cloudevents.content_type),
     NULL, 1, 255, NULL, 0,
     "The media type of payloads whose column is neither json nor jsonb, such as "
     "\"application/avro\". A row's header content-type comes first."},

    {SECTION_ROUTE, "match", KEY_STRING, IN_ROUTE(match), NULL, 1, PATTERN_MAX, NULL, 0,
     "A pattern on the topic column: `*` and `>` by token as in NATS, or \"re:\" and a POSIX "
     "extended regular expression (no \\w, no \\d: [[:alnum:]_], [0-9]); required."},
    {SECTION_ROUTE, "sink", KEY_STRING, IN_ROUTE(sink), NULL, 1, 0, NULL, 0,
     "The name of a sink; not needed when there is only one."},
    {SECTION_ROUTE, "topic", KEY_STRING, IN_ROUTE(topic), "{topic}", 1, PATTERN_MAX, NULL, 0,
     "The destination: text and {topic} {key} {type} {id} {event_id}."},
    {SECTION_ROUTE, "key", KEY_STRING, IN_ROUTE(key), "{key}", 1, PATTERN_MAX, NULL, 0,
     "The message's key, written in the same way. It must not be empty, or all rows would have the "
     "same key."},

    {SECTION_HTTP, "listen", KEY_STRING, IN_CONFIG(http_listen), "127.0.0.1:9464", 0, 0, NULL, 0,
     "\"HOST:PORT\" where `run` serves its status page, /metrics, /healthz, /readyz and /status; "
     "\":PORT\" is every interface, \"\" is none. While the port is in use, the relay works "
     "without "
     "HTTP and keeps trying."},

    {SECTION_LOG, "level", KEY_WORD, IN_CONFIG(log_level), "info", 0, 0, level_words, KEY_RELOAD,
     "The least urgent level that is written."},
    {SECTION_LOG, "format", KEY_WORD, IN_CONFIG(log_format), "text", 0, 0, format_words, KEY_RELOAD,
     "\"json\" writes one object per line."},
};

const size_t key_count = sizeof keys / sizeof keys[0];
