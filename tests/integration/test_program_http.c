/* The built program's HTTP server: what each address answers. */
#include "integration/http.h"

#include "http/metrics.h"

FIXTURE(set_up_http, fixture_close)

/* With a sink that nobody can reach beside the other. */
static void configure_away(struct fixture *fixture)
{
    (void)close(take_port());
    write_relay_toml(fixture,
                     "[outbox]\nslices = 4\n"
                     "[relay]\npoll_interval = \"50ms\"\n"
                     "[http]\nlisten = \"127.0.0.1:%d\"\n[sink.out]\n"
                     "type = \"stdout\"\n[sink.gone]\ntype = \"nats\"\n"
                     "servers = [\"nats://127.0.0.1:1\"]\nstream = \"GONE\"\n"
                     "[[route]]\nmatch = \"gone.>\"\nsink = \"gone\"\n"
                     "[[route]]\nmatch = \">\"\nsink = \"out\"\n",
                     port);
}

static int set_up_away(void **state)
{
    return fixture_open(state, configure_away);
}

FIXTURE_TEST(each_address_answers)
{
    start(fixture);
    await_answer("/readyz", 200, "ready");
    await_answer("/status", 200, "\"backlog\":0");
    await_answer("/metrics", 200, "\noutbox_relay_sink_up{sink=\"out\"} 1\n");
    assert_says(answer, "Content-Type: text/plain; version=0.0.4");
    await_answer("/", 200, "<h1>outbox-relay</h1>");
    assert_says(answer, "Content-Security-Policy: default-src 'none'; style-src 'sha256-");
    assert_says(answer, "script-src 'sha256-");
    assert_says(answer, "Cache-Control: no-store");
    assert_int_equal(ask("GET", "/../etc/passwd"), 404);
    assert_int_equal(ask("GET", "/metrics/"), 404);
    stop_relay(fixture);
}

FIXTURE_TEST(only_get_and_head_are_answered)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "BREW"};

    start(fixture);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        assert_int_equal(ask(methods[i], "/metrics"), 405);
        assert_says(answer, "Allow: GET, HEAD");
    }
    assert_int_equal(ask("HEAD", "/metrics"), 200);
    assert_null(strstr(answer, "outbox_relay"));
    stop_relay(fixture);
}

/* A page whose site has given its own name the address 127.0.0.1 would read what is served. */
FIXTURE_TEST(only_a_host_of_this_machine_is_answered)
{
    static const char *const others[] = {
        "evil.example",           "evil.example:80", "127.0.0.1.evil.example",
        "localhost.evil.example", "10.0.0.1",        "[::2]"};
    static const char *const own[] = {"localhost:9464", "LOCALHOST", "127.0.0.1", "127.9.9.9:1",
                                      "[::1]:9464"};

    start(fixture);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(ask_host("GET", "/status", others[i]), 421);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        assert_int_equal(ask_host("GET", "/healthz", own[i]), 200);
    stop_relay(fixture);
}

/* A metric whose path in config/metrics.tsv leads nowhere has no value; of these few that is so
 * here. */
static void assert_metrics_have_values(void)
{
    static const char rare[] = " sink_duplicate_window_seconds stable_id_still_seconds ";
    char words[128];

    for (const struct metric *metric = embedded_metrics; metric->name != NULL; metric++) {
        (void)snprintf(words, sizeof words, " %s ", metric->name);
        if (strstr(rare, words) != NULL)
            continue;
        (void)snprintf(words, sizeof words, "\n# TYPE outbox_relay_%s %s\n", metric->name,
                       metric->type);
        assert_says(answer, words);
    }
}

FIXTURE_TEST(metrics_count_rows_by_sink_and_promtool_accepts_them)
{
    FILE *promtool;

    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 'good.a', i::text FROM"
                       " generate_series(1, 20) i");
    sql(fixture->conn, "INSERT INTO outbox (topic, key, headers) SELECT 'good.a', 'x',"
                       " CASE i WHEN 1 THEN '[]'::jsonb END FROM generate_series(1, 3) i");
    start(fixture);
    await_answer("/metrics", 200, "\noutbox_relay_sent_total{sink=\"out\"} 20\n");
    await_answer("/metrics", 200, "\noutbox_relay_dead_rows 1\n");
    assert_says(answer, "\noutbox_relay_dead_total{sink=\"\",reason=\"rejected\"} 1\n");
    assert_says(answer, "\noutbox_relay_parked_total{sink=\"out\",state=\"behind\"} 2\n");
    assert_says(answer, "\noutbox_relay_held_keys 1\n");
    assert_says(answer, "\noutbox_relay_held_rows 2\n");
    assert_says(answer, "\noutbox_relay_delivery_duration_seconds_count 20\n");
    assert_says(answer, "\noutbox_relay_relays 1\n");
    assert_metrics_have_values();
    promtool = popen("promtool check metrics 2>&1", "w");
    assert_non_null(promtool);
    assert_true(fputs(strstr(answer, "\r\n\r\n") + 4, promtool) >= 0);
    assert_int_equal(pclose(promtool), 0);
    stop_relay(fixture);
}

FIXTURE_TEST(a_role_with_the_granted_rights_measures_everything)
{
    make_role(fixture, "http_relay");
    log_in_as(fixture, "http_relay");
    configure_http(fixture);
    start(fixture);
    await_answer("/metrics", 200, "\noutbox_relay_sample_ok 1\n");
    assert_says(answer, "\noutbox_relay_table_bytes ");
    assert_says(answer, "\noutbox_relay_xmin_held_seconds{kind=\"backend\"} ");
    stop_relay(fixture);
}

FIXTURE_TEST_WITH(a_sink_that_is_away_makes_the_relay_unready_and_is_named, set_up_away,
                  fixture_close)
{
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('gone.a'), ('here.a')");
    start(fixture);
    await_answer("/readyz", 503, "sink gone: away for ");
    assert_null(strstr(answer, "sink out"));
    assert_null(strstr(answer, "database"));
    await_answer("/metrics", 200, "\noutbox_relay_sink_up{sink=\"gone\"} 0\n");
    assert_says(answer, "\noutbox_relay_sink_up{sink=\"out\"} 1\n");
    await_answer("/metrics", 200, "\noutbox_relay_sent_total{sink=\"out\"} 1\n");
    await_answer("/status", 200,
                 "nats://127.0.0.1:1: nothing answers (connection refused, or no such host)");
    assert_says(answer, "{\"name\":\"out\",\"type\":\"stdout\",\"sent\":1,");
    assert_int_equal(ask("GET", "/healthz"), 200);
    stop_relay(fixture);
}

FIXTURE_TEST(a_database_that_is_away_makes_the_relay_unready_until_it_is_back)
{
    char name[64];
    char admin_url[256];
    PGconn *admin;

    start(fixture);
    await_answer("/readyz", 200, "ready");
    await_answer("/status", 200, "\"database\":{\"state\":\"up\"");
    (void)snprintf(name, sizeof name, "%s", sql_text(fixture->conn, "SELECT current_database()"));
    (void)snprintf(admin_url, sizeof admin_url, "%s", harness_env("TEST_PG_URL"));
    admin = harness_connect(admin_url);
    sql(admin, "ALTER DATABASE \"%s\" ALLOW_CONNECTIONS false", name);
    sql(admin,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'"
        " AND application_name LIKE 'outbox-relay/%%'",
        name);
    await_answer("/readyz", 503, "database: ");
    assert_int_equal(ask("GET", "/healthz"), 200);
    await_answer("/metrics", 200, "\noutbox_relay_sample_ok 0\n");
    await_answer("/status", 200, "\"database\":{\"state\":\"failing\""); /* the server answers */
    sql(admin, "ALTER DATABASE \"%s\" ALLOW_CONNECTIONS true", name);
    await_answer("/readyz", 200, "ready");
    PQfinish(admin);
    stop_relay(fixture);
}

/* The page itself is the same whatever they say; make test-page tries what its script does with
 * them. */
FIXTURE_TEST(what_rows_say_is_data_and_no_part_of_the_page)
{
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('<script>alert(\"x\")</script>')");
    start(fixture);
    await_answer("/status", 200, "<script>alert(\\\"x\\\")");
    assert_says(answer, "Content-Type: application/json");
    assert_says(answer, "X-Content-Type-Options: nosniff");
    assert_int_equal(ask("GET", "/"), 200);
    assert_null(strstr(answer, "alert("));
    stop_relay(fixture);
}

FIXTURE_TEST(without_an_address_nothing_is_served)
{
    write_config(fixture, "", STDOUT_SINK);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('good.a')");
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    wait_for_number(fixture->conn, 1, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    assert_null(strstr(fixture->process.err != NULL ? fixture->process.err : "", "http"));
    assert_number(fixture->conn, 0,
                  "SELECT count(*) FROM pg_stat_activity WHERE datname ="
                  " current_database() AND application_name = 'outbox-relay/admin'");
    stop_relay(fixture);
}

FIXTURE_TEST(health_asks_the_relay_of_this_machine)
{
    struct process relay;
    int listener;

    process_start(&relay, NULL, "run", "-c", fixture->config, NULL);
    await_answer("/healthz", 200, "ok");
    expect_run(fixture, 0, "health");
    assert_string_equal(fixture->process.out, "ok\n");
    process_stop(&relay, SIGTERM);
    process_free(&relay);
    expect_run(fixture, 1, "health");
    assert_says(fixture->process.err, "Connection refused");

    listener = take_port();
    (void)snprintf(fixture->config, sizeof fixture->config, "%s",
                   harness_file("silent.toml",
                                "[http]\nlisten = \"127.0.0.1:%d\"\n[sink.out]\n"
                                "type = \"stdout\"\n",
                                port));
    expect_run(fixture, 1, "health");
    assert_says(fixture->process.err, "does not answer");
    (void)close(listener);
}

FIXTURE_TEST(health_without_an_address_says_so)
{
    write_config(fixture, "", STDOUT_SINK);
    expect_run(fixture, 2, "health");
    assert_says(fixture->process.err, "[http] listen");
}
