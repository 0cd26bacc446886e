#include "outbox/unreadable.h"

#include "outbox/round.h"

#include <endian.h>
#include <string.h>

/* Returns 1 when the batch has a message with the row's ctid and id, 0 when no row is due, -1 when
 * the session is closed. */
static int lock_first_row(struct outbox *outbox, struct batch *batch,
                          const struct claim_request *request, struct error *error)
{
    slice_lock_narrow(outbox->slices);
    (void)slice_lock_read_horizon(outbox->slices, request);
    if (round_queue(outbox, batch, request, ROUND_FIRST_ROW, error) < 0 ||
        session_sync(&outbox->session, error) < 0 ||
        round_read(outbox, batch, request, ROUND_FIRST_ROW, error) != ROUND_READ)
        return -1;
    slice_lock_forget(outbox->slices);
    return batch->count;
}

/* Returns 1 when the row can be read; 0 when it cannot, with *error set and the transaction usable;
 * -1 when the session is closed. */
static int read_row(struct outbox *outbox, const struct batch *batch,
                    const struct claim_request *request, struct error *error)
{
    uint64_t no_sink = 0;
    uint64_t payload_max = htobe64((uint64_t)request->payload_max);
    const struct array params[3] = {
        {.bytes = (char *)&no_sink, .len = sizeof no_sink},
        {.bytes = (char *)&payload_max, .len = sizeof payload_max},
        {.bytes = (char *)batch->messages[0].row, .len = MESSAGE_ROW_BYTES}};
    struct error other;
    PGresult *result;

    if (session_queue(&outbox->session, "savepoint", 0, NULL, false, error) < 0 ||
        session_queue(&outbox->session, "hurry", 0, NULL, false, error) < 0 ||
        session_queue(&outbox->session, request->parked ? "read_parked_row" : "read_row", 3, params,
                      true, error) < 0 ||
        session_sync(&outbox->session, error) < 0 ||
        session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0 ||
        session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0)
        return -1;
    result = session_answer(&outbox->session, PGRES_TUPLES_OK, error);
    if (result == NULL && !failure_is_of_row(outbox->session.failure))
        return -1;
    if (session_skip(&outbox->session, PGRES_PIPELINE_SYNC, &other) < 0) {
        PQclear(result);
        *error = other;
        return -1;
    }
    if (result != NULL) {
        PQclear(result);
        return 1;
    }
    if (session_queue(&outbox->session, "rollback_to", 0, NULL, false, &other) == 0 &&
        session_sync(&outbox->session, &other) == 0 &&
        session_skip(&outbox->session, PGRES_COMMAND_OK, &other) == 0 &&
        session_skip(&outbox->session, PGRES_PIPELINE_SYNC, &other) == 0)
        return 0;
    *error = other;
    return -1;
}

int unreadable_claim(struct outbox *outbox, struct batch *batch,
                     const struct claim_request *request, struct error *error)
{
    int found = lock_first_row(outbox, batch, request, error);
    int readable;

    if (found < 0)
        return session_abort(&outbox->session);
    if (found == 0)
        return session_end_transaction(&outbox->session, false, error);
    readable = read_row(outbox, batch, request, error);
    if (readable < 0)
        return session_abort(&outbox->session);
    if (readable > 0) {
        batch->count = 0;
        return session_end_transaction(&outbox->session, false, error);
    }
    if (batch->messages[0].is_sent) /* to settle it, nothing of it need be read */
        batch->messages[0].verdict = VERDICT_SENT;
    else
        batch_refuse(batch, &batch->messages[0], VERDICT_REJECTED,
                     "PostgreSQL cannot read this row: %s", error->text);
    return 0;
}
