/*
 * The size of a chunk, and what follows from its refusal.
 *
 * A Kafka topic's max.message.bytes may be lower than the client's limits. Every full chunk would
 * then be refused although none of its messages is too large. So when several messages of a chunk
 * are refused for their size, the following chunks are half as large for some minutes. When only
 * one was refused, or chunks are already small, a single message is to blame, and sending one
 * message per key finds it.
 */

#include "broker/chunks.h"

#include "base/clock.h"

#define BYTES_MIN 4096
#define FULL_AGAIN_MS 600000
#define ONE_PER_KEY_MS 5000

void chunks_init(struct chunks *chunks, int64_t bytes_max, int64_t messages_max)
{
    chunks->messages_max = (int)messages_max;
    chunks->bytes_full = bytes_max;
    chunks->bytes_max = bytes_max;
}

void chunks_send_one_per_key(struct chunks *chunks)
{
    chunks->one_per_key = true;
    chunks->one_per_key_until_ms = clock_now_ms() + ONE_PER_KEY_MS;
}

void chunks_note_acknowledged(struct chunks *chunks)
{
    if (clock_left_ms(chunks->one_per_key_until_ms) == 0)
        chunks->one_per_key = false;
}

void chunk_begin(struct chunks *chunks)
{
    chunks->bytes = 0;
    chunks->count = 0;
    chunks->too_large = 0;
    if (chunks->bytes_max < chunks->bytes_full && clock_left_ms(chunks->full_ms) == 0)
        chunks->bytes_max = chunks->bytes_full;
}

/* An upper bound of the message's size in a record batch; for JetStream an estimate. */
static int64_t bytes_of(const struct chunks *chunks, const struct message *message)
{
    enum { OVERHEAD = 128, HEADER_OVERHEAD = 16 };
    size_t bytes = OVERHEAD + message->payload.len + message->route_key.len +
                   message->event_id.len + message->type.len + message->created_at.len +
                   message->replayed_at.len;

    for (int i = 0; i < message->header_count; i++)
        bytes += HEADER_OVERHEAD + message->headers[i].name.len + message->headers[i].value.len;
    return (int64_t)bytes + chunks->name_bytes;
}

/* The first message of a chunk always fits, however large it is. */
bool chunk_takes(struct chunks *chunks, const struct message *message)
{
    int64_t bytes = chunks->bytes + bytes_of(chunks, message);

    if (chunks->count > 0 && (bytes > chunks->bytes_max || chunks->count == chunks->messages_max))
        return false;
    chunks->bytes = bytes;
    chunks->count++;
    return true;
}

/* Halves the size of the refused chunk, which may have been smaller than the limit. */
static bool make_smaller(struct chunks *chunks)
{
    int64_t bytes = chunks->bytes < chunks->bytes_max ? chunks->bytes : chunks->bytes_max;

    if (bytes <= BYTES_MIN)
        return false;
    chunks->bytes_max = bytes / 2 > BYTES_MIN ? bytes / 2 : BYTES_MIN;
    chunks->full_ms = clock_now_ms() + FULL_AGAIN_MS;
    return true;
}

void chunk_end(struct chunks *chunks)
{
    if (chunks->too_large == 1 || (chunks->too_large > 1 && !make_smaller(chunks)))
        chunks_send_one_per_key(chunks);
    chunks->too_large = 0;
}
