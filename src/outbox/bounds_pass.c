/*
 * When a bound may pass.
 *
 * A bound that passed an id while a lower one could still be committed would let a later row of its
 * key overtake it. So the bound trails: it passes a settled id when a later claim, still from the
 * old bound, has settled all it saw, with a snapshot that saw all there will ever be: trail.c.
 *
 * Each claim visits again what waits to be passed, for as long as somebody's old snapshot keeps it
 * from being removed. In a backlog that need not be, for its ids were drawn long ago: so the newest
 * unsent id of each slice trails, too, and below it a bound passes at once what a claim has
 * settled.
 */
#include "outbox/bounds_pass.h"

#define NEWEST_MS 300        /* between two times that the newest ids are asked for, */
#define NEWEST_REST_MS 60000 /* without an answer, or behind a row below a bound */

/* Passes all up to `end`; what lies between it and `last`, which was settled too, waits. */
static void pass_and_trail(struct bound *bound, int64_t end, int64_t last, int64_t now_ms)
{
    if (end >= bound->first && end != TRAIL_NONE) {
        bound->first = end + 1;
        trail_pass(&bound->trail, end);
    }
    if (last >= bound->first && last != INT64_MAX)
        trail_add(&bound->trail, last, now_ms);
}

void bounds_fence(struct bounds *bounds, int64_t xact, int64_t asked_ms)
{
    for (int i = 0; i < bounds->count; i++)
        trail_fence(&bounds->slices[i].trail, xact, asked_ms);
}

bool bounds_lack_fence(const struct bounds *bounds, int64_t asked_ms)
{
    for (int i = 0; i < bounds->count; i++)
        if (trail_lacks_fence(&bounds->slices[i].trail, asked_ms))
            return true;
    return false;
}

static void add(struct bounds *bounds, int slice)
{
    bounds->firsts[bounds->looked] = bounds->slices[slice].first;
    bounds->look[bounds->looked++] = slice;
}

int bounds_ask_newest(struct bounds *bounds, int64_t now_ms)
{
    bounds->looked = 0;
    for (int i = 0; i < bounds->count && now_ms >= bounds->newest_ms; i++)
        if (bounds->sure[i])
            add(bounds, i);
    if (bounds->looked > 0)
        bounds->newest_ms = now_ms + NEWEST_REST_MS;
    return bounds->looked;
}

void bounds_told_newest(struct bounds *bounds, int64_t now_ms)
{
    bounds->newest_ms = now_ms + NEWEST_MS;
}

void bounds_newest(struct bounds *bounds, int slice, int64_t id, int64_t now_ms)
{
    if (id != INT64_MAX)
        trail_add_newest(&bounds->slices[slice].trail, id, now_ms);
}

bool bounds_take_back(struct bounds *bounds, int slice, int64_t first, int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];

    if (first >= bound->first)
        return false;
    bound->first = BOUNDS_UNKNOWN;
    bound->trail.count = 0;
    bounds->newest_ms = now_ms + NEWEST_REST_MS;
    return true;
}

void bounds_settled(struct bounds *bounds, int slice, int64_t last, const struct sight *sight,
                    int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];

    if (sight->epoch != bounds->epoch)
        return;
    pass_and_trail(bound, trail_end(&bound->trail, sight->xmin, last), last, now_ms);
}

int bounds_pending(struct bounds *bounds, const struct sight *sight)
{
    bounds->looked = 0;
    for (int i = 0; i < bounds->count && sight->epoch == bounds->epoch; i++)
        if (trail_end(&bounds->slices[i].trail, sight->xmin, INT64_MAX) != TRAIL_NONE)
            add(bounds, i);
    return bounds->looked;
}

/* What was settled too soon behind another id to wait beside it waits now. */
void bounds_empty(struct bounds *bounds, int slice, const struct sight *sight, int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];

    pass_and_trail(bound, trail_end(&bound->trail, sight->xmin, INT64_MAX), bound->last, now_ms);
}
