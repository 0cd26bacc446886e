/* Whoever waits for a lock says that, and who holds it. */
#include "integration/program.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

FIXTURE(set_up, fixture_close)

/* Another session, called "migration", that keeps what the statement locks until it ends. */
static PGconn *hold(struct fixture *fixture, const char *statement)
{
    PGconn *holder = harness_connect(fixture->url);

    sql(holder, "SET application_name = 'migration'; BEGIN; %s", statement);
    return holder;
}

static void assert_names(const char *text, PGconn *holder, const char *table)
{
    char pid[64];
    char place[64];

    (void)snprintf(pid, sizeof pid, "the lock is held by pid %d (role \"", PQbackendPID(holder));
    (void)snprintf(place, sizeof place, ") on %s", table);
    assert_says(text, pid);
    assert_says(text, place);
}

FIXTURE_TEST(init_and_check_name_who_holds_the_lock)
{
    static const char *const statements[] = {"LOCK TABLE outbox IN ACCESS EXCLUSIVE MODE",
                                             "ALTER TABLE outbox ADD COLUMN more int"};

    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        PGconn *holder = hold(fixture, statements[i]);

        expect(fixture, run_command(fixture, "check"), 3);
        assert_names(fixture->process.out, holder, "outbox");
        assert_says(fixture->process.out, "pg_terminate_backend(");
        expect(fixture, run_command(fixture, "init"), 3);
        assert_names(fixture->process.err, holder, "outbox");
        PQfinish(holder);
    }
    sql(fixture->conn, "BEGIN; LOCK TABLE outbox; PREPARE TRANSACTION 'its name'");
    expect(fixture, run_command(fixture, "check"), 3);
    sql(fixture->conn, "ROLLBACK PREPARED 'its name'");
    assert_says(fixture->process.out, "held by prepared transaction 'its name' on outbox");
    assert_says(fixture->process.out, "ROLLBACK PREPARED 'its name'");
    sql(fixture->conn, "ALTER TABLE outbox_parked DROP COLUMN headers");
    {
        PGconn *holder = hold(fixture, "SELECT FROM outbox_parked");

        expect(fixture, run_command(fixture, "init"), 3);
        assert_names(fixture->process.err, holder, "outbox_parked");
        assert_says(fixture->process.err, "nothing was changed; run the command again");
        PQfinish(holder);
    }
}

FIXTURE_TEST(run_waits_for_a_lock_and_is_not_cut_off)
{
    PGconn *holder;

    sql(fixture->conn, "GRANT pg_read_all_stats TO " HARNESS_RELAY);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "relaying from");
    holder = hold(fixture, "ALTER TABLE outbox ADD COLUMN more int");
    process_await_words(&fixture->process, "the database has the relay wait for a lock");
    process_await_words(&fixture->process, ", migration, idle in transaction since 2");
    PQfinish(holder);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t')");
    process_await_words(&fixture->process, "\"topic\":\"t\"");
    process_await_words(&fixture->process, "the database has given the lock after ");
    assert_int_equal(process_count_words(&fixture->process, "away"), 0);
    process_stop(&fixture->process, SIGTERM);
    sql(fixture->conn, "REVOKE pg_read_all_stats FROM " HARNESS_RELAY);
    assert_int_equal(fixture->process.status, 0);
}

FIXTURE_TEST(a_row_that_another_transaction_keeps_is_a_lock_too)
{
    PGconn *holder;

    write_relay_toml(fixture,
                     "[outbox]\ntable = \"events\"\n" STDOUT_SINK "\n"); /* with order = "key" */
    expect(fixture, run_command(fixture, "init"), 0);
    sql(fixture->conn, "INSERT INTO events (topic) VALUES ('t')");
    holder = hold(fixture, "UPDATE events SET topic = 'u'");
    process_free(&fixture->process);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "the relay wait for a lock");
    process_await_words(&fixture->process, "(role \"postgres\", migration");
    assert_int_equal(process_count_words(&fixture->process, "away"), 0);
    PQfinish(holder);
    process_await_words(&fixture->process, "\"topic\":\"t\"");
    process_stop(&fixture->process, SIGTERM);
}
