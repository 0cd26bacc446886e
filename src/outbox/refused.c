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
#include "catalog/refused.h"
#include "outbox/slices/batch_array.h"

#include <endian.h>
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

    return batch->refused || has_copies || (outbox->has_refused && !batch->parked) ||
           clock_left_ms(atomic_load(&parts_until_ms[batch->parked])) > 0;
}

void refused_use_parts(const struct batch *batch)
{
    atomic_store(&parts_until_ms[batch->parked], clock_now_ms() + PARTS_MS);
}

int rows_choose(struct rows *rows, struct batch *batch,
                bool (*belongs)(const struct batch *batch, const struct message *message),
                struct error *error)
{
    rows->count = 0;
    rows->messages = batch_alloc(batch, (size_t)batch->count * sizeof(struct message *) + 1);
    if (rows->messages == NULL)
        return error_no_memory(error);
    for (int i = 0; i < batch->count; i++)
        if (belongs(batch, &batch->messages[i]))
            rows->messages[rows->count++] = &batch->messages[i];
    return 0;
}

/* ---- the parameters ---- */

const char *refused_reason(const struct message *message)
{
    if (message->parked_reason != NULL)
        return message->parked_reason;
    return message->reason != NULL ? message->reason : "";
}

static struct array rows_array(struct batch *batch, struct rows rows)
{
    struct array array;

    batch_array_begin(&array, batch, ARRAY_TID, rows.count, (size_t)rows.count * MESSAGE_ROW_BYTES);
    for (int i = 0; array.bytes != NULL && i < rows.count; i++)
        array_add(&array, rows.messages[i]->row, MESSAGE_ROW_BYTES);
    return array;
}

static struct array texts_array(struct batch *batch, struct rows rows,
                                struct text (*text_of_message)(const struct message *message))
{
    struct array array;
    size_t bytes = 0;

    for (int i = 0; i < rows.count; i++)
        bytes += text_of_message(rows.messages[i]).len;
    batch_array_begin(&array, batch, ARRAY_TEXT, rows.count, bytes);
    for (int i = 0; array.bytes != NULL && i < rows.count; i++) {
        struct text text = text_of_message(rows.messages[i]);

        if (text.data == NULL)
            array_add_null(&array);
        else
            array_add(&array, text.data, text.len);
    }
    return array;
}

static struct array numbers_array(struct batch *batch, struct rows rows, uint32_t oid,
                                  int64_t (*number_of)(const struct message *message))
{
    size_t size = oid == ARRAY_INT4 ? sizeof(int32_t) : sizeof(int64_t);
    struct array array;

    batch_array_begin(&array, batch, oid, rows.count, (size_t)rows.count * size);
    for (int i = 0; array.bytes != NULL && i < rows.count; i++) {
        int64_t number = number_of(rows.messages[i]);

        if (oid == ARRAY_INT4)
            array_add_int4(&array, (int32_t)number);
        else
            array_add_int8(&array, number);
    }
    return array;
}

static struct text reason_text(const struct message *message)
{
    return text_of(refused_reason(message));
}

static struct text destination_text(const struct message *message)
{
    return message->waits_for;
}

static struct text left_to_do(const struct message *message)
{
    return text_of(message->is_sent ? REFUSED_SENT : REFUSED_UNSENT);
}

static struct text id_text(const struct message *message)
{
    return message->id;
}

static int64_t attempts_of(const struct message *message)
{
    return message->attempts;
}

static int64_t xmin_of(const struct message *message)
{
    return message->xmin;
}

static int64_t slice_of(const struct message *message)
{
    return message->slice;
}

static int64_t note_of(const struct message *message)
{
    return message->note;
}

static int64_t retry_of(const struct message *message)
{
    return message->retry_ms;
}

#define WAIT_MS_DEAD (-1)
#define WAIT_MS_BEHIND (-2)

static int64_t parked_wait_of(const struct message *message)
{
    if (message->outcome == OUTCOME_DEAD)
        return WAIT_MS_DEAD;
    return message->outcome == OUTCOME_BEHIND ? WAIT_MS_BEHIND : message->retry_ms;
}

/* ---- the statements ---- */

static int queue(struct outbox *outbox, const char *statement, int count,
                 const struct array *params, struct error *error)
{
    for (int i = 0; i < count; i++)
        if (params[i].bytes == NULL)
            return error_no_memory(error);
    return session_queue(&outbox->session, statement, count, params, false, error);
}

static int queue_plain(struct outbox *outbox, const char *statement, struct error *error)
{
    return session_queue(&outbox->session, statement, 0, NULL, false, error);
}

/* Deferred triggers may undo what is settled, so they run before it is looked at. */
static int queue_check(struct outbox *outbox, struct batch *batch, struct rows rows,
                       struct error *error)
{
    const struct array params[2] = {texts_array(batch, rows, id_text),
                                    numbers_array(batch, rows, ARRAY_INT4, slice_of)};

    if (queue_plain(outbox, "constraints", error) < 0)
        return -1;
    return queue(outbox, "stay_settled", 2, params, error);
}

bool settling_is_checked(const struct outbox *outbox, const struct batch *batch)
{
    return outbox->table.has_triggers && !batch->parked;
}

/* Where parked rows stay in the outbox, a copy and its row are settled together. */
static int queue_sent(struct outbox *outbox, struct batch *batch, struct rows rows,
                      struct error *error)
{
    uint32_t count = htobe32((uint32_t)rows.count);
    const struct array params[2] = {rows_array(batch, rows),
                                    {.bytes = (char *)&count, .len = sizeof count}};
    bool in_place = outbox->table.park != NULL;

    if (in_place && batch->parked && !outbox->leaves_rows &&
        queue(outbox, "sent_copied", 1, params, error) < 0)
        return -1;
    if (in_place && !batch->parked && queue(outbox, "end_copies", 1, params, error) < 0)
        return -1;
    if (queue(outbox, batch->parked ? "sent_parked" : "sent", 2, params, error) < 0)
        return -1;
    return settling_is_checked(outbox, batch) ? queue_check(outbox, batch, rows, error) : 0;
}

static int queue_park(struct outbox *outbox, struct batch *batch, struct rows rows,
                      struct error *error)
{
    uint32_t count = htobe32((uint32_t)rows.count);
    const struct array params[6] = {rows_array(batch, rows),
                                    {.bytes = (char *)&count, .len = sizeof count},
                                    texts_array(batch, rows, reason_text),
                                    numbers_array(batch, rows, ARRAY_INT4, attempts_of),
                                    numbers_array(batch, rows, ARRAY_INT8, parked_wait_of),
                                    texts_array(batch, rows, destination_text)};

    if (outbox->table.park != NULL && batch->parked && !outbox->leaves_rows &&
        queue(outbox, "park_copied", 6, params, error) < 0)
        return -1;
    return queue(outbox, batch->parked ? "park_parked" : "park", 6, params, error);
}

static int queue_notes(struct outbox *outbox, struct batch *batch, struct rows rows,
                       struct error *error)
{
    uint32_t count = htobe32((uint32_t)rows.count);
    const struct array params[8] = {batch->refused ? numbers_array(batch, rows, ARRAY_INT8, note_of)
                                                   : rows_array(batch, rows),
                                    {.bytes = (char *)&count, .len = sizeof count},
                                    texts_array(batch, rows, reason_text),
                                    numbers_array(batch, rows, ARRAY_INT4, attempts_of),
                                    numbers_array(batch, rows, ARRAY_INT8, retry_of),
                                    texts_array(batch, rows, left_to_do),
                                    texts_array(batch, rows, id_text),
                                    numbers_array(batch, rows, ARRAY_INT8, xmin_of)};

    return queue(outbox, batch->refused ? "renote" : "note", batch->refused ? 7 : 8, params, error);
}

static int queue_end_notes(struct outbox *outbox, struct batch *batch, struct rows rows,
                           struct error *error)
{
    const struct array params[1] = {numbers_array(batch, rows, ARRAY_INT8, note_of)};

    return queue(outbox, "end_notes", 1, params, error);
}

int settling_queue(struct outbox *outbox, struct batch *batch, enum settling settling,
                   struct rows rows, struct error *error)
{
    switch (settling) {
    case SETTLING_SENT:
    case SETTLING_TRIAL:
        return queue_sent(outbox, batch, rows, error);
    case SETTLING_PARK:
        return queue_park(outbox, batch, rows, error);
    case SETTLING_NOTE:
        return queue_notes(outbox, batch, rows, error);
    case SETTLING_END_NOTES:
        break;
    }
    return queue_end_notes(outbox, batch, rows, error);
}

/* The count checks raise their errors by failing casts; this replaces the text of such an error. */
static void explain_count(const struct outbox *outbox, struct error *error)
{
    const char *settled = strstr(error->words, "settled ");
    long long rows, wanted;
    char counted[64];

    if (settled == NULL || !error_is_sqlstate(error, "22P02"))
        return;
    if (sscanf(settled, "settled %lld rows instead of %lld", &rows, &wanted) == 2)
        (void)snprintf(counted, sizeof counted, "settled %lld rows instead of %lld", rows, wanted);
    else if (sscanf(settled, "settled rows of which %lld are unsent", &rows) == 1)
        (void)snprintf(counted, sizeof counted, "settled rows of which %lld are unsent again",
                       rows);
    else
        return;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "database: %s: a trigger or a rule on table %s interferes%s", counted,
                    outbox->table.quoted,
                    outbox->table.mark != NULL || outbox->table.park != NULL
                        ? ", or [outbox] mark or park leaves rows within where"
                        : "");
}

/* A row whose trigger takes too long must not hold up its neighbours for long. The session's own
 * time limit is back before COMMIT, which may wait for a standby. */
int settling_begin(struct outbox *outbox, struct error *error)
{
    return queue_plain(outbox, "savepoint", error) < 0 ? -1 : queue_plain(outbox, "hurry", error);
}

int settling_end(struct outbox *outbox, bool is_trial, struct error *error)
{
    struct error other;
    enum failure failure;
    int done;

    if (queue_plain(outbox, "constraints", error) < 0 ||
        queue_plain(outbox, "take_time", error) < 0 ||
        (is_trial && queue_plain(outbox, "rollback_to", error) < 0) ||
        queue_plain(outbox, "release", error) < 0 || session_sync(&outbox->session, error) < 0)
        return -1;
    done = session_finish(&outbox->session, error);
    if (done != 0)
        return done;
    explain_count(outbox, error);
    failure = outbox->session.failure;
    if (queue_plain(outbox, "rollback_to", &other) < 0 ||
        queue_plain(outbox, "release", &other) < 0 || session_sync(&outbox->session, &other) < 0 ||
        (done = session_finish(&outbox->session, &other)) <= 0) {
        *error = other;
        return session_abort(&outbox->session);
    }
    outbox->session.failure = failure;
    return 0;
}

int settling_try(struct outbox *outbox, struct batch *batch, enum settling settling,
                 struct rows rows, struct error *error)
{
    if (settling_begin(outbox, error) < 0 ||
        settling_queue(outbox, batch, settling, rows, error) < 0)
        return -1;
    return settling_end(outbox, settling == SETTLING_TRIAL, error);
}

/* The same for parked rows, leaving alone the rows of the outbox of which they are copies, for
 * which PostgreSQL has refused it with *error. */
static int try_copies(struct outbox *outbox, struct batch *batch, enum settling settling,
                      struct rows rows, struct error *error)
{
    struct error why = *error;
    int done;

    outbox->leaves_rows = true;
    done = settling_try(outbox, batch, settling, rows, error);
    outbox->leaves_rows = false;
    for (int i = 0; done > 0 && settling != SETTLING_TRIAL && i < rows.count; i++)
        log_event(LOG_WARN, LOG_FIELDS(.row = rows.messages[i]->id, .error = why.text),
                  "PostgreSQL refuses to change this row of %s: only its copy in %s is %s",
                  outbox->table.quoted, outbox->table.parked_quoted,
                  settling == SETTLING_SENT ? "settled" : "changed");
    return done;
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

static bool is_to_be_published(const struct batch *batch, const struct message *message)
{
    (void)batch;
    return message->verdict == VERDICT_PENDING && !message->blocked;
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
    if (queue_plain(outbox, "begin", error) == 0)
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
    if (rows_choose(&rows, batch, is_to_be_published, error) < 0)
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
    return queue_plain(outbox, is_open ? "back_to_slices" : "begin", error);
}

int refused_settle(struct outbox *outbox, struct batch *batch, struct error *error)
{
    struct rows rows;
    struct error other;
    int noted;

    explain_count(outbox, error);
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
    noted = settling_try(outbox, batch, SETTLING_NOTE, rows, error);
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
