#include "integration/harness.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int64_t harness_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *harness_env(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL || value[0] == '\0')
        fail_msg("%s is not set: run this through tests/support/services", name);
    return value;
}

PGconn *harness_connect(const char *url)
{
    const char *keywords[] = {"dbname", "user", NULL};
    const char *values[] = {url, "postgres", NULL};
    PGconn *conn = PQconnectdbParams(keywords, values, 1);

    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    return conn;
}

static PGresult *query(PGconn *conn, const char *text)
{
    PGresult *result = PQexec(conn, text);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQerrorMessage(conn));
    return result;
}

static void format_query(char *text, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(text, size, format, args);

    assert_true(len > 0 && (size_t)len < size);
}

void sql(PGconn *conn, const char *format, ...)
{
    char text[32768];
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    PQclear(query(conn, text));
}

void sql_copy(PGconn *conn, const char *copy, const char *lines)
{
    PGresult *result = PQexec(conn, copy);

    if (PQresultStatus(result) != PGRES_COPY_IN)
        fail_msg("%s: %s", copy, PQerrorMessage(conn));
    PQclear(result);
    assert_int_equal(PQputCopyData(conn, lines, (int)strlen(lines)), 1);
    assert_int_equal(PQputCopyEnd(conn, NULL), 1);
    while ((result = PQgetResult(conn)) != NULL) {
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            fail_msg("%s: %s", copy, PQerrorMessage(conn));
        PQclear(result);
    }
}

static const char *first_value(PGconn *conn, const char *text)
{
    static char value[65536];
    PGresult *result = query(conn, text);

    (void)snprintf(value, sizeof value, "%s",
                   PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return value;
}

long long sql_number(PGconn *conn, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    return strtoll(first_value(conn, text), NULL, 10);
}

void assert_number(PGconn *conn, long long number, const char *format, ...)
{
    char text[8192];
    long long found;
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    found = sql_number(conn, "%s", text);
    if (found != number)
        fail_msg("%lld instead of %lld: %s", found, number, text);
}

const char *sql_text(PGconn *conn, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    format_query(text, sizeof text, format, args);
    va_end(args);
    return first_value(conn, text);
}

void harness_pause(void)
{
    (void)poll(NULL, 0, 5);
}

void harness_pause_since(int64_t began_ms)
{
    int64_t eighth_ms = (harness_now_ms() - began_ms) / 8;

    (void)poll(NULL, 0, eighth_ms < 2 ? 2 : eighth_ms > 50 ? 50 : (int)eighth_ms);
}

void wait_for_number(PGconn *conn, long long number, const char *text)
{
    int64_t began_ms = harness_now_ms();

    while (sql_number(conn, "%s", text) != number) {
        if (harness_now_ms() > began_ms + HARNESS_WAIT_MS)
            fail_msg("waited %d ms for %lld, found %lld: %s", HARNESS_WAIT_MS, number,
                     sql_number(conn, "%s", text), text);
        harness_pause_since(began_ms);
    }
}

static void drop_database(void)
{
    PGconn *admin = PQconnectdb(getenv("TEST_PG_URL"));
    char text[64];

    (void)snprintf(text, sizeof text, "DROP DATABASE test_%d WITH (FORCE)", (int)getpid());
    PQclear(PQexec(admin, text));
    PQfinish(admin);
}

static void make_database(PGconn *admin)
{
    sql(admin,
        "DO $$BEGIN CREATE ROLE " HARNESS_RELAY " LOGIN; EXCEPTION WHEN duplicate_object THEN"
        " NULL; END$$");
    sql(admin, "CREATE DATABASE test_%d OWNER " HARNESS_RELAY, (int)getpid());
    assert_int_equal(atexit(drop_database), 0);
}

/* Ends the sessions of the test before, and resets its settings. */
static void end_sessions(PGconn *admin)
{
    char others[256];

    (void)snprintf(others, sizeof others,
                   "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                   " WHERE datname = 'test_%d' AND backend_type = 'client backend'",
                   (int)getpid());
    wait_for_number(admin, 0, others);
    sql(admin, "ALTER DATABASE test_%d RESET ALL", (int)getpid());
}

/* Objects outside of schemas stay, and so do privileges in pg_catalog: a test that changes them
 * undoes that. */
static void drop_schemas(PGconn *conn)
{
    sql(conn, "DO $$DECLARE name text; BEGIN SET LOCAL client_min_messages = warning;"
              " FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_'"
              " AND nspname <> 'information_schema' LOOP"
              " EXECUTE format('DROP SCHEMA %%I CASCADE', name); END LOOP;"
              " CREATE SCHEMA public AUTHORIZATION " HARNESS_RELAY ";"
              " GRANT USAGE ON SCHEMA public TO PUBLIC; END$$;"
              "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO " HARNESS_RELAY ";"
              "ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO " HARNESS_RELAY ";"
              "ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO " HARNESS_RELAY);
}

PGconn *harness_database(char url[256])
{
    static bool made;
    const char *server = harness_env("TEST_PG_URL");
    const char *at = strchr(server, '@');
    const char *slash = strrchr(server, '/');
    PGconn *conn = harness_connect(server);

    assert_non_null(at);
    if (made)
        end_sessions(conn);
    else
        make_database(conn);
    made = true;
    PQfinish(conn);
    (void)snprintf(url, 256, "postgresql://" HARNESS_RELAY "%.*s/test_%d", (int)(slash - at), at,
                   (int)getpid());
    conn = harness_connect(url);
    drop_schemas(conn);
    return conn;
}

const char *harness_folder(void)
{
    static char path[128];

    if (path[0] != '\0')
        return path;
    (void)snprintf(path, sizeof path, "%s/test_%d", harness_env("TEST_DIR"), (int)getpid());
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        fail_msg("mkdir %s: %s", path, strerror(errno));
    return path;
}

const char *harness_file(const char *name, const char *format, ...)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    char *text = NULL;
    va_list args;
    FILE *file;

    (void)snprintf(path, sizeof paths[0], "%s/%s", harness_folder(), name);
    file = fopen(path, "w");
    assert_non_null(file);
    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    assert_true(fputs(text, file) >= 0);
    /* Relays of several tests run at the same time, and the default is one port. */
    if (strcmp(name, "relay.toml") == 0 && strstr(text, "[http]") == NULL)
        assert_true(fputs("\n[http]\nlisten = \"\"\n", file) >= 0);
    free(text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

void write_relay_toml(struct fixture *fixture, const char *format, ...)
{
    char *rest = NULL;
    va_list args;

    va_start(args, format);
    assert_true(vasprintf(&rest, format, args) >= 0);
    va_end(args);
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("relay.toml", "[database]\nurl = \"%s\"\n%s", fixture->url, rest));
    free(rest);
}

int fixture_open_empty(void **state)
{
    static int number;
    struct fixture *fixture = calloc(1, sizeof *fixture);

    assert_non_null(fixture);
    *state = fixture;
    (void)snprintf(fixture->name, sizeof fixture->name, "t%d_%d", (int)getpid(), ++number);
    fixture->conn = harness_database(fixture->url);
    return 0;
}

int fixture_open(void **state, void (*configure)(struct fixture *))
{
    struct fixture *fixture;

    (void)fixture_open_empty(state);
    fixture = *state;
    configure(fixture);
    expect_run(fixture, 0, "init");
    process_free(&fixture->process); /* a test may start another in its place */
    return 0;
}

int fixture_close(void **state)
{
    struct fixture *fixture = *state;

    process_free(&fixture->process);
    process_end_all();
    PQfinish(fixture->conn);
    free(fixture);
    return 0;
}

void expect(struct fixture *fixture, int status, int expected)
{
    if (status != expected)
        fail_msg("exit status %d instead of %d; it said: %s%s", status, expected,
                 fixture->process.out, fixture->process.err);
}

void assert_says(const char *text, const char *expected)
{
    if (strstr(text, expected) == NULL)
        fail_msg("expected \"%s\" in: %s", expected, text);
}
