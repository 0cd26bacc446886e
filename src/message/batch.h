#ifndef MESSAGE_BATCH_H
#define MESSAGE_BATCH_H

#include "message/message.h"

/*
 * A batch holds the messages of one cycle and every byte they point to. Its capacity limits the
 * rows, the claim limits the bytes. Memory is reused from cycle to cycle: after warm-up nothing is
 * allocated.
 */

struct batch_chunk;

/* Whether two rows may have one event id. */
enum event_ids {
    EVENT_IDS_COINCIDE, /* as far as the table tells */
    EVENT_IDS_DISTINCT, /* not at one time; a later row may have the id of one that is gone */
    EVENT_IDS_FRESH     /* never, unless an application gives one to two rows */
};

struct batch {
    struct message *messages;
    int count;
    int capacity;
    bool parked;   /* the rows were claimed from the parked table, not from the outbox */
    bool numbered; /* so are its messages */
    enum event_ids event_ids;
    bool refused; /* the rows are in the outbox and have notes: PostgreSQL refused them before */
    int wave;     /* the wave that is being published */
    int last_wave;
    bool is_asked; /* the database was asked for rows of the outbox, and has answered */
    bool has_more; /* claim again at once: the claim hit its limit of rows or bytes, other slices
                      may have rows, or the claim was dropped */
    /* Why rows stay unsent and are claimed again although they are to be parked, or a note is to
     * keep them out of claims; NULL: there are none. The other rows of the batch were settled. */
    const char *park_failure;
    void *rows; /* the query result that holds the claimed bytes; NULL when there is none */
    void (*release_rows)(void *rows); /* frees `rows` */
    struct batch_chunk *chunks;       /* arena for what later stages render */
    struct batch_chunk *chunk;        /* the chunk that allocations come from */
};

/* Returns 0, or -1 when there is no memory. */
int batch_init(struct batch *batch, int capacity);
void batch_free(struct batch *batch);

/* Empties the batch for the next cycle. Pointers into it become invalid. */
void batch_reset(struct batch *batch);

/* Adds an empty message (no sink, no payload, no predecessor). NULL when the batch is full. */
struct message *batch_add(struct batch *batch);

/* Uninitialised bytes, aligned for any type, that live until batch_reset; NULL when there is no
 * memory. */
void *batch_alloc(struct batch *batch, size_t size);

/* Copies bytes into the batch and terminates them. data == NULL when there is no memory. */
struct text batch_copy(struct batch *batch, const char *data, size_t len);

int batch_count(const struct batch *batch, enum outcome outcome);

/* Sets a message's verdict and its formatted reason ("out of memory" when it cannot be stored). */
void batch_refuse(struct batch *batch, struct message *message, enum verdict verdict,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Adds the words of the database, if any, to what the parked table says of it. */
void batch_quote(struct batch *batch, struct message *message, const char *words);
/* Between a reason and these words; reasons.sql cuts there. */
#define BATCH_WORDS "; the database: "

#endif
