/*
 * `explain` beside what then arrives at Kafka and at NATS: the same destination, partition, key,
 * headers and size, for plain and computed tables, renamed headers and CloudEvents; and beside what
 * `dead list` says of rows that are refused. `peek` beside what another reader finds there, and
 * spans beside what was sent.
 */
#include "integration/collector.h"
#include "integration/program.h"

#include <nats/nats.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define SHELL_BYTES_MAX 65536

static const char *topic_name(const struct fixture *fixture)
{
    return fixture->name;
}

static const char *shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *shell(const char *format, ...)
{
    static char output[SHELL_BYTES_MAX];
    char command[1024];
    va_list args;
    FILE *pipe;
    int status;

    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    status = pclose(pipe);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: status %d: %s", command, status, output);
    return output;
}

#define OWN_TABLE                                                                                  \
    "CREATE TABLE shop_events (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"               \
    " kind text, details jsonb, status text NOT NULL DEFAULT 'NEW', available_at timestamptz)"

/* The whole of [outbox], and the sinks with what both of them have. */
static void configure_with(struct fixture *fixture, const char *outbox, const char *kafka,
                           const char *nats)
{
    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("explain.toml",
                     "[database]\nurl = \"%s\"\n[outbox]\nadopt = true\n%s\n"
                     "[sink.k]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n%s\n"
                     "[sink.n]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n%s\n"
                     "[[route]]\nmatch = \"k.>\"\nsink = \"k\"\ntopic = \"%s\"\n"
                     "[[route]]\nmatch = \"n.>\"\nsink = \"n\"\ntopic = \"%s.{topic}\"\n"
                     "[[route]]\nmatch = \"missing.>\"\nsink = \"k\"\ntopic = \"%s-missing\"\n"
                     "[[route]]\nmatch = \"bad.>\"\nsink = \"n\"\ntopic = \"{topic} x\"\n",
                     fixture->url, outbox, harness_env("TEST_KAFKA_BROKERS"), kafka,
                     harness_env("TEST_NATS_URL"), fixture->name, nats, topic_name(fixture),
                     fixture->name, fixture->name));
}

static void configure_both(struct fixture *fixture)
{
    configure_with(fixture, "", "", "");
}

static int set_up_both(void **state)
{
    struct fixture *fixture;
    int status = fixture_open(state, configure_both);

    fixture = *state;
    if (status == 0) {
        (void)shell("build/reader topics %s create %s 5 2>&1", harness_env("TEST_KAFKA_BROKERS"),
                    topic_name(fixture));
        (void)shell("build/reader stream %s create %s '%s.>' 2>&1", harness_env("TEST_NATS_URL"),
                    fixture->name, fixture->name);
    }
    return status;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    (void)shell("build/reader topics %s delete %s 2>&1; build/reader stream %s delete %s 2>&1",
                harness_env("TEST_KAFKA_BROKERS"), topic_name(fixture),
                harness_env("TEST_NATS_URL"), fixture->name);
    return fixture_close(state);
}

FIXTURE(set_up_both, tear_down)

/* What explain says now, into the temporary table told (line jsonb). */
static void explain_all(struct fixture *fixture)
{
    expect_run(fixture, 0, "explain", "--last", "1000", "--json");
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS told;"
                       " CREATE TEMP TABLE told (line jsonb)");
    sql_copy(fixture->conn, "COPY told FROM STDIN (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')",
             fixture->process.out);
}

/* What arrived, as tests/support/reader.c writes it. */
static void read_back(struct fixture *fixture)
{
    sql(fixture->conn, "DROP TABLE IF EXISTS read_back;"
                       " CREATE TEMP TABLE read_back (arrival bigint, destination text, part int,"
                       " position bigint, key text, id text, type text, created_at text,"
                       " message_id text, others text, payload text, stored_ms bigint)");
    sql_copy(
        fixture->conn, "COPY read_back FROM STDIN",
        shell("build/reader kafka %s %s", harness_env("TEST_KAFKA_BROKERS"), topic_name(fixture)));
    sql_copy(fixture->conn, "COPY read_back FROM STDIN",
             shell("build/reader nats %s %s", harness_env("TEST_NATS_URL"), fixture->name));
}

/* Both as destination, partition, key, size and headers. The reader takes three headers, and on
 * NATS the key's, apart. */
#define TOLD                                                                                       \
    "SELECT line->>'destination', CASE line->>'sink' WHEN 'k' THEN (line->>'partition')::int END," \
    " line->>'key', (line->>'payload_bytes')::int, line->'headers' FROM told"                      \
    " WHERE line->>'outcome' = 'send'"
#define READ                                                                                                 \
    "SELECT destination, CASE WHEN stored_on_kafka THEN part END, key, octet_length(payload), " READ_HEADERS \
        READ_BACK
#define READ_HEADERS                                                                                           \
    " jsonb_strip_nulls(jsonb_build_object('id', id, 'type', type, 'created_at', created_at,"                  \
    " 'Nats-Msg-Id', nullif(message_id, ''), 'key', CASE WHEN NOT stored_on_kafka THEN key END)) || coalesce(" \
    " (SELECT jsonb_object_agg(split_part(pair, '=', 1), replace(replace(replace("                             \
    " split_part(pair, '=', 2), '%26', '&'), '%3D', '='), '%25', '%'))"                                        \
    " FROM regexp_split_to_table(others, '&') pair WHERE pair <> ''), '{}')"
#define READ_BACK                                                                                  \
    " FROM (SELECT *, coalesce(message_id, '') = '' AS stored_on_kafka FROM read_back) r"

/* The same with position, payload and time, and without the key of NATS, which is a header. */
#define PEEKED                                                                                     \
    "SELECT line->>'destination', (line->>'partition')::int, (line->>'position')::bigint,"         \
    " line->>'key', coalesce(line->>'payload', ''), line->'headers',"                              \
    " round(extract(epoch FROM (line->>'time')::timestamptz) * 1000)::bigint FROM peeked"          \
    " WHERE line->>'event_id' IS NOT NULL"
#define HELD                                                                                       \
    "SELECT destination, CASE WHEN stored_on_kafka THEN part END, position,"                       \
    " CASE WHEN stored_on_kafka THEN key END, coalesce(payload, ''), " READ_HEADERS                \
    ", stored_ms " READ_BACK

static void take_peeked(struct fixture *fixture, const char *sink, const char *place)
{
    expect_run(fixture, 0, "peek", sink, place, "--last", "1000", "--json");
    sql_copy(fixture->conn,
             "COPY peeked (line) FROM STDIN (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')",
             fixture->process.out);
}

static void assert_same(struct fixture *fixture, const char *some, const char *others)
{
    assert_string_equal(
        sql_text(fixture->conn, "SELECT t::text FROM (%s EXCEPT ALL %s) t LIMIT 1", some, others),
        "");
    assert_string_equal(
        sql_text(fixture->conn, "SELECT t::text FROM (%s EXCEPT ALL %s) t LIMIT 1", others, some),
        "");
}

static void assert_told_what_arrived(struct fixture *fixture, int messages)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS peeked;"
                       " CREATE TEMP TABLE peeked (line jsonb)");
    take_peeked(fixture, "k", topic_name(fixture));
    take_peeked(fixture, "n", ">");
    read_back(fixture);
    assert_same(fixture, PEEKED, HELD);
    assert_same(fixture, TOLD, READ);
    assert_number(fixture->conn, messages, "SELECT count(*) FROM read_back");
}

static void drain(struct fixture *fixture, int status)
{
    expect(fixture, run_drain(fixture), status);
}

/* For both sinks: some have no key, one has no payload. nats.c reads an empty header wrongly. */
static void emit_plain(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) SELECT CASE n %% 2 WHEN 0 THEN"
        " 'k.a' ELSE 'n.a' END, CASE WHEN n %% 5 = 1 AND n %% 2 = 1 THEN NULL ELSE 'schlüssel-' ||"
        " n END, 'Made', CASE WHEN n <> 8 THEN jsonb_build_object('n', n, 'text', 'größe') END,"
        " jsonb_build_object('trace', 'a&b=c', 'none', NULL) || CASE n %% 2 WHEN 0 THEN"
        " '{\"empty\": \"\"}' ELSE '{}' END::jsonb"
        " FROM generate_series(1, 20) n");
}

FIXTURE_TEST(a_plain_row_arrives_as_explain_said)
{
    emit_plain(fixture);
    explain_all(fixture);
    drain(fixture, 0);
    assert_told_what_arrived(fixture, 20);
}

FIXTURE_TEST(headers_that_are_renamed_arrive_as_explain_said)
{
    configure_with(fixture, "",
                   "[sink.k.headers]\nid = \"X-Event-ID\"\ntype = \"\"\ncreated_at = \"when\"\n",
                   "[sink.n.headers]\nid = \"X-Event-ID\"\ncreated_at = \"\"\n");
    emit_plain(fixture);
    explain_all(fixture);
    drain(fixture, 0);
    assert_told_what_arrived(fixture, 20);
}

FIXTURE_TEST(cloudevents_arrive_as_explain_said)
{
    static const char *const modes[] = {"binary", "structured"};
    char sink[64];

    for (int i = 0; i < 2; i++) {
        (void)snprintf(sink, sizeof sink, "cloudevents = \"%s\"", modes[i]);
        configure_with(fixture, "[cloudevents]\nsource = \"/shop\"", sink, sink);
        emit_plain(fixture);
        sql(fixture->conn, "UPDATE outbox SET headers = '{\"ce_shop\": \"größe 7\"}'"
                           " WHERE sent_at IS NULL AND id %% 3 = 0");
        explain_all(fixture);
        sql(fixture->conn, "CREATE TEMP TABLE IF NOT EXISTS told_before (line jsonb);"
                           " INSERT INTO told_before SELECT * FROM told WHERE line->>'state' ="
                           " 'unsent'; TRUNCATE told; INSERT INTO told SELECT * FROM told_before");
        drain(fixture, 0);
        assert_told_what_arrived(fixture, 20 * (i + 1));
    }
}

static void assert_broker_span(const char *row, const char *system, const char *destination)
{
    const json_t *span = collector_span(row, 0);

    assert_member(span, "parentSpanId", "00f067aa0ba902b7");
    assert_attribute(span, "messaging.system", system);
    assert_attribute(span, "messaging.destination.name", destination);
    assert_attribute(span, "error.type", "");
    assert_true(span_event(span, "publish") <= span_event(span, "acknowledge"));
}

/* Rows of one key, so that there are several waves and atomic batches; as headers, and as
 * attributes of CloudEvents; and one that is too large for Kafka, which becomes dead. */
FIXTURE_TEST(a_sampled_row_of_each_broker_makes_a_span_in_every_form_of_its_headers)
{
    static const char *const forms[] = {"", "cloudevents = \"binary\"",
                                        "cloudevents = \"structured\"",
                                        "headers.id = \"X-Event-ID\"\nheaders.type = \"\""};
    char outbox[256];
    char subject[96];

    collector_open();
    (void)snprintf(subject, sizeof subject, "%s.n.a", fixture->name);
    (void)snprintf(outbox, sizeof outbox,
                   "[cloudevents]\nsource = \"/shop\"\ntype = \"any\"\n[cloudevents.attributes]\n"
                   "traceparent = \"trace\"\n[trace]\nendpoint = \"http://127.0.0.1:%d\"\n",
                   collector.port);
    sql(fixture->conn, "ALTER TABLE outbox ADD COLUMN trace text");
    for (int i = 0; i < 4; i++) {
        configure_with(fixture, outbox, forms[i], forms[i]);
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key, payload, headers, trace) SELECT t || '.a', 'k', '1',"
            " CASE WHEN h THEN '{\"traceparent\":"
            " \"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}'::jsonb END,"
            " CASE WHEN NOT h THEN '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' END"
            " FROM unnest('{k,n}'::text[]) t, unnest('{t,f}'::bool[]) h ORDER BY t, h");
        drain(fixture, 0);
        collector_await(4 * (size_t)(i + 1));
    }
    for (int i = 1; i <= 16; i++) {
        char row[12];

        (void)snprintf(row, sizeof row, "%d", i);
        assert_broker_span(row, (i - 1) % 4 < 2 ? "kafka" : "nats",
                           (i - 1) % 4 < 2 ? topic_name(fixture) : subject);
    }
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload, headers) VALUES ('k.a', to_jsonb(repeat('x', 1020000)),"
        " '{\"traceparent\": \"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}')");
    drain(fixture, 1);
    collector_await(17);
    assert_attribute(collector_span("17", 0), "error.type", "rejected");
    assert_attribute(collector_span("17", 0), "outbox.attempts", "1");
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(collector_span("17", 0), "status"), "code")),
                     2);
    collector_close();
}

FIXTURE_TEST(a_computed_row_arrives_as_explain_said_and_needs_no_tables_of_the_relay)
{
    sql(fixture->conn, OWN_TABLE);
    configure_with(fixture,
                   "table = \"shop_events\"\nwhere = \"status = 'NEW'\"\n"
                   "mark = \"status = 'SENT'\"\ndue = \"available_at\"\n[outbox.columns]\n"
                   "id = \"seq\"\nevent_id = \"('shop-' || seq)\"\ntopic = \"(kind || '.a')\"\n"
                   "key = \"(details->>'customer')\"\npayload = \"(details->'body')\"\n"
                   "type = \"('Type-' || (100 / (seq - 7)))\"\nheaders = \"\"\ncreated_at = \"\"\n"
                   "[outbox.headers]\n\"x-source\" = \"('shop')\"\n\"x-kind\" = \"kind\"\n",
                   "", "");
    sql(fixture->conn,
        "INSERT INTO shop_events (kind, details, status, available_at) SELECT CASE n %% 2 WHEN 0"
        " THEN 'k' ELSE 'n' END, jsonb_build_object('customer', 'c' || n, 'body', n * 1000),"
        " CASE n WHEN 9 THEN 'OLD' ELSE 'NEW' END, CASE n WHEN 10 THEN now() + interval '1 hour'"
        " END FROM generate_series(1, 12) n");
    explain_all(fixture);
    assert_number(fixture->conn, 12, "SELECT count(*) FROM told");
    assert_number(fixture->conn, 3,
                  "SELECT count(*) FROM told WHERE line->>'outcome' = 'none' AND"
                  " line->>'id' = '9' OR line->>'outcome' = 'scheduled' AND"
                  " line->>'id' = '10' AND (line->>'due_in_ms')::int BETWEEN 3500000"
                  " AND 3600000 OR line->>'outcome' = 'dead' AND line->>'id' = '7'"
                  " AND line->>'reason' LIKE '%%cannot compute the values%%division by"
                  " zero%%'");
    expect_run(fixture, 0, "explain", "3");
    assert_says(fixture->process.out, "3, unsent: would be sent");
    init_existing(fixture);
    sql(fixture->conn, "UPDATE shop_events SET status = 'OLD' WHERE seq = 7");
    expect_run(fixture, 0, "sql", "events");
    *strrchr(fixture->process.out, ';') = '\0';
    assert_string_equal(
        sql_text(
            fixture->conn,
            "SELECT concat_ws(' ', count(*), string_agg(concat_ws(' ', id, event_id, topic, key,"
            " payload, more_headers), '' ORDER BY id) FILTER (WHERE id = 4), min(id) FILTER"
            " (WHERE not_before > now())) FROM (%s) e",
            fixture->process.out),
        "10 4 shop-4 k.a c4 4000 {x-source,shop,x-kind,k} 10");
    sql(fixture->conn, "UPDATE shop_events SET status = 'NEW' WHERE seq = 7");
    drain(fixture, 1);
    assert_told_what_arrived(fixture, 9);
    /* One that is parked takes the place of its marked one, and keeps what was said of it. */
    expect_run(fixture, 0, "explain", "7", "10", "12", "--json");
    assert_says(fixture->process.out, "\"state\":\"dead\"");
    assert_says(fixture->process.out, "\"state\":\"scheduled\"");
    assert_says(fixture->process.out, "\"state\":\"sent, or left out by where\"");
}

/* Each row is refused for another reason; those that only a broker could refuse are left out. */
FIXTURE_TEST(a_row_that_is_refused_is_refused_for_the_reason_that_explain_gave)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload, headers) VALUES"
        " ('nowhere', NULL, '1', NULL), ('bad.a', NULL, '1', NULL),"
        " ('k.a', NULL, '1', '{\"id\": \"x\"}'), ('n.a', NULL, '1', '{\"Nats-Msg-Id\": \"x\"}'),"
        " ('n.a', NULL, '1', '{\"a\": {}}'), ('n.a', repeat('k', 70000), '1', NULL),"
        " ('k.a', repeat('k', 140000), '1', NULL),"
        " ('n.a', NULL, to_jsonb(repeat('p', 1100000)), NULL),"
        " ('k.a', NULL, to_jsonb(repeat('p', 1100000)), NULL),"
        " ('k.a', NULL, to_jsonb(repeat('p', 999950)), '{\"h\": \"%s\"}'),"
        " ('missing.a', NULL, '1', NULL)",
        "123456789012345678901234567890");
    explain_all(fixture);
    drain(fixture, 1);
    assert_string_equal(
        sql_text(fixture->conn,
                 "SELECT coalesce(string_agg(concat_ws(' | ', id, error, line->>'reason'), E'\\n'),"
                 " '') FROM told LEFT JOIN outbox_parked ON id::text = line->>'id'"
                 " WHERE error IS DISTINCT FROM line->>'reason' OR (state = 'dead') <>"
                 " (line->>'outcome' = 'dead')"),
        "");
    assert_number(fixture->conn, 9, "SELECT count(*) FROM outbox_parked WHERE state = 'dead'");
    /* of a parked row it says the same again, and why it is parked */
    expect_run(fixture, 0, "explain", "11");
    assert_says(fixture->process.out, "11, parked, waiting (unknown topic");
    assert_says(fixture->process.out, "; at the next try it would wait: unknown topic");
}

/* librdkafka refuses by the size on the wire, to the byte. */
FIXTURE_TEST(the_largest_message_that_leaves_is_the_one_that_explain_says)
{
    configure_with(fixture, "", "[sink.k.properties]\n\"message.max.bytes\" = 1000\n", "");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload, headers) SELECT 'k.a', 'key' || n + 1000, to_jsonb("
        "repeat('p', n)), jsonb_build_object('h', repeat('v', 60 + n %% 10)) FROM generate_series(500,"
        " 900) n");
    explain_all(fixture);
    drain(fixture, 1);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM told LEFT JOIN outbox_parked ON id::text = line->>'id'"
                  " WHERE error IS DISTINCT FROM line->>'reason'");
    assert_in_range(
        sql_number(fixture->conn, "SELECT count(*) FROM outbox_parked WHERE state = 'dead'"), 50,
        350);
}

FIXTURE_TEST(explain_waits_for_no_lock_and_takes_none)
{
    PGconn *other = harness_connect(fixture->url);

    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('k.a', '1'), ('k.a', '2')");
    sql(other, "BEGIN; SELECT FROM outbox FOR UPDATE; LOCK TABLE outbox IN EXCLUSIVE MODE");
    expect_run(fixture, 0, "explain");
    assert_says(fixture->process.out, "1, unsent: would be sent");
    sql(other, "ROLLBACK");
    /* While it runs, another session gets the rows at once. */
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "explain", "--where", "pg_sleep(1) IS NOT NULL", "-c",
                  fixture->config, NULL);
    wait_for_number(
        fixture->conn, 1,
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname ="
        " current_database()");
    sql(other, "SELECT FROM outbox FOR UPDATE NOWAIT");
    process_wait(&fixture->process);
    expect(fixture, fixture->process.status, 0);
    assert_number(fixture->conn, 2, UNSENT);
    PQfinish(other);
}

FIXTURE_TEST(what_explain_cannot_do_is_said_in_one_line)
{
    static const struct {
        const char *where;
        const char *says;
    } conditions[] = {
        {"topic =", "--where: "},
        {"true; DROP TABLE outbox", "--where: "},
        {"true) OR (true", "--where: "},
        {"true --", "--where: "},
        {"true FOR UPDATE", "--where: "},
        {"$1 = topic", "--where: "},
        {"no_such_column = 1", "--where: "},
        {"1 / (id - id) = 1", "--where: "},
        {"nextval('public.outbox_id_seq') > 0", "read-only transaction"},
    };

    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('k.a', '1'), ('n.a', '2')");
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        expect_run(fixture, 2, "explain", "--where", conditions[i].where);
        assert_says(fixture->process.err, conditions[i].says);
        assert_int_equal(count_lines(fixture->process.err), 1);
    }
    assert_number(fixture->conn, 2, UNSENT);
    expect_run(fixture, 1, "explain", "2", "77", "x'y\\");
    assert_says(fixture->process.out, "2, unsent: would be sent");
    assert_says(fixture->process.err, "has id \"77\"");
    expect_run(fixture, 2, "explain", "1", "--last", "2");
    expect_run(fixture, 2, "explain", "--last", "1001");
    expect_run(fixture, 0, "explain", "--last", "1", "--where", "topic = 'k.a'");
    assert_says(fixture->process.out, "1, unsent: would be sent");
}

FIXTURE_TEST(without_a_broker_explain_says_what_it_can)
{
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("away.toml",
                                "[database]\nurl = \"%s\"\n[sink.n]\ntype = \"nats\"\n"
                                "servers = [\"nats://127.0.0.1:%d\"]\nstream = \"S\"\n",
                                fixture->url, harness_free_port()));
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('a', '1'), ('a b', '2'),"
                       " ('a', to_jsonb(repeat('p', 2000000)))");
    expect_run(fixture, 0, "explain");
    assert_says(fixture->process.err, "sink n: its limits, and whether a topic or subject is there,"
                                      " are unknown");
    assert_says(fixture->process.out, "1, unsent: would be sent");
    assert_says(fixture->process.out, "2, unsent: would be dead: invalid subject");
    assert_says(fixture->process.out, "3, unsent: would be sent");
}

/* ---- peek ---- */

static int close_library(void **state)
{
    (void)state;
    return nats_CloseAndWait(20000) == NATS_OK ? 0 : -1;
}

ONCE(NULL, close_library)

static int consumers_of_stream(const char *name)
{
    natsConnection *connection = NULL;
    jsCtx *context = NULL;
    jsStreamInfo *info = NULL;
    int count;

    assert_int_equal(natsConnection_ConnectTo(&connection, harness_env("TEST_NATS_URL")), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
    assert_int_equal(js_GetStreamInfo(&info, context, name, NULL, NULL), NATS_OK);
    count = (int)info->State.Consumers;
    jsStreamInfo_Destroy(info);
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    return count;
}

/* Of three subjects the first has the oldest messages alone, far from the stream's end. */
FIXTURE_TEST(peek_shows_the_last_messages_of_a_subject_wherever_they_lie)
{
    char subject[96];

    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload, headers) SELECT CASE WHEN n <= 7"
                       " THEN"
                       " 'n.old' WHEN n <= 10 THEN 'n.newer' ELSE 'n.many' END, 'k', to_jsonb(n),"
                       " CASE n WHEN 9 THEN '{\"e\": \"Error: timeout\"}' END::jsonb"
                       " FROM generate_series(1, 900) n");
    drain(fixture, 0);
    (void)snprintf(subject, sizeof subject, "%s.n.old", fixture->name);
    sql(fixture->conn, "CREATE TEMP TABLE peeked (n serial, line jsonb)");
    expect_run(fixture, 0, "peek", "n", subject, "--last", "2");
    assert_says(fixture->process.out, "sequence 6, ");
    assert_says(fixture->process.out, "\n  payload    1 byte\n             7\n");
    assert_null(strstr(fixture->process.out, "sequence 5, "));
    (void)snprintf(subject, sizeof subject, "%s.*.newer", fixture->name);
    take_peeked(fixture, "n", subject);
    assert_string_equal(
        sql_text(fixture->conn, "SELECT string_agg(line->>'payload', ' ' ORDER BY n) FROM peeked"),
        "8 9 10");
    expect_run(fixture, 0, "peek", "n");
    assert_says(fixture->process.out, "sequence 891, ");
    assert_null(strstr(fixture->process.out, "sequence 890, "));
    (void)snprintf(subject, sizeof subject, "%s.no.such", fixture->name);
    expect_run(fixture, 0, "peek", "n", subject);
    assert_string_equal(fixture->process.out, "");
    expect_run(fixture, 4, "peek", "n", "no.such");
    assert_says(fixture->process.err, "filter subject is not a valid subset");
    assert_int_equal(consumers_of_stream(fixture->name), 0);
}

/* Of five partitions; those of one stay in its order. */
FIXTURE_TEST(peek_shows_the_last_messages_of_all_partitions_of_a_topic)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 'k.a', 'k' || n %% 40,"
                       " to_jsonb(n) FROM generate_series(1, 400) n");
    drain(fixture, 0);
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT 'k.a', 'k' || n %% 40,"
                       " to_jsonb(n) FROM generate_series(401, 420) n");
    drain(fixture, 0);
    sql(fixture->conn, "CREATE TEMP TABLE peeked (n serial, line jsonb)");
    expect_run(fixture, 0, "peek", "k", topic_name(fixture), "--last", "20", "--json");
    sql_copy(fixture->conn,
             "COPY peeked (line) FROM STDIN (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')",
             fixture->process.out);
    assert_string_equal(sql_text(fixture->conn,
                                 "SELECT concat_ws(' ', count(*), min((line->>'payload')::int),"
                                 " max((line->>'payload')::int)) FROM peeked"),
                        "20 401 420");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT (line->>'position')::int - lag((line->>'position')"
                  "::int) OVER (PARTITION BY line->>'partition' ORDER BY n) AS step FROM peeked) s"
                  " WHERE step <= 0");
}

FIXTURE_TEST(peek_of_values_that_are_binary_or_huge_or_control_a_terminal_is_harmless)
{
    sql(fixture->conn, "ALTER TABLE outbox ALTER payload TYPE bytea USING NULL;"
                       " ALTER TABLE outbox_parked ALTER payload TYPE bytea USING NULL;"
                       " INSERT INTO outbox (topic, key, payload, headers) VALUES"
                       " ('k.a', E'\x1b[2J', '\\x1b5d303b6f776e65640700ff',"
                       " '{\"h\": \"\\u001b[31m\"}'),"
                       " ('n.a', 'k', convert_to(repeat('x', 900000), 'UTF8'), NULL)");
    drain(fixture, 0);
    expect_run(fixture, 0, "peek", "k", topic_name(fixture));
    assert_null(strchr(fixture->process.out, '\x1b'));
    assert_says(fixture->process.out, "payload    12 bytes\n");
    expect_run(fixture, 0, "peek", "k", topic_name(fixture), "--json");
    assert_null(strchr(fixture->process.out, '\x1b'));
    assert_says(fixture->process.out, "\"payload\":{\"hex\":\"1b5d303b6f776e65640700ff\"}");
    expect_run(fixture, 0, "peek", "n");
    assert_says(fixture->process.out, "payload    900000 bytes\n");
    assert_true(strlen(fixture->process.out) < 10000);
}

FIXTURE_TEST(what_peek_cannot_show_is_said_in_one_line_with_a_remedy)
{
    char missing[96];

    (void)snprintf(missing, sizeof missing, "%s-missing", fixture->name);
    expect_run(fixture, 4, "peek", "k", missing);
    assert_says(fixture->process.err, "[sink.k]: there is no topic \"");
    expect_run(fixture, 2, "peek", "k");
    assert_says(fixture->process.err, "peek: this sink's allow list names no topic: give one");
    expect_run(fixture, 2, "peek", "x");
    assert_says(fixture->process.err, "the configured ones are: k n");
    expect_run(fixture, 2, "peek", "n", "a..b");
    expect_run(fixture, 2, "peek", "n", "re:a");
    assert_int_equal(consumers_of_stream(fixture->name), 0);
    write_relay_toml(fixture,
                     "[sink.s]\ntype = \"stdout\"\n[sink.gone]\ntype = \"kafka\"\n"
                     "brokers = [\"127.0.0.1:%d\"]\nallow = [\"a\"]\n[[route]]\n"
                     "match = \">\"\nsink = \"s\"\n",
                     harness_free_port());
    expect_run(fixture, 2, "peek", "s");
    assert_says(fixture->process.err, "cannot be read back");
    expect_run(fixture, 4, "peek", "gone");
    assert_says(fixture->process.err, "127.0.0.1:");
}
