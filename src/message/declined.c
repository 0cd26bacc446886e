#include "message/declined.h"

#include <string.h>

void declined_forget(struct declined *declined, int64_t now_ms)
{
    for (int i = declined->count - 1; i >= 0; i--)
        if (declined->items[i].until_ms <= now_ms)
            declined->items[i] = declined->items[--declined->count];
}

static bool is_of(const struct declined_item *item, struct text waits_for)
{
    return item->len == waits_for.len && memcmp(item->waits_for, waits_for.data, item->len) == 0;
}

/* NULL: it cannot be remembered. */
static struct declined_item *item_of(struct declined *declined, struct text waits_for)
{
    struct declined_item *item;

    if (waits_for.data == NULL || waits_for.len > DECLINED_BYTES_MAX)
        return NULL;
    for (int i = 0; i < declined->count; i++)
        if (is_of(&declined->items[i], waits_for))
            return &declined->items[i];
    if (declined->count == DECLINED_MAX)
        return NULL;
    item = &declined->items[declined->count++];
    item->len = waits_for.len;
    memcpy(item->waits_for, waits_for.data, waits_for.len);
    return item;
}

void declined_note(struct declined *declined, struct batch *batch, int64_t for_ms, int64_t now_ms)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        struct declined_item *item = NULL;

        if (message->verdict == VERDICT_DECLINED)
            item = item_of(declined, message->waits_for);
        if (item == NULL)
            continue;
        item->until_ms = now_ms + for_ms;
        message->wait_max_ms = 1;
    }
}
