/*
 * Several hosts on the connection string: a primary and its streaming standby. The relay finds the
 * one that accepts writes, says so when none does, and follows a promotion with every session.
 */
#include "integration/own_postgres.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define BATCH 50
#define KEYS 10

/* Sessions of relays, lanes and others alike. */
#define SESSIONS                                                                                   \
    "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'outbox-relay/%'"

static struct own_postgres primary;
static struct own_postgres standby;

struct hosts {
    char config[256];
    PGconn *application; /* to the database "shop" of the primary */
    struct process relay;
};

static struct hosts hosts;

/* `url`: what stands behind the name of the role. */
static void configure_hosts(const char *url)
{
    (void)snprintf(hosts.config, sizeof hosts.config, "%s",
                   harness_file("hosts.toml",
                                "[database]\nurl = \"%s\"\n[relay]\nbatch = %d\n"
                                "poll_interval = \"50ms\"\n[http]\nlisten = \"127.0.0.1:%d\"\n"
                                "[log]\nlevel = \"debug\"\n" STDOUT_SINK "\n",
                                url, BATCH, harness_free_port()));
}

static void configure_both(const char *rest)
{
    char url[256];

    (void)snprintf(url, sizeof url,
                   "postgresql://" HARNESS_RELAY "@127.0.0.1:%d,127.0.0.1:%d/shop?connect_timeout=2"
                   "%s",
                   primary.port, standby.port, rest);
    configure_hosts(url);
}

static int run_on_hosts(const char *command)
{
    process_free(&hosts.relay);
    return process_run(&hosts.relay, NULL, command, "-c", hosts.config, NULL);
}

static void start_relay(void)
{
    process_free(&hosts.relay);
    process_start(&hosts.relay, NULL, "run", "-c", hosts.config, NULL);
}

static int set_up_hosts(void **state)
{
    (void)state;
    create_own_postgres(&primary, NULL);
    create_own_standby(&standby, &primary);
    configure_both("");
    if (run_on_hosts("init") != 0)
        fail_msg("%s", hosts.relay.err);
    hosts.application = own_connect(&primary, "shop");
    return 0;
}

static int tear_down_hosts(void **state)
{
    (void)state;
    process_end_all();
    process_free(&hosts.relay);
    primary.process.pid = standby.process.pid = 0;
    PQfinish(hosts.application);
    end_own_postgres(&primary);
    end_own_postgres(&standby);
    return 0;
}

FIXTURE(set_up_hosts, tear_down_hosts)

static void insert_rows(PGconn *conn, int first, int count)
{
    sql(conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 'hosts', i %% %d, to_jsonb(i)"
        " FROM generate_series(%d, %d) i",
        KEYS, first, first + count - 1);
}

static void await_replay(void)
{
    wait_for_number(hosts.application, 1,
                    "SELECT count(*) FROM pg_stat_replication"
                    " WHERE replay_lsn >= pg_current_wal_flush_lsn()");
}

/* Each row of the server was printed, and the payloads of a key rise where they are seen first. */
static void assert_printed_in_order(PGconn *conn, int rows)
{
    struct fixture fixture = {.conn = conn};

    assert_number(conn, rows, "SELECT count(*) FROM outbox");
    load_printed(&fixture, hosts.relay.out);
    assert_all_printed(&fixture);
    assert_keys_printed_in_order(&fixture);
}

TEST(after_the_primary_is_killed_rows_go_on_at_the_promoted_standby)
{
    PGconn *conn;

    start_relay();
    insert_rows(hosts.application, 1, 1000);
    wait_for_number(hosts.application, 0, UNSENT);
    insert_rows(hosts.application, 1001, 1000);
    await_replay();
    kill_own_postgres(&primary);
    process_await_words(&hosts.relay, "session is read-only"); /* all that is left is the standby */
    promote_own_standby(&standby);
    conn = own_connect(&standby, "shop");
    insert_rows(conn, 2001, 1000);
    wait_for_number(conn, 0, UNSENT);
    wait_for_number(conn, 4, SESSIONS); /* two lanes, the watcher and the sampler */
    process_stop(&hosts.relay, SIGTERM);
    assert_int_equal(hosts.relay.status, 0);
    assert_printed_in_order(conn, 3000);
    PQfinish(conn);
}

TEST(every_session_leaves_a_primary_that_became_read_only)
{
    PGconn *conn;

    start_relay();
    insert_rows(hosts.application, 1, 100);
    wait_for_number(hosts.application, 0, UNSENT);
    wait_for_number(hosts.application, 4, SESSIONS);
    await_replay();
    sql(hosts.application, "ALTER SYSTEM SET default_transaction_read_only = on");
    sql(hosts.application, "SELECT pg_reload_conf()");
    promote_own_standby(&standby);
    conn = own_connect(&standby, "shop");
    insert_rows(conn, 101, 100);
    wait_for_number(conn, 0, UNSENT);
    wait_for_number(conn, 4, SESSIONS);
    wait_for_number(hosts.application, 0, SESSIONS);
    process_stop(&hosts.relay, SIGTERM);
    assert_int_equal(hosts.relay.status, 0);
    assert_printed_in_order(conn, 200);
    PQfinish(conn);
}

/* Without a horizon, too, the session that flushes the WAL follows the lanes. */
TEST(with_ids_that_are_no_integers_every_session_leaves_too)
{
    char url[256];
    PGconn *conn;

    sql(hosts.application, "DROP TABLE outbox, outbox_parked, outbox_control, outbox_slice;"
                           "CREATE TABLE outbox (id uuid PRIMARY KEY DEFAULT gen_random_uuid(),"
                           " event_id uuid DEFAULT gen_random_uuid(), topic text NOT NULL,"
                           " payload jsonb, sent_at timestamptz);"
                           "CREATE INDEX outbox_unsent_idx ON outbox (id) WHERE sent_at IS NULL;"
                           "ALTER TABLE outbox OWNER TO " HARNESS_RELAY);
    (void)snprintf(url, sizeof url,
                   "postgresql://" HARNESS_RELAY "@127.0.0.1:%d,127.0.0.1:%d/shop\"\n"
                   "[outbox]\norder = \"none\"\nadopt = true\n#",
                   primary.port, standby.port);
    configure_hosts(url);
    if (run_on_hosts("init") != 0)
        fail_msg("%s", hosts.relay.err);
    start_relay();
    sql(hosts.application, "INSERT INTO outbox (topic) VALUES ('before')");
    wait_for_number(hosts.application, 0, UNSENT);
    await_replay();
    sql(hosts.application, "ALTER SYSTEM SET default_transaction_read_only = on");
    sql(hosts.application, "SELECT pg_reload_conf()");
    promote_own_standby(&standby);
    conn = own_connect(&standby, "shop");
    sql(conn, "INSERT INTO outbox (topic) VALUES ('after')");
    wait_for_number(conn, 0, UNSENT);
    wait_for_number(hosts.application, 0, SESSIONS);
    process_stop(&hosts.relay, SIGTERM);
    assert_int_equal(hosts.relay.status, 0);
    PQfinish(conn);
}

TEST(a_standby_alone_is_named_with_the_way_out_and_waited_for)
{
    static const char *const attributes[] = {"", "?target_session_attrs=any"};
    char url[256];

    insert_rows(hosts.application, 1, 10);
    await_replay();
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(url, sizeof url, "postgresql://" HARNESS_RELAY "@127.0.0.1:%d/shop%s",
                       standby.port, attributes[i]);
        configure_hosts(url);
        assert_int_equal(run_on_hosts("check"), 3);
        assert_says(hosts.relay.out, "read-only");
        assert_says(hosts.relay.out, "target_session_attrs=read-write");
    }
    start_relay();
    process_await_words(&hosts.relay, "read-only");
    process_await_words(&hosts.relay, "target_session_attrs=read-write");
    kill_own_postgres(&primary);
    promote_own_standby(&standby);
    PQfinish(hosts.application);
    hosts.application = own_connect(&standby, "shop");
    wait_for_number(hosts.application, 0, UNSENT);
    process_stop(&hosts.relay, SIGTERM);
    assert_int_equal(hosts.relay.status, 0);
    assert_printed_in_order(hosts.application, 10);
}

/* The first never answers, the second is a standby. */
TEST(the_primary_is_found_behind_a_silent_host_and_a_standby)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int port = harness_free_port();
    int silent = socket(AF_INET, SOCK_STREAM, 0);
    char list[64];

    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(silent, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silent, 100), 0);
    insert_rows(hosts.application, 1, 10);
    (void)snprintf(list, sizeof list, "%d,%d,%d", port, standby.port, primary.port);
    assert_int_equal(setenv("PGHOST", "127.0.0.1,127.0.0.1,127.0.0.1", 1), 0);
    assert_int_equal(setenv("PGPORT", list, 1), 0);
    configure_hosts("user=" HARNESS_RELAY " dbname=shop connect_timeout=2");
    assert_int_equal(run_on_hosts("check"), 0);
    process_free(&hosts.relay);
    assert_int_equal(process_run(&hosts.relay, NULL, "run", "--drain", "-c", hosts.config, NULL),
                     0);
    assert_printed_in_order(hosts.application, 10);
    assert_int_equal(unsetenv("PGHOST"), 0);
    assert_int_equal(unsetenv("PGPORT"), 0);
    (void)close(silent);
}
