/* The trigger that locks each key and then draws the id: no application here takes a lock. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define TRIGGER "zzz_outbox_relay_order"
#define BY_TRIGGER "the order trigger locks each key"
#define BY_APPLICATION "the application must lock each key"
#define DROP "DROP TABLE outbox, outbox_slice, outbox_parked, outbox_control CASCADE"

/* The second keys of the locks, whose first key is the table's oid. */
#define BUCKETS_FROM "1855005440"
#define GATE "1855006464"
#define BUCKET_LOCKS                                                                               \
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 'outbox'::regclass"   \
    " AND objid >= " BUCKETS_FROM " AND objid < " GATE
#define WAITERS BUCKET_LOCKS " AND NOT granted"
#define UNGRANTED "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

/* How often the id of a key goes back in what was printed. */
#define INVERSIONS                                                                                 \
    "SELECT count(*) FROM (SELECT o.id, lag(o.id) OVER (PARTITION BY o.key ORDER BY p.place) AS"   \
    " before FROM printed p JOIN outbox o ON o.event_id::text = p.line->>'id') pairs WHERE id <"   \
    " before"

static void configure_outbox(struct fixture *fixture, const char *outbox)
{
    write_relay_toml(fixture, "[outbox]\n%s\n[relay]\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                     outbox);
}

static void configure_keyed(struct fixture *fixture)
{
    configure_outbox(fixture, "");
}

/* The outbox is there, without the trigger. */
static int set_up_keyed(void **state)
{
    return fixture_open(state, configure_keyed);
}

FIXTURE(set_up_keyed, fixture_close)

static void init_order(struct fixture *fixture, int expected)
{
    expect_run(fixture, expected, "init", "--order-trigger");
}

/* The outbox has the trigger from the start. */
static void begin(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = warning; " DROP);
    init_order(fixture, 0);
}

/* What init has printed, as its owner runs it. */
static void apply(struct fixture *fixture)
{
    sql(fixture->conn, "SET ROLE " HARNESS_RELAY);
    sql(fixture->conn, "%s", fixture->process.out);
    sql(fixture->conn, "RESET ROLE");
}

static void assert_checked(struct fixture *fixture, const char *said)
{
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, said);
}

/* A session of an application, for which a lock that is not free at once is an error. */
static PGconn *hurry(struct fixture *fixture)
{
    PGconn *conn = harness_connect(fixture->url);

    sql(conn, "SET lock_timeout = 100");
    return conn;
}

static void assert_refused(PGconn *conn, const char *statement, const char *sqlstate)
{
    PGresult *result = PQexec(conn, statement);

    assert_int_equal(PQresultStatus(result), PGRES_FATAL_ERROR);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), sqlstate);
    PQclear(result);
}

/* The SQLSTATE of what was sent, "" if it succeeded. */
static const char *end_of(PGconn *conn)
{
    static char state[8];
    PGresult *result;

    state[0] = '\0';
    while ((result = PQgetResult(conn)) != NULL) {
        const char *field = PQresultErrorField(result, PG_DIAG_SQLSTATE);

        if (field != NULL)
            (void)snprintf(state, sizeof state, "%s", field);
        PQclear(result);
    }
    return state;
}

static void send(PGconn *conn, const char *statement)
{
    assert_int_equal(PQsendQuery(conn, statement), 1);
}

#define INSERT_KEY(key, payload)                                                                   \
    "INSERT INTO outbox (topic, key, payload) VALUES ('t', '" key "', '" payload "')"

/* ---- init ---- */

FIXTURE_TEST(a_new_outbox_has_the_trigger_from_the_start)
{
    begin(fixture);
    assert_says(fixture->process.out, "GRANT USAGE ON SEQUENCE \"public\".\"outbox_order_seq\"");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM pg_attribute WHERE attrelid ="
                  " 'outbox'::regclass AND attname = 'id' AND NOT"
                  " atthasdef AND attidentity = '' AND attnotnull");
    assert_checked(fixture, BY_TRIGGER);
    assert_null(strstr(fixture->process.out, "CACHE"));
    assert_null(strstr(fixture->process.out, "come from no sequence"));
    init_order(fixture, 0);
    expect_run(fixture, 0, "emit", "t", "k", "{}");
    assert_string_equal(fixture->process.out, "1\n");
    drain_printed(fixture, 0);
    assert_all_printed(fixture);
}

FIXTURE_TEST(inits_at_the_same_time_wait_for_each_other)
{
    enum { INITS = 10 };
    struct process inits[INITS] = {{0}};

    sql(fixture->conn, "SET client_min_messages = warning; " DROP);
    for (int i = 0; i < INITS; i++)
        process_start(&inits[i], NULL, "init", "--order-trigger", "--notify", "-c", fixture->config,
                      NULL);
    for (int i = 0; i < INITS; i++) {
        process_wait(&inits[i]);
        if (inits[i].status != 0)
            fail_msg("init %d: %s", i, inits[i].err);
        process_free(&inits[i]);
    }
    assert_checked(fixture, BY_TRIGGER);
}

FIXTURE_TEST(a_feed_names_the_sequence_that_whoever_inserts_draws_from)
{
    static const char grant[] =
        "--   GRANT USAGE ON SEQUENCE \"public\".\"outbox_order_seq\" TO ...;";

    sql(fixture->conn, "CREATE TABLE events (id bigint PRIMARY KEY, body jsonb)");
    expect_run(fixture, 0, "init", "--feed", "events");
    assert_null(strstr(fixture->process.out, "SEQUENCE"));
    begin(fixture);
    expect_run(fixture, 0, "init", "--feed", "events");
    assert_says(fixture->process.out, grant);
    sql(fixture->conn, DROP);
    expect_run(fixture, 0, "init", "--order-trigger", "--feed", "events");
    assert_says(fixture->process.out, grant);
    sql(fixture->conn, "DROP TABLE events");
}

FIXTURE_TEST(what_init_prints_makes_the_same_outbox)
{
    begin(fixture);
    sql(fixture->conn, DROP);
    expect_run(fixture, 0, "init", "--order-trigger", "--print");
    apply(fixture);
    init_order(fixture, 0);
    assert_checked(fixture, BY_TRIGGER);
}

FIXTURE_TEST(status_says_who_locks_the_keys)
{
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "order    the application must lock each key");
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"keys_locked_by\":\"application\"");
    begin(fixture);
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "order    the trigger locks each key");
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"keys_locked_by\":\"trigger\"");
    sql(fixture->conn, "ALTER TABLE outbox DISABLE TRIGGER " TRIGGER);
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"keys_locked_by\":\"application\"");
}

/* Relays go on meanwhile, and so do those who may insert. */
FIXTURE_TEST(an_outbox_that_is_in_use_gets_the_trigger_by_printed_sql)
{
    struct process relay = {0};
    PGconn *app;

    make_role(fixture, "order_relay");
    sql(fixture->conn, "DROP ROLE IF EXISTS order_app");
    sql(fixture->conn, "CREATE ROLE order_app; GRANT INSERT ON outbox TO order_app");
    log_in_as(fixture, "order_relay");
    configure_outbox(fixture, "");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key) SELECT 't', i FROM generate_series(1, 100) i");
    wait_for_number(fixture->conn, 0, UNSENT);
    log_in_as(fixture, HARNESS_RELAY);
    configure_outbox(fixture, "");
    assert_checked(fixture, BY_APPLICATION);
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    assert_checked(fixture, BY_TRIGGER);
    log_in_as(fixture, "order_relay");
    configure_outbox(fixture, "");
    assert_checked(fixture, BY_TRIGGER);
    assert_null(strstr(fixture->process.out, "missing privilege"));
    app = harness_connect(fixture->url);
    sql(app, "SET ROLE order_app; INSERT INTO outbox (topic, key) VALUES ('t', 'k')");
    PQfinish(app);
    assert_number(fixture->conn, 101, "SELECT max(id) FROM outbox");
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    assert_null(strstr(relay.err, " error "));
    assert_int_equal(count_lines(relay.out), 101);
    process_free(&relay);
    sql(fixture->conn, "DROP OWNED BY order_app, order_relay; DROP ROLE order_app, order_relay");
}

FIXTURE_TEST(each_way_of_drawing_ids_gives_way_to_the_trigger)
{
    static const char *const ids[] = {
        "bigint GENERATED BY DEFAULT AS IDENTITY (CACHE 50) PRIMARY KEY",
        "serial PRIMARY KEY",
        "bigint DEFAULT nextval('theirs') UNIQUE",
        "integer NOT NULL DEFAULT (random() * 1000000)::int + 100 UNIQUE",
        "smallint PRIMARY KEY",
    };

    sql(fixture->conn, "CREATE SEQUENCE theirs CACHE 50 START 7; ALTER SEQUENCE theirs OWNER TO"
                       " " HARNESS_RELAY);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        bool draws = strstr(ids[i], "smallint") == NULL;

        sql(fixture->conn, "SET ROLE " HARNESS_RELAY "; " DROP);
        sql(fixture->conn,
            "CREATE TABLE outbox (id %s, event_id uuid NOT NULL DEFAULT gen_random_uuid(), topic"
            " text NOT NULL, key varchar(20), type text, payload jsonb, headers jsonb, created_at"
            " timestamptz NOT NULL DEFAULT now(), sent_at timestamptz)",
            ids[i]);
        sql(fixture->conn, "INSERT INTO outbox (%stopic, key) VALUES (%s't', 'k'); RESET ROLE",
            draws ? "" : "id, ", draws ? "" : "41, ");
        configure_outbox(fixture, "adopt = true");
        init_existing(fixture);
        init_order(fixture, 5);
        apply(fixture);
        init_order(fixture, 0);
        assert_checked(fixture, BY_TRIGGER);
        sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'k')");
        assert_number(fixture->conn, 1,
                      "SELECT count(*) FROM outbox a, outbox b WHERE"
                      " a.sent_at IS NULL AND a.id > b.id");
        drain_printed(fixture, 0);
        assert_int_equal(count_lines(fixture->process.out), 2);
    }
}

/* Rows that are sent and deleted, and those that are parked, leave no id in the outbox. */
FIXTURE_TEST(no_id_is_drawn_again_that_was_drawn_before)
{
    begin(fixture);
    sql(fixture->conn,
        INSERT_KEY("k", "1") "; " INSERT_KEY("k", "2") "; TRUNCATE outbox; ALTER TABLE"
                                                       " outbox DISABLE TRIGGER " TRIGGER);
    init_order(fixture, 5);
    apply(fixture);
    sql(fixture->conn, INSERT_KEY("k", "3"));
    assert_number(fixture->conn, 3, "SELECT id FROM outbox");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, topic, key, state) VALUES (70, 't', 'k', 'dead');"
        " ALTER TABLE outbox DISABLE TRIGGER " TRIGGER);
    init_order(fixture, 5);
    apply(fixture);
    sql(fixture->conn, "TRUNCATE outbox; " INSERT_KEY("k", "4"));
    assert_number(fixture->conn, 71, "SELECT id FROM outbox");
}

/* The sequence and the functions have the names of the table that there was. */
FIXTURE_TEST(no_id_is_drawn_again_after_the_table_was_renamed)
{
    begin(fixture);
    sql(fixture->conn, INSERT_KEY("k", "1") "; " INSERT_KEY("k", "2") "; TRUNCATE outbox");
    sql(fixture->conn, "ALTER TABLE outbox RENAME TO events; ALTER TABLE outbox_slice RENAME TO"
                       " events_slice; ALTER TABLE outbox_parked RENAME TO events_parked; ALTER"
                       " TABLE outbox_control RENAME TO events_control");
    configure_outbox(fixture, "table = \"events\"");
    init_existing(fixture);
    init_order(fixture, 5);
    apply(fixture);
    sql(fixture->conn, "INSERT INTO events (topic, key) VALUES ('t', 'k')");
    assert_number(fixture->conn, 3, "SELECT id FROM events");
    assert_checked(fixture, BY_TRIGGER);
    sql(fixture->conn, "DROP TABLE events, events_slice, events_parked, events_control CASCADE");
}

/* Whoever applies the SQL: a superuser does here. */
FIXTURE_TEST(who_inserts_by_a_view_may_do_so_afterwards_and_the_owner_owns_all)
{
    PGconn *app;

    configure_keyed(fixture);
    sql(fixture->conn, "DROP ROLE IF EXISTS order_app");
    sql(fixture->conn, "CREATE ROLE order_app; CREATE VIEW short AS SELECT topic, key FROM outbox;"
                       " ALTER VIEW short OWNER TO " HARNESS_RELAY "; GRANT INSERT ON short TO"
                       " order_app");
    init_order(fixture, 5);
    sql(fixture->conn, "%s", fixture->process.out);
    app = harness_connect(fixture->url);
    sql(app, "SET ROLE order_app; INSERT INTO short VALUES ('t', 'k')");
    PQfinish(app);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM pg_class WHERE relname = 'outbox_order_seq'"
                  " AND relowner = (SELECT relowner FROM pg_class WHERE oid ="
                  " 'outbox'::regclass)");
    assert_checked(fixture, BY_TRIGGER);
    sql(fixture->conn, "DROP OWNED BY order_app; DROP ROLE order_app; DROP VIEW short");
}

FIXTURE_TEST(init_says_of_which_outbox_no_trigger_keeps_the_order)
{
    configure_outbox(fixture, "order = \"none\"");
    init_order(fixture, 2);
    assert_says(fixture->process.err, "order is \"none\"");
    configure_outbox(fixture, "");
    sql(fixture->conn, "ALTER TABLE outbox DROP key; ALTER TABLE outbox ADD key text GENERATED"
                       " ALWAYS AS (lower(topic)) STORED");
    init_existing(fixture);
    init_order(fixture, 3);
    assert_says(fixture->process.err, "column key is generated");
    sql(fixture->conn, DROP);
    sql(fixture->conn,
        "SET ROLE " HARNESS_RELAY "; CREATE TABLE every (id bigint NOT NULL, event_id uuid NOT NULL"
        " DEFAULT gen_random_uuid(), topic text NOT NULL, key text, type text, payload jsonb,"
        " headers jsonb, created_at timestamptz NOT NULL DEFAULT now(), sent_at timestamptz)"
        " PARTITION BY RANGE (id); CREATE TABLE outbox PARTITION OF every FOR VALUES FROM (1) TO"
        " (1000); RESET ROLE");
    configure_outbox(fixture, "");
    init_existing(fixture);
    init_order(fixture, 3);
    assert_says(fixture->process.err, "a partition that is chosen by column \"id\"");
    configure_outbox(fixture, "table = \"every\"");
    init_order(fixture, 3);
    assert_says(fixture->process.err, "is not a plain table");
    sql(fixture->conn, "DROP TABLE every; DROP TABLE outbox_slice, outbox_parked, outbox_control");
}

FIXTURE_TEST(who_inserts_needs_to_draw_from_the_sequence)
{
    PGconn *app;

    begin(fixture);
    sql(fixture->conn, "DROP ROLE IF EXISTS order_app");
    sql(fixture->conn, "CREATE ROLE order_app; GRANT INSERT ON outbox TO order_app");
    app = harness_connect(fixture->url);
    sql(app, "SET ROLE order_app");
    assert_refused(app, INSERT_KEY("k", "1"), "42501");
    sql(fixture->conn, "GRANT USAGE ON SEQUENCE outbox_order_seq TO order_app");
    sql(app, "SELECT outbox_gate(); " INSERT_KEY("k", "1"));
    PQfinish(app);
    make_role(fixture, "order_relay");
    assert_says(fixture->process.out, "GRANT SELECT ON SEQUENCE \"public\".\"outbox_order_seq\"");
    sql(fixture->conn, "DROP OWNED BY order_app, order_relay; DROP ROLE order_app, order_relay");
}

/* ---- order ---- */

/* The transaction that draws first commits last. */
static void insert_beside(PGconn *first, PGconn *second)
{
    sql(first, "BEGIN; " INSERT_KEY("k", "1"));
    send(second, INSERT_KEY("k", "2"));
}

FIXTURE_TEST(an_event_waits_for_the_one_before_it_to_commit)
{
    PGconn *first;
    PGconn *second;

    begin(fixture);
    first = harness_connect(fixture->url);
    second = harness_connect(fixture->url);
    insert_beside(first, second);
    wait_for_number(fixture->conn, 1, WAITERS);
    drain_printed(fixture, 0);
    assert_int_equal(count_lines(fixture->process.out), 0);
    sql(first, "COMMIT");
    assert_string_equal(end_of(second), "");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 2, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 0, INVERSIONS);
    PQfinish(first);
    PQfinish(second);
}

FIXTURE_TEST(without_the_trigger_it_overtakes_it)
{
    PGconn *first;
    PGconn *second;

    first = harness_connect(fixture->url);
    second = harness_connect(fixture->url);
    insert_beside(first, second);
    assert_string_equal(end_of(second), "");
    drain_printed(fixture, 0);
    sql(first, "COMMIT");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 2, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 1, INVERSIONS);
    PQfinish(first);
    PQfinish(second);
}

/* Otherwise the horizon would stand still as long as it waits. */
FIXTURE_TEST(a_transaction_that_waits_for_a_key_has_a_number)
{
    PGconn *first;
    PGconn *second;

    begin(fixture);
    first = harness_connect(fixture->url);
    second = harness_connect(fixture->url);
    insert_beside(first, second);
    wait_for_number(fixture->conn, 1, WAITERS);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM pg_stat_activity WHERE"
                  " wait_event = 'advisory' AND backend_xid IS NOT"
                  " NULL");
    sql(first, "COMMIT");
    assert_string_equal(end_of(second), "");
    PQfinish(first);
    PQfinish(second);
}

#define WRITERS 8
#define EVENTS 60 /* of each */

/* The transactions stay open for up to 5 ms after the insert. */
FIXTURE_TEST(events_of_eight_writers_without_locks_are_sent_in_order)
{
    PGconn *writers[WRITERS];

    begin(fixture);
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = harness_connect(fixture->url);
        send(
            writers[i],
            "DO $$ BEGIN FOR i IN 1..60 LOOP INSERT INTO outbox (topic, key) VALUES ('t', (random()"
            " * 5)::int); PERFORM pg_sleep(random() * 0.005); COMMIT; END LOOP; END $$");
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_string_equal(end_of(writers[i]), "");
        PQfinish(writers[i]);
    }
    wait_for_number(fixture->conn, 0, UNSENT);
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, fixture->process.status, 0);
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, WRITERS * EVENTS, "SELECT count(*) FROM printed");
    assert_all_printed(fixture);
    assert_number(fixture->conn, 0, INVERSIONS);
}

FIXTURE_TEST(every_way_of_inserting_draws_the_id_under_the_lock)
{
    begin(fixture);
    sql(fixture->conn, "BEGIN");
    sql_copy(fixture->conn, "COPY outbox (id, topic, key) FROM STDIN", "900\tt\ta\n800\tt\tb\n");
    assert_number(fixture->conn, 2, BUCKET_LOCKS);
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'c'), ('t', 'd'); INSERT INTO"
                       " outbox (id, topic, key) SELECT 700, 't', 'e'");
    assert_number(fixture->conn, 5, BUCKET_LOCKS);
    assert_number(fixture->conn, 6,
                  "INSERT INTO outbox (id, topic, key) VALUES (600,"
                  " 't', 'f') RETURNING id");
    sql(fixture->conn, "COMMIT");
    assert_number(fixture->conn, 6,
                  "SELECT count(DISTINCT id) FROM outbox WHERE id"
                  " BETWEEN 1 AND 6");
}

FIXTURE_TEST(a_row_without_a_key_locks_none)
{
    begin(fixture);
    sql(fixture->conn, "BEGIN; INSERT INTO outbox (topic) VALUES ('t')");
    assert_number(fixture->conn, 0, BUCKET_LOCKS);
    sql(fixture->conn, "COMMIT");
    assert_number(fixture->conn, 1, "SELECT id FROM outbox");
}

FIXTURE_TEST(a_savepoint_that_is_rolled_back_gives_its_keys_back)
{
    PGconn *other;

    begin(fixture);
    other = hurry(fixture);
    sql(fixture->conn, "BEGIN; " INSERT_KEY("a", "1") "; SAVEPOINT s; " INSERT_KEY("b", "1"));
    assert_refused(other, INSERT_KEY("b", "2"), "55P03");
    sql(fixture->conn, "ROLLBACK TO s");
    sql(other, INSERT_KEY("b", "2"));
    assert_refused(other, INSERT_KEY("a", "2"), "55P03");
    sql(fixture->conn, "COMMIT");
    sql(other, INSERT_KEY("a", "2"));
    PQfinish(other);
}

FIXTURE_TEST(a_prepared_transaction_keeps_its_keys)
{
    const char *ended;
    PGconn *other;

    begin(fixture);
    other = hurry(fixture);
    sql(fixture->conn, "BEGIN; " INSERT_KEY("a", "1") "; PREPARE TRANSACTION '%s'", fixture->name);
    send(other, INSERT_KEY("a", "2"));
    ended = end_of(other);
    sql(fixture->conn, "COMMIT PREPARED '%s'", fixture->name); /* or the next test would wait */
    assert_string_equal(ended, "55P03");
    sql(other, INSERT_KEY("a", "2"));
    drain_printed(fixture, 0);
    assert_keys_printed_in_order(fixture);
    assert_number(fixture->conn, 2, "SELECT count(*) FROM printed");
    PQfinish(other);
}

/* Logical replication has drawn the ids elsewhere. */
FIXTURE_TEST(rows_that_are_replicated_keep_their_ids)
{
    begin(fixture);
    sql(fixture->conn, "SET session_replication_role = replica; INSERT INTO outbox (id, topic, key)"
                       " VALUES (77, 't', 'k'); RESET session_replication_role");
    assert_number(fixture->conn, 77, "SELECT id FROM outbox");
}

FIXTURE_TEST(the_key_of_an_expression_is_locked)
{
    PGconn *other;

    configure_outbox(fixture, "[outbox.columns]\nkey = '''(lower(outbox.payload->>'Order\\'))'''");
    init_existing(fixture);
    init_order(fixture, 5);
    apply(fixture);
    assert_checked(fixture, BY_TRIGGER);
    other = hurry(fixture);
    sql(fixture->conn,
        "BEGIN; INSERT INTO outbox (topic, payload) VALUES ('t', '{\"Order\\\\\": \"A\"}')");
    assert_number(fixture->conn, 1,
                  BUCKET_LOCKS " AND objid = " BUCKETS_FROM " + outbox_bucket('a')");
    assert_refused(other,
                   "INSERT INTO outbox (topic, payload) VALUES ('t', '{\"Order\\\\\": \"a\"}')",
                   "55P03");
    sql(other, "INSERT INTO outbox (topic, key) VALUES ('t', 'A')");
    sql(fixture->conn, "COMMIT");
    PQfinish(other);
}

/* ---- what check proves ---- */

#define FUNCTION_OF(body)                                                                          \
    "CREATE OR REPLACE FUNCTION outbox_order() RETURNS trigger LANGUAGE plpgsql AS $$ " body " $$"
#define ANOTHER                                                                                     \
    "CREATE FUNCTION another() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.key := 'x'; RETURN" \
    " NEW; END $$; CREATE TRIGGER %s BEFORE INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION another()"

FIXTURE_TEST(check_names_each_condition_that_is_broken)
{
    static const struct {
        const char *breaks;
        const char *says;
        const char *mends; /* NULL: what init prints */
    } each[] = {
        {"ALTER TABLE outbox DISABLE TRIGGER " TRIGGER, "is disabled",
         "ALTER TABLE outbox ENABLE TRIGGER " TRIGGER},
        {"ALTER TABLE outbox ENABLE ALWAYS TRIGGER " TRIGGER, "enabled as ALWAYS", NULL},
        {"ALTER TABLE outbox ENABLE REPLICA TRIGGER " TRIGGER, "is disabled", NULL},
        {FUNCTION_OF("BEGIN NEW.id := nextval('outbox_order_seq'); RETURN NEW; END"),
         "not the one that init makes", NULL},
        {"ALTER FUNCTION outbox_order() SET search_path = public", "not the one that init makes",
         NULL},
        {"ALTER FUNCTION outbox_order() SECURITY DEFINER", "not the one that init makes",
         "ALTER FUNCTION outbox_order() SECURITY INVOKER"},
        {"DROP TRIGGER " TRIGGER " ON outbox; CREATE TRIGGER " TRIGGER
         " BEFORE INSERT ON outbox FOR"
         " EACH ROW WHEN (NEW.topic <> 'x') EXECUTE FUNCTION outbox_order()",
         "not the one that init makes", NULL},
        {"ALTER SEQUENCE outbox_order_seq CACHE 50", "CACHE 50", NULL},
        {"ALTER SEQUENCE outbox_order_seq CACHE 50", "CACHE 50",
         "ALTER SEQUENCE outbox_order_seq CACHE 1"},
        {"ALTER SEQUENCE outbox_order_seq INCREMENT -1 MINVALUE -9", "INCREMENT -1", NULL},
        {"ALTER SEQUENCE outbox_order_seq CYCLE", "CYCLE", NULL},
        {"ALTER SEQUENCE outbox_order_seq OWNED BY NONE", "does not belong to column", NULL},
        {"ALTER TABLE outbox ALTER id SET DEFAULT 7", "draws an id by its DEFAULT", NULL},
        {"ALTER TABLE outbox ALTER id ADD GENERATED ALWAYS AS IDENTITY",
         "draws an id by its IDENTITY", "ALTER TABLE outbox ALTER id DROP IDENTITY"},
        {"ALTER FUNCTION outbox_gate() OWNER TO order_app", "belongs to role order_app",
         "ALTER FUNCTION outbox_gate() OWNER TO " HARNESS_RELAY},
        {"ALTER FUNCTION outbox_order() OWNER TO order_app", "belongs to role order_app",
         "ALTER FUNCTION outbox_order() OWNER TO " HARNESS_RELAY},
        {ANOTHER, "runs after the order trigger", "DROP FUNCTION another() CASCADE"},
    };

    begin(fixture);
    sql(fixture->conn, "DROP ROLE IF EXISTS order_app");
    sql(fixture->conn, "CREATE ROLE order_app; GRANT CREATE ON SCHEMA public TO order_app");
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        sql(fixture->conn, each[i].breaks, "zzzz");
        assert_checked(fixture, each[i].says);
        assert_says(fixture->process.out, BY_APPLICATION);
        if (each[i].mends != NULL) {
            sql(fixture->conn, "%s", each[i].mends);
        } else {
            init_order(fixture, 5);
            apply(fixture);
        }
        assert_checked(fixture, BY_TRIGGER);
    }
    sql(fixture->conn, "DROP OWNED BY order_app; DROP ROLE order_app");
}

FIXTURE_TEST(a_key_that_another_trigger_changes_first_is_the_one_that_is_locked)
{
    begin(fixture);
    sql(fixture->conn, ANOTHER, "another");
    assert_checked(fixture, BY_TRIGGER);
    sql(fixture->conn, "BEGIN; " INSERT_KEY("k", "1"));
    assert_number(fixture->conn, 1,
                  BUCKET_LOCKS " AND objid = " BUCKETS_FROM " + outbox_bucket('x')");
    sql(fixture->conn, "COMMIT; DROP FUNCTION another() CASCADE");
}

FIXTURE_TEST(init_does_not_print_what_would_not_mend_it)
{
    begin(fixture);
    sql(fixture->conn, ANOTHER, "zzzz");
    init_order(fixture, 3);
    assert_says(fixture->process.err, "something else changes what it does");
    sql(fixture->conn, "DROP FUNCTION another() CASCADE");
}

/* ALTER SEQUENCE takes them back from other sessions. */
FIXTURE_TEST(ids_that_a_session_has_drawn_ahead_are_not_used_once_cache_is_1)
{
    PGconn *ahead;

    begin(fixture);
    sql(fixture->conn, "ALTER SEQUENCE outbox_order_seq CACHE 50");
    ahead = harness_connect(fixture->url);
    sql(ahead, INSERT_KEY("k", "1"));
    init_order(fixture, 5);
    assert_says(fixture->process.out, "CACHE 1");
    apply(fixture);
    sql(fixture->conn, INSERT_KEY("k", "2"));
    sql(ahead, INSERT_KEY("k", "3"));
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM outbox a, outbox b WHERE"
                  " a.id < b.id AND a.payload::int > b.payload::int");
    PQfinish(ahead);
}

/* ---- many keys in one transaction ---- */

#define MANY(from, to)                                                                             \
    "INSERT INTO outbox (topic, key) SELECT 't', key FROM unnest(ARRAY['" from "', '" to "']) key"

/* `first` has inserted one key and `second` another; then each wants that of the other one. */
static const char *insert_crosswise(struct fixture *fixture, const char *start)
{
    static char ended[8];
    PGconn *first = harness_connect(fixture->url);
    PGconn *second = harness_connect(fixture->url);

    sql(first, "BEGIN; %s " INSERT_KEY("a", "1"), start);
    sql(second, "SET deadlock_timeout = '10ms'");
    if (start[0] == '\0')
        sql(second, "BEGIN; " INSERT_KEY("b", "1"));
    else
        send(second, "BEGIN; SELECT outbox_gate(); " INSERT_KEY("b", "1") "; " INSERT_KEY(
                         "a", "2") "; COMMIT");
    if (start[0] != '\0')
        wait_for_number(fixture->conn, 1, UNGRANTED);
    if (start[0] == '\0') {
        send(first, INSERT_KEY("b", "2"));
        wait_for_number(fixture->conn, 1, UNGRANTED);
        send(second, INSERT_KEY("a", "2"));
    } else {
        sql(first, INSERT_KEY("b", "2") "; COMMIT");
    }
    (void)snprintf(ended, sizeof ended, "%s", end_of(second));
    PQfinish(second);
    (void)end_of(first);
    PQfinish(first);
    return ended;
}

FIXTURE_TEST(two_transactions_that_take_keys_in_another_order_deadlock)
{
    begin(fixture);
    assert_number(fixture->conn, 1,
                  "SELECT (outbox_bucket('a') <>"
                  " outbox_bucket('b'))::int");
    assert_string_equal(insert_crosswise(fixture, ""), "40P01");
}

FIXTURE_TEST(two_that_take_the_gate_do_not)
{
    begin(fixture);
    assert_string_equal(insert_crosswise(fixture, "SELECT outbox_gate();"), "");
    assert_number(fixture->conn, 4, "SELECT count(*) FROM outbox");
}

FIXTURE_TEST(the_gate_keeps_out_every_insert_and_waits_for_those_that_have_inserted)
{
    PGconn *other;

    begin(fixture);
    other = hurry(fixture);
    sql(fixture->conn, "BEGIN; INSERT INTO outbox (topic) VALUES ('t')");
    assert_refused(other, "SELECT outbox_gate()", "55P03");
    sql(fixture->conn, "COMMIT; BEGIN; SELECT outbox_gate()");
    assert_refused(other, INSERT_KEY("a", "1"), "55P03");
    sql(fixture->conn, MANY("b", "a") "; COMMIT");
    sql(other, INSERT_KEY("a", "1"));
    PQfinish(other);
}

/* Two keys of the same bucket wait for each other; 1024 locks suffice for any number of keys. */
FIXTURE_TEST(thousands_of_keys_take_1024_locks)
{
    begin(fixture);
    sql(fixture->conn, "BEGIN; INSERT INTO outbox (topic, key) SELECT 't', key FROM"
                       " generate_series(1, 20000) i, LATERAL (SELECT 'k' || i) k (key) ORDER BY"
                       " outbox_bucket(key)");
    assert_number(fixture->conn, 1024, BUCKET_LOCKS);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT outbox_bucket(key) AS"
                  " bucket, lag(outbox_bucket(key)) OVER (ORDER BY"
                  " id) AS before FROM outbox) rows WHERE bucket <"
                  " before");
    sql(fixture->conn, "ROLLBACK");
}

/* ---- several outboxes, and names ---- */

FIXTURE_TEST(outboxes_of_one_database_do_not_wait_for_each_other)
{
    PGconn *other;

    begin(fixture);
    configure_outbox(fixture, "table = \"second\"");
    init_order(fixture, 0);
    other = hurry(fixture);
    sql(fixture->conn, "BEGIN; SELECT outbox_gate(); " INSERT_KEY("k", "1"));
    sql(other, "INSERT INTO second (topic, key) VALUES ('t', 'k'); SELECT second_gate()");
    sql(fixture->conn, "COMMIT");
    PQfinish(other);
    sql(fixture->conn, "DROP TABLE second, second_slice, second_parked, second_control CASCADE");
}

FIXTURE_TEST(names_may_need_quotes)
{
    configure_outbox(fixture, "table = '''\"we're \\ \"\"a\"\" Box$$\"'''\n[outbox.columns]\nid ="
                              " '\"the Id\"'\nkey = '\"(Key)\"'");
    init_order(fixture, 0);
    assert_checked(fixture, BY_TRIGGER);
    for (int i = 0; i < 2; i++) {
        sql(fixture->conn,
            "INSERT INTO \"we're \\ \"\"a\"\" Box$$\" (topic, \"(Key)\") VALUES ('t',"
            " 'k'); SELECT \"we're \\ \"\"a\"\" Box$$_gate\"()");
        sql(fixture->conn, "ALTER DATABASE %s SET standard_conforming_strings = off",
            sql_text(fixture->conn, "SELECT quote_ident(current_database())"));
    }
    drain_printed(fixture, 0);
    assert_int_equal(count_lines(fixture->process.out), 2);
    sql(fixture->conn, "ALTER DATABASE %s RESET ALL",
        sql_text(fixture->conn, "SELECT quote_ident(current_database())"));
    configure_outbox(fixture, "table = '\"a$order$b\"'");
    init_order(fixture, 2);
    assert_says(fixture->process.err, "$order$");
}
