/* The built program and the tables: what `init` makes and prints, what `check` finds. */
#include "integration/program.h"

#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

FIXTURE_TEST(init_is_idempotent_and_prints_what_an_existing_table_lacks)
{
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN event_id");
    sql(fixture->conn, "DROP INDEX outbox_unsent_idx");
    expect_run(fixture, 5, "init");
    assert_says(fixture->process.out,
                "ALTER TABLE \"public\".\"outbox\" ADD COLUMN \"event_id\" pg_catalog.uuid");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY");
}

FIXTURE_TEST(init_says_that_rows_without_a_sent_at_will_be_sent)
{
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN sent_at");
    expect_run(fixture, 5, "init");
    assert_says(
        fixture->process.out,
        "-- The existing rows then count as unsent and will be sent. Mark those that must not"
        " be sent in the same transaction.\n"
        "ALTER TABLE \"public\".\"outbox\" ADD COLUMN \"sent_at\" pg_catalog.timestamptz;"
        " COMMENT ON COLUMN \"public\".\"outbox\".\"sent_at\" IS"
        " 'outbox-relay: only the relay writes this column';\n");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "(sent_at) is missing in \"public\".\"outbox\":"
                                      " all existing rows will be sent");
}

/* As a release before these columns would have made it. */
static void make_parked_table_old(struct fixture *fixture)
{
    sql(fixture->conn, "ALTER TABLE outbox_parked DROP COLUMN waits_for, DROP COLUMN sent_at,"
                       " DROP COLUMN headers");
    assert_number(fixture->conn, 3,
                  "SELECT count(*) FROM pg_index WHERE indrelid ="
                  " 'outbox_parked'::regclass AND indpred IS NOT NULL");
}

FIXTURE_TEST(init_adds_what_a_parked_table_lacks)
{
    make_parked_table_old(fixture);
    expect_run(fixture, 0, "init");
    assert_says(fixture->process.out, "the tables are ready");
    assert_says(
        fixture->process.err,
        "ALTER TABLE \"public\".\"outbox_parked\" ADD COLUMN headers pg_catalog.jsonb;\n"
        "ALTER TABLE \"public\".\"outbox_parked\" ADD COLUMN waits_for pg_catalog.text;\n"
        "ALTER TABLE \"public\".\"outbox_parked\" ADD COLUMN sent_at pg_catalog.timestamptz;\n"
        "CREATE INDEX ON \"public\".\"outbox_parked\""
        " (due) WHERE sent_at IS NULL AND state OPERATOR(pg_catalog.<>) 'dead';\n"
        "CREATE INDEX ON \"public\".\"outbox_parked\""
        " (waits_for, due, seq) WHERE waits_for IS NOT NULL;\n"
        "CREATE INDEX ON \"public\".\"outbox_parked\""
        " (sent_at) WHERE sent_at IS NOT NULL;\n");
    assert_null(strstr(fixture->process.err, "(seq)"));
    expect_run(fixture, 0, "init");
    assert_null(strstr(fixture->process.err, "ALTER TABLE"));
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('')");
    expect(fixture, run_drain(fixture), 1);
    assert_number(fixture->conn, 1, "SELECT count(*) FROM outbox_parked");
}

FIXTURE_TEST(what_init_prints_for_a_parked_table_without_seq_can_be_run_in_its_order)
{
    sql(fixture->conn, "ALTER TABLE outbox_parked DROP COLUMN seq, ALTER COLUMN topic TYPE bytea"
                       " USING convert_to(topic, 'UTF8')");
    expect_run(fixture, 5, "init");
    execute_printed(fixture);
    expect_run(fixture, 0, "init");
    expect_run(fixture, 0, "check");
    assert_null(strstr(fixture->process.out, "outbox_parked"));
}

FIXTURE_TEST(check_warns_of_each_index_that_the_parked_table_lacks)
{
    sql(fixture->conn, "ALTER TABLE outbox_parked DROP COLUMN waits_for;"
                       " ALTER TABLE outbox_parked ADD COLUMN waits_for text;"
                       " CREATE INDEX ON outbox_parked (waits_for, seq, due)"
                       "  WHERE waits_for IS NOT NULL;"
                       " CREATE INDEX ON outbox_parked (waits_for, due, seq)");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out,
                "warning: table \"public\".\"outbox_parked\" has no index by waits_for, due, seq");
    assert_says(fixture->process.out,
                "  fix: CREATE INDEX CONCURRENTLY ON \"public\".\"outbox_parked\""
                " (waits_for, due, seq) WHERE waits_for IS NOT NULL;\n");
    assert_null(strstr(fixture->process.out, "no index by due"));
    assert_null(strstr(fixture->process.out, "no index by sent_at"));
    sql(fixture->conn, "CREATE INDEX CONCURRENTLY ON outbox_parked (waits_for, due, seq)"
                       " WHERE waits_for IS NOT NULL");
    expect_run(fixture, 0, "check");
    assert_null(strstr(fixture->process.out, "has no index by"));
}

FIXTURE_TEST(init_creates_a_table_whose_name_has_no_schema_on_the_search_path)
{
    sql(fixture->conn, "CREATE SCHEMA shop");
    sql(fixture->conn,
        "DO $$BEGIN EXECUTE format('ALTER DATABASE %%I SET search_path = shop, public',"
        " current_database()); END$$");
    write_config(fixture, "table = \"events\"", STDOUT_SINK);
    expect_run(fixture, 0, "init");
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "INSERT INTO shop.events (topic, payload) VALUES ('t', '1')");
    expect_drained(fixture, 0, 1);
}

FIXTURE_TEST(an_absent_optional_column_is_reported_at_the_start)
{
    const char *told;

    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN headers");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    expect(fixture, run_drain(fixture), 0);
    assert_says(fixture->process.err,
                "has no column \"headers\": its messages are sent without it");
    told = strstr(fixture->process.err, "its messages are sent without it");
    assert_null(strstr(told + 1, "its messages are sent without it")); /* not by each lane */
    assert_int_equal(count_lines(fixture->process.out), 1);
}

FIXTURE_TEST(init_makes_an_outbox_without_the_columns_that_are_empty)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    write_relay_toml(fixture, "[outbox.columns]\nkey = \"\"\ntype = \"\"\nheaders = \"\"\n"
                              "created_at = \"\"\n" STDOUT_SINK "\n");
    expect_run(fixture, 2, "init", "--order-trigger");
    assert_says(fixture->process.err, "it has no key");
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    expect_drained(fixture, 0, 1);
    sql(fixture->conn, "DROP TABLE outbox, outbox_slice, outbox_parked, outbox_control");
    write_relay_toml(fixture,
                     "[outbox]\non_sent = \"position\"\n[outbox.columns]\nkey = \"\"\n" STDOUT_SINK
                     "\n");
    expect_run(fixture, 0, "init");
    sql(fixture->conn, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    expect_drained(fixture, 0, 1);
    write_relay_toml(fixture, "[outbox.columns]\nsent_at = \"\"\n" STDOUT_SINK "\n");
    expect_run(fixture, 2, "init");
    assert_says(fixture->process.err, "sent_at: must not be empty");
}

FIXTURE_TEST(the_sql_that_init_prints_can_be_executed)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    expect_run(fixture, 0, "init", "--print");
    sql(fixture->conn, "%s", fixture->process.out);
    expect_run(fixture, 0, "check");
}

static void assert_refused(struct fixture *fixture, const char *table, const char *row)
{
    char statement[256];
    PGresult *result;

    (void)snprintf(statement, sizeof statement, "INSERT INTO %s VALUES %s", table, row);
    result = PQexec(fixture->conn, statement);
    assert_string_equal(PQresultErrorField(result, PG_DIAG_SQLSTATE), "23514");
    PQclear(result);
}

FIXTURE_TEST(the_control_table_refuses_what_cannot_be)
{
    static const char *const rows[] = {
        "('sink', 'out', NULL, NULL)",          "('paused sink', 'out', 'x', NULL)",
        "('setting', 'condition', NULL, NULL)", "('setting', 'condition', 'x', 'y')",
        "('paused key', '', NULL, NULL)",       "('paused key', E'k\npaused sink out', NULL, NULL)",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(fixture, "outbox_control (kind, name, value, reason)", rows[i]);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_control");
}

FIXTURE_TEST(the_parked_table_refuses_a_state_that_does_not_fit_the_row)
{
    static const char *const rows[] = {
        "('parked', NULL, NULL, NULL)",  "('retry', NULL, NULL, NULL)",
        "('refused', NULL, NULL, NULL)", "('unsettled', NULL, NULL, NULL)",
        "('behind', now(), NULL, NULL)", "('dead', now(), NULL, NULL)",
        "('sent', now(), NULL, now())",  "('sent', NULL, NULL, NULL)",
        "('dead', NULL, NULL, now())",   "('waiting', now(), NULL, NULL)",
        "('paused', NULL, NULL, NULL)",  "('retry', now(), 'out/t', NULL)",
        "('dead', NULL, 'out/t', NULL)",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_refused(fixture, "outbox_parked (state, due, waits_for, sent_at)", rows[i]);
    assert_number(fixture->conn, 0, "SELECT count(*) FROM outbox_parked");
}

static void become(struct fixture *fixture, const char *role)
{
    log_in_as(fixture, role);
    write_config(fixture, "", STDOUT_SINK);
}

static void become_restricted(struct fixture *fixture)
{
    make_role(fixture, "restricted");
    become(fixture, "restricted");
}

/* Each in its turn, as an operator would: one row is dead, since an empty topic cannot be routed.
 */
FIXTURE_TEST(the_printed_grants_suffice_for_every_command)
{
    static const struct {
        const char *words[3];
        int status;
    } commands[] = {
        {{"check"}, 4},
        {{"run", "--drain"}, 1},
        {{"status"}, 0},
        {{"dead", "list"}, 0},
        {{"dead", "show", "2"}, 0},
        {{"dead", "retry", "2"}, 0},
        {{"run", "--drain"}, 1},
        {{"dead", "drop", "--all"}, 0},
        {{"pause", "topic", "t"}, 0},
        {{"resume", "topic", "t"}, 0},
        {{"replay", "1"}, 0},
        {{"run", "--drain"}, 0},
        {{"purge", "--older-than", "0"}, 0},
    };

    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t'), ('')");
    become_restricted(fixture);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *const *words = commands[i].words;

        int status = strcmp(words[0], "dead") == 0
                         ? run(fixture, words[0], words[1], "-c", fixture->config, words[2])
                         : run(fixture, words[0], "-c", fixture->config, words[1], words[2]);

        if (status != commands[i].status)
            fail_msg("%s %s: status %d: %s", words[0], words[1] != NULL ? words[1] : "", status,
                     fixture->process.err);
    }
    sql(fixture->conn, "DROP OWNED BY restricted; DROP ROLE restricted");
}

FIXTURE_TEST(a_grant_that_is_missing_is_printed)
{
    become_restricted(fixture);
    sql(fixture->conn, "REVOKE ALL ON outbox, outbox_parked, outbox_control FROM restricted");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out,
                "GRANT UPDATE (\"sent_at\") ON \"public\".\"outbox\" TO \"restricted\";");
    assert_says(fixture->process.out,
                "GRANT INSERT ON \"public\".\"outbox_parked\" TO \"restricted\";");
    assert_says(fixture->process.out,
                "GRANT DELETE ON \"public\".\"outbox_control\" TO \"restricted\";");
    expect_run(fixture, 3, "run");
    expect_run(fixture, 3, "dead", "list");
    sql(fixture->conn, "DROP OWNED BY restricted; DROP ROLE restricted");
}

static void connect_as(struct fixture *fixture, const char *role, const char *more)
{
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("relay.toml",
                                "[database]\nurl = \"postgresql://%s%s\"\n%s\n[outbox]\n"
                                "order = \"none\"\n" STDOUT_SINK "\n",
                                role, strchr(fixture->url, '@'), more));
}

static void assert_does_not_relay(struct fixture *fixture)
{
    expect_run(fixture, 0, "init");
    assert_says(fixture->process.err, "warning: run will refuse to start: role");
    assert_says(fixture->process.err, "CREATE ROLE relay LOGIN");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "is a superuser, or may become one");
    assert_says(fixture->process.out,
                "fix: as a superuser: CREATE ROLE relay LOGIN; then: outbox-relay init --grant");
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "is a superuser, or may become one");
    assert_says(fixture->process.err, "allow_superuser = true in [database]");
    assert_number(fixture->conn, 1, UNSENT);
}

/* A trigger on the outbox runs as the relay's role, and may SET ROLE to any role of which that one
 * is a member. */
FIXTURE_TEST(a_superuser_relays_only_where_a_key_allows_it)
{
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    connect_as(fixture, "postgres", "");
    assert_does_not_relay(fixture);
    expect_run(fixture, 0, "init");
    expect_run(fixture, 0, "status");
    sql(fixture->conn, "GRANT postgres TO " HARNESS_RELAY);
    connect_as(fixture, HARNESS_RELAY, "");
    assert_does_not_relay(fixture);
    sql(fixture->conn, "REVOKE postgres FROM " HARNESS_RELAY);
    connect_as(fixture, "postgres", "allow_superuser = true");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "warning: role \"postgres\" is a superuser");
    expect_drained(fixture, 0, 1);
}

FIXTURE_TEST(the_role_of_docker_compose_has_what_init_grant_prints)
{
    FILE *file = fopen("config/compose/roles.sql", "r");
    char text[4096];
    size_t len;

    assert_non_null(file);
    len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    (void)fclose(file);
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control");
    write_relay_toml(fixture, STDOUT_SINK "\n");
    expect_run(fixture, 0, "init", "--order-trigger");
    expect_run(fixture, 0, "init", "--grant", "relay");
    assert_says(text, fixture->process.out);
}

FIXTURE_TEST(check_reports_a_sequence_that_the_relay_cannot_read)
{
    become_restricted(fixture);
    expect_run(fixture, 0, "check");
    assert_null(strstr(fixture->process.out, "sequence"));
    sql(fixture->conn, "REVOKE SELECT ON SEQUENCE outbox_id_seq FROM restricted");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out,
                "missing privilege: SELECT on sequence \"public\".\"outbox_id_seq\"");
    assert_says(fixture->process.out,
                "GRANT SELECT ON SEQUENCE \"public\".\"outbox_id_seq\" TO \"restricted\";");
    sql(fixture->conn, "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 2000)");
    expect_drained(fixture, 0, 2000);
    sql(fixture->conn, "DROP OWNED BY restricted; DROP ROLE restricted");
}

FIXTURE_TEST(check_reports_ids_that_come_from_no_sequence)
{
    sql(fixture->conn, "ALTER TABLE outbox ALTER id DROP IDENTITY");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "come from no sequence of the column");
    sql(fixture->conn, "INSERT INTO outbox (id, topic) SELECT i, 't' FROM generate_series(1, 2000)"
                       " i");
    expect_drained(fixture, 0, 2000);
}

static void make_roles(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS hardened, keeper;"
                       " CREATE ROLE hardened LOGIN; CREATE ROLE keeper LOGIN;"
                       " ALTER TABLE outbox OWNER TO keeper;"
                       " ALTER TABLE outbox_parked OWNER TO keeper;"
                       " ALTER TABLE outbox_control OWNER TO keeper;"
                       " ALTER SCHEMA public OWNER TO keeper");
}

static void drop_roles(struct fixture *fixture)
{
    sql(fixture->conn, "ALTER SCHEMA public OWNER TO CURRENT_USER");
    sql(fixture->conn, "DROP OWNED BY hardened, keeper; DROP ROLE hardened, keeper");
}

FIXTURE_TEST(an_owner_can_execute_the_printed_grants)
{
    make_roles(fixture);
    become(fixture, "keeper");
    expect_run(fixture, 0, "init", "--grant", "hardened");
    assert_null(strstr(fixture->process.out, "pg_control_system"));
    sql(fixture->conn, "SET ROLE keeper; %s; RESET ROLE", fixture->process.out);
    expect_run(fixture, 0, "init", "--grant", "not made yet");
    assert_null(strstr(fixture->process.out, "pg_control_system"));
    become(fixture, "hardened");
    expect_run(fixture, 0, "check");
    drop_roles(fixture);
}

FIXTURE_TEST(a_hardened_server_lets_the_relay_run_after_what_check_or_init_prints)
{
    static const char grant[] =
        "GRANT EXECUTE ON FUNCTION pg_catalog.pg_control_system() TO \"hardened\";";

    make_roles(fixture);
    sql(fixture->conn, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
    expect_run(fixture, 0, "init", "--grant", "hardened");
    assert_says(fixture->process.out, grant);
    sql(fixture->conn, "%s", fixture->process.out);
    become(fixture, "hardened");
    expect_run(fixture, 0, "check");
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM hardened");
    expect(fixture, run_drain(fixture), 3);
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "error: missing privilege: EXECUTE on");
    assert_says(fixture->process.out, grant);
    sql(fixture->conn, "%s", grant);
    expect_run(fixture, 0, "check");
    sql(fixture->conn, "GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC");
    drop_roles(fixture);
}

FIXTURE_TEST(check_reports_every_finding_with_its_fix)
{
    expect_run(fixture, 0, "check");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN sent_at");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN topic");
    sql(fixture->conn, "DROP TABLE outbox_parked, outbox_control");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "ADD COLUMN \"sent_at\" pg_catalog.timestamptz;");
    assert_says(fixture->process.out,
                "ADD COLUMN \"topic\" pg_catalog.text NOT NULL DEFAULT 'events';");
    assert_says(fixture->process.out, "table \"public\".\"outbox_parked\" not found");
    assert_says(fixture->process.out, "table \"public\".\"outbox_control\" not found");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY");
}

FIXTURE_TEST(check_wants_ids_that_are_distinct_and_not_null)
{
    sql(fixture->conn, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey,"
                       " ADD PRIMARY KEY (id, created_at)");
    expect_run(fixture, 0, "check");
    assert_says(fixture->process.out, "warning: nothing keeps the ids in column \"id\" of");
    assert_says(fixture->process.out,
                "  fix: CREATE UNIQUE INDEX CONCURRENTLY ON \"public\".\"outbox\" (\"id\");\n");
    assert_null(strstr(fixture->process.out, "may be NULL"));
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "CREATE UNIQUE INDEX CONCURRENTLY ON outbox (id)");
    expect_run(fixture, 0, "check");
    sql(fixture->conn, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey,"
                       " ALTER id DROP IDENTITY, ALTER id DROP NOT NULL");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "error: column \"id\" (id) of \"public\".\"outbox\" may be"
                                      " NULL: such a row is not sent, and may hold up others");
    assert_says(fixture->process.out,
                "  fix: ALTER TABLE \"public\".\"outbox\" ALTER COLUMN \"id\" SET NOT NULL;\n");
    assert_null(strstr(fixture->process.out, "distinct: rows"));
    sql(fixture->conn, "ALTER TABLE outbox ALTER id SET NOT NULL");
    expect_run(fixture, 0, "check");
}

static void check_of_encoding(struct fixture *fixture, const char *encoding, bool warns)
{
    char url[256];
    PGconn *coded;

    memcpy(url, fixture->url, sizeof url);
    sql(fixture->conn,
        "CREATE DATABASE %s_coded OWNER " HARNESS_RELAY
        " ENCODING '%s' TEMPLATE template0 LOCALE 'C'",
        PQdb(fixture->conn), encoding);
    (void)snprintf(fixture->url, sizeof fixture->url, "%.240s_coded", url);
    coded = harness_connect(fixture->url);
    sql(coded, "ALTER SCHEMA public OWNER TO " HARNESS_RELAY);
    PQfinish(coded);
    configure(fixture);
    expect_run(fixture, 0, "init");
    expect_run(fixture, 0, "check");
    assert_int_equal(strstr(fixture->process.out, " has the encoding ") != NULL, warns);
    sql(fixture->conn, "DROP DATABASE %s_coded WITH (FORCE)", PQdb(fixture->conn));
    memcpy(fixture->url, url, sizeof url);
}

FIXTURE_TEST(check_warns_of_an_encoding_that_utf8_may_not_hold)
{
    check_of_encoding(fixture, "UTF8", false);
    check_of_encoding(fixture, "LATIN1", false);
    check_of_encoding(fixture, "SQL_ASCII", true);
    check_of_encoding(fixture, "WIN1252", true);
    assert_says(fixture->process.out, "warning: database \"");
    assert_says(fixture->process.out, "has the encoding WIN1252: a row that holds bytes without");
}

/* The SQL that init would print could not be executed, and what it had created would be left
 * behind. */
FIXTURE_TEST(what_is_no_plain_table_is_refused_before_anything_is_made)
{
    static const char *const others[] = {
        "CREATE VIEW outbox AS SELECT * FROM events",
        "CREATE MATERIALIZED VIEW outbox AS SELECT * FROM events",
        "CREATE TABLE outbox (LIKE events) PARTITION BY LIST (topic)",
        ("CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
         " CREATE FOREIGN TABLE outbox (id bigint) SERVER s"),
    };
    static const char *const drops[] = {"VIEW", "MATERIALIZED VIEW", "TABLE", "FOREIGN TABLE"};

    sql(fixture->conn,
        "ALTER TABLE outbox RENAME TO events; DROP TABLE outbox_parked, outbox_control");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        sql(fixture->conn, "%s", others[i]);
        expect_run(fixture, 3, "init");
        assert_says(fixture->process.err, "\"public\".\"outbox\" is not a plain table: ");
        assert_string_equal(fixture->process.out, "");
        expect_run(fixture, 3, "init", "--print");
        assert_string_equal(fixture->process.out, "");
        assert_number(fixture->conn, 0,
                      "SELECT count(*) FROM pg_class WHERE relname IN"
                      " ('outbox_parked', 'outbox_control', 'outbox_slice')");
        expect_run(fixture, 3, "check");
        assert_says(fixture->process.out, "error: \"public\".\"outbox\" is not a plain table");
        assert_null(strstr(fixture->process.out, "CREATE"));
        sql(fixture->conn, "DROP %s outbox", drops[i]);
    }
    sql(fixture->conn, "DROP FOREIGN DATA WRAPPER w CASCADE");
}

FIXTURE_TEST(check_routes_waiting_rows_by_their_key_too)
{
    write_config(fixture, "",
                 STDOUT_SINK "\n[[route]]\nmatch = \">\"\nsink = \"out\"\n"
                             "topic = \"{topic}.{key}\"");
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('order', 'eu')");
    expect_run(fixture, 0, "check");
    assert_null(strstr(fixture->process.out, "error:"));
    assert_says(fixture->process.out, "\"order.eu\"");
}

FIXTURE_TEST(check_prints_the_topic_of_a_waiting_row_escaped)
{
    write_config(fixture, "", STDOUT_SINK "\n[[route]]\nmatch = \"good.*\"\nsink = \"out\"");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES (E'a\\nb\\033[31m'),"
                       " (E'good.a\\nb\\033[31m')");
    (void)run(fixture, "check", "-c", fixture->config);
    assert_says(fixture->process.out, "a\\nb\\x1b[31m");
    assert_says(fixture->process.out, "good.a\\nb\\x1b[31m");
    assert_null(strchr(fixture->process.out, '\033'));
    assert_null(strstr(fixture->process.out, "a\nb"));
}
