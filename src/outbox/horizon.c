/*
 * The horizon: from which id on a claim has to look. docs/horizon.md has the rule and its proof.
 *
 * An INSERT takes RowExclusiveLock on the table before it draws its id, and keeps it until its
 * transaction is visible or gone. So when M was the highest id drawn, and after that the holders of
 * this lock were listed, any id up to M that is not visible now can only come from one of them. A
 * holder that was not there at the tick before draws ids above the M of that tick: its base.
 *
 * A long holder would stop all bounds at its base. Its rows are invisible for as long as a snapshot
 * lists it as running, so a second bound, `high`, leaves it out, and the statement that claims asks
 * its own snapshot which of the two it may use.
 */
#include "outbox/horizon.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LONG_MS 2000      /* a claim of a relay is hardly ever open for so long */
#define LONG_FIRST_MS 250 /* of a holder without a base: until it is left out, nothing is known */
#define SKIP_MS 1000      /* how long claims leave a slice to its first scan that does not begin, */
#define SKIP_SCAN_MS 5000 /* or that makes no progress */

struct holder {
    struct horizon_holder seen;
    int64_t base; /* every id that it draws is higher */
    int64_t since_ms;
    bool is_long; /* left out of `high`; seen.xid is not 0 */
};

struct horizon {
    pthread_mutex_t mutex;
    int fd;
    int count;
    struct server server;
    uint64_t epoch;
    uint64_t generation;
    bool ticked; /* in this epoch */
    uint32_t file;
    int64_t drawn; /* at the latest tick */
    int64_t stable_low;
    int64_t stable_high;
    struct holder *holders; /* at the latest tick, by transaction */
    int holder_count;
    struct horizon_bound *bounds;
    bool starting;       /* slices wait for their first scan, */
    int64_t progress_ms; /* which last moved on then */
    int64_t highest_claimed;
    bool worked;
    uint64_t sinks;                           /* of horizon_read_part: whose rows are left, */
    uint64_t source_epoch, source_generation; /* and of which state these bounds are */
};

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The first id behind this one. */
static int64_t behind(int64_t id)
{
    return id == HORIZON_UNKNOWN || id == INT64_MAX ? id : id + 1;
}

static void begin_epoch(struct horizon *horizon)
{
    uint64_t one = 1;

    horizon->epoch++;
    horizon->generation++;
    horizon->ticked = false;
    horizon->stable_low = HORIZON_UNKNOWN;
    horizon->stable_high = HORIZON_UNKNOWN;
    horizon->holder_count = 0;
    horizon->highest_claimed = HORIZON_UNKNOWN;
    horizon->starting = true;
    horizon->progress_ms = clock_now_ms();
    for (int i = 0; i < horizon->count; i++)
        horizon->bounds[i] =
            (struct horizon_bound){.low = HORIZON_UNKNOWN, .high = HORIZON_UNKNOWN};
    (void)!write(horizon->fd, &one, sizeof one); /* full: it is readable already */
}

struct horizon *horizon_open(int slices)
{
    struct horizon *horizon = calloc(1, sizeof *horizon);

    if (horizon == NULL)
        return NULL;
    horizon->count = slices;
    horizon->bounds = calloc((size_t)slices, sizeof *horizon->bounds);
    horizon->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (horizon->bounds == NULL || horizon->fd < 0 ||
        pthread_mutex_init(&horizon->mutex, NULL) != 0) {
        if (horizon->fd >= 0)
            (void)close(horizon->fd);
        free(horizon->bounds);
        free(horizon);
        return NULL;
    }
    begin_epoch(horizon);
    return horizon;
}

void horizon_close(struct horizon *horizon)
{
    if (horizon == NULL)
        return;
    (void)pthread_mutex_destroy(&horizon->mutex);
    (void)close(horizon->fd);
    free(horizon->holders);
    free(horizon->bounds);
    free(horizon);
}

int horizon_slices(const struct horizon *horizon)
{
    return horizon->count;
}

int horizon_fd(const struct horizon *horizon)
{
    return horizon->fd;
}

/* ---- views ---- */

static void make_unknown(struct horizon_view *view, int count)
{
    view->stamp =
        (struct horizon_stamp){.stable_low = HORIZON_UNKNOWN, .stable_high = HORIZON_UNKNOWN};
    view->file = 0;
    view->holder_count = 0;
    for (int i = 0; i < count; i++)
        view->bounds[i] = (struct horizon_bound){.low = HORIZON_UNKNOWN, .high = HORIZON_UNKNOWN};
}

int horizon_view_init(struct horizon_view *view, int slices)
{
    view->bounds = calloc((size_t)slices, sizeof *view->bounds);
    if (view->bounds == NULL)
        return -1;
    make_unknown(view, slices);
    return 0;
}

void horizon_view_free(struct horizon_view *view)
{
    free(view->bounds);
    view->bounds = NULL;
}

static bool is_of(const struct horizon *horizon, const struct server *server)
{
    return horizon->server.timeline == server->timeline &&
           strcmp(horizon->server.system, server->system) == 0;
}

void horizon_join(struct horizon *horizon, const struct server *server)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    begin_epoch(horizon);
    horizon->server = *server;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

void horizon_forget(struct horizon *horizon, uint64_t epoch)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        begin_epoch(horizon);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

static bool claims_skip(const struct horizon *horizon)
{
    int64_t wait_ms = horizon->ticked ? SKIP_SCAN_MS : SKIP_MS;

    return horizon->starting && clock_now_ms() < horizon->progress_ms + wait_ms;
}

static void fill_view(const struct horizon *horizon, struct horizon_view *view)
{
    bool skip = claims_skip(horizon);

    view->stamp = (struct horizon_stamp){horizon->epoch, horizon->generation, horizon->stable_low,
                                         horizon->stable_high};
    view->file = horizon->file;
    view->holder_count = 0;
    for (int i = 0; i < horizon->holder_count; i++)
        if (horizon->holders[i].is_long)
            view->holders[view->holder_count++] = horizon->holders[i].seen.xid;
    memcpy(view->bounds, horizon->bounds, (size_t)horizon->count * sizeof *view->bounds);
    for (int i = 0; i < horizon->count; i++)
        view->bounds[i].skipped = skip && view->bounds[i].low == HORIZON_UNKNOWN &&
                                  view->bounds[i].high == HORIZON_UNKNOWN;
}

/* A lane may still be connected to a primary that was replaced. */
void horizon_read(struct horizon *horizon, const struct server *server, struct horizon_view *view)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (is_of(horizon, server))
        fill_view(horizon, view);
    else
        make_unknown(view, horizon->count);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

/* `part` belongs to one lane, so the view may be read into it without its mutex. */
void horizon_read_part(struct horizon *part, struct horizon *horizon, uint64_t sinks,
                       const struct server *server, struct horizon_view *view)
{
    horizon_read(horizon, server, view);
    (void)pthread_mutex_lock(&part->mutex);
    if (view->stamp.epoch != part->source_epoch || sinks != part->sinks)
        begin_epoch(part);
    for (int i = 0; i < part->count; i++) {
        struct horizon_bound *bound = &part->bounds[i];

        if (view->stamp.generation != part->source_generation)
            bound->high = bound->low;
        bound->low = higher(bound->low, view->bounds[i].low);
        bound->high = higher(bound->high, view->bounds[i].high);
        bound->skipped = view->bounds[i].skipped;
    }
    part->sinks = sinks;
    part->source_epoch = view->stamp.epoch;
    part->source_generation = view->stamp.generation;
    part->generation = view->stamp.generation;
    if (view->stamp.epoch != 0)
        view->stamp.epoch = part->epoch;
    memcpy(view->bounds, part->bounds, (size_t)part->count * sizeof *view->bounds);
    (void)pthread_mutex_unlock(&part->mutex);
}

/* ---- bounds ---- */

/* A snapshot taken after the stamp has shown that nothing unsent is left below `end` but what may
 * still appear. What no holder can bring back is settled for every snapshot, so `low` follows. */
static void raise(struct horizon *horizon, const struct horizon_stamp *stamp,
                  struct horizon_bound *bound, int64_t end, bool from_high)
{
    if (from_high) {
        bound->high = higher(bound->high, lower(end, behind(stamp->stable_high)));
        bound->low = higher(bound->low, lower(bound->high, behind(stamp->stable_low)));
    } else {
        bound->low = higher(bound->low, lower(end, behind(stamp->stable_low)));
        bound->high = higher(bound->high, bound->low);
    }
    horizon->progress_ms = clock_now_ms();
}

static void raise_from(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                       const struct horizon_bound *from, int64_t end, bool from_high)
{
    struct horizon_bound *bound = &horizon->bounds[slice];

    (void)pthread_mutex_lock(&horizon->mutex);
    if (stamp->epoch == horizon->epoch &&
        (from_high ? stamp->generation == horizon->generation && from->high <= bound->high
                   : from->low <= bound->low))
        raise(horizon, stamp, bound, end, from_high);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

void horizon_advance(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t last, bool from_high)
{
    raise_from(horizon, stamp, slice, from, behind(last), from_high);
}

void horizon_scanned(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t lowest, bool from_high)
{
    raise_from(horizon, stamp, slice, from, lowest, from_high);
}

bool horizon_full_scanned(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                          const struct horizon_bound *before, int64_t lowest)
{
    struct horizon_bound *bound = &horizon->bounds[slice];
    bool late = lowest < before->low;

    (void)pthread_mutex_lock(&horizon->mutex);
    late = late && stamp->epoch == horizon->epoch;
    if (late) {
        bound->low = lower(bound->low, lowest);
        bound->high = bound->low;
    } else if (stamp->epoch == horizon->epoch) {
        raise(horizon, stamp, bound, lowest, false);
    }
    (void)pthread_mutex_unlock(&horizon->mutex);
    return late;
}

void horizon_note_claimed(struct horizon *horizon, int64_t highest)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    horizon->highest_claimed = higher(horizon->highest_claimed, highest);
    horizon->worked = true;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

int64_t horizon_highest_claimed(struct horizon *horizon)
{
    int64_t highest;

    (void)pthread_mutex_lock(&horizon->mutex);
    highest = horizon->highest_claimed;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return highest;
}

bool horizon_take_work(struct horizon *horizon)
{
    bool worked;

    (void)pthread_mutex_lock(&horizon->mutex);
    worked = horizon->worked;
    horizon->worked = false;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return worked;
}

void horizon_set_more(struct horizon *horizon, uint64_t epoch, int slice, bool has_more)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        horizon->bounds[slice].has_more = has_more;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

void horizon_clear_more(struct horizon *horizon)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    for (int i = 0; i < horizon->count; i++)
        horizon->bounds[i].has_more = false;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

/* ---- ticks ---- */

uint64_t horizon_epoch(struct horizon *horizon, const struct server *server)
{
    uint64_t epoch;

    (void)pthread_mutex_lock(&horizon->mutex);
    epoch = is_of(horizon, server) ? horizon->epoch : 0;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return epoch;
}

static int by_transaction(const void *left, const void *right)
{
    const struct horizon_holder *a = left;
    const struct horizon_holder *b = right;

    return a->transaction < b->transaction ? -1 : a->transaction > b->transaction;
}

/* A transaction that was prepared since the last tick may have drawn its ids before that. */
static int64_t base_of_new(const struct horizon *horizon, const struct horizon_holder *holder)
{
    if (!horizon->ticked)
        return HORIZON_UNKNOWN;
    return holder->prepared ? horizon->stable_low : horizon->drawn;
}

/* One that once ran in a snapshot keeps its xid: it may leave the snapshots before its lock. */
static struct holder still_held(const struct holder *before, const struct horizon_holder *now)
{
    struct holder holder = *before;

    if (now->xid != 0)
        holder.seen.xid = now->xid;
    return holder;
}

static bool is_long_by_now(const struct holder *holder, int64_t now_ms)
{
    int64_t held_ms = now_ms - holder->since_ms;

    return holder->seen.xid != 0 &&
           held_ms >= (holder->base == HORIZON_UNKNOWN ? LONG_FIRST_MS : LONG_MS);
}

/* Both lists are sorted. Returns how many long holders are left of those before; -1: no memory. */
static int take_holders(struct horizon *horizon, const struct horizon_tick *tick)
{
    struct holder *holders = calloc((size_t)tick->holder_count + 1, sizeof *holders);
    int longs = 0;
    int old = 0;

    if (holders == NULL)
        return -1;
    for (int i = 0; i < tick->holder_count; i++) {
        const struct horizon_holder *seen = &tick->holders[i];

        while (old < horizon->holder_count &&
               horizon->holders[old].seen.transaction < seen->transaction)
            old++;
        if (old < horizon->holder_count &&
            horizon->holders[old].seen.transaction == seen->transaction)
            holders[i] = still_held(&horizon->holders[old], seen);
        else
            holders[i] = (struct holder){*seen, base_of_new(horizon, seen), tick->now_ms, false};
        longs += holders[i].is_long;
    }
    free(horizon->holders);
    horizon->holders = holders;
    horizon->holder_count = tick->holder_count;
    return longs;
}

static int count_long(const struct horizon *horizon)
{
    int count = 0;

    for (int i = 0; i < horizon->holder_count; i++)
        count += horizon->holders[i].is_long;
    return count;
}

/* What a long holder that has left may have committed lies above `low`. */
static void forget_high(struct horizon *horizon)
{
    horizon->generation++;
    for (int i = 0; i < horizon->count; i++)
        horizon->bounds[i].high = horizon->bounds[i].low;
}

static void find_stable(struct horizon *horizon, int64_t drawn, int64_t now_ms)
{
    int longs = count_long(horizon);

    horizon->stable_low = drawn;
    horizon->stable_high = drawn;
    for (int i = 0; i < horizon->holder_count; i++) {
        struct holder *holder = &horizon->holders[i];

        if (!holder->is_long && longs < HORIZON_LONG_MAX && is_long_by_now(holder, now_ms)) {
            holder->is_long = true;
            longs++;
        }
        horizon->stable_low = lower(horizon->stable_low, holder->base);
        if (!holder->is_long)
            horizon->stable_high = lower(horizon->stable_high, holder->base);
    }
}

static bool contradicts(const struct horizon *horizon, const struct horizon_tick *tick)
{
    return horizon->ticked && (tick->file != horizon->file || tick->drawn < horizon->drawn);
}

bool horizon_tick(struct horizon *horizon, const struct horizon_tick *tick)
{
    bool taken = false;

    qsort(tick->holders, (size_t)tick->holder_count, sizeof *tick->holders, by_transaction);
    (void)pthread_mutex_lock(&horizon->mutex);
    if (tick->epoch == horizon->epoch && contradicts(horizon, tick)) {
        begin_epoch(horizon);
    } else if (tick->epoch == horizon->epoch) {
        int longs_before = count_long(horizon);
        int longs = take_holders(horizon, tick);

        if (longs >= 0 && longs < longs_before)
            forget_high(horizon);
        if (longs >= 0) {
            find_stable(horizon, tick->drawn, tick->now_ms);
            horizon->drawn = tick->drawn;
            horizon->file = tick->file;
            horizon->progress_ms = horizon->ticked ? horizon->progress_ms : tick->now_ms;
            horizon->ticked = true;
            taken = true;
        }
    }
    (void)pthread_mutex_unlock(&horizon->mutex);
    return taken;
}

void horizon_restamp(struct horizon *horizon, struct horizon_stamp *stamp)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (stamp->epoch == horizon->epoch) {
        stamp->stable_low = horizon->stable_low;
        stamp->stable_high = horizon->stable_high;
    }
    (void)pthread_mutex_unlock(&horizon->mutex);
}

bool horizon_is_stable(struct horizon *horizon)
{
    bool stable;

    (void)pthread_mutex_lock(&horizon->mutex);
    stable = horizon->stable_high != HORIZON_UNKNOWN;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return stable;
}

void horizon_first_scan_done(struct horizon *horizon, uint64_t epoch)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        horizon->starting = false;
    (void)pthread_mutex_unlock(&horizon->mutex);
}
