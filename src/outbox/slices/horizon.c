/*
 * The horizon: the lower bounds from which claims read. docs/internals/horizon.md has the rule and
 * its proof.
 *
 * An INSERT takes RowExclusiveLock on the table before it draws its id, and keeps it until its
 * transaction is visible or rolled back. So if M was the highest id drawn before the holders of
 * this lock were listed, any id up to M that is not visible yet can only come from one of them. A
 * holder that was not listed at the previous tick draws only ids above the M of that tick: its
 * base.
 *
 * A holder with a long transaction would stop all bounds at its base. But its rows are invisible to
 * every snapshot that lists it as running. So a second bound, `high`, ignores long holders, and the
 * claim checks its own snapshot to decide which of the two bounds it may use.
 */
#include "outbox/slices/horizon.h"

#include "base/clock.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LONG_MS 2000       /* age of a long holder; a relay's own claims hardly ever take as long */
#define LONG_FIRST_MS 250  /* the same for a holder without a base, which blocks all bounds */
#define START_MS 1000      /* how long claims wait for the first scan to begin */
#define START_SCAN_MS 5000 /* how long claims wait for the first scan to make progress */

struct holder {
    struct horizon_holder seen; /* as the last tick saw it */
    int64_t base;               /* every id that it draws is higher */
    int64_t since_ms;           /* when a tick first saw it */
    bool is_long;               /* `high` ignores it; seen.xid is not 0 */
};

struct horizon {
    pthread_mutex_t mutex;
    int fd;
    int count;
    struct server server;
    uint64_t epoch;
    uint64_t generation;
    uint64_t lowered_count;
    uint64_t begun_anew;    /* ticks that found the ids set back */
    int64_t seen_drawn;     /* `drawn` of the last tick, also if it was of an epoch before */
    int64_t claims_wait_ms; /* claims wait until then for the first scan of the epoch */
    bool ticked;            /* this epoch has had a tick; until then the next four are unknown */
    uint32_t file;          /* the table's file node */
    int64_t drawn;          /* highest id drawn */
    int64_t stable_low;
    int64_t stable_high;
    int64_t moved_ms;       /* when stable_low last moved, or was level with `drawn` */
    struct holder *holders; /* sorted by transaction */
    int holder_count;
    struct horizon_bound *bounds;
    atomic_bool *has_more;
    int64_t highest_claimed;
    bool has_claimed; /* rows were claimed since horizon_highest_claimed() was called */

    /* horizon_read_while_away() only */
    uint64_t away;               /* the sinks whose rows the bounds leave out */
    struct horizon_stamp source; /* the state of the other horizon that the bounds rest on */
};

static int64_t min_id(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_id(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The id after this one. */
static int64_t next_id(int64_t id)
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
    (void)!write(horizon->fd, &one, sizeof one); /* EAGAIN: it is readable already */
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
    horizon->seen_drawn = HORIZON_UNKNOWN;
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
    horizon_view_clear(view, slices);
    return 0;
}

void horizon_view_clear(struct horizon_view *view, int slices)
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
                               horizon->stable_high, horizon->drawn,      horizon->lowered_count};
    view->starting = clock_now_ms() < horizon->claims_wait_ms;
    view->file = horizon->file;
    view->holder_count = 0;
    for (int i = 0; i < horizon->holder_count; i++)
        if (horizon->holders[i].is_long)
            view->holders[view->holder_count++] = horizon->holders[i].seen.xid;
    memcpy(view->bounds, horizon->bounds, (size_t)horizon->count * sizeof *view->bounds);
}

/* A lane may still be connected to a primary that has been replaced. */
void horizon_read(struct horizon *horizon, const struct server *server, struct horizon_view *view)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (server_is_same(&horizon->server, server))
        fill_view(horizon, view);
    else
        horizon_view_clear(view, horizon->count);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

void horizon_read_while_away(struct horizon *part, struct horizon *horizon, uint64_t away,
                             const struct server *server, struct horizon_view *view)
{
    horizon_read(horizon, server, view);
    (void)pthread_mutex_lock(&part->mutex);
    if (view->stamp.epoch != part->source.epoch || away != part->away ||
        view->stamp.lowered_count != part->source.lowered_count)
        begin_epoch(part);
    for (int i = 0; i < part->count; i++) {
        struct horizon_bound *bound = &part->bounds[i];

        if (view->stamp.generation != part->source.generation)
            bound->high = bound->low;
        bound->low = max_id(bound->low, view->bounds[i].low);
        bound->high = max_id(bound->high, view->bounds[i].high);
        assert(bound->low <= bound->high);
        view->bounds[i] = *bound;
    }
    part->away = away;
    part->source = view->stamp;
    part->generation = view->stamp.generation;
    part->lowered_count = view->stamp.lowered_count;
    if (view->stamp.epoch != 0)
        view->stamp.epoch = part->epoch;
    (void)pthread_mutex_unlock(&part->mutex);
}

void horizon_connected(struct horizon *horizon, const struct server *server)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    begin_epoch(horizon);
    horizon->server = *server;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

uint64_t horizon_begun_anew(struct horizon *horizon)
{
    uint64_t count;

    (void)pthread_mutex_lock(&horizon->mutex);
    count = horizon->begun_anew;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return count;
}

void horizon_reset(struct horizon *horizon, uint64_t epoch)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        begin_epoch(horizon);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

/* ---- bounds ---- */

/* The order of the two bounds, and that none passes the id after the stable one, is what keeps the
 * order of a key; a relay that breaks it must not send anything more. */
static void assert_bound(const struct horizon_bound *bound, const struct horizon_bound *before,
                         const struct horizon_stamp *stamp)
{
    assert(bound->low <= bound->high);
    assert(bound->low <= max_id(before->low, next_id(stamp->stable_low)));
    assert(bound->high <= max_id(before->high, max_id(bound->low, next_id(stamp->stable_high))));
}

/* A snapshot taken after the stamp has shown that no visible unsent row is below `end`. The bound
 * may rise to `end`, but only just past the stable id: above that id new rows may still appear.
 * `low` must hold for every snapshot, so it follows `high` only just past `stable_low`. */
static void raise_bound(struct horizon_bound *bound, const struct horizon_stamp *stamp, int64_t end,
                        bool from_high)
{
    const struct horizon_bound before = *bound;

    if (from_high) {
        bound->high = max_id(bound->high, min_id(end, next_id(stamp->stable_high)));
        bound->low = max_id(bound->low, min_id(bound->high, next_id(stamp->stable_low)));
    } else {
        bound->low = max_id(bound->low, min_id(end, next_id(stamp->stable_low)));
        bound->high = max_id(bound->high, bound->low);
    }
    assert_bound(bound, &before, stamp);
}

/* A claim or scan that read from above the present bound proves nothing about the ids in between.
 * One whose stamp is older than the lowering of a bound may not have seen the row that was found
 * below it. And one whose stamp is older than the end of a long holder must not raise `high`. */
static bool may_raise(const struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                      const struct horizon_bound *from, bool from_high)
{
    if (stamp->lowered_count != horizon->lowered_count)
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
        raise_bound(&horizon->bounds[slice], stamp, next_id(last), from_high);
    (void)pthread_mutex_unlock(&horizon->mutex);
}

bool horizon_note_scan(struct horizon *horizon, const struct horizon_stamp *stamp, int slice,
                       const struct horizon_bound *bound, bool full, int64_t lowest, bool from_high)
{
    struct horizon_bound *now = &horizon->bounds[slice];
    bool late = false;

    (void)pthread_mutex_lock(&horizon->mutex);
    if (stamp->epoch == horizon->epoch && full) {
        bool high = from_high && stamp->generation == horizon->generation;

        late = lowest < (high ? bound->high : bound->low);
        horizon->lowered_count += late;
        if (late)
            *now = (struct horizon_bound){min_id(now->low, lowest), min_id(now->high, lowest)};
        else
            raise_bound(now, stamp, lowest, high);
        assert(now->low <= now->high);
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
        horizon->highest_claimed = max_id(horizon->highest_claimed, highest);
    horizon->has_claimed = true;
    (void)pthread_mutex_unlock(&horizon->mutex);
}

int64_t horizon_highest_claimed(struct horizon *horizon, bool *has_claimed)
{
    int64_t highest;

    (void)pthread_mutex_lock(&horizon->mutex);
    highest = horizon->highest_claimed;
    *has_claimed = horizon->has_claimed;
    horizon->has_claimed = false;
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

/* A holder that is seen for the first time. It may have drawn ids before the last tick all the
 * same, under another virtual transaction id: it was prepared since, or it is ending and has given
 * up its number, as in "3/0", but not yet its locks. */
static struct holder make_holder(const struct horizon *horizon, const struct horizon_holder *seen,
                                 int64_t now_ms)
{
    struct holder holder = {.seen = *seen, .base = HORIZON_UNKNOWN, .since_ms = now_ms};
    bool renamed = seen->prepared || (uint32_t)seen->transaction == 0;

    if (horizon->ticked)
        holder.base = renamed ? horizon->stable_low : horizon->drawn;
    return holder;
}

/* A transaction that ends leaves the snapshots before it releases its locks. A tick in between sees
 * no xid, so the holder keeps the one that it had. */
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

/* Replaces the holders by those of the tick, which are sorted too. A holder that was known keeps
 * its base and its age. *long_ended: a long holder has ended. Returns -1 when there is no memory.
 */
static int take_holders(struct horizon *horizon, const struct horizon_tick *tick, bool *long_ended)
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
    *long_ended = remained < count_long(horizon);
    free(horizon->holders);
    horizon->holders = holders;
    horizon->holder_count = tick->holder_count;
    return 0;
}

/* A long holder that has ended may have committed rows below `high`, but none below `low`. */
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

        horizon->stable_low = min_id(horizon->stable_low, holder->base);
        if (!holder->is_long)
            horizon->stable_high = min_id(horizon->stable_high, holder->base);
    }
}

static bool take_tick(struct horizon *horizon, const struct horizon_tick *tick)
{
    int64_t stable_low = horizon->stable_low;
    bool long_ended;

    horizon->begun_anew += tick->drawn < horizon->seen_drawn;
    if (tick->drawn < horizon->seen_drawn || (horizon->ticked && tick->file != horizon->file)) {
        horizon->seen_drawn = tick->drawn;
        begin_epoch(horizon);
        return false;
    }
    if (take_holders(horizon, tick, &long_ended) < 0)
        return false;
    if (long_ended)
        forget_high(horizon);
    find_stable(horizon, tick->drawn);
    if (horizon->stable_low == tick->drawn || horizon->stable_low > stable_low)
        horizon->moved_ms = tick->now_ms;
    assert(horizon->stable_low <= horizon->stable_high && horizon->stable_high <= tick->drawn);
    horizon->drawn = tick->drawn;
    horizon->seen_drawn = tick->drawn;
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

int64_t horizon_lowest(struct horizon *horizon)
{
    int64_t lowest = INT64_MAX;

    (void)pthread_mutex_lock(&horizon->mutex);
    for (int i = 0; i < horizon->count; i++)
        lowest = min_id(lowest, horizon->bounds[i].low);
    (void)pthread_mutex_unlock(&horizon->mutex);
    return lowest;
}

int64_t horizon_stands_still_ms(struct horizon *horizon)
{
    int64_t still_ms = 0;

    (void)pthread_mutex_lock(&horizon->mutex);
    if (horizon->moved_ms != 0 && horizon->stable_low < horizon->drawn)
        still_ms = clock_now_ms() - horizon->moved_ms;
    (void)pthread_mutex_unlock(&horizon->mutex);
    return still_ms;
}

void horizon_note_first_scan(struct horizon *horizon, uint64_t epoch, bool done)
{
    (void)pthread_mutex_lock(&horizon->mutex);
    if (epoch == horizon->epoch)
        horizon->claims_wait_ms = done ? 0 : clock_now_ms() + START_SCAN_MS;
    (void)pthread_mutex_unlock(&horizon->mutex);
}
