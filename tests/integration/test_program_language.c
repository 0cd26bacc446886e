/* A server that speaks German: what it refuses for good ends the relay with the same status and the
 * same way out as in English, and in the server's own words. */
#include "integration/own_postgres.h"

FIXTURE(set_up, fixture_close)

static struct own_postgres server;

/* The locale in the test's folder, because the machine need not have it. */
static void create_german_server(void)
{
    char command[512];

    (void)snprintf(command, sizeof command,
                   "mkdir -p %s/locales && localedef -i de_DE -f UTF-8 %s/locales/de_DE.UTF-8"
                   " && chmod -R a+rX %s/locales",
                   harness_env("TEST_DIR"), harness_env("TEST_DIR"), harness_env("TEST_DIR"));
    assert_int_equal(system(command), 0);
    (void)snprintf(command, sizeof command, "%s/locales", harness_env("TEST_DIR"));
    assert_int_equal(setenv("LOCPATH", command, 1), 0);
    create_own_postgres(&server, "-clc_messages=de_DE.UTF-8");
    assert_int_equal(unsetenv("LOCPATH"), 0);
}

static void let_in_by_password(void)
{
    char path[sizeof server.folder + 16];
    PGconn *conn = own_connect(&server, "postgres");
    FILE *file;

    sql(conn, "CREATE ROLE no_login; ALTER ROLE " HARNESS_RELAY " PASSWORD 'right'");
    sql(conn, "CREATE DATABASE closed");
    sql(conn, "REVOKE CONNECT ON DATABASE closed FROM PUBLIC");
    (void)snprintf(path, sizeof path, "%s/pg_hba.conf", server.folder);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("host all stranger 127.0.0.1/32 reject\nhost all postgres,no_login 127.0.0.1/32"
                " trust\nhost all " HARNESS_RELAY ",nobody 127.0.0.1/32 scram-sha-256\n",
                file);
    (void)fclose(file);
    sql(conn, "SELECT pg_reload_conf()");
    wait_for_number(conn, 0,
                    "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method = 'trust'"
                    " AND user_name = '{all}'");
    PQfinish(conn);
}

FIXTURE_TEST(a_refusal_in_another_language_ends_the_relay_with_what_to_change)
{
    static const struct {
        const char *user;
        const char *database;
        const char *says; /* in German */
        const char *fix;
    } refusals[] = {
        {HARNESS_RELAY ":wrong", "shop", "Passwort-Authentifizierung", "correct the password"},
        {"nobody:x", "shop", "Passwort-Authentifizierung", "correct the password"},
        {"no_login", "shop", "hat keine Berechtigung zum Einloggen", "pg_hba.conf must let it in"},
        {"stranger", "shop", "pg_hba.conf", "pg_hba.conf has no line"},
        {"unlisted", "shop", "pg_hba.conf", "pg_hba.conf has no line"},
        {HARNESS_RELAY ":right", "none", "Datenbank »none« existiert nicht", "create the database"},
        {HARNESS_RELAY ":right", "closed", "Datenbank »closed«", "GRANT CONNECT ON DATABASE"},
    };

    create_german_server();
    let_in_by_password();
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        (void)snprintf(fixture->url, sizeof fixture->url, "postgresql://%s@127.0.0.1:%d/%s",
                       refusals[i].user, server.port, refusals[i].database);
        configure(fixture);
        expect(fixture, run_command(fixture, "run"), 3);
        assert_says(fixture->process.err, refusals[i].says);
        assert_says(fixture->process.err, refusals[i].fix);
        assert_null(strstr(fixture->process.err, "LOCATION"));
        assert_null(strstr(fixture->process.err, "auth.c"));
        assert_null(strstr(fixture->process.err, "28P01"));
    }
    end_own_postgres(&server);
}
