#ifndef ADMIN_REPLAY_H
#define ADMIN_REPLAY_H

#include "admin/admin.h"

/*
 * Sending rows again that have been sent. Each one is copied into the parked table, due at once,
 * and leaves from there as a row that is tried again does; the sent row stays as it is. A copy has
 * a negative seq, by which relays know it: its message has the header replayed_at, and an id of its
 * own for the broker.
 *
 * With order = "key" the copies of a key leave in the order of their ids, before its rows that have
 * not been sent yet.
 */

struct replay_request {
    const char *const *ids; /* row ids or event_ids; when one is not found, nothing is done */
    int id_count;
    const char *topic; /* exact, or a pattern with the tokens * and > as in routes; NULL: any */
    const char *since; /* sent since then: a duration back from now, or a timestamp; NULL: ever */
};

struct replay;

/* Rows that are sent from now on are left out. The request's strings outlive it. NULL with *error
 * set. */
struct replay *admin_replay_open(struct admin *admin, const struct replay_request *request,
                                 struct error *error);
void admin_replay_close(struct replay *replay);

/* Called for each of the first rows that would be copied; the texts are valid during the call. */
struct replay_rows {
    void (*on_row)(void *closure, const char *id, const char *sent_at, const char *topic);
    void *closure;
};

/* How many rows there are to copy, or -1. `rows` may be NULL. */
int64_t admin_replay_count(struct replay *replay, const struct replay_rows *rows,
                           struct error *error);

/* Copies at most so many rows, in the order of their ids, in a transaction of their own. Returns
 * how many, which may be 0 with more to come, or -1. */
int admin_replay_step(struct replay *replay, int limit, struct error *error);
bool admin_replay_is_done(const struct replay *replay);
/* Of the last row that was copied; "" before the first one. */
const char *admin_replay_last_id(const struct replay *replay);

#endif
