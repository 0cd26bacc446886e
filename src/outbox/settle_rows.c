/*
 * The parameters of the statements that settle rows, and how they are run after a savepoint.
 */
#include "outbox/settle_rows.h"

#include "catalog/refused.h"
#include "outbox/slices/batch_array.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

/* ---- the parameters ---- */

const char *settling_reason(const struct message *message)
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
    return text_of(settling_reason(message));
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

bool settling_by_position(const struct outbox *outbox, const struct batch *batch)
{
    return outbox->options->on_sent == ON_SENT_POSITION && !batch->parked && !batch->refused;
}

bool settling_is_checked(const struct outbox *outbox, const struct batch *batch)
{
    return outbox->table.has_triggers && !batch->parked && !settling_by_position(outbox, batch);
}

/* Where parked rows stay in the outbox, a copy and its row are settled together. */
static int queue_sent(struct outbox *outbox, struct batch *batch, struct rows rows,
                      struct error *error)
{
    uint32_t count = htobe32((uint32_t)rows.count);
    const struct array params[3] = {rows_array(batch, rows),
                                    {.bytes = (char *)&count, .len = sizeof count},
                                    texts_array(batch, rows, id_text)};
    bool by_id = outbox->table.is_partitioned && !batch->parked;
    bool in_place = outbox->table.park != NULL;

    if (settling_by_position(outbox, batch))
        return 0;
    if (in_place && batch->parked && !outbox->leaves_rows &&
        queue(outbox, "sent_copied", 1, params, error) < 0)
        return -1;
    if (in_place && !batch->parked && queue(outbox, "end_copies", 1, params, error) < 0)
        return -1;
    if (queue(outbox, batch->parked ? "sent_parked" : "sent", by_id ? 3 : 2, params, error) < 0)
        return -1;
    return settling_is_checked(outbox, batch) ? queue_check(outbox, batch, rows, error) : 0;
}

static int queue_park(struct outbox *outbox, struct batch *batch, struct rows rows,
                      struct error *error)
{
    uint32_t count = htobe32((uint32_t)rows.count);
    bool by_id = outbox->options->on_sent == ON_SENT_POSITION && !batch->parked;
    const struct array params[7] = {rows_array(batch, rows),
                                    {.bytes = (char *)&count, .len = sizeof count},
                                    texts_array(batch, rows, reason_text),
                                    numbers_array(batch, rows, ARRAY_INT4, attempts_of),
                                    numbers_array(batch, rows, ARRAY_INT8, parked_wait_of),
                                    texts_array(batch, rows, destination_text),
                                    texts_array(batch, rows, id_text)};

    if (outbox->table.park != NULL && batch->parked && !outbox->leaves_rows &&
        queue(outbox, "park_copied", 6, params, error) < 0)
        return -1;
    return queue(outbox, batch->parked ? "park_parked" : "park", by_id ? 7 : 6, params, error);
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

static int queue_lock(struct outbox *outbox, struct batch *batch, struct rows rows,
                      struct error *error)
{
    const struct array params[2] = {rows_array(batch, rows), texts_array(batch, rows, id_text)};

    return queue(outbox, "lock_rows", 2, params, error);
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
    case SETTLING_NOTE_ALL:
        if (queue_lock(outbox, batch, rows, error) < 0)
            return -1;
        /* fall through */
    case SETTLING_NOTE:
        return queue_notes(outbox, batch, rows, error);
    case SETTLING_END_NOTES:
        break;
    }
    return queue_end_notes(outbox, batch, rows, error);
}

/* The errors are those of casts that fail, with the counts in their texts. */
void settling_explain_count(const struct outbox *outbox, struct error *error)
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
    settling_explain_count(outbox, error);
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
