#ifndef ADMIN_PARKED_PAUSE_H
#define ADMIN_PARKED_PAUSE_H

#include "admin/admin.h"

/*
 * Pauses of a sink, of the topics that match a pattern, or of a key. source/pauses.h says how they
 * are stored. Relays read them with each claim, so a pause holds for every claim that begins
 * after it was committed. Batches claimed before that may still be on their way to the broker.
 */

/* Waits until every batch that is claimed now has been settled or abandoned, at most as long as a
 * claim can last. Returns how many are left, or -1 with *error set. */
int admin_wait_for_claims(struct admin *admin, struct error *error);

#endif
