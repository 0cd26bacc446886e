/*
 * When a bound may pass.
 *
 * A bound that passed an id while a lower one could still be committed would let a later row of its
 * key overtake it. So the bound trails: it passes a settled id when a later claim, still from the
 * old bound, has settled all it saw, with a snapshot that saw all there will ever be: trail.c.
 *
 * Each claim visits again what waits to be passed, for as long as somebody's old snapshot keeps it
 * from being removed. In a backlog that need not be: its ids have been drawn long ago. So the
 * newest id of the table waits, too, once for all slices, and up to it a bound passes at once what
 * a claim has settled.
 */
#include "outbox/bounds_pass.h"

#define NEWEST_MS 900     /* between two times that it is asked for, */
#define DRAWN_MS 2000     /* and how long the answer holds */
#define DISTRUST_MS 60000 /* when there was none, or a bound had passed too much */

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
    trail_fence(&bounds->drawn.waits, xact, asked_ms);
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

bool bounds_ask_newest(struct bounds *bounds, int64_t now_ms)
{
    if (now_ms < bounds->drawn.ask_ms)
        return false;
    bounds->drawn.ask_ms = now_ms + DISTRUST_MS;
    return true;
}

static void forget_drawn(struct drawn *drawn)
{
    drawn->id = TRAIL_NONE;
    drawn->waits.count = 0;
}

/* Where it is lower than it was, ids may be drawn from the beginning again. */
void bounds_newest(struct bounds *bounds, int64_t id, int64_t now_ms)
{
    struct drawn *drawn = &bounds->drawn;

    if (id < drawn->id || (drawn->waits.count > 0 && id < drawn->waits.ids[0].id))
        forget_drawn(drawn);
    drawn->seen_ms = now_ms;
    drawn->ask_ms = now_ms + NEWEST_MS;
    if (id != INT64_MAX)
        trail_add(&drawn->waits, id, now_ms);
}

/* Up to which id this claim saw all that there will ever be, of `last` or less. */
static int64_t drawn_end(struct drawn *drawn, int64_t xmin, int64_t last, int64_t now_ms)
{
    int64_t end = trail_end(&drawn->waits, xmin, INT64_MAX);

    if (end != TRAIL_NONE) {
        drawn->id = end;
        trail_pass(&drawn->waits, end);
    }
    if (now_ms - drawn->seen_ms > DRAWN_MS)
        return TRAIL_NONE;
    return drawn->id < last ? drawn->id : last;
}

bool bounds_take_back(struct bounds *bounds, int slice, int64_t first, int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];

    if (first >= bound->first)
        return false;
    bound->first = BOUNDS_UNKNOWN;
    bound->trail.count = 0;
    forget_drawn(&bounds->drawn);
    bounds->drawn.ask_ms = now_ms + DISTRUST_MS;
    return true;
}

void bounds_settled(struct bounds *bounds, int slice, int64_t last, const struct sight *sight,
                    int64_t now_ms)
{
    struct bound *bound = &bounds->slices[slice];
    int64_t end, drawn;

    if (sight->epoch != bounds->epoch)
        return;
    end = trail_end(&bound->trail, sight->xmin, last);
    drawn = drawn_end(&bounds->drawn, sight->xmin, last, now_ms);
    pass_and_trail(bound, drawn > end ? drawn : end, last, now_ms);
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
