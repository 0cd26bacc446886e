/*
 * Every way to log in to PostgreSQL over TLS, against servers that are right and wrong: `check`
 * says what is wrong and which key to change, and a row is relayed over each that is right. The
 * test server gets certificates of the test's own, and its pg_hba.conf back at the end.
 */
#include "integration/program.h"

#include <unistd.h>

#define LONG_PASSWORD 10000

static char folder[160]; /* of the certificates, below the server's data */
static char secrets[128];

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void shell(const char *format, ...)
{
    char command[4096];
    va_list args;

    va_start(args, format);
    assert_in_range(vsnprintf(command, sizeof command, format, args), 1, sizeof command - 1);
    va_end(args);
    if (system(command) != 0)
        fail_msg("%s", command);
}

/* The server must own its keys, and the program what it shows. */
static void make_certificates(void)
{
    shell("mkdir -p %s %s/client && tests/support/certificates %s tls_cert && cd %s &&"
          " cp client.* other.* intruder.* %s/client &&"
          " chmod 600 *.key && chown $(stat -c %%u:%%g ..) * && chmod 755 .",
          folder, secrets, folder, folder, secrets);
}

static void set_server(struct fixture *fixture, const char *certificate)
{
    char query[512];

    sql(fixture->conn, "ALTER SYSTEM SET ssl_ca_file = '%s/ca.pem'", folder);
    if (certificate != NULL) {
        sql(fixture->conn, "ALTER SYSTEM SET ssl_cert_file = '%s/%s.pem'", folder, certificate);
        sql(fixture->conn, "ALTER SYSTEM SET ssl_key_file = '%s/%s.key'", folder, certificate);
    }
    sql(fixture->conn, "ALTER SYSTEM SET ssl = '%s'", certificate != NULL ? "on" : "off");
    sql(fixture->conn, "SELECT pg_reload_conf()");
    (void)snprintf(query, sizeof query,
                   "SELECT count(*) FROM pg_settings WHERE (name = 'ssl' AND setting = '%s')"
                   " OR (name = 'ssl_cert_file' AND setting LIKE '%%/%s.pem')",
                   certificate != NULL ? "on" : "off", certificate != NULL ? certificate : "none");
    wait_for_number(fixture->conn, certificate != NULL ? 2 : 1, query);
}

static char *long_password(void)
{
    static char password[LONG_PASSWORD + 1];

    memset(password, 'x', LONG_PASSWORD);
    password[LONG_PASSWORD - 1] = 'y';
    return password;
}

static void set_long_password(PGconn *conn)
{
    static char text[LONG_PASSWORD + 64];
    PGresult *result;

    (void)snprintf(text, sizeof text, "ALTER ROLE tls_long PASSWORD '%s'", long_password());
    result = PQexec(conn, text);
    assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
    PQclear(result);
}

static void make_roles(struct fixture *fixture)
{
    static const char *const roles[] = {"tls_trust", "tls_cert", "tls_password", "tls_long"};

    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        make_role(fixture, roles[i]);
    sql(fixture->conn, "ALTER ROLE tls_password PASSWORD 'hunter2'");
    set_long_password(fixture->conn);
}

static int set_up_tls(void **state)
{
    struct fixture *fixture;

    (void)set_up(state);
    fixture = *state;
    (void)snprintf(folder, sizeof folder, "%s/certificates",
                   sql_text(fixture->conn, "SHOW data_directory"));
    (void)snprintf(secrets, sizeof secrets, "%s", harness_folder());
    shell("rm -rf %s %s/client", folder, secrets);
    make_certificates();
    make_roles(fixture);
    shell("cd %s/.. && cp -p pg_hba.conf pg_hba.before && { for r in trust cert scram-sha-256; do"
          " echo hostssl all $(echo $r | sed 's/trust/tls_trust/; s/^cert/tls_cert/;"
          " s/scram.*/tls_password,tls_long/') 127.0.0.1/32 $r; done;"
          " echo host all tls_trust,tls_cert,tls_password,tls_long 127.0.0.1/32 reject;"
          " cat pg_hba.before; } >pg_hba.new && cat pg_hba.new >pg_hba.conf",
          folder);
    return 0;
}

static int tear_down_tls(void **state)
{
    struct fixture *fixture = *state;

    shell("cd %s/.. && cat pg_hba.before >pg_hba.conf", folder);
    sql(fixture->conn, "ALTER SYSTEM RESET ALL");
    sql(fixture->conn, "SELECT pg_reload_conf()");
    sql(fixture->conn, "DROP OWNED BY tls_trust, tls_cert, tls_password, tls_long;"
                       "DROP ROLE tls_trust, tls_cert, tls_password, tls_long");
    (void)unsetenv("PGSERVICEFILE");
    return fixture_close(state);
}

FIXTURE(set_up_tls, tear_down_tls)

struct way {
    const char *name;
    const char *role;
    const char *words;    /* of the url; %1$s: the folder of certificates, %2$s: of secrets */
    const char *password; /* of password_file; NULL: none */
};

#define VERIFIED "sslmode=verify-full sslrootcert=%1$s/ca.pem "

static const struct way ways[] = {
    {"verify-full", "tls_trust", VERIFIED, NULL},
    {"client certificate", "tls_cert",
     VERIFIED "sslcert=%2$s/client/client.pem sslkey=%2$s/client/client.key", NULL},
    {"SCRAM, password_file", "tls_password", VERIFIED, "hunter2"},
    {"SCRAM, long password", "tls_long", VERIFIED, ""},
    {"SCRAM, pass file", "tls_password", VERIFIED "passfile=%2$s/pgpass", NULL},
    {"SCRAM, service file", "tls_password", "service=shop", NULL},
};

static void write_way(struct fixture *fixture, const struct way *way)
{
    const char *password = way->password;
    char words[1024];
    char key[512] = "";

    shell("umask 077; echo '127.0.0.1:*:*:tls_password:hunter2' >%s/pgpass", secrets);
    shell("printf '[shop]\\nsslmode=verify-full\\nsslrootcert=%s/ca.pem\\npassword=hunter2\\n'"
          " >%s/services",
          folder, secrets);
    (void)snprintf(key, sizeof key, "%s/services", secrets);
    (void)setenv("PGSERVICEFILE", key, 1);
    (void)snprintf(words, sizeof words, way->words, folder, secrets);
    if (password != NULL)
        (void)snprintf(
            key, sizeof key, "password_file = \"%s\"",
            harness_file("password", "%s\n", password[0] != '\0' ? password : long_password()));
    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("relay.toml",
                     "[database]\nurl = \"host=127.0.0.1 port=%s dbname=%s user=%s %s\"\n"
                     "%s\n[outbox]\norder = \"none\"\n" STDOUT_SINK "\n",
                     PQport(fixture->conn), PQdb(fixture->conn), way->role, words,
                     password != NULL ? key : ""));
}

FIXTURE_TEST(every_way_relays_a_row)
{
    set_server(fixture, "good");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        write_way(fixture, &ways[i]);
        sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
        expect_run(fixture, 0, "check");
        expect_drained(fixture, 0, 1);
    }
}

static void expect_refusal(struct fixture *fixture, const char *cause, const char *fix)
{
    expect_run(fixture, 3, "check");
    assert_says(fixture->process.out, cause);
    assert_says(fixture->process.out, fix);
    expect(fixture, run_drain(fixture), 3);
    assert_says(fixture->process.err, cause);
    assert_says(fixture->process.err, fix);
    assert_null(strstr(fixture->process.err, "hunter2"));
    assert_number(fixture->conn, 1, UNSENT);
}

FIXTURE_TEST(a_server_that_is_wrong_is_refused_by_every_way)
{
    static const struct {
        const char *certificate;
        const char *cause;
        const char *fix;
    } servers[] = {
        {"expired", "certificate verify failed", "sslrootcert in database.url"},
        {"stranger", "certificate verify failed", "sslrootcert in database.url"},
        {"other", "does not match host name", "set host in database.url to the name"},
        {NULL, "server does not support SSL", "set ssl = on in the server's postgresql.conf"},
    };

    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    for (size_t s = 0; s < sizeof servers / sizeof *servers; s++) {
        set_server(fixture, servers[s].certificate);
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            write_way(fixture, &ways[i]);
            expect_refusal(fixture, servers[s].cause, servers[s].fix);
        }
    }
}

FIXTURE_TEST(a_login_that_is_wrong_is_refused_with_the_key_to_change)
{
    static const struct {
        struct way way;
        const char *cause;
        const char *fix;
    } logins[] = {
        {{"wrong password", "tls_password", VERIFIED, "wrong"},
         "password authentication failed",
         "database.password_file"},
        {{"no password", "tls_password", VERIFIED "passfile=/nowhere", NULL},
         "no password supplied",
         "password_file in [database]"},
        {{"no client certificate", "tls_cert", VERIFIED "sslcert=/nowhere", NULL},
         "requires a valid client certificate",
         "sslcert=FILE sslkey=FILE to database.url"},
        {{"another's certificate", "tls_cert",
          VERIFIED "sslcert=%2$s/client/other.pem sslkey=%2$s/client/other.key", NULL},
         "certificate authentication failed",
         "must be the name of the role"},
        {{"a stranger's certificate", "tls_cert",
          VERIFIED "sslcert=%2$s/client/intruder.pem sslkey=%2$s/client/intruder.key", NULL},
         "unknown ca",
         "sslcert in database.url"},
        {{"key of another", "tls_cert",
          VERIFIED "sslcert=%2$s/client/client.pem sslkey=%2$s/client/other.key", NULL},
         "private key file",
         "sslkey in database.url"},
        {{"no authority", "tls_trust", "sslmode=verify-full sslrootcert=/nowhere", NULL},
         "root certificate file",
         "sslrootcert=FILE to database.url"},
        {{"plaintext", "tls_password", "sslmode=disable", "hunter2"},
         "pg_hba.conf",
         "sslmode=verify-full in database.url"},
        {{"no such service", "tls_password", "service=nosuch", NULL},
         "definition of service",
         "PGSERVICEFILE"},
    };

    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    set_server(fixture, "good");
    for (size_t i = 0; i < sizeof logins / sizeof *logins; i++) {
        write_way(fixture, &logins[i].way);
        expect_refusal(fixture, logins[i].cause, logins[i].fix);
    }
}
