#ifndef ADMIN_ADMIN_SESSION_H
#define ADMIN_ADMIN_SESSION_H

#include "admin/admin.h"
#include "catalog/table.h"

/* Shared by the files that implement admin.h; no other file includes this header. */

struct admin {
    const struct outbox_options *options;
    struct session session;
    struct table table;
    bool returns_ids;    /* of the events that are emitted */
    int64_t unsent_from; /* no unsent row has a lower id; INT64_MIN: not known */
};

/* The first value of a query as a number; -1 with *error set. */
int64_t admin_number(struct admin *admin, const char *sql, int param_count,
                     const char *const *params, struct error *error);

#endif
