#include "outbox/slices/turns.h"

#include <stdlib.h>

#define FLOOR_PART 16 /* of the slices, or fewer: each leaves enough to other lanes */
#define FLOOR_MAX 4   /* the keys of so many fill a batch for NATS; more slices serve more lanes */
#define SUSPECT_MS 20000 /* between two times that a slice is left alone for the same lock */

static int floor_of(int count)
{
    int floor = count / FLOOR_PART;

    if (floor > FLOOR_MAX)
        return FLOOR_MAX;
    return floor > 0 ? floor : 1;
}

int turns_init(struct turns *turns, int count)
{
    *turns = (struct turns){.count = count, .floor = floor_of(count)};
    turns->width = turns->floor; /* who begins with all of them leaves none to other lanes */
    turns->claimed = calloc((size_t)count, sizeof *turns->claimed);
    turns->retry_after_ms = calloc((size_t)count, sizeof *turns->retry_after_ms);
    turns->candidates = calloc((size_t)count, sizeof *turns->candidates);
    if (turns->claimed == NULL || turns->retry_after_ms == NULL || turns->candidates == NULL)
        return -1;
    return 0;
}

void turns_free(struct turns *turns)
{
    free(turns->claimed);
    free(turns->retry_after_ms);
    free(turns->candidates);
}

struct place {
    const struct horizon_bound *bounds;
    const uint64_t *claimed;
};

/* Equal bounds are those of slices that have come to the stable id: there the one that was claimed
 * longest ago comes first. */
static int compare_places(const void *left, const void *right, void *closure)
{
    const struct place *place = closure;
    int32_t a = *(const int32_t *)left;
    int32_t b = *(const int32_t *)right;

    if (place->bounds[a].high != place->bounds[b].high)
        return place->bounds[a].high < place->bounds[b].high ? -1 : 1;
    if (place->claimed[a] != place->claimed[b])
        return place->claimed[a] < place->claimed[b] ? -1 : 1;
    return a - b;
}

void turns_choose(struct turns *turns, const struct horizon_bound *bounds, int64_t now_ms)
{
    struct place place = {bounds, turns->claimed};

    turns->candidate_count = 0;
    for (int i = 0; i < turns->count; i++)
        if (turns->retry_after_ms[i] <= now_ms)
            turns->candidates[turns->candidate_count++] = i;
    qsort_r(turns->candidates, (size_t)turns->candidate_count, sizeof *turns->candidates,
            compare_places, &place);
}

void turns_claimed(struct turns *turns, const int32_t *slices, int count)
{
    turns->claims++;
    for (int i = 0; i < count; i++) {
        turns->claimed[slices[i]] = turns->claims;
        turns->retry_after_ms[slices[i]] = 0;
    }
}

static int width_of_full(const struct turns *turns, int locked)
{
    int width = turns->width / 2;

    if (turns->width > turns->floor)
        return width > turns->floor ? width : turns->floor;
    if (locked < turns->width) /* no other had rows or was free: leave some to other lanes */
        return locked > 1 ? locked / 2 : 1;
    return 2 * turns->width < turns->floor ? 2 * turns->width : turns->floor;
}

void turns_adapt(struct turns *turns, int locked, bool full, bool half)
{
    if (turns->narrow > 0)
        turns->narrow--;
    else if (full)
        turns->width = width_of_full(turns, locked);
    else if (turns->width < SLICES_A_CLAIM_MAX && !(turns->width == turns->floor && half))
        turns->width *= 2;
}

/* It was locked a while ago, and has given no row since. */
static bool is_suspect(int64_t retry_after_ms, int64_t until_ms)
{
    return retry_after_ms != 0 && until_ms - retry_after_ms <= SUSPECT_MS;
}

/* -1: nobody knows which of them it is. */
static int find_locked(const struct turns *turns, const int32_t *slices, int count,
                       int64_t until_ms)
{
    int found = -1;

    for (int i = 0; i < count; i++) {
        if (count > 1 && !is_suspect(turns->retry_after_ms[slices[i]], until_ms))
            continue;
        if (found >= 0)
            return -1;
        found = slices[i];
    }
    return found;
}

/* While nobody knows which it is, slices are taken one by one. */
void turns_postpone(struct turns *turns, const int32_t *slices, int count, int64_t until_ms)
{
    int locked = find_locked(turns, slices, count, until_ms);

    if (locked >= 0)
        turns->retry_after_ms[locked] = until_ms;
    turns->narrow = locked >= 0 ? 0 : turns->count;
    turns->width = 1;
}
