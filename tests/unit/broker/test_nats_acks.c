#include "broker/nats_acks.h"
#include "unit/broker/fixture.h"

/* The library's reports, made by hand: no server is needed to judge them. */

static struct nats_acks *acks;
#define MESSAGES_MAX 16

static struct batch batch;
static natsMsg *keys[MESSAGES_MAX];

static int setup(void **state)
{
    (void)state;
    acks = nats_acks_take();
    return acks == NULL ? -1 : batch_init(&batch, MESSAGES_MAX);
}

static int teardown(void **state)
{
    (void)state;
    nats_acks_return(acks);
    batch_free(&batch);
    return 0;
}

static void expect_messages(int count)
{
    for (int i = 0; i < count; i++)
        (void)add_message(&batch, "shop.order", "k", "x");
    for (int i = 0; i < count; i++)
        assert_int_equal(natsMsg_Create(&keys[i], "shop.order", NULL, "x", 1), NATS_OK);
    assert_int_equal(nats_acks_expect(acks, keys, count, "EVENTS"), 0);
}

static void acknowledge(int at, char *stream, uint64_t number)
{
    jsPubAck ack = {.Stream = stream, .Sequence = number};

    on_ack(NULL, keys[at], &ack, NULL, acks);
}

static void refuse(int at, natsStatus status, int code, const char *text)
{
    jsPubAckErr refusal = {.Err = status, .ErrCode = (jsErrCode)code, .ErrText = text};

    on_ack(NULL, keys[at], NULL, &refusal, acks);
}

static int await_ms(int64_t ms)
{
    return nats_acks_await(acks, &batch, clock_now_ms() + ms);
}

static void an_acknowledgement_of_the_stream_is_sent(void **state)
{
    (void)state;
    expect_messages(2);
    acknowledge(1, "EVENTS", 8);
    acknowledge(0, "EVENTS", 7);
    assert_int_equal(await_ms(1000), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 2);
}

static void an_acknowledgement_without_a_number_is_none(void **state)
{
    (void)state;
    expect_messages(1);
    acknowledge(0, "EVENTS", 0);
    assert_int_equal(await_ms(1000), 0);
    assert_refused(&batch.messages[0], VERDICT_WAIT, "number 0");
}

static void an_acknowledgement_of_another_stream_is_none(void **state)
{
    (void)state;
    expect_messages(2);
    acknowledge(0, "OTHER", 9);
    acknowledge(1, NULL, 9);
    assert_int_equal(await_ms(1000), 0);
    assert_refused(&batch.messages[0], VERDICT_WAIT, "stream \"OTHER\"");
    assert_refused(&batch.messages[1], VERDICT_WAIT, "not by \"EVENTS\"");
}

static void a_duplicate_stays_pending_until_it_is_compared(void **state)
{
    jsPubAck found = {.Stream = "EVENTS", .Sequence = 17, .Duplicate = true};
    jsPubAck not_kept = {.Stream = "EVENTS", .Sequence = 0, .Duplicate = true};
    jsPubAck elsewhere = {.Stream = "OTHER", .Sequence = 3, .Duplicate = true};

    (void)state;
    expect_messages(3);
    on_ack(NULL, keys[0], &found, NULL, acks);
    on_ack(NULL, keys[1], &not_kept, NULL, acks);
    on_ack(NULL, keys[2], &elsewhere, NULL, acks);
    assert_int_equal(await_ms(1000), 0);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 2);
    assert_int_equal(acks->answers[0].state, NATS_DUPLICATE);
    assert_int_equal(acks->answers[0].sequence, 17);
    assert_int_equal(acks->answers[1].state, NATS_DUPLICATE);
    assert_refused(&batch.messages[2], VERDICT_WAIT, "not by \"EVENTS\"");
}

static void a_refusal_is_judged_by_status_and_code(void **state)
{
    (void)state;
    expect_messages(5);
    refuse(0, NATS_NO_RESPONDERS, 0, NULL);
    refuse(1, NATS_ERR, 10077, "the server's text");
    refuse(2, NATS_ERR, 10054, "too large");
    refuse(3, NATS_ERR, 10071, "wrong last sequence: 7");
    refuse(4, NATS_PROTOCOL_ERROR, 0, NULL);
    assert_int_equal(await_ms(1000), 0);
    assert_refused(&batch.messages[0], VERDICT_WAIT, "no stream takes subject \"shop.order\"");
    assert_refused(&batch.messages[1], VERDICT_WAIT, "the server's text (10077)");
    assert_refused(&batch.messages[2], VERDICT_REJECTED, "too large (10054)");
    assert_refused(&batch.messages[3], VERDICT_RETRY, "wrong last sequence: 7 (10071)");
    assert_refused(&batch.messages[4], VERDICT_WAIT, "no acknowledgement");
}

static void what_the_library_refuses_is_judged_by_its_status(void **state)
{
    (void)state;
    expect_messages(3);
    nats_acks_refuse(acks, 0, NATS_MAX_PAYLOAD);
    nats_acks_refuse(acks, 1, NATS_TIMEOUT);
    acknowledge(2, "EVENTS", 1);
    assert_int_equal(await_ms(1000), 1);
    assert_int_equal(batch.messages[0].verdict, VERDICT_REJECTED);
    assert_int_equal(batch.messages[1].verdict, VERDICT_PENDING);
    assert_int_equal(batch.messages[2].verdict, VERDICT_SENT);
    natsMsg_Destroy(keys[0]);
    natsMsg_Destroy(keys[1]);
}

static void a_report_touches_no_message_before_the_lane_waits(void **state)
{
    struct message before[3];

    (void)state;
    expect_messages(3);
    memcpy(before, batch.messages, sizeof before);
    acknowledge(0, "EVENTS", 1);
    refuse(1, NATS_ERR, 10077, "full");
    refuse(2, NATS_NO_RESPONDERS, 0, NULL);
    assert_memory_equal(before, batch.messages, sizeof before);
    assert_int_equal(await_ms(1000), 0);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(count_verdicts(&batch, VERDICT_WAIT), 2);
}

static void a_long_text_is_cut(void **state)
{
    char text[2 * NATS_TEXT_BYTES];

    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    expect_messages(1);
    refuse(0, NATS_ERR, 10054, text);
    assert_int_equal(await_ms(1000), 0);
    assert_refused(&batch.messages[0], VERDICT_REJECTED, "x (10054)");
}

static void a_timeout_of_the_library_blames_no_message(void **state)
{
    (void)state;
    expect_messages(2);
    refuse(0, NATS_TIMEOUT, 0, NULL);
    acknowledge(1, "EVENTS", 1);
    assert_int_equal(await_ms(1000), 1);
    assert_int_equal(batch.messages[0].verdict, VERDICT_PENDING);
    assert_int_equal(batch.messages[1].verdict, VERDICT_SENT);
}

static void a_report_after_the_deadline_is_ignored(void **state)
{
    (void)state;
    expect_messages(2);
    acknowledge(0, "EVENTS", 1);
    assert_int_equal(await_ms(0), 1);
    acknowledge(1, "EVENTS", 2);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    assert_int_equal(batch.messages[1].verdict, VERDICT_PENDING);
}

static void a_second_report_of_one_message_is_ignored(void **state)
{
    (void)state;
    expect_messages(2);
    acknowledge(0, "EVENTS", 1);
    assert_int_equal(natsMsg_Create(&keys[0], "other", NULL, "x", 1), NATS_OK);
    acknowledge(0, "EVENTS", 2);
    acknowledge(1, "EVENTS", 2);
    assert_int_equal(await_ms(1000), 0);
}

static void a_lost_connection_ends_the_wait_at_once(void **state)
{
    int64_t started_ms = clock_now_ms();
    natsConnection *connection = (natsConnection *)(void *)&batch;

    (void)state;
    expect_messages(2);
    acks->connection = connection;
    acknowledge(0, "EVENTS", 1);
    on_lost(connection, acks);
    assert_int_equal(await_ms(60000), 1);
    assert_true(clock_now_ms() - started_ms < 1000);
    assert_int_equal(batch.messages[0].verdict, VERDICT_SENT);
    natsMsg_Destroy(keys[1]);
    nats_acks_watch(acks, NULL);
}

static void the_loss_of_another_connection_is_nobodys(void **state)
{
    (void)state;
    nats_acks_watch(acks, NULL);
    on_lost((natsConnection *)(void *)&batch, acks);
    assert_false(nats_acks_lost(acks));
}

static int open_library(void **state)
{
    (void)state;
    return nats_Open(-1) == NATS_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_acknowledgement_of_the_stream_is_sent, setup, teardown),
        cmocka_unit_test_setup_teardown(an_acknowledgement_without_a_number_is_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_acknowledgement_of_another_stream_is_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_duplicate_stays_pending_until_it_is_compared, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_refusal_is_judged_by_status_and_code, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_library_refuses_is_judged_by_its_status, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_report_touches_no_message_before_the_lane_waits, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_long_text_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(a_timeout_of_the_library_blames_no_message, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_report_after_the_deadline_is_ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_report_of_one_message_is_ignored, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lost_connection_ends_the_wait_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(the_loss_of_another_connection_is_nobodys, setup, teardown),
    };

    return cmocka_run_group_tests(tests, open_library, NULL);
}
