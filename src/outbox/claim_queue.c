#include "outbox/claim_queue.h"

#include "base/clock.h"
#include "outbox/slices/batch_array.h"

#include <endian.h>
#include <stdio.h>

static enum claim_kind kind_of(const struct claim_request *request)
{
    if (request->parked)
        return CLAIM_PARKED;
    return request->refused ? CLAIM_REFUSED : CLAIM_OUTBOX;
}

/* Queues the claim or the search for its first row; both take the same parameters. */
static int queue_rows(struct outbox *outbox, struct batch *batch,
                      const struct claim_request *request, const char *name, struct error *error)
{
    bool bounded = kind_of(request) == CLAIM_OUTBOX && outbox->options->order == ORDER_NONE &&
                   table_has_integer_ids(&outbox->table);
    uint64_t away = htobe64(request->away);
    uint64_t payload_max = htobe64((uint64_t)request->payload_max);
    uint64_t low = htobe64((uint64_t)outbox->slices.view.bounds[0].low);
    uint64_t high = htobe64((uint64_t)outbox->slices.view.bounds[0].high);
    uint64_t file = htobe64(outbox->slices.view.file);
    uint64_t end = htobe64((uint64_t)outbox->slices.walk.end);
    struct array params[7] = {{.bytes = (char *)&away, .len = sizeof away},
                              {.bytes = (char *)&payload_max, .len = sizeof payload_max},
                              {.bytes = (char *)&low, .len = sizeof low},
                              {.bytes = (char *)&high, .len = sizeof high},
                              [5] = {.bytes = (char *)&file, .len = sizeof file},
                              [6] = {.bytes = (char *)&end, .len = sizeof end}};

    if (bounded && batch_array_of_xid8(&params[4], batch, outbox->slices.view.holders,
                                       outbox->slices.view.holder_count) < 0)
        return error_no_memory(error);
    return session_queue(&outbox->session, name, bounded ? 7 : 2, params, true, error);
}

int claim_queue_transaction(struct outbox *outbox, struct batch *batch,
                            const struct claim_request *request, struct error *error)
{
    outbox->sent_at_ms = clock_boot_ms();
    outbox->slices.ignores_bounds = false;
    if (session_queue(&outbox->session, "begin", 0, NULL, false, error) < 0 ||
        session_queue(&outbox->session, "lock", 0, NULL, false, error) < 0)
        return -1;
    if (slice_lock_queue(&outbox->slices, batch, request, error) < 0 ||
        (request->refused &&
         session_queue(&outbox->session, "end_notes_of_none", 0, NULL, false, error) < 0))
        return -1;
    return session_queue(&outbox->session, "keep_slices", 0, NULL, false, error);
}

int claim_queue_first_row(struct outbox *outbox, struct batch *batch,
                          const struct claim_request *request, struct error *error)
{
    static const char *const names[] = {[CLAIM_OUTBOX] = "first_row",
                                        [CLAIM_PARKED] = "first_parked_row",
                                        [CLAIM_REFUSED] = "first_refused_row"};

    return queue_rows(outbox, batch, request, names[kind_of(request)], error);
}

/* The statement that locks the slices comes first: it determines which bounds the claim uses. */
int claim_queue(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
                struct error *error)
{
    static const char *const names[] = {[CLAIM_OUTBOX] = "claim",
                                        [CLAIM_PARKED] = "claim_parked",
                                        [CLAIM_REFUSED] = "claim_refused"};
    char name[32];

    (void)snprintf(name, sizeof name, "%s_%d", names[kind_of(request)],
                   request->refused ? outbox->refused_level : outbox->level);
    if (claim_queue_transaction(outbox, batch, request, error) < 0 ||
        session_queue(&outbox->session, "hurry", 0, NULL, false, error) < 0)
        return -1;
    outbox->claims_carefully = clock_left_ms(outbox->careful_until_ms) > 0;
    if ((outbox->claims_carefully &&
         session_queue(&outbox->session, "careful", 0, NULL, false, error) < 0) ||
        queue_rows(outbox, batch, request, name, error) < 0)
        return -1;
    return session_queue(&outbox->session, "claimed", 0, NULL, true, error);
}
