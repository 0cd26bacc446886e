/* Nobody lends his rights: what a superuser types, and what other roles have put in place before.
 */
#include "integration/program.h"

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
static void a_superuser_writes_nothing_for_the_owners_triggers(void **state)
{
    static const char *const commands[][5] = {
        {"emit", "t", "k", "1"},         {"pause", "topic", "t"},
        {"resume", "topic", "t"},        {"replay", "1"},
        {"dead", "retry", "--all"},      {"dead", "drop", "--all"},
        {"purge", "--older-than", "1d"},
    };
    struct fixture *fixture = *state;

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
    expect(fixture, run(fixture, "dead", "list", "-c", fixture->config), 0);
    assert_int_equal(sql_number(fixture->conn,
                                "SELECT count(*) FROM pg_roles WHERE rolname = '" HARNESS_RELAY
                                "' AND rolsuper"),
                     0);
    sql(fixture->conn, "DROP FUNCTION rise() CASCADE");
    write_config_as(fixture, "postgres", "allow_superuser = true");
    expect(fixture, run(fixture, "emit", "-c", fixture->config, "t", "k", "1"), 0);
}

static void init_takes_over_no_function_of_another_role(void **state)
{
    struct fixture *fixture = *state;
    PGconn *nobody;

    make_nobody(fixture);
    nobody = connect_as(fixture, NOBODY);
    sql(nobody, "CREATE FUNCTION public.outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN"
                " RETURN NULL; END$$");
    write_config_as(fixture, "postgres", "");
    expect(fixture, run(fixture, "init", "--notify", "-c", fixture->config), 3);
    assert_says(fixture->process.err, "belongs to role " NOBODY);
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM pg_trigger WHERE tgname ="
                                               " 'outbox_notify'"),
                     0);
    sql(fixture->conn, "CREATE TRIGGER outbox_notify AFTER INSERT ON outbox FOR EACH STATEMENT"
                       " EXECUTE FUNCTION public.outbox_notify()");
    expect(fixture, run(fixture, "check", "-c", fixture->config), 3);
    assert_says(fixture->process.out, "belongs to role " NOBODY);
    sql(nobody, "DROP FUNCTION public.outbox_notify() CASCADE");
    expect(fixture, run(fixture, "init", "--notify", "-c", fixture->config), 0);
    PQfinish(nobody);
    drop_nobody(fixture);
}

/* Any role may take it, and wait for ever. */
static void an_advisory_lock_that_somebody_holds_is_named(void **state)
{
    struct fixture *fixture = *state;
    PGconn *nobody;
    char pid[32];

    make_nobody(fixture);
    nobody = connect_as(fixture, NOBODY);
    (void)snprintf(pid, sizeof pid, "pid %d (role \"" NOBODY "\"", PQbackendPID(nobody));
    sql(nobody, "SELECT pg_advisory_lock(7246113, 1), pg_advisory_lock(7246113, 2)");
    sql(fixture->conn, "DROP TABLE outbox_parked");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_superuser_writes_nothing_for_the_owners_triggers),
        TEST(init_takes_over_no_function_of_another_role),
        TEST(an_advisory_lock_that_somebody_holds_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
