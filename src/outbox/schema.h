#ifndef OUTBOX_SCHEMA_H
#define OUTBOX_SCHEMA_H

#include "outbox/admin.h"
#include "outbox/table.h"

/* config/schema.sql, embedded at build time. */
extern const char schema_sql_text[];

/* What server.c tells clusters apart by, as a regprocedure literal. */
#define IDENTITY_FUNCTION "'pg_catalog.pg_control_system()'"

/* The column's type in the table, or the one that `init` gives it. */
const char *schema_type(const struct table *table, enum column column);

/* Sections of the file, up to a NULL, filled in. NULL: no memory. free() it. */
char *schema_sections_sql(const struct admin *admin, const char *const *sections);

/* CREATE INDEX CONCURRENTLY for the claim. NULL: no memory. free() it. */
char *schema_index_sql(const struct table *table, const struct outbox_options *options);
/* The same on one line, for whoever copies a line; "" without memory. */
void schema_index_fix(const struct table *table, const struct outbox_options *options, char *fix,
                      size_t size);
/* One transaction that gives the slice table another number of rows. The same. */
char *schema_slices_sql(const struct table *table, const struct outbox_options *options);

#endif
