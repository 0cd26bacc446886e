/* Tables whose ids do not grow: the trigger numbers their rows, and relays those that were there
 * before. No application here takes a lock. */
#include "integration/program.h"

#include <signal.h>

#define TRIGGER "zzz_outbox_relay_order"
#define NUMBERED "\"relay_order\", and got one"

/* What a framework has made, and how it writes an event of the key k and the id x, a UUID. */
static const struct framework {
    const char *preset;
    const char *columns; /* of [outbox.columns], besides order */
    const char *table;
    const char *create;
    const char *insert;
} frameworks[] = {
    {"debezium", "", "outboxevent",
     "CREATE TABLE outboxevent (id uuid PRIMARY KEY, aggregatetype varchar(255) NOT NULL,"
     " aggregateid varchar(255), type varchar(255) NOT NULL, payload jsonb)",
     "INSERT INTO outboxevent (id, aggregatetype, aggregateid, type, payload) VALUES (x::uuid, 't',"
     " k, 'e', to_jsonb(x))"},
    {"eventuate-tram", "", "eventuate.message",
     "CREATE SCHEMA IF NOT EXISTS eventuate; CREATE TABLE eventuate.message (id varchar(1000)"
     " PRIMARY KEY, destination text NOT NULL, headers text NOT NULL, payload text NOT NULL,"
     " published smallint DEFAULT 0, message_partition smallint, creation_time bigint)",
     "INSERT INTO eventuate.message (id, destination, headers, payload) VALUES (x, 't',"
     " json_build_object('PARTITION_ID', k, 'ID', x)::text, 'p')"},
    {"spring-modulith-v2",
     "key = \"(serialized_event::json->>'k')\"\ncreated_at = \"publication_date\"",
     "event_publication",
     "CREATE TABLE event_publication (id uuid PRIMARY KEY, listener_id text NOT NULL, event_type"
     " text NOT NULL, serialized_event text NOT NULL, publication_date timestamptz NOT NULL,"
     " completion_date timestamptz, status text DEFAULT 'PUBLISHED', completion_attempts int, last_resubmission_date"
     " timestamptz)",
     "INSERT INTO event_publication (id, listener_id, event_type, serialized_event,"
     " publication_date) VALUES (x::uuid,"
     " 'org.springframework.modulith.events.support.DelegatingEventExternalizer.externalize(java.lang.Object)',"
     " 't', json_build_object('k', k, 'x', x)::text, clock_timestamp())"},
    {"okapi", "", "okapi_outbox",
     "CREATE TABLE okapi_outbox (id uuid PRIMARY KEY, message_type varchar(255) NOT NULL, payload"
     " text NOT NULL, delivery_type varchar(50) NOT NULL, status varchar(50) NOT NULL DEFAULT"
     " 'PENDING', created_at timestamp NOT NULL DEFAULT current_timestamp, updated_at timestamp NOT"
     " NULL DEFAULT current_timestamp, retries int NOT NULL DEFAULT 0, last_attempt timestamp,"
     " last_error text, delivery_metadata jsonb NOT NULL)",
     "INSERT INTO okapi_outbox (id, message_type, payload, delivery_type, delivery_metadata) VALUES"
     " (x::uuid, 't', to_json(x)::text, 'kafka', jsonb_build_object('topic', 't', 'partitionKey',"
     " k, 'headers', '{}'::json))"},
};

enum { DEBEZIUM, EVENTUATE, SPRING, OKAPI, FRAMEWORKS };

FIXTURE(fixture_open_empty, fixture_close)

static void configure_for(struct fixture *fixture, const struct framework *framework)
{
    write_relay_toml(fixture,
                     "[outbox]\npreset = \"%s\"\nadopt = true\n"
                     "[outbox.columns]\norder = \"relay_order\"\n%s\n"
                     "[relay]\npoll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                     framework->preset, framework->columns);
}

/* What init has printed: a transaction, and then statements that stand alone. */
static void apply(struct fixture *fixture)
{
    char *rest = strstr(fixture->process.out, "COMMIT;\n");
    PGconn *psql = harness_connect(fixture->url);
    char *end;

    assert_non_null(rest);
    sql(psql, "SET client_min_messages = warning; %.*s COMMIT", (int)(rest - fixture->process.out),
        fixture->process.out);
    rest += strlen("COMMIT;\n");
    while ((end = strstr(rest, ";\n")) != NULL) {
        *end = '\0';
        sql(psql, "%s", rest);
        rest = end + 2;
    }
    PQfinish(psql);
}

static void init_order(struct fixture *fixture, int expected)
{
    expect_run(fixture, expected, "init", "--order-trigger");
}

/* The table as the framework has it, and `truth`: in which order the events of a key were
 * committed. Its numbers are drawn after the insert, while the transaction has the key's lock. */
static void make_table(struct fixture *fixture, const struct framework *framework)
{
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS truth;"
        " CREATE TABLE truth (x text PRIMARY KEY, k text, n bigserial);"
        " GRANT ALL ON truth, truth_n_seq TO " HARNESS_RELAY "; GRANT CREATE ON"
        " DATABASE %s TO " HARNESS_RELAY,
        PQdb(fixture->conn));
    sql(fixture->conn, "SET ROLE " HARNESS_RELAY);
    sql(fixture->conn, "%s", framework->create);
    sql(fixture->conn, "RESET ROLE");
    configure_for(fixture, framework);
}

static void drop_table(struct fixture *fixture, const struct framework *framework)
{
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS %s, %s_slice, %s_parked, %s_control CASCADE; DROP TABLE IF"
        " EXISTS printed",
        framework->table, framework->table, framework->table, framework->table);
}

/* `count` transactions, each with an event of a key that the expression `key` gives. */
static void send_writer(PGconn *conn, const struct framework *framework, int count, const char *key,
                        bool is_slow)
{
    char block[2048];

    (void)snprintf(block, sizeof block,
                   "DO $$ DECLARE x text; k text; BEGIN FOR i IN 1..%d LOOP x :="
                   " gen_random_uuid(); k := %s; %s; INSERT INTO truth (x, k) VALUES (x, k);"
                   " %s END LOOP; END $$",
                   count, key, framework->insert,
                   is_slow ? "PERFORM pg_sleep(random() * 0.02); COMMIT;" : "");
    assert_int_equal(PQsendQuery(conn, block), 1);
}

static void finish_writer(PGconn *conn)
{
    PGresult *result;

    while ((result = PQgetResult(conn)) != NULL) {
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            fail_msg("a writer: %s", PQresultErrorMessage(result));
        PQclear(result);
    }
    PQfinish(conn);
}

static void write_events(struct fixture *fixture, const struct framework *framework, int count,
                         const char *key)
{
    PGconn *conn = harness_connect(fixture->url);

    send_writer(conn, framework, count, key, false);
    finish_writer(conn);
}

/* Every event was printed, once unless a relay was killed, and the first prints of the events of a
 * key are in the order of their commits. */
static void assert_sent_in_order(struct fixture *fixture)
{
    sql(fixture->conn, "CREATE TEMP TABLE seen AS SELECT x, k, n, min(place) AS place FROM truth"
                       " LEFT JOIN printed ON substring(line::text FROM"
                       " '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}') = x GROUP BY 1");
    assert_number(fixture->conn, 0, "SELECT count(*) FROM seen WHERE place IS NULL");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT n, lag(n) OVER (PARTITION BY k ORDER"
                  " BY place) AS before FROM seen) pairs WHERE n < before");
    sql(fixture->conn, "DROP TABLE seen");
}

/* One relay at a time, of two lanes: what it prints has an order. The one before may have sent all
 * that was there. */
static void run_and_kill(struct fixture *fixture, const struct framework *framework)
{
    write_events(fixture, framework, 20, "'late ' || i");
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_times(&fixture->process, "\"topic\"", 20);
    process_stop(&fixture->process, SIGKILL);
    load_printed(fixture, fixture->process.out);
}

#define WRITERS 32

FIXTURE_TEST(events_of_writers_without_locks_are_sent_in_order_whatever_the_ids)
{
    for (int i = 0; i < FRAMEWORKS; i++) {
        const struct framework *framework = &frameworks[i];
        PGconn *writers[WRITERS];

        make_table(fixture, framework);
        write_events(fixture, framework, 100, "i % 20");
        init_order(fixture, 5);
        apply(fixture);
        init_order(fixture, 0);
        for (int j = 0; j < WRITERS; j++) {
            writers[j] = harness_connect(fixture->url);
            send_writer(writers[j], framework, 40, "(random() * 19)::int", true);
        }
        for (int round = 0; round < 2; round++)
            run_and_kill(fixture, framework);
        for (int j = 0; j < WRITERS; j++)
            finish_writer(writers[j]);
        drain_printed(fixture, 0);
        assert_sent_in_order(fixture);
        drop_table(fixture, framework);
    }
}

/* Each writer has a key: the events of before and after are a row of commits. */
FIXTURE_TEST(no_event_overtakes_one_of_before_the_switch_while_writers_go_on)
{
    const struct framework *framework = &frameworks[SPRING];
    PGconn *writers[WRITERS];
    char key[16];

    make_table(fixture, framework);
    write_events(fixture, framework, 20000, "'old ' || i % 20");
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = harness_connect(fixture->url);
        (void)snprintf(key, sizeof key, "'writer %d'", i);
        send_writer(writers[i], framework, 100, key, true);
    }
    wait_for_number(fixture->conn, 1, "SELECT (count(*) > 20500)::int FROM truth");
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    run_and_kill(fixture, framework);
    run_and_kill(fixture, framework);
    for (int i = 0; i < WRITERS; i++)
        finish_writer(writers[i]);
    drain_printed(fixture, 0);
    assert_sent_in_order(fixture);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM event_publication WHERE"
                  " completion_date IS NULL OR relay_order IS NULL");
    drop_table(fixture, framework);
}

/* ---- rows without a number ---- */

#define INSERT(id, key)                                                                            \
    "INSERT INTO outboxevent (id, aggregatetype, aggregateid, type, payload) VALUES ('" UUID(      \
        id) "', 't', " key ", 'e', '{}'); "
#define UUID(id) "00000000-0000-0000-0000-0000000000" id
#define UNNUMBERED                                                                                 \
    "unsent rows of \"public\".\"outboxevent\" without a number in column \"relay_order\": "
#define LEFT "SELECT count(*) FROM outboxevent"

static void set_up_debezium(struct fixture *fixture)
{
    make_table(fixture, &frameworks[DEBEZIUM]);
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
}

/* A trigger that is disabled, a row that is replicated, and one without a key, which is of no
 * slice. */
FIXTURE_TEST(rows_that_arrive_without_a_number_are_named_and_sent_with_one)
{
    static const struct {
        const char *before, *after;
    } ways[] = {
        {"ALTER TABLE outboxevent DISABLE TRIGGER " TRIGGER,
         "ALTER TABLE outboxevent ENABLE TRIGGER " TRIGGER},
        {"SET session_replication_role = replica", "RESET session_replication_role"},
    };
    struct process relay = {0};

    set_up_debezium(fixture);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        sql(fixture->conn, "%s", ways[i].before);
        sql(fixture->conn, INSERT("01", "'k'") INSERT("02", "'k'") INSERT("03", "NULL"));
        expect(fixture, run_command(fixture, "check"), 0);
        assert_says(fixture->process.out, UNNUMBERED "3");
        expect(fixture, run_command(fixture, "status"), 0);
        assert_says(fixture->process.out, UNNUMBERED "3");
        process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
        wait_for_number(fixture->conn, 0, LEFT);
        sql(fixture->conn, INSERT("04", "'k'"));
        wait_for_number(fixture->conn, 0, LEFT);
        sql(fixture->conn, INSERT("05", "NULL"));
        wait_for_number(fixture->conn, 0, LEFT);
        process_await_times(&relay, NUMBERED, 2); /* one line may be about both later rows */
        process_stop(&relay, SIGTERM);
        assert_int_equal(relay.status, 0);
        assert_int_equal(count_lines(relay.out), 5);
        process_free(&relay);
        sql(fixture->conn, "%s", ways[i].after);
    }
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

/* A drain sends what it can and ends, as beside rows that are parked. */
static void expect_refused(struct fixture *fixture, const char *finding)
{
    drain_printed(fixture, 1);
    assert_says(fixture->process.err, "cannot be given one");
    assert_says(fixture->process.err, "or rows without an id or a number");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, finding);
}

/* Of before the switch, two rows of each of 200 keys: one is being changed, one PostgreSQL refuses
 * to change. Names of the table's columns are those of anybody. */
FIXTURE_TEST(rows_that_cannot_be_numbered_yet_hold_up_few_keys_and_later_none)
{
    PGconn *writer = harness_connect(fixture->url);
    struct process relay = {0};

    make_table(fixture, &frameworks[DEBEZIUM]);
    sql(fixture->conn,
        "ALTER TABLE outboxevent ADD number int DEFAULT 7, ADD chosen int, ADD numbered int,"
        " ADD slice int, ADD note text, ADD name text, ADD found int; INSERT INTO outboxevent (id,"
        " aggregatetype, aggregateid, type) SELECT ('00000000-0000-0000-0000-' || lpad(i::text, 12,"
        " '0'))::uuid, 't', 'k' || i %% 200, CASE WHEN i = 22 THEN 'bad' ELSE 'e' END FROM"
        " generate_series(1, 400) i");
    sql(fixture->conn,
        "ALTER TABLE outboxevent ADD CONSTRAINT good CHECK (type <> 'bad') NOT VALID");
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    sql(writer, "BEGIN; UPDATE outboxevent SET type = 'changed' WHERE id::text LIKE '%%211'");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, "SELECT (count(*) < 300)::int FROM outboxevent");
    process_await_words(&relay, "row " UUID("22") " of");
    sql(writer, "COMMIT");
    wait_for_number(fixture->conn, 0, LEFT " WHERE aggregateid = 'k11'");
    assert_number(fixture->conn, 2, LEFT " WHERE aggregateid = 'k22'");
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    load_printed(fixture, relay.out);
    process_free(&relay);
    expect_refused(fixture, "; they are of before the switch, and nothing of their slices is sent");
    sql(fixture->conn,
        "ALTER TABLE outboxevent DROP CONSTRAINT good; CREATE FUNCTION refuse() RETURNS trigger"
        " LANGUAGE plpgsql AS $$ BEGIN IF NEW.type = 'bad' THEN RAISE EXCEPTION 'bad'; END IF;"
        " RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON outboxevent"
        " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()");
    expect_refused(fixture, UNNUMBERED);
    sql(fixture->conn, "DROP FUNCTION refuse CASCADE; CREATE FUNCTION skip() RETURNS trigger"
                       " LANGUAGE plpgsql AS $$ BEGIN IF NEW.type = 'bad' THEN RETURN NULL; END IF;"
                       " RETURN NEW; END $$; CREATE TRIGGER skip BEFORE UPDATE ON outboxevent FOR"
                       " EACH ROW EXECUTE FUNCTION skip()");
    expect_refused(fixture, UNNUMBERED);
    assert_number(fixture->conn, 2, LEFT " WHERE aggregateid = 'k22'");
    sql(fixture->conn, "DROP FUNCTION skip CASCADE");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 0, LEFT);
    assert_number(fixture->conn, 400, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT line->>'id' AS id, lag(line->>'id')"
                  " OVER (PARTITION BY line->>'key' ORDER BY place) AS before FROM"
                  " printed) pairs WHERE id < before");

    /* From now on nothing waits for such a row. */
    sql(fixture->conn, "ALTER TABLE outboxevent DISABLE TRIGGER " TRIGGER "; INSERT INTO"
                       " outboxevent (id, aggregatetype, aggregateid, type) VALUES ('" UUID(
                           "31") "', 't', 'k', 'bad'); ALTER TABLE outboxevent ENABLE"
                                 " TRIGGER " TRIGGER);
    sql(fixture->conn,
        "ALTER TABLE outboxevent ADD CONSTRAINT good CHECK (type <> 'bad') NOT VALID");
    sql(fixture->conn, INSERT("32", "'k'") INSERT("33", "NULL"));
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, LEFT);
    process_await_words(&relay, "row " UUID("31") " of");
    process_stop(&relay, SIGTERM);
    assert_int_equal(relay.status, 0);
    process_free(&relay);
    sql(fixture->conn, INSERT("34", "'k'"));
    expect_refused(fixture, "; a relay numbers them, later than those that have one");
    assert_number(fixture->conn, 1, LEFT);
    PQfinish(writer);
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

FIXTURE_TEST(every_way_of_inserting_draws_a_number)
{
    set_up_debezium(fixture);
    sql_copy(fixture->conn,
             "COPY outboxevent (id, aggregatetype, aggregateid, type, relay_order)"
             " FROM STDIN",
             UUID("01") "\tt\tk\te\t7\n" UUID("02") "\tt\tk\te\t\\N\n");
    sql(fixture->conn,
        INSERT("03", "'k'") "INSERT INTO outboxevent (id, aggregatetype, aggregateid,"
                            " type) VALUES ('" UUID("04") "', 't', 'k', 'e'), ('" UUID(
                                "05") "', 't', NULL,"
                                      " 'e')");
    sql(fixture->conn, "INSERT INTO outboxevent SELECT '" UUID("06") "', 't', 'k', 'e', '{}', 3");
    sql(fixture->conn,
        "INSERT INTO outboxevent (id, aggregatetype, aggregateid, type) VALUES ('" UUID(
            "06") "', 't', 'k', 'e') ON CONFLICT (id) DO UPDATE SET type = 'again'; INSERT INTO outboxevent"
                  " (id, aggregatetype, aggregateid, type) VALUES ('" UUID(
                      "01") "', 't', 'k', 'e') ON"
                            " CONFLICT DO NOTHING");
    sql(fixture->conn,
        "INSERT INTO outboxevent (id, aggregatetype, aggregateid, type) VALUES ('" UUID(
            "01") "', 't', 'k', 'e') ON CONFLICT (id) DO UPDATE SET relay_order ="
                  " EXCLUDED.relay_order; UPDATE outboxevent SET relay_order = NULL WHERE id = '" UUID(
                      "02") "'; UPDATE outboxevent SET relay_order = 0, type = 'changed' WHERE id"
                            " = '" UUID("03") "'");
    if (PQserverVersion(fixture->conn) >= 150000)
        sql(fixture->conn, "MERGE INTO outboxevent o USING (SELECT '" UUID(
                               "07") "'::uuid AS id) n ON"
                                     " o.id = n.id WHEN NOT MATCHED THEN INSERT (id, aggregatetype,"
                                     " aggregateid, type) VALUES (n.id, 't', 'k', 'e')");
    sql(fixture->conn, "BEGIN; " INSERT("08", "'k'") "PREPARE TRANSACTION '%s'", fixture->name);
    sql(fixture->conn, "COMMIT PREPARED '%s'", fixture->name);
    assert_number(fixture->conn, sql_number(fixture->conn, LEFT),
                  "SELECT count(*) FROM outboxevent WHERE relay_order"
                  " > 1000000000000");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT id, lag(id) OVER"
                  " (ORDER BY relay_order) AS before FROM outboxevent)"
                  " pairs WHERE id < before");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 0, LEFT);
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

/* ---- people know a row by its id ---- */

#define DEAD UUID("04")

FIXTURE_TEST(commands_and_the_log_name_a_row_by_its_id)
{
    make_table(fixture, &frameworks[DEBEZIUM]);
    sql(fixture->conn, "ALTER TABLE outboxevent ADD sent_at timestamptz; COMMENT ON COLUMN"
                       " outboxevent.sent_at IS 'outbox-relay: only the relay writes this column'");
    write_relay_toml(fixture,
                     "[outbox]\npreset = \"debezium\"\nadopt = true\norder = \"key\"\n"
                     "on_sent = \"mark\"\n[outbox.columns]\norder = \"relay_order\"\n"
                     "headers = \"(payload->'h')\"\n[sink.out]\ntype = \"stdout\"\n[[route]]\n"
                     "match = \">\"\ntopic = \"of.{id}\"\n");
    sql(fixture->conn,
        INSERT("01", "'k'") "UPDATE outboxevent SET sent_at = now(); " INSERT("02", "'k'"));
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    sql(fixture->conn,
        INSERT("03", "'k'") INSERT("04", "'k'")
            INSERT("05", "'k'") "UPDATE outboxevent SET payload = '{\"h\": [1]}' WHERE id = '" DEAD
                                "'");
    expect_run(fixture, 0, "explain", DEAD);
    assert_says(fixture->process.out, DEAD ", unsent: would be dead");
    drain_printed(fixture, 1);
    assert_says(fixture->process.out, "\"topic\":\"of." UUID("02") "\"");
    assert_says(fixture->process.err, "row=" DEAD);
    assert_null(strstr(fixture->process.err, "row=1000"));
    assert_int_equal(count_lines(fixture->process.out), 2);
    expect_run(fixture, 0, "dead", "list", "--json");
    assert_says(fixture->process.out, "{\"id\":\"" DEAD "\"");
    expect_run(fixture, 0, "dead", "show", DEAD);
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "outbox-relay dead show " DEAD);
    expect_run(fixture, 0, "dead", "drop", DEAD);
    drain_printed(fixture, 0);
    assert_says(fixture->process.out, UUID("05"));
    expect_run(fixture, 0, "replay", UUID("03"));
    drain_printed(fixture, 0);
    assert_says(fixture->process.out, UUID("03"));
    expect_run(fixture, 1, "replay", UUID("01"));
    assert_says(fixture->process.err, "no row that has been sent has the id \"" UUID("01") "\"");
    expect_run(fixture, 0, "replay", "--since", "1h");
    drain_printed(fixture, 0);
    assert_int_equal(count_lines(fixture->process.out), 3);
    expect_run(fixture, 0, "purge", "--older-than", "0");
    assert_number(fixture->conn, 1, LEFT); /* not the relay's */
    sql(fixture->conn, "ALTER TABLE outboxevent_parked ALTER id TYPE uuid USING event_id::uuid");
    expect_run(fixture, 3, "explain", UUID("01"));
    assert_says(fixture->process.err, "_parked\" has type uuid, not bigint");
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

/* ---- the switch ---- */

/* Copies of rows that stay in the table find them by their number. */
FIXTURE_TEST(rows_that_are_parked_at_the_switch_stay_the_first_of_their_keys)
{
    const struct framework *framework = &frameworks[OKAPI];

    make_table(fixture, framework);
    write_relay_toml(fixture, "[outbox]\npreset = \"okapi\"\nadopt = true\n" STDOUT_SINK "\n");
    init_existing(fixture);
    write_events(fixture, framework, 2, "'k'");
    sql(fixture->conn, "UPDATE okapi_outbox SET delivery_metadata = delivery_metadata ||"
                       " '{\"headers\": {\"h\": [1]}}' WHERE id::text = (SELECT x FROM truth ORDER"
                       " BY n LIMIT 1)");
    drain_printed(fixture, 1);
    assert_int_equal(count_lines(fixture->process.out), 1);
    configure_for(fixture, framework);
    sql(fixture->conn, "DELETE FROM okapi_outbox_control WHERE name = 'order'");
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    write_events(fixture, framework, 1, "'k'");
    drain_printed(fixture, 1);
    assert_int_equal(count_lines(fixture->process.out), 0);
    sql(fixture->conn, "UPDATE okapi_outbox SET delivery_metadata = delivery_metadata ||"
                       " '{\"headers\": {}}' WHERE status = 'FAILED'");
    expect_run(fixture, 0, "dead", "retry", "--all");
    drain_printed(fixture, 0);
    assert_int_equal(count_lines(fixture->process.out), 2);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM okapi_outbox WHERE status <>"
                  " 'DELIVERED'");
    drop_table(fixture, framework);
}

FIXTURE_TEST(a_relay_that_keeps_no_order_ends_when_the_table_is_switched)
{
    struct process old = {0};

    make_table(fixture, &frameworks[DEBEZIUM]);
    write_relay_toml(fixture, "[outbox]\npreset = \"debezium\"\nadopt = true\n" STDOUT_SINK "\n");
    init_existing(fixture);
    process_start(&old, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&old, "relaying from");
    configure_for(fixture, &frameworks[DEBEZIUM]);
    init_order(fixture, 5);
    apply(fixture);
    process_wait(&old);
    assert_int_equal(old.status, 3);
    assert_says(old.err, "column id of \"public\".\"outboxevent_parked\" has type bigint");
    process_free(&old);
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "is relayed by another order or key");
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

FIXTURE_TEST(a_column_that_is_dropped_and_added_again_numbers_the_rows_anew)
{
    struct process relay = {0};

    set_up_debezium(fixture);
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&relay, "relaying from");
    sql(fixture->conn,
        "ALTER TABLE outboxevent DROP relay_order CASCADE; DROP FUNCTION outboxevent_order"
        " CASCADE; " INSERT("01", "'k'") INSERT("02", "'k'"));
    process_await_words(&relay, "(order)");
    init_order(fixture, 5);
    apply(fixture);
    sql(fixture->conn, INSERT("03", "'k'"));
    wait_for_number(fixture->conn, 0, LEFT);
    process_stop(&relay, SIGTERM);
    load_printed(fixture, relay.out);
    process_free(&relay);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT line->>'id' AS id,"
                  " lag(line->>'id') OVER (ORDER BY place) AS before"
                  " FROM printed) pairs WHERE id < before");
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

static void prepare(struct fixture *fixture, PGconn *lane, const char *statement)
{
    expect_run(fixture, 0, "sql", statement);
    sql(lane, "PREPARE %s AS %s", statement, fixture->process.out);
}

/* A lane plans `number` once, for the many rows that it is given first. A join with all rows that
 * have no number would read them anew for each batch. */
FIXTURE_TEST(a_batch_of_rows_is_numbered_by_their_places)
{
    PGconn *lane = harness_connect(fixture->url);
    int64_t slice = sql_number(lane, "SELECT (hashtext('1') & 2147483647) %% 64");
    PGresult *plan;
    char text[64];

    make_table(fixture, &frameworks[DEBEZIUM]);
    write_events(fixture, &frameworks[DEBEZIUM], 20000, "'1'");
    sql(fixture->conn, "ANALYZE outboxevent");
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    sql(lane, "SET search_path = ''; SET plan_cache_mode = force_generic_plan; SET enable_seqscan ="
              " off; SET enable_bitmapscan = off; SET enable_sort = off");
    prepare(fixture, lane, "lock_unnumbered");
    prepare(fixture, lane, "number");
    sql(lane, "BEGIN");
    (void)snprintf(text, sizeof text, "EXECUTE lock_unnumbered (%d, 10000)", (int)slice);
    PQclear(PQexec(lane, text));
    (void)snprintf(text, sizeof text, "EXPLAIN EXECUTE number (%d)", (int)slice);
    plan = PQexec(lane, text);
    assert_int_equal(PQresultStatus(plan), PGRES_TUPLES_OK);
    for (int i = 0; i < PQntuples(plan); i++)
        assert_null(strstr(PQgetvalue(plan, i, 0), "Index Scan using outboxevent"));
    PQclear(plan);
    PQfinish(lane);
    drop_table(fixture, &frameworks[DEBEZIUM]);
}

/* ---- what init and check say ---- */

FIXTURE_TEST(check_names_what_keeps_numbers_from_being_the_order)
{
    static const struct {
        const char *breaks, *says;
    } each[] = {
        {"ALTER TABLE outboxevent DISABLE TRIGGER " TRIGGER, "is disabled"},
        {"DROP TRIGGER " TRIGGER " ON outboxevent", "no trigger numbers the rows"},
        {"DROP TRIGGER " TRIGGER "_kept ON outboxevent", "is not the one that init makes"},
        {"SELECT setval('outboxevent_order_seq', 1)", "is behind column \"relay_order\""},
        {"CREATE FUNCTION another() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.relay_order :="
         " 5; RETURN NEW; END $$; CREATE TRIGGER zzzz BEFORE INSERT ON outboxevent FOR EACH ROW"
         " EXECUTE FUNCTION another()",
         "runs after the order trigger"},
    };

    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        set_up_debezium(fixture);
        sql(fixture->conn, INSERT("01", "'k'"));
        expect(fixture, run_command(fixture, "check"), 0);
        assert_says(fixture->process.out, "the order trigger locks each key before it draws the"
                                          " number");
        sql(fixture->conn, "%s", each[i].breaks);
        (void)run_command(fixture, "check");
        assert_says(fixture->process.out, each[i].says);
        drop_table(fixture, &frameworks[DEBEZIUM]);
    }
}

FIXTURE_TEST(init_refuses_what_no_trigger_can_number)
{
    static const struct {
        const char *change, *columns, *says;
        int status;
    } each[] = {
        {"ADD relay_order bigint", "order = \"relay_order\"", "no column that init has added", 3},
        {"ADD relay_order text", "order = \"relay_order\"", "must be bigint", 3},
        {"ADD k text GENERATED ALWAYS AS (lower(aggregateid)) STORED",
         "order = \"relay_order\"\nkey = \"k\"", "column k is generated", 3},
        {"ADD z text", "order = \"relay_order\"\nkey = \"\"", "it has no key", 2},
        {"ADD z text", "order = \"(1)\"", "must be a column", 2},
        {"ADD z text", "order = \"\"", "must not be empty", 2},
    };
    PGconn *writer;

    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        make_table(fixture, &frameworks[DEBEZIUM]);
        sql(fixture->conn, "ALTER TABLE outboxevent %s", each[i].change);
        write_relay_toml(fixture,
                         "[outbox]\npreset = \"debezium\"\norder = \"key\"\n"
                         "[outbox.columns]\n%s\n" STDOUT_SINK "\n",
                         each[i].columns);
        init_order(fixture, each[i].status);
        assert_says(fixture->process.err, each[i].says);
        sql(fixture->conn, "DROP TABLE outboxevent; DROP TABLE IF EXISTS outboxevent_slice,"
                           " outboxevent_parked, outboxevent_control");
    }
    make_table(fixture, &frameworks[DEBEZIUM]);
    init_order(fixture, 5);
    writer = harness_connect(fixture->url);
    sql(writer, "BEGIN; " INSERT("01", "'k'"));
    sql(fixture->conn, "SET lock_timeout = 100");
    PQclear(PQexec(fixture->conn, fixture->process.out));
    assert_says(PQerrorMessage(fixture->conn), "lock timeout");
    sql(fixture->conn, "ROLLBACK");
    assert_number(fixture->conn, 5,
                  "SELECT count(*) FROM pg_attribute WHERE attrelid ="
                  " 'outboxevent'::regclass AND attnum > 0");
    PQfinish(writer);
    sql(fixture->conn, "DROP TABLE outboxevent");
}

/* After a restore, a setval(), or with rows that were parked by numbers of a column that is gone.
 */
FIXTURE_TEST(init_lifts_the_sequence_above_all_numbers)
{
    set_up_debezium(fixture);
    sql(fixture->conn,
        INSERT("01", "'k'") "SELECT setval('outboxevent_order_seq', 1); DROP TRIGGER " TRIGGER
                            " ON outboxevent");
    init_order(fixture, 5);
    apply(fixture);
    sql(fixture->conn, INSERT("02", "'k'"));
    assert_number(fixture->conn, 1, LEFT " WHERE relay_order > 1000000000001");
    sql(fixture->conn, "INSERT INTO outboxevent_parked (id, event_id, key, state) SELECT"
                       " 1000000000777, '" UUID(
                           "03") "', 'k', 'dead'; ALTER TABLE outboxevent DROP"
                                 " relay_order CASCADE; DROP FUNCTION outboxevent_order CASCADE");
    init_order(fixture, 5);
    apply(fixture);
    sql(fixture->conn, INSERT("04", "'k'"));
    assert_number(fixture->conn, 1, LEFT " WHERE relay_order > 1000000000777");
    drop_table(fixture, &frameworks[DEBEZIUM]);
    write_relay_toml(fixture, "[outbox.columns]\norder = \"relay_order\"\n" STDOUT_SINK "\n");
    init_order(fixture, 3);
    assert_says(fixture->process.err, "leave out order in [outbox.columns]");
}

FIXTURE_TEST(a_role_with_what_init_grants_numbers_and_sends_rows)
{
    make_table(fixture, &frameworks[DEBEZIUM]);
    sql(fixture->conn, "DROP ROLE IF EXISTS numbers_app");
    sql(fixture->conn,
        "CREATE ROLE numbers_app; GRANT INSERT ON outboxevent TO numbers_app; " INSERT("01",
                                                                                       "'k'"));
    init_order(fixture, 5);
    apply(fixture);
    init_order(fixture, 0);
    sql(fixture->conn, "SET ROLE numbers_app; " INSERT("02", "'k'") "RESET ROLE");
    make_role(fixture, "numbers_relay");
    log_in_as(fixture, "numbers_relay");
    configure_for(fixture, &frameworks[DEBEZIUM]);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_null(strstr(fixture->process.out, "missing privilege"));
    drain_printed(fixture, 0);
    assert_int_equal(count_lines(fixture->process.out), 2);
    sql(fixture->conn, "DROP OWNED BY numbers_relay, numbers_app; DROP ROLE numbers_relay,"
                       " numbers_app");
    log_in_as(fixture, HARNESS_RELAY);
    drop_table(fixture, &frameworks[DEBEZIUM]);
}
