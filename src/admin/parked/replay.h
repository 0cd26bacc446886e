#ifndef ADMIN_PARKED_REPLAY_H
#define ADMIN_PARKED_REPLAY_H

#include "admin/admin.h"

/*
 * Sends rows again that have been sent already. Each row is copied into the parked table, due at
 * once, and relays send the copy like any parked row; the original row is not changed. The copy has
 * replayed_at, which its message has as a header and as a part of its message id for the broker.
 *
 * With order = "key" the copies of a key are sent in the order of their ids, before rows of the key
 * that have not been sent yet.
 */

struct replay_request {
    const char *const *ids; /* row ids or event_ids; if one is not found, or names several
                               rows, nothing is done */
    int id_count;
    bool is_repair; /* the ids are row ids; those that are gone, or have a copy that is not sent
                       yet, are left out */
    const char *const *event_ids; /* for a repair, those of the same rows */
    const char *topic; /* exact, or a pattern with the tokens * and > as in routes; NULL: any */
    const char *since; /* earliest sent_at: a timestamp, or a duration before now; NULL: any */
};

struct replay;

/* Rows sent after this call are not included. The strings of the request must outlive the result.
 * NULL with *error set. */
struct replay *admin_replay_open(struct admin *admin, const struct replay_request *request,
                                 struct error *error);
void admin_replay_close(struct replay *replay);

/* Called for each of the first rows that would be copied; the texts are valid during the call. */
struct replay_rows {
    void (*on_row)(void *closure, const char *id, const char *sent_at, const char *topic);
    void *closure;
};

/* Returns how many rows there are to copy, or -1 with *error set. `rows` may be NULL. */
int64_t admin_replay_count(struct replay *replay, const struct replay_rows *rows,
                           struct error *error);

/* Copies at most `limit` rows in one transaction, in the order of their ids. Returns how many,
 * which may be 0 although there are more, or -1 with *error set. */
int admin_replay_step(struct replay *replay, int limit, struct error *error);
/* Call it after the last step: makes copies due that no relay would make due before the janitor's
 * next round. Waits for the claims that are open now. 0, or -1 with *error set. */
int admin_replay_finish(struct replay *replay, struct error *error);
bool admin_replay_is_done(const struct replay *replay);
/* The id of the last row that was copied; "" before the first one. */
const char *admin_replay_last_id(const struct replay *replay);

#endif
