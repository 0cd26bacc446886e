#ifndef BENCH_CONSUME_H
#define BENCH_CONSUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A consumer of a whole stream or topic, from its first message on, by the client libraries' own
 * means and none of the relay's code.
 */

/* When the broker stored the first and the last message, in microseconds since 1970. */
struct span {
    int64_t first_us;
    int64_t last_us;
};

/* Gets each payload; NULL at least every 100 ms of silence. False ends the consumer. */
struct listener {
    bool (*on_message)(struct listener *listener, const char *payload, size_t len);
};

/* `sink` is "nats" or "kafka", `name` the stream or the topic. Ends the process when it fails. */
struct span consume(const char *sink, const char *server, const char *name,
                    struct listener *listener);

/* The number in {"n": 1, ...}; -1: there is none. */
int64_t number_in(const char *payload, size_t len);

int64_t now_us(void); /* of a clock that never goes back */
_Noreturn void die(const char *what, const char *why);

#endif
