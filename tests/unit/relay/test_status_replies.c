#include "relay/status_replies.h"

#include "base/clock.h"
#include "test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static char names[SINKS_MAX][64];
static char where[] = "true";
static struct relay_options options;
static struct lane_report lanes[LANES_MAX];
static struct report report;
static struct status_replies replies;
static char json[STATUS_ANSWER_BYTES];

static int set_up(void **state)
{
    (void)state;
    memset(lanes, 0, sizeof lanes);
    memset(json, 0, sizeof json);
    options = (struct relay_options){.sink_count = SINKS_MAX};
    for (int i = 0; i < SINKS_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "n%062d", i);
        options.sinks[i].name = names[i];
    }
    report_init(&report, &options);
    replies = (struct status_replies){.report = &report};
    return 0;
}

FIXTURE(set_up, NULL)

static void add_lanes(int count)
{
    for (int i = 0; i < count; i++) {
        lane_report_init(&lanes[i], i + 1);
        report_add_lane(&report, &lanes[i]);
    }
}

static json_t *answer(void)
{
    json_t *object = json_loads(status_replies_write(&replies, 4000000000U, json), 0, NULL);

    assert_non_null(object);
    return object;
}

static const json_t *sink(const json_t *object, size_t number)
{
    return json_array_get(json_object_get(object, "sinks"), number);
}

/* `status` counts the rows of the whole table. */
TEST(a_process_that_relays_a_part_of_the_rows_knows_no_lowest_one)
{
    json_t *object;

    options.outbox.where = where;
    report.unsent_from = 7;
    object = answer();
    assert_true(json_integer_value(json_object_get(object, "unsent_from")) == INT64_MIN);
    json_decref(object);
}

/* Of every sink and lane there can be, with errors that are not ASCII, and not even UTF-8. */
TEST(the_longest_answer_fits_a_notification)
{
    struct error error;
    json_t *object;

    add_lanes(LANES_MAX);
    for (int i = 0; i < SINKS_MAX; i++) {
        char text[700] = "";

        for (size_t at = 0; at + 3 < sizeof text; at += 2)
            memcpy(text + at, i % 2 == 0 ? "\xc3\xa4" : "\xff\x01", 3);
        (void)error_set(&error, ERROR_TRANSIENT, ERROR_BROKER, "%s", text);
        lane_report_away(&lanes[0], i, &error);
    }
    for (int i = 0; i < LANES_MAX; i++) {
        lane_report_enter(&lanes[i], LANE_IS_CONNECTING);
        lanes[i].state_at_ms = clock_now_ms() - 10000000000;
        lanes[i].claimed_at_ms = clock_now_ms() - 10000000000;
    }
    object = answer();
    assert_in_range(strlen(json), 1000, 7999);
    for (size_t i = 0; json[i] != '\0'; i++)
        assert_in_range(json[i], 0x20, 0x7e);
    assert_int_equal(json_array_size(json_object_get(object, "sinks")), SINKS_MAX);
    assert_int_equal(json_array_size(json_object_get(object, "lanes")), LANES_MAX);
    assert_string_equal(json_string_value(json_object_get(sink(object, 15), "name")), names[15]);
    json_decref(object);
}
