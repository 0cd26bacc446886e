#ifndef BROKER_KAFKA_CHUNKS_H
#define BROKER_KAFKA_CHUNKS_H

#include "message/batch.h"

/* How many messages are sent together, in one record batch. */
struct kafka_chunks {
    int64_t bytes_full; /* bytes that librdkafka always puts into one record batch */
    int messages_max;   /* messages that librdkafka puts into one record batch */
    int64_t bytes_max;  /* current limit of a chunk; below bytes_full after a refusal for size */
    int64_t full_ms;    /* when bytes_max returns to bytes_full */
    bool one_per_key;   /* a message waits until the one before it of its key is acknowledged */
    int64_t one_per_key_until_ms; /* one_per_key is cleared by an acknowledgement after this time */
    int64_t bytes;                /* size of the current chunk */
    int count;                    /* messages in the current chunk */
    int too_large; /* messages of the current chunk that were refused for their size */
};

/* The limits are librdkafka's message.max.bytes, batch.size and batch.num.messages. */
void kafka_chunks_init(struct kafka_chunks *chunks, int64_t message_bytes_max,
                       int64_t batch_bytes_max, int64_t messages_max);
void kafka_chunks_send_one_per_key(struct kafka_chunks *chunks);

void kafka_chunk_begin(struct kafka_chunks *chunks);
/* Adds the message to the chunk. False: it does not fit, and the chunk ends before it. */
bool kafka_chunk_takes(struct kafka_chunks *chunks, const struct message *message);
/* Call when all delivery reports of the chunk have arrived. Reacts to refusals for size. */
void kafka_chunk_end(struct kafka_chunks *chunks);

#endif
