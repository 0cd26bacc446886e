/*
 * Counts what reached the broker:
 *
 *     bench_count nats|kafka SERVER NAME ROWS
 *
 * The payloads carry the numbers 1 to ROWS. Ends when all have come, and then half a second of
 * silence, in which a double would show, or after 20 s without a message. Prints the messages, the
 * different numbers, and when the broker stored the first and the last, in microseconds.
 */

#include "consume.h"

#include <stdio.h>
#include <stdlib.h>

#define QUIET_US 500000
#define PATIENCE_US 20000000

struct counter {
    struct listener base;
    int64_t rows;
    int64_t messages;
    int64_t distinct;
    int64_t heard_us;
    unsigned char *seen; /* by number */
};

static bool on_message(struct listener *listener, const char *payload, size_t len)
{
    struct counter *counter = (struct counter *)listener;
    int64_t number;

    if (payload == NULL)
        return now_us() - counter->heard_us <
               (counter->distinct == counter->rows ? QUIET_US : PATIENCE_US);
    counter->heard_us = now_us();
    counter->messages++;
    number = number_in(payload, len);
    if (number < 1 || number > counter->rows)
        die("a payload", "its number was never sent");
    counter->distinct += counter->seen[number] == 0;
    counter->seen[number] = 1;
    return true;
}

int main(int argc, char **argv)
{
    struct counter counter = {.base = {on_message}, .heard_us = now_us()};
    struct span span;

    if (argc != 5)
        die("usage", "bench_count nats|kafka SERVER NAME ROWS");
    counter.rows = strtoll(argv[4], NULL, 10);
    counter.seen = calloc((size_t)counter.rows + 1, 1);
    if (counter.seen == NULL)
        die("memory", "none left");
    span = consume(argv[1], argv[2], argv[3], &counter.base);
    (void)printf("%lld %lld %lld %lld\n", (long long)counter.messages, (long long)counter.distinct,
                 (long long)span.first_us, (long long)span.last_us);
    free(counter.seen);
    return 0;
}
