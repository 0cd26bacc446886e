#include "outbox/unreadable.h"

#include "outbox/claim_queue.h"
#include "outbox/slices/slice_lock.h"
#include "pg/wire.h"

#include <endian.h>
#include <string.h>

/* Returns 1 when the message has the row's ctid and id, 0 when no row is due, -1 when the session
 * is closed. */
static int lock_first_row(struct outbox *outbox, struct batch *batch,
                          const struct claim_request *request, struct error *error)
{
    PGresult *result;
    int found;

    outbox->slices.turns.width = 1;
    slice_lock_read_horizon(&outbox->slices, request);
    if (claim_queue_transaction(outbox, batch, request, error) < 0 ||
        claim_queue_first_row(outbox, batch, request, error) < 0 ||
        session_sync(&outbox->session, error) < 0)
        return -1;
    outbox->session.in_transaction = true;
    if (session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0 ||
        session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0 ||
        slice_lock_read(&outbox->slices, request, error) < 0 ||
        (request->refused && session_skip(&outbox->session, PGRES_TUPLES_OK, error) < 0) ||
        session_skip(&outbox->session, PGRES_COMMAND_OK, error) < 0)
        return -1;
    outbox->slices.locked_count = 0; /* this claim must not report anything about a slice */
    result = session_expect(&outbox->session, PGRES_TUPLES_OK, error);
    if (result == NULL)
        return -1;
    found = PQntuples(result) > 0;
    if (found) {
        struct message *message = batch_add(batch);

        memcpy(message->row, PQgetvalue(result, 0, 0), sizeof message->row);
        message->id =
            batch_copy(batch, PQgetvalue(result, 0, 1), (size_t)PQgetlength(result, 0, 1));
        message->unreadable = true;
        if (request->refused) {
            message->note = wire_int8(PQgetvalue(result, 0, 2));
            message->is_sent = PQgetvalue(result, 0, 3)[0] != 0;
        }
    }
    PQclear(result);
    return session_skip(&outbox->session, PGRES_PIPELINE_SYNC, error) < 0 ? -1 : found;
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
