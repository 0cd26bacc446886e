/*
 * The horizon beside a database of dice: transactions take the table's lock, draw ids, wait,
 * insert, are prepared, commit and let go; processes watch, scan and claim; each step of each comes
 * at a random moment. A snapshot is taken one step before it is used.
 *
 *   (a) No claim takes an event while an earlier one of its key is committed and unsent.
 *   (b) In the end claims alone find every committed event; those of "loose" keys, whose ids are
 *       drawn before the lock is taken, are found once every slice has been scanned fully.
 *   (c) No row will appear below a bound, nor is one there unsent (horizon.h, the invariant); nor a
 *       loose one that a full scan has found.
 *   (d) Within an epoch the stable id never falls.
 */
#include "outbox/slices/horizon.h"

#include "base/clock.h"
#include "unit/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_MS 800
#define STEPS 3000
#define ROWS_MAX 1200
#define XIDS_MAX 4000
#define SLICES 3
#define KEYS 7 /* a key's slice: its remainder */
#define LOOSE_KEY 6
#define WRITERS 5
#define DRAWN_MAX 3
#define PROCESSES 2
#define LANES 4 /* the remainder is its process */
#define LIMIT 4
#define NOBODY (-1)

static const struct server here = {.system = "7", .timeline = 1};

struct row {
    int64_t id;
    int key;
    uint64_t xid;
    uint64_t sent;             /* at this moment; 0: not yet */
    uint64_t found[PROCESSES]; /* below the bound, in this epoch; 0: not */
};

/* A transaction that writes. Its key's lock is its own until it has let go of it. */
struct writer {
    bool begun, prepared, ended;
    bool holds_table;
    uint64_t transaction, xid;
    int key;                  /* the key whose lock it has, or NOBODY */
    int64_t drawn[DRAWN_MAX]; /* ids of that key, not inserted yet */
    int drawn_count;
};

struct lane {
    int step;
    uint64_t transaction, xid;
    int slice; /* locked */
    struct horizon_view view;
    bool trusts, from_high;
    uint64_t snapshot;
    struct row *taken[LIMIT];
    int count;
    int64_t last;
};

struct process {
    struct horizon *horizon;
    int step, next_scan;
    struct horizon_view view;
    struct horizon_tick tick;
    struct horizon_holder holders[WRITERS + LANES];
    uint64_t snapshot;
    uint64_t epoch; /* and in it: */
    int64_t stable;
};

static struct {
    uint64_t dice;
    uint64_t moment; /* of the latest commit */
    int64_t now_ms;
    uint64_t transactions;
    int64_t last_value;
    uint32_t file;
    struct row rows[ROWS_MAX];
    int row_count;
    struct {
        uint64_t began, ended; /* moments; 0: not yet */
        bool committed;
    } xids[XIDS_MAX];
    uint64_t xid_count;
    struct writer writers[WRITERS];
    struct lane lanes[LANES + 1]; /* the last is a view only */
    int locked_by[SLICES];
    struct process processes[PROCESSES];
    bool loose;      /* writers of the loose key draw ids without the lock */
    bool truncating; /* a TRUNCATE waits for the table's lock, and all others behind it */
} world;

static unsigned seed;
static int episode;
static uint64_t claimed_rows, rows_from_high, truncates;

static uint32_t roll(uint32_t sides)
{
    world.dice = world.dice * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(world.dice >> 33) % sides;
}

static bool one_in(uint32_t sides)
{
    return roll(sides) == 0;
}

__attribute__((format(printf, 1, 2))) static void broken(const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fail_msg("TEST_SEED=%u, episode %d: %s", seed, episode, text);
}

/* ---- the database ---- */

static uint64_t new_xid(void)
{
    assert_true(world.xid_count < XIDS_MAX - 1);
    world.xids[++world.xid_count].began = ++world.moment;
    return world.xid_count;
}

static void end_xid(uint64_t xid, bool committed)
{
    world.xids[xid].committed = committed;
    world.xids[xid].ended = ++world.moment;
}

static bool is_running(uint64_t xid, uint64_t snapshot)
{
    return world.xids[xid].began <= snapshot &&
           (world.xids[xid].ended == 0 || world.xids[xid].ended > snapshot);
}

static bool is_visible(const struct row *row, uint64_t snapshot)
{
    return world.xids[row->xid].committed && world.xids[row->xid].ended <= snapshot;
}

static bool is_unsent(const struct row *row, uint64_t snapshot)
{
    return is_visible(row, snapshot) && (row->sent == 0 || row->sent > snapshot);
}

static bool is_strict(int key)
{
    return key != LOOSE_KEY || !world.loose;
}

/* ---- applications ---- */

static bool key_is_free(int key)
{
    for (int i = 0; i < WRITERS; i++)
        if (world.writers[i].key == key)
            return false;
    return true;
}

static void begin(struct writer *writer)
{
    int key = (int)roll(KEYS);

    if (world.truncating || !key_is_free(key))
        return;
    *writer = (struct writer){.begun = true, .transaction = ++world.transactions, .key = key};
    writer->holds_table = is_strict(key) || one_in(2);
}

/* Sets the sequence back to below what was drawn before. */
static bool comes_to(int64_t drawn)
{
    return drawn == world.last_value + 1;
}

/* A sequence that was set back and has passed its old value is noticed only by who has looked in
 * between. That is outside of the contract. */
static bool would_hide(void)
{
    struct horizon_view *view = &world.lanes[LANES].view;

    for (int i = 0; i < PROCESSES; i++) {
        const struct process *process = &world.processes[i];

        horizon_read(process->horizon, &here, view);
        if ((view->file == world.file && comes_to(view->stamp.drawn)) ||
            (process->step > 1 && comes_to(process->tick.drawn)))
            return true;
    }
    for (int i = 0; i < LANES; i++)
        if (world.lanes[i].view.file == world.file && comes_to(world.lanes[i].view.stamp.drawn) &&
            world.lanes[i].transaction != 0)
            return true;
    return false;
}

static void draw(struct writer *writer)
{
    if (would_hide())
        return;
    world.last_value++;
    if (writer->drawn_count < DRAWN_MAX && !one_in(6)) /* else it is lost */
        writer->drawn[writer->drawn_count++] = world.last_value;
}

/* The lowest of those that were drawn. */
static void insert(struct writer *writer)
{
    writer->holds_table = true;
    if (writer->xid == 0)
        writer->xid = new_xid();
    if (world.row_count == ROWS_MAX)
        return;
    world.rows[world.row_count++] =
        (struct row){.id = writer->drawn[0], .key = writer->key, .xid = writer->xid};
    memmove(writer->drawn, writer->drawn + 1, sizeof writer->drawn - sizeof *writer->drawn);
    writer->drawn_count--;
}

/* PostgreSQL 15 keeps the virtual transaction, others make one. */
static void prepare(struct writer *writer)
{
    if (writer->xid == 0)
        writer->xid = new_xid();
    writer->prepared = true;
    if (one_in(2))
        writer->transaction = ++world.transactions;
}

static void end(struct writer *writer)
{
    if (writer->xid != 0)
        end_xid(writer->xid, !one_in(4));
    writer->ended = true;
    writer->drawn_count = 0;
}

/* Locks are released one after the other, after others can see what the transaction has done. */
static void let_go(struct writer *writer)
{
    if (writer->holds_table && writer->key != NOBODY && one_in(2))
        writer->holds_table = false;
    else if (writer->key != NOBODY)
        writer->key = NOBODY;
    else if (writer->holds_table)
        writer->holds_table = false;
    else
        writer->begun = false;
}

static void write_on(struct writer *writer)
{
    uint32_t what = roll(20);

    if (!writer->begun)
        begin(writer);
    else if (writer->ended)
        let_go(writer);
    else if (writer->prepared)
        what == 0 ? end(writer) : (void)0;
    else if (what < 6)
        draw(writer);
    else if (what < 12 && writer->drawn_count > 0)
        insert(writer);
    else if (what == 12 && writer->xid == 0)
        writer->xid = new_xid();
    else if (what == 13 && one_in(3))
        prepare(writer);
    else if (what == 14)
        end(writer);
}

/* TRUNCATE ... RESTART IDENTITY, once nobody holds the table's lock; or DELETE and setval(). */
static void truncate_on(void)
{
    for (int i = 0; i < WRITERS; i++)
        if (world.writers[i].begun)
            return;
    for (int i = 0; i < LANES; i++)
        if (world.lanes[i].transaction != 0)
            return;
    world.row_count = 0;
    world.last_value = 0;
    world.file += roll(2);
    world.truncating = false;
    truncates++;
}

/* ---- what must be true ---- */

static bool bound_holds(const struct horizon_view *view)
{
    for (int i = 0; i < view->holder_count; i++)
        if (!is_running(view->holders[i], world.moment))
            return false;
    return view->holder_count > 0;
}

static bool is_left_out(const struct horizon_view *view, uint64_t xid)
{
    for (int i = 0; i < view->holder_count; i++)
        if (view->holders[i] == xid)
            return true;
    return false;
}

/* Of a row that is unsent, or an id that was drawn. */
static void check_below(const struct horizon_view *view, int key, int64_t id, uint64_t xid)
{
    const struct horizon_bound *bound = &view->bounds[key % SLICES];

    if (id < bound->low)
        broken("id %lld of key %d is below low %lld", (long long)id, key, (long long)bound->low);
    if (id < bound->high && bound_holds(view) && !is_left_out(view, xid))
        broken("id %lld of key %d is below high %lld", (long long)id, key, (long long)bound->high);
}

static bool is_looked_for(const struct row *row, const struct process *process)
{
    if (row->sent != 0 || (world.xids[row->xid].ended != 0 && !world.xids[row->xid].committed))
        return false;
    return is_strict(row->key) ||
           row->found[process - world.processes] == process->view.stamp.epoch;
}

static void check_invariant(struct process *process)
{
    struct horizon_view *view = &process->view;

    horizon_read(process->horizon, &here, view);
    if (view->file != world.file || view->stamp.drawn > world.last_value)
        return; /* claims see it too */
    for (int i = 0; i < world.row_count; i++)
        if (is_looked_for(&world.rows[i], process))
            check_below(view, world.rows[i].key, world.rows[i].id, world.rows[i].xid);
    for (int i = 0; i < WRITERS; i++) {
        const struct writer *writer = &world.writers[i];

        for (int j = 0; j < writer->drawn_count && is_strict(writer->key); j++)
            check_below(view, writer->key, writer->drawn[j], writer->xid);
    }
}

static bool is_among(const struct lane *lane, const struct row *row, int count)
{
    for (int i = 0; i < count; i++)
        if (lane->taken[i] == row)
            return true;
    return false;
}

static void check_order(const struct lane *lane, int place)
{
    const struct row *taken = lane->taken[place];

    for (int i = 0; i < world.row_count; i++) {
        const struct row *row = &world.rows[i];

        if (row->key == taken->key && row->id < taken->id && is_strict(row->key) &&
            is_unsent(row, world.moment) && !is_among(lane, row, place))
            broken("id %lld of key %d is claimed before %lld", (long long)taken->id, taken->key,
                   (long long)row->id);
    }
}

static void check_stable(struct process *process)
{
    const struct horizon_stamp *stamp = &process->view.stamp;

    if (stamp->epoch == process->epoch && stamp->stable_low < process->stable)
        broken("the stable id falls from %lld to %lld", (long long)process->stable,
               (long long)stamp->stable_low);
    process->epoch = stamp->epoch;
    process->stable = stamp->stable_low;
}

/* ---- lanes ---- */

static void ask(struct lane *lane, struct horizon *horizon)
{
    horizon_read(horizon, &here, &lane->view);
    lane->slice = (int)roll(SLICES);
    lane->transaction = ++world.transactions; /* and the table's lock */
}

static void leave(struct lane *lane)
{
    if (lane->slice != NOBODY && world.locked_by[lane->slice] == (int)(lane - world.lanes))
        world.locked_by[lane->slice] = NOBODY;
    lane->slice = NOBODY;
    lane->transaction = 0;
    lane->step = 0;
}

static void lock_slice(struct lane *lane, struct horizon *horizon)
{
    if (world.locked_by[lane->slice] != NOBODY) {
        leave(lane);
        return;
    }
    world.locked_by[lane->slice] = (int)(lane - world.lanes);
    lane->trusts = lane->view.file == world.file && lane->view.stamp.drawn <= world.last_value;
    if (!lane->trusts && lane->view.file != 0)
        horizon_reset(horizon, lane->view.stamp.epoch);
}

static bool has_all(const struct horizon_view *view, uint64_t snapshot)
{
    for (int i = 0; i < view->holder_count; i++)
        if (!is_running(view->holders[i], snapshot))
            return false;
    return view->holder_count > 0;
}

static int64_t first_id(const struct horizon_bound *bound, bool trusts, bool from_high)
{
    if (!trusts)
        return HORIZON_UNKNOWN;
    return from_high ? bound->high : bound->low;
}

/* The lowest ids come first, whatever the order of the inserts. */
static struct row *next_row(int slice, int64_t from, uint64_t snapshot)
{
    struct row *found = NULL;

    for (int i = 0; i < world.row_count; i++) {
        struct row *row = &world.rows[i];

        if (row->key % SLICES == slice && row->id >= from && is_unsent(row, snapshot) &&
            (found == NULL || row->id < found->id))
            found = row;
    }
    return found;
}

static void claim(struct lane *lane)
{
    const struct horizon_bound *bound = &lane->view.bounds[lane->slice];
    int64_t from;

    lane->from_high = has_all(&lane->view, lane->snapshot);
    from = first_id(bound, lane->trusts, lane->from_high);
    lane->count = 0;
    lane->last = INT64_MAX;
    while (lane->count < LIMIT) {
        struct row *row = next_row(lane->slice, from, lane->snapshot);

        if (row == NULL)
            return;
        lane->taken[lane->count] = row;
        check_order(lane, lane->count++);
        from = row->id + 1;
    }
    lane->last = from - 1;
}

static void commit(struct lane *lane)
{
    end_xid(lane->xid, true);
    for (int i = 0; i < lane->count; i++)
        lane->taken[i]->sent = world.moment;
    claimed_rows += (uint64_t)lane->count;
    rows_from_high += lane->from_high ? (uint64_t)lane->count : 0;
    world.locked_by[lane->slice] = NOBODY;
    lane->transaction = 0;
}

static void tell(struct lane *lane, struct horizon *horizon)
{
    if (lane->trusts)
        horizon_advance(horizon, &lane->view.stamp, lane->slice, &lane->view.bounds[lane->slice],
                        lane->last, lane->from_high);
    leave(lane);
}

static void lane_on(struct lane *lane)
{
    struct process *process = &world.processes[(lane - world.lanes) % PROCESSES];

    switch (lane->step++) {
    case 0:
        if (world.truncating)
            lane->step = 0;
        else
            ask(lane, process->horizon);
        break;
    case 1:
        lock_slice(lane, process->horizon);
        break;
    case 2:
        lane->snapshot = world.moment;
        break;
    case 3:
        claim(lane);
        break;
    case 4:
        if (one_in(8)) /* a row stays, or the session is lost */
            leave(lane);
        else
            lane->xid = new_xid();
        break;
    case 5:
        commit(lane);
        break;
    default: /* nobody waits for it */
        if (!one_in(8))
            return;
        tell(lane, process->horizon);
        check_invariant(process);
    }
}

/* ---- watches ---- */

static void add_holder(struct process *process, uint64_t transaction, uint64_t xid, bool prepared)
{
    bool runs = xid != 0 && world.xids[xid].ended == 0 && is_running(xid, process->snapshot);

    process->holders[process->tick.holder_count++] =
        (struct horizon_holder){transaction, prepared, runs ? xid : 0};
}

static void list_holders(struct process *process)
{
    process->tick.holders = process->holders;
    process->tick.holder_count = 0;
    process->tick.file = world.file;
    for (int i = 0; i < WRITERS; i++) {
        const struct writer *writer = &world.writers[i];

        if (writer->begun && writer->holds_table)
            add_holder(process, writer->transaction, writer->xid, writer->prepared);
    }
    for (int i = 0; i < LANES; i++)
        if (world.lanes[i].transaction != 0)
            add_holder(process, world.lanes[i].transaction,
                       world.lanes[i].step > 4 ? world.lanes[i].xid : 0, false);
}

static void tick(struct process *process)
{
    process->tick.now_ms = world.now_ms;
    if (horizon_tick(process->horizon, &process->tick, &process->view.stamp))
        check_stable(process);
    process->snapshot = world.moment;
}

/* Slices in turn, each from its bound, and some from the very beginning. */
static void scan(struct process *process, bool full)
{
    struct horizon_view *view = &process->view;
    int slice = process->next_scan;
    bool from_high = has_all(view, process->snapshot);
    int64_t from = first_id(&view->bounds[slice], !full, from_high);
    struct row *row = next_row(slice, from, process->snapshot);

    if (horizon_note_scan(process->horizon, &view->stamp, slice, &view->bounds[slice], full,
                          row != NULL ? row->id : INT64_MAX, from_high))
        row->found[process - world.processes] = view->stamp.epoch;
}

static void watch_on(struct process *process, bool all_full)
{
    switch (process->step++) {
    case 0:
        horizon_read(process->horizon, &here, &process->view);
        process->next_scan = 0;
        break;
    case 1:
        process->tick.drawn = world.last_value;
        break;
    case 2:
        process->snapshot = world.moment;
        break;
    case 3:
        list_holders(process);
        break;
    case 4:
        tick(process);
        break;
    default:
        scan(process, all_full || one_in(4));
        process->snapshot = world.moment;
        process->next_scan++;
        process->step = process->next_scan < SLICES ? 5 : 0;
        if (process->step == 0)
            check_invariant(process);
    }
}

/* ---- an episode ---- */

static void open_world(void)
{
    memset(&world, 0, sizeof world);
    world.dice = (uint64_t)seed + (uint64_t)episode * 1000003U;
    world.now_ms = 1;
    world.file = 1;
    world.loose = one_in(3);
    for (int i = 0; i < PROCESSES; i++) {
        struct process *process = &world.processes[i];

        process->horizon = horizon_open(SLICES);
        assert_non_null(process->horizon);
        assert_int_equal(horizon_view_init(&process->view, SLICES), 0);
        horizon_connected(process->horizon, &here);
    }
    for (int i = 0; i <= LANES; i++) {
        world.lanes[i].slice = NOBODY;
        assert_int_equal(horizon_view_init(&world.lanes[i].view, SLICES), 0);
    }
    for (int i = 0; i < SLICES; i++)
        world.locked_by[i] = NOBODY;
    for (int i = 0; i < WRITERS; i++)
        world.writers[i].key = NOBODY;
}

static void close_world(void)
{
    for (int i = 0; i <= LANES; i++)
        horizon_view_free(&world.lanes[i].view);
    for (int i = 0; i < PROCESSES; i++) {
        horizon_view_free(&world.processes[i].view);
        horizon_close(world.processes[i].horizon);
    }
}

/* Some take hundreds of steps between two of their own. */
static void step(void)
{
    uint32_t who = roll(WRITERS + LANES + 4);

    world.now_ms += one_in(200) ? 1500 : roll(4);
    if (who < WRITERS)
        write_on(&world.writers[one_in(2) ? who : who / 2]);
    else if (who < WRITERS + LANES)
        lane_on(&world.lanes[who - WRITERS]);
    else if (who < WRITERS + LANES + 3)
        watch_on(&world.processes[roll(PROCESSES)], false);
    else if (world.truncating)
        truncate_on();
    else
        world.truncating = one_in(150);
}

static int count_unsent(bool strict)
{
    int count = 0;

    for (int i = 0; i < world.row_count; i++)
        count +=
            is_unsent(&world.rows[i], world.moment) && (!strict || is_strict(world.rows[i].key));
    return count;
}

static void end_writers(void)
{
    for (int i = 0; i < WRITERS; i++)
        for (struct writer *writer = &world.writers[i]; writer->begun;)
            writer->ended ? let_go(writer) : end(writer);
}

/* So many that each slice has its turn again and again. */
static void claim_what_is_left(void)
{
    for (int i = 0; i < 8000 && count_unsent(false) > 0; i++)
        lane_on(&world.lanes[roll(LANES)]);
}

static void play(void)
{
    open_world();
    for (int i = 0; i < STEPS && world.xid_count < XIDS_MAX - 100; i++)
        step();
    world.truncating = false;
    end_writers();
    claim_what_is_left();
    if (count_unsent(true) > 0)
        broken("%d rows are never claimed", count_unsent(true));
    for (int i = 0; i < 100 * PROCESSES; i++)
        watch_on(&world.processes[i % PROCESSES], true);
    claim_what_is_left();
    if (count_unsent(false) > 0)
        broken("%d rows are not found by full scans", count_unsent(false));
    close_world();
}

TEST(in_random_histories_order_holds_and_nothing_is_lost)
{
    int64_t until_ms = clock_now_ms() + RUN_MS;

    seed = seed_random();
    for (episode = 0; clock_now_ms() < until_ms; episode++)
        play();
    print_message("%d episodes, %llu rows, %llu of them from high, %llu truncates\n", episode,
                  (unsigned long long)claimed_rows, (unsigned long long)rows_from_high,
                  (unsigned long long)truncates);
    assert_true(rows_from_high > 0 && truncates > 0);
}
