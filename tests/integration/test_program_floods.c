/* What others in the database do in a loop costs the relay little: warnings, notifications. */
#include "integration/program.h"

#include <signal.h>

#define ROWS 3000

static void insert_rows(struct fixture *fixture)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i) FROM generate_series(1, %d) i",
        ROWS);
}

static void warn_at_each_row(struct fixture *fixture, const char *text)
{
    sql(fixture->conn,
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS"
        " $$BEGIN RAISE WARNING 'flood %%', %s; RETURN NEW; END$$;"
        "CREATE TRIGGER warn BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION warn()",
        text);
}

static void a_trigger_that_warns_of_each_row_costs_one_line_and_a_count(void **state)
{
    struct fixture *fixture = *state;

    insert_rows(fixture);
    warn_at_each_row(fixture, "NEW.id");
    expect(fixture, run(fixture, "run", "--drain", "-c", fixture->config), 0);
    assert_int_equal(count_lines(fixture->process.out), ROWS);
    assert_int_equal(process_count_words(&fixture->process, "database: flood "), 1);
    assert_says(fixture->process.err, "2999 more warnings of functions in the database");
}

static void set_standby(struct fixture *fixture, const char *name)
{
    char query[160];

    sql(fixture->conn, "SET synchronous_commit = off");
    sql(fixture->conn, "ALTER SYSTEM SET synchronous_standby_names = '%s'", name);
    sql(fixture->conn, "SELECT pg_reload_conf()");
    (void)snprintf(query, sizeof query,
                   "SELECT count(*) FROM pg_settings WHERE name = 'synchronous_standby_names'"
                   " AND setting = '%s'",
                   name);
    wait_for_number(fixture->conn, 1, query);
}

static void a_commit_that_did_not_wait_for_its_standby_is_seen_in_a_flood(void **state)
{
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;

    write_config(fixture, "durable_before_publish = false", STDOUT_SINK);
    insert_rows(fixture);
    warn_at_each_row(fixture, "translate(NEW.id::text, '0123456789', 'abcdefghij')");
    set_standby(fixture, "nosuch");
    process_start(process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1,
                    "SELECT (count(pg_cancel_backend(pid)) > 0)::int FROM pg_stat_activity"
                    " WHERE wait_event = 'SyncRep' AND datname = current_database()");
    process_await_words(process, "canceling wait for synchronous replication");
    set_standby(fixture, "");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_in_range(process_count_words(process, "database: flood "), 1, 8);
    assert_says(process->err, "more warnings of functions in the database");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_trigger_that_warns_of_each_row_costs_one_line_and_a_count),
        TEST(a_commit_that_did_not_wait_for_its_standby_is_seen_in_a_flood),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
