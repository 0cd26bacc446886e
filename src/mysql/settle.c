/*
 * Settle: writes the outcome of each message and commits, in the transaction that claimed the rows.
 *
 * The claim has set the savepoint "relay". A statement that the server refuses, or that affects
 * another number of rows than it was given, is undone to it and tried again with ever smaller parts
 * (refused.c); after a deadlock the whole transaction is gone, and so is the batch.
 */
#include "base/clock.h"
#include "mysql/settle.h"

#include <stdlib.h>
#include <string.h>

/* A row that was refused before and now leaves the outbox. */
static bool ends_its_note(const struct batch *batch, const struct message *message)
{
    return batch->refused && (rows_sent(batch, message) || rows_to_be_parked(batch, message));
}

static bool has_key(const struct batch *batch, const struct message *message)
{
    return message->key.data != NULL &&
           (batch->parked ? rows_sent(batch, message) : ends_its_note(batch, message));
}

/* Parks rows; when the server refuses that, those that it takes. */
static int park(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int parked;

    if (rows_choose(&rows, batch, rows_to_be_parked, error) < 0)
        return -1;
    if (rows.count == 0)
        return 0;
    parked = settle_try(outbox, batch, SETTLE_PARK, rows, error);
    if (parked > 0)
        return settle_keep(outbox, error);
    if (parked == 0 && batch->parked) {
        settle_keep_failure(batch, error->text);
        return 0;
    }
    return parked == 0 ? refused_isolate(outbox, batch, SETTLE_PARK, rows, error) : -1;
}

static int settle_sent(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int settled;

    if (rows_choose(&rows, batch, rows_sent, error) < 0)
        return -1;
    if (rows.count == 0)
        return 0;
    settled = settle_try(outbox, batch, SETTLE_SENT, rows, error);
    if (settled == 0)
        refused_use_parts();
    return settled == 0 ? refused_isolate(outbox, batch, SETTLE_SENT, rows, error)
                        : (settled > 0 ? 0 : -1);
}

/* Writes notes of refused rows, and ends those of rows that have left. If the server refuses that,
 * nothing is settled. */
static int note(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int noted = 1;

    if (rows_choose(&rows, batch, rows_refused, error) < 0)
        return -1;
    if (rows.count > 0 && batch->parked)
        settle_keep_failure(batch, rows.messages[0]->reason);
    else if (rows.count > 0)
        noted = settle_try(outbox, batch, SETTLE_NOTE, rows, error);
    if (noted > 0 && rows.count > 0 && !batch->parked)
        outbox->has_notes = true;
    if (noted <= 0 || rows_choose(&rows, batch, ends_its_note, error) < 0)
        return -1;
    return rows.count == 0 || settle_try(outbox, batch, SETTLE_END_NOTES, rows, error) > 0 ? 0 : -1;
}

/* What has waited for rows that have left: the next rows of their keys, and those that wait for the
 * same destination. */
static int release(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;

    if (!batch->parked && !batch->refused)
        return 0;
    if (outbox->options->order == ORDER_KEY) {
        if (rows_choose(&rows, batch, has_key, error) < 0 ||
            (rows.count > 0 && release_next(outbox, rows, error) < 0))
            return -1;
    }
    return batch->parked ? release_waiting(outbox, batch, error) : 0;
}

/* While the answer to COMMIT is awaited, it is not known whether it has taken effect. */
static int commit(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    int64_t id = strtoll(batch->messages[0].id.data, NULL, 10);

    if (db_execute(&outbox->session, "COMMIT", error) >= 0)
        return 0;
    outbox->cannot_commit = true;
    if (outbox->session.failure == DB_FAILURE_SESSION)
        outbox->unconfirmed_id = batch->parked ? 0 : id;
    return -1;
}

int outbox_settle(struct outbox *outbox, struct batch *batch, const struct claim_request *next,
                  struct error *error)
{
    bool leaves_a_row = false;

    (void)next;
    batch->park_failure = NULL;
    if (!db_is_in_transaction(&outbox->session)) {
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the transaction of the claim has ended: nothing is settled");
        return error_mark_unanswered(error);
    }
    if (park(outbox, batch, error) < 0 || settle_sent(outbox, batch, error) < 0 ||
        note(outbox, batch, error) < 0 || release(outbox, batch, error) < 0 ||
        commit(outbox, batch, error) < 0) {
        claim_roll_back(outbox);
        return -1;
    }
    for (int i = 0; i < batch->count; i++)
        leaves_a_row = leaves_a_row || batch->messages[i].outcome == OUTCOME_UNSENT;
    if (!leaves_a_row && batch->park_failure == NULL)
        claim_note_end(outbox);
    outbox->locked_count = 0;
    return 0;
}
