/*
 * When a bound may pass.
 *
 * A bound that passed an id while a lower one could still be committed would let a later row of its
 * key overtake it. So the bound trails: it passes a settled id when a later claim, still from the
 * old bound, has settled all it saw, with a snapshot that saw all there will ever be: trail.c.
 *
 * Each claim visits again what waits to be passed, for as long as somebody's old snapshot keeps it
 * from being removed. In a backlog that need not be, for its ids were drawn long ago: so the newest
 * unsent ids of the slices wait, too, and below one that has waited a bound passes at once what a
 * claim has settled. A few rows with ids far above the others, as from a hand, are not taken for
 * the newest (sql_choose.c): whoever draws an id later is below them.
 */
#include "outbox/bounds_pass.h"

#define NEWEST_REST 20 /* times of what it took to ask for the newest ids */
#define NEWEST_REST_MS_MIN 300
#define NEWEST_PAUSE_MS 600000 /* without an answer, or after a row below a bound */

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

static void add_from_bound(struct bounds *bounds, int slice)
{
    bounds->firsts[bounds->looked] = bounds->slices[slice].first;
    bounds->look[bounds->looked++] = slice;
}

static bool has_backlog(const struct bounds *bounds)
{
    for (int i = 0; i < bounds->count; i++)
        if (bounds->sure[i])
            return true;
    return false;
}

bool bounds_ask_newest(struct bounds *bounds, int64_t now_ms)
{
    if (now_ms < bounds->newest_ms || !has_backlog(bounds))
        return false;
    bounds->newest_ms = now_ms + NEWEST_PAUSE_MS;
    bounds->looked = 0;
    for (int i = 0; i < bounds->count; i++)
        add_from_bound(bounds, i);
    return true;
}

void bounds_told_newest(struct bounds *bounds, int64_t took_ms, int64_t now_ms)
{
    int64_t rest_ms = took_ms * NEWEST_REST;

    bounds->newest_ms = now_ms + (rest_ms > NEWEST_REST_MS_MIN ? rest_ms : NEWEST_REST_MS_MIN);
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
    bounds->newest_ms = now_ms + NEWEST_PAUSE_MS;
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
            add_from_bound(bounds, i);
    return bounds->looked;
}

/* What was settled too soon behind another id to wait beside it waits now. */
void bounds_empty(struct bounds *bounds, int slice, const struct sight *sight, int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];

    pass_and_trail(bound, trail_end(&bound->trail, sight->xmin, INT64_MAX), bound->last, now_ms);
}
