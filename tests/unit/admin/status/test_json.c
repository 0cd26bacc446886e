#include "admin/status/status.h"
#include "test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS 1790000000123 /* 2026-09-21T14:13:20.123Z */

static struct status_sink sinks[] = {
    {"events", "away", NOW_MS, "refused \xff", "in atomic batches", 7, 0},
    {"bus", "unknown", 0, "", "", -1, 0}};
static struct status_relay relays[] = {
    {"a:1", true, "1.2.3", NOW_MS, 5000000000, 2, 3, 12.5, 2, 0, {0}, NOW_MS},
    {"b:1", false, "", 0, 0, 0, 0, -1, 1, 0, {0}, 0}};
static struct status_lane lanes[] = {{"a:1", 2, "publishing", 1.5, 0.25}};
static struct finding items[] = {
    {FINDING_ERROR, "3 rows are dead", "outbox-relay dead list", false},
    {FINDING_WARNING, "something", "", false}};
static struct pause_notes pauses;

static json_t *parse(const struct status *status)
{
    char *text = status_json(status);
    json_t *object;

    assert_non_null(text);
    assert_null(strchr(text, '\n'));
    object = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(object);
    return object;
}

static json_t *in(const json_t *object, const char *list, size_t at)
{
    return json_array_get(json_object_get(object, list), at);
}

static const char *text_in(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

TEST(everything_has_its_name)
{
    const struct status status = {.taken_ms = NOW_MS,
                                  .table = "public.outbox",
                                  .backlog = 100000,
                                  .backlog_is_bound = true,
                                  .oldest_s = 1.5,
                                  .next_try_s = -1,
                                  .has_asked = true,
                                  .sinks = sinks,
                                  .sink_count = 2,
                                  .processes = relays,
                                  .process_count = 2,
                                  .lane_list = lanes,
                                  .lane_count = 1,
                                  .pauses = &pauses,
                                  .attention = {items, 2}};
    json_t *object = parse(&status);

    assert_string_equal(text_in(object, "time"), "2026-09-21T14:13:20.123Z");
    assert_true(json_is_true(json_object_get(object, "backlog_is_lower_bound")));
    assert_string_equal(text_in(in(object, "sinks", 0), "order"), "in atomic batches");
    assert_true(json_is_null(json_object_get(in(object, "sinks", 1), "order")));
    assert_string_equal(text_in(in(object, "sinks", 0), "error"), "refused \\xff");
    assert_string_equal(text_in(in(object, "sinks", 0), "since"), "2026-09-21T14:13:20.123Z");
    assert_true(json_is_null(json_object_get(in(object, "sinks", 1), "since")));
    assert_true(json_is_null(json_object_get(in(object, "sinks", 1), "rows")));
    assert_int_equal(json_integer_value(json_object_get(in(object, "processes", 0), "sent")),
                     5000000000);
    assert_true(json_is_false(json_object_get(in(object, "processes", 1), "answers")));
    assert_true(json_is_null(json_object_get(in(object, "processes", 1), "sent")));
    assert_int_equal(json_integer_value(json_object_get(in(object, "lane_states", 0), "lane")), 2);
    assert_string_equal(text_in(in(object, "attention", 0), "level"), "error");
    assert_string_equal(text_in(in(object, "attention", 0), "fix"), "outbox-relay dead list");
    assert_true(json_is_null(json_object_get(in(object, "attention", 1), "fix")));
    json_decref(object);
}

/* docs/monitoring.md promises that these stay. */
TEST(no_field_is_missing_when_there_is_nothing)
{
    static const char *const names[] = {"time",
                                        "table",
                                        "keys_locked_by",
                                        "backlog",
                                        "backlog_is_lower_bound",
                                        "parked",
                                        "parked_is_lower_bound",
                                        "dead",
                                        "dead_is_lower_bound",
                                        "oldest_seconds",
                                        "backlog_oldest_seconds",
                                        "parked_oldest_seconds",
                                        "dead_oldest_seconds",
                                        "next_try_seconds",
                                        "parked_reasons",
                                        "rate_per_second",
                                        "relays",
                                        "lanes",
                                        "sinks",
                                        "processes",
                                        "lane_states",
                                        "troubles",
                                        "pauses",
                                        "attention",
                                        "scheduled",
                                        "refused"};
    const struct status status = {.oldest_s = -1, .per_s = -1, .backlog_oldest_s = -1};
    json_t *object = parse(&status);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_non_null(json_object_get(object, names[i]));
    assert_int_equal(json_object_size(object), sizeof names / sizeof *names);
    assert_true(json_is_null(json_object_get(object, "oldest_seconds")));
    assert_true(json_is_null(json_object_get(object, "rate_per_second")));
    assert_int_equal(json_array_size(json_object_get(object, "pauses")), 0);
    json_decref(object);
}

/* A terminal obeys controls beyond ASCII too, and shows text in the direction that a character
 * demands. */
TEST(a_text_arrives_as_it_is_and_in_ascii)
{
    static const char told[] = "caf\u00e9 \u202eevil\u2066 \U0001f4a9 \xc2\x9b"
                               "31m";
    struct status_sink sink = {.name = "events", .state = "away", .since_ms = NOW_MS, .rows = 1};
    const struct status status = {.sinks = &sink, .sink_count = 1};
    char *text;
    json_t *object;

    (void)snprintf(sink.error, sizeof sink.error, "%s", told);
    text = status_json(&status);
    assert_non_null(text);
    for (const char *at = text; *at != '\0'; at++)
        assert_in_range((unsigned char)*at, ' ', '~');
    free(text);
    object = parse(&status);
    assert_string_equal(text_in(in(object, "sinks", 0), "error"), told);
    json_decref(object);
}
