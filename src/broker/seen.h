#ifndef BROKER_SEEN_H
#define BROKER_SEEN_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What this relay has seen acknowledged at each destination, so that a broker that has lost some of
 * it is noticed. One object a process: it outlives the clients and is shared by the lanes, all
 * functions are thread-safe, and NULL for it is a memory that knows nothing and keeps nothing (a
 * command's).
 *
 * What a broker acknowledges gets a position: an offset in a partition, a sequence in a stream. The
 * positions of one place only grow. One that was given out to a message that was sent after a
 * higher one had been acknowledged, or an end that is lower than what had been acknowledged before
 * it was asked for, says that the broker is not what it was. "Before" needs care, as other lanes
 * acknowledge meanwhile: read seen_floor() first, then send or ask, then compare.
 *
 * A loss is logged here, as a warning of one line that names the command that finds what is
 * missing. It is kept until seen_take_losses() fetches it. What is remembered of the place is
 * forgotten with it, so that work goes on and one loss is said once: those of one destination
 * within ten seconds are one.
 */

#define SEEN_PLACES_MAX                                                                            \
    10000                  /* of all destinations; then the one that was used least recently goes */
#define SEEN_LOSSES_MAX 64 /* that were not fetched; then those of one sink become one */
#define SEEN_NAME_BYTES                                                                            \
    250 /* of a topic or a stream: Kafka's limit and its end; longer is not kept */
#define SEEN_IDENTITY_BYTES 64

struct seen;

struct seen_place {
    const char *sink;        /* its name */
    struct text destination; /* the topic or the stream; empty: the cluster */
    int32_t partition;       /* SEEN_WHOLE: the destination itself */
};

#define SEEN_WHOLE (-1)
#define SEEN_NOTHING (-1) /* a position below all others: nothing is known */

struct seen_loss {
    char sink[SEEN_NAME_BYTES];
    char destination[SEEN_NAME_BYTES]; /* "": the cluster, or several destinations */
    char text[512];   /* what was found, a clause without the sink's and the destination's name */
    int64_t since_ms; /* nothing that was sent before this is concerned */
};

/* `audit`: the command that says which messages are missing, for a log line; it outlives this. "":
 * there is none. NULL: no memory. */
struct seen *seen_new(const char *audit);
void seen_free(struct seen *seen);

/* The highest position that has been acknowledged there; SEEN_NOTHING. */
int64_t seen_floor(struct seen *seen, const struct seen_place *place);
/* The number of partitions of the topic that are remembered, counted up to the highest; 0: none. */
int32_t seen_partitions(struct seen *seen, const char *sink, struct text destination);

/*
 * The position was acknowledged, to a message that was sent after `floor` had been read. True: it
 * is new, and remembered. False: it is not above the floor, which is a loss: the acknowledgement
 * proves nothing.
 */
bool seen_acknowledged(struct seen *seen, const struct seen_place *place, int64_t floor,
                       int64_t position);
/*
 * The place ends with this position, as its broker said after `floor` had been read. A higher end
 * is not remembered: others send there, too. False: it lies below the floor, which is a loss.
 */
bool seen_end(struct seen *seen, const struct seen_place *place, int64_t floor, int64_t end);
/*
 * What the broker says the place is: a cluster's id, a topic's id, the time at which a stream was
 * made. It is remembered. Another one than before is a loss unless nothing has been acknowledged
 * there.
 */
void seen_identify(struct seen *seen, const struct seen_place *place, const char *identity);
/* A loss that was found in another way, unless nothing has been acknowledged at the destination,
 * or in the cluster. `text` as in struct seen_loss. */
void seen_lost(struct seen *seen, const struct seen_place *place, const char *text);

/* Whether the sink is to be compared with what is remembered, as that was done longer ago, or a
 * loss was found since. It counts as done then: one lane does it for all. */
bool seen_check_is_due(struct seen *seen, const char *sink, int64_t interval_ms);

/* Moves up to `max` losses that were not fetched yet to `losses`, the oldest first. Returns how
 * many. */
int seen_take_losses(struct seen *seen, struct seen_loss *losses, int max);

/* What is kept across a restart of the process. */
struct seen_memory {
    struct seen_place place;
    const char *identity; /* "": not known */
    int64_t position;     /* SEEN_NOTHING: of a place that has an identity only */
    int64_t first_ms; /* of CLOCK_REALTIME: nothing was acknowledged there before; 0: nothing was */
};

/* Calls `on_place` for each place that has changed since the last call with `changed`, or for all
 * of them. It must not call functions of this file. */
void seen_each(struct seen *seen, bool changed,
               void (*on_place)(void *closure, const struct seen_memory *memory), void *closure);
/* Relays may have sent since then, also to places of which nothing is remembered. */
void seen_began(struct seen *seen, int64_t began_ms);
/* Of a place that is known already the higher position and the earlier time stay, and its
 * identity. What is too long is left out. */
void seen_restore(struct seen *seen, const struct seen_memory *memory);

#endif
