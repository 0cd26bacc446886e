#ifndef SOURCE_CLAIM_REQUEST_H
#define SOURCE_CLAIM_REQUEST_H

#include "message/declined.h"

#include <stdbool.h>
#include <stdint.h>

/* Which rows a claim asks for. */
struct claim_request {
    bool parked;         /* claim parked rows that are due, not rows of the outbox */
    bool refused;        /* claim rows of the outbox that the database refused to settle */
    int64_t payload_max; /* bytes; a larger payload is not fetched */
    uint64_t away;       /* a bit for each sink that is away: its rows are not claimed */
    const struct declined *declined; /* parked rows that wait for one of these are not claimed;
                                        NULL: there are none */
};

static inline bool claim_is_of_outbox(const struct claim_request *request)
{
    return !request->parked && !request->refused;
}

/* Whether the claim computes the topics of rows, to leave out those of sinks that are away. */
static inline bool claim_computes_topics(const struct claim_request *request)
{
    return request->away != 0 && claim_is_of_outbox(request);
}

#endif
