/*
 * The statements that existing tables lack.
 *
 * `init` adds to the parked table by itself what needs no time: columns without values, and indexes
 * as long as the table is small. The table is the relays' own, so only relays wait for the lock.
 * Everything else `init` prints, in an order in which it can be run while relays are working.
 */
#include "admin/admin_session.h"

#include "catalog/columns.h"
#include "catalog/facts.h"
#include "catalog/parked_table.h"
#include "catalog/schema.h"
#include "catalog/slice_table.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <stdio.h>
#include <string.h>

/* Two meanings may have one column, as in the preset "debezium". */
static bool is_named_before(const struct table *table, int column)
{
    for (int i = 0; i < column; i++)
        if (strcmp(table->columns[i].name, table->columns[column].name) == 0)
            return true;
    return false;
}

static void put_columns(const struct admin *admin, FILE *out)
{
    static const char *const notes[COLUMN_COUNT] = {
        [COLUMN_ID] = "-- The table is written anew, and its rows get ids in the order in which"
                      " they lie there.\n",
        [COLUMN_TOPIC] = "-- Write the topic of its events instead of 'events'.\n",
        [COLUMN_PAYLOAD] = "-- A row that names no payload then has an empty object; NULL is a"
                           " tombstone.\n",
        [COLUMN_SENT_AT] = "-- The existing rows then count as unsent and will be sent. Mark those"
                           " that must not be sent in the same transaction.\n",
    };
    char sql[1024];

    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!table_needs(admin->options, (enum column)i) ||
            table_has(&admin->table, (enum column)i) || is_named_before(&admin->table, i) ||
            (i == COLUMN_ID && admin->table.numbered))
            continue;
        (void)columns_add_sql(&admin->table, (enum column)i, sql, sizeof sql);
        (void)fprintf(out, "%s%s\n", notes[i] != NULL ? notes[i] : "", sql);
    }
}

/* The column of the numbers, with the trigger that draws them. The index is for what looks for rows
 * that claims do not read. */
static int put_numbers(struct admin *admin, FILE *out, struct error *error)
{
    const struct table *table = &admin->table;
    const char *column = table->columns[COLUMN_ID].quoted;

    if (!table->numbered)
        return 0;
    if (table_has(table, COLUMN_ID))
        return admin_check_order(admin, error);
    if (admin_put_order(admin, out, error) < 0)
        return -1;
    if (outbox_keeps_sent(admin->options) || table->park != NULL)
        (void)fprintf(out,
                      "-- For audit, replay and parked rows:\n"
                      "CREATE INDEX CONCURRENTLY ON %s (%s) WHERE %s IS NOT NULL;\n",
                      table->quoted, column, column);
    return 0;
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
                           table_type(&table, (enum column)i));
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

/* Ends the positions, which are of a number of slices. The transaction stays open. */
static int put_leave(const struct admin *admin, FILE *out, struct error *error)
{
    struct outbox_options before = *admin->options;
    const struct table_facts tables = {&admin->table, &before};
    const struct sql_facts of_tables = table_facts(&tables);
    size_t len;
    char *sql;

    before.slices = admin->table.slices;
    sql = sql_render(statement_position_leave, &of_tables);
    if (sql == NULL)
        return error_no_memory(error);
    len = strlen(sql);
    while (len > 0 && strncmp(sql + len, "COMMIT", strlen("COMMIT")) != 0)
        len--;
    (void)fwrite(sql, 1, len, out);
    free(sql);
    return 0;
}

static int put_number_of_slices(struct admin *admin, FILE *out, struct error *error)
{
    const struct table *table = &admin->table;

    if (admin->options->on_sent == ON_SENT_POSITION && table->slices > 0) {
        if (put_leave(admin, out, error) < 0)
            return -1;
    } else {
        (void)fprintf(out, "BEGIN;\nLOCK TABLE %s IN ACCESS EXCLUSIVE MODE;\n",
                      table->slice_quoted);
    }
    if (put_and_free(schema_sql(table, admin->options, statement_slices, ""), out, error) < 0)
        return -1;
    return fputs("COMMIT;\n", out) < 0 ? error_no_memory(error) : 0;
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
    if (differs && put_number_of_slices(admin, out, error) < 0)
        return -1;
    if (table->has_claim_index && !differs)
        return 0;
    return slices_put_drops(out, SLICES_UNUSED, &admin->table, &admin->session, admin->options,
                            error);
}

static int put_parked(struct admin *admin, FILE *out, bool at_once, struct error *error)
{
    PGresult *lacks;

    if (!admin->table.parked_exists)
        return 0;
    lacks = parked_lacks(&admin->table, &admin->session, error);
    if (lacks == NULL)
        return -1;
    for (int row = 0; row < PQntuples(lacks); row++)
        if (PQgetisnull(lacks, row, LACK_AT_ONCE) != at_once)
            (void)fprintf(out, "%s\n", PQgetvalue(lacks, row, at_once ? LACK_AT_ONCE : LACK_FIX));
    PQclear(lacks);
    return 0;
}

static int put_at_once(struct admin *admin, FILE *out, struct error *error)
{
    const struct table *table = &admin->table;

    if (put_parked(admin, out, true, error) < 0)
        return -1;
    if (!table->control_exists || !table->may_number || table->schema_number == SCHEMA_NUMBER)
        return 0;
    return put_and_free(schema_sql(table, admin->options, statement_schema_note, ""), out, error);
}

static int put_all(struct admin *admin, FILE *out, struct error *error)
{
    put_columns(admin, out);
    if (put_numbers(admin, out, error) < 0 || put_index(admin, out, error) < 0 ||
        (admin->options->order == ORDER_KEY && put_slices(admin, out, error) < 0))
        return -1;
    return put_parked(admin, out, false, error);
}

int missing_at_once_sql(struct admin *admin, char **sql, struct error *error)
{
    return admin_write_sql(admin, put_at_once, sql, error);
}

int missing_sql(struct admin *admin, char **sql, struct error *error)
{
    return admin_write_sql(admin, put_all, sql, error);
}
