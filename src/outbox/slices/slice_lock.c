/*
 * A lane's slices: which ones it tries to lock for a claim, and what it reports to the horizon
 * afterwards.
 *
 * A bound is raised only when no row of the batch stays unsent. Such a row has to be claimed again
 * before any later row of its key, so the bound must not pass it.
 */
#include "outbox/slices/slice_lock_state.h"

#include "base/clock.h"
#include "outbox/slices/batch_array.h"
#include "outbox/slices/statements.h"
#include "pg/wire.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PARKED_WIDTH 8     /* slices that a claim of parked rows locks at most */
#define POSTPONE_MS 10000  /* how long a slice with a locked row is not claimed */
#define EMPTY_CLAIMS_MAX 3 /* then the lane rests, because other lanes have claimed the rows */

struct slice_lock *slice_lock_open(const struct slice_lock_owner *owner)
{
    struct slice_lock *lock = calloc(1, sizeof *lock);
    int slices = owner->options->order == ORDER_KEY ? owner->options->slices : 1;

    if (lock == NULL)
        return NULL;
    lock->owner = *owner;
    lock->walk = (struct away_walk){.from = HORIZON_UNKNOWN, .end = INT64_MAX};
    if (choice_init(&lock->choice, slices) == 0 && horizon_view_init(&lock->view, slices) == 0)
        return lock;
    slice_lock_close(lock);
    return NULL;
}

void slice_lock_close(struct slice_lock *lock)
{
    if (lock == NULL)
        return;
    horizon_close(lock->away_horizon);
    horizon_view_free(&lock->view);
    choice_free(&lock->choice);
    free(lock);
}

int slice_lock_share(struct slice_lock *lock, struct horizon *horizon)
{
    lock->horizon = horizon;
    lock->away_horizon = horizon_open(horizon_slices(horizon));
    return lock->away_horizon != NULL ? 0 : -1;
}

void slice_lock_reopen(struct slice_lock *lock, const struct outbox_options *options)
{
    lock->owner.options = options;
}

void slice_lock_connecting(struct slice_lock *lock)
{
    if (lock->horizon != NULL)
        lock->begun_anew = horizon_begun_anew(lock->horizon);
}

void slice_lock_connected(struct slice_lock *lock)
{
    if (lock->horizon != NULL)
        horizon_connected(lock->horizon, lock->owner.server);
}

void slice_lock_ignore_bounds(struct slice_lock *lock)
{
    lock->ignores_bounds = true;
}

void slice_lock_narrow(struct slice_lock *lock)
{
    lock->choice.width = 1;
}

void slice_lock_choose(struct slice_lock *lock, int slice)
{
    lock->choice.only = slice;
}

void slice_lock_forget(struct slice_lock *lock)
{
    lock->locked_count = 0;
}

void slice_lock_note_high(struct slice_lock *lock, bool read_high)
{
    lock->read_high = read_high;
}

void slice_lock_apply_window(struct slice_lock *lock)
{
    struct horizon_bound *bound = &lock->view.bounds[0];

    if (bound->low < lock->walk.from)
        bound->low = lock->walk.from;
    if (bound->high < lock->walk.from)
        bound->high = lock->walk.from;
}

bool slice_lock_read_horizon(struct slice_lock *lock, const struct claim_request *request)
{
    struct horizon_view *view = &lock->view;

    if (!claim_is_of_outbox(request) && lock->owner.options->order == ORDER_NONE)
        return true;
    lock->view_source = request->away == 0 ? lock->horizon : lock->away_horizon;
    if (lock->horizon == NULL || lock->ignores_bounds || !table_has_integer_ids(lock->owner.table))
        horizon_view_clear(view, lock->choice.count);
    else if (request->away == 0)
        horizon_read(lock->horizon, lock->owner.server, view);
    else
        horizon_read_while_away(lock->away_horizon, lock->horizon, request->away,
                                lock->owner.server, view);
    if (request->away != 0 && lock->walk.from > HORIZON_UNKNOWN)
        slice_lock_apply_window(lock);
    return !view->starting;
}

bool slice_lock_has_holders(const struct slice_lock *lock)
{
    return lock->view.holder_count > 0;
}

/* The two bounds of these slices (NULL: of all, in their order), and the long holders. */
static int fill_bounds(const struct slice_lock *lock, struct batch *batch, const int32_t *slices,
                       int count, struct array *lows, struct array *highs, struct array *holders,
                       struct error *error)
{
    const struct horizon_view *view = &lock->view;

    batch_array_begin(lows, batch, ARRAY_INT8, count, (size_t)count * sizeof(int64_t));
    batch_array_begin(highs, batch, ARRAY_INT8, count, (size_t)count * sizeof(int64_t));
    if (lows->bytes == NULL || highs->bytes == NULL ||
        batch_array_of_xid8(holders, batch, view->holders, view->holder_count) < 0)
        return error_no_memory(error);
    for (int i = 0; i < count; i++) {
        const struct horizon_bound *bound = &view->bounds[slices != NULL ? slices[i] : i];

        array_add_int8(lows, bound->low);
        array_add_int8(highs, bound->high);
    }
    return 0;
}

static int fill_candidates(const struct slice_lock *lock, struct batch *batch,
                           struct array params[9], struct error *error)
{
    const struct slice_choice *choice = &lock->choice;
    const atomic_bool *has_more =
        lock->view_source != NULL ? horizon_has_more(lock->view_source) : NULL;
    int count = choice->candidate_count;

    batch_array_begin(&params[0], batch, ARRAY_INT4, count, (size_t)count * sizeof(int32_t));
    batch_array_begin(&params[2], batch, ARRAY_INT4, count, (size_t)count * sizeof(int32_t));
    if (params[0].bytes == NULL || params[2].bytes == NULL)
        return error_no_memory(error);
    for (int i = 0; i < count; i++) {
        array_add_int4(&params[0], choice->candidates[i]);
        array_add_int4(&params[2], has_more != NULL && has_more[choice->candidates[i]]);
    }
    return fill_bounds(lock, batch, choice->candidates, count, &params[1], &params[5], &params[6],
                       error);
}

int slice_lock_queue(struct slice_lock *lock, const char *statement, bool is_lean,
                     struct batch *batch, const struct claim_request *request, struct error *error)
{
    bool of_outbox = claim_is_of_outbox(request);
    uint64_t away = htobe64(request->away);
    uint64_t file = htobe64(lock->view.file);
    uint32_t width = htobe32((uint32_t)(of_outbox ? lock->choice.width : PARKED_WIDTH));
    uint64_t drawn = htobe64((uint64_t)lock->view.stamp.drawn);
    const struct array width_param = {.bytes = (char *)&width, .len = sizeof width};
    const struct array away_param = {.bytes = (char *)&away, .len = sizeof away};
    const struct array file_param = {.bytes = (char *)&file, .len = sizeof file};
    const struct array drawn_param = {.bytes = (char *)&drawn, .len = sizeof drawn};
    struct array of_parked[8] = {width_param, away_param, [6] = file_param, drawn_param};
    struct array params[9] = {[3] = width_param, drawn_param, [7] = file_param, away_param};

    if (!of_outbox) {
        declined_array(&of_parked[2], batch_alloc(batch, declined_array_size(request->declined)),
                       request->declined);
        if (of_parked[2].bytes == NULL)
            return error_no_memory(error);
        if (fill_bounds(lock, batch, NULL, lock->choice.count, &of_parked[3], &of_parked[4],
                        &of_parked[5], error) < 0)
            return -1;
        return session_queue(lock->owner.session, statement, 8, of_parked, true, error);
    }
    lock->ignores_bounds = false;
    choice_list_candidates(&lock->choice, lock->view.bounds, clock_now_ms());
    if (fill_candidates(lock, batch, params, error) < 0)
        return -1;
    return session_queue(lock->owner.session, statement, is_lean ? 5 : 9, params, true, error);
}

int slice_lock_put_bounds(struct slice_lock *lock, struct batch *batch,
                          struct slice_lock_bounds *bounds,
                          struct array params[SLICE_LOCK_BOUND_PARAMS], struct error *error)
{
    const struct horizon_view *view = &lock->view;

    lock->ignores_bounds = false;
    *bounds = (struct slice_lock_bounds){.low = htobe64((uint64_t)view->bounds[0].low),
                                         .high = htobe64((uint64_t)view->bounds[0].high),
                                         .file = htobe64(view->file),
                                         .end = htobe64((uint64_t)lock->walk.end)};
    params[0] = (struct array){.bytes = (char *)&bounds->low, .len = sizeof bounds->low};
    params[1] = (struct array){.bytes = (char *)&bounds->high, .len = sizeof bounds->high};
    params[3] = (struct array){.bytes = (char *)&bounds->file, .len = sizeof bounds->file};
    params[4] = (struct array){.bytes = (char *)&bounds->end, .len = sizeof bounds->end};
    return batch_array_of_xid8(&params[2], batch, view->holders, view->holder_count) < 0
               ? error_no_memory(error)
               : 0;
}

static int fail_number(const struct slice_lock *lock, int count, struct error *error)
{
    const char *name = lock->owner.table->slice_quoted;

    if (count == 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "table %s has no rows any more: nothing is claimed", name);
        (void)error_hint(error, "run the SQL that outbox-relay init prints");
    } else {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "table %s now says %d slice%s, the configuration says %d: nothing is "
                        "claimed",
                        name, count, PLURAL(count), lock->owner.options->slices);
        (void)error_hint(error, "set slices = %d in [outbox] and restart the relay", count);
    }
    return error_mark_schema(error);
}

/* The columns of lock_slices, lock_parked_slices and lock_refused_slices. */
enum slices_column {
    SLICES_LOCKED, /* text: the locked slices in the order of their locks, such as "3,9" */
    SLICES_COUNT,  /* int4, binary: the number of slices; NULL: the slice table is empty */
    SLICES_VALID,  /* bool, binary: the bounds were valid; otherwise the claim ignores them */
    SLICES_SAME,   /* bool, binary: the table is the one that was described */
    SLICES_ERA,    /* text: what the positions are about (position_anew.sql); "": there are none */
    SLICES_COLUMNS
};

static const char *const slices_columns[SLICES_COLUMNS] = {
    [SLICES_LOCKED] = "locked", [SLICES_COUNT] = "slices", [SLICES_VALID] = "valid",
    [SLICES_SAME] = "same",     [SLICES_ERA] = "era",
};

/* Where another lane has begun the positions anew, the bounds of this process rest on the old ones:
 * a scan may have found nothing unsent below them. And a tick that finds ids set back leaves no
 * trace of it in the bounds, which begin anew. */
static bool began_anew(const struct slice_lock *lock, const char *era)
{
    return lock->owner.options->on_sent == ON_SENT_POSITION &&
           (strcmp(era, lock->owner.era) != 0 ||
            (lock->horizon != NULL && horizon_begun_anew(lock->horizon) != lock->begun_anew));
}

/* The table may have been replaced, or the number of slices changed. Two lanes that disagree about
 * the number of slices could claim rows of one key at the same time. */
static int check_table(const struct slice_lock *lock, const PGresult *result, bool by_bounds,
                       struct error *error)
{
    int count =
        PQgetisnull(result, 0, SLICES_COUNT) ? 0 : wire_int4(PQgetvalue(result, 0, SLICES_COUNT));

    if (PQgetvalue(result, 0, SLICES_SAME)[0] == 0)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         lock->owner.table->is_partitioned
                             ? "table %s or its partitions were replaced: reconnecting"
                             : "table %s was replaced by another table: reconnecting",
                         lock->owner.table->quoted);
    if (by_bounds && began_anew(lock, PQgetvalue(result, 0, SLICES_ERA)))
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "the ids of table %s may begin anew: reconnecting",
                         lock->owner.table->quoted);
    return count == lock->owner.options->slices ? 0 : fail_number(lock, count, error);
}

int slice_lock_read(struct slice_lock *lock, const PGresult *result,
                    const struct claim_request *request, struct error *error)
{
    const char *text;
    bool valid;
    int status;

    lock->locked_count = 0;
    if (wire_check_columns(result, slices_columns, SLICES_COLUMNS, error) < 0)
        return session_abort(lock->owner.session);
    status = check_table(lock, result, claim_is_of_outbox(request), error);
    valid = PQgetvalue(result, 0, SLICES_VALID)[0] != 0;
    text = !claim_is_of_outbox(request) ? "" : PQgetvalue(result, 0, SLICES_LOCKED); /* "3,9" */
    while (*text != '\0' && lock->locked_count < SLICES_PER_CLAIM_MAX) {
        char *end;
        int32_t slice = (int32_t)strtol(text, &end, 10);

        lock->locked[lock->locked_count] = slice;
        lock->claimed[lock->locked_count++] = (struct claimed_range){
            .slice = slice, .from = lock->view.bounds[slice], .last = HORIZON_UNKNOWN};
        text = *end == ',' ? end + 1 : end;
    }
    if (claim_is_of_outbox(request)) { /* the claim after this statement reads from these bounds */
        lock->stamp = lock->view.stamp;
        lock->report_to = valid && lock->stamp.epoch != 0 ? lock->view_source : NULL;
        if (!valid && lock->view.file != 0 && lock->view_source != NULL)
            horizon_reset(lock->view_source, lock->stamp.epoch);
    }
    return status < 0 ? session_abort(lock->owner.session) : 0;
}

/* Rows must arrive slice by slice in the order of the locks, and by id within a slice. Two rows may
 * have the same id, which `check` reports. */
static int note_rows(struct slice_lock *lock, const struct batch *batch, struct error *error)
{
    int at = 0;

    for (int row = 0; row < batch->count; row++) {
        int slice = batch->messages[row].slice;
        int64_t id = wire_integer(batch->messages[row].id);

        while (at < lock->locked_count && lock->claimed[at].slice != slice)
            at++;
        if (at == lock->locked_count || id < lock->claimed[at].last)
            return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                             "database: a claim returned its rows out of order, at id %lld",
                             (long long)id);
        lock->claimed[at].last = id;
        lock->claimed[at].rows++;
    }
    return 0;
}

/* A slice that returned fewer rows than its share has no more rows, unless the claim was cut short:
 * by its row limit, or because the batch had no room for the claim's last rows. The share is that
 * of slice_rows.sql. */
static bool note_ends(struct slice_lock *lock, const struct batch *batch, int limit)
{
    int locked = lock->locked_count;
    int share = (limit + locked - 1) / locked;
    bool cut = PQntuples(batch->rows) == limit || batch->count < PQntuples(batch->rows);
    bool more = false;
    int unseen = locked; /* the locked slices from this index on may have more rows */

    for (int i = 0; cut && i < locked; i++)
        if (lock->claimed[i].rows > 0)
            unseen = i;
    for (int i = 0; i < locked; i++) {
        struct claimed_range *claimed = &lock->claimed[i];
        bool has_more = i >= unseen || claimed->rows >= share;

        if (!has_more)
            claimed->last = INT64_MAX;
        if (lock->report_to != NULL)
            horizon_has_more(lock->report_to)[claimed->slice] = has_more;
        more = more || has_more;
    }
    return more;
}

/* Checks the order of the rows too, because the order of each key depends on it. */
int slice_lock_note_claimed(struct slice_lock *lock, struct batch *batch, int limit,
                            struct error *error)
{
    int64_t highest = HORIZON_UNKNOWN;
    bool more;

    if (batch->parked || batch->refused)
        return 0;
    lock->empty_claims = 0;
    if (lock->owner.options->order == ORDER_NONE) {
        if (lock->view_source == lock->horizon && lock->horizon != NULL &&
            table_has_integer_ids(lock->owner.table))
            horizon_note_claimed(lock->horizon, lock->view.stamp.epoch,
                                 wire_integer(batch->messages[batch->count - 1].id));
        return 0;
    }
    if (note_rows(lock, batch, error) < 0)
        return -1;
    for (int i = 0; i < lock->locked_count; i++)
        if (lock->claimed[i].last > highest)
            highest = lock->claimed[i].last;
    if (lock->report_to == lock->horizon && lock->horizon != NULL)
        horizon_note_claimed(lock->horizon, lock->stamp.epoch, highest);
    more = note_ends(lock, batch, limit);
    choice_note_claimed(&lock->choice, lock->locked, lock->locked_count);
    batch->has_more =
        batch->has_more || more ||
        (lock->locked_count == lock->choice.width && lock->choice.width < lock->choice.count);
    choice_adapt_width(&lock->choice, lock->locked_count, more, batch->count >= limit / 2);
    return 0;
}

static void advance_bounds(struct slice_lock *lock)
{
    if (lock->report_to == NULL)
        return;
    for (int i = 0; i < lock->locked_count; i++)
        if (lock->claimed[i].last != HORIZON_UNKNOWN)
            horizon_advance(lock->report_to, &lock->stamp, lock->claimed[i].slice,
                            &lock->claimed[i].from, lock->claimed[i].last, lock->read_high);
}

bool slice_lock_note_empty(struct slice_lock *lock, const struct claim_request *request)
{
    bool expected = claim_is_of_outbox(request) && lock->locked_count > 0;

    for (int i = 0; i < lock->locked_count; i++)
        lock->claimed[i].last = INT64_MAX;
    advance_bounds(lock);
    for (int i = 0; expected && lock->report_to != NULL && i < lock->choice.count; i++)
        horizon_has_more(lock->report_to)[i] = false;
    lock->empty_claims = expected ? lock->empty_claims + 1 : 0;
    return expected && lock->empty_claims < EMPTY_CLAIMS_MAX;
}

/* How far the position of a slice may move: the id of the last row before one that stays unsent
 * without a note; HORIZON_UNKNOWN: not at all. *is_end: the claim saw the slice to its end, and
 * none of its rows stays so. */
static int64_t passed_id(const struct claimed_range *claimed, const struct batch *batch,
                         bool *is_end)
{
    int64_t last = HORIZON_UNKNOWN;
    bool stops = false;

    for (int i = 0; i < batch->count && !stops; i++) {
        const struct message *message = &batch->messages[i];

        if (message->slice != claimed->slice)
            continue;
        stops = message->outcome == OUTCOME_UNSENT;
        if (!stops)
            last = wire_integer(message->id);
    }
    *is_end = !stops && claimed->last == INT64_MAX;
    return last;
}

int slice_lock_queue_pass(struct slice_lock *lock, struct batch *batch, bool *queued,
                          struct error *error)
{
    bool knows_stable = lock->report_to != NULL && lock->stamp.epoch != 0;
    uint64_t stable = htobe64((uint64_t)(knows_stable ? lock->stamp.stable_low : HORIZON_UNKNOWN));
    int32_t slices[SLICES_PER_CLAIM_MAX];
    int64_t lasts[SLICES_PER_CLAIM_MAX];
    bool ends[SLICES_PER_CLAIM_MAX];
    uint32_t number;
    struct array params[5];
    int count = 0;

    for (int i = 0; i < lock->locked_count; i++) {
        slices[count] = lock->claimed[i].slice;
        lasts[count] = passed_id(&lock->claimed[i], batch, &ends[count]);
        count += lasts[count] != HORIZON_UNKNOWN;
    }
    *queued = count > 0;
    if (count == 0)
        return 0;
    number = htobe32((uint32_t)count);
    batch_array_begin(&params[0], batch, ARRAY_INT4, count, (size_t)count * sizeof *slices);
    params[1] = (struct array){.bytes = (char *)&number, .len = sizeof number};
    batch_array_begin(&params[2], batch, ARRAY_INT8, count, (size_t)count * sizeof *lasts);
    batch_array_begin(&params[3], batch, ARRAY_INT4, count, (size_t)count * sizeof(int32_t));
    params[4] = (struct array){.bytes = (char *)&stable, .len = sizeof stable};
    if (params[0].bytes == NULL || params[2].bytes == NULL || params[3].bytes == NULL)
        return error_no_memory(error);
    for (int i = 0; i < count; i++) {
        array_add_int4(&params[0], slices[i]);
        array_add_int8(&params[2], lasts[i]);
        array_add_int4(&params[3], ends[i]);
    }
    return session_queue(lock->owner.session, "pass", 5, params, false, error);
}

static void postpone(struct slice_lock *lock, int count)
{
    choice_postpone(&lock->choice, lock->locked, count, clock_now_ms() + POSTPONE_MS);
}

void slice_lock_put_off(struct slice_lock *lock, int slice)
{
    int32_t one = slice;

    choice_postpone(&lock->choice, &one, 1, clock_now_ms() + POSTPONE_MS);
}

void slice_lock_postpone(struct slice_lock *lock)
{
    postpone(lock, lock->locked_count);
}

void slice_lock_note_settled(struct slice_lock *lock, const struct batch *batch)
{
    bool leaves_a_row = batch->park_failure != NULL;

    /* A row that can be neither read nor parked would make every claim of its slice fail. */
    if (batch->park_failure != NULL && batch->messages[0].unreadable && !batch->parked &&
        lock->owner.options->order == ORDER_KEY)
        postpone(lock, 1);
    for (int i = 0; i < batch->count && !leaves_a_row; i++)
        leaves_a_row = batch->messages[i].outcome == OUTCOME_UNSENT;
    if (!leaves_a_row)
        advance_bounds(lock);
}
