/* init --feed: what it prints is executed as it stands, for tables that are no outbox, and their
 * rows arrive at a real NATS server in the order of their keys. */
#include "integration/nats_reader.h"
#include "integration/program.h"

#include <signal.h>
#include <unistd.h>

#define KEYS 5
#define ROWS 200

static void configure_feed(struct fixture *fixture)
{
    (void)snprintf(prefix, sizeof prefix, "f%d", (int)getpid());
    (void)snprintf(stream, sizeof stream, "F%d", (int)getpid());
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("feed.toml",
                                "[database]\nurl = \"%s\"\n[outbox]\ntable = \"relay.outbox\"\n"
                                "[relay]\npoll_interval = \"50ms\"\n[retry]\nbackoff = \"50ms\"\n"
                                "[sink.bus]\ntype = \"nats\"\nservers = [\"%s\"]\nstream = \"%s\"\n"
                                "[[route]]\nmatch = \"re:.*\"\nsink = \"bus\"\n"
                                "topic = \"%s.{topic}\"\n",
                                fixture->url, server_url(), stream, prefix));
    sql(fixture->conn, "CREATE SCHEMA relay AUTHORIZATION " HARNESS_RELAY);
}

/* The stream takes PREFIX.TOPIC. */
static void take(const char *topic, bool is_new)
{
    char subjects[2][64];
    const char *all[2] = {subjects[0], subjects[1]};
    jsStreamConfig config;

    (void)snprintf(subjects[0], sizeof subjects[0], "%s.first", prefix);
    (void)snprintf(subjects[1], sizeof subjects[1], "%s.%s", prefix, topic);
    (void)jsStreamConfig_Init(&config);
    config.Name = stream;
    config.Subjects = all;
    config.SubjectsLen = 2;
    assert_int_equal(is_new ? js_AddStream(NULL, context, &config, NULL, NULL)
                            : js_UpdateStream(NULL, context, &config, NULL, NULL),
                     NATS_OK);
}

static int set_up_feed(void **state)
{
    connect_reader();
    return fixture_open(state, configure_feed);
}

static int tear_down_feed(void **state)
{
    (void)js_DeleteStream(context, stream, NULL, NULL);
    disconnect_reader();
    return fixture_close(state);
}

FIXTURE(set_up_feed, tear_down_feed)

/* Takes the dashes away from the statement for the rows that are there. */
static void uncomment_existing(char *text)
{
    char *from = strstr(text, "-- INSERT INTO ");
    char *to = from;

    assert_non_null(from);
    from += 3;
    while (*from != '\0' && strncmp(from, ";\n", 2) != 0) {
        *to++ = *from++;
        if (to[-1] == '\n')
            from += strncmp(from, "-- ", 3) == 0 ? 3 : 0;
    }
    memmove(to, from, strlen(from) + 1);
}

static void feed(struct fixture *fixture, const char *table, bool with_existing)
{
    expect_run(fixture, 0, "init", "--feed", table);
    if (with_existing)
        uncomment_existing(fixture->process.out);
    sql(fixture->conn, "%s", fixture->process.out);
}

/* Each payload is {"k": key, "n": number}, and the numbers of a key only rise. */
static void assert_arrived_in_order(int count)
{
    long last[KEYS] = {0};

    assert_int_equal(stored(stream), count);
    for (int i = 1; i <= count; i++) {
        natsMsg *message = read_back((uint64_t)i);
        const char *text = natsMsg_GetData(message);
        long key = strtol(strstr(text, "\"k\": ") + 5, NULL, 10);
        long number = strtol(strstr(text, "\"n\": ") + 5, NULL, 10);

        assert_in_range(key, 0, KEYS - 1);
        if (number <= last[key])
            fail_msg("%ld came behind %ld of key %ld", number, last[key], key);
        last[key] = number;
        natsMsg_Destroy(message);
    }
}

#define INSERT_ROWS(columns)                                                                       \
    "INSERT INTO %s (" columns ") SELECT 'key ' || i %% 5, 'first',"                               \
    " jsonb_build_object('k', i %% 5, 'n', i) FROM generate_series(%d, %d) i ORDER BY i"

/* Its ids say nothing about the order, its names need quotes, and the roles may do no more than the
 * comments say. */
FIXTURE_TEST(a_table_of_uuids_is_sent_in_order_with_the_rows_that_it_has)
{
    static const char table[] = "\"shop.eu\".\"Order \"\"events\"\"\"";

    take("none", true);
    sql(fixture->conn,
        "CREATE SCHEMA \"shop.eu\"; CREATE TABLE %s (\"Id\" uuid PRIMARY KEY DEFAULT"
        " gen_random_uuid(), \"messageKey\" text, topic text, body jsonb, \"createdAt\" timestamptz"
        " DEFAULT clock_timestamp(), \"processedAt\" timestamptz)",
        table);
    sql(fixture->conn, INSERT_ROWS("\"messageKey\", topic, body"), table, 1, ROWS);
    sql(fixture->conn, "UPDATE %s SET \"processedAt\" = now() WHERE body->>'n' = '1'", table);
    feed(fixture, table, true);
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP ROLE IF EXISTS test_app; CREATE ROLE test_app;"
        " GRANT USAGE ON SCHEMA \"shop.eu\" TO " HARNESS_RELAY ", test_app;"
        " GRANT INSERT ON %s TO test_app; GRANT USAGE ON SCHEMA relay TO test_app;"
        " GRANT INSERT ON relay.outbox TO test_app;"
        " GRANT SELECT (\"Id\"), UPDATE (\"processedAt\") ON %s TO " HARNESS_RELAY,
        table, table);
    sql(fixture->conn, "SET ROLE test_app");
    sql(fixture->conn, INSERT_ROWS("\"messageKey\", topic, body"), table, ROWS + 1, 2 * ROWS);
    sql(fixture->conn, "RESET ROLE");
    expect(fixture, run_command(fixture, "check"), 0);
    expect(fixture, run_drain(fixture), 0);
    assert_arrived_in_order(2 * ROWS - 1);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM %s WHERE \"processedAt\" IS NULL", table);
    sql(fixture->conn, "DROP OWNED BY test_app; DROP ROLE test_app");
}

FIXTURE_TEST(a_partitioned_table_is_sent_in_order)
{
    take("none", true);
    sql(fixture->conn,
        "CREATE TABLE parts (id bigint GENERATED ALWAYS AS IDENTITY, at timestamptz NOT NULL DEFAULT"
        " clock_timestamp(), aggregate_id text, topic text, data jsonb, published boolean DEFAULT"
        " false, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);"
        "CREATE TABLE parts_old PARTITION OF parts FOR VALUES FROM ('2000-01-01') TO ('2001-01-01')");
    feed(fixture, "parts", false);
    sql(fixture->conn,
        "CREATE TABLE parts_new PARTITION OF parts FOR VALUES FROM ('2001-01-01') TO ('2999-01-01');"
        " GRANT SELECT (id), UPDATE (published) ON parts TO " HARNESS_RELAY);
    sql(fixture->conn, INSERT_ROWS("aggregate_id, topic, data"), "parts", 1, ROWS);
    expect(fixture, run_drain(fixture), 0);
    assert_arrived_in_order(ROWS);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM parts WHERE NOT published");
}

/* The subject is not in the stream at first, so the rows are parked. */
FIXTURE_TEST(a_status_is_set_also_for_a_row_that_was_parked_first)
{
    take("none", true);
    sql(fixture->conn,
        "CREATE TABLE events (id integer PRIMARY KEY, key text, topic text, payload text,"
        " event_status varchar(10) NOT NULL DEFAULT 'NEW'); CREATE TABLE others (LIKE events INCLUDING ALL)");
    feed(fixture, "events", false);
    feed(fixture, "others", false); /* has the same ids */
    sql(fixture->conn,
        "GRANT SELECT (id), UPDATE (event_status) ON events, others TO " HARNESS_RELAY ";"
        "INSERT INTO others VALUES (3, '9', 'never', '{}');"
        "INSERT INTO events VALUES (-1, '0', 'first', '{\"k\": 0, \"n\": 1}'),"
        " (2, '1', 'later', '{\"k\": 1, \"n\": 2}'),"
        " (3, '1', 'later', '{\"k\": 1, \"n\": 3}')");
    expect(fixture, run_drain(fixture), 1);
    assert_int_equal(stored(stream), 1);
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(event_status, ' ' ORDER BY id)"
                                                " FROM events"),
                        "SENT NEW NEW");
    take("later", false);
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 3, "SELECT count(*) FROM events WHERE event_status = 'SENT'");
    process_stop(&fixture->process, SIGTERM);
    assert_arrived_in_order(3);
    assert_string_equal(sql_text(fixture->conn, "SELECT string_agg(event_status, '') FROM others"),
                        "NEW");
}

FIXTURE_TEST(a_table_of_which_nothing_is_known_is_sent_row_by_row)
{
    take("plain", true);
    sql(fixture->conn, "CREATE TABLE plain (k int, n int)");
    feed(fixture, "public.plain", false);
    assert_says(fixture->process.out, "are not marked when they are sent: no column of it says so");
    sql(fixture->conn, "INSERT INTO plain VALUES (1, 1), (2, 1), (3, 1)");
    expect(fixture, run_drain(fixture), 0);
    assert_arrived_in_order(3);
}

FIXTURE_TEST(a_feed_that_cannot_be_says_why)
{
    static const char *const cases[][2] = {
        {"nosuch", "table \"public\".\"nosuch\" does not exist"},
        {"PLAIN", "it may be public.plain"},
        {"relay.outbox", "is the outbox itself, which needs no feed"},
        {"seen", "is not a table, so no trigger sees its rows"},
        {"relay.outbox_parked", "is no outbox"},
        {"a.b.c", "has more than one dot"},
        {"\"x$feed$\"", "a name contains $feed$"},
    };

    sql(fixture->conn, "CREATE TABLE plain (id int); CREATE VIEW seen AS TABLE plain;"
                       " CREATE TABLE \"x$feed$\" (id int)");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_run(fixture, 3, "init", "--feed", cases[i][0]);
        assert_says(fixture->process.err, cases[i][1]);
        assert_string_equal(fixture->process.out, "");
    }
    expect_run(fixture, 2, "init", "--feed", "");
}
