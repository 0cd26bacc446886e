#include "http/page.h"

#include "base/clock.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static char table_name[] = "public.outbox";
static char sink_name[] = "bus";
static char sink_type[] = "nats";
static const struct relay_options options = {
    .publish_timeout_ms = 10000,
    .poll_interval_ms = 250,
    .outbox = {.table = table_name},
    .sinks = {{.name = sink_name, .type = sink_type}},
    .sink_count = 1,
};
static struct lane_report lane;
static struct report report;
static struct relay_report snapshot;
static struct sample sample;
static struct history history;
static char *page;

static int set_up(void **state)
{
    (void)state;
    memset(&lane, 0, sizeof lane);
    memset(&sample, 0, sizeof sample);
    memset(&history, 0, sizeof history);
    report_init(&report, &options);
    lane_report_init(&lane, 1);
    report_add_lane(&report, &lane);
    lane_report_up(&lane, REPORT_DATABASE);
    lane_report_up(&lane, 0);
    sample.is_known = true;
    sample.taken_at_ms = clock_now_ms();
    return findings_init(&sample.status.attention);
}

static int tear_down(void **state)
{
    (void)state;
    findings_free(&sample.status.attention);
    free(page);
    page = NULL;
    return 0;
}

static void render(void)
{
    size_t len;
    FILE *out;

    free(page);
    out = open_memstream(&page, &len);
    assert_non_null(out);
    report_read(&report, &snapshot);
    page_put(out, "n0nce", &options, &snapshot, &sample, &history);
    assert_int_equal(fclose(out), 0);
}

static void assert_escaped(const char *text, const char *expected)
{
    char *escaped = NULL;
    size_t len;
    FILE *out = open_memstream(&escaped, &len);

    page_put_text(out, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(escaped, expected);
    free(escaped);
}

static void nothing_in_a_text_means_anything_to_html(void **state)
{
    (void)state;
    assert_escaped("a < b && c > \"d\"", "a &lt; b &amp;&amp; c &gt; &quot;d&quot;");
    assert_escaped("it's", "it&#39;s");
    assert_escaped("<script>", "&lt;script&gt;");
    assert_escaped("Gr\xC3\xBC\xC3\x9F"
                   "e",
                   "Gr\xC3\xBC\xC3\x9F"
                   "e");
}

static void bytes_that_are_not_text_are_shown_as_such(void **state)
{
    (void)state;
    assert_escaped("a\x01"
                   "b",
                   "a\xEF\xBF\xBD"
                   "b");
    assert_escaped("\xC3(", "\xEF\xBF\xBD(");
    assert_escaped("\xE2\x80\xAE\xC2\x85(", "\xEF\xBF\xBD\xEF\xBF\xBD(");
    assert_escaped("a\nb", "a b");
}

static void the_policy_lets_through_what_the_page_brings(void **state)
{
    (void)state;
    render();
    assert_non_null(strstr(page, "<style nonce=\"n0nce\">"));
    assert_non_null(strstr(page, "<script nonce=\"n0nce\">"));
    assert_non_null(strstr(page, "<title>outbox-relay public.outbox</title>"));
    assert_null(strstr(page, "@main@"));
    assert_null(strstr(page, " style=\""));
    assert_null(strstr(page, "http://"));
    assert_null(strstr(page, "https://"));
}

static void a_relay_that_is_well_says_so(void **state)
{
    (void)state;
    render();
    assert_non_null(strstr(page, "<span class=\"pill good\">Relaying</span>"));
    assert_null(strstr(page, "Needs attention"));
}

static void what_needs_attention_comes_with_what_mends_it(void **state)
{
    struct finding *finding =
        findings_add(&sample.status.attention, FINDING_ERROR, "3 rows are <dead>");

    (void)state;
    (void)snprintf(finding->fix, sizeof finding->fix, "outbox-relay dead list");
    render();
    assert_non_null(strstr(page, "<li>3 rows are &lt;dead&gt;<pre>outbox-relay dead list</pre>"));
    assert_non_null(strstr(page, "<span class=\"pill warn\">Something needs attention</span>"));
}

static void a_reason_of_the_broker_cannot_leave_its_cell(void **state)
{
    struct error error;

    (void)state;
    (void)error_set(&error, ERROR_TRANSIENT, ERROR_BROKER, "%s", "</td><script>x</script>");
    lane_report_away(&lane, 0, &error);
    render();
    assert_non_null(strstr(page, "&lt;/td&gt;&lt;script&gt;x&lt;/script&gt;"));
    assert_null(strstr(page, "<script>x"));
    assert_non_null(strstr(page, "<span class=\"pill bad\">A sink is away</span>"));
}

static void a_count_that_stopped_is_shown_as_a_bound(void **state)
{
    (void)state;
    sample.status.backlog = SAMPLER_COUNT_MAX;
    sample.status.backlog_is_bound = true;
    sample.status.parked = SAMPLER_COUNT_MAX;
    sample.status.parked_is_bound = true;
    sample.status.dead = 9999;
    render();
    assert_non_null(strstr(page, ">10,000+</b><span>unsent rows<"));
    assert_non_null(strstr(page, ">10,000+</b><span>rows parked<"));
    assert_non_null(strstr(page, ">9,999</b><span>rows dead<"));
}

static void a_gap_in_the_figures_is_a_gap_in_the_curve(void **state)
{
    const char *curve;
    int curves = 0;

    (void)state;
    for (int i = 0; i < 9; i++) {
        sample.has_failed = i == 4;
        sample.status.backlog = i;
        history_add(&history, &sample, 0);
    }
    sample.has_failed = false;
    render();
    for (curve = page; (curve = strstr(curve, "class=\"curve\"")) != NULL; curve++)
        curves++;
    assert_int_equal(curves, 4); /* two in each chart */
    assert_non_null(strstr(page, "highest 8"));
}

static void the_ring_keeps_the_last_ten_minutes(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        sample.status.backlog = i;
        history_add(&history, &sample, (uint64_t)i);
    }
    assert_int_equal(history.count, HISTORY_POINTS);
    assert_true(history_at(&history, 0)->backlog == 300 - HISTORY_POINTS);
    assert_true(history_at(&history, HISTORY_POINTS - 1)->backlog == 299);
}

static void a_measurement_that_failed_does_not_say_that_the_database_is_away(void **state)
{
    (void)state;
    (void)error_set(&sample.error, ERROR_TRANSIENT, ERROR_DATABASE, "statement timeout");
    sample.has_failed = true;
    sample.is_connected = true;
    render();
    assert_non_null(
        strstr(page, "<span class=\"pill warn\">The figures are not up to date</span>"));
    assert_non_null(strstr(page, "<li>statement timeout"));
    sample.is_connected = false;
    render();
    assert_non_null(strstr(page, "<span class=\"pill bad\">The database is away</span>"));
}

static void before_the_first_measurement_nothing_is_claimed(void **state)
{
    (void)state;
    sample.is_known = false;
    render();
    assert_non_null(strstr(page, "<span class=\"pill warn\">Starting</span>"));
    assert_non_null(strstr(page, "not measured yet"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_in_a_text_means_anything_to_html),
        TEST(bytes_that_are_not_text_are_shown_as_such),
        TEST(the_policy_lets_through_what_the_page_brings),
        TEST(a_relay_that_is_well_says_so),
        TEST(what_needs_attention_comes_with_what_mends_it),
        TEST(a_reason_of_the_broker_cannot_leave_its_cell),
        TEST(a_count_that_stopped_is_shown_as_a_bound),
        TEST(a_gap_in_the_figures_is_a_gap_in_the_curve),
        TEST(the_ring_keeps_the_last_ten_minutes),
        TEST(a_measurement_that_failed_does_not_say_that_the_database_is_away),
        TEST(before_the_first_measurement_nothing_is_claimed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
