/* What somebody meets who brings a table of his own: columns, tables and schemas by other names,
 * rows that cannot be claimed, times without a zone, ids that come to an end, other settings. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

static void write_config_for(struct fixture *fixture, const char *outbox)
{
    write_relay_toml(fixture,
                     "[outbox]\nadopt = true\n%s\n[relay]\nlanes = 1\n"
                     "poll_interval = \"50ms\"\n" STDOUT_SINK "\n",
                     outbox);
}

static void assert_silent_about(const char *text, const char *what)
{
    if (text != NULL && strstr(text, what) != NULL)
        fail_msg("\"%s\" is in: %s", what, text);
}

/* ---- columns ---- */

#define COLUMNS                                                                                    \
    "event_id uuid NOT NULL DEFAULT gen_random_uuid(), topic text NOT NULL, key text,"             \
    " payload jsonb"

FIXTURE_TEST(a_column_by_another_name_is_offered_before_one_is_added)
{
    static const char *const offers[] = {
        "write id = \"event_no\" in [outbox.columns]",
        "write event_id = \"uid\" in [outbox.columns]",
        "write topic = \"subject\" in [outbox.columns]",
        "write key = \"message_key\" in [outbox.columns]",
        "write payload = \"body\" in [outbox.columns]",
        "write created_at = \"createdAt\" in [outbox.columns]",
        "write sent_at = \"published_at\" in [outbox.columns]",
    };

    sql(fixture->conn, "CREATE TABLE events (event_no bigserial PRIMARY KEY, uid uuid NOT NULL"
                       " DEFAULT gen_random_uuid(), subject text NOT NULL, message_key text,"
                       " body jsonb, \"createdAt\" timestamptz DEFAULT now(), published_at"
                       " timestamptz)");
    write_config_for(fixture, "table = \"events\"");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_string_equal(fixture->process.out, "");
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        assert_says(fixture->process.err, offers[i]);
    expect_run(fixture, 3, "init", "--print");
    assert_string_equal(fixture->process.out, "");
    expect(fixture, run_command(fixture, "check"), 3);
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        assert_says(fixture->process.out, offers[i]);
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "hint=\"write id = \"event_no\" in [outbox.columns]");

    write_config_for(fixture, "table = \"events\"\n[outbox.columns]\nid = \"event_no\"\n"
                              "event_id = \"uid\"\ntopic = \"subject\"\npayload = \"body\"\n"
                              "sent_at = \"published_at\"");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    assert_string_equal(fixture->process.out, "the tables are ready\n");
    assert_says(fixture->process.err, offers[3]); /* without a key there is no order */
    sql(fixture->conn, "INSERT INTO events (subject) VALUES ('t')");
    expect_drained(fixture, 0, 1);
    assert_says(fixture->process.err, "write key = \"message_key\" in [outbox.columns]");
}

/* Also the rows of an application that does not know the new columns. */
FIXTURE_TEST(the_rows_of_a_table_to_which_init_adds_columns_are_sent)
{
    sql(fixture->conn, "CREATE TABLE events (a text); INSERT INTO events VALUES ('1'), ('2')");
    write_config_for(fixture, "table = \"events\"\n[outbox.columns]\nkey = \"key\"\n"
                              "created_at = \"created_at\"");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "init"), 0); /* the first has created nothing */
    sql(fixture->conn, "INSERT INTO events (a) VALUES ('3')");
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 3);
    assert_says(fixture->process.out, "\"payload\":{}"); /* a tombstone would delete */
    assert_number(fixture->conn, 0, "SELECT count(*) FROM events WHERE sent_at IS NULL");
}

FIXTURE_TEST(a_row_without_an_id_is_named)
{
    const char *fix;

    sql(fixture->conn,
        "CREATE SEQUENCE ids; CREATE TABLE events (id bigint DEFAULT nextval('ids')," COLUMNS
        ", sent_at timestamptz)");
    sql(fixture->conn, "INSERT INTO events (topic) VALUES ('t');"
                       " INSERT INTO events (id, topic) VALUES (NULL, 't')");
    write_config_for(fixture, "table = \"events\"");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "1 row of \"public\".\"events\" has no id (column \"id\" is"
                                      " NULL) and is never sent");
    fix = strstr(fixture->process.out, "UPDATE \"public\".\"events\"");
    assert_non_null(fix);
    sql(fixture->conn, "%.*s", (int)strcspn(fix, "\n"), fix);
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 2);
    assert_silent_about(fixture->process.err, "may be NULL");

    sql(fixture->conn, "ALTER TABLE events ALTER COLUMN id DROP NOT NULL;"
                       " INSERT INTO events (id, topic) VALUES (NULL, 't'), (NULL, 't')");
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "2 rows of \"public\".\"events\" have no id (column \"id\" is"
                                      " NULL) and are never sent");
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "may be NULL: a row without an id is never sent");
    process_stop(&fixture->process, SIGTERM);
    expect(fixture, run_drain(fixture), 1); /* it ends, and has not sent everything */
    assert_says(fixture->process.err, "or rows without an id");
}

/* ---- names ---- */

FIXTURE_TEST(a_table_whose_name_differs_in_capitals_is_found_and_no_second_one_is_made)
{
    static const char *const cases[][3] = {
        {"\"Events\"", "public.events", "public.Events"},
        {"events", "public.Events", "public.events"},
        {"events", "Public.Events", "public.events"},
        {"events", "EVENTS", "public.events"},
        {"\"OutboxEvents\"", "outbox_events", "public.OutboxEvents"},
        {"\"Tenant\".events", "tenant.events", "Tenant.events"},
    };
    char text[128];

    sql(fixture->conn, "CREATE SCHEMA \"Tenant\"; CREATE SCHEMA tenant;"
                       " GRANT ALL ON SCHEMA \"Tenant\", tenant TO PUBLIC");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(fixture->conn, "CREATE TABLE %s (id bigint)", cases[i][0]);
        (void)snprintf(text, sizeof text, "table = \"%s\"", cases[i][1]);
        write_config_for(fixture, text);
        (void)snprintf(text, sizeof text, "write table = \"%s\" in [outbox]", cases[i][2]);
        expect(fixture, run_command(fixture, "init"), 3);
        assert_says(fixture->process.err, text);
        expect(fixture, run_command(fixture, "check"), 3);
        assert_says(fixture->process.out, text);
        assert_silent_about(fixture->process.out, "fix: outbox-relay init");
        if (i == 0) {
            expect_run(fixture, 3, "init", "--print");
            assert_string_equal(fixture->process.out, "");
            expect(fixture, run_drain(fixture), 3);
            assert_says(fixture->process.err, "does not exist, but ");
        }
        sql(fixture->conn, "DROP TABLE %s", cases[i][0]);
    }
}

FIXTURE_TEST(a_schema_that_is_not_there_and_a_table_that_is_elsewhere_are_named)
{
    static const char *const cases[][2] = {
        {"App.events", "write table = \"app.events\" in [outbox]"},
        {"App.others", "write table = \"app.others\" in [outbox]"},
        {"nosuch.others", "CREATE SCHEMA \"nosuch\"; then: outbox-relay init"},
        {"public.events", "write table = \"app.events\" in [outbox], if that table is meant"},
        {"public.\"a.b\"", "write table = 'app.\"a.b\"' in [outbox], if that table is meant"},
        {"app.\"A.B\"", "write table = 'app.\"a.b\"' in [outbox]; for a second one"},
        {"APP.others", "does not exist, but app does"},
        {"nosuch.events", "write table = \"app.events\" in [outbox], if that table is meant"},
    };
    char text[128];

    sql(fixture->conn, "CREATE SCHEMA app; GRANT USAGE ON SCHEMA app TO PUBLIC;"
                       " CREATE TABLE app.events (id bigint);"
                       " CREATE TABLE app.\"a.b\" (id bigint)");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(text, sizeof text, "table = '%s'", cases[i][0]);
        write_config_for(fixture, text);
        expect(fixture, run_command(fixture, "check"), 3);
        assert_says(fixture->process.out, cases[i][1]);
    }
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "does not exist");
    write_config_for(fixture, "table = \"events\""); /* a tenant's may be a second one */
    expect(fixture, run_command(fixture, "init"), 0);
    assert_says(fixture->process.err, "warning: there is also table app.events; if that is the");
}

FIXTURE_TEST(the_relays_own_tables_are_no_outbox)
{
    static const char *const names[] = {"outbox_parked", "outbox_slice", "outbox_control"};
    char text[64];

    write_config_for(fixture, "");
    init_existing(fixture);
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(text, sizeof text, "table = \"%s\"", names[i]);
        write_config_for(fixture, text);
        expect(fixture, run_command(fixture, "init"), 3);
        assert_says(fixture->process.err, "is no outbox: it is one that outbox-relay keeps beside");
        assert_number(fixture->conn, 0, "SELECT count(to_regclass('%s_parked'))", names[i]);
    }
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "is no outbox: it is one that outbox-relay keeps beside");
    expect(fixture, run_drain(fixture), 3);
}

/* Its name is that of the table of parked rows, and it belongs to the role of the outbox. */
FIXTURE_TEST(a_table_of_the_application_is_not_taken_for_that_of_parked_rows)
{
    sql(fixture->conn,
        "CREATE TABLE events (id bigserial PRIMARY KEY, " COLUMNS ", sent_at timestamptz);"
        "CREATE TABLE events_parked (id bigint, key text, error text, sent_at timestamptz);"
        "ALTER TABLE events OWNER TO " HARNESS_RELAY ";"
        "ALTER TABLE events_parked OWNER TO " HARNESS_RELAY);
    write_config_for(fixture, "table = \"events\"");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_says(fixture->process.err, "\"events_parked\" is not the table that outbox-relay init"
                                      " creates");
    assert_silent_about(fixture->process.err, "ADD COLUMN"); /* events was not looked at */
    assert_number(fixture->conn, 4,
                  "SELECT count(*) FROM pg_attribute WHERE attrelid ="
                  " 'events_parked'::regclass AND attnum > 0");
}

FIXTURE_TEST(a_name_has_any_characters)
{
    static const char *const names[][2] = {{"public", "my 'own' 100% $1"},
                                           {"Gr\xC3\xB6\xC3\x9F"
                                            "e-42",
                                            "1st; --"}};
    char table[128];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        sql(fixture->conn,
            "SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS \"%s\";"
            " GRANT ALL ON SCHEMA \"%s\" TO PUBLIC",
            names[i][0], names[i][0]);
        (void)snprintf(table, sizeof table,
                       "table = \"%s.%s\"\n[outbox.columns]\nid = \"the id\"\n"
                       "key = \"key-of::text\"\npayload = \"a.b\"",
                       names[i][0], names[i][1]);
        write_config_for(fixture, table);
        expect_run(fixture, 0, "init", "--notify");
        expect(fixture, run_command(fixture, "init"), 0);
        expect_run(fixture, 0, "emit", "t", "k", "{\"n\":1}");
        expect(fixture, run_command(fixture, "check"), 0);
        expect(fixture, run_drain(fixture), 0);
        assert_says(fixture->process.out, "\"key\":\"k\"");
        expect_run(fixture, 0, "replay", "--topic", "t");
        expect_drained(fixture, 0, 1);
        expect_run(fixture, 0, "purge", "--older-than", "0");
        expect(fixture, run_command(fixture, "status"), 0);
    }
}

FIXTURE_TEST(a_name_that_is_refused_says_which_character)
{
    static const char *const cases[][2] = {
        {"table = 'Out\"box'", "contains a double quote"},
        {"table = '\"Outbox'", "without its closing quote"},
        {"table = 'a.b.c'", "has more than one dot"},
        {"table = ''", "must not be empty"},
        {"table = 'public.'", "has an empty name"},
        {"table = 'public.outbox '", "begins or ends with a blank"},
        {"table = \"a\\tb\"", "contains a control character"},
        {"[outbox.columns]\nid = ''", "id: must not be empty"},
        {"[outbox.columns]\nid = 'I\"d'", "contains a double quote"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_config_for(fixture, cases[i][0]);
        expect(fixture, run_command(fixture, "check"), 2);
        assert_says(fixture->process.err, cases[i][1]);
    }
}

/* ---- times ---- */

static void make_local(struct fixture *fixture)
{
    sql(fixture->conn, "ALTER DATABASE %s SET TimeZone = 'Asia/Tokyo'", PQdb(fixture->conn));
    sql(fixture->conn,
        "SET TimeZone = 'Asia/Tokyo'; CREATE TABLE events (id bigserial PRIMARY KEY," COLUMNS
        ", created_at timestamp NOT NULL DEFAULT now(), sent_at timestamp)");
}

FIXTURE_TEST(times_without_a_zone_are_read_in_the_one_that_is_configured)
{
    make_local(fixture);
    write_config_for(fixture, "table = \"events\"\ntime_zone = \"Asia/Tokyo\"");
    init_existing(fixture);
    sql(fixture->conn, "INSERT INTO events (topic, created_at) VALUES ('t', now() - interval"
                       " '30 s')");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_silent_about(fixture->process.out, "has no time zone");
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"backlog_oldest_seconds\":3");
    expect(fixture, run_drain(fixture), 0);
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM printed, events WHERE"
                  " (line->>'created_at')::timestamptz = created_at"
                  " AND created_at > now() - interval '5 min'"
                  " AND sent_at BETWEEN created_at AND now()");
}

FIXTURE_TEST(a_zone_that_nobody_confirmed_is_said)
{
    const char *fix;

    make_local(fixture);
    write_config_for(fixture, "table = \"events\"");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "column \"created_at\" (created_at) of \"public\".\"events\""
                                      " has no time zone, and is read as UTC, but sessions of this"
                                      " database have TimeZone Asia/Tokyo");
    assert_says(fixture->process.out, "write time_zone = \"Asia/Tokyo\"");
    assert_says(fixture->process.out, "column \"sent_at\" (sent_at) of \"public\".\"events\" has no"
                                      " time zone, and is read as UTC");
    sql(fixture->conn, "ALTER TABLE events ADD COLUMN day timestamp");
    write_config_for(fixture, "table = \"events\"\ndue = \"day\"");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "column \"day\" (due) of \"public\".\"events\" has no time"
                                      " zone, and is read as UTC");
    assert_says(fixture->process.out, "when rows are sent may be wrong");
    write_config_for(fixture, "table = \"events\"\ntime_zone = \"UTC\"");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_silent_about(fixture->process.out, "has no time zone");
    sql(fixture->conn, "INSERT INTO events (topic) VALUES ('t')"); /* an hour that comes later */
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "the newest row then comes from the future");
    write_config_for(fixture, "table = \"events\"");
    expect(fixture, run_command(fixture, "check"), 0);
    fix = strstr(fixture->process.out, "ALTER TABLE \"public\".\"events\" ALTER COLUMN \"created");
    assert_non_null(fix);
    sql(fixture->conn, "%.*s", (int)strcspn(fix, "\n"), fix);
    init_existing(fixture); /* the parked table follows */
    expect(fixture, run_drain(fixture), 0);
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM printed WHERE"
                  " (line->>'created_at')::timestamptz BETWEEN now() -"
                  " interval '5 min' AND now()");
}

/* The relay's own session may have a zone too, and an application another one for its role. */
FIXTURE_TEST(a_zone_of_a_role_is_said)
{
    sql(fixture->conn, "CREATE TABLE events (id bigserial PRIMARY KEY, " COLUMNS ", created_at"
                       " timestamp(3) NOT NULL DEFAULT now(), sent_at timestamptz)");
    write_config_for(fixture, "table = \"events\"");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_silent_about(fixture->process.out, "has no time zone");
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP ROLE IF EXISTS test_restricted;"
        " CREATE ROLE test_restricted; ALTER ROLE test_restricted IN DATABASE %s SET"
        " timezone = 'Europe/London'",
        PQdb(fixture->conn)); /* UTC in winter */
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "sessions of this database have TimeZone Europe/London");
    expect(fixture, run_drain(fixture), 0);
    sql(fixture->conn, "DROP ROLE test_restricted");
    assert_says(fixture->process.err, "sessions of this database have TimeZone Europe/London");
}

FIXTURE_TEST(a_zone_that_does_not_exist_is_refused)
{
    write_config_for(fixture, "time_zone = \"Asia/Tokio\"");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "PostgreSQL does not know the time zone \"Asia/Tokio\"");
    assert_says(fixture->process.out, "for [outbox] time_zone");
}

/* ---- ids ---- */

FIXTURE_TEST(ids_that_come_to_an_end_are_said_with_what_makes_more)
{
    static const struct {
        const char *column;
        long long last;
        const char *said;
    } cases[] = {
        {"serial PRIMARY KEY", 2147483640,
         "integer with sequence \"public\".\"events_id_seq\", has 7 ids left: then every INSERT"},
        {"smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", 32767,
         "has no ids left: every INSERT fails"},
        {"int PRIMARY KEY DEFAULT nextval('public.numbers')", 2147483646, "has 1 id left"},
        {"bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 1000) PRIMARY KEY", 990, "has 10 ids left"},
        {"bigint GENERATED ALWAYS AS IDENTITY (MAXVALUE 1000 CYCLE) PRIMARY KEY", 990,
         "has 10 ids left: then they begin anew (CYCLE)"},
        {"int PRIMARY KEY", 2147483640, "integer, has 7 ids left"}, /* the application's own ids */
    };
    const char *fix;

    write_config_for(fixture, "table = \"events\"");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(fixture->conn,
            "SET client_min_messages = warning; DROP TABLE IF EXISTS events,"
            " events_parked, events_control, events_slice; DROP SEQUENCE IF EXISTS numbers; CREATE"
            " SEQUENCE numbers; CREATE TABLE events (id %s, " COLUMNS ", sent_at"
            " timestamptz)",
            cases[i].column);
        sql(fixture->conn, "ALTER SEQUENCE numbers OWNER TO " HARNESS_RELAY
                           "; ALTER TABLE events OWNER TO " HARNESS_RELAY);
        init_existing(fixture);
        if (strstr(cases[i].column, "DEFAULT") == NULL && strstr(cases[i].said, "integer,") != NULL)
            sql(fixture->conn, "INSERT INTO events (id, topic) VALUES (%lld, 't')", cases[i].last);
        else
            sql(fixture->conn,
                "SELECT setval(coalesce(pg_get_serial_sequence('events', 'id'),"
                " 'numbers'), %lld)",
                cases[i].last);
        (void)run_command(fixture, "check");
        assert_says(fixture->process.out, cases[i].said);
        fix = strstr(fixture->process.out, cases[i].said);
        fix = strstr(fix, "fix: ");
        assert_non_null(fix);
        sql(fixture->conn, "%.*s", (int)strcspn(fix + 5, "\n"), fix + 5);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_silent_about(fixture->process.out, " left: ");
    }
}

/* Its values cannot be looked at, and what is missing is said all the same. */
FIXTURE_TEST(a_role_that_may_read_neither_table_nor_sequence_is_told_so)
{
    sql(fixture->conn,
        "CREATE TABLE events (id serial PRIMARY KEY, " COLUMNS ", created_at timestamp,"
        " sent_at timestamptz)");
    write_config_for(fixture, "table = \"events\"");
    init_existing(fixture);
    sql(fixture->conn, "REVOKE ALL ON events, events_id_seq FROM " HARNESS_RELAY);
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out,
                "missing privilege: SELECT on \"public\".\"events\" for role");
    sql(fixture->conn, "GRANT ALL ON events TO " HARNESS_RELAY
                       "; INSERT INTO events (id, topic) VALUES (2147483640, 't')");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "\"public\".\"events_id_seq\", has 7 ids left");
    sql(fixture->conn, "ALTER TABLE events ENABLE ROW LEVEL SECURITY");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "row-level security hides rows of");
}

/* ---- settings ---- */

/* All of them as no relay expects them. */
FIXTURE_TEST(literals_mean_the_same_with_any_settings)
{
    static const char *const settings[] = {"standard_conforming_strings = off",
                                           "transform_null_equals = on",
                                           "array_nulls = off",
                                           "backslash_quote = off",
                                           "escape_string_warning = on",
                                           "bytea_output = 'escape'",
                                           "DateStyle = 'SQL, DMY'",
                                           "IntervalStyle = 'sql_standard'",
                                           "extra_float_digits = -15",
                                           "xmlbinary = 'hex'",
                                           "xmloption = 'document'",
                                           "quote_all_identifiers = on",
                                           "row_security = off",
                                           "default_transaction_isolation = 'serializable'",
                                           "lc_numeric = 'C'",
                                           "client_min_messages = 'error'",
                                           "TimeZone = 'Asia/Tokyo'"};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        sql(fixture->conn, "ALTER DATABASE %s SET %s", PQdb(fixture->conn), settings[i]);
    write_config_for(fixture, "table = \"events\"\n"
                              "where = '''topic ~ '^a\\.b$' AND topic <> 'c\\d' '''");
    expect_run(fixture, 0, "init", "--print");
    execute_printed(fixture); /* with the settings of the database */
    sql(fixture->conn,
        "ALTER TABLE events OWNER TO " HARNESS_RELAY "; ALTER TABLE events_parked"
        " OWNER TO " HARNESS_RELAY "; ALTER TABLE events_slice OWNER TO " HARNESS_RELAY);
    expect(fixture, run_command(fixture, "init"), 0); /* the index of that text is the one */
    assert_string_equal(fixture->process.out, "the tables are ready\n");
    sql(fixture->conn, "INSERT INTO events (topic, key, payload) VALUES ('a.b', 'k\\', '{}'),"
                       " ('axb', 'k\\', '{}')");
    expect(fixture, run_command(fixture, "check"), 0);
    expect_drained(fixture, 0, 1);
    assert_says(fixture->process.out, "\"topic\":\"a.b\",\"key\":\"k\\\\\"");
}
