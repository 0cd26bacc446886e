/*
 * Which slices a lane looks at, in which turn, and from which id on.
 *
 * Who draws ids long before the insert defeats the bounds (bounds_pass.c), so a sweep looks at each
 * slice without its bound now and then; a row that it finds takes the bound back.
 */
#include "outbox/bounds.h"

#include <math.h>
#include <stdlib.h>

#define FLOOR_PART 16 /* of the slices, or fewer: each leaves enough to other lanes */
#define FLOOR_MAX 4   /* the keys of so many fill a batch for NATS; more slices serve more lanes */
#define SUSPECT_MS 20000 /* between two times that a slice is left alone for the same lock */
#define LATE_PART 4      /* of the looks one, but many of them together */
#define SWEEP_REST 40    /* times of what a sweep took */
#define SWEEP_REST_MS_MIN 250
#define SWEEP_STEP_MS_MAX 1000 /* who took longer waited for a lock, or slept */
#define SWEEP_SLOW_MS 100      /* a look that takes longer takes fewer slices the next time */

static int floor_of(int count)
{
    int floor = count / FLOOR_PART;

    if (floor > FLOOR_MAX)
        return FLOOR_MAX;
    return floor > 0 ? floor : 1;
}

int bounds_init(struct bounds *bounds, int count)
{
    *bounds = (struct bounds){.count = count, .sweep_width = count};
    bounds->floor = floor_of(count);
    bounds->width = bounds->floor; /* who begins with all of them leaves none to other lanes */
    bounds->slices = calloc((size_t)count, sizeof *bounds->slices);
    bounds->own_sure = calloc((size_t)count, sizeof *bounds->own_sure);
    bounds->sure = bounds->own_sure;
    bounds->look = calloc((size_t)count, sizeof *bounds->look);
    bounds->firsts = calloc((size_t)count, sizeof *bounds->firsts);
    if (bounds->slices == NULL || bounds->own_sure == NULL || bounds->look == NULL ||
        bounds->firsts == NULL)
        return -1;
    bounds_forget(bounds);
    return 0;
}

void bounds_free(struct bounds *bounds)
{
    free(bounds->slices);
    free(bounds->own_sure);
    free(bounds->look);
    free(bounds->firsts);
}

static void clear(const struct bounds *bounds, atomic_bool *sure)
{
    for (int i = 0; i < bounds->count; i++)
        sure[i] = false;
}

void bounds_use(struct bounds *bounds, atomic_bool *sure)
{
    bounds->sure = sure != NULL ? sure : bounds->own_sure;
}

void bounds_forget(struct bounds *bounds)
{
    for (int i = 0; i < bounds->count; i++) {
        bounds->slices[i].first = BOUNDS_UNKNOWN;
        bounds->slices[i].last = BOUNDS_UNKNOWN;
        bounds->slices[i].trail.count = 0;
    }
    clear(bounds, bounds->own_sure);
    bounds->sweep_left = 0;
    bounds->chosen_count = 0;
    bounds->epoch++;
}

static void begin_sweep_when_due(struct bounds *bounds, int64_t now_ms)
{
    if (bounds->sweep_left > 0 || now_ms < bounds->sweep_ms)
        return;
    bounds->sweep_left = bounds->count;
    bounds->sweep_took_ms = 0;
}

static void add(struct bounds *bounds, int slice, int64_t first)
{
    bounds->firsts[bounds->looked] = first;
    bounds->look[bounds->looked++] = slice;
}

static bool is_swept_now(const struct bounds *bounds, int slice)
{
    return (slice - bounds->sweep_next + bounds->count) % bounds->count < bounds->unbounded;
}

/* How far the slices have come that have rows for sure; INFINITY when there is none. */
static double mean_last(const struct bounds *bounds)
{
    double sum = 0;
    int count = 0;

    for (int i = 0; i < bounds->count; i++)
        if (bounds->sure[i] && bounds->slices[i].last != BOUNDS_UNKNOWN) {
            sum += (double)bounds->slices[i].last;
            count++;
        }
    return count > 0 ? sum / count : INFINITY;
}

static void add_in_turn(struct bounds *bounds, int64_t now_ms, double mean, bool ahead)
{
    for (int i = 0; i < bounds->count; i++) {
        int slice = (bounds->next[bounds->late] + i) % bounds->count;
        const struct bound *bound = &bounds->slices[slice];

        if (!is_swept_now(bounds, slice) && bound->avoid_ms <= now_ms &&
            ((double)bound->last > mean) == ahead)
            add(bounds, slice, bound->first);
    }
}

/* As many as take each slice once, when each takes so many as it may. */
static int looks_in_turn(const struct bounds *bounds)
{
    return bounds->count / bounds->floor;
}

/* Slices have more rows or fewer, so equal turns drive them apart, until each page of a large
 * backlog is visited from all over the drain: from memory, no longer from a cache. So now and then
 * those ahead of the mean come last. The other looks go on where they were, so that each slice has
 * its turn however far another is behind. */
static void add_all(struct bounds *bounds, int64_t now_ms)
{
    double mean = mean_last(bounds);

    bounds->late = bounds->narrow == 0 && isfinite(mean) &&
                   bounds->looks / looks_in_turn(bounds) == LATE_PART - 1;
    if (!bounds->late)
        mean = INFINITY;
    add_in_turn(bounds, now_ms, mean, false);
    add_in_turn(bounds, now_ms, mean, true);
}

/* The swept slices first, so that the claim does not end before it came to them. */
void bounds_look(struct bounds *bounds, int64_t now_ms)
{
    begin_sweep_when_due(bounds, now_ms);
    bounds->looked = 0;
    bounds->chosen_count = 0;
    bounds->sweep_done = 0;
    bounds->unbounded =
        bounds->sweep_left < bounds->sweep_width ? bounds->sweep_left : bounds->sweep_width;
    for (int i = 0; i < bounds->unbounded; i++)
        if (bounds->slices[(bounds->sweep_next + i) % bounds->count].avoid_ms <= now_ms)
            add(bounds, (bounds->sweep_next + i) % bounds->count, BOUNDS_UNKNOWN);
    add_all(bounds, now_ms);
}

static int place_of(const struct bounds *bounds, int slice)
{
    for (int i = 0; i < bounds->looked; i++)
        if (bounds->look[i] == slice)
            return i;
    return bounds->looked;
}

/* A look that took as many slices as it may has not come to those behind the last of them. */
static int swept(const struct bounds *bounds)
{
    int reached;

    if (bounds->chosen_count < bounds->width)
        return bounds->unbounded;
    reached = place_of(bounds, bounds->chosen[bounds->chosen_count - 1]) + 1;
    return reached < bounds->unbounded ? reached : bounds->unbounded;
}

static void count_sweep(struct bounds *bounds, int64_t took_ms, int64_t now_ms)
{
    int64_t rest_ms;

    bounds->sweep_took_ms += took_ms < SWEEP_STEP_MS_MAX ? took_ms : SWEEP_STEP_MS_MAX;
    if (bounds->sweep_left > 0)
        return;
    rest_ms = bounds->sweep_took_ms * SWEEP_REST;
    bounds->sweep_ms = now_ms + (rest_ms > SWEEP_REST_MS_MIN ? rest_ms : SWEEP_REST_MS_MIN);
}

static void note_sweep(struct bounds *bounds, int64_t took_ms, int64_t now_ms)
{
    bounds->sweep_done = swept(bounds);
    bounds->sweep_next = (bounds->sweep_next + bounds->sweep_done) % bounds->count;
    bounds->sweep_left -= bounds->sweep_done;
    if (took_ms > SWEEP_SLOW_MS)
        bounds->sweep_width = bounds->sweep_width > 1 ? bounds->sweep_width / 2 : 1;
    else if (bounds->sweep_width < bounds->count)
        bounds->sweep_width++;
    count_sweep(bounds, took_ms, now_ms);
}

void bounds_walked(struct bounds *bounds, int64_t took_ms, int64_t now_ms)
{
    if (bounds->sweep_done > 0)
        count_sweep(bounds, took_ms, now_ms);
}

static void move_behind(struct bounds *bounds, int slice)
{
    bounds->next[bounds->late] = (slice + 1) % bounds->count;
}

void bounds_learn(struct bounds *bounds, const int64_t *firsts)
{
    for (int i = 0; i < bounds->count; i++) {
        struct bound *bound = &bounds->slices[i];

        if (bound->first >= firsts[i])
            continue;
        bound->first = firsts[i];
        trail_pass(&bound->trail, firsts[i] - 1);
    }
}

void bounds_raise(struct bounds *bounds, const int64_t *firsts, int64_t took_ms, int64_t now_ms)
{
    bounds_learn(bounds, firsts);
    bounds->sweep_width = 1;
    bounds->sweep_left = 0;
    bounds->sweep_ms = now_ms + took_ms * SWEEP_REST;
}

void bounds_looked(struct bounds *bounds, int64_t took_ms, int64_t now_ms)
{
    if (bounds->unbounded > 0)
        note_sweep(bounds, took_ms, now_ms);
    if (bounds->chosen_count == 0)
        return;
    bounds->looks = (bounds->looks + 1) % (LATE_PART * looks_in_turn(bounds));
    move_behind(bounds, bounds->chosen[bounds->chosen_count - 1]);
}

void bounds_claimed(struct bounds *bounds, int slice, int64_t last)
{
    struct bound *bound = &bounds->slices[slice];

    move_behind(bounds, slice);
    bound->last = last;
    bound->avoid_ms = 0;
}

/* What the sweep has not come to is taken back, or slices that are chosen together each time would
 * never be swept behind the first of them. */
void bounds_cut(struct bounds *bounds, int slice)
{
    int missed = bounds->sweep_done - place_of(bounds, slice) - 1;

    if (missed <= 0)
        return;
    bounds->sweep_done -= missed;
    bounds->sweep_next = (bounds->sweep_next - missed + bounds->count) % bounds->count;
    bounds->sweep_left += missed;
}

bool bounds_share(const struct bounds *bounds)
{
    return bounds->width <= bounds->floor;
}

static int width_of_full(const struct bounds *bounds)
{
    int width = bounds->width / 2;

    if (bounds->width > bounds->floor)
        return width > bounds->floor ? width : bounds->floor;
    if (bounds->chosen_count < bounds->width) /* no other had rows or was free: leave some */
        return bounds->chosen_count > 1 ? bounds->chosen_count / 2 : 1;
    return 2 * bounds->width < bounds->floor ? 2 * bounds->width : bounds->floor;
}

void bounds_doubt(struct bounds *bounds)
{
    clear(bounds, bounds->sure);
}

void bounds_adapt(struct bounds *bounds, int rows, int limit)
{
    bool share = bounds_share(bounds);

    for (int i = 0; i < bounds->chosen_count; i++)
        bounds->sure[bounds->chosen[i]] = share && rows == limit;
    if (bounds->narrow > 0)
        bounds->narrow--;
    else if (rows == limit)
        bounds->width = width_of_full(bounds);
    else if (bounds->width < BOUNDS_WIDTH_MAX &&
             !(bounds->width == bounds->floor && rows >= limit / 2))
        bounds->width *= 2;
}

/* It was locked a while ago, and has given no row since. */
static bool is_suspect(const struct bound *bound, int64_t until_ms)
{
    return bound->avoid_ms != 0 && until_ms - bound->avoid_ms <= SUSPECT_MS;
}

/* NULL: nobody knows which of those chosen it is. */
static struct bound *find_locked(struct bounds *bounds, int64_t until_ms)
{
    struct bound *found = NULL;

    for (int i = 0; i < bounds->chosen_count; i++) {
        struct bound *bound = &bounds->slices[bounds->chosen[i]];

        if (bounds->chosen_count > 1 && !is_suspect(bound, until_ms))
            continue;
        if (found != NULL)
            return NULL;
        found = bound;
    }
    return found;
}

/* While nobody knows which it is, they are taken one by one. */
void bounds_avoid(struct bounds *bounds, int64_t until_ms)
{
    struct bound *locked = find_locked(bounds, until_ms);

    if (locked != NULL)
        locked->avoid_ms = until_ms;
    bounds->narrow = locked != NULL ? 0 : bounds->count;
    bounds->width = 1;
}
