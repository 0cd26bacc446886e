#ifndef RELAY_MISSING_H
#define RELAY_MISSING_H

#include "relay/options.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * The destinations that take no messages (missing topic or stream, missing permission, a partition
 * that acknowledges nothing, or a configuration that declines them), shared by the lanes of a
 * process. The log names each of them once, repeats that every minute, and says when it takes
 * messages again. At most MISSING_MAX are kept; further ones are not logged. Thread-safe.
 */

#define MISSING_MAX 16

struct missing_destination {
    int sink;            /* the index of its sink; -1: no route leads to one */
    bool is_declined;    /* by the configuration, not by the broker */
    int partition;       /* of a topic; -1: the destination as a whole */
    char name[256];      /* without a sink the topic; truncated */
    char reason[400];    /* truncated */
    int64_t since_ms;    /* when it was noted first; all times are those of clock_now_ms() */
    int64_t noted_at_ms; /* when it was noted last */
    int64_t logged_at_ms;
};

struct missing {
    const struct relay_options *options;
    pthread_mutex_t mutex;
    _Atomic int count;
    struct missing_destination items[MISSING_MAX];
};

void missing_init(struct missing *missing, const struct relay_options *options);
/* The broker or the configuration refused the message because of its destination. */
void missing_note(struct missing *missing, const struct message *message, int64_t now_ms);
/* The destination took the message. Cheap while nothing is missing. */
void missing_end(struct missing *missing, const struct message *message, int64_t now_ms);
/* Call it about once a second. Forgets destinations that no lane has tried for longer than two
 * back-offs, because their rows may have been dropped. */
void missing_tick(struct missing *missing, int64_t now_ms);

#endif
