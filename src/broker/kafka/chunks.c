/*
 * What goes at once: as much as fits into one record batch (publish.c says why), or, after a
 * refusal that a message may be to blame for, one message of a key.
 *
 * What librdkafka takes is known from its properties, what a topic takes is not: max.message.bytes
 * may be less, and then each full chunk would be refused though no message of it is too large. So
 * after a chunk of which several messages are refused for their size the next are half as large,
 * for some minutes. When only one was refused, or chunks are small already, a message is to blame,
 * and being careful finds it.
 */

#include "broker/kafka/chunks.h"

#include "base/clock.h"

#define BYTES_MIN 4096
#define FULL_AGAIN_MS 600000
#define CAREFUL_MS 5000

/* Half, because librdkafka counts what it adds to each message by its largest size. */
void kafka_chunks_init(struct kafka_chunks *chunks, int64_t message_bytes_max,
                       int64_t batch_bytes_max, int64_t messages_max)
{
    chunks->messages_max = (int)messages_max;
    chunks->bytes_full =
        message_bytes_max < batch_bytes_max ? message_bytes_max / 2 : batch_bytes_max / 2;
    chunks->bytes_max = chunks->bytes_full;
}

void kafka_chunks_be_careful(struct kafka_chunks *chunks)
{
    chunks->careful = true;
    chunks->careful_ms = clock_now_ms() + CAREFUL_MS;
}

void kafka_chunk_begin(struct kafka_chunks *chunks)
{
    chunks->bytes = 0;
    chunks->count = 0;
    chunks->too_large = 0;
    if (chunks->bytes_max < chunks->bytes_full && clock_left_ms(chunks->full_ms) == 0)
        chunks->bytes_max = chunks->bytes_full;
}

/* More than it takes in a record batch. */
static int64_t bytes_of(const struct message *message)
{
    enum { OVERHEAD = 128, HEADER_OVERHEAD = 16 };
    size_t bytes = OVERHEAD + message->payload.len + message->route_key.len +
                   message->event_id.len + message->type.len + message->created_at.len;

    for (int i = 0; i < message->header_count; i++)
        bytes += HEADER_OVERHEAD + message->headers[i].name.len + message->headers[i].value.len;
    return (int64_t)bytes;
}

/* One message always, however large. */
bool kafka_chunk_takes(struct kafka_chunks *chunks, const struct message *message)
{
    int64_t bytes = chunks->bytes + bytes_of(message);

    if (chunks->count > 0 && (bytes > chunks->bytes_max || chunks->count == chunks->messages_max))
        return false;
    chunks->bytes = bytes;
    chunks->count++;
    return true;
}

/* Half of what the chunk was, which may be less than it was allowed to be. */
static bool make_smaller(struct kafka_chunks *chunks)
{
    int64_t bytes = chunks->bytes < chunks->bytes_max ? chunks->bytes : chunks->bytes_max;

    if (bytes <= BYTES_MIN)
        return false;
    chunks->bytes_max = bytes / 2 > BYTES_MIN ? bytes / 2 : BYTES_MIN;
    chunks->full_ms = clock_now_ms() + FULL_AGAIN_MS;
    return true;
}

void kafka_chunk_end(struct kafka_chunks *chunks)
{
    if (chunks->too_large == 1 || (chunks->too_large > 1 && !make_smaller(chunks)))
        kafka_chunks_be_careful(chunks);
    chunks->too_large = 0;
}
