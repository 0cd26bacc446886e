#ifndef CATALOG_SCHEMA_H
#define CATALOG_SCHEMA_H

#include "catalog/table.h"

/* config/schema.sql, embedded at build time. */
extern const char schema_sql_text[];

/* What server.c tells clusters apart by, as a regprocedure literal. */
#define IDENTITY_FUNCTION "'pg_catalog.pg_control_system()'"

/* pg_advisory_xact_lock's: whoever makes the relay's tables, or notes whose the rows are, goes one
 * after another. */
#define SCHEMA_LOCK "7246113, 1"

/* The column's type in the table, or the one that `init` gives it. */
const char *schema_type(const struct table *table, enum column column);

/* What the index that finds the parked rows of a key is over: hash and seq. NULL: there is none,
 * because the outbox has no key, or one that no index can be over. */
const char *parked_key_columns(const struct table *table);

/* Fills in the types of a table that does not exist, as `init` would make it. */
void schema_foresee(struct table *table, const struct outbox_options *options);
/* The section that makes the claim's index. NULL: with "delete" the primary key serves. */
const char *schema_index_section(const struct outbox_options *options);

/* Sections of the file, up to a NULL, filled in. NULL, here and below: no memory. free() it. */
char *schema_sections_sql(const struct table *table, const struct outbox_options *options,
                          const char *const *sections);
/* A complete set-up. */
char *schema_complete_sql(const struct table *table, const struct outbox_options *options);

struct schema_grant {
    const char *role;     /* quoted */
    const char *sequence; /* of the ids, quoted; "": there is none */
    bool identifies;      /* the role may already ask which cluster this is */
};

/* What the role needs. */
char *schema_grant_sql(const struct table *table, const struct outbox_options *options,
                       const struct schema_grant *grant);

/* CREATE INDEX CONCURRENTLY for the claim. */
char *schema_index_sql(const struct table *table, const struct outbox_options *options);
/* The same on one line, for whoever copies a line; "" without memory. */
void schema_index_fix(const struct table *table, const struct outbox_options *options, char *fix,
                      size_t size);
/* One transaction that gives the slice table another number of rows. */
char *schema_slices_sql(const struct table *table, const struct outbox_options *options);

#endif
