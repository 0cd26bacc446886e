#include "message/order.h"
#include "unit/batch.h"

#include <stdio.h>
#include <string.h>

FIXTURE(open_batch, close_batch)

#define SINK 0
#define OTHER_SINK 1

/* key: NULL is NULL. */
static struct message *add(int sink, const char *key)
{
    struct message *message = batch_add(&batch);

    message->sink = sink;
    message->key = text_of(key);
    message->route_key = message->key;
    message->destination = text_of("topic");
    return message;
}

/* The other sink keeps no order. */
static void link_all(enum order_kept kept)
{
    assert_int_equal(
        order_link(&batch, (const enum order_kept[]){[SINK] = kept, [OTHER_SINK] = ORDER_NOT_KEPT}),
        0);
}

static void assert_links(const int *before, const int *waves)
{
    for (int i = 0; i < batch.count; i++) {
        assert_int_equal(batch.messages[i].before, before[i]);
        assert_int_equal(batch.messages[i].wave, waves[i]);
    }
}

TEST(a_message_follows_the_last_one_of_its_key)
{
    static const char *const keys[] = {"a", "b", "a", "a", "c", "b"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        add(SINK, keys[i]);
    link_all(ORDER_NOT_KEPT);
    assert_links((const int[]){-1, -1, 0, 2, -1, 1}, (const int[]){0, 0, 1, 2, 0, 1});
    assert_int_equal(batch.last_wave, 2);
}

TEST(an_empty_key_is_a_key)
{
    add(SINK, "");
    add(SINK, NULL);
    add(SINK, "");
    link_all(ORDER_NOT_KEPT);
    assert_links((const int[]){-1, -1, 0}, (const int[]){0, 0, 1});
}

TEST(keys_are_compared_by_all_their_bytes)
{
    add(SINK, NULL)->key = (struct text){"a\0x", 3};
    add(SINK, NULL)->key = (struct text){"a\0y", 3};
    add(SINK, NULL)->key = (struct text){"a\0x", 3};
    link_all(ORDER_NOT_KEPT);
    assert_links((const int[]){-1, -1, 0}, (const int[]){0, 0, 1});
}

TEST(each_sink_has_an_order_of_its_own)
{
    add(SINK, "a");
    add(OTHER_SINK, "a");
    add(SINK, "a");
    link_all(ORDER_NOT_KEPT);
    assert_links((const int[]){-1, -1, 0}, (const int[]){0, 0, 1});
}

/* Once the routes are corrected it may belong to any sink. */
TEST(a_row_without_a_route_stands_in_the_order_of_every_sink)
{
    add(SINK, "a");
    add(-1, "a");
    add(SINK, "a");
    add(OTHER_SINK, "a");
    add(OTHER_SINK, "a");
    link_all(ORDER_NOT_KEPT);
    assert_links((const int[]){-1, 0, 1, 1, 3}, (const int[]){0, 1, 2, 2, 3});
}

TEST(where_the_client_keeps_the_order_a_key_shares_a_wave)
{
    add(SINK, "a");
    add(OTHER_SINK, "a");
    add(SINK, "a");
    add(OTHER_SINK, "a");
    link_all(ORDER_KEPT_IN_PARTITION);
    assert_links((const int[]){-1, -1, 0, 1}, (const int[]){0, 0, 0, 1});
}

TEST(a_key_that_changes_its_destination_waits_for_the_next_wave)
{
    add(SINK, "a");
    add(SINK, "a")->destination = text_of("another");
    add(SINK, "a");
    add(SINK, "a")->route_key = text_of("another");
    add(SINK, "a")->route_key = text_of(NULL);
    add(SINK, "a")->route_key = text_of(NULL);
    link_all(ORDER_KEPT_IN_PARTITION);
    assert_links((const int[]){-1, 0, 1, 2, 3, 4}, (const int[]){0, 1, 2, 3, 4, 5});
}

TEST(where_the_client_keeps_the_order_of_all_destinations_a_key_may_change_them)
{
    add(SINK, "a");
    add(SINK, "a")->destination = text_of("another");
    assert_false(order_shares_wave(&batch, SINK));
    add(SINK, "a")->route_key = text_of(NULL);
    link_all(ORDER_KEPT_IN_SINK);
    assert_links((const int[]){-1, 0, 1}, (const int[]){0, 0, 0});
    assert_true(order_shares_wave(&batch, SINK));
    assert_false(order_shares_wave(&batch, OTHER_SINK));
}

TEST(the_first_parked_row_of_a_key_shares_no_wave)
{
    for (int i = 0; i < 3; i++)
        add(SINK, "a");
    batch.parked = true;
    link_all(ORDER_KEPT_IN_SINK);
    batch.parked = false;
    assert_links((const int[]){-1, 0, 1}, (const int[]){0, 1, 1});
}

TEST(many_keys_find_their_own)
{
    enum { KEYS = 3000, TIMES = 3 };

    for (int i = 0; i < KEYS * TIMES; i++) {
        char key[16];

        (void)snprintf(key, sizeof key, "%d", i % KEYS);
        add(SINK, NULL)->key = batch_copy(&batch, key, strlen(key));
    }
    link_all(ORDER_NOT_KEPT);
    for (int i = 0; i < batch.count; i++) {
        assert_int_equal(batch.messages[i].before, i < KEYS ? -1 : i - KEYS);
        assert_int_equal(batch.messages[i].wave, i / KEYS);
    }
    assert_int_equal(batch.last_wave, TIMES - 1);
}

TEST(a_batch_that_comes_again_is_linked_anew)
{
    for (int i = 0; i < 3; i++)
        add(SINK, "a")->handed = true;
    link_all(ORDER_NOT_KEPT);
    link_all(ORDER_KEPT_IN_PARTITION);
    assert_links((const int[]){-1, 0, 1}, (const int[]){0, 0, 0});
    assert_int_equal(batch.last_wave, 0);
    assert_false(batch.messages[0].handed);
}

TEST(a_message_is_due_when_the_one_before_it_was_acknowledged)
{
    static const enum verdict failures[] = {VERDICT_PENDING, VERDICT_RETRY, VERDICT_WAIT,
                                            VERDICT_REJECTED};
    struct message *first = add(SINK, "a");
    struct message *second = add(SINK, "a");

    link_all(ORDER_NOT_KEPT);
    assert_true(order_is_due(&batch, first, SINK));
    assert_false(order_is_due(&batch, first, OTHER_SINK));
    assert_false(order_is_due(&batch, second, SINK));
    batch.wave = 1;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        first->verdict = failures[i];
        assert_false(order_is_due(&batch, second, SINK));
        assert_true(order_is_held(&batch, second));
    }
    first->verdict = VERDICT_SENT;
    assert_true(order_is_due(&batch, second, SINK));
    assert_false(order_is_held(&batch, second));
}

TEST(in_a_shared_wave_a_message_is_due_once_the_one_before_it_was_handed_over)
{
    struct message *first = add(SINK, "a");
    struct message *second = add(SINK, "a");

    link_all(ORDER_KEPT_IN_PARTITION);
    assert_false(order_is_due(&batch, second, SINK));
    first->handed = true;
    assert_true(order_is_due(&batch, second, SINK));
    first->verdict = VERDICT_REJECTED;
    assert_false(order_is_due(&batch, second, SINK));
}

TEST(a_blocked_message_is_never_due)
{
    struct message *message = add(SINK, "a");

    message->blocked = true;
    link_all(ORDER_NOT_KEPT);
    assert_false(order_is_in_wave(&batch, message, SINK));
    assert_false(order_is_due(&batch, message, SINK));
    assert_true(order_is_held(&batch, message));
}
