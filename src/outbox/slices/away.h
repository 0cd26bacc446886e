#ifndef OUTBOX_SLICES_AWAY_H
#define OUTBOX_SLICES_AWAY_H

#include "outbox/slices/slice_lock.h"

/*
 * Claims while a sink is away, that is, while its broker is unreachable. The sink's rows pile up,
 * and a claim for the other sinks that started at the first unsent row would evaluate the routes of
 * all of them. So the lane keeps separate lower bounds for the rows that it may claim
 * (slice_lock.away_horizon), and finds these bounds by its own scans.
 *
 * Without slices a scan covers a window of rows, and the claim after it reads no further. When a
 * window has no more rows to claim, the next one begins after it, up to the end of the table. Then
 * the lane returns to the bound, to find rows that were committed late.
 */

/* To be called before a claim: scans when a scan is due and no claim is in flight. Returns 0, or -1
 * with *error set. */
int away_scan(struct slice_lock *lock, const struct claim_request *request, struct error *error);
/* Whether some slices have not been scanned yet. Then the lane must not claim: the claim would read
 * all rows of the sinks that are away. */
bool away_is_starting(const struct slice_lock *lock, const struct claim_request *request);
/* To be called after a claim that found nothing: moves to the next window, if there is one. */
bool away_next_window(struct slice_lock *lock, const struct claim_request *request);
/* Whether the claim that would be sent with a settle has to wait for a scan. */
bool away_scan_is_due(const struct slice_lock *lock, const struct claim_request *request);

#endif
