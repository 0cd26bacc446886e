#ifndef SOURCE_ACKNOWLEDGED_H
#define SOURCE_ACKNOWLEDGED_H

#include <stdint.h>

/* What relays have kept, in their control table, of their brokers' acknowledgements. */

/* A topic's partition, or a stream. */
struct acknowledged {
    const char *sink;
    const char *destination;
    int partition;        /* -1: none */
    const char *identity; /* of this topic or stream, to tell it from another of its name; "" */
    int64_t position;     /* the highest offset or sequence */
    int64_t first_ms;     /* when the first one was acknowledged, since 1970; 0: not known */
};

/* The texts are valid during the call. */
struct memory_reader {
    void (*on_acknowledged)(void *closure, const struct acknowledged *item);
    /* Relays came to know the table then, in ms since 1970; 0: not known. */
    void (*on_began)(void *closure, int64_t began_ms);
    void *closure;
};

#endif
