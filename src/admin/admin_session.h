#ifndef ADMIN_ADMIN_SESSION_H
#define ADMIN_ADMIN_SESSION_H

#include "admin/admin.h"
#include "catalog/inspect.h"
#include "catalog/memory.h"

/* Shared by the files that implement admin.h; no other file includes this header. */

struct admin {
    const struct outbox_options *options;
    struct session session;
    struct table table;
    bool returns_ids;       /* of the events that are emitted */
    bool is_ordering;       /* `init` makes a new outbox with the order trigger */
    int64_t partition_rows; /* `init` makes a new outbox with partitions of so many ids; 0: none */
    int64_t unsent_from;    /* no unsent row has a lower id; INT64_MIN: not known */
    const char *partition;  /* of which statements are about; NULL: none */
};

/* A statement of admin/sql/ or admin/status/sql/ as it is sent; free() it. NULL: no memory. */
char *admin_sql(const struct admin *admin, const char *statement);
/* Runs SQL that it frees (NULL: no memory), with text parameters and a text result; PQclear() it.
 * NULL with *error set. */
PGresult *admin_query_sql(struct admin *admin, char *sql, int param_count,
                          const char *const *params, struct error *error);
/* Renders such a statement and runs it (session_query). */
PGresult *admin_query(struct admin *admin, const char *statement, int param_count,
                      const char *const *params, struct error *error);
/* The same for a statement whose first value is a number; -1 with *error set. */
int64_t admin_number(struct admin *admin, const char *statement, int param_count,
                     const char *const *params, struct error *error);
/* Renders such a statement and runs it (session_execute). */
int admin_execute(struct admin *admin, const char *statement, struct error *error);

/* 0, or -1 with *error set when `emit` has no columns for the values of an event. */
int admin_check_emit(const struct table *table, struct error *error);

/* ---- the parts of check; each adds findings, and returns 0, or -1 when a look-up failed ---- */

/* What the sections go by (catalog/inspect.h). */
struct inspection admin_inspection(struct admin *admin);

/* Drops the partitions whose rows were sent this many ms ago, or empties them while transactions
 * hold the outbox, until `is_over` says true. Returns 0, or -1 with *error set. */
int admin_drop_partitions(struct admin *admin, const char *age,
                          bool (*is_over)(const void *closure), const void *closure,
                          struct purge *purge, struct error *error);
/* Makes partitions ahead of the ids, where `init --partitions` has made the outbox. 0, or -1. */
int admin_make_partitions(struct admin *admin, struct upkeep *upkeep, struct error *error);

/* ---- init ---- */

/* Both make SQL that adds what the existing tables lack, one statement per line. *sql is "" when
 * nothing is missing; the caller frees it. 0 or -1. The first is what `init` adds by itself, in its
 * transaction; the second the rest, to be run outside a transaction block. */
int missing_at_once_sql(struct admin *admin, char **sql, struct error *error);
int missing_sql(struct admin *admin, char **sql, struct error *error);
/* What `put` writes, as *sql, which the caller frees. 0, or -1 with *error set and *sql as it was.
 */
int admin_write_sql(struct admin *admin,
                    int (*put)(struct admin *admin, FILE *out, struct error *error), char **sql,
                    struct error *error);

/* 0, or -1 with *error set when no order trigger can keep the order of the outbox. */
int admin_check_order(struct admin *admin, struct error *error);
/* The transaction that adds the order trigger to an outbox that exists. 0, or -1 with *error set,
 * also when no such trigger can keep its order. */
int admin_put_order(struct admin *admin, FILE *out, struct error *error);

/* Raises the age at which rows may be purged while a loss may need them. 0, or -1 with *error set.
 */
int admin_raise_age(struct admin *admin, int64_t *age_ms, struct error *error);

#endif
