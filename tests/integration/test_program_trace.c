/* Trace spans of the built program: what a collector gets, and collectors that take nothing. */
#include "integration/collector.h"
#include "integration/http.h"
#include "integration/program.h"

#include <signal.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define SAMPLED "00-" TRACE "-" PARENT "-01"

#define DRAIN_MS 20000 /* the collector has a minute, and the relay does not wait for it */

static void configure_trace(struct fixture *fixture)
{
    write_config(fixture, "", STDOUT_SINK);
}

static int set_up_trace(void **state)
{
    collector_open();
    return fixture_open(state, configure_trace);
}

static int tear_down(void **state)
{
    collector_close();
    preload_nothing();
    return fixture_close(state);
}

FIXTURE(set_up_trace, tear_down)

static void trace_to(struct fixture *fixture, const char *host, const char *rest)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "%s\n[trace]\nendpoint = \"http://%s:%d\"\nheaders = \"authorization=Bearer"
                   "%%20${CANARY:-canary}\"\ntimeout = \"1m\"\n%s",
                   STDOUT_SINK, host, collector.port, rest);
    write_config(fixture, "", text);
}

static void insert_sampled(struct fixture *fixture, int rows)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, payload, headers) SELECT 't', '1', '{\"traceparent\": \"" SAMPLED
        "\"}' FROM generate_series(1, %d)",
        rows);
}

static void assert_times(struct fixture *fixture, const json_t *span, int64_t before_us)
{
    int64_t insert = span_event(span, "insert");

    assert_int_equal(insert / 1000,
                     sql_number(fixture->conn, "SELECT extract(epoch FROM created_at) * 1000000"
                                               " FROM outbox WHERE id = 1"));
    assert_int_equal(span_time(span, "startTimeUnixNano"), insert);
    assert_true(before_us * 1000 <= span_event(span, "claim"));
    assert_true(insert <= span_event(span, "claim"));
    assert_true(span_event(span, "claim") <= span_event(span, "publish"));
    assert_true(span_event(span, "publish") <= span_event(span, "acknowledge"));
    assert_int_equal(span_time(span, "endTimeUnixNano"), span_event(span, "acknowledge"));
    assert_true(span_event(span, "acknowledge") <= clock_wall_us() * 1000);
}

FIXTURE_TEST(a_sampled_row_makes_a_span_from_its_insert_to_its_acknowledgement)
{
    const json_t *span;
    int64_t before_us;

    trace_to(fixture, "127.0.0.1",
             "[outbox.headers]\n\"TraceParent\" = \"(CASE type WHEN 'here' THEN '" SAMPLED
             "' END)\"\n");
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, type, payload, headers) VALUES"
        " ('t.1', 'secret key', NULL, '\"secret payload\"', '{\"traceparent\": \"" SAMPLED
        "\", \"tracestate\": \"rojo=1,congo=2\", \"x\": \"secret header\"}'),"
        " ('t.2', NULL, NULL, '1', '{\"traceparent\": \"00-" TRACE "-" PARENT "-00\"}'),"
        " ('t.3', NULL, NULL, '1', '{\"traceparent\": \"" SAMPLED "x\"}'),"
        " ('t.4', NULL, NULL, '1', NULL), ('t.5', NULL, 'here', '1', NULL)");
    before_us = clock_wall_us();
    expect(fixture, run_drain(fixture), 0);
    assert_non_null(strstr(fixture->process.out, "\"traceparent\":\"" SAMPLED "\""));
    assert_null(strstr(fixture->process.err, "canary"));
    collector_await(2);
    assert_int_equal(collector_count(), 2);
    assert_non_null(strstr(collector.head, "POST /v1/traces HTTP/1.1\r\n"));
    assert_non_null(strstr(collector.head, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(collector.head, "\r\nauthorization: Bearer canary\r\n"));
    span = collector_span("1", 0);
    assert_member(span, "name", "outbox");
    assert_member(span, "traceId", TRACE);
    assert_member(span, "parentSpanId", PARENT);
    assert_member(span, "traceState", "rojo=1,congo=2");
    assert_string_not_equal(json_string_value(json_object_get(span, "spanId")),
                            json_string_value(json_object_get(collector_span("5", 0), "spanId")));
    assert_attribute(span, "messaging.system", "stdout");
    assert_attribute(span, "messaging.destination.name", "t.1");
    assert_attribute(span, "messaging.message.id",
                     sql_text(fixture->conn, "SELECT event_id FROM outbox WHERE id = 1"));
    assert_attribute(span, "outbox.topic", "t.1");
    assert_attribute(span, "outbox.sink", "out");
    assert_attribute(span, "outbox.attempts", "1");
    assert_times(fixture, span, before_us);
    {
        char *text = json_dumps(collector.spans, 0);

        assert_null(strstr(text, "secret"));
        free(text);
    }
}

FIXTURE_TEST(a_replayed_row_makes_another_span)
{
    trace_to(fixture, "127.0.0.1", "");
    insert_sampled(fixture, 1);
    expect(fixture, run_drain(fixture), 0);
    expect_run(fixture, 0, "replay", "1");
    expect(fixture, run_drain(fixture), 0);
    collector_await(2);
    assert_member(collector_span("1", 1), "parentSpanId", PARENT);
}

/* The first session that marks a row as sent ends before its COMMIT. */
FIXTURE_TEST(a_batch_that_is_sent_again_because_its_commit_failed_makes_spans_each_time)
{
    trace_to(fixture, "127.0.0.1", "");
    insert_sampled(fixture, 1);
    sql(fixture->conn,
        "CREATE SEQUENCE tries;"
        "CREATE FUNCTION end_session() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN"
        " IF nextval('public.tries') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid());"
        " END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER end_session AFTER UPDATE ON outbox FOR EACH ROW"
        " EXECUTE FUNCTION end_session()");
    expect(fixture, run_drain(fixture), 0);
    collector_await(2);
    assert_member(collector_span("1", 0), "traceId", TRACE);
    assert_member(collector_span("1", 1), "traceId", TRACE);
}

/* ---- collectors that do not take spans ---- */

static void drain_in_time(struct fixture *fixture, const char *says)
{
    int64_t began_ms = harness_now_ms();

    insert_sampled(fixture, 5000);
    drain_printed(fixture, 0);
    if (harness_now_ms() - began_ms > DRAIN_MS)
        fail_msg("%s: it took %lld ms", says, (long long)(harness_now_ms() - began_ms));
    assert_says(fixture->process.err, says);
    assert_says(fixture->process.err, "trace: of 5000 spans ");
    assert_all_printed(fixture);
}

static void check_warns(struct fixture *fixture, const char *says)
{
    expect(fixture, run_command(fixture, "check"), 0);
    assert_says(fixture->process.out, "trace: no spans reach http://");
    assert_says(fixture->process.out, says);
    assert_null(strstr(fixture->process.out, "canary"));
}

FIXTURE_TEST(a_collector_that_does_not_take_spans_holds_up_no_row)
{
    static const struct {
        enum collector_manner manner;
        const char *says;
    } manners[] = {
        {SAYS_NOTHING, "it has not answered for "},
        {TALKS_NONSENSE, "it answers with what is not OTLP"},
        {NEVER_ENDS, "it answers HTTP 200 with more than 16384 bytes"},
        {IS_BUSY, "it answers HTTP 503"},
        {REJECTS, "it has rejected spans: too old"},
    };

    trace_to(fixture, "127.0.0.1", "");
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
        atomic_store(&collector.manner, manners[i].manner);
        drain_in_time(fixture, manners[i].says);
        check_warns(fixture, manners[i].says);
    }
    collector_close();
    drain_in_time(fixture, "Couldn't connect to server");
    check_warns(fixture, "Couldn't connect to server");
}

FIXTURE_TEST(a_collector_whose_name_lookup_hangs_holds_up_no_row)
{
    preload("build/hanging.so");
    trace_to(fixture, "collector.hangs.test", "");
    drain_in_time(fixture, "trace: ");
}

/* ---- a relay that runs ---- */

static void write_trace(struct fixture *fixture, const char *trace)
{
    write_relay_toml(fixture,
                     "[outbox]\nslices = 4\n[relay]\npoll_interval = \"50ms\"\n[http]\nlisten ="
                     " \"127.0.0.1:%d\"\n" STDOUT_SINK "\n%s",
                     port, trace);
}

FIXTURE_TEST_WITH(sighup_turns_spans_on_and_off_and_they_are_counted, set_up_http, tear_down)
{
    char trace[128];

    collector_open();
    (void)snprintf(trace, sizeof trace, "[trace]\nendpoint = \"http://127.0.0.1:%d\"\n",
                   collector.port);
    write_trace(fixture, "");
    start(fixture);
    await_answer("/status", 200, "\"trace\":{\"state\":\"off\"");
    write_trace(fixture, trace);
    assert_int_equal(kill(fixture->process.pid, SIGHUP), 0);
    process_await_words(&fixture->process, "[trace] endpoint = http://127.0.0.1:");
    insert_sampled(fixture, 3);
    collector_await(3);
    await_answer("/metrics", 200, "outbox_relay_trace_spans_total{result=\"sent\"} 3\n");
    await_answer("/status", 200, "\"trace\":{\"state\":\"up\"");
    atomic_store(&collector.manner, REJECTS);
    insert_sampled(fixture, 3);
    await_answer("/metrics", 200, "outbox_relay_trace_spans_total{result=\"failed\"} 1\n");
    assert_non_null(strstr(answer, "outbox_relay_trace_spans_total{result=\"sent\"} 5\n"));
    await_answer("/status", 200, "it has rejected spans: too old");
    write_trace(fixture, "");
    assert_int_equal(kill(fixture->process.pid, SIGHUP), 0);
    process_await_words(&fixture->process, "[trace] endpoint = not given");
    await_answer("/status", 200, "\"trace\":{\"state\":\"off\"");
    insert_sampled(fixture, 3);
    wait_for_number(fixture->conn, 0, UNSENT);
    stop_relay(fixture);
    assert_int_equal(atomic_load(&collector.requests), 2);
}

/* What is sent late is tried again. */
FIXTURE_TEST_WITH(a_collector_that_comes_back_gets_the_spans, set_up_http, tear_down)
{
    char trace[128];

    collector_open();
    atomic_store(&collector.manner, IS_BUSY);
    (void)snprintf(trace, sizeof trace, "[trace]\nendpoint = \"http://127.0.0.1:%d\"\n",
                   collector.port);
    write_trace(fixture, trace);
    start(fixture);
    insert_sampled(fixture, 3);
    process_await_words(&fixture->process, "it answers HTTP 503");
    atomic_store(&collector.manner, TAKES);
    collector_await(3);
    process_await_words(&fixture->process, "trace: the collector takes spans");
    stop_relay(fixture);
    assert_int_equal(collector_count(), 3);
}
