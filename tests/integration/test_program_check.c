/* check as a doctor: what threatens the outbox from outside, and servers of another kind. */
#include "integration/nats_server.h"
#include "integration/program.h"

FIXTURE(set_up, fixture_close)

static const char *check(struct fixture *fixture, int status)
{
    expect_run(fixture, status, "check");
    return fixture->process.out;
}

FIXTURE_TEST(a_healthy_system_has_no_warning_but_the_known_ones)
{
    const char *said = check(fixture, 0);

    assert_null(strstr(said, " is off"));
    assert_null(strstr(said, "unlogged"));
    assert_null(strstr(said, "autovacuum"));
    assert_null(strstr(said, "error: "));
    assert_says(said, "does not see how long transactions of others are open\n"
                      "  hint: GRANT pg_read_all_stats TO \"" HARNESS_RELAY "\"; -- as a"
                      " superuser\n");
    assert_says(said, "  hint: outbox-relay init --notify\n  see docs/sizing.md, 'Wake-up'\n");
    assert_says(said, "\nready: no error, 0 warnings, 4 notes\n");
}

FIXTURE_TEST(settings_that_lose_commits_or_keep_sent_rows_are_named)
{
    static const char *const settings[] = {"fsync", "full_page_writes", "autovacuum",
                                           "track_counts"};
    const char *said;

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        sql(fixture->conn, "ALTER SYSTEM SET %s = off", settings[i]);
    sql(fixture->conn, "SELECT pg_reload_conf()");
    sql(fixture->conn, "ALTER ROLE " HARNESS_RELAY " SET synchronous_commit = off");
    wait_for_number(fixture->conn, 1, "SELECT (current_setting('autovacuum') = 'off')::int");
    said = check(fixture, 0);
    sql(fixture->conn, "ALTER ROLE " HARNESS_RELAY " RESET synchronous_commit");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        sql(fixture->conn, "ALTER SYSTEM RESET %s", settings[i]);
    sql(fixture->conn, "SELECT pg_reload_conf()");
    assert_says(said, "warning: fsync is off: ");
    assert_says(said, "warning: full_page_writes is off: ");
    assert_says(said, "warning: synchronous_commit is off: ");
    assert_says(said, "warning: autovacuum is off: ");
    assert_says(said, "warning: track_counts is off: ");
    assert_says(said, "  fix: ALTER SYSTEM SET fsync = on; SELECT pg_catalog.pg_reload_conf();\n");
}

/* Also of the relay's own tables: parked rows are nowhere else. The printed SQL mends it. */
FIXTURE_TEST(tables_that_a_crash_empties_or_that_nobody_vacuums_are_named)
{
    const char *said;

    sql(fixture->conn, "ALTER TABLE outbox SET (autovacuum_enabled = off)");
    sql(fixture->conn, "ALTER TABLE outbox_parked SET UNLOGGED");
    said = check(fixture, 0);
    assert_says(said, "warning: autovacuum is off for table \"public\".\"outbox\"");
    assert_says(said, "  fix: ALTER TABLE \"public\".\"outbox\" RESET (autovacuum_enabled);\n");
    assert_says(said, "warning: table \"public\".\"outbox_parked\" is unlogged");
    assert_says(said, "  fix: ALTER TABLE \"public\".\"outbox_parked\" SET LOGGED;\n");
    sql(fixture->conn, "ALTER TABLE public.outbox RESET (autovacuum_enabled);"
                       " ALTER TABLE public.outbox_parked SET LOGGED");
    said = check(fixture, 0);
    assert_null(strstr(said, "autovacuum"));
    assert_null(strstr(said, "unlogged"));
}

/* It hides nothing that others have found. */
FIXTURE_TEST(a_section_that_postgres_refuses_is_named_and_the_others_are_shown)
{
    const char *said;

    sql(fixture->conn, "REVOKE SELECT ON pg_catalog.pg_publication FROM PUBLIC;"
                       " ALTER TABLE outbox SET (autovacuum_enabled = off)");
    said = check(fixture, 1);
    sql(fixture->conn, "GRANT SELECT ON pg_catalog.pg_publication TO PUBLIC;"
                       " ALTER TABLE outbox RESET (autovacuum_enabled)");
    assert_says(said, "error: check_80_settling could not be looked at: ");
    assert_says(said, "permission denied for table pg_publication (SQLSTATE 42501)\n"
                      "  fix: outbox-relay sql check_80_settling prints the statement\n");
    assert_says(said, "note: no trigger notifies of inserts");
    assert_says(said, "warning: autovacuum is off for table \"public\".\"outbox\"");
    assert_says(said, "\nnot ready: 1 error, the first: check_80_settling could not be");
}

FIXTURE_TEST(destinations_of_parked_rows_are_looked_at_too)
{
    write_config(fixture, "", STDOUT_SINK "\nallow = [\"known\"]\n");
    sql(fixture->conn,
        "INSERT INTO outbox_parked (id, event_id, topic, created_at, state, waits_for, error)"
        " VALUES (1, gen_random_uuid(), 'unknown', now(), 'waiting', 'out/unknown',"
        " 'unknown topic')");
    check(fixture, 4);
    assert_says(fixture->process.out, "topic \"unknown\": the sink's allow list does not permit");
    sql(fixture->conn, "UPDATE outbox_parked SET state = 'dead', waits_for = NULL");
    check(fixture, 0);
}

static void expect_hint(struct fixture *fixture, int status, const char *hint)
{
    check(fixture, status);
    assert_says(fixture->process.out, hint);
}

static void configure_nats(struct fixture *fixture, const char *url)
{
    char sink[256];

    (void)snprintf(sink, sizeof sink,
                   "[sink.n]\ntype = \"nats\"\nstream = \"S\"\nservers = [\"%s\"]\n", url);
    write_config(fixture, "", sink);
}

/* Port 1 is reserved, and nothing listens there. */
FIXTURE_TEST(a_server_that_does_not_run_is_named_with_what_starts_it)
{
    const char *refused;

    configure_nats(fixture, "nats://127.0.0.1:1");
    expect_hint(fixture, 4, "error: [sink.n] nats at nats://127.0.0.1:1: nothing answers");
    assert_says(fixture->process.out,
                "  fix: start it (nats-server -js), or correct servers in [sink.n]\n");
    assert_says(fixture->process.out,
                "\nnot ready: 1 error, the first: [sink.n] nats at nats://127.0.0.1:1: nothing");
    write_config(fixture, "", "[sink.k]\ntype = \"kafka\"\nbrokers = [\"127.0.0.1:1\"]\n");
    expect_hint(fixture, 4, "  fix: start the broker, or check the addresses in brokers\n");
    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://127.0.0.1:1,127.0.0.1:1/shop");
    configure(fixture);
    expect_hint(fixture, 3, "  fix: start PostgreSQL, or correct host and port in database.url\n");
    refused = strstr(fixture->process.out, "Connection refused");
    assert_non_null(refused);
    /* libpq says it for each host; the last line names the error once more */
    assert_true(strstr(refused + 1, "Connection refused") >
                strstr(fixture->process.out, "\nnot ready"));
}

FIXTURE_TEST(a_nats_server_that_lacks_something_is_named_with_what_adds_it)
{
    start_own_server("");
    configure_nats(fixture, own_url);
    expect_hint(fixture, 4, "  fix: start the server with JetStream: nats-server -js");
    end_own_server();
    start_own_server("authorization { user: u, password: p }");
    configure_nats(fixture, own_url);
    expect_hint(fixture, 4,
                "  fix: the server wants a login: set [sink.n] username and password_file");
    end_own_server();
    configure_nats(fixture, harness_env("TEST_NATS_URL"));
    expect_hint(fixture, 4, "  fix: nats stream add S --subjects ");
    assert_says(fixture->process.out, "; or write create = true and allow in [sink.n]\n");
}

FIXTURE_TEST(a_database_or_a_role_that_is_missing_or_may_not_connect_is_named_with_what_helps)
{
    const char *port = harness_env("TEST_PG_PORT");

    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://postgres@127.0.0.1:%s/shopp",
                   port);
    configure(fixture);
    expect_hint(fixture, 3, "  fix: create the database (createdb), or correct its name in");
    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://nobody@127.0.0.1:%s/postgres",
                   port);
    configure(fixture);
    expect_hint(fixture, 3, "  fix: create the role (createuser), or correct the user in");
    sql(fixture->conn, "CREATE ROLE guest LOGIN; REVOKE CONNECT ON DATABASE %s FROM PUBLIC",
        PQdb(fixture->conn));
    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://guest@127.0.0.1:%s/%s", port,
                   PQdb(fixture->conn));
    configure(fixture);
    expect_hint(fixture, 3, "  fix: GRANT CONNECT ON DATABASE ... TO the role of database.url");
    sql(fixture->conn, "DROP ROLE guest; GRANT CONNECT ON DATABASE %s TO PUBLIC",
        PQdb(fixture->conn));
    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://postgres@127.0.0.1:%s/postgres",
                   port);
    configure(fixture);
    expect_hint(
        fixture, 3,
        "  fix: as a superuser: CREATE ROLE relay LOGIN; then: outbox-relay init --grant relay |"
        " psql postgres; then connect as relay");
}

FIXTURE_TEST(a_server_of_another_kind_is_recognised)
{
    const char *postgres = harness_env("TEST_PG_PORT");
    const char *nats = strrchr(harness_env("TEST_NATS_URL"), ':') + 1;
    char sink[256];

    (void)snprintf(sink, sizeof sink, "[sink.k]\ntype = \"kafka\"\nbrokers = [\"127.0.0.1:%s\"]\n",
                   postgres);
    write_config(fixture, "", sink);
    expect_hint(fixture, 4, "  fix: is this a Kafka broker?");
    (void)snprintf(sink, sizeof sink,
                   "[sink.n]\ntype = \"nats\"\nstream = \"S\"\n"
                   "servers = [\"nats://127.0.0.1:%s\"]\n",
                   postgres);
    write_config(fixture, "", sink);
    expect_hint(fixture, 4, "  fix: is this a NATS server?");
    (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://relay@127.0.0.1:%s/shop", nats);
    configure(fixture);
    expect_hint(fixture, 3, "  fix: is this a PostgreSQL server?");
}

/* What init and run would be refused is no warning. */
FIXTURE_TEST(a_stream_that_cannot_be_created_is_an_error_that_names_the_holder)
{
    static const char says[] = "subject \"shop.>\" already belongs to stream \"HOLDER\"";
    static const char fix[] =
        "stream = \"HOLDER\" in [sink.bus], or choose other subjects in allow";
    const char *url = harness_env("TEST_NATS_URL");
    char text[512];

    (void)snprintf(text, sizeof text, "build/reader stream %s create HOLDER 'shop.orders.>'", url);
    assert_int_equal(system(text), 0);
    (void)snprintf(text, sizeof text,
                   "[sink.bus]\ntype = \"nats\"\nstream = \"ORDERS\"\nservers = [\"%s\"]\n"
                   "allow = [\"shop.>\"]\ncreate = true\n",
                   url);
    write_config(fixture, "", text);
    check(fixture, 4);
    assert_says(fixture->process.out, says);
    assert_says(fixture->process.out, fix);
    expect_run(fixture, 4, "init");
    assert_says(fixture->process.err, says);
    assert_says(fixture->process.err, fix);
    (void)snprintf(text, sizeof text, "build/reader stream %s delete HOLDER", url);
    assert_int_equal(system(text), 0);
}
