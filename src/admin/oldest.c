#include "admin/oldest.h"

#include "catalog/sql_text.h"

/* With order = "key" the index is by slice and id, so it is `limit` of each slice; a range in the
 * place of an equation leaves that index as the only one in the order that is asked for. */
void oldest_put_sql(const struct admin *admin, FILE *out, int limit)
{
    const struct table *table = &admin->table;
    const struct outbox_options *options = admin->options;
    const char *id = table->columns[COLUMN_ID].quoted;
    bool by_slice = options->order == ORDER_KEY;

    if (by_slice)
        (void)fprintf(out,
                      " FROM pg_catalog.generate_series(0, %d) relay_slices (relay_slice),"
                      " LATERAL",
                      options->slices - 1);
    else
        (void)fprintf(out, " FROM");
    (void)fprintf(out, " (SELECT * FROM %s WHERE true", table->quoted);
    sql_put_unsent(out, table);
    if (by_slice) {
        (void)fprintf(out, " AND ");
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, " >= relay_slice AND ");
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, " < relay_slice + 1");
    }
    (void)fprintf(out, " ORDER BY ");
    if (by_slice) {
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, ", ");
    }
    (void)fprintf(out, "%s LIMIT %d) oldest", id, limit);
}

bool oldest_can_be_found(const struct admin *admin)
{
    return admin->options->order != ORDER_KEY || admin->table.has_claim_index;
}
