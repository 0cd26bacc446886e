#ifndef TRACE_QUEUE_H
#define TRACE_QUEUE_H

#include "trace/span.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * Spans on their way from the lanes to the thread that sends them: a ring of QUEUE_SPANS, so about
 * 4 MiB. Lanes never wait for it: a span that finds it full, or another thread at it, is dropped
 * and counted. One thread takes spans out.
 */

#define QUEUE_SPANS 2048

struct span_queue {
    pthread_mutex_t lock; /* of those who change the next three */
    struct span *spans;   /* NULL: takes none */
    unsigned first;       /* the place of the oldest span */
    _Atomic unsigned count;
    _Atomic uint64_t dropped;
};

void queue_init(struct span_queue *queue);
void queue_free(struct span_queue *queue);
/* Makes room, once. 0, or -1: no memory. */
int queue_open(struct span_queue *queue);

/* Copies the span. Returns how many are in the queue now; 0: it was dropped. */
unsigned queue_put(struct span_queue *queue, const struct span *span);

/* How many there are at least. Any thread. */
unsigned queue_count(const struct span_queue *queue);
/* For the thread that takes them out: a span that is in the queue, from 0; it stays as it is until
 * it is removed. */
struct span *queue_at(const struct span_queue *queue, unsigned index);
/* The first `count` of them. */
void queue_remove(struct span_queue *queue, unsigned count);

#endif
