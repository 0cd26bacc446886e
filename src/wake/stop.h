#ifndef WAKE_STOP_H
#define WAKE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A request to stop that all threads see and that ends every idle wait. */
struct stop {
    atomic_bool requested;
    int fd; /* eventfd(2): readable once requested */
};

int stop_init(struct stop *stop);
void stop_free(struct stop *stop);

void stop_request(struct stop *stop);
bool stop_requested(const struct stop *stop);

/* Waits for at most `wait_ms`. Returns whether a stop was requested. */
bool stop_wait(const struct stop *stop, int64_t wait_ms);

#endif
