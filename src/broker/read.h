#ifndef BROKER_READ_H
#define BROKER_READ_H

#include "base/error.h"
#include "message/message.h"

/* Reading back what a broker holds, for `audit` and `peek`. Nothing is consumed, and nothing stays
 * behind. */

#define READ_SILENCE_MS 15000 /* without a message for so long, reading fails */

/* A message that the broker holds; valid during the call. */
struct held {
    int topic;     /* its number in the request; 0 where there are no topics */
    int partition; /* 0 where there are none */
    int64_t position;
    int64_t time_ms; /* since 1970: when it was stored or, in Kafka, made */
    struct text destination;
    struct text key;     /* NULL: none, or a header */
    struct text payload; /* NULL: a tombstone */
    const struct header *headers;
    int header_count;
    struct text event_id; /* NULL: it is no relay's */
    bool is_replayed;
};

/* A partition, or the stream, after it was read. */
struct held_place {
    int topic;
    int partition;    /* -1: the topic is not there */
    int64_t first_ms; /* of its first message; INT64_MAX: it has none */
    bool has_dropped; /* it once held earlier messages */
    const char
        *may_drop; /* why it may drop others than the earliest, static text; NULL: it does not */
};

struct read_request {
    const char *const *topics; /* of Kafka */
    int topic_count;
    const char *subject; /* of JetStream: only messages with it, a pattern also; NULL: all */
    int64_t since_ms;    /* messages before it need not be read; 0: all are */
    int last;            /* of each place so many are enough, and of no other than a missing topic
                            need on_place be called; Kafka's are fewer where offsets have no
                            message. 0: all are read */
    /* 0, or -1 with *error set, which ends the reading. */
    int (*on_message)(void *closure, const struct held *held, struct error *error);
    void (*on_place)(void *closure, const struct held_place *place);
    void (*on_total)(void *closure, int64_t messages); /* of a place, before it is read */
    void *closure;
};

#endif
