#ifndef INTEGRATION_PROGRAM_H
#define INTEGRATION_PROGRAM_H

/* The fixture of the tests that run the program with the stdout sink. */

#include "integration/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STDOUT_SINK "[sink.out]\ntype = \"stdout\""

static inline void write_config(struct fixture *fixture, const char *outbox, const char *rest)
{
    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("relay.toml",
                     "[database]\nurl = \"%s\"\n[outbox]\norder = \"none\"\n%s\n[relay]\n"
                     "poll_interval = \"20ms\"\n%s\n",
                     fixture->url, outbox, rest));
}

static inline void configure(struct fixture *fixture)
{
    write_config(fixture, "", STDOUT_SINK);
}

static inline int set_up(void **state)
{
    return fixture_open(state, configure);
}

static inline int count_lines(const char *text)
{
    int lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

/* Puts the events of a stdout sink into the temporary table printed (line jsonb). A relay that was
 * killed may have left half a line at the end: it counts for nothing. */
static inline void load_printed(struct fixture *fixture, const char *out)
{
    const char *end = strrchr(out, '\n');
    char *lines = strndup(out, end != NULL ? (size_t)(end - out) + 1 : 0);

    assert_non_null(lines);
    sql(fixture->conn,
        "SET client_min_messages = warning; CREATE TEMP TABLE IF NOT EXISTS printed (line jsonb)");
    sql_copy(fixture->conn,
             "COPY printed FROM STDIN (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02')", lines);
    free(lines);
}

/* Every event of the table was printed, and no other. */
static inline void assert_all_printed(struct fixture *fixture)
{
    assert_int_equal(sql_number(fixture->conn,
                                "SELECT count(*) FROM (SELECT event_id::text FROM outbox EXCEPT"
                                " SELECT line->>'id' FROM printed) lost"),
                     0);
    assert_int_equal(sql_number(fixture->conn,
                                "SELECT count(*) FROM (SELECT line->>'id' FROM printed EXCEPT"
                                " SELECT event_id::text FROM outbox) invented"),
                     0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, fixture_close)

#endif
