/* The built program and the tables: what `init` makes and prints, what `check` finds. */
#include "integration/program.h"

#include <stdio.h>
#include <string.h>

static void init_is_idempotent_and_prints_what_an_existing_table_lacks(void **state)
{
    struct fixture *fixture = *state;

    expect(fixture, run(fixture, "init", "-c", fixture->config), 0);
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN event_id");
    sql(fixture->conn, "DROP INDEX outbox_unsent_idx");
    expect(fixture, run(fixture, "init", "-c", fixture->config), 3);
    assert_says(fixture->process.out,
                "ALTER TABLE \"public\".\"outbox\" ADD COLUMN \"event_id\" uuid");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY");
}

static void what_init_prints_can_be_executed(void **state)
{
    struct fixture *fixture = *state;

    sql(fixture->conn, "DROP TABLE outbox, outbox_parked");
    expect(fixture, run(fixture, "init", "--print", "-c", fixture->config), 0);
    sql(fixture->conn, "%s", fixture->process.out);
    expect(fixture, run(fixture, "check", "-c", fixture->config), 0);
}

static void the_printed_grants_suffice_for_a_restricted_role(void **state)
{
    struct fixture *fixture = *state;
    char url[256];
    const char *at = strchr(fixture->url, '@');

    sql(fixture->conn, "DROP ROLE IF EXISTS restricted");
    sql(fixture->conn, "CREATE ROLE restricted LOGIN");
    (void)snprintf(url, sizeof url, "postgresql://restricted%s", at);
    expect(fixture, run(fixture, "init", "--grant", "restricted", "-c", fixture->config), 0);
    sql(fixture->conn, "%s", fixture->process.out);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t'), ('')");
    memcpy(fixture->url, url, sizeof url);
    write_config(fixture, "", STDOUT_SINK);
    expect(fixture, run(fixture, "check", "-c", fixture->config),
           4); /* the empty topic cannot be routed */
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 1);
    expect(fixture, run(fixture, "purge", "--older-than", "0", "-c", fixture->config), 0);
    sql(fixture->conn, "REVOKE ALL ON outbox, outbox_parked FROM restricted");
    expect(fixture, run(fixture, "check", "-c", fixture->config), 3);
    assert_says(fixture->process.out,
                "GRANT UPDATE (sent_at) ON \"public\".\"outbox\" TO \"restricted\";");
    assert_says(fixture->process.out,
                "GRANT INSERT ON \"public\".\"outbox_parked\" TO \"restricted\";");
    expect(fixture, run(fixture, "run", "-c", fixture->config), 3);
    sql(fixture->conn, "REVOKE ALL ON SCHEMA public FROM restricted");
    sql(fixture->conn, "DROP ROLE restricted");
}

static void check_reports_every_finding_with_its_fix(void **state)
{
    struct fixture *fixture = *state;

    expect(fixture, run(fixture, "check", "-c", fixture->config), 0);
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN sent_at");
    sql(fixture->conn, "ALTER TABLE outbox DROP COLUMN topic");
    sql(fixture->conn, "DROP TABLE outbox_parked");
    expect(fixture, run(fixture, "check", "-c", fixture->config), 3);
    assert_says(fixture->process.out, "ADD COLUMN \"sent_at\" timestamptz;");
    assert_says(fixture->process.out, "ADD COLUMN \"topic\" text;");
    assert_says(fixture->process.out, "table \"public\".\"outbox_parked\" not found");
    assert_says(fixture->process.out, "CREATE INDEX CONCURRENTLY");
}

static void check_routes_waiting_rows_by_their_key_too(void **state)
{
    struct fixture *fixture = *state;

    write_config(fixture, "",
                 STDOUT_SINK "\n[[route]]\nmatch = \">\"\nsink = \"out\"\n"
                             "topic = \"{topic}.{key}\"");
    sql(fixture->conn, "INSERT INTO outbox (topic, key) VALUES ('order', 'eu')");
    expect(fixture, run(fixture, "check", "-c", fixture->config), 0);
    assert_null(strstr(fixture->process.out, "error:"));
    assert_says(fixture->process.out, "\"order.eu\"");
}

static void check_prints_the_topic_of_a_waiting_row_escaped(void **state)
{
    struct fixture *fixture = *state;

    write_config(fixture, "", STDOUT_SINK "\n[[route]]\nmatch = \"good.*\"\nsink = \"out\"");
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES (E'a\\nb\\033[31m'),"
                       " (E'good.a\\nb\\033[31m')");
    (void)run(fixture, "check", "-c", fixture->config);
    assert_says(fixture->process.out, "a\\nb\\x1b[31m");
    assert_says(fixture->process.out, "good.a\\nb\\x1b[31m");
    assert_null(strchr(fixture->process.out, '\033'));
    assert_null(strstr(fixture->process.out, "a\nb"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(init_is_idempotent_and_prints_what_an_existing_table_lacks),
        TEST(what_init_prints_can_be_executed),
        TEST(the_printed_grants_suffice_for_a_restricted_role),
        TEST(check_reports_every_finding_with_its_fix),
        TEST(check_routes_waiting_rows_by_their_key_too),
        TEST(check_prints_the_topic_of_a_waiting_row_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
