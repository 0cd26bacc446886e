#include "message/order.h"

#include <assert.h>
#include <string.h>

#define SINK_UNKNOWN (-1) /* the row was rejected before it was routed */
#define NONE (-1)

/* A hash table with open addressing, at most half full, over the keys of the batch. */
struct key_table {
    int *slots;    /* index of the last message of a key so far, of any sink; NONE: free slot */
    size_t count;  /* number of slots, a power of two */
    int *previous; /* for each message, the index of the previous one of its key; NONE: none */
};

static int init_key_table(struct key_table *table, struct batch *batch)
{
    table->count = 2;
    while (table->count < 2 * (size_t)batch->count)
        table->count *= 2;
    table->slots = batch_alloc(batch, table->count * sizeof *table->slots);
    table->previous = batch_alloc(batch, (size_t)batch->count * sizeof *table->previous);
    if (table->slots == NULL || table->previous == NULL)
        return -1;
    for (size_t i = 0; i < table->count; i++)
        table->slots[i] = NONE;
    return 0;
}

static bool is_same(struct text a, struct text b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static int *find_slot(const struct key_table *table, const struct batch *batch, struct text key)
{
    for (size_t at = text_hash(key) * 0x9E3779B97F4A7C15u >> 20;; at++) {
        int *last = &table->slots[at & (table->count - 1)];

        if (*last == NONE || is_same(batch->messages[*last].key, key))
            return last;
    }
}

/* A row without a sink could belong to any sink: it waits for all earlier rows of its key, and all
 * later ones wait for it. */
static int find_predecessor(const struct key_table *table, const struct batch *batch,
                            const struct message *message, int last)
{
    if (message->sink == SINK_UNKNOWN)
        return last;
    while (last != NONE && batch->messages[last].sink != message->sink &&
           batch->messages[last].sink != SINK_UNKNOWN)
        last = table->previous[last];
    return last;
}

/* Without a route_key the partition of a message is not known. */
static bool share_wave(const struct message *before, const struct message *message,
                       const enum order_kept *kept)
{
    if (message->sink < 0 || before->sink != message->sink || kept[message->sink] == ORDER_NOT_KEPT)
        return false;
    return kept[message->sink] == ORDER_KEPT_IN_SINK ||
           (message->route_key.data != NULL && before->route_key.data != NULL &&
            is_same(before->route_key, message->route_key) &&
            is_same(before->destination, message->destination));
}

/* The first parked row of a key is tried alone: it may be refused once more, and would take with it
 * what was sent together with it. */
static bool is_parked_head(const struct batch *batch, const struct message *message)
{
    return batch->parked && message->before == NONE;
}

static void link(struct batch *batch, struct message *message, int before,
                 const enum order_kept *kept)
{
    message->before = before;
    if (before == NONE)
        return;
    message->wave = batch->messages[before].wave;
    if (!share_wave(&batch->messages[before], message, kept) ||
        is_parked_head(batch, &batch->messages[before]))
        message->wave++;
    assert(batch->messages[before].wave <= message->wave);
    if (message->wave > batch->last_wave)
        batch->last_wave = message->wave;
}

int order_link(struct batch *batch, const enum order_kept *kept)
{
    struct key_table table;

    if (init_key_table(&table, batch) < 0)
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
        last = find_slot(&table, batch, message->key);
        table.previous[i] = *last;
        link(batch, message, find_predecessor(&table, batch, message, *last), kept);
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

bool order_shares_wave(const struct batch *batch, int sink)
{
    for (int i = 0; i < batch->count; i++) {
        const struct message *message = &batch->messages[i];

        if (message->before != NONE && order_is_in_wave(batch, message, sink) &&
            batch->messages[message->before].wave == message->wave)
            return true;
    }
    return false;
}
