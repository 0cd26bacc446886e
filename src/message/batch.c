#include "message/batch.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (64 * 1024)
#define REASON_BYTES_MAX 1024

struct batch_chunk {
    struct batch_chunk *next;
    size_t size;
    size_t used;
    alignas(max_align_t) char bytes[];
};

int batch_init(struct batch *batch, int capacity)
{
    *batch = (struct batch){.capacity = capacity};
    batch->messages = calloc((size_t)capacity, sizeof *batch->messages);
    return batch->messages == NULL ? -1 : 0;
}

static void release_rows(struct batch *batch)
{
    if (batch->rows != NULL)
        batch->release_rows(batch->rows);
    batch->rows = NULL;
}

/* A chunk above the usual size held one large value. It is freed, so that a single large row does
 * not raise the memory use for good. */
static struct batch_chunk *drop_large_chunks(struct batch_chunk *chunk)
{
    struct batch_chunk *kept = NULL;

    while (chunk != NULL) {
        struct batch_chunk *next = chunk->next;

        if (chunk->size > CHUNK_BYTES) {
            free(chunk);
        } else {
            chunk->used = 0;
            chunk->next = kept;
            kept = chunk;
        }
        chunk = next;
    }
    return kept;
}

void batch_reset(struct batch *batch)
{
    release_rows(batch);
    batch->count = 0;
    batch->parked = false;
    batch->refused = false;
    batch->is_asked = false;
    batch->has_more = false;
    batch->wave = 0;
    batch->last_wave = 0;
    batch->park_failure = NULL;
    batch->chunks = drop_large_chunks(batch->chunks);
    batch->chunk = batch->chunks;
}

void batch_free(struct batch *batch)
{
    release_rows(batch);
    while (batch->chunks != NULL) {
        struct batch_chunk *next = batch->chunks->next;

        free(batch->chunks);
        batch->chunks = next;
    }
    free(batch->messages);
    *batch = (struct batch){0};
}

struct message *batch_add(struct batch *batch)
{
    struct message *message;

    if (batch->count == batch->capacity)
        return NULL;
    message = &batch->messages[batch->count++];
    *message = (struct message){
        .numbered = batch->numbered, .sink = -1, .payload_len = -1, .partition = -1, .before = -1};
    return message;
}

static struct batch_chunk *chunk_with_room(struct batch *batch, size_t size)
{
    size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    struct batch_chunk *added;

    for (; batch->chunk != NULL; batch->chunk = batch->chunk->next)
        if (batch->chunk->size - batch->chunk->used >= size)
            return batch->chunk;
    added = malloc(sizeof *added + chunk_size);
    if (added == NULL)
        return NULL;
    *added = (struct batch_chunk){.next = batch->chunks, .size = chunk_size};
    batch->chunks = added;
    batch->chunk = added;
    return added;
}

void *batch_alloc(struct batch *batch, size_t size)
{
    size_t rounded =
        (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    struct batch_chunk *chunk = chunk_with_room(batch, rounded);
    void *bytes;

    if (chunk == NULL)
        return NULL;
    bytes = chunk->bytes + chunk->used;
    chunk->used += rounded;
    return bytes;
}

struct text batch_copy(struct batch *batch, const char *data, size_t len)
{
    char *copy = batch_alloc(batch, len + 1);

    if (copy == NULL)
        return (struct text){NULL, 0};
    memcpy(copy, data, len);
    copy[len] = '\0';
    return (struct text){copy, len};
}

int batch_count(const struct batch *batch, enum outcome outcome)
{
    int count = 0;

    for (int i = 0; i < batch->count; i++)
        count += batch->messages[i].outcome == outcome;
    return count;
}

void batch_refuse(struct batch *batch, struct message *message, enum verdict verdict,
                  const char *format, ...)
{
    char reason[REASON_BYTES_MAX];
    va_list args;
    struct text copy;

    va_start(args, format);
    text_vformat(reason, sizeof reason, format, args);
    va_end(args);
    copy = batch_copy(batch, reason, strlen(reason));
    message->verdict = verdict;
    message->reason = copy.data != NULL ? copy.data : "out of memory";
    message->parked_reason = NULL;
}

void batch_quote(struct batch *batch, struct message *message, const char *words)
{
    size_t size = strlen(message->reason) + sizeof BATCH_WORDS + strlen(words);
    char *text = words[0] != '\0' ? batch_alloc(batch, size) : NULL;

    if (text != NULL)
        (void)snprintf(text, size, "%s" BATCH_WORDS "%s", message->reason, words);
    message->parked_reason = text;
}
