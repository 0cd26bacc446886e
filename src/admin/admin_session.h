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

/* A statement of admin/sql/ or admin/status/sql/ as it is sent; free() it. NULL: no memory. */
char *admin_sql(const struct admin *admin, const char *statement);
/* Renders such a statement and runs it (session_query). */
PGresult *admin_query(struct admin *admin, const char *statement, int param_count,
                      const char *const *params, struct error *error);
/* The same for a statement whose first value is a number; -1 with *error set. */
int64_t admin_number(struct admin *admin, const char *statement, int param_count,
                     const char *const *params, struct error *error);

#endif
