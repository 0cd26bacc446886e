#include "outbox/slices/choice.h"

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

int choice_init(struct slice_choice *choice, int count)
{
    *choice = (struct slice_choice){.count = count, .busy_width = busy_width_of(count), .only = -1};
    choice->width =
        choice->busy_width; /* a lane that began with all slices would leave none to others */
    choice->last_claim = calloc((size_t)count, sizeof *choice->last_claim);
    choice->retry_after_ms = calloc((size_t)count, sizeof *choice->retry_after_ms);
    choice->candidates = calloc((size_t)count, sizeof *choice->candidates);
    if (choice->last_claim == NULL || choice->retry_after_ms == NULL || choice->candidates == NULL)
        return -1;
    return 0;
}

void choice_free(struct slice_choice *choice)
{
    free(choice->last_claim);
    free(choice->retry_after_ms);
    free(choice->candidates);
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

void choice_list_candidates(struct slice_choice *choice, const struct horizon_bound *bounds,
                            int64_t now_ms)
{
    struct ranking ranking = {bounds, choice->last_claim};

    choice->candidate_count = 0;
    for (int i = 0; i < choice->count; i++)
        if (choice->only >= 0 ? i == choice->only : choice->retry_after_ms[i] <= now_ms)
            choice->candidates[choice->candidate_count++] = i;
    choice->only = -1;
    qsort_r(choice->candidates, (size_t)choice->candidate_count, sizeof *choice->candidates,
            compare_slices, &ranking);
}

void choice_note_claimed(struct slice_choice *choice, const int32_t *slices, int count)
{
    choice->claims++;
    for (int i = 0; i < count; i++) {
        choice->last_claim[slices[i]] = choice->claims;
        choice->retry_after_ms[slices[i]] = 0;
    }
}

static int width_of_full(const struct slice_choice *choice, int locked)
{
    int width = choice->width / 2;

    if (choice->width > choice->busy_width)
        return width > choice->busy_width ? width : choice->busy_width;
    if (locked < choice->width) /* no further slice was free: leave some to other lanes */
        return locked > 1 ? locked / 2 : 1;
    return 2 * choice->width < choice->busy_width ? 2 * choice->width : choice->busy_width;
}

void choice_adapt_width(struct slice_choice *choice, int locked, bool full, bool half)
{
    if (choice->single_claims > 0)
        choice->single_claims--;
    else if (full)
        choice->width = width_of_full(choice, locked);
    else if (choice->width < SLICES_PER_CLAIM_MAX && !(choice->width == choice->busy_width && half))
        choice->width *= 2;
}

/* Whether the slice was postponed recently and has yielded no row since. */
static bool is_suspect(int64_t retry_after_ms, int64_t until_ms)
{
    return retry_after_ms != 0 && until_ms - retry_after_ms <= SUSPECT_MS;
}

/* Returns the slice with the locked row; -1: it is not known which one it is. */
static int find_locked(const struct slice_choice *choice, const int32_t *slices, int count,
                       int64_t until_ms)
{
    int found = -1;

    for (int i = 0; i < count; i++) {
        if (count > 1 && !is_suspect(choice->retry_after_ms[slices[i]], until_ms))
            continue;
        if (found >= 0)
            return -1;
        found = slices[i];
    }
    return found;
}

/* While it is not known which slice has the locked row, the lane claims one slice at a time. */
void choice_postpone(struct slice_choice *choice, const int32_t *slices, int count,
                     int64_t until_ms)
{
    int locked = find_locked(choice, slices, count, until_ms);

    if (locked >= 0)
        choice->retry_after_ms[locked] = until_ms;
    choice->single_claims = locked >= 0 ? 0 : choice->count;
    choice->width = 1;
}
