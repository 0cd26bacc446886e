/*
 * A table as an application has it, with a status instead of sent_at, and its topic inside a text
 * of JSON: expressions make the message, a SET list marks the row, and each mistake of them is
 * named.
 */
#include "catalog/describe.h"
#include "catalog/session_options.h"
#include "config/config.h"
#include "integration/program.h"
#include "pg/connect.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

#define TABLE                                                                                      \
    "CREATE TABLE outbox (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"                    \
    " id uuid NOT NULL DEFAULT gen_random_uuid(), kind text, details text, body jsonb,"            \
    " status text NOT NULL DEFAULT 'NEW', sent_on timestamptz, available_at timestamptz)"

#define OUTBOX                                                                                     \
    "adopt = true\nwhere = \"status = 'NEW'\"\nmark = \"status = 'SENT', sent_on = now()\"\n"

#define COLUMNS                                                                                     \
    "[outbox.columns]\nid = \"seq\"\nevent_id = \"(kind || '-' || seq)\"\ntopic ="                  \
    " \"(outbox.details::json->>'topic')\"\nkey = \"(lower(outbox.kind))\"\ntype = \"\"\npayload =" \
    " \"(to_jsonb(outbox) - 'id')\"\nheaders = \"\"\ncreated_at = \"\"\n"

#define HEADERS                                                                                    \
    "[outbox.headers]\n\"x-source\" = \"('shop')\"\n\"x-seq\" ="                                   \
    " \"(convert_to(seq::text, 'UTF8'))\"\n\"x-kind\" = \"kind\"\n\"x-none\" = \"(NULL::text)\"\n"

static void configure_with(struct fixture *fixture, const char *outbox, const char *columns)
{
    write_relay_toml(fixture, "[outbox]\n%s%s[relay]\nlanes = 1\n" STDOUT_SINK "\n", outbox,
                     columns);
}

static void make_table(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox,"
                       " outbox_parked, outbox_slice, outbox_control");
    sql(fixture->conn, TABLE);
}

static void open_mode(struct fixture *fixture, const char *order)
{
    char outbox[512];

    make_table(fixture);
    sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS printed");
    (void)snprintf(outbox, sizeof outbox, "order = \"%s\"\n" OUTBOX, order);
    configure_with(fixture, outbox, COLUMNS HEADERS);
    init_existing(fixture);
}

FIXTURE_TEST(a_message_is_made_by_expressions_and_its_row_is_marked_by_a_list)
{
    static const char *const orders[] = {"key", "none"};

    for (int i = 0; i < 2; i++) {
        open_mode(fixture, orders[i]);
        sql(fixture->conn,
            "INSERT INTO outbox (kind, details, body) SELECT 'Order',"
            " '{\"topic\": \"orders\"}', to_jsonb(n) FROM generate_series(1, 700) n");
        drain_printed(fixture, 0);
        assert_number(fixture->conn, 700,
                      "SELECT count(DISTINCT line->>'id') FROM printed WHERE line->>'topic' ="
                      " 'orders' AND line->>'key' = 'order' AND line->>'id' = 'Order-' ||"
                      " (line->'payload'->>'seq') AND line->'payload'->>'body' ="
                      " line->'payload'->>'seq' AND line->'payload'->>'status' = 'NEW' AND NOT"
                      " line->'payload' ?| '{id,relay_row}' AND line->'headers' ="
                      " jsonb_build_object('x-source', 'shop', 'x-kind', 'Order', 'x-seq',"
                      " line->'payload'->>'seq')");
        assert_number(fixture->conn, 700,
                      "SELECT count(*) FROM outbox WHERE status ="
                      " 'SENT' AND sent_on IS NOT NULL");
        if (i == 0)
            expect(fixture, run_command(fixture, "check"), 0);
    }
}

/* Mended and retried, its values are computed anew. */
FIXTURE_TEST(a_row_whose_values_cannot_be_computed_is_kept_as_a_whole_and_harms_no_other)
{
    static const char *const orders[] = {"key", "none"};

    for (int i = 0; i < 2; i++) {
        open_mode(fixture, orders[i]);
        sql(fixture->conn,
            "INSERT INTO outbox (kind, details, body) SELECT 'k' || n, CASE WHEN n %% 50 = 7 THEN"
            " '{broken' ELSE '{\"topic\": \"orders\"}' END, to_jsonb(n)"
            " FROM generate_series(1, 500) n");
        if (i == 0) {
            expect(fixture, run_command(fixture, "check"), 0);
            assert_says(fixture->process.out,
                        "warning: a waiting row cannot be read and will be dead");
        }
        drain_printed(fixture, 1);
        assert_number(fixture->conn, 490, "SELECT count(*) FROM printed");
        assert_number(fixture->conn, 10,
                      "SELECT count(*) FROM outbox_parked WHERE state = 'dead' AND error LIKE"
                      " '%%invalid input syntax for type json%%' AND raw::json->>'details' ="
                      " '{broken' AND raw::json->'body' IS NOT NULL");
        if (i == 0) {
            expect_run(fixture, 0, "dead", "show", "7");
            assert_says(fixture->process.out, "\"details\":\"{broken\"");
            assert_says(fixture->process.out, "PostgreSQL cannot compute the values of this row: ");
            assert_says(fixture->process.out,
                        "correct the expression in the configuration, or the row"
                        " in public.outbox_parked: its column raw; then outbox-relay dead retry 7");
        }
        sql(fixture->conn, "UPDATE outbox_parked SET raw = jsonb_set(raw::jsonb, '{details}',"
                           " to_jsonb('{\"topic\": \"late\"}'::text)) WHERE id > 60");
        expect_run(fixture, 0, "dead", "retry", "--all");
        drain_printed(fixture, 1);
        assert_number(fixture->conn, 8,
                      "SELECT count(*) FROM printed WHERE line->>'topic' = 'late' AND"
                      " line->'payload'->>'body' = line->'payload'->>'seq' AND"
                      " line->'headers'->>'x-seq' = line->'payload'->>'seq'");
        assert_number(fixture->conn, 2, "SELECT count(*) FROM outbox_parked WHERE state = 'dead'");
    }
}

/* PostgreSQL says the same of a statement as of such a row. */
FIXTURE_TEST(a_row_may_fail_with_an_error_of_any_kind)
{
    static const char *const cases[][3] = {
        {"(details::regclass::text)", "pg_class", "no.such_table"},
        {"(jsonb_path_query_first(body, details::jsonpath)#>>'{}')", "$", "$.("},
        {"(date_trunc(details, timestamp '2020-01-01')::text)", "day", "timezone"},
    };
    char text[512];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *words = cases[i];

        make_table(fixture);
        sql(fixture->conn, "SET client_min_messages = warning; DROP TABLE IF EXISTS printed");
        (void)snprintf(text, sizeof text,
                       "[outbox.columns]\nid = \"seq\"\nevent_id = \"id\"\ntopic = \"%s\"\nkey ="
                       " \"kind\"\npayload = \"body\"\n",
                       words[0]);
        configure_with(fixture,
                       i % 2 == 0 ? "order = \"key\"\n" OUTBOX : "order = \"none\"\n" OUTBOX, text);
        init_existing(fixture);
        (void)snprintf(
            text, sizeof text,
            "INSERT INTO outbox (kind, details, body) SELECT 'k' || n, CASE n WHEN 5 THEN"
            " '%s' ELSE '%s' END, to_jsonb('t'::text) FROM generate_series(1, 100) n",
            words[2], words[1]);
        sql(fixture->conn, "%s", text);
        drain_printed(fixture, 1);
        assert_number(fixture->conn, 99, "SELECT count(*) FROM printed");
        assert_number(fixture->conn, 1,
                      "SELECT count(*) FROM outbox_parked WHERE id = 5"
                      " AND state = 'dead' AND raw IS NOT NULL");
    }
}

FIXTURE_TEST(a_row_that_is_kept_as_a_whole_comes_back_as_it_was)
{
    open_mode(fixture, "key");
    sql(fixture->conn,
        "ALTER TABLE outbox ADD money money DEFAULT '1.50', ADD ranges int4range DEFAULT '[1,4)',"
        " ADD letter \"char\" DEFAULT 'x', ADD numbers int[] DEFAULT '{1,NULL,3}', ADD till"
        " timestamptz DEFAULT 'infinity', ADD part float8 DEFAULT 'NaN', ADD bytes bytea DEFAULT"
        " '\\x00ff', ADD tree json DEFAULT '{\"a\":  [1, {}]}', ADD nothing text, ADD pair"
        " outbox_slice DEFAULT '(1,)', ADD \"it\"\"s, \" text DEFAULT '\"quoted\", {}'");
    sql(fixture->conn,
        "INSERT INTO outbox (kind, details, body) VALUES ('k', '{broken', '[null]');"
        " CREATE TEMPORARY TABLE before AS SELECT to_jsonb(outbox) - 'id' AS row FROM"
        " outbox");
    drain_printed(fixture, 1);
    sql(fixture->conn, "UPDATE outbox_parked SET raw = jsonb_set(raw::jsonb, '{details}',"
                       " to_jsonb('{\"topic\": \"late\"}'::text)); UPDATE before SET row ="
                       " jsonb_set(row, '{details}', to_jsonb('{\"topic\": \"late\"}'::text))");
    expect_run(fixture, 0, "dead", "retry", "--all");
    drain_printed(fixture, 0);
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM printed, before WHERE"
                  " line->'payload' = row");
}

/* The mark is of no use for them, but it is for the others. */
FIXTURE_TEST(a_mark_that_leaves_some_rows_unsent_stops_no_other)
{
    make_table(fixture);
    configure_with(fixture,
                   "adopt = true\nwhere = \"status = 'NEW'\"\nmark = \"status = CASE WHEN seq % 2 ="
                   " 1 THEN status ELSE 'SENT' END -- even\"\n",
                   COLUMNS);
    init_existing(fixture);
    sql(fixture->conn,
        "INSERT INTO outbox (kind, details) SELECT 'k' || n, '{\"topic\": \"t\"}' FROM"
        " generate_series(1, 20) n");
    expect(fixture, run_drain(fixture), 1);
    assert_number(fixture->conn, 10, "SELECT count(*) FROM outbox WHERE status = 'SENT'");
    assert_number(fixture->conn, 10,
                  "SELECT count(*) FROM outbox_parked WHERE state IN"
                  " ('refused', 'unsettled') AND error LIKE"
                  " '%%[outbox] mark%%'");
}

/* It can be neither sent nor moved. */
FIXTURE_TEST(a_row_that_cannot_be_computed_and_may_not_be_deleted_waits_and_harms_no_other)
{
    static const char *const orders[] = {"key", "none"};

    for (int i = 0; i < 2; i++) {
        open_mode(fixture, orders[i]);
        sql(fixture->conn,
            "CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE"
            " 'kept'; END $$; CREATE TRIGGER keep BEFORE DELETE ON outbox FOR EACH ROW EXECUTE"
            " FUNCTION keep()");
        sql(fixture->conn,
            "INSERT INTO outbox (kind, details, body) SELECT 'k' || n, CASE n WHEN 7 THEN '{broken'"
            " ELSE '{\"topic\": \"orders\"}' END, to_jsonb(n) FROM generate_series(1, 50) n");
        drain_printed(fixture, 1);
        assert_number(fixture->conn, 49, "SELECT count(*) FROM printed");
        assert_number(fixture->conn, 1,
                      "SELECT count(*) FROM outbox_parked WHERE id = 7"
                      " AND state = 'refused' AND error LIKE"
                      " '%%kept%%'");
        sql(fixture->conn, "DROP TRIGGER keep ON outbox");
        expect_run(fixture, 0, "dead", "retry", "7");
        drain_printed(fixture, 1);
        assert_number(fixture->conn, 1,
                      "SELECT count(*) FROM outbox_parked WHERE id = 7"
                      " AND state = 'dead' AND raw LIKE '%%broken%%'");
    }
}

FIXTURE_TEST(a_row_is_sent_when_its_time_has_come_and_those_of_its_key_behind_it)
{
    make_table(fixture);
    configure_with(fixture, OUTBOX "due = \"available_at\"\n", COLUMNS);
    init_existing(fixture);
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "relaying from");
    sql(fixture->conn,
        "INSERT INTO outbox (kind, details, available_at) SELECT 'k' || n %% 2,"
        " '{\"topic\": \"t\"}', CASE n WHEN 3 THEN now() + interval '10 s' WHEN 4 THEN"
        " '-infinity' WHEN 11 THEN 'infinity' END FROM generate_series(1, 11) n");
    wait_for_number(fixture->conn, 6, "SELECT count(*) FROM outbox WHERE status = 'SENT'");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM outbox_parked WHERE state = 'scheduled' AND"
                  " id = 3 AND abs(extract(epoch FROM not_before - due)) < 1 AND attempts = 0");
    wait_for_number(fixture->conn, 4, "SELECT count(*) FROM outbox_parked WHERE state = 'sent'");
    wait_for_number(fixture->conn, 1,
                    "SELECT count(*) FROM outbox_parked WHERE state = 'scheduled' AND id = 11");
    process_stop(&fixture->process, SIGTERM);
    load_printed(fixture, fixture->process.out);
    assert_string_equal(sql_text(fixture->conn,
                                 "SELECT string_agg(line->'payload'->>'seq', ',' ORDER BY place)"
                                 " FROM printed WHERE line->>'key' = 'k1'"),
                        "1,3,5,7,9");
    /* Row 11 and the later row of its key are meant to wait, and so count for no limit. */
    sql(fixture->conn, "INSERT INTO outbox (kind, details) VALUES ('k1', '{\"topic\": \"t\"}')");
    (void)run_drain(fixture);
    sql(fixture->conn,
        "UPDATE outbox_parked SET parked_at = now() - interval '1 day',"
        " created_at = now() - interval '1 day' WHERE state IN ('scheduled', 'behind')");
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "\nparked   2, next try ");
    assert_says(fixture->process.out, "\nscheduled  2 of them, until their time\n");
    assert_null(strstr(fixture->process.out, "behind an earlier row"));
    process_free(&fixture->process);
    expect_run(fixture, 0, "status", "--json");
    assert_says(fixture->process.out, "\"scheduled\":2,");
    expect_run(fixture, 0, "status", "--max-age", "60s", "--max-parked", "0");
}

/* ---- a topic that cannot be computed, while the sink "gone" is away: claims compute each topic,
 * to leave out its rows */

static void start_while_away(struct fixture *fixture, const char *order, const char *columns)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"%s\"\n" OUTBOX "%s[relay]\nlanes = 2\n"
                     "[sink.out]\ntype = \"stdout\"\n[sink.gone]\ntype = \"nats\"\n"
                     "servers = [\"nats://127.0.0.1:1\"]\nstream = \"GONE\"\n"
                     "[[route]]\nmatch = \"gone\"\nsink = \"gone\"\n"
                     "[[route]]\nmatch = \">\"\nsink = \"out\"\n",
                     order, columns);
    init_existing(fixture);
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "is away: its rows wait");
}

/* Of every 20 rows from `first` to `last` one cannot be computed and one is of the sink that is
 * here; all others are of the one that is away. */
static void insert_while_away(PGconn *conn, int first, int last)
{
    sql(conn,
        "INSERT INTO outbox (kind, details) SELECT 'k' || n, CASE n %% 20 WHEN 1 THEN 'no JSON' WHEN 2"
        " THEN '{\"topic\": \"t\"}' ELSE '{\"topic\": \"gone\"}' END FROM generate_series(%d, %d) n",
        first, last);
}

static void stop_while_away(struct fixture *fixture)
{
    const char *trouble;

    process_stop(&fixture->process, SIGTERM);
    trouble = strstr(fixture->process.err, "level=error msg=\"the database ");
    if (trouble != NULL)
        fail_msg("%s", trouble);
}

#define DEAD_ROWS                                                                                  \
    "SELECT count(*) FROM outbox_parked WHERE state = 'dead' AND strpos(raw, 'no JSON') > 0"
#define SENT_ROWS "SELECT count(*) FROM outbox WHERE status = 'SENT'"
#define GONE_ROWS "SELECT count(*) FROM outbox WHERE status = 'NEW' AND strpos(details, 'gone') > 0"

FIXTURE_TEST(rows_whose_topic_cannot_be_computed_are_dead_and_harm_no_other_while_a_sink_is_away)
{
    static const char *const orders[] = {"none", "key"};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        make_table(fixture);
        start_while_away(fixture, orders[i], COLUMNS);
        insert_while_away(fixture->conn, 1, 60);
        wait_for_number(fixture->conn, 3, DEAD_ROWS);
        wait_for_number(fixture->conn, 3, SENT_ROWS);
        /* Only rows of the sink that is away, and then one row of each kind. */
        insert_while_away(fixture->conn, 63, 80);
        sql(fixture->conn, "INSERT INTO outbox (kind, details) SELECT 'k', '{\"topic\": \"gone\"}'"
                           " FROM generate_series(1, 1000)");
        insert_while_away(fixture->conn, 81, 100);
        wait_for_number(fixture->conn, 4, DEAD_ROWS);
        wait_for_number(fixture->conn, 4, SENT_ROWS);
        assert_number(fixture->conn, 54 + 18 + 1000 + 18, GONE_ROWS);
        assert_number(fixture->conn, 4, "SELECT count(*) FROM outbox_parked");
        stop_while_away(fixture);
    }
}

#define LATE_ROWS                                                                                  \
    "SELECT count(*) FROM (SELECT (line->'payload'->>'seq')::int < lag((line->'payload'->>'seq')"  \
    "::int) OVER (PARTITION BY line->>'key' ORDER BY place) AS late FROM printed) sent WHERE late"

FIXTURE_TEST(rows_behind_one_whose_topic_cannot_be_computed_wait_while_a_sink_is_away)
{
    make_table(fixture);
    start_while_away(fixture, "key", COLUMNS);
    sql(fixture->conn,
        "INSERT INTO outbox (kind, details) SELECT 'k' || n %% 4, CASE WHEN n <= 100 THEN"
        " '{\"topic\": \"gone\"}' WHEN n = 102 THEN 'no JSON' ELSE '{\"topic\": \"t\"}' END FROM"
        " generate_series(1, 120) n");
    wait_for_number(fixture->conn, 1, DEAD_ROWS);
    wait_for_number(fixture->conn, 15, SENT_ROWS);
    wait_for_number(fixture->conn, 4,
                    "SELECT count(*) FROM outbox_parked WHERE state <> 'dead' AND id > 102");
    assert_number(fixture->conn, 100, GONE_ROWS);
    stop_while_away(fixture);
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, 0, LATE_ROWS);
}

/* Its topic turns out to be of the same sink. */
FIXTURE_TEST(a_row_that_cannot_be_computed_is_not_sent_before_the_earlier_rows_of_its_key)
{
    make_table(fixture);
    start_while_away(fixture, "key", COLUMNS);
    sql(fixture->conn,
        "INSERT INTO outbox (kind, details) SELECT 'k' || n %% 4, CASE WHEN n <= 100 THEN"
        " '{\"topic\": \"gone\"}' ELSE 'no JSON' END FROM generate_series(1, 103) n;"
        " INSERT INTO outbox (kind, details) VALUES ('k1', '{\"topic\": \"gone\"}')");
    wait_for_number(fixture->conn, 3, DEAD_ROWS);
    stop_while_away(fixture);
    sql(fixture->conn, "UPDATE outbox_parked SET raw = replace(raw, 'no JSON',"
                       " '{\\\"topic\\\": \\\"gone\\\"}')");
    expect_run(fixture, 0, "dead", "retry", "--all");
    assert_says(fixture->process.out, "3 rows will be tried again");
    write_relay_toml(fixture, "[outbox]\norder = \"key\"\n" OUTBOX COLUMNS
                              "[sink.gone]\ntype = \"stdout\"\n");
    expect(fixture, run_drain(fixture), 0);
    load_printed(fixture, fixture->process.out);
    assert_number(fixture->conn, 104, "SELECT count(*) FROM printed");
    assert_number(fixture->conn, 0, LATE_ROWS);
}

FIXTURE_TEST(a_row_whose_topic_cannot_be_computed_and_may_not_be_deleted_waits_while_a_sink_is_away)
{
    static const char *const orders[] = {"none", "key"};

    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        make_table(fixture);
        sql(fixture->conn,
            "CREATE OR REPLACE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE"
            " 'kept'; END $$; CREATE TRIGGER keep BEFORE DELETE ON outbox FOR EACH ROW EXECUTE"
            " FUNCTION keep()");
        start_while_away(fixture, orders[i], COLUMNS);
        insert_while_away(fixture->conn, 1, 60);
        wait_for_number(fixture->conn, 3, SENT_ROWS);
        wait_for_number(fixture->conn, 3,
                        "SELECT count(*) FROM outbox_parked WHERE state = 'refused'");
        sql(fixture->conn, "DROP TRIGGER keep ON outbox; UPDATE outbox_parked SET due = now()");
        wait_for_number(fixture->conn, 3, DEAD_ROWS);
        insert_while_away(fixture->conn, 62, 62);
        wait_for_number(fixture->conn, 4, SENT_ROWS);
        stop_while_away(fixture);
    }
}

FIXTURE_TEST(a_topic_that_cannot_be_computed_is_found_in_a_table_whose_ids_are_no_numbers)
{
    char columns[1024];

    make_table(fixture);
    sql(fixture->conn, "ALTER TABLE outbox DROP CONSTRAINT outbox_pkey, ADD PRIMARY KEY (id)");
    (void)snprintf(columns, sizeof columns, "[outbox.columns]\nid = \"id\"%s",
                   strchr(strchr(COLUMNS, '\n') + 1, '\n'));
    start_while_away(fixture, "none", columns);
    insert_while_away(fixture->conn, 1, 400);
    wait_for_number(fixture->conn, 20, DEAD_ROWS);
    wait_for_number(fixture->conn, 20, SENT_ROWS);
    stop_while_away(fixture);
}

/* ---- mistakes ---- */

/* Nothing is purged from the table, so nobody deletes from it. */
FIXTURE_TEST(the_printed_grants_suffice_for_values_that_are_computed)
{
    static const char outbox[] = OUTBOX "park = \"status = 'FAILED'\"\n";
    static const char columns[] =
        COLUMNS "[outbox.headers]\n\"x-kind\" = \"(shop.name_of(kind))\"\n";

    make_table(fixture);
    sql(fixture->conn,
        "ALTER TABLE outbox OWNER TO " HARNESS_RELAY "; CREATE SCHEMA shop; GRANT USAGE ON SCHEMA"
        " shop TO PUBLIC; CREATE FUNCTION shop.name_of(text) RETURNS text IMMUTABLE LANGUAGE"
        " plpgsql AS 'BEGIN RETURN $1; END'; REVOKE EXECUTE ON FUNCTION shop.name_of FROM PUBLIC;"
        " GRANT EXECUTE ON FUNCTION shop.name_of TO " HARNESS_RELAY);
    sql(fixture->conn,
        "DO $$BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %%1$I FROM PUBLIC;"
        " GRANT TEMPORARY ON DATABASE %%1$I TO " HARNESS_RELAY "', current_database()); END$$");
    configure_with(fixture, outbox, columns);
    init_existing(fixture);
    make_role(fixture, "mapper");
    assert_says(fixture->process.out, "GRANT TEMPORARY ON DATABASE \"");
    assert_says(fixture->process.out, "GRANT SELECT, UPDATE ON \"public\".\"outbox\" TO");
    sql(fixture->conn, "INSERT INTO outbox (kind, details) VALUES ('k', '{\"topic\": \"t\"}'),"
                       " ('k', 'is no JSON')");
    log_in_as(fixture, "mapper");
    configure_with(fixture, outbox, columns);
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out,
                "permission denied for function name_of (SQLSTATE 42501)\n  fix: outbox-relay init"
                " --grant ROLE prints what the role needs, besides USAGE on the schemas and EXECUTE"
                " on the functions of [outbox.headers] x-kind\n");
    sql(fixture->conn, "GRANT EXECUTE ON FUNCTION shop.name_of TO mapper");
    expect(fixture, run_command(fixture, "check"), 0);
    drain_printed(fixture, 1);
    assert_number(fixture->conn, 2,
                  "SELECT count(*) FROM outbox WHERE (status, seq) IN"
                  " (('SENT', 1), ('FAILED', 2))");
    sql(fixture->conn, "DROP SCHEMA shop CASCADE; DROP OWNED BY mapper; DROP ROLE mapper");
}

/* The index of `where` has the rows that were within it when they were inserted, and no others. */
FIXTURE_TEST(check_names_a_function_of_where_that_reads_the_clock)
{
    static const char *const bodies[][2] = {
        {"plpgsql AS $$BEGIN RETURN $1 IS NULL OR $1 <= Now ( ); END$$", "yes"},
        {"sql AS 'SELECT $1 < CURRENT_TIMESTAMP'", "yes"},
        {"sql AS 'SELECT $1 < make_timestamptz(2020, 1, 1, 0, 0, 0, ''UTC'') -- not_now()'", ""},
    };

    make_table(fixture);
    sql(fixture->conn, "CREATE SCHEMA shop; GRANT USAGE ON SCHEMA shop TO PUBLIC");
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        sql(fixture->conn,
            "CREATE FUNCTION shop.is_due(timestamptz) RETURNS boolean IMMUTABLE LANGUAGE %s",
            bodies[i][0]);
        configure_with(fixture,
                       "adopt = true\nwhere = \"status = 'NEW' AND shop.is_due(available_at)\"\n"
                       "mark = \"status = 'SENT', sent_on = now()\"\n",
                       COLUMNS);
        expect(fixture, run_command(fixture, "check"), 3); /* there is no index yet */
        if (bodies[i][1][0] != '\0')
            assert_says(fixture->process.out,
                        "warning: [outbox] where calls shop.is_due(timestamp with time zone),"
                        " which reads the clock: a row that is outside `where` when it is inserted"
                        " is never sent\n  fix: name the time before which a row is not sent in"
                        " [outbox] due\n");
        else
            assert_null(strstr(fixture->process.out, "the clock"));
        sql(fixture->conn, "SET client_min_messages = warning; DROP FUNCTION shop.is_due CASCADE");
    }
    sql(fixture->conn, "DROP SCHEMA shop");
}

/* What every command says of the configuration's SQL; "": nothing. One session serves for all,
 * which takes a fraction of the time of a command. */
static const char *problem_of(struct fixture *fixture, struct session *session)
{
    static struct table table;
    struct config config;
    struct config_problems problems;
    struct error error;

    memset(&table, 0, sizeof table);
    if (config_load(&config, fixture->config, &problems) == 0) {
        struct outbox_options *options = &config.relay.outbox;
        struct session_options how = outbox_session_options(options);

        if (session->conn == NULL && session_open(session, &how, "test", &error) < 0)
            fail_msg("%s", error.text);
        if (describe_table(&table, session, options, &error) < 0)
            fail_msg("%s", error.text);
    }
    config_problems_free(&problems);
    config_free(&config);
    return table.sql_problem;
}

static void refuse_each(struct fixture *fixture, const char *outbox, const char *const cases[][2],
                        size_t count)
{
    struct session session = {0};
    char columns[1024];

    make_table(fixture);
    sql(fixture->conn, "CREATE SCHEMA IF NOT EXISTS theirs; SET client_min_messages = warning;"
                       " DROP ROLE IF EXISTS stranger; CREATE ROLE stranger; CREATE OR REPLACE"
                       " FUNCTION theirs.f(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT"
                       " $1'");
    sql(fixture->conn,
        "CREATE FUNCTION theirs.same(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT"
        " $1 = $2'; ALTER FUNCTION theirs.f(text) OWNER TO stranger; CREATE OPERATOR theirs.=== ("
        "LEFTARG = text, RIGHTARG = text, FUNCTION = theirs.same); ALTER OPERATOR theirs.===(text,"
        " text) OWNER TO stranger; CREATE DOMAIN theirs.d AS text; ALTER DOMAIN theirs.d OWNER TO"
        " stranger; CREATE SCHEMA anyones; CREATE FUNCTION anyones.f(text) RETURNS text IMMUTABLE"
        " LANGUAGE sql AS 'SELECT $1'; GRANT CREATE ON SCHEMA anyones TO PUBLIC; GRANT USAGE ON"
        " SCHEMA anyones, theirs TO PUBLIC; CREATE DOMAIN theirs.day AS date;"
        " CREATE VIEW theirs.seen AS SELECT 1 AS one; GRANT SELECT ON"
        " theirs.seen TO PUBLIC");
    for (size_t i = 0; i < count; i++) {
        bool is_of_outbox = cases[i][0][0] == '>';

        (void)snprintf(columns, sizeof columns,
                       "%s\n[outbox.columns]\n%spayload = \"body\"\n%s%s%s\n",
                       is_of_outbox ? cases[i][0] + 1 : "",
                       strncmp(cases[i][0], "event_id =", 10) == 0 ? "" : "event_id = \"id\"\n",
                       strncmp(cases[i][0], "id =", 4) == 0 ? "" : "id = \"seq\"\n",
                       strncmp(cases[i][0], "topic =", 7) == 0 ? "" : "topic = \"kind\"\n",
                       is_of_outbox ? "" : cases[i][0]);
        configure_with(fixture, outbox, columns);
        if (i % 8 != 0 && strstr(problem_of(fixture, &session), cases[i][1]) != NULL)
            continue;
        assert_true(run_command(fixture, "check") != 0);
        if (strstr(fixture->process.out, cases[i][1]) == NULL &&
            strstr(fixture->process.err, cases[i][1]) == NULL)
            fail_msg("%s: \"%s\" is not said: %s%s", cases[i][0], cases[i][1], fixture->process.out,
                     fixture->process.err);
        if (i % 8 != 0) /* `run` refuses what `check` does: one of eight shows it */
            continue;
        expect(fixture, run_drain(fixture), fixture->process.status == 2 ? 2 : 3);
        assert_string_equal(fixture->process.out, "");
    }
    session_end(&session);
    sql(fixture->conn, "DROP SCHEMA theirs, anyones CASCADE; DROP ROLE stranger");
}

TEST(an_expression_that_cannot_be_used_is_refused_with_its_reason)
{
    static const char *const cases[][2] = {
        {"topic = \"(kind ||)\"", "syntax error at or near \")\""},
        {"topic = \"(kin)\"", "column \"kin\" does not exist"},
        {"topic = \"(kind), (details)\"", "[outbox.columns] topic"},
        {"topic = \"(kind) FROM outbox; DROP TABLE outbox; SELECT (1)\"",
         "cannot insert multiple commands"},
        {"topic = \"(kind) -- )\"", "[outbox.columns] topic"},
        {"topic = \"(seq)\"", "has type bigint; it must be text"},
        {"topic = \"(generate_series(1, 2)::text)\"", "set-returning functions are not allowed"},
        {"topic = \"(max(kind))\"", "aggregate functions are not allowed"},
        {"topic = \"(first_value(kind) OVER ())\"", "window functions are not allowed"},
        {"topic = \"((SELECT kind))\"", "has a subquery"},
        {"topic = \"(kind || random())\"", "calls a volatile function"},
        {"topic = \"(set_config('search_path', 'public', false))\"", "calls a volatile function"},
        {"topic = \"(ctid::text)\"", "reads a system column"},
        {"topic = \"(now()::text)\"", "calls now(): it must have the same value each time"},
        {"topic = \"(date_trunc('day', current_timestamp)::text)\"",
         "uses the current date or time"},
        {"topic = \"(current_date::text)\"", "uses the current date or time"},
        {"topic = \"(age(sent_on)::text)\"", "calls age(timestamp with time zone)"},
        {"topic = \"('now'::timestamptz::text)\"", "has the time now"},
        {"topic = \"((kind::date + ('Today'::date - date '2020-01-01'))::text)\"",
         "has the time Today"},
        {"topic = \"(lower('[now,infinity)'::tstzrange)::text)\"", "has the time now"},
        {"topic = \"(('{now}'::timestamptz[])[1]::text)\"", "has the time now"},
        {"topic = \"((string_to_array('tomorrow', ',')::date[])[1]::text)\"",
         "has the time tomorrow"},
        {"topic = \"(date_in('Yesterday'::cstring)::text)\"", "has the time Yesterday"},
        {"topic = \"(timestamptz_in(cstring 'now', 0, -1)::text)\"", "has the time now"},
        {"topic = \"($$now$$::timestamptz::text)\"", "has the time now"},
        {"topic = \"((json_populate_record(NULL::public.outbox, '{\\\"sent_on\\\": \\\"now\\\"}')).sent_on::text)\"",
         "has the time now"},
        {"topic = \"('today'::theirs.day::text)\"", "has the time today"},
        {"topic = \"(time '12:00'::timetz::text)\"", "calls timetz(time without time zone)"},
        {"topic = \"(current_user::text)\"", "uses the current role"},
        {"topic = \"(session_user::text)\"", "uses the current role"},
        {"topic = \"(pg_backend_pid()::text)\"", "calls pg_backend_pid()"},
        {"topic = \"(txid_current_if_assigned()::text)\"", "calls txid_current_if_assigned()"},
        {"topic = \"(inet_client_addr()::text)\"", "calls inet_client_addr()"},
        {"topic = \"(current_setting('TimeZone'))\"", "calls current_setting(text)"},
        {"topic = \"(CASE WHEN sent_on < localtimestamp THEN kind ELSE details END)\"",
         "uses the current date or time"},
        {"[outbox.headers]\nrelayed = \"(now()::text)\"",
         "[outbox.headers] relayed: (now()::text)"},
        {"created_at = \"(now())\"", "calls now()"},
        {"topic = \"(theirs.f(kind))\"", "whose owner \"stranger\" is neither"},
        {"topic = \"(kind::theirs.d::text)\"", "uses the type theirs.d, whose owner \"stranger\""},
        {"topic = \"((kind OPERATOR(theirs.===) 'z')::text)\"",
         "uses the operator theirs.===(text,text), whose owner \"stranger\""},
        {"topic = \"(anyones.f(kind))\"",
         "in the schema \"anyones\", where everybody may create another one"},
        {"topic = \"(left(table_to_xml('theirs.seen', true, false, '')::text, 9))\"",
         "names theirs.seen, which is another relation than the outbox"},
        {"event_id = \"(seq || '-' || now())\"", "calls now()"},
        {"topic = \"(f(kind))\"", "function f(text) does not exist"},
        {"key = \"(kind || now())\"", "calls now()"},
        {"id = \"(seq)\"", "id: must be a column"},
        {"topic = \"\"", "topic: must not be empty"},
        {"topic = \"(kind\"", "does not end with one"},
        {"[outbox.headers]\nh = \"(now())\"", "must be text or bytea"},
        {"[outbox.headers]\nh = \"nothing\"", "is missing"},
        {"[outbox.headers]\n\"\" = \"kind\"", "a header needs a name"},
        {">due = \"kind\"", "it must be timestamptz or timestamp"},
        {">mark = \"status = 'SENT' WHERE false\"", "[outbox] mark"},
        {">mark = \"status = 'SENT' RETURNING 1\"", "[outbox] mark"},
        {">mark = \"seq = 7\"", "sets a column twice, or the id or the key"},
        {">mark = \"sent_on = now(), sent_on = now()\"",
         "sets a column twice, or the id or the key"},
        {">mark = \"status = theirs.f('SENT')\"", "whose owner \"stranger\" is neither"},
        {">mark = \"status = 7, nothing = 1\"", "column \"nothing\" of relation"},
    };

    static const char *const conditions[][2] = {
        {">where = \"theirs.f(status) = 'NEW'\"",
         "[outbox] where: (theirs.f(status) = 'NEW') calls"},
        {">where = \"status OPERATOR(theirs.===) 'NEW'\"",
         "uses the operator theirs.===(text,text)"},
    };

    refuse_each(*state, "adopt = true\nwhere = \"status = 'NEW'\"\n", cases,
                sizeof cases / sizeof *cases);
    refuse_each(*state, "adopt = true\non_sent = \"delete\"\n", conditions,
                sizeof conditions / sizeof *conditions);
}

/* A whole row is read with the casts of all its columns, and a row that is kept as a whole is read
 * again with the constraints of their domains, whether the configuration names the columns or
 * not. */
FIXTURE_TEST(no_function_of_another_role_runs_by_a_column_that_nobody_named)
{
    static const struct {
        const char *column, *columns, *says;
    } cases[] = {
        {"theirs.mood", "payload = \"(to_jsonb(outbox))\"",
         "calls theirs.as_json(theirs.mood), whose owner \"stranger\" is neither"},
        {"theirs.mood", "payload = \"(row_to_json(OUTBOX.*)::jsonb)\"", "whose owner \"stranger\""},
        {"theirs.mood[]", "type = \"(md5(\\\"outbox\\\"::text))\"", "whose owner \"stranger\""},
        {"theirs.mood", "payload = \"(jsonb_build_object('k', outbox.kind))\"", NULL},
        {"theirs.checked", "topic = \"(lower(kind))\"",
         "a row that is kept as a whole calls theirs.seen(text), whose owner \"stranger\""},
        {"public.nested", "topic = \"(lower(kind))\"", "a row that is kept as a whole calls"},
        {"theirs.checked", "topic = \"kind\"", NULL},
    };

    make_table(fixture);
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP ROLE IF EXISTS stranger; CREATE ROLE stranger;"
        " CREATE SCHEMA theirs; GRANT USAGE ON SCHEMA theirs TO PUBLIC; CREATE TYPE theirs.mood AS"
        " ENUM ('good'); CREATE FUNCTION theirs.as_json(theirs.mood) RETURNS json LANGUAGE sql AS"
        " $$SELECT json_build_object('role', current_user)$$; CREATE CAST (theirs.mood AS json)"
        " WITH FUNCTION theirs.as_json; CREATE FUNCTION theirs.seen(text) RETURNS bool LANGUAGE sql"
        " AS 'SELECT true'; ALTER FUNCTION theirs.seen OWNER TO stranger; ALTER FUNCTION"
        " theirs.as_json OWNER TO stranger; CREATE DOMAIN theirs.checked AS text CHECK"
        " (theirs.seen(value)); CREATE TYPE public.nested AS (a int, b theirs.checked)");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char columns[512];

        sql(fixture->conn, "ALTER TABLE outbox ADD COLUMN nobodys %s", cases[i].column);
        (void)snprintf(columns, sizeof columns,
                       "[outbox.columns]\nid = \"seq\"\nevent_id = \"id\"\n%s%s%s\n",
                       strncmp(cases[i].columns, "topic", 5) == 0 ? "" : "topic = \"kind\"\n",
                       strncmp(cases[i].columns, "payload", 7) == 0 ? "" : "payload = \"body\"\n",
                       cases[i].columns);
        configure_with(fixture, "adopt = true\non_sent = \"delete\"\n", columns);
        (void)run_command(fixture, "check");
        if (cases[i].says != NULL)
            assert_says(fixture->process.out, cases[i].says);
        else
            assert_null(strstr(fixture->process.out, "stranger"));
        if (i == 0 || i == 4) { /* `run` refuses what `check` does: one of each kind shows it */
            expect(fixture, run_drain(fixture), 3);
            assert_says(fixture->process.err, "stranger");
        }
        sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN nobodys");
    }
    sql(fixture->conn, "DROP SCHEMA theirs CASCADE; DROP TYPE public.nested; DROP ROLE stranger");
}

/* They are STABLE, and depend on nothing that changes. */
FIXTURE_TEST(an_expression_that_only_depends_on_the_row_is_accepted)
{
    make_table(fixture);
    configure_with(
        fixture, OUTBOX,
        "[outbox.columns]\nid = \"seq\"\nevent_id = \"id\"\n"
        "topic = \"(concat(kind, '.now'))\"\n"
        "type = \"(format('%s', pg_typeof(seq)))\"\n"
        "payload = \"(jsonb_build_object('at', sent_on, 'row', to_jsonb(outbox)))\"\n"
        "created_at = \"(coalesce(sent_on, details::timestamptz, '2026-01-01 12:00'))\"\n"
        "[outbox.headers]\n\"a\" = \"(sent_on::text || to_char(sent_on, 'YYYY'))\"\n"
        "\"b\" = \"(array_to_string(ARRAY[seq, 1], ','))\"\n"
        "\"c\" = \"(to_json(details)::text || age(sent_on, available_at)::text)\"\n"
        "\"d\" = \"(CASE WHEN kind = 'today' THEN (sent_on + '1 day')::date::text END)\"\n"
        "\"f\" = \"(CASE WHEN seq = ANY (ARRAY[7, 8]) AND kind = ANY ('{a,b}') AND seq <> ALL ('{1}') THEN 'now' ELSE"
        " 'later' END || (sent_on + '1 day'))\"\n"
        "\"e\" = \"(current_database()::text || extract(epoch FROM sent_on)::text)\"\n");
    init_existing(fixture);
    expect(fixture, run_command(fixture, "check"), 0);
}

FIXTURE_TEST(a_value_does_not_depend_on_the_settings_of_the_database)
{
    make_table(fixture);
    configure_with(fixture, OUTBOX,
                   "[outbox.columns]\nid = \"seq\"\nevent_id = \"id\"\ntopic = \"kind\"\n"
                   "payload = \"body\"\n[outbox.headers]\n"
                   "\"a\" = \"(to_tsvector(details)::text || '-12.5'::numeric::money::text)\"\n");
    init_existing(fixture);
    for (int i = 0; i < 2; i++) {
        sql(fixture->conn, "INSERT INTO outbox (kind, details) VALUES ('k', 'the running dogs')");
        drain_printed(fixture, 0);
        assert_string_equal(sql_text(fixture->conn, "SELECT line->'headers'->>'a' FROM printed"),
                            "'dog':3 'run':2-$12.50");
        sql(fixture->conn,
            "DO $$BEGIN EXECUTE format('ALTER DATABASE %%I SET default_text_search_config ="
            " ''pg_catalog.simple''', current_database()); END$$; DROP TABLE printed");
    }
}

FIXTURE_TEST(init_creates_no_table_for_expressions)
{
    configure_with(fixture, OUTBOX, "[outbox.columns]\nkey = \"(lower(topic))\"\n");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_says(fixture->process.err, "init creates only the default table");
}

/* Each row would be published for ever. */
FIXTURE_TEST(a_mark_that_leaves_rows_unsent_is_found_before_anything_is_published)
{
    make_table(fixture);
    sql(fixture->conn, "INSERT INTO outbox (kind, details) VALUES ('k', '{\"topic\": \"t\"}')");
    configure_with(
        fixture, "adopt = true\nwhere = \"status = 'NEW'\"\nmark = \"sent_on = now()\"\n", COLUMNS);
    init_existing(fixture);
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "[outbox] mark: a row that it has marked is still within");
    expect_run(fixture, 3, "run");
    assert_says(fixture->process.err, "[outbox] mark: a row that it has marked is still within");
    assert_string_equal(fixture->process.out, "");
}

/* As AWS DMS and audits of DDL have one. */
FIXTURE_TEST(an_event_trigger_that_the_role_may_not_run_is_named_with_what_to_type)
{
    make_table(fixture);
    configure_with(fixture, OUTBOX, COLUMNS);
    init_existing(fixture);
    sql(fixture->conn,
        "CREATE TABLE ddl_audit (tag text); REVOKE ALL ON ddl_audit FROM " HARNESS_RELAY
        "; CREATE FUNCTION keep_ddl() RETURNS event_trigger"
        " LANGUAGE plpgsql AS $$BEGIN INSERT INTO public.ddl_audit VALUES (tg_tag); END$$;"
        "CREATE EVENT TRIGGER keep_ddl ON ddl_command_end EXECUTE FUNCTION keep_ddl()");
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, "cannot make the temporary view");
    assert_says(fixture->process.err,
                "event trigger keep_ddl, which runs at each CREATE VIEW of this database");
    assert_says(fixture->process.err, "ALTER FUNCTION public.keep_ddl() SECURITY DEFINER;");
    sql(fixture->conn, "ALTER FUNCTION public.keep_ddl() SECURITY DEFINER");
    drain_printed(fixture, 0);
    sql(fixture->conn, "DROP EVENT TRIGGER keep_ddl; DROP FUNCTION keep_ddl; DROP TABLE ddl_audit");
}
