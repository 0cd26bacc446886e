/* SIGHUP: the running program reads its configuration again. */
#include "integration/program.h"

#include <signal.h>

FIXTURE(set_up, fixture_close)

static void start(struct fixture *fixture, const char *rest)
{
    write_config(fixture, "", rest);
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "relaying from");
}

/* Writes another configuration in the place of the first. */
static void rewrite(struct fixture *fixture, const char *outbox, const char *rest)
{
    write_config(fixture, outbox, rest);
    assert_int_equal(kill(fixture->process.pid, SIGHUP), 0);
}

static void insert(struct fixture *fixture, int rows)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload) SELECT 't', to_jsonb(i) FROM generate_series(1, %d) i",
        rows);
}

static void await_all_sent(struct fixture *fixture)
{
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
}

FIXTURE_TEST(sighup_applies_what_can_be_applied_and_names_what_cannot)
{
    struct process *process = &fixture->process;

    start(fixture, "batch = 500\n" STDOUT_SINK);
    rewrite(fixture, "slices = 16",
            "batch = 7\nlanes = 3\npublish_timeout = \"3s\"\n[retry]\nmax_attempts = 4\n"
            "[log]\nlevel = \"debug\"\n" STDOUT_SINK "\nallow = [\"a\"]\n");
    process_await_words(process, "level=info msg=\"[relay] batch = 7, was 500\"");
    process_await_words(process, "level=info msg=\"[relay] publish_timeout = 3s, was 10s\"");
    process_await_words(process, "level=info msg=\"[retry] max_attempts = 4, was 10\"");
    process_await_words(process, "level=info msg=\"[log] level = debug, was info\"");
    process_await_words(process, "level=warn msg=\"[relay] lanes = 3 needs a restart, because ");
    process_await_words(process, "it stays 2\"");
    process_await_words(process, "level=warn msg=\"[outbox] slices = 16 needs a restart, because ");
    process_await_words(process, "level=warn msg=\"[sink.out] allow = a needs a restart");
    insert(fixture, 100);
    await_all_sent(fixture);
    process_await_words(process, "the lane has the new configuration");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(count_lines(process->out), 100);
}

/* Rows come all the time, and batches of each size are in hand when the next signal comes. */
FIXTURE_TEST(no_row_is_lost_or_repeated_while_the_batch_size_changes)
{
    struct process *process = &fixture->process;
    char rest[128];

    start(fixture, "batch = 100\n" STDOUT_SINK);
    for (int i = 0; i < 20; i++) {
        insert(fixture, 2000);
        (void)snprintf(rest, sizeof rest, "batch = %d\nbatch_bytes = \"%dMiB\"\n%s", 1 + i * 37,
                       1 + i % 3, STDOUT_SINK);
        rewrite(fixture, "", rest);
    }
    process_await_words(process, "[relay] batch = 704, was ");
    await_all_sent(fixture);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(count_lines(process->out), 40000);
    load_printed(fixture, process->out);
    assert_all_printed(fixture);
}

FIXTURE_TEST(a_broken_file_leaves_the_running_configuration_and_says_where)
{
    struct process *process = &fixture->process;

    start(fixture, STDOUT_SINK);
    rewrite(fixture, "", "batch = 0\nlanse = 3\n" STDOUT_SINK);
    process_await_words(process, "relay.toml:8:1: batch = 0: must be 1..10000");
    process_await_words(process, "relay.toml:9:1: unknown key \"lanse\"");
    process_await_words(process, "level=error msg=\"SIGHUP: the running configuration stays\"");
    insert(fixture, 100);
    await_all_sent(fixture);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(count_lines(process->out), 100);
}
