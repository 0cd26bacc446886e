/*
 * Claims while a sink is away. Its rows pile up, and a claim for the other sinks that began at the
 * front would walk over all of them, asking the routes of each. So two claims take turns: one for
 * new rows, beyond the last that was there, and one of a window that moves through the whole table,
 * rests and begins anew. The window finds what stands among the rows that are left, and what was
 * committed late: ids are not committed in their order.
 */
#include "outbox/choose.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* How rare a walk through the table is: in times of what it takes, and at least. */
#define SWEEP_REST 5
#define SWEEP_MS_MIN 1000

/* Where a walk begins; NULL: ids of this type are looked at without bounds. */
static const char *lowest_id(const struct outbox *outbox)
{
    static const char *const lowest[][2] = {{"bigint", "-9223372036854775808"},
                                            {"integer", "-2147483648"},
                                            {"smallint", "-32768"},
                                            {"uuid", "00000000-0000-0000-0000-000000000000"},
                                            {"text", ""}};
    const char *type = outbox->table.columns[COLUMN_ID].type;

    for (size_t i = 0; i < sizeof lowest / sizeof *lowest; i++)
        if (strcmp(type, lowest[i][0]) == 0)
            return lowest[i][1];
    return NULL;
}

/* But for the place of the walk: one that began anew after each failure might never reach the end.
 */
void pipeline_forget_passed(struct outbox *outbox)
{
    struct passed forgotten = {0};

    memcpy(forgotten.from, outbox->passed.from, sizeof forgotten.from);
    outbox->passed = forgotten;
}

/* With every sink there, the bound alone says where the claim begins. */
static bool note_bound(struct outbox *outbox)
{
    int64_t first = choose_is_bounded(outbox) ? outbox->bounds.firsts[0] : BOUNDS_UNKNOWN;

    if (first == BOUNDS_UNKNOWN)
        return false;
    (void)snprintf(outbox->passed.bound, PASSED_ID_BYTES, "%lld", (long long)(first - 1));
    return true;
}

enum claim_kind pipeline_choose_claim(struct outbox *outbox, const struct claim *claim)
{
    struct passed *passed = &outbox->passed;

    if (claim->parked)
        return CLAIM_PARKED;
    if (outbox->options->order == ORDER_KEY)
        return CLAIM_SLICES;
    if (claim->away != passed->away)
        pipeline_forget_passed(outbox);
    passed->away = claim->away;
    if (claim->away == 0)
        return note_bound(outbox) ? CLAIM_AFTER : CLAIM_OUTBOX;
    if (lowest_id(outbox) == NULL)
        return CLAIM_OUTBOX;
    if (!passed->begun) { /* an empty window: where the table ends is not known yet */
        if (passed->from[0] == '\0')
            (void)snprintf(passed->from, sizeof passed->from, "%s", lowest_id(outbox));
        memcpy(passed->to, passed->from, sizeof passed->to);
        return CLAIM_WINDOW;
    }
    passed->in_window = passed->sweeping && !passed->in_window;
    return passed->in_window && passed->bounded ? CLAIM_WINDOW : CLAIM_AFTER;
}

const char *pipeline_passed_from(const struct outbox *outbox)
{
    const struct passed *passed = &outbox->passed;

    if (passed->away == 0)
        return passed->bound;
    return passed->in_window || !passed->begun ? passed->from : passed->tail;
}

/* false: longer than is remembered. */
static bool copy_id(char out[PASSED_ID_BYTES], struct text id)
{
    if (id.len >= PASSED_ID_BYTES)
        return false;
    (void)snprintf(out, PASSED_ID_BYTES, "%.*s", (int)id.len, id.data);
    return true;
}

/* 1: `out` is the id that the statement found; 0: it found none; -1: closed. */
static int find_id(struct outbox *outbox, const char *statement, int param_count,
                   const char *const *params, char out[PASSED_ID_BYTES], struct error *error)
{
    PGresult *result = pipeline_run(outbox, statement, param_count, params, error);
    int found;

    if (result == NULL)
        return -1;
    found = PQntuples(result) > 0 && copy_id(out, (struct text){PQgetvalue(result, 0, 0),
                                                                (size_t)PQgetlength(result, 0, 0)});
    PQclear(result);
    return found;
}

static int set_window(struct outbox *outbox, struct error *error)
{
    struct passed *passed = &outbox->passed;
    const char *params[1] = {passed->from};
    int found = find_id(outbox, "window", 1, params, passed->to, error);

    passed->bounded = found == 1;
    return found < 0 ? -1 : 0;
}

static int begin_sweep(struct outbox *outbox, struct error *error)
{
    outbox->passed.sweeping = true;
    outbox->passed.swept_ms = 0;
    return set_window(outbox, error);
}

static int begin(struct outbox *outbox, struct error *error)
{
    struct passed *passed = &outbox->passed;
    int found = find_id(outbox, "last", 0, NULL, passed->tail, error);

    if (found < 0)
        return -1;
    if (found == 0)
        (void)snprintf(passed->tail, sizeof passed->tail, "%s", lowest_id(outbox));
    passed->begun = true;
    return begin_sweep(outbox, error);
}

static struct text last_id(const struct batch *batch)
{
    return batch->messages[batch->count - 1].id;
}

/* With nothing found up to `last`, which was there before this claim looked, the tail is there. */
static int move_tail(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    struct passed *passed = &outbox->passed;
    int found;

    if (batch->count > 0) {
        (void)copy_id(passed->tail, last_id(batch));
        passed->last[0] = '\0';
        return 0;
    }
    if (passed->last[0] != '\0')
        memcpy(passed->tail, passed->last, sizeof passed->tail);
    passed->last[0] = '\0';
    found = find_id(outbox, "last", 0, NULL, passed->last, error);
    return found < 0 ? -1 : 0;
}

static int move_window(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    struct passed *passed = &outbox->passed;
    int64_t rest_ms;

    passed->swept_ms += clock_boot_ms() - outbox->asked_ms;
    if (batch->count > 0 && batch->more && copy_id(passed->from, last_id(batch)))
        return 0;
    if (passed->bounded) {
        memcpy(passed->from, passed->to, sizeof passed->from);
        return set_window(outbox, error);
    }
    rest_ms = passed->swept_ms * SWEEP_REST;
    passed->sweep_ms = clock_now_ms() + (rest_ms > SWEEP_MS_MIN ? rest_ms : SWEEP_MS_MIN);
    passed->sweeping = false;
    (void)snprintf(passed->from, sizeof passed->from, "%s", lowest_id(outbox));
    return 0;
}

int pipeline_remember_passed(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                             struct error *error)
{
    struct passed *passed = &outbox->passed;
    int64_t began_ms = clock_boot_ms();
    int64_t took_ms;
    int status;

    if (outbox->options->order == ORDER_KEY || claim->away == 0 || claim->away != passed->away ||
        claim->parked || lowest_id(outbox) == NULL)
        return 0;
    if (!passed->begun)
        status = begin(outbox, error);
    else if (passed->in_window)
        status = move_window(outbox, batch, error);
    else
        status = move_tail(outbox, batch, error);
    if (status == 0 && !passed->sweeping && clock_left_ms(passed->sweep_ms) == 0)
        status = begin_sweep(outbox, error);
    batch->more = batch->more || passed->sweeping;
    took_ms = clock_boot_ms() - began_ms;
    outbox->worked_ms += took_ms < SESSION_STATEMENT_MS ? took_ms : SESSION_STATEMENT_MS;
    return status;
}
