#ifndef OUTBOX_SHARED_H
#define OUTBOX_SHARED_H

#include "outbox/bounds.h"
#include "outbox/server.h"

/*
 * What the lanes of one process tell each other of the slices: which have rows for sure, and below
 * which id nothing unsent is left. But for its opening and closing any lane may use it at any time.
 */

struct shared;

/* NULL: no memory. */
struct shared *shared_open(int slices);
void shared_close(struct shared *shared);

/* A flag for each slice: a hint, for bounds_use(). */
atomic_bool *shared_sure(struct shared *shared);

/* A lane has connected to this server: of what was told before nothing counts. */
void shared_join(struct shared *shared, const struct server *server);
/* Whether a bound that was told has passed this id. */
bool shared_has_passed(struct shared *shared, int slice, int64_t id);
/* A row was below a bound: for a minute nothing is told or learned. */
void shared_distrust(struct shared *shared, int64_t now_ms);

/* Raises the bounds to those told by lanes of the same server. The epoch in which a claim that is
 * asked for now is to be told of; 0: in none. */
uint32_t shared_learn(struct shared *shared, const struct server *server, struct bounds *bounds,
                      int64_t now_ms);
/* What a claim asked for in this epoch has settled: below `first` nothing unsent is left in the
 * slice, nor will be. */
void shared_tell(struct shared *shared, uint32_t epoch, int slice, int64_t first);

#endif
