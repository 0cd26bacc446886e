/* SIGHUP: the running program reads its configuration again. */
#include "integration/http.h"

FIXTURE(set_up, fixture_close)

static void start_with(struct fixture *fixture, const char *rest)
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

TEST(sighup_changes_every_key)
{
    static const char *const said[] = {
        "level=info msg=\"[outbox] table = \"public.other\", was \"public.outbox\"\"",
        "level=info msg=\"[relay] batch = 7, was 500\"",
        "level=info msg=\"[relay] lanes = 3, was 2\"",
        "level=info msg=\"[relay] publish_timeout = \"3s\", was \"10s\"\"",
        "level=info msg=\"[sink.second] type = \"stdout\", was not given\"",
        "level=info msg=\"[sink.out] type is not given, was \"stdout\"\"",
        "level=info msg=\"[[route]] 1: match = \"t\", was not given\"",
        "level=info msg=\"[log] level = \"debug\", was \"info\"\"",
        "relaying from public.other with 3 lanes of 7 rows",
    };
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;
    char rest[512];

    write_config(fixture, "table = \"public.other\"", STDOUT_SINK);
    expect(fixture, run(fixture, "init", "-c", fixture->config), 0);
    process_free(process);
    (void)close(take_port());
    start_with(fixture, "batch = 500\n" STDOUT_SINK "\n[http]\nlisten = \"\"\n");
    (void)snprintf(rest, sizeof rest,
                   "batch = 7\nlanes = 3\npublish_timeout = \"3s\"\n[log]\nlevel = \"debug\"\n"
                   "[http]\nlisten = \"127.0.0.1:%d\"\n[sink.second]\ntype = \"stdout\"\n"
                   "[[route]]\nmatch = \"t\"\nsink = \"second\"\ntopic = \"renamed\"\n",
                   port);
    rewrite(fixture, "table = \"public.other\"", rest);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        process_await_words(process, said[i]);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('t');"
                       "INSERT INTO other (topic) SELECT 't' FROM generate_series(1, 100)");
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM other WHERE sent_at IS NULL");
    await_answer("/readyz", 200, "ready");
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(process_count_words(process, "\"topic\":\"renamed\""), 100);
    assert_int_equal(sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NULL"),
                     1);
}

/* Rows come all the time, and batches of each size are in hand when the next signal comes. */
TEST(no_row_is_lost_or_repeated_while_one_of_two_relays_reloads)
{
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;
    struct process other;
    char rest[128];

    start_with(fixture, "batch = 50\n" STDOUT_SINK);
    other = *process;
    start_with(fixture, "batch = 100\n" STDOUT_SINK);
    for (int i = 0; i < 20; i++) {
        insert(fixture, 2000);
        (void)snprintf(rest, sizeof rest, "batch = %d\nlanes = %d\n%s", 1 + i * 37, 1 + i % 3,
                       STDOUT_SINK);
        rewrite(fixture, "", rest);
    }
    process_await_words(process, "[relay] batch = 704, was ");
    await_all_sent(fixture);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    process_stop(&other, SIGTERM);
    assert_int_equal(other.status, 0);
    assert_int_equal(count_lines(process->out) + count_lines(other.out), 40000);
    load_printed(fixture, process->out);
    load_printed(fixture, other.out);
    assert_all_printed(fixture);
    process_free(&other);
}

TEST(what_the_file_or_the_database_refuses_leaves_the_relay_as_it_is)
{
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;

    start_with(fixture, STDOUT_SINK);
    rewrite(fixture, "", "batch = 0\nlanse = 3\n" STDOUT_SINK);
    process_await_words(process, "relay.toml:8:1: batch = 0: must be 1..10000");
    process_await_words(process, "relay.toml:9:1: unknown key \"lanse\"");
    process_await_words(process, "level=error msg=\"SIGHUP: the running configuration stays\"");
    rewrite(fixture, "table = \"public.absent\"", STDOUT_SINK);
    process_await_words(process, "level=error msg=\"SIGHUP: the running configuration stays\""
                                 " error=\"table \"public\".\"absent\" does not exist");
    insert(fixture, 100);
    await_all_sent(fixture);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(count_lines(process->out), 100);
}

TEST(a_relay_that_is_told_to_stop_while_it_reloads_stops)
{
    struct fixture *fixture = *state;
    struct process *process = &fixture->process;

    start_with(fixture, STDOUT_SINK);
    insert(fixture, 5000);
    rewrite(fixture, "", "batch = 100\n" STDOUT_SINK);
    rewrite(fixture, "", "batch = 200\n" STDOUT_SINK);
    process_stop(process, SIGTERM);
    expect(fixture, process->status, 0);
    assert_int_equal(
        count_lines(process->out),
        sql_number(fixture->conn, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL"));
}
