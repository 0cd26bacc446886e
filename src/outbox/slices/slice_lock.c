/*
 * The lane's side of its slices: what it asks for, and what it tells the horizon afterwards.
 *
 * A bound is raised only when a batch has been settled without leaving a row behind: a row that
 * stays is met again by the next claim, before any later one of its key.
 */
#include "outbox/slices/slice_lock.h"

#include "outbox/slices/away.h"
#include "outbox/row.h"
#include "outbox/slices/sql_slices.h"

#include "base/clock.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PARKED_WIDTH 8     /* slices of a claim of parked rows */
#define AVOID_MS 10000
#define EMPTY_CLAIMS_MAX 3 /* then a lane rests: what was there is claimed by somebody else */

void slice_lock_read_horizon(struct outbox *outbox, const struct claim_request *request)
{
    struct horizon_view *view = &outbox->view;

    if (request->parked)
        return;
    outbox->view_of = request->away == 0 ? outbox->horizon : outbox->away_horizon;
    if (outbox->horizon == NULL || outbox->reads_all || !table_has_integer_ids(&outbox->table))
        horizon_view_forget(view, outbox->turns.count);
    else if (request->away == 0)
        horizon_read(outbox->horizon, &outbox->server, view);
    else
        horizon_read_part(outbox->away_horizon, outbox->horizon, request->away, &outbox->server,
                          view);
    if (request->away != 0)
        away_move_view(outbox);
}

static int queue_parked(struct outbox *outbox, uint64_t away, struct error *error)
{
    uint32_t width = htobe32(PARKED_WIDTH);
    const struct array params[2] = {{.bytes = (char *)&width, .len = sizeof width},
                                    {.bytes = (char *)&away, .len = sizeof away}};

    return pipeline_queue(outbox, "lock_parked_slices", 2, params, true, error);
}

static int fill_candidates(const struct outbox *outbox, struct batch *batch, struct array params[5],
                           struct error *error)
{
    const struct turns *turns = &outbox->turns;
    const struct horizon_view *view = &outbox->view;
    const atomic_bool *has_more =
        outbox->view_of != NULL ? horizon_has_more(outbox->view_of) : NULL;
    int count = turns->candidate_count;

    array_begin(&params[0], batch, ARRAY_INT4, count, (size_t)count * sizeof(int32_t));
    array_begin(&params[1], batch, ARRAY_INT8, count, (size_t)count * sizeof(int64_t));
    array_begin(&params[2], batch, ARRAY_INT8, count, (size_t)count * sizeof(int64_t));
    array_begin(&params[3], batch, ARRAY_INT4, count, (size_t)count * sizeof(int32_t));
    for (int i = 0; i < 4; i++)
        if (params[i].bytes == NULL)
            return error_no_memory(error);
    if (array_of_xid8(&params[4], batch, view->holders, view->holder_count) < 0)
        return error_no_memory(error);
    for (int i = 0; i < count; i++) {
        const struct horizon_bound *bound = &view->bounds[turns->candidates[i]];

        array_add_int4(&params[0], turns->candidates[i]);
        array_add_int8(&params[1], bound->low);
        array_add_int8(&params[2], bound->high);
        array_add_int4(&params[3], has_more != NULL && has_more[turns->candidates[i]]);
    }
    return 0;
}

int slice_lock_queue(struct outbox *outbox, struct batch *batch,
                     const struct claim_request *request, struct error *error)
{
    uint64_t away = htobe64(request->away);
    uint64_t file = htobe64(outbox->view.file);
    uint32_t width = htobe32((uint32_t)outbox->turns.width);
    uint64_t drawn = htobe64((uint64_t)outbox->view.stamp.drawn);
    struct array params[9] = {[5] = {.bytes = (char *)&file, .len = sizeof file},
                              [6] = {.bytes = (char *)&width, .len = sizeof width},
                              [7] = {.bytes = (char *)&away, .len = sizeof away},
                              [8] = {.bytes = (char *)&drawn, .len = sizeof drawn}};

    if (outbox->options->order == ORDER_NONE)
        return 0;
    if (request->parked)
        return queue_parked(outbox, away, error);
    turns_choose(&outbox->turns, outbox->view.bounds, clock_now_ms());
    if (fill_candidates(outbox, batch, params, error) < 0)
        return -1;
    return pipeline_queue(outbox, "lock_slices", 9, params, true, error);
}

/* "3,9" */
static void read_locked(struct outbox *outbox, const char *text)
{
    outbox->locked_count = 0;
    while (*text != '\0' && outbox->locked_count < SLICES_A_CLAIM_MAX) {
        char *end;

        outbox->locked[outbox->locked_count++] = (int32_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
}

/* Somebody put another table in its place, or changed the number of slices: rows of one key may be
 * claimed by two lanes at once, if they disagree about that. */
static int check_table(const struct outbox *outbox, const PGresult *result, struct error *error)
{
    int count =
        PQgetisnull(result, 0, SLICES_COUNT) ? 0 : row_int4(PQgetvalue(result, 0, SLICES_COUNT));

    if (PQgetvalue(result, 0, SLICES_SAME)[0] == 0)
        return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                         "table %s is another one than before: connecting anew",
                         outbox->table.quoted);
    if (count == outbox->options->slices)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s has %d slices now, and the configuration says %d: nothing is claimed",
                    outbox->table.slice_quoted, count, outbox->options->slices);
    return error_hint(error, "set slices = %d in [outbox] and start again", count);
}

/* The bounds that the claim behind the lock has read from. */
static void take_bounds(struct outbox *outbox, bool valid)
{
    outbox->stamp = outbox->view.stamp;
    outbox->stamp_of = valid && outbox->stamp.epoch != 0 ? outbox->view_of : NULL;
    if (!valid && outbox->view.file != 0 && outbox->view_of != NULL)
        horizon_forget(outbox->view_of, outbox->stamp.epoch);
    for (int i = 0; i < outbox->locked_count; i++)
        outbox->claimed[i] = (struct claimed_range){
            .slice = outbox->locked[i],
            .from = outbox->view.bounds[outbox->locked[i]],
            .last = HORIZON_UNKNOWN,
        };
}

int slice_lock_read(struct outbox *outbox, const struct claim_request *request, struct error *error)
{
    PGresult *result;
    int status;

    outbox->locked_count = 0;
    if (outbox->options->order == ORDER_NONE)
        return 0;
    result = pipeline_answer(outbox, PGRES_TUPLES_OK, error);
    if (result == NULL)
        return outbox->failure == FAILURE_OTHER ? pipeline_abort(outbox) : -1;
    status = check_table(outbox, result, error);
    read_locked(outbox, PQgetvalue(result, 0, SLICES_LOCKED));
    if (request->parked)
        outbox->locked_count = 0;
    else
        take_bounds(outbox, PQgetvalue(result, 0, SLICES_VALID)[0] != 0);
    PQclear(result);
    return status < 0 ? pipeline_abort(outbox) : 0;
}

/* Rows come slice by slice in the order of the lock, and in each by id; two rows may share an id:
 * `check` tells. */
static int note_rows(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    int at = 0;

    for (int row = 0; row < batch->count; row++) {
        int slice = row_int4(PQgetvalue(batch->rows, row, CLAIM_SLICE));
        int64_t id = row_integer(batch->messages[row].id);

        while (at < outbox->locked_count && outbox->claimed[at].slice != slice)
            at++;
        if (at == outbox->locked_count || id < outbox->claimed[at].last)
            return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                             "database: a claim's rows came out of their order, at id %lld",
                             (long long)id);
        outbox->claimed[at].last = id;
        outbox->claimed[at].rows++;
    }
    return 0;
}

/* A slice that returned fewer rows than its share has no more, unless the claim was cut short: by
 * its limit, or because rows at its end were not taken. */
static bool note_ends(struct outbox *outbox, const struct batch *batch)
{
    int limit = pipeline_limit(outbox, outbox->level);
    int locked = outbox->locked_count;
    int share = (limit + locked - 1) / locked;
    bool cut = PQntuples(batch->rows) == limit || batch->count < PQntuples(batch->rows);
    bool more = false;
    int unseen = locked; /* the slices from this one on may have rows that were not seen */

    for (int i = 0; cut && i < locked; i++)
        if (outbox->claimed[i].rows > 0)
            unseen = i;
    for (int i = 0; i < locked; i++) {
        struct claimed_range *claimed = &outbox->claimed[i];
        bool has_more = i >= unseen || claimed->rows >= share;

        if (!has_more)
            claimed->last = INT64_MAX;
        if (outbox->stamp_of != NULL)
            horizon_has_more(outbox->stamp_of)[claimed->slice] = has_more;
        more = more || has_more;
    }
    return more;
}

static void note_highest(struct outbox *outbox)
{
    int64_t highest = HORIZON_UNKNOWN;

    for (int i = 0; i < outbox->locked_count; i++)
        if (outbox->claimed[i].last > highest)
            highest = outbox->claimed[i].last;
    if (outbox->stamp_of == outbox->horizon && outbox->horizon != NULL)
        horizon_note_claimed(outbox->horizon, outbox->stamp.epoch, highest);
}

static void note_unordered(struct outbox *outbox, const struct batch *batch)
{
    if (outbox->view_of == outbox->horizon && outbox->horizon != NULL &&
        table_has_integer_ids(&outbox->table))
        horizon_note_claimed(outbox->horizon, outbox->view.stamp.epoch,
                             row_integer(batch->messages[batch->count - 1].id));
}

/* The order of a key rests on the order of the rows, so it is looked at. */
int slice_lock_note_claimed(struct outbox *outbox, struct batch *batch, struct error *error)
{
    int limit = pipeline_limit(outbox, outbox->level);
    bool more;

    if (batch->parked)
        return 0;
    outbox->empty_claims = 0;
    if (outbox->options->order == ORDER_NONE) {
        note_unordered(outbox, batch);
        return 0;
    }
    if (note_rows(outbox, batch, error) < 0)
        return -1;
    note_highest(outbox);
    more = note_ends(outbox, batch);
    turns_claimed(&outbox->turns, outbox->locked, outbox->locked_count);
    batch->more =
        batch->more || more ||
        (outbox->locked_count == outbox->turns.width && outbox->turns.width < outbox->turns.count);
    turns_adapt(&outbox->turns, outbox->locked_count, more, batch->count >= limit / 2);
    return 0;
}

static void tell(struct outbox *outbox)
{
    if (outbox->stamp_of == NULL)
        return;
    for (int i = 0; i < outbox->locked_count; i++)
        if (outbox->claimed[i].last != HORIZON_UNKNOWN)
            horizon_advance(outbox->stamp_of, &outbox->stamp, outbox->claimed[i].slice,
                            &outbox->claimed[i].from, outbox->claimed[i].last, outbox->read_high);
}

bool slice_lock_note_empty(struct outbox *outbox, const struct claim_request *request)
{
    bool expected = !request->parked && outbox->locked_count > 0;

    for (int i = 0; i < outbox->locked_count; i++)
        outbox->claimed[i].last = INT64_MAX;
    tell(outbox);
    for (int i = 0; expected && outbox->stamp_of != NULL && i < outbox->turns.count; i++)
        horizon_has_more(outbox->stamp_of)[i] = false;
    outbox->empty_claims = expected ? outbox->empty_claims + 1 : 0;
    return expected && outbox->empty_claims < EMPTY_CLAIMS_MAX;
}

static bool leaves_a_row(const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].outcome == OUTCOME_LEAVE)
            return true;
    return batch->unparked != NULL;
}

void slice_lock_avoid(struct outbox *outbox, int count)
{
    turns_avoid(&outbox->turns, outbox->locked, count, clock_now_ms() + AVOID_MS);
}

/* A row that can be neither read nor parked would fail each claim from the front of its slice. */
static bool holds_up_its_slice(const struct outbox *outbox, const struct batch *batch)
{
    return batch->unparked != NULL && batch->messages[0].unreadable && !batch->parked &&
           outbox->options->order == ORDER_KEY;
}

void slice_lock_note_settled(struct outbox *outbox, const struct batch *batch)
{
    if (holds_up_its_slice(outbox, batch))
        slice_lock_avoid(outbox, 1);
    if (!leaves_a_row(batch))
        tell(outbox);
}
