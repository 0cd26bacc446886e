/* The built program from PostgreSQL to real brokers, read back by the independent reader. */
#include "integration/harness.h"
#include "integration/harness_services.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs a shell command; its output is valid until the next call. Fails the test on a status. */
static char *shell(const char *format, ...)
{
    static char output[8 << 20];
    char command[2048];
    va_list args;
    FILE *pipe;
    size_t len;
    int status;

    va_start(args, format);
    (void)vsnprintf(command, sizeof command, format, args);
    va_end(args);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    len = fread(output, 1, sizeof output - 1, pipe);
    output[len] = '\0';
    assert_true(len < sizeof output - 1);
    status = pclose(pipe);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: status %d: %s", command, status, output);
    return output;
}

static void make_topic(const char *topic)
{
    (void)shell("build/reader topics %s create %s 3 2>&1", harness_env("TEST_KAFKA_BROKERS"),
                topic);
}

static void make_stream(const struct fixture *fixture)
{
    (void)shell("build/reader stream %s create %s '%s.>' 2>&1", harness_env("TEST_NATS_URL"),
                fixture->name, fixture->name);
}

static long count_in_kafka(const char *topic)
{
    return strtol(
        shell("build/reader kafka %s %s --count", harness_env("TEST_KAFKA_BROKERS"), topic), NULL,
        10);
}

static long count_in_nats(const struct fixture *fixture)
{
    return strtol(
        shell("build/reader nats %s %s --count", harness_env("TEST_NATS_URL"), fixture->name), NULL,
        10);
}

/* Everything that the reader finds, into the temporary table read_back: a line of the reader is a
 * line of COPY, its columns are in tests/support/reader.c. */
static void load_read_back(struct fixture *fixture, const char *lines)
{
    sql(fixture->conn, "SET client_min_messages = warning;"
                       " CREATE TEMP TABLE IF NOT EXISTS read_back (arrival bigint,"
                       " destination text, part int, position bigint, key text, id text,"
                       " type text, created_at text, message_id text, others text, payload text,"
                       " stored_ms bigint)");
    sql_copy(fixture->conn, "COPY read_back FROM STDIN", lines);
}

static void load_from_kafka(struct fixture *fixture, const char *topic)
{
    load_read_back(fixture,
                   shell("build/reader kafka %s %s", harness_env("TEST_KAFKA_BROKERS"), topic));
}

static void load_from_nats(struct fixture *fixture)
{
    load_read_back(fixture,
                   shell("build/reader nats %s %s", harness_env("TEST_NATS_URL"), fixture->name));
}

/* Compares `columns` of what was read back with `of_rows` of the table; `except` says whether
 * repeats count. */
static void assert_same(struct fixture *fixture, const char *columns, const char *of_rows,
                        const char *except)
{
    char read[256];
    char rows[256];

    (void)snprintf(read, sizeof read, "SELECT %s FROM read_back", columns);
    (void)snprintf(rows, sizeof rows, "SELECT %s FROM outbox", of_rows);
    assert_string_equal(sql_text(fixture->conn, "SELECT lost::text FROM (%s %s %s) lost LIMIT 1",
                                 rows, except, read),
                        "");
    assert_string_equal(sql_text(fixture->conn,
                                 "SELECT invented::text FROM (%s %s %s) invented LIMIT 1", read,
                                 except, rows),
                        "");
}

static void assert_same_messages(struct fixture *fixture)
{
    char of_rows[128];

    (void)snprintf(of_rows, sizeof of_rows,
                   "'%s.' || topic, key, event_id::text, type, payload::text", fixture->name);
    assert_same(fixture, "destination, key, id, type, payload", of_rows, "EXCEPT ALL");
}

/* Repeats are allowed. */
static void assert_same_ids(struct fixture *fixture)
{
    assert_same(fixture, "id", "event_id::text", "EXCEPT");
}

static void write_config(struct fixture *fixture, const char *more_kafka, const char *more_nats)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"none\"\n"
                     "[relay]\npoll_interval = \"50ms\"\npublish_timeout = \"3s\"\n"
                     "[retry]\nbackoff = \"200ms\"\nbackoff_max = \"400ms\"\n"
                     "[sink.k]\ntype = \"kafka\"\nbrokers = [\"%s\"]\n%s\n"
                     "[sink.n]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n%s\n"
                     "[[route]]\nmatch = \"k.>\"\nsink = \"k\"\ntopic = \"%s.{topic}\"\n"
                     "[[route]]\nmatch = \"n.>\"\nsink = \"n\"\ntopic = \"%s.{topic}\"\n",
                     harness_env("TEST_KAFKA_BROKERS"), more_kafka, harness_env("TEST_NATS_URL"),
                     fixture->name, more_nats, fixture->name, fixture->name);
}

static void configure(struct fixture *fixture)
{
    write_config(fixture, "", "");
}

static int set_up(void **state)
{
    return fixture_open(state, configure);
}

static int tear_down(void **state)
{
    services_restore();
    return fixture_close(state);
}

FIXTURE(set_up, tear_down)

static const char *topic_of(const struct fixture *fixture, const char *topic)
{
    static char names[4][128];
    static unsigned next;
    char *name = names[next++ % 4];

    (void)snprintf(name, sizeof names[0], "%s.%s", fixture->name, topic);
    return name;
}

static void make_destinations(struct fixture *fixture)
{
    make_topic(topic_of(fixture, "k.a"));
    make_stream(fixture);
}

static void insert_rows(struct fixture *fixture, const char *topic, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) SELECT '%s', 'k' || i %% 7, 'T',"
        " jsonb_build_object('n', i), '{\"h\": \"v\"}' FROM generate_series(1, %d) i",
        topic, count);
}

FIXTURE_TEST(every_event_reaches_its_broker_once)
{
    make_destinations(fixture);
    insert_rows(fixture, "k.a", 3000);
    insert_rows(fixture, "n.a", 3000);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) VALUES ('k.a', NULL, '1'),"
        " ('k.a', 'tombstone', NULL), ('n.a', E't\\tab', to_jsonb(E'\\\\\\n'::text))");
    expect_run(fixture, 0, "run", "--drain");
    load_from_kafka(fixture, topic_of(fixture, "k.a"));
    load_from_nats(fixture);
    assert_number(fixture->conn, 6003, "SELECT count(*) FROM read_back");
    assert_same_messages(fixture);
    assert_number(fixture->conn, 0, UNSENT);
}

FIXTURE_TEST(a_message_carries_key_payload_and_headers)
{
    char *read;

    make_destinations(fixture);
    sql(fixture->conn,
        "INSERT INTO outbox (event_id, topic, key, type, payload, headers, created_at)"
        " SELECT ('00000000-0000-4000-8000-00000000000' || i)::uuid, t, 'key', 'T',"
        " '{\"a\": \"ü\"}', '{\"trace\": \"x\"}', '2026-01-02 03:04:05.000006+00'"
        " FROM (VALUES (1, 'k.a'), (2, 'n.a')) v (i, t)");
    expect_run(fixture, 0, "run", "--drain");
    read = shell("build/reader kafka %s %s", harness_env("TEST_KAFKA_BROKERS"),
                 topic_of(fixture, "k.a"));
    assert_says(read,
                "\tkey\t00000000-0000-4000-8000-000000000001\tT\t2026-01-02T03:04:05.000006Z\t");
    assert_says(read, "\ttrace=x\t{\"a\": \"ü\"}\t");
    read = shell("build/reader nats %s %s", harness_env("TEST_NATS_URL"), fixture->name);
    assert_says(read,
                "\tkey\t00000000-0000-4000-8000-000000000002\tT\t2026-01-02T03:04:05.000006Z\t"
                "00000000-0000-4000-8000-000000000002\t");
    assert_says(read, "trace=x\t{\"a\": \"ü\"}\t");
}

FIXTURE_TEST(poison_rows_are_dead_at_once_and_their_neighbours_arrive)
{
    make_destinations(fixture);
    insert_rows(fixture, "k.a", 500);
    insert_rows(fixture, "n.a", 500);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload, headers) VALUES ('k.a b', '1', NULL),"
        " ('n.a b', '1', NULL), ('n.*', '1', NULL), ('n.a..b', '1', NULL),"
        " (E'n.a\\r\\nPUB x 0', '1', NULL), ('elsewhere', '1', NULL), ('', '1', NULL),"
        " ('k.a', to_jsonb(repeat('x', 1100000)), NULL),"
        " ('n.a', to_jsonb(repeat('x', 1100000)), NULL),"
        " ('n.a', '1', '{\"Nats-Rollup\": \"all\"}'), ('k.a', '1', '{\"id\": \"x\"}'),"
        " ('k.a', '1', '[1]')");
    insert_rows(fixture, "k.a", 500);
    insert_rows(fixture, "n.a", 500);
    expect_run(fixture, 1, "run", "--drain");
    assert_int_equal(count_in_kafka(topic_of(fixture, "k.a")), 1000);
    assert_int_equal(count_in_nats(fixture), 1000);
    assert_number(fixture->conn, 11, "SELECT count(*) FROM outbox_parked WHERE state = 'dead'");
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked WHERE state = 'waiting'");
    assert_number(fixture->conn, 0, UNSENT);
    assert_says(sql_text(fixture->conn, "SELECT string_agg(error, ';') FROM outbox_parked"),
                "larger than message.max.bytes");
}

FIXTURE_TEST(rows_of_an_unknown_topic_wait_and_are_sent_when_it_is_there)
{
    struct process relay;

    make_topic(topic_of(fixture, "k.known"));
    make_stream(fixture);
    insert_rows(fixture, "k.late", 20);
    insert_rows(fixture, "k.known", 20);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 20, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    wait_for_number(fixture->conn, 20,
                    "SELECT count(*) FROM outbox_parked WHERE state = 'waiting'"
                    " AND attempts = 0 AND error LIKE 'unknown topic %'");
    wait_for_number(fixture->conn, 19,
                    "SELECT count(*) FROM outbox_parked WHERE due IS NULL"
                    " AND waits_for LIKE 'k/%k.late'"); /* all but the one that is tried */
    process_await_words(&relay, "msg=\"the destination takes no messages");
    assert_int_equal(process_count_words(&relay, "msg=\"the destination takes no messages"), 1);
    make_topic(topic_of(fixture, "k.late")); /* for a moment some brokers' metadata lacks it */
    wait_for_number(fixture->conn, 20,
                    "SELECT count(*) FROM outbox_parked WHERE sent_at IS NOT NULL");
    process_await_words(&relay, "msg=\"the destination takes messages again after ");
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    process_free(&relay);
    assert_int_equal(count_in_kafka(topic_of(fixture, "k.late")), 20);
}

/* If the first check created anything, the second would find it. */
static void assert_check_only_tells_what_will_be_created(struct fixture *fixture)
{
    for (int i = 0; i < 2; i++) {
        expect_run(fixture, 0, "check");
        assert_says(fixture->process.out, "k.made\": it is missing; init or run will");
        assert_says(fixture->process.out, ": it is missing; init or run will");
    }
}

FIXTURE_TEST(create_makes_the_topic_and_the_stream)
{
    char allow_nats[128];

    (void)snprintf(allow_nats, sizeof allow_nats, "create = true\nallow = [\"%s.n.>\"]",
                   fixture->name);
    write_config(fixture, "create = true", allow_nats);
    insert_rows(fixture, "k.made", 10);
    insert_rows(fixture, "n.made", 10);
    assert_check_only_tells_what_will_be_created(fixture);
    expect_run(fixture, 0, "init");
    expect_run(fixture, 0, "run", "--drain");
    assert_int_equal(count_in_kafka(topic_of(fixture, "k.made")), 10);
    assert_int_equal(count_in_nats(fixture), 10);
}

FIXTURE_TEST(check_names_missing_destinations_and_how_to_make_them)
{
    insert_rows(fixture, "k.missing", 1);
    expect_run(fixture, 4, "check");
    assert_says(fixture->process.out, "k.missing");
    assert_says(fixture->process.out, "kafka-topics");
    assert_says(fixture->process.out, "nats stream add");
    make_topic(topic_of(fixture, "k.missing"));
    make_stream(fixture);
    expect_run(fixture, 0, "check");
}

/* Counts those of lanes: the watcher's session beside them is in one most of the time. */
static long long open_transactions(struct fixture *fixture)
{
    return sql_number(fixture->conn,
                      "SELECT count(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL"
                      " AND application_name ~ '^outbox-relay/.*/[0-9]+$'"
                      " AND datname = current_database()");
}

static void wait_for_sent(struct fixture *fixture, const char *topic, long long count)
{
    char query[160];

    (void)snprintf(query, sizeof query,
                   "SELECT count(*) FROM outbox WHERE topic = '%s' AND sent_at IS NOT NULL", topic);
    wait_for_number(fixture->conn, count, query);
}

/* The rows of the sink that is away stand before those of the other, and more than a batch. */
static void others_go_on(struct fixture *fixture, const char *topic, const char *other)
{
    for (int i = 1; i <= 5; i++) {
        insert_rows(fixture, topic, 600);
        insert_rows(fixture, other, 700);
        wait_for_sent(fixture, other, 700 * i);
    }
    assert_number(fixture->conn, 3000,
                  "SELECT count(*) FROM outbox WHERE topic = '%s'"
                  " AND sent_at IS NULL",
                  topic);
}

static void survive_an_outage(struct fixture *fixture, const char *server, const char *down,
                              const char *up, const char *topic, const char *other)
{
    struct process relay;

    make_destinations(fixture);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    insert_rows(fixture, topic, 1000);
    wait_for_sent(fixture, topic, 1000);
    services(down, server);
    others_go_on(fixture, topic, other);
    services(up, server);
    wait_for_sent(fixture, topic, 4000);
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    process_free(&relay);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(a_nats_server_that_dies_holds_up_its_own_rows_only)
{
    survive_an_outage(fixture, "nats", "kill", "start", "n.a", "k.a");
    load_from_nats(fixture);
    load_from_kafka(fixture, topic_of(fixture, "k.a"));
    assert_same_ids(fixture);
    assert_int_equal(count_in_nats(fixture), 4000); /* JetStream drops repeats by their id */
}

FIXTURE_TEST(a_kafka_broker_that_dies_holds_up_its_own_rows_only)
{
    survive_an_outage(fixture, "kafka", "kill", "start", "k.a", "n.a");
    load_from_kafka(fixture, topic_of(fixture, "k.a"));
    load_from_nats(fixture);
    assert_same_ids(fixture);
    assert_true(count_in_kafka(topic_of(fixture, "k.a")) <= 4000 + 2 * 500); /* lanes x batch */
}

/* A server that is paused accepts connections and answers nothing. */
FIXTURE_TEST(a_nats_server_that_hangs_holds_up_its_own_rows_only)
{
    survive_an_outage(fixture, "nats", "pause", "resume", "n.a", "k.a");
    load_from_nats(fixture);
    load_from_kafka(fixture, topic_of(fixture, "k.a"));
    assert_same_ids(fixture);
}

FIXTURE_TEST(while_every_broker_is_away_no_transaction_is_open)
{
    struct process relay;

    make_destinations(fixture);
    services("kill", "nats");
    services("kill", "kafka");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    insert_rows(fixture, "k.a", 100);
    insert_rows(fixture, "n.a", 100);
    process_await_words(&relay, "is away: its rows wait");
    for (int i = 0; i < 50; i++)
        assert_int_equal(open_transactions(fixture), 0);
    services("start", "nats");
    wait_for_sent(fixture, "n.a", 100);
    services("start", "kafka");
    wait_for_sent(fixture, "k.a", 100);
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    process_free(&relay);
}
