#ifndef INTEGRATION_OWN_POSTGRES_H
#define INTEGRATION_OWN_POSTGRES_H

/* PostgreSQL servers of the test's own, which it may kill and promote; from the binaries of the
 * server that all tests share. */

#include "integration/program.h"

#include <signal.h>
#include <unistd.h>

struct own_postgres {
    char folder[160];
    int port;
    struct process process;
};

/* The path of one of PostgreSQL's programs. */
static inline const char *postgres_program(const char *name)
{
    static char path[256];
    PGconn *conn = PQconnectdb(harness_env("TEST_PG_URL"));

    (void)snprintf(path, sizeof path, "%s/%s",
                   sql_text(conn, "SELECT setting FROM pg_config() WHERE name = 'BINDIR'"), name);
    PQfinish(conn);
    return path;
}

static inline void name_own_postgres(struct own_postgres *own, const char *name)
{
    char command[512];

    *own = (struct own_postgres){.port = harness_free_port()};
    (void)snprintf(own->folder, sizeof own->folder, "%s/%s_%d", harness_env("TEST_DIR"), name,
                   (int)getpid());
    (void)snprintf(command, sizeof command, "rm -rf %s && install -d -m 700 %s %s", own->folder,
                   geteuid() == 0 ? "-o postgres" : "", own->folder);
    assert_int_equal(system(command), 0);
}

static inline void run_to_the_end(struct process *process)
{
    process_wait(process);
    if (process->status != 0)
        fail_msg("%s", process->err);
    process_free(process);
}

/* A superuser's connection to this database of it. */
static inline PGconn *own_connect(const struct own_postgres *own, const char *database)
{
    char url[256];
    PGconn *conn;

    (void)snprintf(url, sizeof url, "host=127.0.0.1 port=%d user=postgres dbname=%s", own->port,
                   database);
    conn = PQconnectdb(url);
    if (PQstatus(conn) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(conn));
    return conn;
}

/* `settings`: of postgres, "-cNAME=VALUE", or NULL. */
static inline void start_own_postgres(struct own_postgres *own, const char *settings)
{
    char port[32];
    char sockets[224];
    char url[128];
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    (void)snprintf(port, sizeof port, "-cport=%d", own->port);
    (void)snprintf(sockets, sizeof sockets, "-cunix_socket_directories=%s", own->folder);
    (void)snprintf(url, sizeof url, "host=127.0.0.1 port=%d user=postgres dbname=postgres",
                   own->port);
    process_start_server(&own->process, postgres_program("postgres"), "-D", own->folder, port,
                         sockets, "-clisten_addresses=127.0.0.1", "-cshared_buffers=16MB",
                         "-cdynamic_shared_memory_type=mmap", "-cfsync=off", settings, NULL);
    while (PQping(url) != PQPING_OK) {
        if (harness_now_ms() > deadline_ms)
            fail_msg("postgres does not start: %s", own->folder);
        harness_pause();
    }
}

/* What initdb makes, which is not started. */
static inline void make_cluster(struct own_postgres *own, const char *name)
{
    name_own_postgres(own, name);
    process_start_server(&own->process, postgres_program("initdb"), "-D", own->folder, "-U",
                         "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N", NULL);
    run_to_the_end(&own->process);
}

/* A new cluster with the role HARNESS_RELAY and its database "shop". All of a program are copies of
 * one. */
static inline void create_own_postgres(struct own_postgres *own, const char *settings)
{
    static struct own_postgres made;
    char command[512];
    PGconn *conn;

    if (made.folder[0] == '\0')
        make_cluster(&made, "made");
    name_own_postgres(own, "primary");
    (void)snprintf(command, sizeof command, "cp -a %s/. %s", made.folder, own->folder);
    assert_int_equal(system(command), 0);
    start_own_postgres(own, settings);
    conn = own_connect(own, "postgres");
    sql(conn, "CREATE ROLE " HARNESS_RELAY " LOGIN");
    sql(conn, "CREATE DATABASE shop OWNER " HARNESS_RELAY);
    PQfinish(conn);
}

/* A streaming standby of it. */
static inline void create_own_standby(struct own_postgres *own, const struct own_postgres *primary)
{
    char source[64];

    name_own_postgres(own, "standby");
    (void)snprintf(source, sizeof source, "host=127.0.0.1 port=%d user=postgres", primary->port);
    process_start_server(&own->process, postgres_program("pg_basebackup"), "-D", own->folder, "-R",
                         "-X", "stream", "-c", "fast", "-N", "-d", source, NULL);
    run_to_the_end(&own->process);
    start_own_postgres(own, NULL);
}

static inline void promote_own_standby(struct own_postgres *own)
{
    PGconn *conn = own_connect(own, "postgres");

    assert_string_equal(sql_text(conn, "SELECT pg_promote(true, 30)"), "t");
    PQfinish(conn);
}

/* SIGQUIT: at once, as in a crash. SIGKILL would leave its children. */
static inline void kill_own_postgres(struct own_postgres *own)
{
    process_stop(&own->process, SIGQUIT);
    process_free(&own->process);
    own->process.pid = 0;
}

static inline void end_own_postgres(struct own_postgres *own)
{
    char command[512];

    if (own->process.pid != 0)
        kill_own_postgres(own);
    (void)snprintf(command, sizeof command, "rm -rf %s", own->folder);
    assert_int_equal(system(command), 0);
}

#endif
