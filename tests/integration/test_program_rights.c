/* Nobody lends his rights: what a superuser types, and what other roles have put in place before.
 */
#include "integration/program.h"

FIXTURE(set_up, fixture_close)

#define NOBODY "test_nobody" /* a role without rights on the outbox */

static void make_nobody(struct fixture *fixture)
{
    sql(fixture->conn, "SET client_min_messages = warning; DROP ROLE IF EXISTS " NOBODY
                       "; CREATE ROLE " NOBODY " LOGIN");
    sql(fixture->conn, "GRANT CREATE ON SCHEMA public TO " NOBODY);
}

static void drop_nobody(struct fixture *fixture)
{
    sql(fixture->conn, "DROP OWNED BY " NOBODY " CASCADE; DROP ROLE " NOBODY);
}

static PGconn *connect_as(struct fixture *fixture, const char *role)
{
    const char *at = strchr(fixture->url, '@');
    char url[300];
    PGconn *conn;

    (void)snprintf(url, sizeof url, "postgresql://%s%s", role, at);
    conn = PQconnectdb(url);
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    return conn;
}

static void write_config_as(struct fixture *fixture, const char *role, const char *more)
{
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("other.toml",
                                "[database]\nurl = \"postgresql://%s%s\"\n%s\n[outbox]\norder ="
                                " \"none\"\n" STDOUT_SINK "\n",
                                role, strchr(fixture->url, '@'), more));
}

/* The owner's trigger would make him a superuser. */
FIXTURE_TEST(a_superuser_writes_nothing_for_the_owners_triggers)
{
    static const char *const commands[][5] = {
        {"emit", "t", "k", "1"},         {"pause", "topic", "t"},
        {"resume", "topic", "t"},        {"replay", "1"},
        {"dead", "retry", "--all"},      {"dead", "drop", "--all"},
        {"purge", "--older-than", "1d"},
    };

    sql(fixture->conn,
        "SET ROLE " HARNESS_RELAY "; CREATE FUNCTION rise() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN EXECUTE 'ALTER ROLE " HARNESS_RELAY " SUPERUSER'; RETURN NULL; END$$; CREATE"
        " TRIGGER rise AFTER INSERT OR UPDATE OR DELETE ON outbox FOR EACH STATEMENT EXECUTE"
        " FUNCTION rise(); CREATE TRIGGER rise AFTER INSERT OR UPDATE OR DELETE ON outbox_parked"
        " FOR EACH STATEMENT EXECUTE FUNCTION rise(); RESET ROLE");
    write_config_as(fixture, "postgres", "");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *const *words = commands[i];

        expect(fixture, run(fixture, words[0], "-c", fixture->config, words[1], words[2], words[3]),
               3);
        assert_says(fixture->process.err, "is a superuser");
    }
    expect_run(fixture, 0, "dead", "list");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_roles WHERE rolname = '" HARNESS_RELAY "' AND rolsuper");
    sql(fixture->conn, "DROP FUNCTION rise() CASCADE");
    write_config_as(fixture, "postgres", "allow_superuser = true");
    expect(fixture, run(fixture, "emit", "-c", fixture->config, "t", "k", "1"), 0);
}

/* PostgreSQL evaluates what is constant in them when it plans a query. A constraint runs when init
 * adds the column, a cast when a value is shown. */
FIXTURE_TEST(no_function_of_the_owner_runs_for_a_superuser)
{
    static const char *const forms[] = {
        "CREATE INDEX rising ON outbox ((id + risen(1)))",
        "CREATE INDEX rising ON outbox_slice (slice) WHERE risen(1) = 1",
        "ALTER TABLE outbox_parked ADD EXCLUDE USING btree ((risen(1)) WITH =) WHERE (false)",
        "CREATE INDEX rising ON outbox_control (kind) WHERE risen(1) = 1",
        "CREATE STATISTICS rising ON (id + risen(1)), topic FROM outbox",
        "CREATE OPERATOR public.@+@ (FUNCTION = risen, RIGHTARG = int);"
        " CREATE INDEX rising ON outbox ((id + (OPERATOR(public.@+@) 1)))",
        "CREATE DOMAIN outer_text AS rising_text; ALTER TABLE outbox DROP COLUMN type, ADD COLUMN"
        " type outer_text; ALTER TABLE outbox_parked DROP COLUMN type;"
        " INSERT INTO outbox_parked (id, topic, state) VALUES (1, 't', 'dead')",
        "CREATE TYPE pair AS (a int, b int); CREATE FUNCTION as_text(pair) RETURNS text LANGUAGE sql"
        " AS 'SELECT public.rise()::text'; CREATE CAST (pair AS text) WITH FUNCTION as_text(pair);"
        " ALTER TABLE outbox DROP COLUMN payload, ADD COLUMN payload pair",
    };
    static const char *const commands[][4] = {
        {"init"},        {"init", "--notify"},   {"init", "--print"}, {"check"},
        {"status"},      {"dead", "list"},       {"emit", "t"},       {"pause", "topic", "t"},
        {"replay", "1"}, {"purge", "--dry-run"},
    };

    for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
        sql(fixture->conn, "SET client_min_messages = warning; DROP SCHEMA public CASCADE;"
                           " CREATE SCHEMA public AUTHORIZATION " HARNESS_RELAY);
        configure(fixture);
        expect(fixture, run_command(fixture, "init"), 0);
        sql(fixture->conn, "CREATE TABLE outbox_slice (slice int, slices int);"
                           " ALTER TABLE outbox_slice OWNER TO " HARNESS_RELAY);
        sql(fixture->conn,
            "SET ROLE " HARNESS_RELAY "; CREATE FUNCTION rise() RETURNS bool LANGUAGE plpgsql AS"
            " $$BEGIN IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN EXECUTE"
            " 'ALTER ROLE " HARNESS_RELAY " SUPERUSER'; END IF; RETURN true; END$$;"
            " CREATE FUNCTION risen(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM"
            " public.rise(); RETURN 1; END$$; CREATE DOMAIN rising_text AS text CHECK (rise());"
            " %s; RESET ROLE",
            forms[form]);
        write_config_as(fixture, "postgres", "");
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
            const char *const *words = commands[i];

            expect(fixture,
                   run(fixture, words[0], "-c", fixture->config, words[1], words[2], words[3]), 3);
            assert_non_null(
                strstr(strcmp(words[0], "check") == 0 ? fixture->process.out : fixture->process.err,
                       "is a superuser, or may become one"));
        }
        assert_number(fixture->conn, 0,
                      "SELECT count(*) FROM pg_roles WHERE rolname = '" HARNESS_RELAY
                      "' AND rolsuper");
    }
}

/* With the rights of the server's user of the operating system anything can be had. */
/* So does what the configuration names, when it is parsed and planned, and a trigger when a mark is
 * tried. */
FIXTURE_TEST(no_sql_of_the_configuration_runs_the_owners_functions_for_a_superuser)
{
    static const char *const configurations[] = {
        "where = \"public.rise(type) IS NULL\"\n",
        "mark = \"type = public.rise('SENT')\"\nwhere = \"type IS NULL\"\n",
        "due = \"(created_at + public.rise('1 s')::interval)\"\n",
        "[outbox.columns]\ntopic = \"(public.rise('a') || topic)\"\n",
        "[outbox.columns]\ntopic = \"(('{x}'::public.rising[])[1]::text)\"\n",
        "[outbox.headers]\nh = \"(public.rise('a'))\"\n",
    };
    static const char *const commands[][2] = {
        {"init", NULL}, {"check", NULL}, {"status", NULL}, {"dead", "list"}};
    const char *at = strchr(fixture->url, '@');

    sql(fixture->conn,
        "SET ROLE " HARNESS_RELAY "; CREATE FUNCTION rise() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN EXECUTE 'ALTER ROLE " HARNESS_RELAY " SUPERUSER'; RETURN NEW; END$$; CREATE"
        " TRIGGER rise BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION rise(); CREATE FUNCTION"
        " rise_now() RETURNS void LANGUAGE plpgsql AS $$BEGIN EXECUTE 'ALTER ROLE " HARNESS_RELAY
        " SUPERUSER'; END$$; CREATE FUNCTION rise(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS"
        " $$BEGIN PERFORM public.rise_now(); RETURN $1; END$$; CREATE DOMAIN rising AS text CHECK"
        " (rise(VALUE) <> ''); RESET ROLE");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    for (size_t i = 0; i < sizeof configurations / sizeof *configurations; i++) {
        (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                       harness_file("other.toml",
                                    STDOUT_SINK "\n[database]\nurl = \"postgresql://postgres%s\"\n"
                                                "[outbox]\norder = \"none\"\nadopt = true\n%s",
                                    at, configurations[i]));
        for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
            expect(fixture, run(fixture, commands[j][0], "-c", fixture->config, commands[j][1]), 3);
            assert_says(j == 1 ? fixture->process.out : fixture->process.err,
                        "names an object with its schema");
        }
    }
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("other.toml",
                                STDOUT_SINK "\n[database]\nurl = \"postgresql://postgres%s\"\n"
                                            "[outbox]\norder = \"none\"\nadopt = true\nwhere ="
                                            " \"type IS NULL\"\nmark = \"type = 'SENT'\"\n",
                                at));
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "is a superuser");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_roles WHERE rolname = '" HARNESS_RELAY "' AND rolsuper");
    sql(fixture->conn, "DROP FUNCTION rise() CASCADE; DROP FUNCTION rise(text) CASCADE; DROP"
                       " FUNCTION rise_now()");
}

FIXTURE_TEST(a_role_that_may_run_programs_on_the_server_counts_as_a_superuser)
{
    make_nobody(fixture);
    sql(fixture->conn, "GRANT ALL ON outbox, outbox_parked, outbox_control TO " NOBODY
                       "; GRANT pg_execute_server_program TO " NOBODY);
    write_config_as(fixture, NOBODY, "");
    expect(fixture, run(fixture, "emit", "-c", fixture->config, "t"), 3);
    assert_says(fixture->process.err, "is a superuser, or may become one");
    expect(fixture, run_drain(fixture), 3);
    sql(fixture->conn, "REVOKE pg_execute_server_program FROM " NOBODY);
    expect(fixture, run(fixture, "emit", "-c", fixture->config, "t"), 0);
    drop_nobody(fixture);
}

FIXTURE_TEST(init_takes_over_no_function_of_another_role)
{
    PGconn *nobody;

    make_nobody(fixture);
    nobody = connect_as(fixture, NOBODY);
    sql(nobody, "CREATE FUNCTION public.outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                " RETURN NULL; END$$");
    write_config_as(fixture, "postgres", "");
    expect_run(fixture, 3, "init", "--notify");
    assert_says(fixture->process.err, "belongs to role " NOBODY);
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_trigger WHERE tgname ="
                  " 'outbox_notify'");
    sql(fixture->conn, "CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH STATEMENT"
                       " EXECUTE FUNCTION public.outbox_notify()");
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, "belongs to role " NOBODY);
    sql(nobody, "DROP FUNCTION public.outbox_notify() CASCADE");
    expect_run(fixture, 0, "init", "--notify");
    PQfinish(nobody);
    drop_nobody(fixture);
}

/* Any role may take it, and wait for ever. */
FIXTURE_TEST(an_advisory_lock_that_somebody_holds_is_named)
{
    PGconn *nobody;
    char pid[32];

    make_nobody(fixture);
    nobody = connect_as(fixture, NOBODY);
    (void)snprintf(pid, sizeof pid, "pid %d (role \"" NOBODY "\"", PQbackendPID(nobody));
    sql(nobody, "SELECT pg_advisory_lock(7246113, 1), pg_advisory_lock(7246113, 2)");
    sql(fixture->conn, "DROP TABLE outbox_parked, outbox_control");
    expect(fixture, run_command(fixture, "init"), 3);
    assert_says(fixture->process.err, pid);
    assert_says(fixture->process.err, "pg_terminate_backend");
    PQfinish(nobody);
    wait_for_number(fixture->conn, 0,
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND"
                    " classid = 7246113");
    expect(fixture, run_command(fixture, "init"), 0);
    drop_nobody(fixture);
}

FIXTURE_TEST(check_names_who_holds_the_lock_of_the_trigger_without_a_right_to_it)
{
    static const char *const locks[] = {"pg_advisory_lock", "pg_advisory_lock_shared"};
    PGconn *nobody;

    expect_run(fixture, 0, "init", "--notify");
    expect(fixture, run_command(fixture, "check"), 0);
    assert_null(strstr(fixture->process.out, "advisory lock"));
    make_nobody(fixture);
    nobody = connect_as(fixture, NOBODY);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        sql(nobody, "SELECT pg_advisory_unlock_all()");
        sql(nobody, "SELECT %s(7246114, 'public.outbox'::regclass::oid::int)", locks[i]);
        expect(fixture, run_command(fixture, "check"), 0);
        assert_says(fixture->process.out, "(role \"" NOBODY "\"");
        assert_says(fixture->process.out, "pg_terminate_backend");
    }
    PQfinish(nobody);
    drop_nobody(fixture);
}
