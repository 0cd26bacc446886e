#include "relay/missing.h"

#include "unit/logged.h"

#define START_MS 5000000
#define MINUTE_MS 60000

static char events_name[] = "events";
static char events_type[] = "kafka";
static char bus_name[] = "bus";
static char bus_type[] = "nats";
static const struct relay_options options = {
    .retry.backoff_max_ms = 300000,
    .sinks = {{.name = events_name, .type = events_type}, {.name = bus_name, .type = bus_type}},
    .sink_count = 2,
};
static struct missing missing;

static int set_up(void **state)
{
    (void)state;
    missing_init(&missing, &options);
    log_to_file();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    forget_logged();
    return 0;
}

FIXTURE(set_up, tear_down)

static struct message message_to(int sink, const char *destination)
{
    return (struct message){.sink = sink,
                            .destination = text_of(destination),
                            .partition = -1,
                            .reason = "unknown topic"};
}

static void note(const char *destination, int64_t now_ms)
{
    struct message message = message_to(0, destination);

    missing_note(&missing, &message, now_ms);
}

static void end(int sink, const char *destination, int64_t now_ms)
{
    struct message message = message_to(sink, destination);

    missing_end(&missing, &message, now_ms);
}

TEST(a_destination_is_logged_once_with_what_mends_it)
{
    for (int i = 0; i < 1000; i++)
        note("shop.order", START_MS + i);
    assert_int_equal(count_words(logged(), "\n"), 1);
    assert_non_null(strstr(
        logged_text, " level=warn msg=\"the destination takes no messages: its rows wait\""
                     " sink=events destination=shop.order error=\"unknown topic\""
                     " hint=\"create the topic, or have the relay do it by create = true in the "
                     "[sink]; where that is set, outbox-relay check says what keeps it from "
                     "doing so\""));
}

TEST(it_is_repeated_once_a_minute)
{
    note("shop.order", START_MS);
    for (int s = 0; s <= 150; s++) {
        note("shop.order", START_MS + s * 1000);
        missing_tick(&missing, START_MS + s * 1000);
    }
    assert_int_equal(count_words(logged(), "the destination still takes no messages after 60 s"),
                     1);
    assert_int_equal(count_words(logged_text, "\n"), 3);
}

TEST(its_end_is_logged_once)
{
    note("shop.order", START_MS);
    for (int i = 0; i < 2; i++)
        end(0, "shop.order", START_MS + 93000);
    missing_tick(&missing, START_MS + 2 * MINUTE_MS);
    assert_non_null(strstr(logged(), " level=info msg=\"the destination takes messages again after"
                                     " 93 s\" sink=events destination=shop.order since="));
    assert_int_equal(count_words(logged_text, "\n"), 2);
}

TEST(another_destination_does_not_end_it)
{
    note("shop.order", START_MS);
    end(0, "shop.orders", START_MS);
    end(1, "shop.order", START_MS);
    assert_int_equal(count_words(logged(), "\n"), 1);
    assert_int_equal(missing.count, 1);
}

/* One partition of a topic may be down while the others take messages. */
TEST(a_partition_is_named_and_ends_alone)
{
    struct message message = message_to(0, "shop.order");

    message.partition = 3;
    message.reason = "topic \"shop.order\": partition 3 has no leader";
    missing_note(&missing, &message, START_MS);
    assert_non_null(strstr(logged(), " destination=shop.order[3] "));
    assert_non_null(strstr(logged_text, " hint=\"bring the broker of the partition back: "));
    message.partition = 2;
    missing_end(&missing, &message, START_MS);
    end(0, "shop.order", START_MS);
    assert_int_equal(missing.count, 1);
    message.partition = 3;
    missing_end(&missing, &message, START_MS);
    assert_int_equal(missing.count, 0);
}

TEST(what_nobody_tries_any_more_is_forgotten)
{
    note("shop.order", START_MS);
    missing_tick(&missing, START_MS + 12 * MINUTE_MS);
    missing_tick(&missing, START_MS + 13 * MINUTE_MS);
    assert_int_equal(count_words(logged(), "no row is tried for the destination any more"), 1);
    assert_int_equal(count_words(logged_text, "\n"), 2);
}

TEST(only_so_many_are_named)
{
    char name[600];

    for (int i = 0; i < 100; i++) {
        memset(name, 'x', sizeof name);
        (void)snprintf(name + i, sizeof name - (size_t)i, "%d", i);
        note(name, START_MS);
    }
    for (int i = 0; i < 100; i++) {
        memset(name, 'x', sizeof name);
        (void)snprintf(name + i, sizeof name - (size_t)i, "%d", i);
        end(0, name, START_MS);
    }
    assert_int_equal(count_words(logged(), "takes no messages"), MISSING_MAX);
    assert_int_equal(count_words(logged_text, "takes messages again"), MISSING_MAX);
}
