#ifndef BROKER_CHUNKS_H
#define BROKER_CHUNKS_H

#include "message/message.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Chunks, for the clients. A chunk is a set of messages that the broker stores entirely or not at
 * all: a record batch of Kafka, an atomic batch of JetStream. So the messages of a key may be sent
 * together. After a refusal that one message may have caused, one message per key is sent at a
 * time for some seconds, so that the broker says which.
 */
struct chunks {
    int64_t bytes_full; /* the limit of a chunk */
    int64_t name_bytes; /* names of the relay's own headers */
    int messages_max;
    int64_t bytes_max; /* current limit of a chunk; below bytes_full after a refusal for size */
    int64_t full_ms;   /* when bytes_max returns to bytes_full */
    bool one_per_key;  /* a message waits until the one before it of its key is acknowledged */
    int64_t one_per_key_until_ms; /* one_per_key is cleared by an acknowledgement after this time */
    int64_t bytes;                /* size of the current chunk */
    int count;                    /* messages in the current chunk */
    int too_large; /* messages of the current chunk that were refused for their size */
};

void chunks_init(struct chunks *chunks, int64_t bytes_max, int64_t messages_max);
void chunks_send_one_per_key(struct chunks *chunks);
/* Call when messages that were not sent in chunks have been acknowledged. */
void chunks_note_acknowledged(struct chunks *chunks);

void chunk_begin(struct chunks *chunks);
/* Adds the message to the chunk. False: it does not fit, and the chunk ends before it. */
bool chunk_takes(struct chunks *chunks, const struct message *message);
/* Call when the broker has answered for the whole chunk. Reacts to refusals for size. */
void chunk_end(struct chunks *chunks);

#endif
