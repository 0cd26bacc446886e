/*
 * When no lower id can turn up behind one that is there.
 *
 * Ids do not become visible in their order: a row with a lower id may be committed after a higher
 * one was sent. Whoever drew a lower id had its transaction's number by then, or gets it a moment
 * later, within LAG_MS, because an insert draws the id first; so a transaction that is numbered
 * after that, the fence, is younger than all of them. A snapshot to which every transaction up to
 * the fence had ended sees every lower id that there will ever be. An open writer keeps such
 * snapshots away, a reader does not. Who takes longer than LAG_MS from its id to its number may be
 * overtaken; then a sweep finds its row.
 *
 * Several ids wait at once, or a bound would be as old as two waits: what lies above it is visited
 * again by each claim while somebody's old snapshot keeps it from being removed.
 */
#include "outbox/trail.h"

#include <string.h>

#define LAG_MS 250
#define DISTANCE_MS 70 /* between two ids */

_Static_assert(TRAIL_IDS_MAX * DISTANCE_MS >= LAG_MS, "the ids of a trail cover the wait");

void trail_add(struct trail *trail, int64_t id, int64_t now_ms)
{
    const struct trail_id *latest = trail->count > 0 ? &trail->ids[trail->count - 1] : NULL;

    if (trail->count == TRAIL_IDS_MAX)
        return;
    if (latest != NULL && (id <= latest->id || now_ms - latest->drawn_ms < DISTANCE_MS))
        return;
    trail->ids[trail->count++] = (struct trail_id){.id = id, .drawn_ms = now_ms};
}

/* Where it is lower than it was, ids may be drawn from the beginning again. */
void trail_add_newest(struct trail *trail, int64_t id, int64_t now_ms)
{
    const struct trail_id *latest = trail->count > 0 ? &trail->ids[trail->count - 1] : NULL;

    if (latest != NULL && id == latest->id)
        return;
    if (latest != NULL && id < latest->id)
        trail->count = 0;
    else if (latest != NULL &&
             (trail->count == TRAIL_IDS_MAX || now_ms - latest->drawn_ms < DISTANCE_MS))
        trail->count--;
    trail_add(trail, id, now_ms);
}

static bool lacks_fence(const struct trail_id *waits, int64_t asked_ms)
{
    return waits->fence == 0 && asked_ms - waits->drawn_ms >= LAG_MS;
}

void trail_fence(struct trail *trail, int64_t xact, int64_t asked_ms)
{
    for (int i = 0; i < trail->count; i++)
        if (lacks_fence(&trail->ids[i], asked_ms))
            trail->ids[i].fence = xact;
}

bool trail_lacks_fence(const struct trail *trail, int64_t asked_ms)
{
    for (int i = 0; i < trail->count; i++)
        if (lacks_fence(&trail->ids[i], asked_ms))
            return true;
    return false;
}

int64_t trail_end(const struct trail *trail, int64_t xmin, int64_t last)
{
    int64_t end = TRAIL_NONE;

    for (int i = 0; i < trail->count; i++) {
        const struct trail_id *waits = &trail->ids[i];

        if (waits->fence != 0 && xmin > waits->fence)
            end = waits->id < last ? waits->id : last;
    }
    return end;
}

void trail_pass(struct trail *trail, int64_t id)
{
    int passed = 0;

    while (passed < trail->count && trail->ids[passed].id <= id)
        passed++;
    trail->count -= passed;
    memmove(trail->ids, trail->ids + passed, (size_t)trail->count * sizeof *trail->ids);
}
