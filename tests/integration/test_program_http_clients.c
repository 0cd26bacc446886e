/* Clients that mean harm to the built program's HTTP server, and a port that is taken. */
#include "integration/http.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

FIXTURE(set_up_http, fixture_close)

#define CROWD 1000

FIXTURE_TEST(a_port_in_use_is_a_warning_and_is_taken_once_it_is_free)
{
    int fd = take_port();

    configure_port(fixture);
    sql(fixture->conn, "INSERT INTO outbox (topic) VALUES ('good.a')");
    process_start(&fixture->process, NULL, "run", "-c", fixture->config, NULL);
    process_await_words(&fixture->process, "another program listens there");
    wait_for_number(fixture->conn, 1, "SELECT count(*) FROM outbox WHERE sent_at IS NOT NULL");
    (void)close(fd);
    await_answer("/healthz", 200, "ok");
    stop_relay(fixture);
}

FIXTURE_TEST(a_header_of_a_megabyte_is_refused)
{
    static char header[1024 * 1024];
    int fd;

    start(fixture);
    fd = dial();
    send_text(fd, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
    memset(header, 'x', sizeof header - 1);
    send_text(fd, header);
    read_answer(fd);
    (void)close(fd);
    assert_null(strstr(answer, "HTTP/1.1 200"));
    assert_int_equal(ask("GET", "/healthz"), 200);
    stop_relay(fixture);
}

/* It is never idle for the ten seconds that the library allows. */
FIXTURE_TEST(a_client_that_sends_a_byte_now_and_then_is_cut_off)
{
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;
    const struct timeval step = {.tv_usec = 500000};
    ssize_t got = -1;
    char byte;
    int fd;

    start(fixture);
    fd = dial();
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof step);
    send_text(fd, "GET / HTTP/1.1\r\nX: ");
    while (got < 0 && clock_left_ms(deadline_ms) > 0) {
        got = recv(fd, &byte, 1, 0);
        if (got < 0 && errno != EAGAIN)
            got = 0;
        send_text(fd, "x");
    }
    (void)close(fd);
    assert_int_equal(got, 0);
    stop_relay(fixture);
}

FIXTURE_TEST(a_thousand_clients_that_say_nothing_disturb_nobody_who_relays)
{
    const struct rlimit limit = {2 * CROWD, 2 * CROWD};
    static int crowd[CROWD];
    int64_t start_ms;

    (void)setrlimit(RLIMIT_NOFILE, &limit);
    start(fixture);
    for (int i = 0; i < CROWD; i++) {
        struct sockaddr_in at = address();

        crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(crowd[i] >= 0);
        (void)connect(crowd[i], (const struct sockaddr *)&at, sizeof at);
        send_text(crowd[i], "GET /metr");
    }
    sql(fixture->conn, "INSERT INTO outbox (topic, key) SELECT 'good.a', i::text FROM"
                       " generate_series(1, 2000) i");
    start_ms = clock_now_ms();
    wait_for_number(fixture->conn, 0, UNSENT);
    assert_true(clock_now_ms() - start_ms < 5000);
    start_ms = clock_now_ms();
    await_answer("/healthz", 200, "ok");
    assert_true(clock_now_ms() - start_ms < 10000); /* its connection waits behind the crowd's */
    for (int i = 0; i < CROWD; i++)
        (void)close(crowd[i]);
    await_answer("/healthz", 200, "ok");
    for (int i = 0; i < 50; i++) {
        crowd[i] = dial();
        send_text(crowd[i], "GET /");
    }
    start_ms = clock_now_ms();
    stop_relay(fixture);
    assert_true(clock_now_ms() - start_ms < 5000);
    for (int i = 0; i < 50; i++)
        (void)close(crowd[i]);
}
