/*
 * The statements that alter existing tables, which `init` only prints, in an order in which they
 * can be run while relays are working.
 */
#include "admin/missing.h"

#include "catalog/parked_table.h"
#include "catalog/schema.h"
#include "catalog/slice_table.h"
#include "catalog/sql_text.h"

#include <stdio.h>

static void put_columns(const struct admin *admin, FILE *out)
{
    struct table nothing = {0};

    for (int i = 0; i < COLUMN_COUNT; i++) {
        const struct table_column *column = &admin->table.columns[i];
        const char *type = schema_type(&nothing, (enum column)i);

        if (!table_needs(admin->options, (enum column)i) ||
            table_has(&admin->table, (enum column)i))
            continue;
        if (i == COLUMN_SENT_AT)
            (void)fprintf(out,
                          "-- The existing rows then count as unsent and will be sent. Mark those"
                          " that must not be sent in the same transaction.\n");
        (void)fprintf(out, "ALTER TABLE %s ADD COLUMN %s %s%s%s;\n", admin->table.quoted,
                      column->quoted, sql_type_schema(type), type,
                      i == COLUMN_EVENT_ID ? " NOT NULL DEFAULT pg_catalog.gen_random_uuid()" : "");
    }
}

static int put_and_free(char *sql, FILE *out, struct error *error)
{
    if (sql == NULL)
        return error_no_memory(error);
    (void)fputs(sql, out);
    free(sql);
    return 0;
}

/* The table with its missing columns, one of which the index may contain. */
static struct table with_columns(const struct admin *admin)
{
    struct table table = admin->table;

    for (int i = 0; i < COLUMN_COUNT; i++)
        if (table_needs(admin->options, (enum column)i) && !table_has(&table, (enum column)i))
            (void)snprintf(table.columns[i].type, sizeof table.columns[i].type, "%s",
                           schema_type(&table, (enum column)i));
    return table;
}

static int put_index(struct admin *admin, FILE *out, struct error *error)
{
    const struct table table = with_columns(admin);

    if (table.has_claim_index)
        return 0;
    if (admin->options->order == ORDER_KEY &&
        slices_put_drops(out, SLICES_IN_THE_WAY, &admin->table, &admin->session, admin->options,
                         error) < 0)
        return -1;
    return put_and_free(schema_index_sql(&table, admin->options), out, error);
}

/* When the slice table changes, relays with the old number of slices stop, and only then can relays
 * with the new number start. So the new index is created before the change, and the old one is
 * dropped after it. */
static int put_slices(struct admin *admin, FILE *out, struct error *error)
{
    const struct table *table = &admin->table;
    bool differs = table->slices != admin->options->slices;

    if (!table->slice_exists)
        return 0;
    if (differs && put_and_free(schema_slices_sql(table, admin->options), out, error) < 0)
        return -1;
    if (table->has_claim_index && !differs)
        return 0;
    return slices_put_drops(out, SLICES_UNUSED, &admin->table, &admin->session, admin->options,
                            error);
}

static int put_parked(struct admin *admin, FILE *out, struct error *error)
{
    struct parked_table parked;
    char sql[1024];

    if (!admin->table.parked_exists)
        return 0;
    if (parked_describe(&parked, &admin->table, &admin->session, error) < 0)
        return -1;
    for (int i = 0; i < PARKED_COLUMN_COUNT; i++) {
        const struct parked_column *column = &parked.columns[i];

        if (column->has_type[0] == '\0')
            (void)parked_column_sql(column, &admin->table, sql, sizeof sql);
        else if (parked_column_differs(column))
            (void)parked_type_sql(column, &admin->table, sql, sizeof sql);
        else
            continue;
        (void)fprintf(out, "%s\n", sql);
    }
    for (int i = 0; i < parked.index_count; i++) {
        if (parked.indexes[i].exists)
            continue;
        (void)parked_index_sql(&parked.indexes[i], &admin->table, sql, sizeof sql);
        (void)fprintf(out, "%s\n", sql);
    }
    return 0;
}

static int put_all(struct admin *admin, FILE *out, struct error *error)
{
    put_columns(admin, out);
    if (put_index(admin, out, error) < 0 ||
        (admin->options->order == ORDER_KEY && put_slices(admin, out, error) < 0))
        return -1;
    return put_parked(admin, out, error);
}

int missing_sql(struct admin *admin, char **sql, struct error *error)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    if (put_all(admin, writer.out, error) < 0) {
        free(writer_end(&writer));
        return -1;
    }
    *sql = writer_end(&writer);
    return *sql != NULL ? 0 : error_no_memory(error);
}
