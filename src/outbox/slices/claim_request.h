#ifndef OUTBOX_SLICES_CLAIM_REQUEST_H
#define OUTBOX_SLICES_CLAIM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

/* What a claim looks for. */
struct claim_request {
    bool parked;         /* the parked rows that are due, instead of the outbox */
    int64_t payload_max; /* rows larger than this come without their payload */
    uint64_t away;       /* a bit for each sink that takes nothing now: its rows are left */
};

#endif
