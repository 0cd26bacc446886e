#ifndef INTEGRATION_PROGRAM_H
#define INTEGRATION_PROGRAM_H

/* The fixture of the tests that run the program with the stdout sink. */

#include "integration/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STDOUT_SINK "[sink.out]\ntype = \"stdout\""

/* How many relays rely on notifications, and so do not poll at their interval. */
#define ARMED                                                                                      \
    "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"                     \
    " WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.classid = 7246114"    \
    " AND l.mode = 'ExclusiveLock' AND l.granted"

static inline void write_config(struct fixture *fixture, const char *outbox, const char *rest)
{
    write_relay_toml(fixture,
                     "[outbox]\norder = \"none\"\n%s\n[relay]\n"
                     "poll_interval = \"50ms\"\n%s\n",
                     outbox, rest);
}

static inline void configure(struct fixture *fixture)
{
    write_config(fixture, "", STDOUT_SINK);
}

static inline int set_up(void **state)
{
    return fixture_open(state, configure);
}

/* A command without arguments of its own. */
static inline int run_command(struct fixture *fixture, const char *command)
{
    return run(fixture, command, "-c", fixture->config);
}

/* The owner of a table that init did not create says whose the column is: "events.sent_at". */
static inline void say_only_relay_writes(struct fixture *fixture, const char *column)
{
    sql(fixture->conn, "COMMENT ON COLUMN %s IS 'outbox-relay: only the relay writes this column'",
        column);
}

static inline int count_lines(const char *text)
{
    int lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

/* Puts the events of a stdout sink into the temporary table printed (place, line jsonb). Only
 * `place` tells their order: a table keeps no order, because a short line is stored in the space
 * that longer ones have left on an earlier page. A relay that was killed may have left half a line
 * at the end: it counts for nothing. */
static inline void load_printed(struct fixture *fixture, const char *out)
{
    const char *end = strrchr(out, '\n');
    char *lines = strndup(out, end != NULL ? (size_t)(end - out) + 1 : 0);

    assert_non_null(lines);
    sql(fixture->conn, "SET client_min_messages = warning; CREATE TEMP TABLE IF NOT EXISTS printed"
                       " (place bigint GENERATED ALWAYS AS IDENTITY, line jsonb)");
    sql_copy(fixture->conn,
             "COPY printed (line) FROM STDIN (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')",
             lines);
    free(lines);
}

/* Sends all that is due; the status. */
static inline int run_drain(struct fixture *fixture)
{
    return run(fixture, "run", "--drain", "-c", fixture->config);
}

/* The same, which ends with this status and prints so many events. */
static inline void expect_drained(struct fixture *fixture, int status, int events)
{
    expect(fixture, run_drain(fixture), status);
    assert_int_equal(count_lines(fixture->process.out), events);
}

/* The same; what it prints is added to the table `printed`. */
static inline void drain_printed(struct fixture *fixture, int status)
{
    expect(fixture, run_drain(fixture), status);
    load_printed(fixture, fixture->process.out);
}

/* Every event of the table was printed, and no other. */
static inline void assert_all_printed(struct fixture *fixture)
{
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT event_id::text FROM outbox EXCEPT"
                  " SELECT line->>'id' FROM printed) lost");
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT line->>'id' FROM printed EXCEPT"
                  " SELECT event_id::text FROM outbox) invented");
}

/* In the order in which a consumer sees them first, the payloads of a key, numbers, only rise. */
static inline void assert_keys_printed_in_order(struct fixture *fixture)
{
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM (SELECT seen, payload, lag(payload) OVER"
                  " (PARTITION BY key ORDER BY seen) AS before FROM (SELECT"
                  " line->>'key' AS key, (line->>'payload')::int AS payload,"
                  " min(place) AS seen FROM printed GROUP BY 1, 2) firsts) pairs"
                  " WHERE before > payload");
}

/* What init printed, a statement at a time, as psql would run it: CREATE INDEX CONCURRENTLY stands
 * alone. */
static inline void execute_printed(struct fixture *fixture)
{
    PGconn *psql = harness_connect(fixture->url);
    char *rest = fixture->process.out;
    char *end;

    while ((end = strstr(rest, ";\n")) != NULL) {
        *end = '\0';
        sql(psql, "%s", rest);
        rest = end + 2;
    }
    PQfinish(psql);
}

/* init, and by hand what it leaves to the owner of a table that was there before. */
static inline void init_existing(struct fixture *fixture)
{
    int status = run_command(fixture, "init");

    if (status != 5) {
        expect(fixture, status, 0);
        return;
    }
    assert_non_null(strstr(fixture->process.out, ";\n"));
    execute_printed(fixture);
}

/* A role of that name, with the privileges that `init --grant` prints. */
static inline void make_role(struct fixture *fixture, const char *role)
{
    sql(fixture->conn, "SET client_min_messages = warning");
    sql(fixture->conn, "DROP ROLE IF EXISTS %s", role);
    sql(fixture->conn, "CREATE ROLE %s LOGIN", role);
    expect_run(fixture, 0, "init", "--grant", role);
    sql(fixture->conn, "%s", fixture->process.out);
}

/* Every configuration that is written from here on logs in as this role. */
static inline void log_in_as(struct fixture *fixture, const char *role)
{
    const char *at = strchr(fixture->url, '@');
    char url[sizeof fixture->url];

    assert_non_null(at);
    (void)snprintf(url, sizeof url, "postgresql://%s%s", role, at);
    memcpy(fixture->url, url, sizeof url);
}

/* A table as Debezium's outbox router reads it, with one row of these columns. */
static inline void make_their_events(struct fixture *fixture, const char *columns,
                                     const char *values)
{
    sql(fixture->conn,
        "CREATE TABLE public.their_events (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),"
        " aggregatetype varchar(255) NOT NULL, aggregateid varchar(255) NOT NULL,"
        " type varchar(255) NOT NULL, payload jsonb)");
    sql(fixture->conn, "INSERT INTO their_events (%s) VALUES (%s)", columns, values);
}

/* Every program that is started from here on has the library before its own; a sanitizer's stays
 * before both. */
static inline void preload(const char *library)
{
    assert_int_equal(setenv("LD_PRELOAD", library, 1), 0);
    assert_int_equal(setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1), 0);
}

static inline void preload_nothing(void)
{
    assert_int_equal(unsetenv("LD_PRELOAD"), 0);
    assert_int_equal(unsetenv("ASAN_OPTIONS"), 0);
}

#endif
