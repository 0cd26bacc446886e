#ifndef BROKER_KAFKA_CHUNKS_H
#define BROKER_KAFKA_CHUNKS_H

#include "message/batch.h"

/* How much is handed over at once, to go in one record batch. */
struct kafka_chunks {
    int64_t bytes_full; /* what librdkafka certainly puts into one record batch, */
    int messages_max;   /* as so many messages */
    int64_t bytes_max;  /* less while a topic takes less, until full_ms */
    int64_t full_ms;
    bool careful;       /* a message of a key waits for the one before it, */
    int64_t careful_ms; /* so long at least, and until others have been acknowledged */
    /* the chunk in hand */
    int64_t bytes;
    int count;
    int too_large; /* refused for their size */
};

/* By librdkafka's message.max.bytes, batch.size and batch.num.messages. */
void kafka_chunks_init(struct kafka_chunks *chunks, int64_t message_bytes_max,
                       int64_t batch_bytes_max, int64_t messages_max);
void kafka_chunks_be_careful(struct kafka_chunks *chunks);

void kafka_chunk_begin(struct kafka_chunks *chunks);
/* False: it ends before this message. */
bool kafka_chunk_takes(struct kafka_chunks *chunks, const struct message *message);
/* When all its reports have come: what was too large in it has its consequences. */
void kafka_chunk_end(struct kafka_chunks *chunks);

#endif
