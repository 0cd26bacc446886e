/*
 * Whether the addresses that the brokers advertise can be reached from here, for `check` and
 * `init`. A client asks any broker of its configuration, and then sends each message to the address
 * that the partition's leader gives itself (advertised.listeners). Metadata comes from the first
 * address, so it says nothing about the others.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_MS 2000 /* for each address: the lookup of its name, and the connection */
#define ADDRESSES_MS 10000

struct address {
    char host[256];
    char port[8];
    char why[128]; /* it cannot be reached; "": it can */
};

/* 0, or why not, as errno has it. */
static int connect_to(const struct addrinfo *to)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd socket = {.fd = fd, .events = POLLOUT};
    int problem = 0;
    socklen_t size = sizeof problem;

    if (fd < 0)
        return errno;
    if (connect(fd, to->ai_addr, to->ai_addrlen) < 0) {
        problem = errno;
        if (problem == EINPROGRESS && poll(&socket, 1, ADDRESS_MS / 2) <= 0)
            problem = ETIMEDOUT;
        else if (problem == EINPROGRESS &&
                 getsockopt(fd, SOL_SOCKET, SO_ERROR, &problem, &size) < 0)
            problem = errno;
    }
    (void)close(fd);
    return problem;
}

static void try_address(void *argument)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct address *address = argument;
    struct addrinfo *found = NULL;
    int code = getaddrinfo(address->host, address->port, &wanted, &found);
    int problem = EHOSTUNREACH;
    char text[96];

    for (struct addrinfo *to = found; code == 0 && to != NULL && problem != 0; to = to->ai_next)
        problem = connect_to(to);
    if (code != 0)
        (void)snprintf(address->why, sizeof address->why, "%s", gai_strerror(code));
    else if (problem != 0)
        (void)snprintf(address->why, sizeof address->why, "%s",
                       strerror_r(problem, text, sizeof text));
    if (found != NULL)
        freeaddrinfo(found);
}

/* Adds what keeps this machine from the broker's address. */
static void inspect_address(const struct kafka *kafka,
                            const struct rd_kafka_metadata_broker *broker, int64_t deadline_ms,
                            struct findings *findings)
{
    struct address *address = calloc(1, sizeof *address);
    struct bounded_call *late = NULL;
    enum bounded_result result;
    char why[sizeof address->why] = "no answer";

    if (address == NULL)
        return;
    (void)snprintf(address->host, sizeof address->host, "%s", broker->host);
    (void)snprintf(address->port, sizeof address->port, "%d", broker->port);
    result = bounded_call_run(&late, try_address, free, address, deadline_ms);
    if (result != BOUNDED_LATE) {
        (void)snprintf(why, sizeof why, "%s", result == BOUNDED_DONE ? address->why : "");
        free(address);
    }
    bounded_call_forget(&late);
    if (why[0] != '\0')
        finding_fix(findings_add(findings, FINDING_ERROR,
                                 "sink %s: broker %d advertises %s:%d, and this machine cannot"
                                 " reach that: %s; messages to its partitions do not arrive",
                                 kafka->base.options->name, (int)broker->id, broker->host,
                                 broker->port, why),
                    "in that broker's advertised.listeners write an address that can be reached"
                    " from here; or make this one known to this machine, and let it through");
}

int kafka_inspect_addresses(struct kafka *kafka, struct findings *findings, struct error *error)
{
    int64_t end_ms = clock_now_ms() + ADDRESSES_MS;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;
    const struct rd_kafka_metadata *metadata = kafka_ask_metadata(kafka, NULL, KAFKA_ASK_MS, &code);

    if (metadata == NULL)
        return kafka_fail(kafka, error, ERROR_TRANSIENT, rd_kafka_err2str(code));
    for (int i = 0; i < metadata->broker_cnt && clock_left_ms(end_ms) > 0; i++)
        inspect_address(kafka, &metadata->brokers[i], clock_now_ms() + ADDRESS_MS, findings);
    rd_kafka_metadata_destroy(metadata);
    return 0;
}
