/*
 * Each column of a row holds a marker, and each kind of error quotes it. It may stand in the parked
 * table, where `dead list` and `dead show` read it, and in nothing else that the program writes.
 */
#include "integration/http.h"

#include <stdio.h>
#include <string.h>

FIXTURE(set_up_http, fixture_close)

#define MARKER "SECRETPAN"

static const char *const formats[] = {"text", "json"};

/* Of a condition that is met while values are computed. */
static const struct {
    const char *expression; /* of `secret`, a text */
    const char *condition;
} failing[] = {
    {"(secret::int)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::uuid)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::numeric)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::json)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::inet)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::public.mood)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::int4range)::text", "invalid_text_representation (SQLSTATE 22P02)"},
    {"(secret::bytea)::text", NULL},
    {"(secret::date)::text", "invalid_datetime_format (SQLSTATE 22007)"},
    {"(secret::interval)::text", "invalid_datetime_format (SQLSTATE 22007)"},
    {"((length(secret) || '9999999999999')::int)::text",
     "numeric_value_out_of_range (SQLSTATE 22003)"},
    {"(substr(secret, 6)::regclass)::text", "undefined_table (SQLSTATE 42P01)"},
    {"((substr(secret, 6) || '.x')::regclass)::text", "SQLSTATE"},
    {"(quote_ident(secret)::regrole)::text", "undefined_object (SQLSTATE 42704)"},
    {"(secret::regtype)::text", "SQLSTATE"},
    {"(substr(secret, 6)::regproc)::text", "undefined_function (SQLSTATE 42883)"},
    {"(secret::jsonpath)::text", "SQLSTATE 42601"},
    {"timezone(secret, timestamptz '2020-01-01')::text", "SQLSTATE 22023"},
    {"date_part(secret, timestamp '2020-01-01')::text", "SQLSTATE"},
    {"convert_from(decode('ff', 'hex'), secret)", "SQLSTATE"},
    {"(to_tsquery('simple', secret || ' ('))::text", "syntax_error (SQLSTATE 42601)"},
    {"substring(secret from secret || '(')", "invalid_regular_expression (SQLSTATE 2201B)"},
    {"(xpath(secret || '(', '<a/>'))::text", "SQLSTATE"},
    {"(secret::public.short)::text", "SQLSTATE"},
    {"public.complain(secret, 'P0001')", "raise_exception (SQLSTATE P0001)"},
    {"public.complain(secret, '42501')", NULL},
    {"public.complain(secret, '23514')", "check_violation (SQLSTATE 23514)"},
    {"public.complain(secret, '22000')", "data_exception (SQLSTATE 22000)"},
    {"public.complain(secret, '22ZZZ')", "data_exception (SQLSTATE 22ZZZ)"},
    {"public.complain(secret, 'ZZZZZ')", "error (SQLSTATE ZZZZZ)"},
    {"public.run_text(secret)", "SQLSTATE 42601"},
};

#define FAILING (sizeof failing / sizeof *failing)

static void make_functions(struct fixture *fixture)
{
    sql(fixture->conn,
        "SET client_min_messages = warning; SET SESSION AUTHORIZATION " HARNESS_RELAY ";"
        "CREATE TYPE mood AS ENUM ('good');"
        "CREATE DOMAIN short AS text CHECK (length(VALUE) < 3);"
        "CREATE FUNCTION complain(text, text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN"
        " RAISE WARNING 'warned of %%', $1; RAISE EXCEPTION 'said %%', $1 USING ERRCODE = $2,"
        " DETAIL = 'detail ' || $1, HINT = 'hint ' || $1, COLUMN = $1, CONSTRAINT = $1, TABLE = $1,"
        " DATATYPE = $1, SCHEMA = $1; END$$;"
        "CREATE FUNCTION run_text(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$DECLARE t text;"
        " BEGIN EXECUTE $1 INTO t; RETURN t; END$$; RESET SESSION AUTHORIZATION");
}

/* Of all rows, or of these. */
static void assert_hidden(const char *text, const char *where)
{
    if (text != NULL && strstr(text, MARKER) != NULL)
        fail_msg("%s has the marker: %s", where, text);
}

static void assert_nothing_says_it(struct fixture *fixture)
{
    static const char *const pages[] = {"/", "/status", "/metrics", "/healthz", "/readyz"};
    static const char *const commands[][2] = {
        {"status"}, {"status", "--json"}, {"check"}, {"purge", "--dry-run"}};
    struct fixture other = *fixture;

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        (void)ask("GET", pages[i]);
        assert_hidden(answer, pages[i]);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        other.process = (struct process){0};
        (void)process_run(&other.process, NULL, commands[i][0], "-c", fixture->config,
                          commands[i][1], NULL);
        assert_hidden(other.process.out, commands[i][0]);
        assert_hidden(other.process.err, commands[i][0]);
        process_free(&other.process);
    }
}

static void write_config_of(struct fixture *fixture, const char *format, const char *more)
{
    write_relay_toml(
        fixture,
        "[outbox]\nadopt = true\nslices = 4\nretention = \"1s\"\n%s\n[relay]\npoll_interval ="
        " \"20ms\"\n[log]\nformat = \"%s\"\nlevel = \"debug\"\n[http]\nlisten ="
        " \"127.0.0.1:%d\"\n[sink.out]\ntype = \"stdout\"\n",
        more, format, port);
}

static void stop_and_look(struct fixture *fixture)
{
    process_stop(&fixture->process, SIGTERM);
    assert_hidden(fixture->process.err, "the log");
}

static void open_computed(struct fixture *fixture, const char *format)
{
    static char columns[8192];
    size_t len = 0;

    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
        " outbox_parked, outbox_slice, outbox_control; CREATE TABLE outbox (id bigint"
        " GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_id uuid NOT NULL DEFAULT"
        " gen_random_uuid(), topic text NOT NULL, key text, type int, payload text,"
        " secret text, headers jsonb, created_at timestamptz NOT NULL DEFAULT now(),"
        " sent_at timestamptz)");
    len = (size_t)snprintf(columns, sizeof columns, "[outbox.columns]\ntype = \"\"\"(CASE type");
    for (size_t i = 0; i < FAILING; i++)
        len += (size_t)snprintf(columns + len, sizeof columns - len, " WHEN %zu THEN %s", i,
                                failing[i].expression);
    (void)snprintf(columns + len, sizeof columns - len, " END)\"\"\"");
    write_config_of(fixture, format, columns);
    init_existing(fixture);
}

/* Those that fail end in the parked table, each with the name of its condition, and with the words
 * for whoever may read the table. */
FIXTURE_TEST(a_value_that_makes_an_expression_fail_is_in_the_parked_table_and_nowhere_else)
{
    make_functions(fixture);
    for (size_t f = 0; f < 2; f++) {
        open_computed(fixture, formats[f]);
        sql(fixture->conn,
            "INSERT INTO outbox (topic, key, type, payload, secret, headers) SELECT 'good.' || n,"
            " 'k' || n || '" MARKER "', n, '" MARKER "', '4111 " MARKER "', jsonb_build_object("
            "'x', '" MARKER "') FROM generate_series(0, %zu) n",
            FAILING - 1);
        start(fixture);
        wait_for_number(fixture->conn, 0, UNSENT);
        await_answer("/status", 200, "PostgreSQL cannot compute the values of this row");
        assert_nothing_says_it(fixture);
        stop_and_look(fixture);
        for (size_t i = 0; i < FAILING; i++) {
            char error[1024];

            (void)snprintf(
                error, sizeof error, "%s",
                sql_text(fixture->conn, "SELECT error FROM outbox_parked WHERE id = %zu + 1", i));
            if (failing[i].condition == NULL) /* it may fail or not */
                continue;
            if (strstr(error, failing[i].condition) == NULL)
                fail_msg("%s: %s", failing[i].expression, error);
        }
        expect_run(fixture, 0, "dead", "show", "1");
        assert_says(fixture->process.out, "PostgreSQL cannot compute the values of this row:"
                                          " invalid_text_representation (SQLSTATE 22P02);"
                                          " the database: invalid input syntax for type integer:"
                                          " \"4111 " MARKER "\"");
        expect_run(fixture, 0, "dead", "list");
        assert_says(fixture->process.out, "type integer: \"4111 " MARKER "\"");
        expect_run(fixture, 0, "status");
        assert_says(fixture->process.out, "invalid_text_representation (SQLSTATE 22P02)");
    }
}

/* ---- what fails when a row is settled, parked, read, looked for or purged ---- */

#define SAYS(code, of)                                                                             \
    "RAISE WARNING '%', " of "; RAISE EXCEPTION '%', " of " USING ERRCODE = '" code "', DETAIL ="  \
    " " of ", HINT = " of ", CONSTRAINT = " of

#define TRIGGER(event, table, body)                                                                \
    "CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN " body "; END$$; CREATE"   \
    " TRIGGER tell BEFORE " event " ON " table " FOR EACH ROW EXECUTE FUNCTION tell()"

static const struct {
    const char *sql;     /* before rows come */
    const char *options; /* of [outbox] and [outbox.columns] */
    const char *topic;
    const char *says; /* the log, when it is time to look */
} failures[] = {
    {TRIGGER("UPDATE", "outbox", SAYS("P0001", "NEW.payload::text")), "", "good.a",
     "PostgreSQL refuses to settle this row: raise_exception (SQLSTATE P0001)"},
    {TRIGGER("UPDATE", "outbox", SAYS("42501", "NEW.topic || NEW.type")), "", "good.a",
     "insufficient_privilege (SQLSTATE 42501)"},
    {TRIGGER("UPDATE", "outbox", SAYS("55000", "NEW.key")), "", "good.a",
     "object_not_in_prerequisite_state (SQLSTATE 55000)"},
    {TRIGGER("UPDATE", "outbox", SAYS("57014", "NEW.type")), "", "good.a",
     "query_canceled (SQLSTATE 57014)"},
    {TRIGGER("UPDATE", "outbox", SAYS("53100", "NEW.type")), "", "good.a",
     "disk_full (SQLSTATE 53100)"},
    {TRIGGER("UPDATE", "outbox", "EXECUTE NEW.type"), "", "good.a",
     "syntax_error (SQLSTATE 42601)"},
    {TRIGGER("INSERT", "outbox_parked",
             SAYS("P0001", "coalesce(NEW.key, '" MARKER
                           "')")) "; ALTER TABLE outbox ALTER headers SET DEFAULT '{\"x\": []}'",
     "", "good.a", "raise_exception (SQLSTATE P0001)"},
    {TRIGGER("DELETE", "outbox", SAYS("23503", "OLD.payload::text")), "", "good.a",
     "foreign_key_violation (SQLSTATE 23503)"},
    {"SELECT", "due = \"(type::timestamptz)\"\n", "good.a",
     "invalid_datetime_format (SQLSTATE 22007)"},
    {"ALTER TABLE outbox ALTER created_at DROP DEFAULT, ALTER created_at TYPE text USING '" MARKER
     "', ALTER created_at SET DEFAULT '" MARKER "'",
     "", "good.a", "invalid_datetime_format (SQLSTATE 22007)"},
    {"ALTER TABLE outbox ALTER headers TYPE text; ALTER TABLE outbox ALTER headers SET DEFAULT"
     " '{\"" MARKER "'",
     "", "good.a", "headers: not a JSON object"},
    {"ALTER TABLE outbox ALTER headers SET DEFAULT '{\"" MARKER "\": [\"" MARKER "\"]}'", "",
     "good.a", "headers: a value is an object or an array"},
};

static void make_failure(struct fixture *fixture, size_t i, const char *format)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
                       " outbox_parked, outbox_slice, outbox_control; DROP FUNCTION IF EXISTS"
                       " tell()");
    write_config_of(fixture, format, "");
    expect(fixture, run_command(fixture, "init"), 0);
    sql(fixture->conn, "%s", failures[i].sql);
    write_config_of(fixture, format, failures[i].options);
    init_existing(fixture);
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload) VALUES ('%s', '" MARKER "', '" MARKER "',"
        " '\"" MARKER "\"')",
        failures[i].topic);
}

FIXTURE_TEST(a_value_that_any_other_error_quotes_is_not_said_either)
{
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        make_failure(fixture, i, formats[i % 2]);
        start(fixture);
        process_await_words(&fixture->process, failures[i].says);
        assert_nothing_says_it(fixture);
        stop_and_look(fixture);
    }
}
