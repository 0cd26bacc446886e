#include "cli/status_text.h"
#include "cli/terminal.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define NOW_MS 1790000000000 /* 2026-09-21T14:13:20Z */

static struct status_sink sinks[] = {
    {"events", "away", NOW_MS - 30000,
     "[sink.events] kafka at 127.0.0.1:9092: Local: Broker transport failure (127.0.0.1:9092/"
     "bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused)",
     "in atomic batches", 2000, 0},
    {"bus", "up", NOW_MS - 86400000, "", "one by one (why)", 0, 1},
};
static struct status_relay relays[] = {
    {"relay-1:10", true, "1.2.3", NOW_MS - 3723000, 1234567, 30, 3, 40.4, 2, 1U << 0, {0}, NOW_MS},
    {"relay-2:10", false, "", 0, 0, 0, 0, -1, 2, 0, {0}, 0},
};
static struct status_lane lanes[] = {
    {"relay-1:10", 1, "publishing", 0.25, 0.5},
    {"relay-1:10", 2, "idle", 12, -1},
    {"relay-2:10", 1, "", 0, -1},
};
static struct finding items[] = {
    {FINDING_ERROR, "3 rows are dead: they stay until you retry or drop them",
     "outbox-relay dead list", false},
    {FINDING_WARNING,
     "transaction of pid 4711 (role \"reports\", nightly report, idle in transaction) is open for"
     " 12 min: PostgreSQL cannot remove rows sent since",
     "SELECT pg_catalog.pg_terminate_backend(4711);", false},
};

static struct status make(void)
{
    struct status status = {
        .taken_ms = NOW_MS,
        .table = "public.outbox",
        .locks_keys = "trigger",
        .backlog = 2000,
        .backlog_oldest_s = 62.5,
        .parked = 30,
        .parked_oldest_s = 45,
        .next_try_s = 12,
        .dead = 3,
        .dead_oldest_s = 7265,
        .oldest_s = 62.5,
        .per_s = 40.4,
        .reasons = {{30, "unknown topic"}, {3, "no [[route]] matches topic \"x\033[2J\""}},
        .reason_count = 2,
        .relays = 2,
        .lanes = 4,
        .has_asked = true,
        .sinks = sinks,
        .sink_count = 2,
        .processes = relays,
        .process_count = 2,
        .lane_list = lanes,
        .lane_count = 3,
        .attention = {items, 2},
    };

    return status;
}

static char *print(const struct status *status, int columns, bool with_lanes)
{
    const struct status_view view = {columns, with_lanes};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    status_print(status, &view, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST(all_that_matters_fits_80_by_24)
{
    const struct status status = make();
    char *text = print(&status, 80, false);

    assert_string_equal(
        text, "public.outbox at 14:13:20Z\n"
              "backlog  2,000, oldest 1 min 02 s\n"
              "parked   30, oldest 45 s, next try in 12 s\n"
              "dead     3, oldest 2 h 01 min\n"
              "order    the trigger locks each key\n"
              "rate     40/s\n"
              "\n"
              "attention\n"
              "- 3 rows are dead: they stay until you retry or drop them\n"
              "  fix: outbox-relay dead list\n"
              "- transaction of pid 4711 (role \"reports\", nightly report, idle in transaction)\n"
              "  is open for 12 min: PostgreSQL cannot remove rows sent since\n"
              "  fix: SELECT pg_catalog.pg_terminate_backend(4711);\n"
              "\n"
              "why rows are parked or dead:\n"
              "  30: unknown topic\n"
              "  3: no [[route]] matches topic \"x\\x1b[2J\"\n"
              "events: away since 14:12:50Z, 2,000 rows wait\n"
              "  Local: Broker transport failure (127.0.0.1:9092/bootstrap: Connect to\n"
              "  ipv4#127.0.0.1:9092 failed: Connection refused)\n"
              "bus: up since 2026-09-20T14:13:20Z; the events of a key leave one by one (why)\n"
              "relays   2 with 4 lanes\n"
              "  relay-1:10  2 lanes, up 1 h 02 min, 1,234,567 sent, 40/s, version 1.2.3\n"
              "  relay-2:10  2 lanes, does not answer\n");
    free(text);
}

TEST(a_count_that_stopped_says_so)
{
    struct status status = make();
    char *text;

    status.parked = 100000;
    status.parked_is_bound = true;
    status.dead = 100000;
    status.dead_is_bound = true;
    text = print(&status, 80, false);
    assert_non_null(strstr(text, "\nparked   100,000 or more, oldest 45 s, next try in 12 s\n"));
    assert_non_null(strstr(text, "\ndead     100,000 or more, oldest 2 h 01 min\n"));
    free(text);
}

TEST(without_a_terminal_each_entry_is_one_line)
{
    const struct status status = make();
    char *text = print(&status, 0, false);

    assert_non_null(strstr(text, "\nevents: away since 14:12:50Z, Local: Broker transport failure"
                                 " (127.0.0.1:9092/bootstrap: Connect to ipv4#127.0.0.1:9092"
                                 " failed: Connection refused), 2,000 rows wait\n"));
    assert_non_null(
        strstr(text, "(role \"reports\", nightly report, idle in transaction) is open"));
    free(text);
}

TEST(each_lane_has_a_line_when_asked_for)
{
    const struct status status = make();
    char *text = print(&status, 80, true);

    assert_non_null(strstr(text, "    lane 1  publishing for 0.2 s, claim open for 0.5 s\n"
                                 "    lane 2  idle for 12 s\n"
                                 "  relay-2:10  2 lanes, does not answer\n"
                                 "    lane 1  unknown\n"));
    free(text);
}

TEST(no_line_is_wider_than_the_terminal_whatever_the_texts)
{
    struct status status = make();
    struct status_relay many[STATUS_RELAYS_MAX];

    for (int i = 0; i < STATUS_RELAYS_MAX; i++)
        many[i] = relays[0];
    status.processes = many;
    status.process_count = STATUS_RELAYS_MAX;
    status.relays = 100;
    memset(status.reasons[0].text, 'w', 500);
    memcpy(status.reasons[1].text, "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 13);
    for (int columns = 20; columns < 120; columns++) {
        char *text = print(&status, columns, false);
        bool more = false;

        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            if (terminal_width(line) > columns && strncmp(line, "  fix: ", 7) != 0)
                fail_msg("%d columns: %s", columns, line);
            more = more || strncmp(line, "  95 more: ", 11) == 0;
        }
        assert_true(more || columns < 30);
        free(text);
    }
}

TEST(counts_and_ages_are_written_for_people)
{
    char out[32];

    assert_string_equal(status_count(out, sizeof out, 0), "0");
    assert_string_equal(status_count(out, sizeof out, 999), "999");
    assert_string_equal(status_count(out, sizeof out, 1000), "1,000");
    assert_string_equal(status_count(out, sizeof out, 1234567), "1,234,567");
    assert_string_equal(status_count(out, sizeof out, -1), "unknown");
    assert_string_equal(status_age(out, sizeof out, 0.04), "0.0 s");
    assert_string_equal(status_age(out, sizeof out, 59.9), "59 s");
    assert_string_equal(status_age(out, sizeof out, 61), "1 min 01 s");
    assert_string_equal(status_age(out, sizeof out, 86399), "23 h 59 min");
    assert_string_equal(status_age(out, sizeof out, 90000), "1 d 1 h");
}
