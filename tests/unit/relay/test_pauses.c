#include "relay/pauses.h"
#include "unit/batch.h"

#include <string.h>

static struct pauses pauses;

static int open_all(void **state)
{
    pauses = (struct pauses){0};
    return open_batch(state);
}

static int close_all(void **state)
{
    pauses_free(&pauses);
    return close_batch(state);
}

FIXTURE(open_all, close_all)

static struct message *add(const char *topic, const char *key, int sink)
{
    struct message *message = batch_add(&batch);

    message->topic = text_of(topic);
    message->key = key != NULL ? text_of(key) : (struct text){NULL, 0};
    message->sink = sink;
    return message;
}

TEST(a_text_is_read_once)
{
    assert_int_equal(pauses_read(&pauses, NULL), 0);
    assert_int_equal(pauses_read(&pauses, "paused topic a.>\npaused key k"), 1);
    assert_int_equal(pauses_read(&pauses, "paused topic a.>\npaused key k"), 0);
    assert_int_equal(pauses.count, 2);
    assert_int_equal(pauses_read(&pauses, "paused key k"), 1);
    assert_int_equal(pauses.count, 1);
    assert_int_equal(pauses_read(&pauses, NULL), 1);
    assert_int_equal(pauses.count, 0);
}

TEST(rows_of_a_paused_topic_or_key_wait_for_it)
{
    struct message *by_topic = add("a.b", "k", 0);
    struct message *by_key = add("b", "a key", 0);
    struct message *free_one = add("a", "a ke", 0);
    struct message *keyless = add("b", NULL, 0);

    assert_int_equal(pauses_read(&pauses, "paused topic a.>\npaused sink out\npaused key a key"),
                     1);
    pauses_hold(&pauses, &batch, 0);
    assert_int_equal(by_topic->verdict, VERDICT_PAUSED);
    assert_string_equal(by_topic->reason, "paused: topic a.>");
    assert_true(text_equal(by_topic->waits_for, text_of("paused topic a.>")));
    assert_int_equal(by_key->verdict, VERDICT_PAUSED);
    assert_true(text_equal(by_key->waits_for, text_of("paused key a key")));
    assert_int_equal(free_one->verdict, VERDICT_PENDING);
    assert_int_equal(keyless->verdict, VERDICT_PENDING);
}

TEST(rows_that_are_refused_or_whose_sink_is_away_stay_as_they_are)
{
    struct message *refused = add("a", NULL, -1);
    struct message *away = add("a", NULL, 1);

    refused->verdict = VERDICT_REJECTED;
    assert_int_equal(pauses_read(&pauses, "paused topic a"), 1);
    pauses_hold(&pauses, &batch, 2);
    assert_int_equal(refused->verdict, VERDICT_REJECTED);
    assert_int_equal(away->verdict, VERDICT_PENDING);
}

TEST(paused_sinks_are_told_by_their_names)
{
    const struct relay_options options = {.sinks = {{.name = "a"}, {.name = "ab"}, {.name = "b"}},
                                          .sink_count = 3};

    assert_int_equal(pauses_sinks(&pauses, &options), 0);
    assert_int_equal(
        pauses_read(
            &pauses,
            "paused sink b\npaused topic a\npaused sink ab\npaused sink unknown\npaused sink "),
        1);
    assert_int_equal(pauses_sinks(&pauses, &options), 6);
}

TEST(what_pause_would_have_refused_pauses_nothing)
{
    add("a", "k", 0);
    assert_int_equal(pauses_read(&pauses, "paused topic re:(\nnonsense\n\npaused keyk"), 1);
    pauses_hold(&pauses, &batch, 0);
    assert_int_equal(batch.messages[0].verdict, VERDICT_PENDING);
}
