#ifndef ADMIN_STATUS_GAUGES_H
#define ADMIN_STATUS_GAUGES_H

#include "admin/status/status.h"

/* What a running relay measures of its tables every few seconds, beside admin_status(). */

struct gauges {
    int64_t held_rows;   /* rows behind a dead row of their key, at most GAUGES_HELD_MAX */
    int64_t held_keys;   /* how many keys these rows have */
    int64_t dead_tuples; /* of the outbox table, by PostgreSQL's statistics */
    int64_t table_bytes; /* of the outbox table with its indexes */
    int64_t index_bytes;
    int64_t parked_bytes;  /* of the parked table with its indexes */
    int64_t xmin_age;      /* transactions since the oldest snapshot in use; 0: there is none */
    double xmin_for_s;     /* how long that is held; -1: this role may not see it */
    char xmin_kind[24];    /* "backend", "prepared transaction", "replication slot", "standby" */
    char xmin_holder[160]; /* who holds it: pid and application_name, or a name; "" */
};

#define GAUGES_HELD_MAX "10000" /* as a parameter of a statement */

/* admin_status_begin(), and no statement takes longer than 4 s. Returns 0, or -1 with *error set.
 */
int admin_gauges_begin(struct admin *admin, struct error *error);
/* Tells admin_status() and admin_gauges() that no unsent row has a lower id, so that they need not
 * read past sent rows that VACUUM cannot remove yet. INT64_MIN: not known. */
void admin_gauges_unsent_from(struct admin *admin, int64_t id);
/* Fills `gauges`. Returns 0, or -1 with *error set. */
int admin_gauges(struct admin *admin, struct status *status, struct gauges *gauges,
                 struct error *error);

#endif
