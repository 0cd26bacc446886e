/*
 * What happens to rows that PostgreSQL refuses to settle: a foreign key references them, a trigger
 * raises an error or takes the mark back, a privilege is missing, ...
 *
 * The first refusal rolls the whole settle back although the rows are published. Notes are then
 * written which say so, and the rows are settled by their notes, without being published again.
 * From then on, while there are notes, every relay tries to settle rows before it publishes them,
 * in a savepoint that it rolls back. A refused row is found by halving and keeps its note; it is
 * tried again with back-off. If the statement is refused even without rows, the reason is not a
 * row: nothing is published until a settle works.
 */
#include "outbox/refused.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define KILLER_RETRY_MS 60000
#define PARTS_MS 60000 /* longer than the pause between two attempts of a lane */
/* After this the rows that are left are refused until their notes are due. A transaction may search
 * twice, before and after it publishes, and is to end within publish_timeout + 5 s. */
#define ISOLATE_MS 2000

/* Until when the lanes of the process settle in parts; [1]: with parked rows. */
static _Atomic int64_t parts_until_ms[2];

bool refused_in_parts(const struct outbox *outbox, const struct batch *batch)
{
    bool has_copies = batch->parked && outbox->table.park != NULL; /* their rows may be refused */

    if (settling_by_position(outbox, batch)) /* no row is touched but those that are parked */
        return false;
    return batch->refused || has_copies || (outbox->has_refused && !batch->parked) ||
           clock_left_ms(atomic_load(&parts_until_ms[batch->parked])) > 0;
}

void refused_use_parts(const struct batch *batch)
{
    atomic_store(&parts_until_ms[batch->parked], clock_now_ms() + PARTS_MS);
}

/* ---- the search ---- */

void refused_keep_failure(struct batch *batch, const char *text)
{
    const char *copy = batch_copy(batch, text, strlen(text)).data;

    batch->park_failure = copy != NULL ? copy : "out of memory";
}

static void refuse(struct batch *batch, enum settling settling, struct message *message,
                   const struct error *why)
{
    const char *before = settling == SETTLING_PARK ? message->reason : NULL;

    message->is_new_refusal = message->note == 0 || message->attempts == 0;
    message->attempts++;
    if (settling == SETTLING_TRIAL) {
        batch_refuse(batch, message, VERDICT_REFUSED, "PostgreSQL refuses to settle this row: %s",
                     error_bare_text(why));
        batch_quote(batch, message, why->words);
        return;
    }
    message->is_sent = settling == SETTLING_SENT;
    batch_refuse(batch, message, message->verdict, "PostgreSQL refuses to %s this row: %s%s%s",
                 settling == SETTLING_PARK ? "park" : "settle", error_bare_text(why),
                 before != NULL ? "; it was to be parked: " : "", before != NULL ? before : "");
    batch_quote(batch, message, why->words);
    message->outcome = OUTCOME_REFUSED;
}

/* There is no time to tell which of the rows are refused. All get notes, which are due at once, and
 * the next claims of such rows are smaller. */
static void leave(struct outbox *outbox, struct batch *batch, enum settling settling,
                  struct rows rows, const struct error *why)
{
    outbox_claim_fewer(outbox, true);
    for (int i = 0; i < rows.count; i++) {
        struct message *message = rows.messages[i];
        int attempts = message->attempts;

        refuse(batch, settling, message, why);
        message->is_new_refusal = false;
        message->is_untried = true;
        message->attempts = attempts;
        message->retry_ms = 0;
    }
}

/* PostgreSQL has refused with *error to settle parked rows and the rows of the outbox of which they
 * are copies. This settles the copies alone. */
static int try_copies(struct outbox *outbox, struct batch *batch, enum settling settling,
                      struct rows rows, struct error *error)
{
    struct error why = *error;
    int done;

    outbox->leaves_rows = true;
    done = settling_try(outbox, batch, settling, rows, error);
    outbox->leaves_rows = false;
    for (int i = 0; done > 0 && settling != SETTLING_TRIAL && i < rows.count; i++)
        log_event(LOG_WARN, LOG_FIELDS(.row = message_row_id(rows.messages[i]), .error = why.text),
                  "PostgreSQL refuses to change this row of %s: only its copy in %s is %s",
                  outbox->table.quoted, outbox->table.parked_quoted,
                  settling == SETTLING_SENT ? "settled" : "changed");
    return done;
}

/* The rows were refused together, with *error. A server that is short of something, such as a full
 * disk, refuses no row for good: its copy waits. */
static int isolate(struct outbox *outbox, struct batch *batch, enum settling settling,
                   struct rows rows, int64_t deadline_ms, struct error *error)
{
    struct rows half = {rows.messages, rows.count / 2};

    if (rows.count == 1) {
        bool is_short = error_is_sqlstate(error, "53") || error_is_sqlstate(error, "58");
        int done = batch->parked && outbox->table.park != NULL && !is_short
                       ? try_copies(outbox, batch, settling, rows, error)
                       : 0;

        if (done == 0)
            refuse(batch, settling, rows.messages[0], error);
        return done < 0 ? -1 : 0;
    }
    for (int i = 0; i < 2; i++) {
        struct error why;
        int done;

        if (clock_left_ms(deadline_ms) <= 0) {
            leave(outbox, batch, settling, half, error);
        } else {
            done = settling_try(outbox, batch, settling, half, &why);
            if (done == 0)
                done = isolate(outbox, batch, settling, half, deadline_ms, &why) < 0 ? -1 : 1;
            if (done < 0) {
                *error = why;
                return -1;
            }
        }
        half.messages += half.count;
        half.count = rows.count - half.count;
    }
    return 0;
}

int refused_isolate(struct outbox *outbox, struct batch *batch, enum settling settling,
                    struct rows rows, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + ISOLATE_MS;
    struct error of_table;
    int done = settling_try(outbox, batch, settling, (struct rows){rows.messages, 0}, &of_table);

    if (done < 0)
        *error = of_table;
    if (done < 0 || (done == 0 && settling == SETTLING_TRIAL))
        return -1;
    if (done > 0)
        return isolate(outbox, batch, settling, rows, deadline_ms, error);
    for (int i = 0; i < rows.count; i++) /* no part of the rows fares better */
        refuse(batch, settling, rows.messages[i], error);
    return 0;
}

/* A trigger may end the session, or crash the server. Claims get smaller until the row is alone. */
static void note_loss(struct outbox *outbox, const struct batch *batch, struct rows rows)
{
    if (batch->count > 1 || rows.messages[0]->id.len >= sizeof outbox->killer.id) {
        outbox_claim_fewer(outbox, batch->refused);
        return;
    }
    (void)snprintf(outbox->killer.id, sizeof outbox->killer.id, "%.*s",
                   (int)rows.messages[0]->id.len, rows.messages[0]->id.data);
    memcpy(outbox->killer.row, rows.messages[0]->row, sizeof outbox->killer.row);
    outbox->killer.xmin = rows.messages[0]->xmin;
    outbox->killer.note = rows.messages[0]->note;
}

int refused_note_killer(struct outbox *outbox, struct error *error)
{
    struct batch batch = {0};
    struct message *message;
    struct rows rows = {&message, 1};
    int noted = -1;

    if (outbox->killer.id[0] == '\0')
        return 0;
    if (batch_init(&batch, 1) < 0 || (message = batch_add(&batch)) == NULL) {
        batch_free(&batch);
        return error_no_memory(error);
    }
    message->id = text_of(outbox->killer.id);
    memcpy(message->row, outbox->killer.row, sizeof message->row);
    message->xmin = outbox->killer.xmin;
    message->note = outbox->killer.note;
    batch.refused = message->note != 0;
    message->attempts = 1;
    message->retry_ms = KILLER_RETRY_MS;
    message->reason = "PostgreSQL ended the session while this row was settled";
    if (session_queue(&outbox->session, "begin", 0, NULL, false, error) == 0)
        noted = settling_try(outbox, &batch, SETTLING_NOTE, rows, error);
    if (noted >= 0 && session_end_transaction(&outbox->session, noted > 0, error) < 0)
        noted = -1;
    if (noted > 0)
        log_event(LOG_WARN, LOG_FIELDS(.row = message->id), "%s: the row and its key wait",
                  "PostgreSQL ended the session while this row was settled");
    if (noted >= 0) /* without a note the row is settled, or is claimed again */
        outbox->killer.id[0] = '\0';
    batch_free(&batch);
    return noted >= 0 ? 0 : -1;
}

int outbox_try_settling(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    int done;

    if (!refused_in_parts(outbox, batch))
        return 0;
    if (rows_choose(&rows, batch, rows_to_be_published, error) < 0)
        return -1;
    if (rows.count == 0)
        return 0;
    done = settling_try(outbox, batch, SETTLING_TRIAL, rows, error);
    if (done <= 0)
        refused_use_parts(batch);
    if (done == 0)
        done = refused_isolate(outbox, batch, SETTLING_TRIAL, rows, error) == 0 ? 1 : -1;
    if (done < 0 && outbox->session.conn == NULL)
        note_loss(outbox, batch, rows);
    return done > 0 ? 0 : -1;
}

/* ---- after the transaction was refused ---- */

/* Also a row that was refused alone, whose new note is rolled back. */
static bool was_sent(const struct batch *batch, const struct message *message)
{
    (void)batch;
    return message->outcome == OUTCOME_SENT ||
           (message->outcome == OUTCOME_REFUSED && message->is_sent && message->note == 0);
}

/* Nothing was settled. What is noted as sent is due at once, by its note. */
static void take_back(struct batch *batch, const struct error *why)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];

        message->is_sent = message->is_sent || message->outcome == OUTCOME_SENT;
        if (message->outcome == OUTCOME_SENT) {
            batch_refuse(batch, message, message->verdict,
                         "PostgreSQL refuses to settle this row: %s", error_bare_text(why));
            batch_quote(batch, message, why->words);
        }
        message->retry_ms = message->note == 0 ? 0 : message->retry_ms;
        message->outcome = OUTCOME_UNSENT;
    }
}

/* Goes back to before the rows were claimed. The slices stay locked, so nobody can claim the rows
 * before their notes are there. When COMMIT was refused, the locks are gone. */
static int go_back(struct outbox *outbox, const struct batch *batch, struct error *error)
{
    bool is_open = session_has_failed_transaction(&outbox->session);

    if (!is_open && batch->refused) /* no row alone was refused, but their COMMIT */
        outbox_claim_fewer(outbox, true);
    return session_queue(&outbox->session, is_open ? "back_to_slices" : "begin", 0, NULL, false,
                         error);
}

/* Without slices another lane may have claimed the rows meanwhile, to try what it can settle, and
 * ends soon. Whoever keeps a row for longer keeps it without a note. */
static int note_all(struct outbox *outbox, struct batch *batch, struct rows rows,
                    struct error *error)
{
    int noted = batch->refused ? 0 : settling_try(outbox, batch, SETTLING_NOTE_ALL, rows, error);

    return noted != 0 ? noted : settling_try(outbox, batch, SETTLING_NOTE, rows, error);
}

int refused_settle(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    struct error other;
    int noted;

    settling_explain_count(outbox, error);
    if (rows_choose(&rows, batch, was_sent, error) < 0)
        return session_abort(&outbox->session);
    take_back(batch, error);
    if (session_finish(&outbox->session, &other) < 0) /* up to the Sync */
        return -1;
    if (batch->parked || rows.count == 0) {
        refused_keep_failure(batch, error->text);
        return session_end_transaction(&outbox->session, false, error);
    }
    if (go_back(outbox, batch, error) < 0)
        return -1;
    noted = note_all(outbox, batch, rows, error);
    if (noted < 0)
        return -1;
    outbox->has_refused = true;
    outbox->refused_are_due = noted > 0;
    return session_end_transaction(&outbox->session, noted > 0, error) < 0 || noted == 0 ? -1 : 0;
}

bool outbox_refused_are_due(const struct outbox *outbox)
{
    return outbox->refused_are_due;
}
