#include "base/clock.h"
#include "broker/broker.h"
#include "broker/kafka/kafka.h"
#include "integration/publishing_kafka.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

ONCE(kafka_open_reader, kafka_close_reader)

FIXTURE(setup_mock, teardown_mock)

/*
 * What a cluster can do wrong. The real Kafka at $TEST_KAFKA_BROKERS is killed, restarted,
 * silenced; what it cannot be made to do on demand is done by librdkafka's mock cluster
 * (TEST_WITH_MOCK): slow answers, a moved leader, errors of the idempotent producer. The mock
 * checks no sequence numbers, so nothing here proves anything about duplicates.
 */

#define RECOVERY_MS 5000
#define SILENCE_MS 8000 /* 3 s, and a busy machine; librdkafka by itself takes more than 10 */

static int setup_cluster_of_three(void **state)
{
    int status;

    mock_brokers = 3;
    status = setup_mock(state);
    mock_brokers = 1;
    return status;
}

static void publish_ten(void)
{
    fill_batch(10);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
}

static int ready_within_its_time(void)
{
    int64_t started_ms = clock_now_ms();
    int status = broker_ready(broker, &error);

    assert_true(clock_now_ms() - started_ms < READY_MS + SLACK_MS);
    return status;
}

/* ---- the producer's own state ---- */

static void become_fatal(void)
{
    assert_int_equal(rd_kafka_test_fatal_error(((struct kafka *)broker)->client,
                                               RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
                                               "injected"),
                     RD_KAFKA_RESP_ERR_NO_ERROR);
}

static void expect_recovery_from(rd_kafka_resp_err_t code)
{
    int64_t started_ms;

    publish_ten();
    inject(1, code);
    fill_batch(10);
    started_ms = clock_now_ms();
    assert_int_equal(publish_within(WAIT_MS), -1);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 10);
    assert_int_equal(broker_ready(broker, &error), 0);
    publish_ten();
    print_message("after %s: publishing again in %lld ms\n", rd_kafka_err2name(code),
                  (long long)(clock_now_ms() - started_ms));
    assert_true(clock_now_ms() - started_ms < RECOVERY_MS);
}

TEST(a_fatal_error_costs_one_batch_and_a_new_client)
{
    expect_recovery_from(RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    expect_recovery_from(RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH);
}

/* broker_ready() finds it, before anything is claimed. */
TEST(a_client_that_became_fatal_while_idle_costs_no_batch)
{
    struct kafka *kafka = (struct kafka *)broker;

    publish_ten();
    become_fatal();
    assert_int_equal(broker_ready(broker, &error), 0);
    assert_int_equal(rd_kafka_fatal_error(kafka->client, NULL, 0), RD_KAFKA_RESP_ERR_NO_ERROR);
    publish_ten();
}

TEST(a_client_that_becomes_fatal_between_ready_and_send_rejects_no_message)
{
    publish_ten();
    fill_batch(10);
    become_fatal();
    assert_int_equal(publish_within(WAIT_MS), -1);
    assert_says(&error, "10 messages were not acknowledged");
    assert_says(&error, "injected");
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 10);
    assert_int_equal(broker_ready(broker, &error), 0);
    publish_ten();
}

/* Stands for a report that librdkafka has lost: the test counts a message that was never handed
 * over. */
TEST(a_missing_delivery_report_is_no_success)
{
    fill_batch(10);
    broker_send(broker, &batch, SINK, clock_now_ms() + 5000);
    ((struct kafka *)broker)->enqueued++;
    assert_int_equal(broker_await(broker, &batch, SINK, clock_now_ms() + LATE_MS, &error), -1);
    assert_says(&error, "1 message was not acknowledged");
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
    assert_null(((struct kafka *)broker)->client);
    assert_int_equal(broker_ready(broker, &error), 0);
    publish_ten();
}

/* ---- a cluster that is busy, slow, or on the move ---- */

TEST(a_slow_cluster_is_waited_for)
{
    assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, 1, 2000), RD_KAFKA_RESP_ERR_NO_ERROR);
    publish_ten();
}

/* Connecting takes four answers, each of them two seconds late: more than one probe, and more than
 * one publish timeout, but each gets further than the one before. */
TEST(a_slow_cluster_lets_a_new_client_in)
{
    int64_t deadline_ms = clock_now_ms() + 3 * WAIT_MS;

    assert_int_equal(rd_kafka_mock_broker_set_rtt(mock, 1, 2000), RD_KAFKA_RESP_ERR_NO_ERROR);
    broker_close(broker);
    broker = broker_open(&options, NULL, &error);
    fill_batch(10);
    while (count_verdicts(&batch, VERDICT_SENT) < 10 && clock_left_ms(deadline_ms) > 0)
        if (ready_within_its_time() == 0)
            (void)publish_within(PUBLISH_TIMEOUT_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
}

/* Ten messages a request: three requests are stored, the others find too few replicas. */
TEST(what_was_acknowledged_before_the_trouble_is_kept)
{
    int64_t deadline_ms = clock_now_ms() + 2 * WAIT_MS;

    broker_close(broker);
    set_property(&options, "batch.num.messages", "10");
    set_property(&options, "max.in.flight", "1");
    options.publish_timeout_ms = LATE_MS;
    open_broker();
    inject(3, RD_KAFKA_RESP_ERR_NO_ERROR);
    inject(1000, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
    fill_batch(100);
    assert_int_equal(publish_within(LATE_MS), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(batch.messages[i].verdict, i < 30 ? VERDICT_SENT : VERDICT_WAIT);
    rd_kafka_mock_clear_request_errors(mock, 0);
    while (count_verdicts(&batch, VERDICT_SENT) < 100 && clock_left_ms(deadline_ms) > 0) {
        for (int i = 30; i < 100; i++)
            batch.messages[i].verdict = VERDICT_PENDING;
        wait_until_ready();
        publish();
    }
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 100);
}

TEST(too_few_replicas_for_a_while_cost_nothing)
{
    inject(3, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS);
    inject(3, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND);
    inject(3, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
    publish_ten();
}

TEST(a_topic_that_elects_a_leader_parks_nothing)
{
    int64_t deadline_ms;

    publish_ten();
    rd_kafka_mock_topic_set_error(mock, topic, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE);
    /* Each new client asks about the topic, and gets this answer. */
    become_fatal();
    for (int i = 0; i < 3; i++) {
        wait_until_ready();
        fill_batch(10);
        assert_int_equal(publish_within(300), -1);
        assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 10);
    }
    rd_kafka_mock_topic_set_error(mock, topic, RD_KAFKA_RESP_ERR_NO_ERROR);
    for (deadline_ms = clock_now_ms() + WAIT_MS; clock_left_ms(deadline_ms) > 0;) {
        wait_until_ready();
        fill_batch(10);
        if (publish_within(WAIT_MS) == 0)
            break;
    }
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 10);
}

TEST_WITH(a_leader_that_moves_is_followed_in_order, setup_cluster_of_three, teardown_mock)
{
    for (int leader = 1; leader <= 3; leader++) {
        assert_int_equal(rd_kafka_mock_partition_set_leader(mock, topic, 0, leader), 0);
        fill_batch(BATCH);
        publish();
        assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    }
}

/* ---- a cluster that is away ---- */

TEST_WITH(publishing_goes_on_soon_after_a_restart, setup, teardown)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    int64_t started_ms;

    create_topic(1, NULL);
    open_broker();
    publish_ten();
    services("kill", "kafka");
    /* The client has nothing to send, and notices the end of the connection nevertheless. */
    while (ready_within_its_time() == 0)
        assert_true(clock_left_ms(deadline_ms) > 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ready_within_its_time(), -1);
    services("start", "kafka");
    started_ms = clock_now_ms();
    wait_until_ready();
    publish_ten();
    print_message("after a restart: publishing again in %lld ms\n",
                  (long long)(clock_now_ms() - started_ms));
    assert_true(clock_now_ms() - started_ms < RECOVERY_MS);
    assert_int_equal(stored(1), 20);
}

/* The client that has messages in its queue reconnects by its own back-off. */
TEST_WITH(a_restart_within_the_publish_timeout_is_survived, setup, teardown)
{
    int64_t started_ms;

    options.publish_timeout_ms = 3 * WAIT_MS;
    create_topic(1, NULL);
    open_broker();
    publish_ten();
    services("kill", "kafka");
    fill_batch(BATCH);
    broker_send(broker, &batch, SINK, clock_now_ms() + 5000);
    services("start", "kafka");
    started_ms = clock_now_ms();
    assert_int_equal(broker_await(broker, &batch, SINK, clock_now_ms() + WAIT_MS, &error), 0);
    print_message("after a restart: a waiting batch was acknowledged in %lld ms\n",
                  (long long)(clock_now_ms() - started_ms));
    assert_true(clock_now_ms() - started_ms < RECOVERY_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), BATCH);
    assert_int_equal(stored(1), BATCH + 10);
}

static bool passes_some_on(int from, int to)
{
    char bytes[4096];
    ssize_t len = read(from, bytes, sizeof bytes);

    return len > 0 && write(to, bytes, (size_t)len) == len;
}

static void run_callbacks(int client, const struct sockaddr_in *server)
{
    int ahead = socket(AF_INET, SOCK_STREAM, 0);
    struct pollfd ends[] = {{.fd = client, .events = POLLIN}, {.fd = ahead, .events = POLLIN}};
    bool open = connect(ahead, (const struct sockaddr *)server, sizeof *server) == 0;

    while (open && poll(ends, 2, -1) > 0)
        for (int i = 0; open && i < 2; i++)
            open = ends[i].revents == 0 || passes_some_on(ends[i].fd, ends[1 - i].fd);
    (void)close(ahead);
    (void)close(client);
}

/* The first connection is never answered, as when a network has swallowed it; later ones are. */
static void answer_all_but_the_first(int listener, const struct sockaddr_in *server)
{
    int client;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    client = accept(listener, NULL, NULL);
    while (client >= 0 && (client = accept(listener, NULL, NULL)) >= 0)
        run_callbacks(client, server);
    _exit(1);
}

static pid_t start_silence(char *address, size_t size)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in server = own;
    socklen_t len = sizeof own;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    pid_t child;

    server.sin_port =
        htons((uint16_t)strtol(strchr(rd_kafka_mock_cluster_bootstraps(mock), ':') + 1, NULL, 10));
    assert_int_equal(bind(listener, (struct sockaddr *)&own, len), 0);
    assert_int_equal(listen(listener, 2), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&own, &len), 0);
    (void)snprintf(address, size, "127.0.0.1:%d", ntohs(own.sin_port));
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        answer_all_but_the_first(listener, &server);
    (void)close(listener);
    return child;
}

TEST(a_connection_that_met_silence_is_soon_replaced)
{
    char address[32];
    pid_t silence = start_silence(address, sizeof address);
    int64_t started_ms = clock_now_ms();

    broker_close(broker);
    options.brokers.items[0] = address;
    broker = broker_open(&options, NULL, &error);
    wait_until_ready();
    publish_ten();
    print_message("publishing %lld ms after a connection that met silence\n",
                  (long long)(clock_now_ms() - started_ms));
    assert_true(clock_now_ms() - started_ms < SILENCE_MS);
    assert_int_equal(kill(silence, SIGKILL), 0);
    assert_int_equal(waitpid(silence, NULL, 0), silence);
}
