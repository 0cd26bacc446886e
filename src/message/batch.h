#ifndef MESSAGE_BATCH_H
#define MESSAGE_BATCH_H

#include "message/message.h"

/*
 * The messages of one cycle and every byte they point to. Limited in rows by its capacity and in
 * bytes by the claim. Memory is kept from cycle to cycle: after warm-up nothing is allocated.
 */

struct batch_chunk;

struct batch {
    struct message *messages;
    int count;
    int capacity;
    bool parked; /* claimed from the parked rows, not from the outbox */
    int wave;    /* the one that is being published */
    int last_wave;
    bool more; /* a limit, of rows or of bytes, ended the claim, or it was put off: ask again */
    const char
        *unparked; /* settled, but for the rows to be parked: why they stayed; NULL: none did */
    void *rows;    /* what holds the claimed bytes, freed by `release_rows`; NULL: nothing */
    void (*release_rows)(void *rows);
    struct batch_chunk *chunks; /* arena for what later stages render */
    struct batch_chunk *chunk;  /* the one in use */
};

/* 0, or -1 when there is no memory. */
int batch_init(struct batch *batch, int capacity);
void batch_free(struct batch *batch);

/* Empties it for the next cycle. Pointers into the batch end here. */
void batch_reset(struct batch *batch);

/* The next message, zeroed, sink -1; NULL at capacity. */
struct message *batch_add(struct batch *batch);

/* Uninitialised bytes, aligned for any type, that live until batch_reset; NULL when there is no
 * memory. */
void *batch_alloc(struct batch *batch, size_t size);

/* A terminated copy. data == NULL when there is no memory. */
struct text batch_copy(struct batch *batch, const char *data, size_t len);

/* Gives a message its verdict with a formatted reason. Without memory the reason is a constant. */
void batch_refuse(struct batch *batch, struct message *message, enum verdict verdict,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
