#include "message/order.h"

#include <string.h>

#define SINK_UNKNOWN (-1) /* the row was refused before it had one */
#define NONE (-1)

/* Open addressing, at most half full. */
struct lasts {
    int *slots;    /* the place of a key's last message so far, of whichever sink; NONE: free */
    size_t count;  /* a power of two */
    int *previous; /* of each message: the place of its key's message before it; NONE: none */
};

static int open_lasts(struct lasts *lasts, struct batch *batch)
{
    lasts->count = 2;
    while (lasts->count < 2 * (size_t)batch->count)
        lasts->count *= 2;
    lasts->slots = batch_alloc(batch, lasts->count * sizeof *lasts->slots);
    lasts->previous = batch_alloc(batch, (size_t)batch->count * sizeof *lasts->previous);
    if (lasts->slots == NULL || lasts->previous == NULL)
        return -1;
    for (size_t i = 0; i < lasts->count; i++)
        lasts->slots[i] = NONE;
    return 0;
}

/* FNV-1a: the keys are the application's, and 64 bits keep clusters rare. */
static uint64_t hash_of(struct text key)
{
    uint64_t hash = 0xCBF29CE484222325u;

    for (size_t i = 0; i < key.len; i++)
        hash = (hash ^ (unsigned char)key.data[i]) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

static bool is_same(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static int *last_of(const struct lasts *lasts, const struct batch *batch, struct text key)
{
    for (size_t at = hash_of(key) * 0x9E3779B97F4A7C15u >> 20;; at++) {
        int *last = &lasts->slots[at & (lasts->count - 1)];

        if (*last == NONE || is_same(batch->messages[*last].key, key))
            return last;
    }
}

/* A row that has no sink may belong to any: it waits for all of its key, and they for it. */
static int find_before(const struct lasts *lasts, const struct batch *batch,
                       const struct message *message, int last)
{
    if (message->sink == SINK_UNKNOWN)
        return last;
    while (last != NONE && batch->messages[last].sink != message->sink &&
           batch->messages[last].sink != SINK_UNKNOWN)
        last = lasts->previous[last];
    return last;
}

/* A client keeps the order along one partition only; without a route_key there is no such. */
static bool share_wave(const struct message *before, const struct message *message, uint64_t kept)
{
    return message->sink >= 0 && before->sink == message->sink &&
           (kept >> message->sink & 1) != 0 && message->route_key.data != NULL &&
           before->route_key.data != NULL && is_same(before->route_key, message->route_key) &&
           is_same(before->destination, message->destination);
}

static void link(struct batch *batch, struct message *message, int before, uint64_t kept)
{
    message->before = before;
    if (before == NONE)
        return;
    message->wave = batch->messages[before].wave;
    if (!share_wave(&batch->messages[before], message, kept))
        message->wave++;
    if (message->wave > batch->last_wave)
        batch->last_wave = message->wave;
}

int order_link(struct batch *batch, uint64_t kept)
{
    struct lasts lasts;

    if (open_lasts(&lasts, batch) < 0)
        return -1;
    batch->last_wave = 0;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        int *last;

        message->before = NONE;
        message->wave = 0;
        message->handed = false;
        if (message->key.data == NULL)
            continue;
        last = last_of(&lasts, batch, message->key);
        lasts.previous[i] = *last;
        link(batch, message, find_before(&lasts, batch, message, *last), kept);
        *last = i;
    }
    return 0;
}

bool order_is_in_wave(const struct batch *batch, const struct message *message, int sink)
{
    return message->verdict == VERDICT_PENDING && message->sink == sink &&
           message->wave == batch->wave && !message->blocked;
}

bool order_is_due(const struct batch *batch, const struct message *message, int sink)
{
    const struct message *before;

    if (!order_is_in_wave(batch, message, sink))
        return false;
    if (message->before == NONE)
        return true;
    before = &batch->messages[message->before];
    return before->verdict == VERDICT_SENT ||
           (before->wave == message->wave && before->verdict == VERDICT_PENDING && before->handed);
}

bool order_is_held(const struct batch *batch, const struct message *message)
{
    return message->verdict != VERDICT_SENT &&
           (message->blocked ||
            (message->before != NONE && batch->messages[message->before].verdict != VERDICT_SENT));
}
