#include "broker/seen.h"

#include "base/clock.h"
#include "test.h"
#include "unit/logged.h"

static struct seen *seen;
static struct seen_loss losses[SEEN_LOSSES_MAX];

static const struct seen_place orders = {"events", {"orders", 6}, 0};
static const struct seen_place orders_2 = {"events", {"orders", 6}, 2};
static const struct seen_place topic = {"events", {"orders", 6}, SEEN_WHOLE};
static const struct seen_place cluster = {"events", {NULL, 0}, SEEN_WHOLE};
static const struct seen_place stream = {"bus", {"EVENTS", 6}, SEEN_WHOLE};

static int setup(void **state)
{
    (void)state;
    seen = seen_new("outbox-relay audit");
    log_to_file();
    return seen != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    forget_logged();
    seen_free(seen);
    return 0;
}

FIXTURE(setup, teardown)

static void acknowledge(const struct seen_place *place, int64_t position)
{
    assert_true(seen_acknowledged(seen, place, seen_floor(seen, place), position));
}

static int taken(void)
{
    return seen_take_losses(seen, losses, SEEN_LOSSES_MAX);
}

TEST(positions_that_grow_are_no_loss)
{
    acknowledge(&orders, 0);
    acknowledge(&orders, 7);
    assert_int_equal(seen_floor(seen, &orders), 7);
    assert_int_equal(seen_floor(seen, &orders_2), SEEN_NOTHING);
    assert_int_equal(taken(), 0);
    assert_string_equal(logged(), "");
}

TEST(a_position_that_another_lane_has_passed_meanwhile_is_no_loss)
{
    int64_t floor = seen_floor(seen, &orders);

    acknowledge(&orders, 19);
    assert_true(seen_acknowledged(seen, &orders, floor, 10));
    assert_int_equal(seen_floor(seen, &orders), 19);
    assert_int_equal(taken(), 0);
}

TEST(a_position_that_went_back_is_one_loss_with_the_command_that_finds_what_is_missing)
{
    int64_t now_ms = clock_wall_us() / 1000;
    const char *text;

    acknowledge(&orders, 19);
    assert_false(seen_acknowledged(seen, &orders, 19, 3));
    assert_false(seen_acknowledged(seen, &orders, 19, 4)); /* another lane, of the same loss */
    assert_int_equal(taken(), 1);
    assert_string_equal(losses[0].sink, "events");
    assert_string_equal(losses[0].destination, "orders");
    assert_in_range(now_ms - losses[0].since_ms, 1, 3600000);
    assert_int_equal(taken(), 0);
    text = logged();
    assert_int_equal(count_words(text, "level=warn"), 1);
    assert_non_null(strstr(text, "partition 0 gives a new message the position 3, but 19 had been "
                                 "acknowledged before"));
    assert_non_null(strstr(text, "outbox-relay audit --sink events --since 20"));
}

TEST(a_program_without_that_command_names_none)
{
    const char *text;

    seen_free(seen);
    seen = seen_new("");
    acknowledge(&orders, 19);
    assert_false(seen_acknowledged(seen, &orders, 19, 3));
    text = logged();
    assert_int_equal(count_words(text, "level=warn"), 1);
    assert_int_equal(count_words(text, "audit"), 0);
    assert_int_equal(count_words(text, "hint="), 0);
}

/* What is remembered may be younger than what was sent: it came with a later version. */
TEST(a_loss_is_since_relays_came_to_know_the_table)
{
    int64_t now_ms = clock_wall_us() / 1000;

    seen_began(seen, now_ms - 86400000);
    acknowledge(&orders, 19);
    assert_false(seen_acknowledged(seen, &orders, 19, 3));
    assert_int_equal(taken(), 1);
    assert_in_range(now_ms - losses[0].since_ms, 86400000, 90000000);
}

TEST(what_is_acknowledged_after_a_loss_is_remembered_again)
{
    acknowledge(&orders, 19);
    assert_false(seen_acknowledged(seen, &orders, 19, 3));
    acknowledge(&orders, 3);
    assert_int_equal(seen_floor(seen, &orders), 3);
}

TEST(an_end_below_what_was_acknowledged_is_a_loss_and_a_higher_one_is_nothing)
{
    acknowledge(&stream, 19);
    assert_true(seen_end(seen, &stream, 19, 19));
    assert_true(seen_end(seen, &stream, 19, 40));
    assert_int_equal(seen_floor(seen, &stream), 19);
    assert_false(seen_end(seen, &stream, 19, 18));
    assert_int_equal(taken(), 1);
    assert_int_equal(seen_floor(seen, &stream), SEEN_NOTHING);
}

TEST(two_partitions_that_went_back_are_one_loss_of_their_topic)
{
    acknowledge(&orders, 5);
    acknowledge(&orders_2, 5);
    assert_int_equal(seen_partitions(seen, "events", text_of("orders")), 3);
    assert_false(seen_end(seen, &orders, 5, 0));
    assert_false(seen_end(seen, &orders_2, 5, 0));
    assert_int_equal(taken(), 1);
    assert_int_equal(seen_floor(seen, &orders_2), SEEN_NOTHING);
}

TEST(another_identity_is_a_loss_of_the_whole_destination)
{
    seen_identify(seen, &topic, "one");
    acknowledge(&orders, 5);
    acknowledge(&orders_2, 5);
    seen_identify(seen, &topic, "one");
    seen_identify(seen, &topic, "two");
    seen_identify(seen, &topic, "two");
    assert_int_equal(seen_floor(seen, &orders), SEEN_NOTHING);
    assert_int_equal(seen_floor(seen, &orders_2), SEEN_NOTHING);
    assert_int_equal(seen_partitions(seen, "events", text_of("orders")), 0);
    assert_int_equal(taken(), 1);
    assert_non_null(strstr(losses[0].text, "it was made anew at two"));
}

TEST(another_identity_of_what_has_acknowledged_nothing_is_no_loss)
{
    seen_identify(seen, &stream, "one");
    seen_identify(seen, &stream, "two");
    assert_int_equal(taken(), 0);
}

TEST(another_cluster_is_one_loss_of_all_destinations_of_its_sink)
{
    seen_identify(seen, &cluster, "one");
    acknowledge(&orders, 5);
    acknowledge(&stream, 5);
    seen_identify(seen, &cluster, "two");
    assert_int_equal(seen_floor(seen, &orders), SEEN_NOTHING);
    assert_int_equal(seen_floor(seen, &stream), 5); /* of another sink */
    seen_lost(seen, &topic, "there is no such topic");
    assert_int_equal(taken(), 1);
    assert_non_null(strstr(losses[0].text, "the servers belong to cluster two"));
    assert_string_equal(losses[0].destination, "");
}

TEST(what_is_missing_is_a_loss_once_and_only_if_something_was_acknowledged_there)
{
    seen_lost(seen, &topic, "there is no such topic");
    assert_int_equal(taken(), 0);
    acknowledge(&orders, 5);
    seen_lost(seen, &topic, "there is no such topic");
    seen_lost(seen, &topic, "the relay has made it");
    assert_int_equal(taken(), 1);
    assert_string_equal(losses[0].text, "there is no such topic");
}

struct kept {
    struct seen_memory memory[8];
    char identity[8][SEEN_IDENTITY_BYTES];
    int count;
};

static void keep(void *closure, const struct seen_memory *memory)
{
    struct kept *kept = closure;

    kept->memory[kept->count] = *memory;
    (void)snprintf(kept->identity[kept->count], SEEN_IDENTITY_BYTES, "%s", memory->identity);
    kept->memory[kept->count].identity = kept->identity[kept->count];
    kept->count++;
}

TEST(what_was_kept_and_is_restored_finds_the_same_losses)
{
    struct seen *next = seen_new("outbox-relay audit");
    struct kept kept = {0};

    assert_non_null(next);
    seen_identify(seen, &stream, "one");
    acknowledge(&stream, 19);
    acknowledge(&orders_2, 5);
    seen_each(seen, true, keep, &kept);
    for (int i = 0; i < kept.count; i++)
        seen_restore(next, &kept.memory[i]);
    assert_int_equal(seen_floor(next, &stream), 19);
    assert_int_equal(seen_partitions(next, "events", text_of("orders")), 3);
    seen_identify(next, &stream, "two");
    assert_false(seen_end(next, &orders_2, 5, 2));
    assert_int_equal(seen_take_losses(next, losses, SEEN_LOSSES_MAX), 2);
    seen_free(next);
}

TEST(only_what_has_changed_is_kept_again)
{
    struct kept kept = {0};

    acknowledge(&stream, 19);
    acknowledge(&orders, 1);
    seen_each(seen, true, keep, &kept);
    kept.count = 0;
    seen_each(seen, true, keep, &kept);
    assert_int_equal(kept.count, 0);
    acknowledge(&stream, 20);
    seen_each(seen, true, keep, &kept);
    assert_int_equal(kept.count, 1);
    assert_int_equal(kept.memory[0].position, 20);
}

TEST(a_table_that_is_full_forgets_what_was_used_least_recently)
{
    char name[SEEN_NAME_BYTES];

    for (int i = 0; i < SEEN_PLACES_MAX + 100; i++) {
        (void)snprintf(name, sizeof name, "topic-%d", i);
        acknowledge(&(struct seen_place){"events", text_of(name), SEEN_WHOLE}, i);
    }
    assert_int_equal(seen_floor(seen, &(struct seen_place){"events", text_of(name), SEEN_WHOLE}),
                     SEEN_PLACES_MAX + 99);
}

TEST(more_losses_than_are_kept_become_one_of_their_sink)
{
    char name[SEEN_NAME_BYTES];

    for (int i = 0; i < SEEN_LOSSES_MAX + 10; i++) {
        struct seen_place place = {"events", {NULL, 0}, SEEN_WHOLE};

        (void)snprintf(name, sizeof name, "topic-%d", i);
        place.destination = text_of(name);
        acknowledge(&place, 7);
        assert_false(seen_end(seen, &place, 7, 2));
    }
    assert_int_equal(taken(), SEEN_LOSSES_MAX);
    assert_string_equal(losses[SEEN_LOSSES_MAX - 1].destination, "");
    assert_true(count_words(logged(), "level=warn") < 20);
}

TEST(no_memory_knows_nothing_and_refuses_nothing)
{
    assert_true(seen_acknowledged(NULL, &orders, 5, 1));
    assert_true(seen_end(NULL, &orders, 5, 1));
    seen_identify(NULL, &orders, "one");
    seen_lost(NULL, &orders, "gone");
    assert_int_equal(seen_floor(NULL, &orders), SEEN_NOTHING);
    assert_int_equal(seen_take_losses(NULL, losses, 1), 0);
}
