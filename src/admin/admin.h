#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "base/error.h"
#include "base/finding.h"
#include "catalog/options.h"
#include "message/batch.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What the commands ask of the database: a connection of their own, away from the hot path. */

struct admin;

/* Connects and describes the table (which need not exist). NULL with *error set. */
struct admin *admin_open(const struct outbox_options *options, struct error *error);
void admin_close(struct admin *admin);

/* Creates what is missing, once an existing outbox fits. 0; -1: failed, or an existing table lacks
 * something: `missing` (if not NULL after the call; free() it) is the SQL that adds it. */
int admin_init(struct admin *admin, char **missing, struct error *error);
/* Whether `run` would begin with the rows that the table holds (adoption.h); it must be whole. Only
 * reads. 0: it would. 1: it would not, and *error says why. -1: that cannot be said. */
int admin_foresee_adoption(struct admin *admin, struct error *error);
/* Settles it, as `run` does. 0, or -1: no row may be purged. */
int admin_settle_adoption(struct admin *admin, struct error *error);
/* The SQL of a complete set-up. NULL with *error set. free() it. */
char *admin_schema_sql(struct admin *admin, struct error *error);
/* Adds the trigger that lets inserts wake idle relays, or its SQL. 0 or -1; NULL: no memory. */
int admin_init_notify(struct admin *admin, struct error *error);
char *admin_notify_sql(struct admin *admin);
/* The grants that a role needs. NULL with *error set. free() it. */
char *admin_grant_sql(struct admin *admin, const char *role, struct error *error);

/* Adds an error for each column of the outbox that is missing or has a type that will not do. */
void admin_inspect_columns(struct admin *admin, struct findings *findings);
/* Every problem of the table, the role and the server. Returns 0, or -1 when the look-up failed. */
int admin_inspect(struct admin *admin, struct findings *findings, struct error *error);

/* One unsent row of each topic among the oldest 1,000 (of all slices in equal parts), for `check`:
 * topic, key, type and ids, in the batch's memory, as many as it has room for. 0 or -1. */
int admin_sample(struct admin *admin, struct batch *batch, struct error *error);

struct event {
    const char *topic;
    const char *key;  /* NULL: none */
    const char *type; /* NULL: none */
    const char *payload;
    size_t payload_len; /* payload == NULL: a tombstone */
};

int admin_begin(struct admin *admin, struct error *error);
int admin_commit(struct admin *admin, struct error *error);
/* Called for each event that was inserted, unless this role may not read the columns. The ids are
 * valid during the call. */
struct emitted_ids {
    void (*on_event)(void *closure, const char *id, const char *event_id);
    void *closure;
};

int admin_emit(struct admin *admin, const struct event *event, const struct emitted_ids *ids,
               struct error *error);
/* One JSON object: topic, and optionally key, type, payload, headers. */
int admin_emit_json(struct admin *admin, const char *json, const struct emitted_ids *ids,
                    struct error *error);

/* Deletes sent rows older than this in batches, once it is settled whose they are; or only counts
 * them. Returns their number, or -1. */
int64_t admin_purge(struct admin *admin, int64_t age_ms, bool dry_run, struct error *error);

/* One purge batch for the running relay; *purged is 0 when nothing old enough was at the front. */
int admin_purge_batch(struct admin *admin, int64_t age_ms, int64_t *purged, struct error *error);

/* Parked rows that wait for a destination, and whose probe was dropped, get another. 0 or -1. */
int admin_adopt_waiting(struct admin *admin, struct error *error);

#endif
