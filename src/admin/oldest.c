#include "admin/oldest.h"

#include "catalog/sql_text.h"

#include <inttypes.h>

/* " AND the row belongs to relay_slice", from the lowest id that can be unsent. With a range in
 * place of an equation, only the claim's index has the rows in the order of slices and ids. */
static void put_in_slice(const struct admin *admin, FILE *out)
{
    const struct table *table = &admin->table;
    int slices = admin->options->slices;

    (void)fprintf(out, " AND (");
    sql_put_slice(out, table, slices, false);
    if (admin->unsent_from != INT64_MIN)
        (void)fprintf(out, ", %s) >= (relay_slice, %" PRId64 "::bigint) AND ",
                      table->columns[COLUMN_ID].quoted, admin->unsent_from);
    else
        (void)fprintf(out, ") >= relay_slice AND ");
    sql_put_slice(out, table, slices, false);
    (void)fprintf(out, " < relay_slice + 1");
}

static void put_from(const struct admin *admin, FILE *out)
{
    const struct table *table = &admin->table;

    if (admin->options->order != ORDER_KEY && admin->unsent_from != INT64_MIN)
        (void)fprintf(out, " AND %s >= %" PRId64 "::bigint", table->columns[COLUMN_ID].quoted,
                      admin->unsent_from);
}

/* With order = "key" the index is by slice and id, so it is `limit` of each slice. */
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
    sql_put_claimable(out, table);
    if (by_slice)
        put_in_slice(admin, out);
    put_from(admin, out);
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

/* From the lowest id on, one short scan of the index for each slice is cheaper than a scan of all
 * of it. The limit of each scan keeps the planner from joining them into one. */
void oldest_put_unsent_sql(const struct admin *admin, FILE *out, int limit)
{
    if (admin->options->order == ORDER_KEY && admin->unsent_from != INT64_MIN &&
        oldest_can_be_found(admin)) {
        oldest_put_sql(admin, out, limit);
    } else {
        (void)fprintf(out, " FROM (SELECT * FROM %s WHERE true", admin->table.quoted);
        sql_put_claimable(out, &admin->table);
        put_from(admin, out);
        (void)fprintf(out, ") unsent");
    }
    (void)fprintf(out, " LIMIT %d", limit);
}
