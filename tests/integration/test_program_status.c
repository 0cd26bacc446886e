/* status of real relays: what they answer, who may answer, limits, --watch, what needs somebody.
 */
#include "admin/admin_session.h"
#include "base/clock.h"
#include "catalog/questions.h"
#include "integration/program.h"
#include "sql/statements.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <signal.h>

FIXTURE(set_up, fixture_close)

#define TWO_SINKS                                                                                  \
    STDOUT_SINK "\n[sink.far]\ntype = \"kafka\"\nbrokers = [\"127.0.0.1:1\"]\n"                    \
                "[[route]]\nmatch = \"far.*\"\nsink = "                                            \
                "\"far\"\n[[route]]\nmatch = \">\"\n"                                              \
                "sink = \"out\"\n"

static json_t *ask(struct fixture *fixture)
{
    json_t *status;

    expect_run(fixture, 0, "status", "--json");
    status = json_loads(fixture->process.out, 0, NULL);
    assert_non_null(status);
    return status;
}

static const json_t *named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, i), "name")), name) == 0)
            return json_array_get(list, i);
    fail_msg("no %s", name);
    return NULL;
}

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

static long long number_in(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void start_relay(struct fixture *fixture, struct process *relay)
{
    process_start(relay, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 2,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE"
                    " 'outbox-relay/%/_' AND datname = current_database()");
}

static void end_relay(struct process *relay)
{
    process_stop(relay, SIGTERM);
    process_free(relay);
}

/* The first answer of the only relay. One that has just started does not listen yet, and one that
 * is flooded drops questions. */
static json_t *await_answer(struct fixture *fixture)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;

    for (;;) {
        json_t *status = ask(fixture);
        const json_t *process = json_array_get(json_object_get(status, "processes"), 0);

        if (json_is_true(json_object_get(process, "answers")))
            return status;
        json_decref(status);
        assert_true(clock_left_ms(deadline_ms) > 0);
    }
}

FIXTURE_TEST(a_sink_that_is_away_shows_why_since_when_and_what_waits)
{
    struct process relay;
    json_t *status;
    const json_t *far;

    write_config(fixture, "", TWO_SINKS);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 'far.a', '1'"
                       " FROM generate_series(1, 5)");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('near', '1')");
    start_relay(fixture, &relay);
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name"
                    " ~ '^outbox-relay/.*/away:far$' AND datname = current_database()");
    status = ask(fixture);
    far = named(json_object_get(status, "sinks"), "far");
    assert_string_equal(text_in(far, "state"), "away");
    assert_says(text_in(far, "error"), "Connection refused");
    assert_int_equal(strlen(text_in(far, "since")), strlen("2026-01-01T00:00:00.000Z"));
    assert_int_equal(number_in(far, "rows"), 5);
    assert_string_equal(text_in(named(json_object_get(status, "sinks"), "out"), "state"), "up");
    json_decref(status);
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "\nfar: away since ");
    assert_says(fixture->process.out, "Connection refused");
    assert_says(fixture->process.out, ", 5 rows wait\n");
    assert_says(fixture->process.out, "- sink far cannot be published to");
    end_relay(&relay);
}

FIXTURE_TEST(a_relay_answers_with_what_it_did_and_what_its_lanes_do)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    struct process relay;
    const json_t *process;
    json_t *status;

    start_relay(fixture, &relay);
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', '1'"
                       " FROM generate_series(1, 12)");
    wait_for_number(fixture->conn, 0, UNSENT);
    status = await_answer(fixture);
    assert_int_equal(number_in(status, "relays"), 1);
    process = json_array_get(json_object_get(status, "processes"), 0);
    assert_int_equal(number_in(process, "sent"), 12);
    assert_true(json_number_value(json_object_get(status, "rate_per_second")) > 0);
    assert_int_equal(json_array_size(json_object_get(status, "lane_states")), 2);
    json_decref(status);
    do /* a lane that is asked may just look for rows */
        expect_run(fixture, 0, "status", "--lanes");
    while (strstr(fixture->process.out, "    lane 2  idle") == NULL &&
           harness_now_ms() < deadline_ms);
    assert_says(fixture->process.out, " 12 sent, ");
    assert_says(fixture->process.out, "    lane 2  idle");
    end_relay(&relay);
}

/* One relay each of two tables in one database. */
FIXTURE_TEST(relays_of_another_table_are_left_out)
{
    char other[256];
    struct process relays[2];
    int64_t deadline_ms;
    json_t *status;

    (void)snprintf(other, sizeof other, "%s",
                   harness_file("other.toml",
                                "[database]\nurl = \"%s\"\n[outbox]\ntable = \"other\"\n"
                                "order = \"none\"\n" STDOUT_SINK "\n",
                                fixture->url));
    expect(fixture, run(fixture, "init", "-c", other), 0);
    process_start(&relays[0], NULL, "run", "-c", other, NULL);
    process_start(&relays[1], NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 6,
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name"
                    " ~ '^outbox-relay/.*/([0-9]|watch)$' AND datname = current_database()");
    deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    while ((status = ask(fixture)) != NULL && number_in(status, "relays") != 1 &&
           harness_now_ms() < deadline_ms) /* it hears the question a moment after it connects */
        json_decref(status);
    assert_int_equal(number_in(status, "relays"), 1);
    assert_int_equal(number_in(status, "lanes"), 2);
    assert_int_equal(json_array_size(json_object_get(status, "lane_states")), 2);
    json_decref(status);
    end_relay(&relays[0]);
    end_relay(&relays[1]);
}

/* The channel of the answer to the next question. */
static void await_question(PGconn *conn, char channel[64])
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    PGnotify *note = NULL;

    while (note == NULL && harness_now_ms() < deadline_ms) {
        harness_pause();
        assert_int_equal(PQconsumeInput(conn), 1);
        note = PQnotifies(conn);
    }
    assert_non_null(note);
    assert_int_equal(strlen(note->extra), 32);
    (void)snprintf(channel, 64, STATUS_ANSWER_CHANNEL "%s", note->extra);
    PQfreemem(note);
}

/* A relay that is stopped says nothing, and somebody who overhears the question answers for it. */
FIXTURE_TEST(nobody_answers_for_a_relay)
{
    struct process *process = &fixture->process;
    struct process relay;
    char channel[64];

    start_relay(fixture, &relay);
    wait_for_number(fixture->conn, 1, /* nobody asks a relay without the session that answers */
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE"
                    " 'outbox-relay/%/watch' AND datname = current_database()");
    sql(fixture->conn, "LISTEN " STATUS_CHANNEL);
    assert_int_equal(kill(relay.pid, SIGSTOP), 0);
    process_free(process);
    process_start(process, NULL, "status", "-c", fixture->config, NULL);
    await_question(fixture->conn, channel);
    sql(fixture->conn,
        "SELECT pg_notify('%s', json_build_object('table', 'outbox'::regclass::oid::int8,"
        " 'version', 'forged', 'sent', 666)::text)",
        channel);
    process_wait(process);
    assert_int_equal(process->status, 0);
    assert_says(process->out, "2 lanes, does not answer");
    assert_says(process->out, "does not answer: it may hang");
    assert_null(strstr(process->out, "forged"));
    assert_null(strstr(process->out, "666 sent")); /* a process id may hold the digits */
    assert_int_equal(kill(relay.pid, SIGCONT), 0);
    end_relay(&relay);
}

/* Anybody may give himself the name of a relay. */
FIXTURE_TEST(a_role_that_may_not_delete_from_the_outbox_is_no_relay)
{
    char url[512];
    PGconn *impostor;
    json_t *status;

    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS impostor;"
                       " CREATE ROLE impostor LOGIN");
    (void)snprintf(url, sizeof url, "postgresql://impostor%s", strchr(fixture->url, '@'));
    impostor = PQconnectdb(url);
    assert_int_equal(PQstatus(impostor), CONNECTION_OK);
    sql(impostor, "SET application_name = 'outbox-relay/x:1/1'");
    status = ask(fixture);
    assert_int_equal(number_in(status, "relays"), 0);
    json_decref(status);
    sql(fixture->conn, "GRANT DELETE ON outbox TO impostor");
    status = ask(fixture);
    assert_int_equal(number_in(status, "relays"), 1);
    json_decref(status);
    PQfinish(impostor);
    sql(fixture->conn, "DROP OWNED BY impostor; DROP ROLE impostor");
}

FIXTURE_TEST(noise_on_the_channels_neither_stops_a_relay_nor_its_answers)
{
    struct process relay;

    start_relay(fixture, &relay);
    for (int i = 0; i < 50; i++)
        sql(fixture->conn, "SELECT pg_notify('" STATUS_CHANNEL "', repeat('%c', %d))",
            i % 2 == 0 ? 'a' : 'Z', i % 3 * 16);
    json_decref(await_answer(fixture));
    end_relay(&relay);
}

/* The rows that were sent since then stay in the index. */
FIXTURE_TEST(a_held_snapshot_makes_no_look_slower)
{
    static const char read_sql[] =
        "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'outbox'";
    PGconn *holder = harness_connect(fixture->url);
    struct process relay;
    int64_t deadline_ms;
    long long read = 20000;

    sql(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    (void)sql_number(holder, "SELECT count(*) FROM outbox");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) SELECT 't', '1'"
                       " FROM generate_series(1, 20000) i");
    start_relay(fixture, &relay);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
    process_stop(&relay, SIGTERM); /* then its own reads are counted */
    process_free(&relay);
    start_relay(fixture, &relay);
    deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;
    while (read >= 10000 && clock_left_ms(deadline_ms) > 0) { /* the relay scans the index first */
        long long before = sql_number(fixture->conn, read_sql);

        json_decref(ask(fixture));
        read = sql_number(fixture->conn, read_sql) - before;
    }
    assert_in_range(read, 0, 9999);
    end_relay(&relay);
    PQfinish(holder);
}

/* Neither has a time of its own, and a relay alone would send neither. */
FIXTURE_TEST(rows_behind_a_dead_one_call_for_no_relay)
{
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, created_at, state, waits_for)"
        " VALUES (1, gen_random_uuid(), 't', 'k', now(), 'dead', NULL),"
        " (2, gen_random_uuid(), 't', 'k', now(), 'behind', NULL),"
        " (3, gen_random_uuid(), 'p', 'p', now(), 'paused', 'paused topic p')");
    expect_run(fixture, 0, "status");
    assert_null(strstr(fixture->process.out, "no relay runs"));
    assert_null(strstr(fixture->process.out, "next try"));
    assert_says(fixture->process.out, "- 1 row is dead: it stays until you retry or drop it\n");
    assert_says(fixture->process.out, "- 1 row waits behind an earlier row of the same key\n");
    sql(fixture->conn, "UPDATE outbox_parked SET state = 'retry', due = now() WHERE id = 2");
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "- no relay runs, and 1 row is to be sent\n");
    assert_says(fixture->process.out, ", next try now\n");
}

FIXTURE_TEST(with_all_rows_parked_the_oldest_age_is_theirs)
{
    json_t *status;

    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, due, waits_for,"
        " error) SELECT i, gen_random_uuid(), 'gone', now() - interval '1 hour', 'waiting',"
        " CASE WHEN i = 1 THEN now() + interval '50 s' END, 'out/gone', 'unknown topic' FROM generate_series(1, 30) i");
    status = ask(fixture);
    assert_in_range(json_real_value(json_object_get(status, "oldest_seconds")), 3599, 3700);
    assert_in_range(json_real_value(json_object_get(status, "next_try_seconds")), 10, 50);
    assert_true(json_is_null(json_object_get(status, "backlog_oldest_seconds")));
    json_decref(status);
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "parked   30, oldest 1 h 00 min, next try in ");
    assert_says(fixture->process.out, "- 30 rows wait for out/gone: unknown topic\n");
    expect_run(fixture, 1, "status", "--max-age", "30m");
}

/* Any role that may insert can write them. */
FIXTURE_TEST(a_time_without_an_age_hides_no_other_row)
{
    static const struct {
        const char *type, *time;
    } odd[] = {{"timestamptz", "-infinity"},     {"timestamptz", "infinity"},
               {"timestamptz", "4713-01-01 BC"}, {"timestamptz", "294276-12-31"},
               {"timestamp", "-infinity"},       {"timestamp", "294276-12-31 23:59:59"},
               {"date", "5874897-12-31"},        {"text", "yesterday or so"},
               {"text", "2026-02-31 10:00:61"}};
    char said[11];
    json_t *status;

    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        sql(fixture->conn,
            "TRUNCATE outbox, outbox_parked; ALTER TABLE outbox ALTER created_at DROP DEFAULT, "
            "ALTER created_at TYPE %s USING NULL; ALTER TABLE outbox_parked ALTER created_at TYPE "
            "%s USING NULL",
            odd[i].type, odd[i].type);
        sql(fixture->conn,
            "INSERT INTO outbox (topic, created_at) VALUES ('t', '%s'), ('t', (now() AT TIME ZONE "
            "'UTC' - interval '2 days')::text::%s)",
            odd[i].time, odd[i].type);
        for (int due = 0; due < 2; due++)
            sql(fixture->conn,
                "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, due) VALUES "
                "(1, gen_random_uuid(), 't', '%s', %s)",
                odd[i].time, due ? "'retry', now()" : "'dead', NULL");
        (void)snprintf(said, sizeof said, "%s", odd[i].time);
        status = ask(fixture);
        assert_int_equal(number_in(status, "backlog"), 2);
        assert_int_equal(number_in(status, "parked"), 1);
        assert_int_equal(number_in(status, "dead"), 1);
        assert_in_range(json_number_value(json_object_get(status, "oldest_seconds")), 86400,
                        4 * 86400);
        json_decref(status);
        expect_run(fixture, 0, "status");
        assert_says(fixture->process.out,
                    "- created_at of 1 of the oldest rows gives no age: row ");
        if (strcmp(odd[i].type, "text") != 0) /* a text is a value of the row */
            assert_says(fixture->process.out, said);
        assert_null(strstr(fixture->process.out, "unknown"));
        expect_run(fixture, 0, "dead", "list");
        expect_run(fixture, 0, "dead", "show", "1");
        expect_run(fixture, 0, "check");
        expect_run(fixture, 0, "purge", "--dry-run");
    }
}

/* Here for the condition of [outbox] where, which no row of the other tables
 * has to fulfil. */
FIXTURE_TEST(a_figure_that_fails_takes_no_other_with_it)
{
    json_t *status;

    write_config(fixture, "where = \"10 / length(topic) > 0\"\n", STDOUT_SINK);
    sql(fixture->conn,
        "INSERT INTO outbox (topic) VALUES ('');INSERT INTO outbox_parked (id, event_id, topic, "
        "created_at, state) VALUES (1, gen_random_uuid(), 't', now(), 'dead')");
    status = ask(fixture);
    assert_true(json_is_null(json_object_get(status, "backlog")));
    assert_int_equal(number_in(status, "dead"), 1);
    json_decref(status);
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "\nbacklog  unknown\n");
    assert_says(fixture->process.out, "- unknown: the backlog: database: division_by_zero");
    expect_run(fixture, 1, "status", "--max-backlog", "9");
}

FIXTURE_TEST(what_is_above_its_limit_decides_the_exit_status)
{
    sql(fixture->conn, "INSERT INTO outbox (topic, payload, created_at) VALUES ('t', '1', now() -"
                       " interval '1 hour')");
    expect_run(fixture, 0, "status", "--max-backlog", "1", "--max-age", "2h");
    assert_string_equal(fixture->process.out, "");
    expect_run(fixture, 1, "status", "--max-backlog", "0", "--max-dead", "0");
    assert_string_equal(fixture->process.out, "");
    assert_string_equal(fixture->process.err, "outbox-relay: backlog is 1, the limit is 0\n");
    expect_run(fixture, 1, "status", "--json", "--max-age", "1m");
    assert_says(fixture->process.out, "\"backlog\":1,");
    assert_says(fixture->process.err, "outbox-relay: age is 36");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN created_at");
    expect_run(fixture, 1, "status", "--max-age", "2h");
    assert_says(fixture->process.err, "age is unknown");
    expect_run(fixture, 2, "status", "--max-dead", "many");
    assert_says(fixture->process.err, "--max-dead wants a number of rows, not \"many\"");
    expect_run(fixture, 2, "status", "--watch", "--max-dead", "0");
}

FIXTURE_TEST(a_watch_prints_one_look_below_the_other_and_ends_at_an_interrupt)
{
    struct process *watch = &fixture->process;

    process_free(watch);
    process_start(watch, NULL, "status", "--watch", "-c", fixture->config, NULL);
    process_await_times(watch, "public.outbox at ", 2);
    process_stop(watch, SIGINT);
    expect(fixture, watch->status, 0);
    assert_null(strchr(watch->out, '\033'));
    assert_says(watch->out, "relays   0 with 0 lanes\n");
    assert_says(watch->out, "\n\npublic.outbox at ");
}

static struct admin *open_admin(const struct fixture *fixture, struct outbox_options *options)
{
    struct error error;
    struct admin *admin;

    *options = (struct outbox_options){.url = (char *)fixture->url,
                                       .table = (char *)"outbox",
                                       .allow_plaintext = true,
                                       .order = ORDER_NONE,
                                       .publish_timeout_ms = 10000};
    admin = admin_open(options, &error);
    if (admin == NULL)
        fail_msg("%s", error.text);
    return admin;
}

static PGresult *find_holders(struct admin *admin, const char *long_s)
{
    struct error error;
    PGresult *holders = table_query_with(&admin->table, &admin->session, statement_check_90_holders,
                                         "long_s", long_s, &error);

    if (holders == NULL)
        fail_msg("%s", error.text);
    return holders;
}

FIXTURE_TEST(transactions_that_hold_the_horizon_are_named_with_what_ends_them)
{
    PGconn *reader = harness_connect(fixture->url);
    struct outbox_options options;
    struct admin *admin;
    PGresult *holders;
    char fix[96];
    int found = 0;

    sql(fixture->conn, "GRANT pg_read_all_stats TO " HARNESS_RELAY);
    sql(reader, "SET application_name = 'nightly'");
    sql(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    sql(reader, "SELECT 1");
    admin = open_admin(fixture, &options);
    holders = find_holders(admin, FACT_NUMBER(HOLDERS_LONG_S));
    assert_int_equal(PQntuples(holders), 0);
    PQclear(holders);
    holders = find_holders(admin, "0");
    (void)snprintf(fix, sizeof fix, "SELECT pg_catalog.pg_terminate_backend(%d);",
                   PQbackendPID(reader));
    for (int row = 0; row < PQntuples(holders); row++)
        found += strstr(PQgetvalue(holders, row, 1),
                        "nightly, idle in transaction) is open for 0 min") != NULL &&
                 strcmp(PQgetvalue(holders, row, 2), fix) == 0;
    assert_int_equal(found, 1);
    PQclear(holders);
    admin_close(admin);
    PQfinish(reader);
    sql(fixture->conn, "REVOKE pg_read_all_stats FROM " HARNESS_RELAY);
}

/* The fix of the holder that is named with the words is executed. */
static void expect_holder(struct admin *admin, PGconn *conn, const char *words)
{
    PGresult *holders = find_holders(admin, "0");
    int row = PQntuples(holders) - 1;

    while (row >= 0 && strstr(PQgetvalue(holders, row, 1), words) == NULL)
        row--;
    if (row < 0)
        fail_msg("%d holders, none with: %s", PQntuples(holders), words);
    assert_says(PQgetvalue(holders, row, 1), ": PostgreSQL cannot remove rows sent since");
    if (conn == NULL)
        assert_string_equal(PQgetvalue(holders, row, 2), "end the long queries of the standby");
    else
        sql(conn, "%s", PQgetvalue(holders, row, 2));
    PQclear(holders);
}

FIXTURE_TEST(a_prepared_transaction_is_named_with_what_ends_it)
{
    struct outbox_options options;
    struct admin *admin = open_admin(fixture, &options);
    char words[160];

    sql(fixture->conn, "BEGIN");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('a', '1')");
    sql(fixture->conn, "PREPARE TRANSACTION '%s'' late'", fixture->name);
    (void)snprintf(words, sizeof words,
                   "prepared transaction \"%s' late\" (role \"%s\") waits for 0 min for its COMMIT"
                   " PREPARED",
                   fixture->name, PQuser(fixture->conn));
    expect_holder(admin, fixture->conn, words);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM pg_prepared_xacts");
    admin_close(admin);
}

/* As a standby does, whose queries need what this transaction, and later ones, delete: says so
 * again until the slot has it. */
static void hold_back(PGconn *standby, PGconn *conn)
{
    char message[1 + 8 + 4 * 4] = "h";
    uint32_t xmin = htonl((uint32_t)sql_number(conn, "SELECT txid_current() & 4294967295"));
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    memcpy(message + 9, &xmin, sizeof xmin); /* the time before it, and what follows, may be 0 */
    do {
        if (PQputCopyData(standby, message, sizeof message) != 1 || PQflush(standby) != 0 ||
            PQconsumeInput(standby) != 1)
            fail_msg("%s", PQerrorMessage(standby));
        assert_true(harness_now_ms() < deadline_ms);
        harness_pause();
    } while (sql_number(conn, "SELECT count(*) FROM pg_replication_slots WHERE active AND xmin IS"
                              " NOT NULL") != 1);
}

static PGconn *stand_by(struct fixture *fixture)
{
    char url[512];
    char command[128];
    PGconn *standby;
    PGresult *result;

    (void)snprintf(url, sizeof url, "%s%creplication=1", harness_env("TEST_PG_URL"),
                   strchr(harness_env("TEST_PG_URL"), '?') != NULL ? '&' : '?');
    standby = PQconnectdb(url);
    if (PQstatus(standby) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(standby));
    (void)snprintf(command, sizeof command, "START_REPLICATION SLOT %s PHYSICAL %s", fixture->name,
                   sql_text(fixture->conn, "SELECT pg_current_wal_lsn()"));
    result = PQexec(standby, command);
    if (PQresultStatus(result) != PGRES_COPY_BOTH)
        fail_msg("%s", PQerrorMessage(standby));
    PQclear(result);
    hold_back(standby, fixture->conn);
    return standby;
}

FIXTURE_TEST(a_slot_that_holds_the_horizon_is_named_with_what_ends_it)
{
    struct outbox_options options;
    struct admin *admin = open_admin(fixture, &options);
    PGconn *standby;
    char words[160];

    sql(fixture->conn, "SELECT pg_create_physical_replication_slot('%s')", fixture->name);
    standby = stand_by(fixture);
    sql(fixture->conn, "SET synchronous_commit = off");
    sql(fixture->conn, "DO $$ BEGIN FOR i IN 1..100100 LOOP PERFORM txid_current(); COMMIT;"
                       " END LOOP; END $$");
    (void)snprintf(
        words, sizeof words,
        "a standby or its queries keep, through replication slot \"%s\", what was deleted"
        " in the last 1001",
        fixture->name);
    expect_holder(admin, NULL, words);
    PQfinish(standby);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM pg_replication_slots WHERE active");
    (void)snprintf(words, sizeof words,
                   "the unused replication slot \"%s\" keeps what was deleted in the last 1001",
                   fixture->name);
    expect_holder(admin, fixture->conn, words);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM pg_replication_slots");
    admin_close(admin);
}

FIXTURE_TEST(a_stream_that_keeps_nothing_needs_attention)
{
    const char *url = harness_env("TEST_NATS_URL");
    struct process relay;
    char text[512];

    (void)snprintf(text, sizeof text, "build/reader stream %s create VOID 'void.>' --interest",
                   url);
    assert_int_equal(system(text), 0);
    (void)snprintf(text, sizeof text,
                   "[sink.bus]\ntype = \"nats\"\nstream = \"VOID\"\nservers = [\"%s\"]\n", url);
    write_config(fixture, "", text);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('void.a')");
    start_relay(fixture, &relay);
    wait_for_number(fixture->conn, 1, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    json_decref(await_answer(fixture));
    expect_run(fixture, 0, "status");
    assert_says(fixture->process.out, "- sink bus acknowledges messages and stores none: its stream"
                                      " has retention \"interest\" and no consumer\n");
    end_relay(&relay);
    (void)snprintf(text, sizeof text, "build/reader stream %s delete VOID", url);
    assert_int_equal(system(text), 0);
}
