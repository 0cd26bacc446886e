/*
 * When a bound may pass.
 *
 * A bound that passed an id while a lower one could still be committed would let a later row of its
 * key overtake it. So the bound trails: it passes a settled id when a later claim, still from the
 * old bound, has settled all it saw, with a snapshot that saw all there will ever be: trail.c.
 */
#include "outbox/bounds_pass.h"

/* Passes the id up to `end`; what lies between it and `last`, which was settled too, waits. */
static void pass_and_trail(struct bound *bound, int64_t end, int64_t last, int64_t now_ms)
{
    if (end != TRAIL_NONE) {
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

bool bounds_take_back(struct bounds *bounds, int slice, int64_t first)
{
    struct bound *bound = &bounds->slices[slice];

    if (first >= bound->first)
        return false;
    bound->first = BOUNDS_UNKNOWN;
    bound->trail.count = 0;
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
        if (trail_end(&bounds->slices[i].trail, sight->xmin, INT64_MAX) != TRAIL_NONE) {
            bounds->firsts[bounds->looked] = bounds->slices[i].first;
            bounds->look[bounds->looked++] = i;
        }
    return bounds->looked;
}

/* What was settled too soon behind another id to wait beside it waits now. */
void bounds_empty(struct bounds *bounds, int slice, const struct sight *sight, int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];

    pass_and_trail(bound, trail_end(&bound->trail, sight->xmin, INT64_MAX), bound->last, now_ms);
}
