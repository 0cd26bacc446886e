#include "outbox/slices/turns.h"

#include <stdlib.h>

#define BUSY_PART 16     /* a busy lane takes one in this many slices, so that others find some */
#define BUSY_MAX 4       /* but at most this many, whose keys are enough to fill a batch for NATS */
#define SUSPECT_MS 20000 /* a slice postponed so recently is suspected when a row is locked */

static int busy_width_of(int count)
{
    int part = count / BUSY_PART;

    if (part > BUSY_MAX)
        return BUSY_MAX;
    return part > 0 ? part : 1;
}

int turns_init(struct turns *turns, int count)
{
    *turns = (struct turns){.count = count, .busy_width = busy_width_of(count)};
    turns->width =
        turns->busy_width; /* a lane that began with all slices would leave none to others */
    turns->last_claim = calloc((size_t)count, sizeof *turns->last_claim);
    turns->retry_after_ms = calloc((size_t)count, sizeof *turns->retry_after_ms);
    turns->candidates = calloc((size_t)count, sizeof *turns->candidates);
    if (turns->last_claim == NULL || turns->retry_after_ms == NULL || turns->candidates == NULL)
        return -1;
    return 0;
}

void turns_free(struct turns *turns)
{
    free(turns->last_claim);
    free(turns->retry_after_ms);
    free(turns->candidates);
}

struct ranking {
    const struct horizon_bound *bounds;
    const uint64_t *last_claim;
};

/* Slices without unsent rows share the same bound; among them the one claimed longest ago comes
 * first. */
static int compare_slices(const void *left, const void *right, void *closure)
{
    const struct ranking *ranking = closure;
    int32_t a = *(const int32_t *)left;
    int32_t b = *(const int32_t *)right;

    if (ranking->bounds[a].high != ranking->bounds[b].high)
        return ranking->bounds[a].high < ranking->bounds[b].high ? -1 : 1;
    if (ranking->last_claim[a] != ranking->last_claim[b])
        return ranking->last_claim[a] < ranking->last_claim[b] ? -1 : 1;
    return a - b;
}

void turns_list_candidates(struct turns *turns, const struct horizon_bound *bounds, int64_t now_ms)
{
    struct ranking ranking = {bounds, turns->last_claim};

    turns->candidate_count = 0;
    for (int i = 0; i < turns->count; i++)
        if (turns->retry_after_ms[i] <= now_ms)
            turns->candidates[turns->candidate_count++] = i;
    qsort_r(turns->candidates, (size_t)turns->candidate_count, sizeof *turns->candidates,
            compare_slices, &ranking);
}

void turns_note_claimed(struct turns *turns, const int32_t *slices, int count)
{
    turns->claims++;
    for (int i = 0; i < count; i++) {
        turns->last_claim[slices[i]] = turns->claims;
        turns->retry_after_ms[slices[i]] = 0;
    }
}

static int width_of_full(const struct turns *turns, int locked)
{
    int width = turns->width / 2;

    if (turns->width > turns->busy_width)
        return width > turns->busy_width ? width : turns->busy_width;
    if (locked < turns->width) /* no further slice was free: leave some to other lanes */
        return locked > 1 ? locked / 2 : 1;
    return 2 * turns->width < turns->busy_width ? 2 * turns->width : turns->busy_width;
}

void turns_adapt_width(struct turns *turns, int locked, bool full, bool half)
{
    if (turns->single_claims > 0)
        turns->single_claims--;
    else if (full)
        turns->width = width_of_full(turns, locked);
    else if (turns->width < SLICES_PER_CLAIM_MAX && !(turns->width == turns->busy_width && half))
        turns->width *= 2;
}

/* Whether the slice was postponed recently and has yielded no row since. */
static bool is_suspect(int64_t retry_after_ms, int64_t until_ms)
{
    return retry_after_ms != 0 && until_ms - retry_after_ms <= SUSPECT_MS;
}

/* Returns the slice with the locked row; -1: it is not known which one it is. */
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

/* While it is not known which slice has the locked row, the lane claims one slice at a time. */
void turns_postpone(struct turns *turns, const int32_t *slices, int count, int64_t until_ms)
{
    int locked = find_locked(turns, slices, count, until_ms);

    if (locked >= 0)
        turns->retry_after_ms[locked] = until_ms;
    turns->single_claims = locked >= 0 ? 0 : turns->count;
    turns->width = 1;
}
