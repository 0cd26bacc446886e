#include "relay/trouble.h"

#include "base/clock.h"
#include "source/source.h"

#include <stdio.h>
#include <string.h>

void trouble_init(struct trouble *trouble)
{
    (void)pthread_mutex_init(&trouble->lock, NULL);
}

void trouble_note(struct trouble *trouble, const struct error *error, bool was_connecting)
{
    int64_t now_ms = clock_now_ms();

    (void)pthread_mutex_lock(&trouble->lock);
    trouble->error = *error;
    if (error->hint[0] == '\0')
        (void)error_hint(&trouble->error, "%s", source_check);
    trouble->at_ms = now_ms;
    trouble->was_connecting = was_connecting;
    trouble->tries++;
    (void)pthread_mutex_unlock(&trouble->lock);
    (void)atomic_fetch_add(&trouble->failures, 1);
    if (atomic_load(&trouble->since_ms) == 0)
        atomic_store(&trouble->since_ms, now_ms);
}

void trouble_end(struct trouble *trouble)
{
    if (atomic_load_explicit(&trouble->since_ms, memory_order_relaxed) == 0)
        return;
    (void)pthread_mutex_lock(&trouble->lock);
    trouble->tries = 0;
    (void)pthread_mutex_unlock(&trouble->lock);
    atomic_store(&trouble->since_ms, 0);
}

bool trouble_ends_when_idle(struct trouble *trouble, int64_t quiet_ms)
{
    bool ends;

    if (atomic_load(&trouble->since_ms) == 0)
        return true;
    (void)pthread_mutex_lock(&trouble->lock);
    ends = trouble->was_connecting || trouble_is_of_absence(&trouble->error) ||
           clock_now_ms() - trouble->at_ms >= quiet_ms;
    (void)pthread_mutex_unlock(&trouble->lock);
    return ends;
}

bool trouble_is_of(struct trouble *trouble, enum error_origin origin)
{
    bool is;

    if (atomic_load(&trouble->since_ms) == 0)
        return false;
    (void)pthread_mutex_lock(&trouble->lock);
    is = trouble->error.origin == origin;
    (void)pthread_mutex_unlock(&trouble->lock);
    return is;
}

int64_t trouble_for_ms(const struct trouble *trouble, int64_t now_ms)
{
    int64_t since_ms = atomic_load(&trouble->since_ms);

    return since_ms == 0 ? 0 : now_ms > since_ms ? now_ms - since_ms : 1;
}

bool trouble_is_of_absence(const struct error *error)
{
    return error->is_unanswered || error->cause == ERROR_CUT;
}

static struct trouble_report *item_of(struct trouble_list *list, const struct error *error)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i].error.text, error->text) == 0)
            return &list->items[i];
    if (list->count == TROUBLES_MAX)
        return &list->items[TROUBLES_MAX - 1];
    list->items[list->count] = (struct trouble_report){.error = *error};
    return &list->items[list->count++];
}

void trouble_list_add(struct trouble_list *list, struct trouble *trouble, int lane, int64_t now_ms)
{
    int64_t for_ms = trouble_for_ms(trouble, now_ms);
    struct trouble_report *item;

    if (for_ms == 0 || lane > TROUBLE_LANES_MAX)
        return;
    (void)pthread_mutex_lock(&trouble->lock);
    item = item_of(list, &trouble->error);
    item->tries += trouble->tries;
    (void)pthread_mutex_unlock(&trouble->lock);
    item->is_of[lane] = true;
    if (for_ms > item->for_ms)
        item->for_ms = for_ms;
}

const char *trouble_name_lanes(const struct trouble_report *trouble, int lane_count, char *out,
                               size_t size)
{
    int count = 0;
    int last = 0;

    for (int lane = 1; lane <= TROUBLE_LANES_MAX; lane++)
        if (trouble->is_of[lane]) {
            count++;
            last = lane;
        }
    if (count == 0)
        (void)snprintf(out, size, "the watcher");
    else if (count == 1)
        (void)snprintf(out, size, "lane %d", last);
    else
        (void)snprintf(out, size, "%d of %d lanes", count, lane_count);
    return out;
}
