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
#include "outbox/slices/horizon.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LONG_MS 2000       /* a claim of a relay is hardly ever open for so long */
#define LONG_FIRST_MS 250  /* of a holder without a base: until it is left out, nothing is known */
#define START_MS 1000      /* for so long claims wait for a first scan that does not begin, */
#define START_SCAN_MS 5000 /* or makes no progress */

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
    uint64_t taken_back;
    int64_t claims_wait_ms; /* for the first scan, until then */
    bool ticked;            /* in this epoch; then: */
    uint32_t file;
    int64_t drawn; /* before that HORIZON_UNKNOWN, as the next two */
    int64_t stable_low;
    int64_t stable_high;
    struct holder *holders; /* by transaction */
    int holder_count;
    struct horizon_bound *bounds;
    atomic_bool *has_more;
    int64_t highest_claimed;
    bool worked;
    uint64_t sinks;              /* of horizon_read_part: whose rows are left, */
    struct horizon_stamp source; /* and of which state these bounds are */
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

static const struct horizon_bound unknown = {HORIZON_UNKNOWN, HORIZON_UNKNOWN};

static void begin_epoch(struct horizon *horizon)
{
    uint64_t one = 1;

    horizon->epoch++;
    horizon->generation++;
    horizon->ticked = false;
    horizon->file = 0;
    horizon->drawn = HORIZON_UNKNOWN;
    horizon->stable_low = HORIZON_UNKNOWN;
    horizon->stable_high = HORIZON_UNKNOWN;
    horizon->holder_count = 0;
    horizon->highest_claimed = HORIZON_UNKNOWN;
    horizon->claims_wait_ms = clock_now_ms() + START_MS;
    for (int i = 0; i < horizon->count; i++)
        horizon->bounds[i] = unknown;
    (void)!write(horizon->fd, &one, sizeof one); /* full: it is readable already */
}

struct horizon *horizon_open(int slices)
{
    struct horizon *horizon = calloc(1, sizeof *horizon);

    if (horizon == NULL)
        return NULL;
    horizon->count = slices;
    horizon->bounds = calloc((size_t)slices, sizeof *horizon->bounds);
    horizon->has_more = calloc((size_t)slices, sizeof *horizon->has_more);
    horizon->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (horizon->bounds == NULL || horizon->has_more == NULL || horizon->fd < 0 ||
        pthread_mutex_init(&horizon->mutex, NULL) != 0) {
        if (horizon->fd >= 0)
            (void)close(horizon->fd);
        free(horizon->bounds);
        free(horizon->has_more);
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
    free(horizon->has_more);
    free(horizon);
}

int horizon_slices(const struct horizon *horizon)
{
    return horizon->count;
}

atomic_bool *horizon_has_more(struct horizon *horizon)
{
    return horizon->has_more;
}

int horizon_fd(const struct horizon *horizon)
{
    return horizon->fd;
}

/* ---- views ---- */

int horizon_view_init(struct horizon_view *view, int slices)
{
    view->bounds = calloc((size_t)slices, sizeof *view->bounds);
    if (view->bounds == NULL)
        return -1;
    horizon_view_forget(view, slices);
    return 0;
}

void horizon_view_forget(struct horizon_view *view, int slices)
{
    *view = (struct horizon_view){.stamp = {.stable_low = HORIZON_UNKNOWN,
                                            .stable_high = HORIZON_UNKNOWN,
                                            .drawn = HORIZON_UNKNOWN},
                                  .bounds = view->bounds};
    for (int i = 0; i < slices; i++)
        view->bounds[i] = unknown;
}

void horizon_view_free(struct horizon_view *view)
{
    free(view->bounds);
    view->bounds = NULL;
}

static void fill_view(const struct horizon *horizon, struct horizon_view *view)
{
    view->stamp =
        (struct horizon_stamp){horizon->epoch,       horizon->generation, horizon->stable_low,
                               horizon->stable_high, horizon->drawn,      horizon->taken_back};
    view->starting = clock_now_ms() < horizon->claims_wait_ms;
    view->file = horizon->file;
    view->holder_count = 0;
    for (int i = 0; i < horizon->holder_count; i++)
        if (horizon->holders[i].is_long)
            view->holders[view->holder_count++] = horizon->holders[i].seen.xid;
    memcpy(view->bounds, horizon->bounds, (size_t)horizon->count * sizeof *view->bounds);
}

/* A lane may still be connected to a primary that was replaced. */
void horizon_read(struct horizon *horizon, const struct server *server, struct horizon_view *view)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (server_is_same(&horizon->server, server))
        fill_view(horizon, view);
    else
        horizon_view_forget(view, horizon->count);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

void horizon_read_part(struct horizon *part, struct horizon *horizon, uint64_t sinks,
                       const struct server *server, struct horizon_view *view)
{
    horizon_read(horizon, server, view);
    (void)pthread_mutex_lock(&part->mutex);
    if (view->stamp.epoch != part->source.epoch || sinks != part->sinks ||
        view->stamp.taken_back != part->source.taken_back)
        begin_epoch(part);
    for (int i = 0; i < part->count; i++) {
        struct horizon_bound *bound = &part->bounds[i];

        if (view->stamp.generation != part->source.generation)
            bound->high = bound->low;
        bound->low = higher(bound->low, view->bounds[i].low);
        bound->high = higher(bound->high, view->bounds[i].high);
        view->bounds[i] = *bound;
    }
    part->sinks = sinks;
    part->source = view->stamp;
    part->generation = view->stamp.generation;
    part->taken_back = view->stamp.taken_back;
    if (view->stamp.epoch != 0)
        view->stamp.epoch = part->epoch;
    (void)pthread_mutex_unlock(&part->mutex);
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

/* ---- bounds ---- */

/* A snapshot taken after the stamp has shown that nothing unsent is left below `end` but what may
 * still appear. What no holder can bring back is settled for every snapshot, so `low` follows. */
static void raise_bound(struct horizon_bound *bound, const struct horizon_stamp *stamp, int64_t end,
                        bool from_high)
{
    if (from_high) {
        bound->high = higher(bound->high, lower(end, behind(stamp->stable_high)));
        bound->low = higher(bound->low, lower(bound->high, behind(stamp->stable_low)));
    } else {
        bound->low = higher(bound->low, lower(end, behind(stamp->stable_low)));
        bound->high = higher(bound->high, bound->low);
    }
}

/* What began above a bound says nothing of it. What began before a bound was taken back may not
 * have seen the row below it, nor may `high` be raised by what began before a long holder left. */
static bool may_raise(const struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                      const struct horizon_bound *from, bool from_high)
{
    if (stamp->taken_back != horizon->taken_back)
        return false;
    if (from_high)
        return stamp->generation == horizon->generation &&
               from->high <= horizon->bounds[slice].high;
    return from->low <= horizon->bounds[slice].low;
}

void horizon_advance(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *from, int64_t last, bool from_high)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (stamp->epoch == horizon->epoch && may_raise(horizon, stamp, slice, from, from_high))
        raise_bound(&horizon->bounds[slice], stamp, behind(last), from_high);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

bool horizon_scanned(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                     const struct horizon_bound *bound, bool full, int64_t lowest, bool from_high)
{
    struct horizon_bound *now = &horizon->bounds[slice];
    bool late = false;

    (void)pthread_mutex_lock(&horizon->mutex);
    if (stamp->epoch == horizon->epoch && full) {
        bool high = from_high && stamp->generation == horizon->generation;

        late = lowest < (high ? bound->high : bound->low);
        horizon->taken_back += late;
        if (late)
            *now = (struct horizon_bound){lower(now->low, lowest), lower(now->high, lowest)};
        else
            raise_bound(now, stamp, lowest, high);
    } else if (stamp->epoch == horizon->epoch &&
               may_raise(horizon, stamp, slice, bound, from_high)) {
        raise_bound(now, stamp, lowest, from_high);
    }
    (void)pthread_mutex_unlock(&horizon->mutex);
    return late;
}

void horizon_note_claimed(struct horizon *horizon, uint64_t epoch, int64_t highest)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        horizon->highest_claimed = higher(horizon->highest_claimed, highest);
    horizon->worked = true;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

int64_t horizon_highest_claimed(struct horizon *horizon, bool *worked)
{
    int64_t highest;

    (void)pthread_mutex_lock(&horizon->mutex);
    highest = horizon->highest_claimed;
    *worked = horizon->worked;
    horizon->worked = false;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return highest;
}

/* ---- ticks ---- */

static int by_transaction(const void *left, const void *right)
{
    const struct horizon_holder *a = left;
    const struct horizon_holder *b = right;

    return a->transaction < b->transaction ? -1 : a->transaction > b->transaction;
}

/* A holder that is seen for the first time. One that was prepared since the last tick may have
 * drawn its ids before that, under another virtual transaction. */
static struct holder make_holder(const struct horizon *horizon, const struct horizon_holder *seen,
                                 int64_t now_ms)
{
    struct holder holder = {.seen = *seen, .base = HORIZON_UNKNOWN, .since_ms = now_ms};

    bool renamed = seen->prepared || (uint32_t)seen->transaction == 0;

    if (horizon->ticked)
        holder.base = renamed ? horizon->stable_low : horizon->drawn;
    return holder;
}

/* A holder may leave the snapshots before it lets go of its lock: once long, it keeps its xid. */
static struct holder keep_holder(const struct holder *before, const struct horizon_holder *seen,
                                 int64_t now_ms, int *longs)
{
    struct holder holder = *before;
    int64_t long_ms = holder.base == HORIZON_UNKNOWN ? LONG_FIRST_MS : LONG_MS;

    if (seen->xid != 0)
        holder.seen.xid = seen->xid;
    if (!holder.is_long && seen->xid != 0 && now_ms - holder.since_ms >= long_ms &&
        *longs < HORIZON_LONG_MAX) {
        holder.is_long = true;
        (*longs)++;
    }
    return holder;
}

static int count_long(const struct horizon *horizon)
{
    int count = 0;

    for (int i = 0; i < horizon->holder_count; i++)
        count += horizon->holders[i].is_long;
    return count;
}

/* Both lists are sorted. *left: a long holder is not there any more. -1: no memory. */
static int take_holders(struct horizon *horizon, const struct horizon_tick *tick, bool *left)
{
    struct holder *holders = calloc((size_t)tick->holder_count + 1, sizeof *holders);
    int longs = count_long(horizon);
    int remained = 0;
    int old = 0;

    if (holders == NULL)
        return -1;
    for (int i = 0; i < tick->holder_count; i++) {
        const struct horizon_holder *seen = &tick->holders[i];

        while (old < horizon->holder_count &&
               horizon->holders[old].seen.transaction < seen->transaction)
            old++;
        if (old < horizon->holder_count &&
            horizon->holders[old].seen.transaction == seen->transaction) {
            remained += horizon->holders[old].is_long;
            holders[i] = keep_holder(&horizon->holders[old], seen, tick->now_ms, &longs);
        } else {
            holders[i] = make_holder(horizon, seen, tick->now_ms);
        }
    }
    *left = remained < count_long(horizon);
    free(horizon->holders);
    horizon->holders = holders;
    horizon->holder_count = tick->holder_count;
    return 0;
}

/* What a long holder that has left may have committed lies above `low`. */
static void forget_high(struct horizon *horizon)
{
    horizon->generation++;
    for (int i = 0; i < horizon->count; i++)
        horizon->bounds[i].high = horizon->bounds[i].low;
}

static void find_stable(struct horizon *horizon, int64_t drawn)
{
    horizon->stable_low = drawn;
    horizon->stable_high = drawn;
    for (int i = 0; i < horizon->holder_count; i++) {
        const struct holder *holder = &horizon->holders[i];

        horizon->stable_low = lower(horizon->stable_low, holder->base);
        if (!holder->is_long)
            horizon->stable_high = lower(horizon->stable_high, holder->base);
    }
}

static bool take_tick(struct horizon *horizon, const struct horizon_tick *tick)
{
    bool left;

    if (horizon->ticked && (tick->file != horizon->file || tick->drawn < horizon->drawn)) {
        begin_epoch(horizon);
        return false;
    }
    if (take_holders(horizon, tick, &left) < 0)
        return false;
    if (left)
        forget_high(horizon);
    find_stable(horizon, tick->drawn);
    horizon->drawn = tick->drawn;
    horizon->file = tick->file;
    horizon->ticked = true;
    return true;
}

bool horizon_tick(struct horizon *horizon, const struct horizon_tick *tick,
                  struct horizon_stamp *stamp)
{
    bool taken;

    qsort(tick->holders, (size_t)tick->holder_count, sizeof *tick->holders, by_transaction);
    (void)pthread_mutex_lock(&horizon->mutex);
    taken = stamp->epoch == horizon->epoch && take_tick(horizon, tick);
    if (taken) {
        stamp->stable_low = horizon->stable_low;
        stamp->stable_high = horizon->stable_high;
    }
    (void)pthread_mutex_unlock(&horizon->mutex);
    return taken;
}

void horizon_first_scan(struct horizon *horizon, uint64_t epoch, bool done)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        horizon->claims_wait_ms = done ? 0 : clock_now_ms() + START_SCAN_MS;
    (void)pthread_mutex_unlock(&horizon->mutex);
}
