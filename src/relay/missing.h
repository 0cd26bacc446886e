#ifndef RELAY_MISSING_H
#define RELAY_MISSING_H

#include "relay/options.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * The destinations that take no message (the topic or stream is missing, a permission is), of all
 * lanes of a process. The log names each once, repeats it once a minute, and says when it takes
 * messages again. At most MISSING_MAX at a time; the log does not name further ones. Thread-safe.
 */

#define MISSING_MAX 16

struct missing_destination {
    int sink;         /* its index */
    char name[256];   /* cut */
    char reason[400]; /* the broker's words, cut */
    int64_t since_ms; /* of clock_now_ms(), as all times here */
    int64_t noted_ms; /* when a lane noted it last */
    int64_t logged_ms;
};

struct missing {
    const struct relay_options *options;
    pthread_mutex_t mutex;
    _Atomic int count;
    struct missing_destination items[MISSING_MAX];
};

void missing_init(struct missing *missing, const struct relay_options *options);
/* The broker refused a message because of its destination. */
void missing_note(struct missing *missing, int sink, struct text destination, const char *reason,
                  int64_t now_ms);
/* The destination took a message. Cheap while nothing is missing. */
void missing_end(struct missing *missing, int sink, struct text destination, int64_t now_ms);
/* To be called about once a second. Forgets what nobody has tried for longer than two back-offs:
 * the rows may have been dropped. */
void missing_tick(struct missing *missing, int64_t now_ms);

#endif
