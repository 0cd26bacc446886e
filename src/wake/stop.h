#ifndef WAKE_STOP_H
#define WAKE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The request to stop, seen by all threads; every idle wait ends when it comes. */
struct stop {
    atomic_bool requested;
    int fd; /* eventfd(2): readable once requested */
};

int stop_init(struct stop *stop);
void stop_free(struct stop *stop);

void stop_request(struct stop *stop);
bool stop_requested(const struct stop *stop);

/* Waits at most so long. true: a stop is requested. */
bool stop_wait(const struct stop *stop, int64_t wait_ms);

#endif
