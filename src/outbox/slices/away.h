#ifndef OUTBOX_SLICES_AWAY_H
#define OUTBOX_SLICES_AWAY_H

#include "outbox/slices/slice_lock.h"

/*
 * Claims while a sink is away. Its rows pile up, and a claim for the other sinks that began at the
 * front would walk over all of them, asking the routes of each. So the lane keeps bounds of the
 * rows that it may claim (slice_lock.away_horizon), and looks for these bounds by scans of its own.
 *
 * Without slices a scan looks at a window of rows, and the claim behind it looks no further. When a
 * window has no more, the next one begins behind it, until the end of the table; then the lane goes
 * back to the bound, where rows that are committed late turn up.
 */

/* Before a claim: scans when it is time, unless a claim is under way. 0, or -1. */
int away_scan(struct slice_lock *lock, const struct claim_request *request, struct error *error);
/* Some slices have not been scanned yet: no claim, which would walk over all that is left there. */
bool away_is_starting(const struct slice_lock *lock, const struct claim_request *request);
/* A claim has found nothing: whether there is another window. */
bool away_goes_on(struct slice_lock *lock, const struct claim_request *request);
/* Whether the claim behind a settle has to wait for a scan. */
bool away_scan_is_due(const struct slice_lock *lock, const struct claim_request *request);

#endif
