#ifndef OUTBOX_SLICES_AWAY_H
#define OUTBOX_SLICES_AWAY_H

#include "outbox/slices/slice_lock.h"

/*
 * Claims while a sink is away, that is, while its broker is unreachable. The sink's rows pile up.
 * A claim for the other sinks that started at the first unsent row would have to match the topic of
 * each piled-up row against the routes, only to skip the row. So the lane keeps separate lower
 * bounds for the rows that it may claim (slice_lock.away_horizon), and finds these bounds by its
 * own scans.
 *
 * With order = "none" a scan covers a window of rows, and the claim after it reads no further. When
 * a window has no more rows to claim, the next one begins after it, up to the end of the table.
 * Then the lane returns to the bound, to find rows that were committed late.
 */

/* To be called before a claim: scans if a scan is due and the claim has not been sent already.
 * Returns 0; 1 with *error set when the topic of a row cannot be computed; -1 with *error set. */
int away_scan(struct slice_lock *lock, const struct claim_request *request, struct error *error);
/* To be called when the topic of a row cannot be computed: finds the row, and sets its place and
 * its slice in `found`. Locks nothing. Returns 1 with *error set to what PostgreSQL says; 0: there
 * is no such row any more; -1 with *error set and the session closed. */
int away_find_row(struct slice_lock *lock, const struct claim_request *request,
                  struct message *found, struct error *error);
/* Whether some slices have not been scanned yet. Then the lane must not claim: the claim would read
 * all rows of the sinks that are away. */
bool away_is_starting(const struct slice_lock *lock, const struct claim_request *request);
/* To be called after a claim that found nothing: moves to the next window, if there is one. */
bool away_next_window(struct slice_lock *lock, const struct claim_request *request);
/* Whether a scan is due, so that the next claim must not be sent together with the settle. */
bool away_scan_is_due(const struct slice_lock *lock, const struct claim_request *request);

#endif
