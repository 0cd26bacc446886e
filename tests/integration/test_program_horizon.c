/*
 * The order of keys beside applications that take their time between an id and its commit, and
 * beside ids that do not simply grow. Two relays look all the time. Each transaction of an
 * application locks a key, lets its INSERT draw the id, and counts the events of the key. A slow
 * session shares its key with one that waits for the lock, to write the next event at once.
 *
 * What arrived is read back from the stream: the first occurrences of a key must count up from 1.
 */
#include "integration/program.h"

#include <signal.h>

#define RELAYS_MAX 2
#define WRITERS_MAX 80
#define SLOW_KEYS 4
#define FOR_EVER 1000000000
#define WRITERS_OF_A_ROUND 16
#define IDS_OF_A_ROUND 600 /* these writers take about a second for them */
#define ROUNDS 3

/* $1 is the key, $2 the number of its event, $3 a time in seconds. */
#define QUICK "INSERT INTO outbox (topic, key, payload) VALUES ('t', $1, to_jsonb($2))"
#define COMPUTED "INSERT INTO outbox (topic, key, payload) VALUES ('t', $1, computed($2, $3))"
#define FAR_ABOVE                                                                                  \
    "INSERT INTO outbox (id, topic, key, payload) OVERRIDING SYSTEM VALUE"                         \
    " VALUES (9000000000000000000 + 10 * $2 + right($1, 1)::int, 't', $1, to_jsonb($2))"
/* The transaction goes on after its INSERT. */
#define HELD "WITH event AS (" QUICK " RETURNING id) SELECT pg_sleep($3) FROM event"

#define OTHER_KEYS "{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,1,2,3,4,5,6}"
#define SLOW_SECONDS "{0.3,0.6,0.9,1.2,1.5}"
#define SHORT_SECONDS "{0,0.002,0.01,0,0.03}"

static struct process relays[RELAYS_MAX];
static PGconn *writers[WRITERS_MAX];
static int writer_count;
static PGconn *slow_writers[SLOW_KEYS];
static const char *unsent; /* a query: how many rows are */

/* ---- the application ---- */

/* The number of an event is read and counted while the lock of its key is held. (0, 0) is a gate
 * that a test can close. A writer pauses a little after each event, since many share a machine. */
static const char application[] =
    "CREATE TABLE counted (key text PRIMARY KEY, n bigint, truncated bigint DEFAULT 0);"
    "CREATE TABLE work (is_over bool);"
    "INSERT INTO work VALUES (false);"

    "CREATE FUNCTION computed(n bigint, seconds float8) RETURNS jsonb LANGUAGE plpgsql AS $$"
    " BEGIN"
    "  PERFORM pg_sleep(seconds);"
    "  RETURN to_jsonb(n);"
    " END $$;"

    "CREATE FUNCTION lock_key(locked text) RETURNS bigint LANGUAGE plpgsql AS $$"
    " BEGIN"
    "  PERFORM pg_advisory_xact_lock(hashtext(locked));"
    "  RETURN coalesce((SELECT n FROM counted WHERE key = locked), 0) + 1;"
    " END $$;"

    "CREATE FUNCTION count_to(last bigint, counted_key text) RETURNS void LANGUAGE sql AS $$"
    " INSERT INTO counted (key, n) VALUES (counted_key, last)"
    " ON CONFLICT (key) DO UPDATE SET n = last;"
    " $$;"

    "CREATE FUNCTION add_event(key text, statement text, seconds float8) RETURNS void"
    " LANGUAGE plpgsql AS $$"
    " DECLARE"
    "  next bigint := lock_key(key);"
    " BEGIN"
    "  EXECUTE statement USING key, next, seconds;"
    "  PERFORM count_to(next, key);"
    " END $$;"

    "CREATE PROCEDURE write(keys text[], statement text, seconds float8[], times int)"
    " LANGUAGE plpgsql AS $$"
    " BEGIN"
    "  FOR turn IN 1..times LOOP"
    "   EXIT WHEN (SELECT is_over FROM work);"
    "   PERFORM pg_advisory_xact_lock_shared(0, 0);"
    "   PERFORM add_event(keys[1 + (turn + pg_backend_pid()) % cardinality(keys)], statement,"
    "                     seconds[1 + turn % cardinality(seconds)]);"
    "   COMMIT;"
    "   PERFORM pg_sleep(0.02);"
    "  END LOOP;"
    " END $$;";

static PGconn *new_session(struct fixture *fixture)
{
    assert_true(writer_count < WRITERS_MAX);
    writers[writer_count] = harness_connect(fixture->url);
    return writers[writer_count++];
}

static void begin_sql(PGconn *conn, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void begin_sql(PGconn *conn, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_int_equal(PQsendQuery(conn, text), 1);
}

static void await_end(PGconn *conn)
{
    int64_t deadline_ms = harness_now_ms() + 2LL * HARNESS_WAIT_MS;
    PGresult *result;

    while (PQconsumeInput(conn) == 1 && PQisBusy(conn) == 1) {
        if (harness_now_ms() > deadline_ms)
            fail_msg("a session does not come to its end");
        harness_pause();
    }
    while ((result = PQgetResult(conn)) != NULL) {
        if (PQresultStatus(result) == PGRES_FATAL_ERROR)
            fail_msg("a session: %s", PQerrorMessage(conn));
        PQclear(result);
    }
}

/* A session that writes one event a transaction, of the keys in turn, in so many seconds each. */
static PGconn *write_in_turn(struct fixture *fixture, const char *keys, const char *statement,
                             const char *seconds, int times)
{
    PGconn *conn = new_session(fixture);

    begin_sql(conn, "CALL write('%s', $_$%s$_$, '%s', %d)", keys, statement, seconds, times);
    return conn;
}

static void write_other_keys(struct fixture *fixture, int sessions, const char *statement)
{
    for (int i = 0; i < sessions; i++)
        (void)write_in_turn(fixture, OTHER_KEYS, statement, SHORT_SECONDS, FOR_EVER);
}

static PGconn *write_key(struct fixture *fixture, const char *key, const char *statement,
                         const char *seconds, int times)
{
    char keys[32];

    (void)snprintf(keys, sizeof keys, "{%s}", key);
    return write_in_turn(fixture, keys, statement, seconds, times);
}

/* Writes whenever the key is free. */
static void follow(struct fixture *fixture, const char *key)
{
    (void)write_key(fixture, key, QUICK, "{0}", FOR_EVER);
}

/* Each of some keys has so many slow inserts, and quick ones between them. */
static void write_slowly(struct fixture *fixture)
{
    char key[24];

    for (int i = 0; i < SLOW_KEYS; i++) {
        (void)snprintf(key, sizeof key, "slow-%d", i);
        slow_writers[i] = write_key(fixture, key, COMPUTED, SLOW_SECONDS, 6);
        follow(fixture, key);
    }
}

static void await_slow_writers(void)
{
    for (int i = 0; i < SLOW_KEYS; i++)
        await_end(slow_writers[i]);
}

static void await_ids(struct fixture *fixture, int count)
{
    char query[96];

    (void)snprintf(query, sizeof query, "SELECT (last_value >= %d)::int FROM outbox_id_seq", count);
    wait_for_number(fixture->conn, 1, query);
}

/* ---- slow clients: each begins something, lets time go by, and ends it ---- */

struct client {
    PGconn *conn;
    char key[24];
    int64_t due_ms; /* to end what it has begun */
    int turns;      /* that are left */
};

static void take_turns(struct client *clients, void (*begin)(struct client *),
                       void (*end)(struct client *))
{
    int busy = SLOW_KEYS;

    for (int i = 0; i < SLOW_KEYS; i++)
        begin(&clients[i]);
    while (busy > 0) {
        for (int i = 0; i < SLOW_KEYS; i++) {
            struct client *client = &clients[i];

            if (client->turns == 0 || harness_now_ms() < client->due_ms)
                continue;
            end(client);
            if (--client->turns > 0)
                begin(client);
            else
                busy--;
        }
        harness_pause();
    }
}

/* In half a second to one and a half. */
static void be_due(struct client *client)
{
    client->due_ms = harness_now_ms() + 500 + 250 * (client->turns % 5);
}

static void run_clients(struct fixture *fixture, int turns, void (*begin)(struct client *),
                        void (*end)(struct client *))
{
    struct client clients[SLOW_KEYS];

    for (int i = 0; i < SLOW_KEYS; i++) {
        clients[i] = (struct client){.conn = new_session(fixture), .turns = turns};
        (void)snprintf(clients[i].key, sizeof clients[i].key, "slow-%d", i);
        follow(fixture, clients[i].key);
    }
    take_turns(clients, begin, end);
}

/* ---- the relays, and what arrived ---- */

static void configure_nats(struct fixture *fixture, const char *outbox)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"key\"\n%s\n"
                     "[relay]\nlanes = 2\npoll_interval = \"50ms\"\n"
                     "[sink.bus]\ntype = \"nats\"\nservers = [\"%s\"]\n"
                     "stream = \"%s\"\ncreate = true\nallow = [\"%s.>\"]\n"
                     "[[route]]\nmatch = \">\"\ntopic = \"%s.{topic}\"\n",
                     outbox, harness_env("TEST_NATS_URL"), fixture->name, fixture->name,
                     fixture->name);
}

static void configure_delete(struct fixture *fixture)
{
    unsent = "SELECT count(*) FROM outbox";
    configure_nats(fixture, "on_sent = \"delete\"\nslices = 2");
}

static void configure_mark(struct fixture *fixture)
{
    unsent = "SELECT count(*) FROM outbox WHERE sent_at IS NULL";
    configure_nats(fixture, "on_sent = \"mark\"\nslices = 4");
}

static int open_with(void **state, void (*configure_as)(struct fixture *))
{
    struct fixture *fixture;

    if (fixture_open(state, configure_as) != 0)
        return -1;
    fixture = *state;
    sql(fixture->conn, "%s", application);
    return 0;
}

static int set_up_delete(void **state)
{
    return open_with(state, configure_delete);
}

static int set_up_mark(void **state)
{
    return open_with(state, configure_mark);
}

static void close_sessions(void)
{
    while (writer_count > 0)
        PQfinish(writers[--writer_count]);
}

/* A transaction that a failed test has left prepared would keep the next test from emptying the
 * database. A session whose client has gone may still prepare one, so all sessions are ended first.
 */
static void roll_back_prepared(struct fixture *fixture)
{
    PGconn *conn = harness_connect(fixture->url);
    char name[64];

    sql(conn, "SET client_min_messages = error");
    wait_for_number(conn, 0,
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    " AND backend_type = 'client backend'");
    do {
        (void)snprintf(name, sizeof name, "%s",
                       sql_text(conn, "SELECT gid FROM pg_prepared_xacts"
                                      " WHERE database = current_database()"));
        if (name[0] != '\0')
            sql(conn, "ROLLBACK PREPARED '%s'", name);
    } while (name[0] != '\0');
    PQfinish(conn);
}

static int tear_down(void **state)
{
    process_end_all();
    close_sessions();
    roll_back_prepared(*state);
    for (int i = 0; i < RELAYS_MAX; i++)
        process_free(&relays[i]);
    return fixture_close(state);
}

FIXTURE(set_up_mark, tear_down)

static void start_relay(struct fixture *fixture, int i)
{
    process_start(&relays[i], NULL, "run", "-c", fixture->config, NULL);
}

static void start_relays(struct fixture *fixture)
{
    for (int i = 0; i < RELAYS_MAX; i++)
        start_relay(fixture, i);
}

static void stop_relays(void)
{
    for (int i = 0; i < RELAYS_MAX; i++) {
        process_stop(&relays[i], SIGTERM);
        if (relays[i].status != 0)
            fail_msg("a relay ended with status %d: %s", relays[i].status, relays[i].err);
    }
}

/* The columns of `arrived` are the reader's, with the payload as n. An event overtook when one of
 * its key with a lower number came later for the first time. */
static const char audit[] =
    "CREATE TABLE arrived (nr bigint, subject text, partition int, position bigint, key text,"
    " id text, type text, created_at timestamptz, message_id text, headers text, n bigint,"
    " stored_ms bigint);"

    "CREATE VIEW first_arrival AS"
    " SELECT key, n, min(position) AS position FROM arrived GROUP BY key, n;"

    "CREATE VIEW overtaking AS SELECT * FROM"
    " (SELECT *, min(n) OVER (PARTITION BY key ORDER BY position DESC"
    "   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS passed"
    "  FROM first_arrival) event WHERE n > passed;"

    "CREATE VIEW missing AS"
    " SELECT key, number FROM counted, generate_series(truncated + 1, counted.n) number"
    " EXCEPT SELECT key, n FROM first_arrival";

static void load_arrived(struct fixture *fixture)
{
    char chunk[65536];
    size_t len;
    FILE *pipe;

    sql(fixture->conn, "%s", audit);
    (void)snprintf(chunk, sizeof chunk, "build/reader nats %s %s", harness_env("TEST_NATS_URL"),
                   fixture->name);
    pipe = popen(chunk, "r");
    assert_non_null(pipe);
    PQclear(PQexec(fixture->conn, "COPY arrived FROM STDIN"));
    while ((len = fread(chunk, 1, sizeof chunk, pipe)) > 0)
        assert_int_equal(PQputCopyData(fixture->conn, chunk, (int)len), 1);
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(PQputCopyEnd(fixture->conn, NULL), 1);
    await_end(fixture->conn);
}

static void assert_in_order(struct fixture *fixture)
{
    PGconn *conn = fixture->conn;
    long long events = sql_number(conn, "SELECT count(*) FROM first_arrival");
    long long overtook = sql_number(conn, "SELECT count(*) FROM overtaking");
    long long missing = sql_number(conn, "SELECT count(*) FROM missing");

    if (overtook > 0 || missing > 0)
        fail_msg("%lld of %lld events overtook an earlier one of their key (%s), %lld are missing",
                 overtook, events,
                 sql_text(conn, "SELECT concat(key, ': ', n, ' came before ', passed)"
                                " FROM overtaking ORDER BY position"),
                 missing);
    print_message("%lld events, all in order\n", events);
}

/* Waits for the writers and then the relays to finish; everything that was written must have
 * arrived. */
static void finish_in_order(struct fixture *fixture)
{
    sql(fixture->conn, "UPDATE work SET is_over = true");
    for (int i = 0; i < writer_count; i++)
        await_end(writers[i]);
    wait_for_number(fixture->conn, 0, unsent);
    stop_relays();
    load_arrived(fixture);
    assert_in_order(fixture);
}

/* ---- the tests ---- */

FIXTURE_TEST_WITH(an_insert_whose_payload_takes_long_is_not_overtaken, set_up_delete, tear_down)
{
    start_relays(fixture);
    write_other_keys(fixture, 3, QUICK);
    write_slowly(fixture);
    await_slow_writers();
    finish_in_order(fixture);
}

static void begin_copy(struct client *client)
{
    static int number;
    char line[128];
    long long next;
    PGresult *result;

    sql(client->conn, "BEGIN");
    next = sql_number(client->conn, "SELECT lock_key('%s')", client->key);
    result = PQexec(client->conn, "COPY outbox (event_id, topic, key, payload) FROM STDIN");
    assert_int_equal(PQresultStatus(result), PGRES_COPY_IN);
    PQclear(result);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(line, sizeof line, "00000000-0000-4000-8000-%012d\tt\t%s\t%lld\n", ++number,
                       client->key, next + i);
        assert_int_equal(PQputCopyData(client->conn, line, (int)strlen(line)), 1);
    }
    assert_int_equal(PQflush(client->conn), 0);
    be_due(client);
}

static void end_copy(struct client *client)
{
    assert_int_equal(PQputCopyEnd(client->conn, NULL), 1);
    await_end(client->conn);
    sql(client->conn, "SELECT count_to(lock_key('%s') + 1, '%s'); COMMIT", client->key,
        client->key);
}

FIXTURE_TEST(rows_that_a_copy_has_buffered_are_not_overtaken)
{
    start_relays(fixture);
    write_other_keys(fixture, 3, QUICK);
    run_clients(fixture, 6, begin_copy, end_copy);
    finish_in_order(fixture);
}

/* The payload takes long every other time. */
static void begin_prepared(struct client *client)
{
    begin_sql(client->conn,
              "BEGIN; SELECT add_event('%s', $_$" COMPUTED "$_$, %d * 0.5);"
              " PREPARE TRANSACTION '%s'",
              client->key, client->turns % 2, client->key);
    be_due(client);
    client->due_ms += 500;
}

static void end_prepared(struct client *client)
{
    await_end(client->conn);
    sql(client->conn, "COMMIT PREPARED '%s'", client->key);
}

FIXTURE_TEST_WITH(a_prepared_transaction_that_commits_late_is_not_overtaken, set_up_delete,
                  tear_down)
{
    start_relays(fixture);
    write_other_keys(fixture, 3, QUICK);
    run_clients(fixture, 5, begin_prepared, end_prepared);
    finish_in_order(fixture);
}

/* Truncated events, sent or not, are not waited for. Once TRUNCATE has its lock no event is being
 * written, so those that are counted are exactly those that are gone. */
FIXTURE_TEST(order_survives_a_truncate_that_restarts_the_ids)
{
    start_relays(fixture);
    write_other_keys(fixture, WRITERS_OF_A_ROUND, HELD);
    for (int i = 0; i < ROUNDS; i++) {
        await_ids(fixture, IDS_OF_A_ROUND);
        sql(fixture->conn, "BEGIN; TRUNCATE outbox RESTART IDENTITY;"
                           " UPDATE counted SET truncated = n; COMMIT");
    }
    await_ids(fixture, IDS_OF_A_ROUND);
    finish_in_order(fixture);
}

/* TRUNCATE locks the table before its sequence. A relay's session that did it the other way round
 * would deadlock, and the application could be the victim. */
FIXTURE_TEST(a_truncate_that_restarts_the_ids_never_deadlocks_with_a_relay)
{
    PGconn *other = harness_connect(fixture->url); /* a transaction sees no new session */

    start_relays(fixture);
    write_other_keys(fixture, WRITERS_OF_A_ROUND, HELD);
    sql(fixture->conn, "SET deadlock_timeout = '10ms'");
    for (int i = 0; i < ROUNDS; i++) {
        await_ids(fixture, IDS_OF_A_ROUND);
        sql(fixture->conn, "BEGIN; LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE");
        wait_for_number(other, 1,
                        "SELECT (count(*) > 0)::int FROM pg_locks JOIN pg_stat_activity USING (pid)"
                        " WHERE relation = 'outbox'::regclass AND NOT granted"
                        " AND application_name LIKE '%/watch'");
        sql(fixture->conn, "TRUNCATE outbox RESTART IDENTITY;"
                           " UPDATE counted SET truncated = n; COMMIT");
    }
    PQfinish(other);
    await_ids(fixture, IDS_OF_A_ROUND);
    finish_in_order(fixture);
}

/* The table is empty at that time, so each id is free and no event has a higher id than the next
 * one of its key. */
FIXTURE_TEST_WITH(order_survives_a_sequence_that_is_set_back, set_up_delete, tear_down)
{
    start_relays(fixture);
    write_other_keys(fixture, WRITERS_OF_A_ROUND, HELD);
    for (int i = 0; i < ROUNDS; i++) {
        await_ids(fixture, IDS_OF_A_ROUND);
        sql(fixture->conn, "SELECT pg_advisory_lock(0, 0)");
        wait_for_number(fixture->conn, 0, unsent);
        sql(fixture->conn, "SELECT setval('outbox_id_seq', 1, false), pg_advisory_unlock(0, 0)");
    }
    await_ids(fixture, IDS_OF_A_ROUND);
    finish_in_order(fixture);
}

FIXTURE_TEST(ids_far_above_neither_delay_nor_overtake_the_others)
{
    long long late_ms;

    start_relays(fixture);
    write_other_keys(fixture, 64, HELD);
    for (int i = 1; i <= 25; i++) {
        await_ids(fixture, 200 * i);
        sql(fixture->conn, "SELECT add_event('far-%d', $_$" FAR_ABOVE "$_$, 0)", i % 4);
    }
    finish_in_order(fixture);
    /* Rows that only the full scan finds come after 30 s. */
    late_ms = sql_number(fixture->conn,
                         "SELECT max(stored_ms - extract(epoch FROM created_at) * 1000)::bigint"
                         " FROM arrived");
    if (late_ms > 20000)
        fail_msg("an event came %lld ms after its transaction had begun", late_ms);
}

FIXTURE_TEST_WITH(a_relay_that_joins_in_a_backlog_overtakes_nothing, set_up_delete, tear_down)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, key, payload)"
                       " SELECT 't', 'backlog-' || i %% 200, to_jsonb(1 + i / 200)"
                       " FROM generate_series(0, 19999) i;"
                       " INSERT INTO counted (key, n) SELECT 'backlog-' || i, 100"
                       " FROM generate_series(0, 199) i");
    write_other_keys(fixture, 3, QUICK);
    write_slowly(fixture);
    start_relay(fixture, 0);
    wait_for_number(fixture->conn, 1, "SELECT (count(*) < 18000)::int FROM outbox");
    start_relay(fixture, 1);
    await_slow_writers();
    finish_in_order(fixture);
}
