/* A cluster that has lost what it acknowledged: each loss is found once, nothing that is sent
 * afterwards is lost, and what an administrator does himself is no loss. */
#include "broker/kafka/kafka.h"
#include "integration/publishing_kafka.h"

#define PARTITIONS 3
#define OTHER_CLUSTER_ID "YW5vdGhlci1jbHVzdGVyIQ"

static struct seen *seen;
static struct seen_loss losses[SEEN_LOSSES_MAX];

static void open_lane(void)
{
    broker_close(broker);
    broker = broker_open(&options, seen, &error);
    assert_non_null(broker);
    wait_until_ready();
}

static int set_up(void **state)
{
    seen = seen_new("outbox-relay audit");
    if (seen == NULL || setup(state) != 0)
        return -1;
    (void)kafka_open_reader(NULL);
    create_topic(PARTITIONS, NULL);
    options.keep_order = true;
    open_lane();
    return 0;
}

static int tear_down(void **state)
{
    int status = teardown(state);

    (void)kafka_close_reader(NULL);
    seen_free(seen);
    return status;
}

FIXTURE(set_up, tear_down)

/* As a lane does: what was not acknowledged is sent again. */
static void send_all(void)
{
    int64_t deadline_ms = clock_now_ms() + 2 * WAIT_MS;

    while (count_verdicts(&batch, VERDICT_SENT) < batch.count) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        for (int i = 0; i < batch.count; i++)
            if (batch.messages[i].verdict == VERDICT_WAIT)
                batch.messages[i].verdict = VERDICT_PENDING;
        if (broker_ready(broker, &error) == 0)
            (void)publish_within(QUICK_MS);
    }
}

static void fill(struct batch *into, int count)
{
    batch_reset(into);
    for (int i = 0; i < count; i++) {
        char key[32];

        (void)snprintf(key, sizeof key, "k%d", i);
        (void)add_message(into, topic, batch_copy(into, key, strlen(key)).data, "v");
    }
}

static void send_events(int count)
{
    fill(&batch, count);
    send_all();
}

static int taken(void)
{
    return seen_take_losses(seen, losses, SEEN_LOSSES_MAX);
}

static void assert_lost(const char *destination, const char *text)
{
    assert_int_equal(taken(), 1);
    assert_non_null(strstr(losses[0].text, text));
    assert_string_equal(losses[0].destination, destination);
}

static void make_topic_anew(int partitions)
{
    delete_topic(topic);
    await_topic_error(topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    create_topic(partitions, NULL);
}

static void restore_one(void *closure, const struct seen_memory *memory)
{
    seen_restore(closure, memory);
}

/* Another process, which has only what was kept. */
static void restart_relay(void)
{
    struct seen *next = seen_new("outbox-relay audit");

    assert_non_null(next);
    seen_each(seen, false, restore_one, next);
    seen_free(seen);
    seen = next;
    open_lane();
}

/* What an idle lane does until it is seen. */
static void await_lost(const char *text)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;

    while (seen_take_losses(seen, losses, 1) == 0) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        (void)broker_ready(broker, &error);
    }
    assert_non_null(strstr(losses[0].text, text));
}

TEST(a_topic_that_was_made_anew_takes_each_message_and_the_loss_is_found)
{
    send_events(100);
    make_topic_anew(PARTITIONS);
    send_events(20);
    assert_true(stored(PARTITIONS) >= 20);
    assert_lost(topic, "had been acknowledged before");
    send_events(100);
    send_events(100);
    assert_int_equal(taken(), 0);
}

TEST(a_relay_that_starts_finds_that_the_topic_was_made_anew)
{
    send_events(100);
    make_topic_anew(PARTITIONS);
    restart_relay();
    await_lost("had been acknowledged before");
    send_events(20);
    assert_int_equal(stored(PARTITIONS), 20);
    assert_int_equal(taken(), 0);
}

TEST(a_topic_that_has_fewer_partitions_was_made_anew)
{
    send_events(100);
    make_topic_anew(1);
    restart_relay();
    assert_lost(topic, "it has fewer partitions");
    send_events(20);
    assert_int_equal(stored(1), 20);
    assert_int_equal(taken(), 0);
}

TEST(a_topic_that_the_relay_makes_anew_is_a_loss_and_the_first_one_is_none)
{
    delete_topic(topic);
    await_topic_error(topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    options.create = true;
    open_lane();
    send_events(20);
    assert_int_equal(taken(), 0);
    delete_topic(topic);
    await_topic_error(topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    send_events(1);
    assert_lost(topic, "this relay has made it anew");
}

TEST(a_topic_that_is_missing_is_a_loss)
{
    send_events(20);
    delete_topic(topic);
    await_topic_error(topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    restart_relay();
    assert_int_equal(taken(), 0); /* a broker that has just started may not know it yet */
    await_lost("does not exist any more");
}

static void delete_records(void)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(PARTITIONS);
    rd_kafka_queue_t *queue = rd_kafka_queue_new(reader);
    rd_kafka_DeleteRecords_t *request;
    rd_kafka_event_t *event;

    for (int i = 0; i < PARTITIONS; i++)
        rd_kafka_topic_partition_list_add(list, topic, i)->offset = RD_KAFKA_OFFSET_END;
    request = rd_kafka_DeleteRecords_new(list);
    rd_kafka_DeleteRecords(reader, &request, 1, NULL, queue);
    event = rd_kafka_queue_poll(queue, WAIT_MS);
    assert_non_null(event);
    assert_int_equal(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
    rd_kafka_event_destroy(event);
    rd_kafka_DeleteRecords_destroy(request);
    rd_kafka_queue_destroy(queue);
    rd_kafka_topic_partition_list_destroy(list);
}

TEST(records_that_an_administrator_deletes_are_no_loss)
{
    send_events(100);
    delete_records();
    assert_int_equal(stored(PARTITIONS), 0);
    restart_relay();
    send_events(20);
    assert_int_equal(stored(PARTITIONS), 20);
    assert_int_equal(taken(), 0);
}

TEST(lanes_that_send_to_one_partition_find_no_loss)
{
    struct broker *other = broker_open(&options, seen, &error);
    struct batch second;

    assert_int_equal(batch_init(&second, batch.capacity), 0);
    for (int i = 0; i < 50; i++) {
        fill(&batch, 7);
        fill(&second, 7);
        publish_crosswise(other, &second);
    }
    batch_free(&second);
    broker_close(other);
    assert_int_equal(stored(PARTITIONS), 700);
    assert_int_equal(taken(), 0);
}

/* ---- clusters that start again ---- */

static void copy_data(const char *from, const char *to)
{
    char command[512];

    (void)snprintf(command, sizeof command, "cd \"$TEST_DIR/kafka\" && rm -rf %s && cp -a %s %s",
                   to, from, to);
    assert_int_equal(system(command), 0);
}

/* What a replica that lagged and became the leader does, too: the last records are gone. */
TEST(a_cluster_that_comes_back_without_its_last_records_is_found_once)
{
    send_events(20);
    services("stop", "kafka");
    copy_data("data", "backup");
    services("start", "kafka");
    send_events(100);
    services("kill", "kafka");
    copy_data("backup", "data");
    services("start", "kafka");
    await_lost("had been acknowledged before");
    send_events(20);
    restart_relay();
    assert_int_equal(stored(PARTITIONS), 40);
    assert_int_equal(taken(), 0);
}

TEST(another_cluster_at_the_same_address_is_one_loss)
{
    send_events(100);
    services("kill", "kafka");
    assert_int_equal(setenv("TEST_KAFKA_CLUSTER", OTHER_CLUSTER_ID, 1), 0);
    services("wipe", "kafka");
    assert_int_equal(unsetenv("TEST_KAFKA_CLUSTER"), 0);
    services("start", "kafka");
    (void)kafka_close_reader(NULL);
    (void)kafka_open_reader(NULL);
    create_topic(PARTITIONS, NULL);
    wait_until_ready();
    assert_lost("", OTHER_CLUSTER_ID);
    send_events(20);
    assert_int_equal(stored(PARTITIONS), 20);
    assert_int_equal(taken(), 0);
}
