#include "http/history.h"

#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct history history;
static char *text;

static void assert_kept(int64_t now_ms, const char *expected)
{
    json_t *packed = history_pack(&history, now_ms);

    free(text);
    text = json_dumps(packed, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(packed);
    assert_string_equal(text, expected);
}

TEST(a_point_holds_the_highest_of_its_time_and_a_failure_alone_is_unknown)
{
    memset(&history, 0, sizeof history);
    assert_kept(0, "{\"seconds_ago\":[],\"unsent\":[],\"oldest_seconds\":[],\"sent\":[]}");
    history_add(&history, 1000, 5, 0.5, 10);
    history_add(&history, 6000, 7, 0.25, 20);
    history_add(&history, 11000, -1, -1, 30);
    history_add(&history, 16000, -1, -1, 40);
    history_add(&history, 46000, 0, 0, 50);
    assert_kept(46500, "{\"seconds_ago\":[45.5,30.5,0.5],\"unsent\":[7.0,null,0.0],"
                       "\"oldest_seconds\":[0.5,null,0.0],\"sent\":[10,40,50]}");
    assert_kept(3626500, "{\"seconds_ago\":[3580.5],\"unsent\":[0.0],\"oldest_seconds\":[0.0],"
                         "\"sent\":[50]}");
}

TEST(an_hour_is_kept_and_no_more)
{
    json_t *packed;

    memset(&history, 0, sizeof history);
    for (int i = 0; i < 3 * HISTORY_POINTS; i++)
        history_add(&history, (int64_t)i * HISTORY_STEP_MS, i, i, (uint64_t)i);
    packed = history_pack(&history, (int64_t)(3 * HISTORY_POINTS - 1) * HISTORY_STEP_MS);
    assert_int_equal(json_array_size(json_object_get(packed, "sent")), HISTORY_POINTS);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(packed, "sent"), 0)),
                     2 * HISTORY_POINTS);
    json_decref(packed);
}
