#include "broker/kafka/kafka.h"
#include "integration/publishing_kafka.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>

FIXTURE(setup_mock, teardown_mock)

/*
 * A client that hangs while it holds messages. librdkafka looks a broker up at each connection, and
 * here a lookup can be made to wait, so that a thread of the client neither sends nor ends.
 */

#define END_MS 2000 /* a second for the reports, and one for the client's end */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool lookups_wait;
static int waiting;

int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    (void)pthread_mutex_lock(&mutex);
    waiting++;
    (void)pthread_cond_broadcast(&changed);
    while (lookups_wait)
        (void)pthread_cond_wait(&changed, &mutex);
    waiting--;
    (void)pthread_mutex_unlock(&mutex);
    return next(name, service, hints, out);
}

static void let_lookups_wait(bool wait)
{
    (void)pthread_mutex_lock(&mutex);
    lookups_wait = wait;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&mutex);
}

static void await_a_waiting_lookup(void)
{
    struct timespec deadline;
    int status = 0;

    assert_int_equal(clock_gettime(CLOCK_REALTIME, &deadline), 0);
    deadline.tv_sec += WAIT_MS / 1000;
    (void)pthread_mutex_lock(&mutex);
    while (waiting == 0 && status == 0)
        status = pthread_cond_timedwait(&changed, &mutex, &deadline);
    (void)pthread_mutex_unlock(&mutex);
    assert_int_equal(status, 0);
}

static void publish_three(void)
{
    fill_batch(3);
    publish();
    assert_int_equal(count_verdicts(&batch, VERDICT_SENT), 3);
}

static void lose_three(void)
{
    int64_t started_ms = clock_now_ms();

    fill_batch(3);
    assert_int_equal(publish_within(LATE_MS), -1);
    assert_in_range(clock_now_ms() - started_ms, 0, LATE_MS + END_MS + SLACK_MS);
    assert_int_equal(count_verdicts(&batch, VERDICT_PENDING), 3);
    batch_reset(&batch);
}

static void lose_messages_to_a_hang(void)
{
    publish_three();
    let_lookups_wait(true);
    assert_int_equal(rd_kafka_mock_broker_set_down(mock, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
    await_a_waiting_lookup();
    lose_three();
}

static void find_the_broker(void)
{
    assert_int_equal(rd_kafka_mock_broker_set_up(mock, 1), RD_KAFKA_RESP_ERR_NO_ERROR);
    let_lookups_wait(false);
}

TEST(messages_held_by_a_client_that_hangs_stay_pending_until_it_has_ended)
{
    int64_t started_ms;

    lose_messages_to_a_hang();
    started_ms = clock_now_ms();
    assert_int_equal(broker_ready(broker, &error), -1);
    assert_in_range(clock_now_ms() - started_ms, 0, SLACK_MS);
    assert_int_equal(error.kind, ERROR_TRANSIENT);
    assert_says(&error, "[sink.events] kafka at ");
    assert_says(&error, "the previous client has not ended: a name lookup");
    find_the_broker();
    wait_until_ready();
    publish_three();
}

TEST(closing_a_broker_does_not_wait_for_a_client_that_hangs)
{
    int64_t started_ms;

    lose_messages_to_a_hang();
    started_ms = clock_now_ms();
    broker_close(broker);
    broker = NULL;
    assert_in_range(clock_now_ms() - started_ms, 0, SLACK_MS);
    assert_true(bounded_call_any_timed_out());
    find_the_broker();
}
