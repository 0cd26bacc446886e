/*
 * Messages as lines of JSON on standard output: for pipes, for demonstrations, for tests.
 *
 * Guarantee: a message is SENT when every byte of its line has been written. Lanes take turns in
 * writing, so their lines never mix. A reader that stalls delays a lane until the deadline at most;
 * messages whose lines were not written stay pending. When the deadline or an error cuts a line,
 * its remainder is kept and written before anything else, so that no line is ever torn; that
 * message is then sent again.
 *
 * Deliberately not done: fsync, because durability is up to the reader of the pipe. SIGPIPE must be
 * ignored, as it is throughout this program.
 */

#include "broker/broker.h"

#include "base/clock.h"
#include "broker/json_line.h"
#include "message/order.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_BYTES (64 * 1024)
#define KEPT_BYTES_MAX (1024 * 1024)
#define PAYLOAD_BYTES_MAX (64 * 1024 * 1024)

struct stdout_sink {
    struct broker base;
    struct json_line line; /* lines that have not been written yet */
    size_t *ends;          /* where the line of each message of the batch ends in `line` */
    int ends_capacity;
};

/* One lane writes at a time. The others wait for their turn until their deadlines at most. */
static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_is_free = PTHREAD_COND_INITIALIZER;
static bool turn_is_taken;

/* The remainder of a line that was cut; the next lane to write writes it first. */
static struct json_line torn;

static struct broker *create(const struct sink_options *options, struct error *error)
{
    struct stdout_sink *sink = calloc(1, sizeof *sink);

    if (sink == NULL)
        error_no_memory(error);
    else
        sink->base = (struct broker){.ops = &stdout_ops, .options = options};
    return (struct broker *)sink;
}

static void send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    (void)deadline_ms;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];

        if (!order_is_due(batch, message, sink))
            continue;
        if (!sink_allows(broker->options, message->destination))
            batch_refuse(batch, message, VERDICT_DECLINED,
                         "the sink's allow list does not permit this topic");
        else if (message->payload.data == NULL && message->payload_len >= 0)
            batch_refuse(batch, message, VERDICT_REJECTED,
                         "payload of %lld bytes is too large to fetch",
                         (long long)message->payload_len);
    }
}

/* The other members of a line are not headers. */
static void explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    send(broker, batch, sink, deadline_ms);
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].sink == sink)
            broker_show_headers(broker, batch, &batch->messages[i], NULL, 0);
}

/* A pipe that poll(2) reports as writable is only certain to take PIPE_BUF bytes without blocking.
 * Returns 0, or an errno: ETIMEDOUT at the deadline. */
static int write_some(const char *data, size_t len, size_t *written, int64_t deadline_ms)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    for (*written = 0; *written < len;) {
        size_t left = len - *written;
        int ready = poll(&out, 1, clock_left_ms(deadline_ms));
        ssize_t count;

        if (ready == 0)
            return ETIMEDOUT;
        count = ready < 0
                    ? -1
                    : write(STDOUT_FILENO, data + *written, left < PIPE_BUF ? left : PIPE_BUF);
        if (count > 0)
            *written += (size_t)count;
        else if (count < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
    }
    return 0;
}

/* First writes what is left of a torn line, and at last keeps what is left of one that was cut. */
static int write_lines(const struct json_line *line, size_t *written, int64_t deadline_ms)
{
    size_t finished;
    int failure = write_some(torn.data, torn.len, &finished, deadline_ms);
    const char *end;

    *written = 0;
    json_line_drop(&torn, finished);
    if (failure == 0)
        failure = write_some(line->data, line->len, written, deadline_ms);
    if (failure == 0 || *written == 0 || line->data[*written - 1] == '\n')
        return failure;
    end = memchr(line->data + *written, '\n', line->len - *written);
    return json_line_raw(&torn, line->data + *written, (size_t)(end - line->data) + 1 - *written) <
                   0
               ? ENOMEM
               : failure;
}

static bool take_turn(int64_t deadline_ms)
{
    struct timespec deadline = {deadline_ms / 1000, deadline_ms % 1000 * 1000000};
    bool taken;

    (void)pthread_mutex_lock(&turn_mutex);
    while (turn_is_taken)
        if (pthread_cond_clockwait(&turn_is_free, &turn_mutex, CLOCK_MONOTONIC, &deadline) != 0)
            break;
    taken = !turn_is_taken;
    turn_is_taken = true;
    (void)pthread_mutex_unlock(&turn_mutex);
    return taken;
}

/* Writes the buffered lines, which are those of the messages from `from` to `to` - 1, and gives
 * those messages their verdicts. */
static int flush(struct stdout_sink *stdout_sink, struct batch *batch, int sink, int from, int to,
                 int64_t deadline_ms)
{
    size_t written = 0;
    int failure = ETIMEDOUT;

    if (take_turn(deadline_ms)) {
        failure = write_lines(&stdout_sink->line, &written, deadline_ms);
        (void)pthread_mutex_lock(&turn_mutex);
        turn_is_taken = false;
        (void)pthread_cond_signal(&turn_is_free);
        (void)pthread_mutex_unlock(&turn_mutex);
    }
    for (int i = from; i < to; i++)
        if (order_is_due(batch, &batch->messages[i], sink) && stdout_sink->ends[i] <= written)
            batch->messages[i].verdict = VERDICT_SENT;
    json_line_reset(&stdout_sink->line, KEPT_BYTES_MAX);
    return failure;
}

static int write_batch(struct stdout_sink *stdout_sink, struct batch *batch, int sink,
                       int64_t deadline_ms)
{
    int failure = 0;
    int from = 0;

    for (int i = 0; i < batch->count && failure == 0; i++) {
        if (!order_is_due(batch, &batch->messages[i], sink))
            continue;
        if (json_line_message(&stdout_sink->line, &batch->messages[i]) < 0)
            return ENOMEM;
        stdout_sink->ends[i] = stdout_sink->line.len;
        if (stdout_sink->line.len < FLUSH_BYTES)
            continue;
        failure = flush(stdout_sink, batch, sink, from, i + 1, deadline_ms);
        from = i + 1;
    }
    if (failure == 0 && stdout_sink->line.len > 0)
        failure = flush(stdout_sink, batch, sink, from, batch->count, deadline_ms);
    return failure;
}

static int await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error)
{
    struct stdout_sink *stdout_sink = (struct stdout_sink *)broker;
    int failure = ENOMEM;

    json_line_reset(&stdout_sink->line, KEPT_BYTES_MAX);
    if (broker_reserve(&stdout_sink->ends, &stdout_sink->ends_capacity, batch->count,
                       sizeof *stdout_sink->ends) == 0)
        failure = write_batch(stdout_sink, batch, sink, deadline_ms);
    if (failure == 0)
        return 0;
    if (failure == ENOMEM)
        return error_no_memory(error);
    if (failure == ETIMEDOUT)
        return error_set(error, ERROR_TRANSIENT, ERROR_BROKER, "stdout: the reader has stalled");
    return error_set(error, ERROR_FATAL, ERROR_BROKER, "stdout: %s", strerror(failure));
}

static int64_t payload_max(const struct broker *broker)
{
    (void)broker;
    return PAYLOAD_BYTES_MAX;
}

static int inspect(struct broker *broker, const char *destination, struct findings *findings,
                   struct error *error)
{
    (void)findings;
    return destination == NULL
               ? 0
               : sink_check_destination(broker->options, "topic", NULL, destination, error);
}

static void destroy(struct broker *broker)
{
    struct stdout_sink *stdout_sink = (struct stdout_sink *)broker;

    json_line_free(&stdout_sink->line);
    free(stdout_sink->ends);
    free(stdout_sink);
}

const struct broker_ops stdout_ops = {
    .type = "stdout",
    .create = create,
    .send = send,
    .await = await,
    .explain = explain,
    .payload_max = payload_max,
    .inspect = inspect,
    .destroy = destroy,
};
