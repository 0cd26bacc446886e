/*
 * Slices: the hash of a key decides which slice row a lane must lock before it claims the key's
 * rows.
 */
#include "outbox/sql_text.h"

#include <string.h>

static const char *name_of(const struct table *table, enum column column, bool parked)
{
    return parked ? column_name(column) : table->columns[column].quoted;
}

/* hashtext() has been the same since PostgreSQL 8.4: hash partitions and hash indexes rest on it.
 */
void sql_put_slice(FILE *out, const struct table *table, int slices, bool parked)
{
    const char *id = name_of(table, COLUMN_ID, parked);
    const char *key = name_of(table, COLUMN_KEY, parked);

    (void)fprintf(out, "((pg_catalog.hashtext(");
    if (!table_has(table, COLUMN_KEY))
        (void)fprintf(out, "%s::text", id);
    else if (strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0)
        (void)fprintf(out, "COALESCE(pg_catalog.encode(%s, 'hex'), %s::text)", key, id);
    else
        (void)fprintf(out, "COALESCE(%s::text, %s::text)", key, id);
    (void)fprintf(out, ") & 2147483647) %% %d)", slices);
}
