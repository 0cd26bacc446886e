/*
 * The lane's side of choosing slices: what it asks for, and what it remembers of the answer.
 *
 * An id is noted only when the batch has been settled without leaving a row behind, or when its
 * slice was found empty: a row that stays is met again by the next claim, before any later one of
 * its key.
 */
#include "outbox/choose.h"

#include "outbox/bounds_pass.h"
#include "outbox/row.h"
#include "outbox/sql_choose.h"

#include "base/clock.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define PARKED_WIDTH 8    /* slices of a claim of parked rows */
#define EMPTY_LOOKS_MAX 3 /* then a lane rests: what was there is claimed by somebody else */

bool choose_is_bounded(const struct outbox *outbox)
{
    const char *type = outbox->table.columns[COLUMN_ID].type;

    return strcmp(type, "bigint") == 0 || strcmp(type, "integer") == 0 ||
           strcmp(type, "smallint") == 0;
}

static int queue_parked(struct outbox *outbox, uint64_t away, struct error *error)
{
    uint32_t width = htobe32(PARKED_WIDTH);
    const struct array params[2] = {{.bytes = (char *)&width, .len = sizeof width},
                                    {.bytes = (char *)&away, .len = sizeof away}};

    if (outbox->options->order == ORDER_NONE)
        return pipeline_queue(outbox, "choose", 0, NULL, true, error);
    return pipeline_queue(outbox, "choose_parked", 2, params, true, error);
}

static int fill_look(const struct bounds *bounds, struct batch *batch, struct array params[2],
                     struct error *error)
{
    array_begin(&params[0], batch, ARRAY_INT4, bounds->looked,
                (size_t)bounds->looked * sizeof *bounds->look);
    array_begin(&params[1], batch, ARRAY_INT8, bounds->looked,
                (size_t)bounds->looked * sizeof *bounds->firsts);
    if (params[0].bytes == NULL || params[1].bytes == NULL)
        return error_no_memory(error);
    for (int i = 0; i < bounds->looked; i++) {
        array_add_int4(&params[0], bounds->look[i]);
        array_add_int8(&params[1], bounds->firsts[i]);
    }
    return 0;
}

static int fill_sure(const struct bounds *bounds, struct batch *batch, struct array *param,
                     struct error *error)
{
    array_begin(param, batch, ARRAY_INT4, bounds->looked, (size_t)bounds->looked * sizeof(int32_t));
    if (param->bytes == NULL)
        return error_no_memory(error);
    for (int i = 0; i < bounds->looked; i++)
        array_add_int4(param, bounds->sure[bounds->look[i]]);
    return 0;
}

/* While a sink is away the lanes see other rows each; without slices a claim skips what others have
 * in hand. */
static void use_shared(struct outbox *outbox)
{
    struct shared *shared = outbox->bounded_away == 0 ? outbox->shared : NULL;

    bounds_use(&outbox->bounds, shared != NULL ? shared_sure(shared) : NULL);
    if (shared != NULL && outbox->options->order == ORDER_KEY && !outbox->looks_alone)
        outbox->asking.shared_epoch =
            shared_learn(shared, &outbox->server, &outbox->bounds, outbox->asking.asked_ms);
    outbox->looks_alone = false;
}

static void begin_look(struct outbox *outbox, uint64_t away)
{
    if (away != outbox->bounded_away)
        bounds_forget(&outbox->bounds);
    outbox->bounded_away = away;
    outbox->asking = (struct sight){.asked_ms = clock_now_ms(), .epoch = outbox->bounds.epoch};
    use_shared(outbox);
    bounds_look(&outbox->bounds, outbox->asking.asked_ms);
}

int choose_queue(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                 struct error *error)
{
    uint64_t away = htobe64(claim->away);
    uint32_t width = htobe32((uint32_t)outbox->bounds.width);
    bool share = bounds_share(&outbox->bounds);
    struct array params[6] = {[2] = {.bytes = (char *)&width, .len = sizeof width},
                              [3] = {.bytes = (char *)&away, .len = sizeof away},
                              [4] = {.bytes = (char *)&share, .len = sizeof share}};

    if (claim->parked)
        return queue_parked(outbox, away, error);
    begin_look(outbox, claim->away);
    if (outbox->options->order == ORDER_NONE)
        return pipeline_queue(outbox, "choose", 0, NULL, true, error);
    if (fill_look(&outbox->bounds, batch, params, error) < 0 ||
        fill_sure(&outbox->bounds, batch, &params[5], error) < 0)
        return -1;
    return pipeline_queue(outbox, "choose", 6, params, true, error);
}

/* "3,9" */
static int read_slices(const PGresult *result, int column, int32_t slices[], int slices_max)
{
    const char *text = PQgetisnull(result, 0, column) ? "" : PQgetvalue(result, 0, column);
    int count = 0;

    while (*text != '\0' && count < slices_max) {
        char *end;

        slices[count++] = (int32_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

/* Somebody changed their number: rows of one key may be claimed by two lanes at once, if they
 * disagree. */
static int check_number(const struct outbox *outbox, const PGresult *result, struct error *error)
{
    int number =
        PQgetisnull(result, 0, CHOOSE_NUMBER) ? 0 : row_int4(PQgetvalue(result, 0, CHOOSE_NUMBER));

    if (outbox->options->order == ORDER_NONE || number == outbox->options->slices)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s has %d slices now, and the configuration says %d: nothing is claimed",
                    outbox->table.slice_quoted, number, outbox->options->slices);
    return error_hint(error, "set slices = %d in [outbox] and start again", number);
}

/* That of a claim ahead begins behind the COMMIT before it. */
static int64_t look_ms(const struct outbox *outbox)
{
    return clock_boot_ms() - outbox->asked_ms;
}

static void note_look(struct outbox *outbox, const PGresult *result)
{
    struct bounds *bounds = &outbox->bounds;
    int64_t took_ms = look_ms(outbox);

    outbox->sight = outbox->asking;
    outbox->sight.xmin = row_int8(PQgetvalue(result, 0, CHOOSE_XMIN));
    bounds->chosen_count = read_slices(result, CHOOSE_SLICES, bounds->chosen, BOUNDS_WIDTH_MAX);
    bounds_looked(bounds, took_ms, clock_now_ms());
    survey_note_look(outbox, took_ms, false);
}

static int note_failed_look(struct outbox *outbox, const struct claim *claim)
{
    if (outbox->overloaded && !claim->parked)
        survey_note_look(outbox, look_ms(outbox), true);
    return -1;
}

int choose_read(struct outbox *outbox, const struct claim *claim, struct error *error)
{
    PGresult *result = pipeline_expect(outbox, PGRES_TUPLES_OK, error);
    int status;

    outbox->claimed_count = 0;
    if (result == NULL)
        return note_failed_look(outbox, claim);
    status = check_number(outbox, result, error);
    if (status == 0 && !claim->parked)
        note_look(outbox, result);
    PQclear(result);
    return status < 0 ? pipeline_abort(outbox) : 0;
}

static bool note_row(struct outbox *outbox, int slice, int64_t id)
{
    struct claimed *last =
        outbox->claimed_count > 0 ? &outbox->claimed[outbox->claimed_count - 1] : NULL;

    if (last != NULL && last->slice == slice) {
        bool in_order = id >= last->last; /* two rows may share an id: `check` tells */

        last->last = id;
        return in_order;
    }
    if (outbox->claimed_count == BOUNDS_WIDTH_MAX)
        return false;
    outbox->claimed[outbox->claimed_count++] = (struct claimed){slice, id, id};
    return true;
}

static void note_slices(struct outbox *outbox)
{
    struct shared *shared = outbox->shared;
    int64_t now_ms = clock_now_ms();

    for (int i = 0; i < outbox->claimed_count; i++) {
        const struct claimed *claimed = &outbox->claimed[i];
        bool passed = bounds_take_back(&outbox->bounds, claimed->slice, claimed->first, now_ms) ||
                      (shared != NULL && shared_has_passed(shared, claimed->slice, claimed->first));

        bounds_claimed(&outbox->bounds, claimed->slice, claimed->last);
        if (passed && shared != NULL)
            shared_distrust(shared, now_ms);
    }
}

static void note_newest(struct outbox *outbox, const PGresult *result, int64_t took_ms)
{
    int64_t now_ms = clock_now_ms();

    for (int row = 0; row < PQntuples(result); row++) {
        int slice = (int)strtol(PQgetvalue(result, row, 0), NULL, 10);

        bounds_newest(&outbox->bounds, slice, strtoll(PQgetvalue(result, row, 1), NULL, 10),
                      now_ms);
    }
    bounds_told_newest(&outbox->bounds, took_ms, now_ms);
}

/* The text answer of a statement about the slices of bounds->look, which are its first two
 * parameters. NULL: closed, or no memory. */
static PGresult *ask_slices(struct outbox *outbox, struct batch *batch, const char *statement,
                            int param_count, struct array *params, struct error *error)
{
    if (fill_look(&outbox->bounds, batch, params, error) < 0 ||
        pipeline_queue(outbox, statement, param_count, params, false, error) < 0 ||
        pipeline_sync(outbox, error) < 0)
        return NULL;
    return pipeline_expect(outbox, PGRES_TUPLES_OK, error);
}

/* In a backlog: else there is little to pass. */
static int ask_newest(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct array params[2];
    PGresult *result;
    int64_t asked_ms = clock_now_ms();

    if (!bounds_ask_newest(&outbox->bounds, asked_ms))
        return 0;
    result = ask_slices(outbox, batch, "newest_of_slices", 2, params, error);
    if (result == NULL)
        return -1;
    note_newest(outbox, result, clock_now_ms() - asked_ms);
    PQclear(result);
    return pipeline_skip(outbox, PGRES_PIPELINE_SYNC, error);
}

/* The order of a key rests on the order of the rows, so it is looked at. */
int choose_note_claimed(struct outbox *outbox, struct batch *batch, const PGresult *claimed,
                        struct error *error)
{
    int limit = pipeline_limit(outbox, outbox->level);
    bool left; /* in the slices, or in others, there may be rows */

    if (batch->parked || !choose_is_bounded(outbox))
        return 0;
    outbox->sight.xact = outbox->xact;
    for (int row = 0; row < batch->count; row++) {
        int slice = row_int4(PQgetvalue(claimed, row, CLAIM_SLICE));
        int64_t id = row_integer(batch->messages[row].id);

        if (!note_row(outbox, slice, id))
            return error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                             "database: a claim's rows came out of their order, at id %lld",
                             (long long)id);
    }
    note_slices(outbox);
    if (batch->more)
        bounds_cut(&outbox->bounds, outbox->claimed[outbox->claimed_count - 1].slice);
    left = (bounds_share(&outbox->bounds) && outbox->bounds.chosen_count > 1) ||
           (outbox->bounds.chosen_count == outbox->bounds.width &&
            outbox->bounds.width < outbox->bounds.count);
    bounds_adapt(&outbox->bounds, batch->more ? limit : batch->count, limit);
    batch->more = batch->more || left;
    if (ask_newest(outbox, batch, error) < 0)
        return -1;
    return survey_note_claimed(outbox, error);
}

bool choose_looks_again(struct outbox *outbox, int rows, const struct claim *claim)
{
    bool empty = rows == 0 && !claim->parked && outbox->bounds.chosen_count > 0;

    if (empty)
        bounds_doubt(&outbox->bounds);
    outbox->empty_looks = empty ? outbox->empty_looks + 1 : 0;
    return empty && outbox->empty_looks < EMPTY_LOOKS_MAX;
}

static bool leaves_a_row(const struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].outcome == OUTCOME_LEAVE)
            return true;
    return batch->unparked != NULL;
}

static void note_settled(struct outbox *outbox, const struct claimed *claimed)
{
    const struct sight *sight = &outbox->sight;

    bounds_settled(&outbox->bounds, claimed->slice, claimed->last, sight, clock_now_ms());
    if (sight->shared_epoch != 0)
        shared_tell(outbox->shared, sight->shared_epoch, claimed->slice,
                    outbox->bounds.slices[claimed->slice].first);
}

void choose_note_settled(struct outbox *outbox, const struct batch *batch)
{
    if (outbox->claimed_count > 0 && outbox->sight.xact != 0)
        bounds_fence(&outbox->bounds, outbox->sight.xact, outbox->sight.asked_ms);
    if (leaves_a_row(batch))
        return;
    for (int i = 0; i < outbox->claimed_count; i++)
        note_settled(outbox, &outbox->claimed[i]);
}

static int ask_empty(struct outbox *outbox, struct batch *batch, uint64_t away, struct error *error)
{
    struct array params[3] = {[2] = {.bytes = (char *)&away, .len = sizeof away}};
    PGresult *result = ask_slices(outbox, batch, "empty", 3, params, error);
    int count;

    if (result == NULL)
        return -1;
    count = PQntuples(result) > 0
                ? read_slices(result, 0, outbox->bounds.look, outbox->bounds.count)
                : 0;
    for (int i = 0; i < count; i++)
        bounds_empty(&outbox->bounds, outbox->bounds.look[i], &outbox->sight, clock_now_ms());
    PQclear(result);
    return pipeline_skip(outbox, PGRES_PIPELINE_SYNC, error);
}

int choose_number(struct outbox *outbox, const char *statement, int64_t *xact, struct error *error)
{
    PGresult *result = pipeline_run(outbox, statement, 0, NULL, error);

    if (result == NULL)
        return -1;
    *xact = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return 0;
}

/* An idle lane's transactions have no number, so one is asked for. */
static int raise_fence(struct outbox *outbox, struct error *error)
{
    int64_t asked_ms = clock_now_ms();
    int64_t xact;

    if (!bounds_lack_fence(&outbox->bounds, asked_ms))
        return 0;
    if (choose_number(outbox, "fence", &xact, error) < 0)
        return -1;
    bounds_fence(&outbox->bounds, xact, asked_ms);
    return 0;
}

/* Idle looks are cheap only when the bounds have come to the end of the table. */
int choose_pass_empty(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                      struct error *error)
{
    if (claim->parked || !choose_is_bounded(outbox) || claim->away != outbox->bounded_away)
        return 0;
    if (bounds_pending(&outbox->bounds, &outbox->sight) > 0 &&
        ask_empty(outbox, batch, htobe64(claim->away), error) < 0)
        return -1;
    return raise_fence(outbox, error);
}
