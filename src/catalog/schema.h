#ifndef CATALOG_SCHEMA_H
#define CATALOG_SCHEMA_H

#include "catalog/table.h"

/* The number of the schema, which `init` notes in a comment on the control table. It is raised when
 * relays that know only a lower number must not work on the tables. What an older relay can ignore,
 * such as another index, does not raise it: that is recognised by what the tables lack. A
 * constraint that allows more raises it, because an older `init` would put its own back. */
#define SCHEMA_NUMBER 2

/* The function by which server.c identifies the cluster, as a regprocedure literal. */
#define IDENTITY_FUNCTION "'pg_catalog.pg_control_system()'"

/* pg_advisory_xact_lock's: one `init` goes after another. */
#define SCHEMA_LOCK "7246113", "1"

/* The second keys of the locks that the order trigger takes: the bucket of the key, from
 * BUCKET_LOCK on, and the gate. The first key is the table's oid. With four times the buckets,
 * transactions of several keys deadlock a sixteenth as often; but a transaction of many keys may
 * take a lock for each, and all sessions of a server share room for about 6,400
 * (max_locks_per_transaction). */
#define BUCKETS 1024
#define BUCKET_LOCK (7246115 * 256)
#define GATE_LOCK (BUCKET_LOCK + BUCKETS)

/* What parked_table.sql says with the names and types not filled in; free() it. NULL: no memory. */
char *schema_parked_text(const struct table *table);

/* Fills in the column types of a table that does not exist, as `init` would create it. */
void schema_foresee(struct table *table, const struct outbox_options *options);
/* Whether claims need an index besides the primary key. */
bool schema_needs_index(const struct outbox_options *options);

/* A statement of config/sql, filled in; `names`: of facts that are true, such as "makes_others".
 * Here and below: NULL when there is no memory; free() the result. */
char *schema_sql(const struct table *table, const struct outbox_options *options,
                 const char *statement, const char *names);
/* The SQL that creates everything; `ordered`: with the order trigger. */
char *schema_complete_sql(const struct table *table, const struct outbox_options *options,
                          bool ordered);
/* The SQL that adds the order trigger to a table that exists, up to the grants and COMMIT. `drawn`:
 * another sequence, quoted, from which the ids were drawn before; "": none. */
char *schema_order_sql(const struct table *table, const struct outbox_options *options,
                       const char *drawn);
#define ORDER_QUOTES "$order$" /* around the bodies of the order trigger's functions */
/* The body of the trigger's function, and its settings as pg_proc has them; NULL: none. */
char *schema_order_body(const struct table *table, const struct outbox_options *options);
const char *schema_order_config(const struct table *table);

/* The SQL that adds a partition for the ids from `from` on, below `to`; others have so many of its
 * names. */
char *schema_partition_sql(const struct table *table, const struct outbox_options *options,
                           int64_t from, int64_t to, int taken);
#define PARTITIONS_AHEAD 3 /* that are empty */

struct schema_grant {
    const char *role;     /* quoted */
    const char *sequence; /* the sequence of the ids, quoted; "": none */
    const char *database; /* quoted, when the role lacks TEMPORARY on it; otherwise NULL */
    bool identifies;      /* the role may already call IDENTITY_FUNCTION */
};

/* Whether relays delete rows of the outbox. */
bool schema_needs_delete(const struct table *table, const struct outbox_options *options);

/* The GRANT statements for the role. */
char *schema_grant_sql(const struct table *table, const struct outbox_options *options,
                       const struct schema_grant *grant);

/* CREATE INDEX CONCURRENTLY for the claim index. */
char *schema_index_sql(const struct table *table, const struct outbox_options *options);
/* The same on one line, so that it can be copied from a message; "" when there is no memory. */
void schema_index_fix(const struct table *table, const struct outbox_options *options, char *fix,
                      size_t size);

#endif
