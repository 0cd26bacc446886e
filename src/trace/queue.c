#include "trace/queue.h"

#include <stdlib.h>

void queue_init(struct span_queue *queue)
{
    *queue = (struct span_queue){.spans = NULL};
    (void)pthread_mutex_init(&queue->lock, NULL);
}

void queue_free(struct span_queue *queue)
{
    free(queue->spans);
    queue->spans = NULL;
    (void)pthread_mutex_destroy(&queue->lock);
}

int queue_open(struct span_queue *queue)
{
    struct span *spans = queue->spans == NULL ? calloc(QUEUE_SPANS, sizeof *spans) : NULL;

    (void)pthread_mutex_lock(&queue->lock);
    if (queue->spans == NULL)
        queue->spans = spans;
    (void)pthread_mutex_unlock(&queue->lock);
    return queue->spans != NULL ? 0 : -1;
}

unsigned queue_put(struct span_queue *queue, const struct span *span)
{
    unsigned count = 0;

    if (pthread_mutex_trylock(&queue->lock) == 0) {
        if (queue->spans != NULL && queue->count < QUEUE_SPANS) {
            queue->spans[(queue->first + queue->count) % QUEUE_SPANS] = *span;
            count = atomic_fetch_add(&queue->count, 1) + 1;
        }
        (void)pthread_mutex_unlock(&queue->lock);
    }
    if (count == 0)
        (void)atomic_fetch_add(&queue->dropped, 1);
    return count;
}

unsigned queue_count(const struct span_queue *queue)
{
    return atomic_load(&queue->count);
}

/* Nobody writes to a place that is taken, and only the caller moves `first`. */
struct span *queue_at(const struct span_queue *queue, unsigned index)
{
    return &queue->spans[(queue->first + index) % QUEUE_SPANS];
}

void queue_remove(struct span_queue *queue, unsigned count)
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->first = (queue->first + count) % QUEUE_SPANS;
    (void)atomic_fetch_sub(&queue->count, count);
    (void)pthread_mutex_unlock(&queue->lock);
}
