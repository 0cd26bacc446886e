#ifndef OUTBOX_SLICES_CLAIM_REQUEST_H
#define OUTBOX_SLICES_CLAIM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* Which rows a claim asks for. */
struct claim_request {
    bool parked;         /* claim parked rows that are due, not rows of the outbox */
    int64_t payload_max; /* bytes; a larger payload is not fetched */
    uint64_t away;       /* a bit for each sink that is away: its rows are not claimed */
};

#endif
