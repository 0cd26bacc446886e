/* The built program and what order = "key" needs: the slices, their index, the ids. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static void write_config_by_key(struct fixture *fixture, const char *outbox)
{
    write_relay_toml(fixture, "[outbox]\n%s\n" STDOUT_SINK "\n", outbox);
}

static void configure_by_key(struct fixture *fixture)
{
    write_config_by_key(fixture, "");
}

static int set_up_by_key(void **state)
{
    return fixture_open(state, configure_by_key);
}

FIXTURE(set_up_by_key, fixture_close)

static void remake(struct fixture *fixture, const char *key, const char *rest)
{
    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox, outbox_slice,"
        " outbox_parked; CREATE TABLE outbox (id bigint PRIMARY KEY, event_id uuid, topic text, %s"
        " payload text, sent_at timestamptz); %s",
        key, rest);
}

static void expect_init_then_ready(struct fixture *fixture)
{
    expect(fixture, run_command(fixture, "init"), 5);
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
}

/* Such an index would cover the id alone, and would not be the one that the added column needs. */
FIXTURE_TEST(check_prints_no_index_while_a_mapped_column_is_missing)
{
    remake(fixture, "nr text,", "");
    write_config_by_key(fixture, "[outbox.columns]\nkey = \"nrr\"");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "ADD COLUMN \"nrr\" pg_catalog.text;");
    assert_null(strstr(fixture->process.out, "CREATE INDEX"));
    write_config_by_key(fixture, "[outbox.columns]\nkey = \"nr\"");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "CREATE INDEX");
}

FIXTURE_TEST(init_makes_the_slices_and_their_index_and_is_idempotent)
{
    assert_number(fixture->conn, 64,
                  "SELECT count(*) FROM outbox_slice WHERE slices = 64"
                  " AND slice BETWEEN 0 AND 63");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM pg_indexes WHERE tablename ="
                  " 'outbox' AND indexname <> 'outbox_pkey'");
    assert_says(sql_text(fixture->conn, "SELECT pg_get_indexdef('outbox_slice_idx'::regclass)"),
                "((((hashtext(COALESCE(key, (id)::text)) & 2147483647) % 64)), id)"
                " WHERE (sent_at IS NULL)");
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "ok: table \"public\".\"outbox_slice\": 64 slices");
}

FIXTURE_TEST(the_sql_that_init_prints_for_a_new_database_can_be_executed)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control, outbox_slice");
    expect_run(fixture, 0, "init", "--print");
    sql(fixture->conn, "%s", fixture->process.out);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_null(strstr(fixture->process.out, "has no index"));
}

FIXTURE_TEST(a_table_that_deletes_has_the_same_index_over_all_rows)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control, outbox_slice");
    write_config_by_key(fixture, "on_sent = \"delete\"\nslices = 7");
    expect(fixture, run_command(fixture, "init"), 0);
    assert_says(sql_text(fixture->conn, "SELECT pg_get_indexdef('outbox_slice_idx'::regclass)"),
                "% 7)), id)");
    expect(fixture, run_command(fixture, "check"), 0);
    sql(fixture->conn, "DROP INDEX outbox_slice_idx; CREATE INDEX ON outbox"
                       " (((hashtext(coalesce(key, id::text)) & 2147483647) %% 7), id)"
                       " WHERE topic <> ''");
    expect(fixture, run_command(fixture, "check"), 3);
}

/* With the index of the unsent rows, or with one over all rows. */
FIXTURE_TEST(a_table_that_was_marked_keeps_its_index_when_rows_are_deleted)
{
    static const char unsent[] = " WHERE (sent_at IS NULL)";
    char index[512];

    sql(fixture->conn, "INSERT INTO outbox (topic, key, sent_at) SELECT 't', i::text, now()"
                       " FROM generate_series(1, 100) i");
    (void)snprintf(index, sizeof index, "%s",
                   sql_text(fixture->conn, "SELECT pg_get_indexdef('outbox_slice_idx'::regclass)"));
    assert_says(index, unsent);
    write_config_by_key(fixture, "on_sent = \"delete\"");
    for (int i = 0; i < 2; i++) {
        expect(fixture, run_command(fixture, "init"), 0);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_null(strstr(fixture->process.out, "DROP INDEX"));
        expect(fixture, run_command(fixture, "status"), 0);
        assert_says(fixture->process.out, "backlog  0");
        sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('t', 'k')");
        expect_drained(fixture, 0, 1);
        assert_number(fixture->conn, 100, "SELECT count(*) FROM outbox");
        if (i == 0)
            index[strlen(index) - strlen(unsent)] = '\0';
        sql(fixture->conn, "DROP INDEX outbox_slice_idx; %s", index);
    }
}

FIXTURE_TEST(init_prints_for_a_table_that_was_marked_what_can_be_executed)
{
    write_config_by_key(fixture, "on_sent = \"delete\"");
    expect_run(fixture, 0, "init", "--print");
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control, outbox_slice");
    sql(fixture->conn, "%s", fixture->process.out);
    expect(fixture, run_command(fixture, "init"), 0);
    sql(fixture->conn, "DROP INDEX outbox_slice_idx");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out, "WHERE \"sent_at\" IS NULL;");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
}

FIXTURE_TEST(the_slices_of_every_type_of_key_are_found_again)
{
    static const char *const keys[] = {
        "key text,",    "key varchar(40),", "key uuid,", "key bytea,",
        "key char(8),", "key bigint,",      "key name,", "key numeric,",
        "key jsonb,",   "key word,",        "",
    };

    sql(fixture->conn, "CREATE DOMAIN word AS varchar(40)");

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        remake(fixture, keys[i], "");
        expect_init_then_ready(fixture);
        assert_null(strstr(fixture->process.out, "has no index"));
    }
}

FIXTURE_TEST(a_key_that_is_missing_is_added_before_its_index)
{
    remake(fixture, "", "");
    write_config_by_key(fixture, "[outbox.columns]\nkey = \"account\"");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out,
                "ADD COLUMN \"account\" pg_catalog.text;\nCREATE INDEX CONCURRENTLY"
                " \"outbox_slice_idx\" ON \"public\".\"outbox\""
                " (((pg_catalog.hashtext(COALESCE(\"account\"::pg_catalog.text,");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
}

FIXTURE_TEST(init_prints_what_a_table_made_for_order_none_lacks)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_parked, outbox_control, outbox_slice");
    write_config_by_key(fixture, "order = \"none\"");
    expect(fixture, run_command(fixture, "init"), 0);
    assert_number(fixture->conn, 0, "SELECT count(to_regclass('outbox_slice'))");
    sql(fixture->conn, "DROP INDEX outbox_parked_hashtextextended_id_idx");
    write_config_by_key(fixture, "");
    expect(fixture, run_command(fixture, "run"), 3);
    assert_says(fixture->process.err, "table \"public\".\"outbox_slice\" does not exist");
    assert_says(fixture->process.err, "outbox-relay init");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY \"outbox_slice_idx\" ON"
                                      " \"public\".\"outbox\" (((pg_catalog.hashtext(");
    assert_says(fixture->process.err,
                "CREATE INDEX ON \"public\".\"outbox_parked\""
                " (pg_catalog.hashtextextended(key::pg_catalog.text, 0), id) WHERE "
                "sent_at IS NULL AND key IS NOT NULL;\n");
    assert_number(fixture->conn, 64, "SELECT count(*) FROM outbox_slice");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "serves order = \"none\" only");
    sql(fixture->conn, "DROP INDEX CONCURRENTLY public.outbox_unsent_idx");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_null(strstr(fixture->process.out, "order = \"none\""));
}

/* Printable text stays unescaped, so that it can be pasted. */
FIXTURE_TEST(init_prints_the_slices_with_whatever_else_is_missing)
{
    static const char *const losses[] = {
        "DROP TABLE outbox_slice",
        "DROP TABLE outbox_slice; COMMENT ON TABLE outbox_control IS NULL",
        "DROP TABLE outbox_slice; DROP INDEX outbox_slice_idx",
    };

    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        sql(fixture->conn, "%s", losses[i]);
        expect_run(fixture, 0, "init", "--print");
        assert_null(strstr(fixture->process.out, "CREATE TABLE \"public\".\"outbox_parked\""));
        execute_printed(fixture);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_null(strstr(fixture->process.out, "lacks"));
    }
}

FIXTURE_TEST(check_prints_the_names_in_a_fix_escaped)
{
    sql(fixture->conn, "CREATE INDEX \"red\033[31m\" ON outbox (id) WHERE sent_at IS NULL;"
                       " CREATE INDEX \"Größe\" ON outbox (id) WHERE sent_at IS NULL");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_null(strchr(fixture->process.out, '\033'));
    assert_says(fixture->process.out, "hint: DROP INDEX CONCURRENTLY public.\"red\\x1b[31m\";");
    assert_says(fixture->process.out, "hint: DROP INDEX CONCURRENTLY public.\"Größe\";\n");
    expect_run(fixture, 0, "check", "--json");
    assert_null(strchr(fixture->process.out, '\033'));
    assert_says(fixture->process.out, "\"fix\":\"DROP INDEX CONCURRENTLY public.\\\"Größe\\\";\"");
}

FIXTURE_TEST(without_the_index_run_and_check_exit_3_and_say_how_to_make_it)
{
    static const char *const commands[] = {"run", "check"};

    sql(fixture->conn, "DROP INDEX outbox_slice_idx; CREATE INDEX outbox_slice_idx ON outbox"
                       " (((hashtext(coalesce(key, id::text)) & 2147483647) %% 32), id)"
                       " WHERE sent_at IS NULL");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *said;

        expect(fixture, run_command(fixture, commands[i]), 3);
        said = i == 0 ? fixture->process.err : fixture->process.out;
        assert_says(said, "has no index over its unsent rows by slice and \"id\"");
        assert_says(said, "CREATE INDEX CONCURRENTLY \"outbox_slice_idx_64\" ON"
                          " \"public\".\"outbox\" (((pg_catalog.hashtext(");
    }
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out, "DROP INDEX CONCURRENTLY public.outbox_slice_idx;\n");
    assert_null(strstr(fixture->process.out, "LOCK TABLE"));
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
}

/* Left by a CREATE INDEX CONCURRENTLY that failed. */
FIXTURE_TEST(an_index_that_is_not_valid_makes_room_for_another)
{
    sql(fixture->conn, "ALTER INDEX outbox_slice_idx RENAME TO outbox_slice_idx_64;"
                       " CREATE INDEX outbox_slice_idx ON outbox (topic);"
                       " UPDATE pg_index SET indisvalid = false"
                       " WHERE indexrelid = 'outbox_slice_idx_64'::regclass");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.out, "DROP INDEX CONCURRENTLY public.outbox_slice_idx_64;\n"
                                      "CREATE INDEX CONCURRENTLY \"outbox_slice_idx_64\" ON");
    assert_null(strstr(fixture->process.out, "public.outbox_slice_idx;"));
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
}

FIXTURE_TEST(another_number_of_slices_exits_3_until_the_printed_sql_has_changed_it)
{
    write_config_by_key(fixture, "slices = 32");
    expect(fixture, run_command(fixture, "run"), 3);
    assert_says(fixture->process.err, "table \"public\".\"outbox_slice\" has 64 slices, the"
                                      " configuration says 32");
    assert_says(fixture->process.err, "set [outbox] slices = 64");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "has 64 slices, the configuration says 32");
    assert_says(fixture->process.out, "has no index over its unsent rows by slice");
    expect(fixture, run_command(fixture, "init"), 5);
    assert_says(fixture->process.err, "has 64 slices, the configuration says 32");
    assert_says(fixture->process.out,
                "OPERATOR(pg_catalog.&) 2147483647) OPERATOR(pg_catalog.%) 32), \"id\") WHERE "
                "\"sent_at\" IS NULL;\n"
                "BEGIN;\n"
                "LOCK TABLE \"public\".\"outbox_slice\" IN ACCESS EXCLUSIVE MODE;\n"
                "DELETE FROM \"public\".\"outbox_slice\";\n"
                "INSERT INTO \"public\".\"outbox_slice\" SELECT slice, 32"
                " FROM pg_catalog.generate_series(0, 31) slice;\n"
                "COMMIT;\n"
                "DROP INDEX CONCURRENTLY public.outbox_slice_idx;\n");
    execute_printed(fixture);
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    write_config_by_key(fixture, "");
    expect_init_then_ready(fixture);
}

FIXTURE_TEST(slices_whose_rows_do_not_agree_are_refused)
{
    static const char *const damages[] = {
        "DELETE FROM outbox_slice WHERE slice = 5",
        "UPDATE outbox_slice SET slices = 32 WHERE slice = 5",
        "UPDATE outbox_slice SET slice = 64 WHERE slice = 5",
        "DELETE FROM outbox_slice",
    };

    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        sql(fixture->conn, "%s", damages[i]);
        expect(fixture, run_command(fixture, "run"), 3);
        assert_says(fixture->process.err, "does not have the rows of 64 slices");
        expect_init_then_ready(fixture);
    }
}

/* Their events have no lane. */
FIXTURE_TEST(a_relay_reports_slices_whose_rows_go_missing_while_it_runs)
{
    struct process relay;

    write_config_by_key(fixture, "retention = \"10s\"");
    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&relay, "the database is connected");
    sql(fixture->conn, "DELETE FROM outbox_slice WHERE slice >= 32; INSERT INTO outbox (topic, key)"
                       " SELECT 't', i::text FROM generate_series(1, 100) i");
    process_await_words(&relay, "level=error msg=\"events of some slices are not sent\"");
    process_await_words(&relay, "does not have the rows of 64 slices");
    process_await_words(&relay, "run the SQL that outbox-relay init prints");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "does not have the rows of 64 slices");
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "events of some slices are not sent");
    expect(fixture, run_command(fixture, "init"), 5);
    execute_printed(fixture);
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
    process_stop(&relay, SIGTERM);
    process_free(&relay);
}

/* The relays have the right one: their events are sent. */
FIXTURE_TEST(status_with_another_number_of_slices_reports_no_slice)
{
    write_config_by_key(fixture, "slices = 32");
    expect(fixture, run_command(fixture, "status"), 0);
    assert_null(strstr(fixture->process.out, "events of some slices are not sent"));
}

FIXTURE_TEST(an_index_of_another_number_of_slices_that_stays_is_reported)
{
    sql(fixture->conn, "CREATE INDEX old ON outbox"
                       " (((hashtext(coalesce(key, id::text)) & 2147483647) %% 32), id)"
                       " WHERE sent_at IS NULL");
    expect(fixture, run_command(fixture, "init"), 0);
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "hint: DROP INDEX CONCURRENTLY public.old;");
}

static void expect_refusal_by_each(struct fixture *fixture, const char *why, const char *remedy)
{
    static const char *const commands[] = {"init", "check", "run"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *said;

        expect(fixture, run_command(fixture, commands[i]), 3);
        said = i == 1 ? fixture->process.out : fixture->process.err;
        assert_says(said, why);
        assert_says(said, remedy);
    }
}

/* The relay's statements use these names themselves; test_statement_names.c tries all of them. */
FIXTURE_TEST(a_table_may_have_any_name)
{
    static const char *const names[] = {"claimed", "keys", "slices", "parked"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char table[64];

        (void)snprintf(table, sizeof table, "table = \"%s\"", names[i]);
        write_config_by_key(fixture, table);
        expect(fixture, run_command(fixture, "init"), 0);
        sql(fixture->conn, "INSERT INTO %s (topic, key) VALUES ('t', 'k'), ('t', NULL)", names[i]);
        expect_drained(fixture, 0, 2);
    }
}

FIXTURE_TEST(ids_that_do_not_grow_are_refused)
{
    sql(fixture->conn, "DROP TABLE outbox, outbox_slice;"
                       " CREATE TABLE outbox (id uuid PRIMARY KEY, aggregatetype text,"
                       " aggregateid text, type text, payload jsonb, sent_at timestamptz)");
    write_config_by_key(fixture, "preset = \"debezium\"\ntable = \"public.outbox\"\n"
                                 "order = \"key\"\non_sent = \"mark\"");
    expect_refusal_by_each(fixture, "column \"id\" of \"public\".\"outbox\" is uuid",
                           "write order = \"none\" in [outbox]");
    assert_number(fixture->conn, 0, "SELECT count(to_regclass('outbox_slice'))");
}

FIXTURE_TEST(a_key_whose_text_depends_on_settings_is_refused)
{
    remake(fixture, "key timestamptz,", "");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_says(fixture->process.err, "timestamp with time zone, depends on settings");
    write_config_by_key(fixture, "order = \"none\"");
    expect_init_then_ready(fixture);
}

/* Its text depends on bytea_output. */
FIXTURE_TEST(a_key_that_is_a_domain_over_bytea_is_refused)
{
    sql(fixture->conn, "CREATE DOMAIN bytes AS bytea; DROP INDEX outbox_slice_idx;"
                       " ALTER TABLE outbox ALTER key TYPE bytes USING NULL;"
                       " CREATE INDEX ON outbox (((hashtext(coalesce(key::text, id::text)) &"
                       " 2147483647) %% 64), id) WHERE sent_at IS NULL");
    expect_refusal_by_each(fixture,
                           "column \"key\" of \"public\".\"outbox\", type public.bytes, depends on",
                           "or give the column another type");
}

FIXTURE_TEST(check_warns_of_a_sequence_whose_ids_do_not_grow_in_order)
{
    static const char *const changes[][2] = {
        {"ALTER SEQUENCE outbox_id_seq CACHE 10", "outbox_id_seq"},
        {"ALTER SEQUENCE outbox_id_seq CACHE 1; CREATE SEQUENCE mine CACHE 5;"
         " ALTER TABLE outbox ALTER id DROP IDENTITY, ALTER id SET DEFAULT nextval('mine')",
         "mine"},
    };

    assert_null(strstr(fixture->process.out != NULL ? fixture->process.out : "", "CACHE"));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char fix[128];

        sql(fixture->conn, "%s", changes[i][0]);
        expect(fixture, run_command(fixture, "check"), 0);
        (void)snprintf(fix, sizeof fix, "ALTER SEQUENCE \"public\".\"%s\" INCREMENT 1 CACHE 1;",
                       changes[i][1]);
        assert_says(fixture->process.out, fix);
        sql(fixture->conn, "%s", fix);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_null(strstr(fixture->process.out, "CACHE"));
    }
}

static void become(struct fixture *fixture, const char *role)
{
    char url[256];

    (void)snprintf(url, sizeof url, "postgresql://%s%s", role, strchr(fixture->url, '@'));
    memcpy(fixture->url, url, sizeof url);
    write_config_by_key(fixture, "");
}

FIXTURE_TEST(the_printed_grants_let_a_role_lock_slices)
{
    make_role(fixture, "locker");
    assert_says(fixture->process.out, "GRANT SELECT, UPDATE (slices) ON");
    sql(fixture->conn, "SET ROLE locker");
    assert_number(fixture->conn, 1,
                  "SELECT count(*) FROM (SELECT FROM outbox_slice WHERE slice = 3"
                  " AND slices = 64 FOR UPDATE SKIP LOCKED) locked");
    sql(fixture->conn, "RESET ROLE");
    become(fixture, "locker");
    expect(fixture, run_command(fixture, "check"), 0);
    expect(fixture, run_command(fixture, "status"), 0);
    sql(fixture->conn, "REVOKE ALL ON outbox_slice FROM locker;"
                       " REVOKE UPDATE (slices) ON outbox_slice FROM locker");
    expect(fixture, run_command(fixture, "check"), 3);
    assert_says(fixture->process.out, "GRANT SELECT ON \"public\".\"outbox_slice\" TO \"locker\";");
    assert_says(fixture->process.out,
                "GRANT UPDATE (\"slices\") ON \"public\".\"outbox_slice\" TO \"locker\";");
    expect(fixture, run_command(fixture, "run"), 3);
    assert_says(fixture->process.err, "permission denied for table \"public\".\"outbox_slice\"");
    expect(fixture, run_command(fixture, "status"), 0);
    sql(fixture->conn, "DROP OWNED BY locker; DROP ROLE locker");
}

FIXTURE_TEST(what_needs_no_slices_works_without_them)
{
    sql(fixture->conn, "DROP TABLE outbox_slice; DROP INDEX outbox_slice_idx");
    expect_run(fixture, 0, "emit", "t", "k", "1");
    expect(fixture, run_command(fixture, "status"), 0);
    assert_says(fixture->process.out, "backlog  1");
    expect_run(fixture, 0, "dead", "list");
    expect(fixture, run_command(fixture, "purge"), 0);
}
