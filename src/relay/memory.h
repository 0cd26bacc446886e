#ifndef RELAY_MEMORY_H
#define RELAY_MEMORY_H

#include "broker/seen.h"
#include "source/outbox.h"
#include "source/watch.h"

#include <pthread.h>
#include <stdbool.h>

/*
 * What this process has seen of its brokers outlives it: it is kept in the control table, and so is
 * what brokers may have lost, until `audit` has looked into it. One object a process.
 *
 * Functions that return int return 0, or -1 with *error set.
 */

struct memory {
    struct seen *seen;
    pthread_mutex_t lock;       /* guards is_read */
    bool is_read;               /* what earlier relays have kept is known */
    struct seen_loss losses[8]; /* the watcher's; those from loss_at on are not written yet */
    int loss_at, loss_count;
    bool is_behind;      /* the watcher's: what the table has is not what was given to it */
    bool is_refused;     /* the watcher's: this role may not write it, which has been logged */
    int64_t store_at_ms; /* the watcher's */
};

/* 0, or -1: out of memory. */
int memory_init(struct memory *memory);
void memory_free(struct memory *memory);

/* Call before a lane uses a broker: the first call reads what earlier relays have kept. The outbox
 * is connected and has no claim in flight. */
int memory_recall(struct memory *memory, struct outbox *outbox, struct error *error);

/* Writes losses at once, and every few seconds, or `now`, what was acknowledged since. Called by
 * one thread. */
int memory_store(struct memory *memory, struct watch *watch, bool now, struct error *error);

#endif
