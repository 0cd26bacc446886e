/*
 * What happens to rows that the server refuses to settle: a foreign key references them, a trigger
 * raises an error, a privilege is missing, ...
 *
 * A refused row is found by halving; it stays in the outbox with a note, a row of the parked table,
 * and is tried again with back-off. While there are notes, and for a minute after a settle was
 * refused, rows are tried before they are published, in a savepoint that is rolled back. If the
 * statement is refused even without rows, the reason is not a row: nothing is published until a
 * settle works.
 */
#include "base/clock.h"
#include "mysql/settle.h"

#include <stdatomic.h>
#include <string.h>

#define PARTS_MS 60000
/* After this the rows that are left are refused until their notes are due. */
#define ISOLATE_MS 2000

static _Atomic int64_t parts_until_ms;

void refused_use_parts(void)
{
    atomic_store(&parts_until_ms, clock_now_ms() + PARTS_MS);
}

static bool in_parts(const struct outbox *outbox, const struct batch *batch)
{
    return batch->refused || (outbox->has_notes && !batch->parked) ||
           clock_left_ms(atomic_load(&parts_until_ms)) > 0;
}

static void refuse(struct batch *batch, enum settle what, struct message *message,
                   const struct error *why)
{
    const char *before = what == SETTLE_PARK ? message->reason : NULL;

    message->is_new_refusal = message->note == 0 || message->attempts == 0;
    message->attempts++;
    message->is_sent = message->is_sent || what == SETTLE_SENT;
    batch_refuse(batch, message, what == SETTLE_TRIAL ? VERDICT_REFUSED : message->verdict,
                 "the server refuses to %s this row: %s%s%s",
                 what == SETTLE_PARK ? "park" : "settle", error_bare_text(why),
                 before != NULL ? "; it was to be parked: " : "", before != NULL ? before : "");
    batch_quote(batch, message, why->words);
    if (what != SETTLE_TRIAL)
        message->outcome = OUTCOME_REFUSED;
}

/* There is no time to tell which of the rows are refused: all get notes, which are due at once. */
static void leave(struct batch *batch, enum settle what, struct rows rows, const struct error *why)
{
    for (int i = 0; i < rows.count; i++) {
        struct message *message = rows.messages[i];
        int attempts = message->attempts;

        refuse(batch, what, message, why);
        message->is_new_refusal = false;
        message->is_untried = true;
        message->attempts = attempts;
        message->retry_ms = 0;
    }
}

static int isolate(struct outbox *outbox, struct batch *batch, enum settle what, struct rows rows,
                   int64_t deadline_ms, struct error *error)
{
    struct rows half = {rows.messages, rows.count / 2};

    if (rows.count == 1) {
        refuse(batch, what, rows.messages[0], error);
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        struct error why;
        int done = 1;

        if (clock_left_ms(deadline_ms) <= 0)
            leave(batch, what, half, error);
        else
            done = settle_try(outbox, batch, what, half, &why);
        if (done > 0 && what != SETTLE_TRIAL)
            done = settle_keep(outbox, &why) < 0 ? -1 : 1;
        if (done == 0)
            done = isolate(outbox, batch, what, half, deadline_ms, &why) < 0 ? -1 : 1;
        if (done < 0) {
            *error = why;
            return -1;
        }
        half.messages += half.count;
        half.count = rows.count - half.count;
    }
    return 0;
}

int refused_isolate(struct outbox *outbox, struct batch *batch, enum settle what, struct rows rows,
                    struct error *error)
{
    struct error of_table;
    int done = settle_try(outbox, batch, what, (struct rows){rows.messages, 0}, &of_table);

    if (done < 0)
        *error = of_table;
    if (done < 0 || (done == 0 && what == SETTLE_TRIAL))
        return -1;
    if (done > 0)
        return isolate(outbox, batch, what, rows, clock_now_ms() + ISOLATE_MS, error);
    for (int i = 0; i < rows.count; i++) /* no part of the rows fares better */
        refuse(batch, what, rows.messages[i], error);
    return 0;
}

int outbox_try_settling(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int done;

    if (!in_parts(outbox, batch))
        return 0;
    if (rows_choose(&rows, batch, rows_to_be_published, error) < 0)
        return -1;
    if (rows.count == 0)
        return 0;
    done = settle_try(outbox, batch, SETTLE_TRIAL, rows, error);
    if (done <= 0)
        refused_use_parts();
    if (done == 0)
        done = refused_isolate(outbox, batch, SETTLE_TRIAL, rows, error) == 0 ? 1 : -1;
    return done > 0 ? 0 : -1;
}
