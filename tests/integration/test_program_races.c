/* Everything at once in one relay: lanes, sampler, report, listener, questions, reloads. It is
 * there for `make tsan`, where a relay that has seen a race ends with another status than 0. */
#include "integration/http.h"

#define ROUNDS 9 /* the last pause is over */

static void configure_batch(struct fixture *fixture, int batch)
{
    write_relay_toml(fixture,
                     "[outbox]\nslices = 4\n"
                     "[relay]\npoll_interval = \"50ms\"\nbatch = %d\n[retry]\nmax_attempts = 2\n"
                     "backoff = \"20ms\"\n[http]\nlisten = \"127.0.0.1:%d\"\n[sink.bus]\n"
                     "type = \"nats\"\nservers = [\"%s\"]\nstream = \"RACES\"\ncreate = true\n"
                     "allow = [\"races.>\"]\n[sink.out]\ntype = \"stdout\"\n[[route]]\n"
                     "match = \"races.>\"\nsink = \"bus\"\n[[route]]\nmatch = \"good.>\"\n"
                     "sink = \"out\"\n",
                     batch, port, harness_env("TEST_NATS_URL"));
}

static void configure_races(struct fixture *fixture)
{
    (void)close(take_port());
    configure_batch(fixture, 100);
}

static int set_up_races(void **state)
{
    return fixture_open(state, configure_races);
}

FIXTURE(set_up_races, fixture_close)

FIXTURE_TEST(nothing_races_while_rows_are_relayed_and_everything_is_asked_for)
{
    static const char *const paths[] = {"/", "/metrics", "/status", "/readyz", "/healthz"};
    struct process relay;

    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    await_answer("/readyz", 200, "ready");
    for (int round = 0; round < ROUNDS; round++) {
        sql(fixture->conn, "INSERT INTO outbox (topic, key, payload) SELECT (ARRAY['good.a',"
                           " 'races.a', 'bad.a'])[1 + i %% 10 / 4], (i %% 7)::text, '1'"
                           " FROM generate_series(1, 300) i");
        configure_batch(fixture, 20 + round);
        assert_int_equal(kill(relay.pid, SIGHUP), 0);
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
            assert_true(ask("GET", paths[i]) > 0);
        expect_run(fixture, 0, "status", "--json");
        if (round == ROUNDS / 2)
            sql(fixture->conn, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE"
                               " application_name LIKE 'outbox-relay/%%' AND datname ="
                               " current_database()");
        if (round % 3 == 1)
            expect_run(fixture, 0, "pause", "topic", "good.>");
        if (round % 3 == 2)
            expect_run(fixture, 0, "resume", "topic", "good.>");
        expect_run(fixture, 0, "dead", "drop", "--all");
    }
    wait_for_number(fixture->conn, 0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
    await_answer("/metrics", 200, "\noutbox_relay_backlog_rows 0\n");
    process_stop(&relay, SIGTERM);
    if (relay.status != 0)
        fail_msg("status %d: %s", relay.status, relay.err);
    process_free(&relay);
}
