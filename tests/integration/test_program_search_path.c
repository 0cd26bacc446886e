/*
 * A role plants its own functions, operators, types and views in a schema that stands in the
 * search_path before pg_catalog, one for each that PostgreSQL has. Each counts its calls. No
 * command of the relay, and no SQL that it prints, may call one.
 */
#include "integration/program.h"

FIXTURE(set_up, fixture_close)

/* The counter is a sequence, so that a call in a transaction that fails is counted too. */
static const char counter[] =
    "CREATE SCHEMA evil; CREATE SEQUENCE evil.calls;"
    "CREATE TABLE evil.callers (who text, what text);"
    "CREATE FUNCTION evil.called(what pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$"
    "BEGIN PERFORM pg_catalog.nextval('evil.calls');"
    " RAISE WARNING 'planted % runs as %', what, current_user;"
    " IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=)"
    "     current_user::pg_catalog.name) THEN INSERT INTO evil.callers VALUES (current_user, what);"
    " END IF; RETURN true; END$$";

/* Each function of pg_catalog with ordinary arguments, by the same name: it counts, then does what
 * the true one does. */
static const char functions[] =
    "DO $$DECLARE f record; BEGIN FOR f IN SELECT p.proname, p.oid, p.prorettype::regtype AS "
    "result,"
    " p.proretset, ARRAY(SELECT t::regtype FROM unnest(p.proargtypes) t) AS types,"
    " (SELECT string_agg('$' || i, ', ') FROM generate_series(1, p.pronargs) i) AS args"
    " FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f'"
    " AND p.provariadic = 0 AND p.proallargtypes IS NULL AND NOT p.proretset"
    " AND NOT EXISTS (SELECT FROM unnest(p.proargtypes || p.prorettype) t JOIN pg_type y ON y.oid "
    "= t"
    "                 WHERE y.typtype = 'p')"
    " LOOP EXECUTE format('CREATE FUNCTION evil.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', "
    "f.proname,"
    " array_to_string(f.types, ', '), f.result, format("
    " 'BEGIN PERFORM evil.called(%L); RETURN pg_catalog.%I(%s); END', f.proname, f.proname, "
    "f.args));"
    " END LOOP; END$$";

/* Functions for which no copy can be made: variadic ones, polymorphic results, and the like. */
static const char more_functions[] =
    "CREATE FUNCTION evil.format(text, VARIADIC text[]) RETURNS text LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM evil.called('format'); RETURN pg_catalog.format($1, VARIADIC $2); END$$;"
    "CREATE FUNCTION evil.generate_series(int, int) RETURNS SETOF int LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM evil.called('generate_series'); RETURN QUERY SELECT i"
    " FROM pg_catalog.generate_series($1, $2) i; END$$;"
    "CREATE FUNCTION evil.concat(text, oid) RETURNS text LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM evil.called('concat'); RETURN pg_catalog.concat($1, $2); END$$;"
    "CREATE FUNCTION evil.cardinality(anyarray) RETURNS int LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM evil.called('cardinality'); RETURN pg_catalog.cardinality($1); END$$;"
    "CREATE FUNCTION evil.array_to_string(anyarray, text) RETURNS text LANGUAGE plpgsql AS"
    " $$BEGIN PERFORM evil.called('array_to_string');"
    " RETURN pg_catalog.array_to_string($1, $2); END$$";

/* Each binary operator of pg_catalog, with the types that it has there, and those for which
 * PostgreSQL has none and would convert one side: an exact match comes first, wherever it is. */
static const char operators[] =
    "DO $$DECLARE o record; n int := 0; BEGIN"
    " CREATE FUNCTION evil.compare(l text, r text, op text) RETURNS boolean LANGUAGE plpgsql AS"
    "  'DECLARE b boolean; BEGIN PERFORM evil.called(op); EXECUTE pg_catalog.format("
    "   ''SELECT $1 OPERATOR(pg_catalog.%s) $2'', op) INTO b USING l, r; RETURN b; END';"
    " FOR o IN SELECT oprname, oprleft::regtype AS l, oprright::regtype AS r, oprresult::regtype "
    "AS res"
    " FROM pg_operator WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b'"
    " AND NOT EXISTS (SELECT FROM pg_type y WHERE y.oid IN (oprleft, oprright, oprresult)"
    "                 AND y.typtype = 'p')"
    " LOOP n := n + 1; EXECUTE format('CREATE FUNCTION evil.op_%s(%s, %s) RETURNS %s LANGUAGE "
    "plpgsql AS"
    " %L', n, o.l, o.r, o.res, format('BEGIN PERFORM evil.called(%L); RETURN $1 "
    "OPERATOR(pg_catalog.%s) $2;"
    " END', o.oprname, o.oprname));"
    " EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = "
    "evil.op_%s)',"
    " o.oprname, o.l, o.r, n); END LOOP;"
    " FOR o IN SELECT op, l, r FROM unnest(ARRAY['=', '<>', '~', '<', '<=', '>', '>=']) op,"
    "  unnest(ARRAY['oid', 'regclass', 'text', 'name', '\"char\"', 'regtype', 'varchar', 'int4',"
    "  'int8']::regtype[]) l, unnest(ARRAY['oid', 'regclass', 'text', 'name', '\"char\"', "
    "'regtype',"
    "  'varchar', 'int4', 'int8']::regtype[]) r WHERE NOT EXISTS (SELECT FROM pg_operator p"
    "  WHERE p.oprname = op AND p.oprleft = l AND p.oprright = r)"
    " LOOP n := n + 1; EXECUTE format('CREATE FUNCTION evil.op_%s(%s, %s) RETURNS boolean LANGUAGE "
    "plpgsql"
    " AS %L', n, o.l, o.r, format('BEGIN RETURN evil.compare($1::text, $2::text, %L); END', o.op));"
    " EXECUTE format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = "
    "evil.op_%s)',"
    " o.op, o.l, o.r, n); END LOOP; END$$";

/* Domains by the names of types, each with a check that counts and a cast, and views by the names
 * of the catalog. */
static const char types_and_views[] =
    "DO $$DECLARE t record; BEGIN FOR t IN SELECT unnest(ARRAY['text', 'uuid', 'jsonb', "
    "'timestamptz',"
    " 'int8', 'int4', 'bool', 'name', 'oid', 'regclass', 'xid8', 'bytea', 'varchar', 'numeric']) "
    "AS name"
    " LOOP EXECUTE format('CREATE DOMAIN evil.%I AS pg_catalog.%I CHECK (evil.called(%L))', t.name,"
    " t.name, 'type ' || t.name); END LOOP;"
    " FOR t IN SELECT relname AS name, string_agg(quote_ident(attname), ', ') AS columns"
    " FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0"
    " WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v')"
    " AND relname !~ '^pg_stat(istic|s)' AND atttypid <> 'anyarray'::regtype GROUP BY 1"
    " LOOP EXECUTE format('CREATE VIEW evil.%I AS SELECT %s FROM pg_catalog.%I"
    " WHERE evil.called(%L)', t.name, t.columns, t.name, 'view ' || t.name);"
    " END LOOP; END$$";

static void plant(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = error");
    sql(fixture->conn, "%s", counter);
    sql(fixture->conn, "%s", functions);
    sql(fixture->conn, "%s", more_functions);
    sql(fixture->conn, "%s", operators);
    sql(fixture->conn, "%s", types_and_views);
    sql(fixture->conn,
        "GRANT USAGE ON SCHEMA evil TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA evil TO PUBLIC;"
        "GRANT ALL ON ALL SEQUENCES IN SCHEMA evil TO PUBLIC");
    sql(fixture->conn, "ALTER DATABASE %s SET search_path = public, evil, pg_catalog",
        PQdb(fixture->conn));
}

static long long calls(struct fixture *fixture)
{
    return sql_number(fixture->conn, "SELECT CASE WHEN is_called THEN last_value ELSE 0 END"
                                     " FROM evil.calls");
}

static void nothing_was_called(struct fixture *fixture, const char *after)
{
    if (calls(fixture) != 0)
        fail_msg("%s called what was planted, %lld times: %s", after, calls(fixture),
                 fixture->process.err != NULL ? fixture->process.err : "");
}

/* Printed SQL is executed as a DBA would, with the search_path of the database. */
static void run_printed(struct fixture *fixture)
{
    PGconn *dba = harness_connect(fixture->url);

    sql(dba, "%s", fixture->process.out);
    PQfinish(dba);
}

/* The commands that write refuse a superuser unless `allowed` says otherwise. */
static void as(struct fixture *fixture, const char *role, const char *allowed, const char *outbox,
               char config[256])
{
    char url[320];

    (void)snprintf(url, sizeof url, "%s?user=%s", fixture->url, role);
    (void)snprintf(config, 256, "%s",
                   harness_file(role,
                                "[database]\nurl = \"%s\"\n%s\n[outbox]\n%s\n%s\nallow = [\"t\"]\n",
                                url, allowed, outbox, STDOUT_SINK));
}

FIXTURE_TEST(no_command_calls_what_is_planted_in_the_search_path)
{
    static const char *const outboxes[] = {
        "table = \"outbox\"", "table = \"public.outbox\"",
        "table = \"outbox\"\norder = \"none\"\non_sent = \"delete\"",
        "table = \"outbox\"\nwhere = \"topic <> 'private' AND id > 0\""};
    char dba[256];
    char relay[256];

    plant(fixture);
    sql(fixture->conn, "DROP ROLE IF EXISTS test_restricted; CREATE ROLE test_restricted LOGIN");
    for (size_t i = 0; i < sizeof outboxes / sizeof *outboxes; i++) {
        as(fixture, "postgres", "allow_superuser = true", outboxes[i], dba);
        as(fixture, "test_restricted", "", outboxes[i], relay);
        sql(fixture->conn,
            "DROP TABLE IF EXISTS public.outbox, public.outbox_parked, public.outbox_control,"
            " public.outbox_slice CASCADE");
        expect(fixture, run(fixture, "init", "--print", "--notify", "-c", dba), 0);
        nothing_was_called(fixture, "init --print");
        run_printed(fixture);
        nothing_was_called(fixture, "what init --print prints");
        sql(fixture->conn,
            "DROP TABLE public.outbox, public.outbox_parked, public.outbox_control CASCADE");
        sql(fixture->conn, "DROP TABLE IF EXISTS public.outbox_slice");
        expect(fixture, run(fixture, "init", "--notify", "-c", dba), 0);
        nothing_was_called(fixture, "init");
        expect(fixture, run(fixture, "init", "--grant", "test_restricted", "-c", dba), 0);
        run_printed(fixture);
        nothing_was_called(fixture, "what init --grant prints");
        expect(fixture, run(fixture, "emit", "t", "k", "{\"a\":1}", "-c", dba), 0);
        expect(fixture, run(fixture, "emit", "dead", "a b", "{\"a\":1}", "-c", dba), 0);
        process_free(&fixture->process);
        expect(fixture,
               process_run(&fixture->process,
                           "{\"topic\":\"t\",\"key\":\"k\",\"payload\":{\"a\":1}}\n", "emit", "-c",
                           dba, NULL),
               0);
        nothing_was_called(fixture, "emit");
        (void)run(fixture, "check", "-c", dba);
        nothing_was_called(fixture, "check as the owner");
        expect(fixture, run(fixture, "check", "-c", relay),
               4); /* the dead one has no destination */
        expect(fixture, run(fixture, "status", "-c", relay), 0);
        nothing_was_called(fixture, "check and status");
        (void)run(fixture, "run", "--drain", "-c", relay);
        assert_int_equal(count_lines(fixture->process.out), 2);
        nothing_was_called(fixture, "run --drain");
        expect(fixture, run(fixture, "dead", "list", "-c", relay), 0);
        expect(fixture, run(fixture, "dead", "show", "2", "-c", relay), 0);
        expect(fixture, run(fixture, "dead", "retry", "2", "-c", relay), 0);
        expect(fixture, run(fixture, "dead", "drop", "2", "-c", relay), 0);
        nothing_was_called(fixture, "dead");
        (void)run(fixture, "purge", "--older-than", "1ms", "-c", relay);
        nothing_was_called(fixture, "purge");
        expect(fixture, run(fixture, "status", "--json", "-c", relay), 0);
        nothing_was_called(fixture, "status");
    }
}

/* The SQL of the lines that begin so, as a DBA pastes it; returns how many lines there were. */
static int paste(struct fixture *fixture, const char *prefix)
{
    PGconn *psql = harness_connect(fixture->url);
    int pasted = 0;
    char *line;

    for (char *rest = fixture->process.out; (line = strsep(&rest, "\n")) != NULL;) {
        const char *text = line + strlen(prefix);

        if (strncmp(line, prefix, strlen(prefix)) != 0 || text[0] < 'A' || text[0] > 'Z')
            continue;
        sql(psql, "%s", text);
        pasted++;
    }
    PQfinish(psql);
    return pasted;
}

/* Each of them breaks something, and `check` or `init` prints what mends it. */
FIXTURE_TEST(no_sql_that_mends_a_table_calls_what_is_planted)
{
    static const char *const breaks[] = {
        "ALTER TABLE public.outbox DROP COLUMN sent_at CASCADE",
        "DROP INDEX public.outbox_slice_idx",
        "DELETE FROM public.outbox_slice WHERE slice > 3; UPDATE public.outbox_slice SET slices = "
        "4",
        "ALTER TABLE public.outbox_parked DROP COLUMN waits_for CASCADE",
        "ALTER TABLE public.outbox_parked DROP COLUMN parked_at, DROP COLUMN due CASCADE",
        "ALTER TABLE public.outbox_parked ALTER topic TYPE bytea USING NULL, ALTER payload TYPE "
        "text,"
        " ALTER key TYPE varchar(3)",
        "ALTER TABLE public.outbox ALTER id DROP IDENTITY; ALTER TABLE public.outbox DROP "
        "CONSTRAINT"
        " outbox_pkey; ALTER TABLE public.outbox ALTER id DROP NOT NULL"};
    char dba[256];

    plant(fixture);
    as(fixture, "postgres", "", "table = \"outbox\"", dba);
    sql(fixture->conn,
        "DROP TABLE public.outbox, public.outbox_parked, public.outbox_control CASCADE");
    expect(fixture, run(fixture, "init", "-c", dba), 0);
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        int pasted = 0;

        sql(fixture->conn, "%s", breaks[i]);
        for (int round = 0; round < 3; round++) {
            (void)run(fixture, "check", "-c", dba);
            pasted += paste(fixture, "  fix: ") + paste(fixture, "  hint: ");
            (void)run(fixture, "init", "-c", dba);
            pasted += paste(fixture, "");
        }
        nothing_was_called(fixture, breaks[i]);
        expect(fixture, run(fixture, "init", "-c", dba), 0);
        assert_in_range(pasted, 1, 12);
    }
}

FIXTURE_TEST(a_view_in_the_place_of_a_table_of_the_relay_is_not_read)
{
    char dba[256];

    sql(fixture->conn, "%s", counter);
    as(fixture, "postgres", "", "table = \"public.outbox\"", dba);
    sql(fixture->conn, "CREATE VIEW outbox_slice AS SELECT 0 AS slice, 64 AS slices"
                       " WHERE evil.called('view')");
    expect(fixture, run(fixture, "init", "-c", dba), 3);
    assert_says(fixture->process.err, "\"public\".\"outbox_slice\" is not the table that");
    expect(fixture, run(fixture, "check", "-c", dba), 3);
    assert_int_equal(calls(fixture), 0);
    sql(fixture->conn, "DROP VIEW outbox_slice; CREATE DOMAIN evil.number AS int;"
                       "CREATE TABLE outbox_slice (slice evil.number, slices evil.number)");
    expect(fixture, run(fixture, "init", "-c", dba), 3);
    assert_says(fixture->process.err, "\"public\".\"outbox_slice\" is not the table that");
    sql(fixture->conn, "DROP TABLE outbox_slice; ALTER TABLE outbox_control RENAME TO control;"
                       " CREATE VIEW outbox_control AS SELECT * FROM control WHERE"
                       " evil.called('view')");
    expect(fixture, run(fixture, "check", "-c", dba), 3);
    assert_says(fixture->process.out, "\"public\".\"outbox_control\" is not the table that");
    assert_int_equal(calls(fixture), 0);
}

FIXTURE_TEST(a_view_in_the_place_of_the_outbox_is_not_planned)
{
    static const char *const orders[] = {"key", "none"};
    static const char *const commands[] = {"init", "check", "run", "purge", "status"};
    char outbox[160];
    char dba[256];

    sql(fixture->conn, "%s", counter);
    sql(fixture->conn, "ALTER FUNCTION evil.called IMMUTABLE; DROP TABLE outbox CASCADE");
    sql(fixture->conn,
        "CREATE VIEW outbox AS SELECT 1::bigint AS id, gen_random_uuid() AS event_id,"
        " 't'::text AS topic, 'k'::text AS key, '{}'::jsonb AS payload,"
        " NULL::timestamptz AS sent_at WHERE evil.called('view')");
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        (void)snprintf(outbox, sizeof outbox,
                       "table = \"public.outbox\"\norder = \"%s\"\nwhere = \"topic = 't'\"",
                       orders[i]);
        as(fixture, "postgres", "", outbox, dba);
        for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
            expect(fixture, run(fixture, commands[j], "-c", dba), 3);
            nothing_was_called(fixture, commands[j]);
        }
        expect(fixture, run(fixture, "init", "--print", "-c", dba), 3);
        nothing_was_called(fixture, "init --print");
    }
}

static void give_to_planter(struct fixture *fixture, const char *table)
{
    sql(fixture->conn,
        "ALTER TABLE %s OWNER TO test_planter; CREATE TRIGGER evil BEFORE INSERT OR UPDATE"
        " ON %s FOR EACH ROW EXECUTE FUNCTION evil.fire()",
        table, table);
}

/* The owner of such a table may have its triggers run as the role that writes to it. */
FIXTURE_TEST(a_table_of_another_owner_beside_the_outbox_is_not_touched)
{
    static const char *const planted[] = {"outbox_parked", "outbox_slice", "outbox_control"};
    static const char *const commands[] = {"init", "check", "purge", "status", "run"};
    char says[64];
    char dba[256];

    sql(fixture->conn, "%s", counter);
    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS test_planter;"
                       " CREATE ROLE test_planter; GRANT ALL ON SCHEMA public TO test_planter;"
                       " CREATE FUNCTION evil.fire() RETURNS trigger LANGUAGE plpgsql AS"
                       " 'BEGIN PERFORM evil.called(TG_RELID::text); RETURN NEW; END'");
    as(fixture, "postgres", "", "table = \"public.outbox\"", dba);
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        sql(fixture->conn,
            "DROP TABLE IF EXISTS outbox, outbox_parked, outbox_control, outbox_slice");
        expect(fixture, run(fixture, "init", "-c", dba), 0);
        sql(fixture->conn, "COMMENT ON TABLE outbox IS NULL; ALTER TABLE outbox ADD status text");
        expect(fixture, run(fixture, "init", "-c", dba), 0);
        give_to_planter(fixture, planted[i]);
        (void)snprintf(says, sizeof says, "\"public\".\"%s\" is not the table that", planted[i]);
        for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
            expect(fixture, run(fixture, commands[j], "-c", dba), 3);
            if (strcmp(commands[j], "run") != 0) /* a superuser does not relay */
                assert_says(strcmp(commands[j], "check") == 0 ? fixture->process.out
                                                              : fixture->process.err,
                            says);
            nothing_was_called(fixture, commands[j]);
        }
        sql(fixture->conn, "ALTER TABLE outbox OWNER TO test_planter");
        expect(fixture, run(fixture, "check", "-c", dba), 3);
        assert_null(strstr(fixture->process.out, says));
    }
    sql(fixture->conn, "DROP OWNED BY test_planter; DROP ROLE test_planter");
}

FIXTURE_TEST(a_name_without_a_schema_is_refused_where_the_search_path_has_none)
{
    char relay[256];

    as(fixture, "postgres", "", "table = \"outbox\"", relay);
    sql(fixture->conn, "ALTER DATABASE %s SET search_path = nosuch", PQdb(fixture->conn));
    expect(fixture, run(fixture, "check", "-c", relay), 3);
    assert_says(fixture->process.out, "outbox.table \"outbox\" names no schema");
    assert_says(fixture->process.out, "fix: write table = \"SCHEMA.outbox\" in [outbox]");
}

/* Proves that the traps work: an unqualified call does reach them. */
FIXTURE_TEST(what_is_planted_would_be_called)
{
    static const char *const statements[] = {"SELECT quote_ident('a')",
                                             "SELECT 'a'::text || 'b'::text",
                                             "SELECT 1 FROM pg_class",
                                             "SELECT 1 = 1",
                                             "SELECT oid = 'pg_class'::pg_catalog.regclass"
                                             " FROM pg_catalog.pg_class",
                                             "SELECT now()",
                                             "SELECT 'a'::text::bytea"};
    PGconn *conn;

    plant(fixture);
    conn = harness_connect(fixture->url);
    sql(conn, "SET client_min_messages = error");
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        long long before = calls(fixture);

        PQclear(PQexec(conn, statements[i]));
        if (calls(fixture) == before)
            fail_msg("called nothing: %s", statements[i]);
    }
    PQfinish(conn);
}
