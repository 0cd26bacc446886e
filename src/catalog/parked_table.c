/*
 * Compares the parked table with the one of config/schema.sql. `init` adds what it lacks, or prints
 * the SQL; `check` reports that, and columns of another type.
 */
#include "catalog/parked_table.h"

#include "catalog/schema.h"
#include "catalog/sql_text.h"
#include "catalog/facts.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A state that a table without not_before does not know comes with it. */
#define STATE_IS_KNOWN                                                                             \
    ", DROP CONSTRAINT IF EXISTS state_is_known, ADD CONSTRAINT state_is_known CHECK"              \
    " (state OPERATOR(pg_catalog.=) ANY (ARRAY['retry', 'scheduled', 'behind', 'waiting',"         \
    " 'paused', 'refused', 'unsettled', 'dead', 'sent'])),"                                        \
    " DROP CONSTRAINT IF EXISTS due_is_known, ADD CONSTRAINT due_is_known CHECK (due IS NOT NULL"  \
    " OR state OPERATOR(pg_catalog.<>) ALL (ARRAY['retry', 'scheduled', 'refused',"                \
    " 'unsettled']))"

/* The columns in which the relay keeps the state of a parked row. */
static const struct parked_column own_columns[PARKED_OWN_COUNT] = {
    {"seq", "bigint", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", ""},
    {"state", "text", "text NOT NULL", ""},
    {"attempts", "integer", "int NOT NULL DEFAULT 0", ""},
    {"due", "timestamp with time zone", "timestamptz", ""},
    {"waits_for", "text", "text", ""},
    {"error", "text", "text", ""},
    {"parked_at", "timestamp with time zone", "timestamptz NOT NULL DEFAULT pg_catalog.now()", ""},
    {"sent_at", "timestamp with time zone", "timestamptz", ""},
    {"replayed_at", "timestamp with time zone", "timestamptz", ""},
    {"more_headers", "bytea[]", "bytea[]", ""},
    {"not_before", "timestamp with time zone", "timestamptz" STATE_IS_KNOWN, ""},
    {"raw", "text", "text", ""},
    {"in_outbox", "boolean", "boolean", ""},
    {"identity", "text", "text", ""},
};

static const struct parked_index indexes[] = {
    {"due", "(sent_at IS NULL) AND (state <> 'dead'::text)",
     "sent_at IS NULL AND state OPERATOR(pg_catalog.<>) 'dead'", false},
    {"waits_for, due, seq", "waits_for IS NOT NULL", "waits_for IS NOT NULL", false},
    {"sent_at", "sent_at IS NOT NULL", "sent_at IS NOT NULL", false},
    {"seq", "state = 'dead'::text", "state OPERATOR(pg_catalog.=) 'dead'", false},
    {"state, due", "state = ANY (ARRAY['refused'::text, 'unsettled'::text])",
     "state OPERATOR(pg_catalog.=) ANY (ARRAY['refused', 'unsettled'])", false},
    {"id", "in_outbox IS TRUE", "in_outbox IS TRUE", false},
};
#define INDEX_COUNT (int)(sizeof indexes / sizeof *indexes)

/* A row is parked unchanged, so each column must have the same type as in the outbox. A domain and
 * its base type count as the same. */
static void expect(struct parked_table *parked, const struct table *table)
{
    for (int i = 0; i < COLUMN_SENT_AT; i++) {
        const char *type = table_type(table, (enum column)i);

        parked->columns[i] = (struct parked_column){
            column_name((enum column)i),
            table_has(table, (enum column)i) ? table->columns[i].base : NULL, type, ""};
    }
    memcpy(parked->columns + COLUMN_SENT_AT, own_columns, sizeof own_columns);
    memcpy(parked->indexes, indexes, sizeof indexes);
    parked->indexes[INDEX_COUNT] =
        (struct parked_index){parked_key_columns(table), "(sent_at IS NULL) AND (key IS NOT NULL)",
                              "sent_at IS NULL AND key IS NOT NULL", false};
    parked->index_count = INDEX_COUNT + (parked_key_columns(table) != NULL);
}

static void take_column(struct parked_table *parked, const char *name, const char *type)
{
    for (int i = 0; i < PARKED_COLUMN_COUNT; i++)
        if (strcmp(parked->columns[i].name, name) == 0)
            (void)snprintf(parked->columns[i].has_type, sizeof parked->columns[i].has_type, "%s",
                           type);
}

static void take_index(struct parked_table *parked, const char *predicate, const char *columns)
{
    char wanted[64];

    for (int i = 0; i < parked->index_count; i++) {
        struct parked_index *index = &parked->indexes[i];

        (void)snprintf(wanted, sizeof wanted, "(%s)", index->predicate);
        if (strcmp(predicate, wanted) == 0 && sql_expression_equal(columns, index->columns))
            index->exists = true;
    }
}

static int take_each(struct parked_table *parked, const struct table *table,
                     struct session *session, const char *statement,
                     void (*take)(struct parked_table *, const char *, const char *),
                     struct error *error)
{
    const char *params[1] = {table->parked_quoted};
    PGresult *result = table_query(table, session, statement, 1, params, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        take(parked, PQgetvalue(result, row, 0), PQgetvalue(result, row, 1));
    PQclear(result);
    return 0;
}

static int take_size(struct parked_table *parked, const struct table *table,
                     struct session *session, struct error *error)
{
    const char *params[1] = {table->parked_quoted};
    PGresult *result =
        session_query(session, "SELECT pg_relation_size($1::regclass)", 1, params, error);

    if (result == NULL)
        return -1;
    parked->bytes = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return 0;
}

int parked_describe(struct parked_table *parked, const struct table *table, struct session *session,
                    struct error *error)
{
    expect(parked, table);
    if (take_size(parked, table, session, error) < 0)
        return -1;
    if (take_each(parked, table, session, statement_parked_columns, take_column, error) < 0)
        return -1;
    return take_each(parked, table, session, statement_parked_indexes, take_index, error);
}

bool parked_column_differs(const struct parked_column *column)
{
    return column->type != NULL && column->has_type[0] != '\0' &&
           strcmp(column->has_type, column->type) != 0;
}

static void inspect_column(struct findings *findings, const struct table *table,
                           const struct parked_column *column)
{
    struct finding *finding;

    if (column->has_type[0] == '\0') {
        finding = findings_add(findings, FINDING_ERROR, "column %s is missing in %s%s",
                               column->name, table->parked_quoted,
                               strstr(table->parked_lacks, column->name) != NULL
                                   ? ", which is that of an older outbox-relay: init brings it up"
                                     " to date"
                                   : "");
        (void)parked_column_sql(column, table, finding->fix, sizeof finding->fix);
    } else if (parked_column_differs(column)) {
        finding = findings_add(findings, FINDING_ERROR,
                               "column %s of %s has type %s, not %s: rows may not be parked",
                               column->name, table->parked_quoted, column->has_type, column->type);
        (void)parked_type_sql(column, table, finding->fix, sizeof finding->fix);
    } else {
        return;
    }
    finding->is_schema = true;
}

int parked_inspect(const struct table *table, struct session *session, struct findings *findings,
                   struct error *error)
{
    struct parked_table parked;

    if (parked_describe(&parked, table, session, error) < 0)
        return -1;
    for (int i = 0; i < PARKED_COLUMN_COUNT; i++)
        inspect_column(findings, table, &parked.columns[i]);
    for (int i = 0; i < parked.index_count; i++) {
        const struct parked_index *index = &parked.indexes[i];

        if (!index->exists)
            (void)parked_index_sql(index, table, true,
                                   findings_add(findings, FINDING_WARNING,
                                                "table %s has no index by %s where %s: each search"
                                                " for such rows reads all that are parked",
                                                table->parked_quoted, index->columns,
                                                index->predicate)
                                       ->fix,
                                   sizeof findings->items->fix);
    }
    return 0;
}

/* By way of text, because PostgreSQL has no cast between some types, and refuses it for an empty
 * table too. A cast between bytea and text would use bytea's text format, so the bytes are
 * converted. */
int parked_type_sql(const struct parked_column *column, const struct table *table, char *sql,
                    size_t size)
{
    const char *schema = sql_type_schema(column->type);
    const char *format = "ALTER TABLE %s ALTER COLUMN %s TYPE %s%s"
                         " USING %s::pg_catalog.text::%s%s;";

    if (strcmp(column->type, "bytea") == 0)
        format = "ALTER TABLE %s ALTER COLUMN %s TYPE %s%s"
                 " USING pg_catalog.convert_to(%s::pg_catalog.text, 'UTF8')::%s%s;";
    else if (strcmp(column->has_type, "bytea") == 0)
        format = "ALTER TABLE %s ALTER COLUMN %s TYPE %s%s"
                 " USING pg_catalog.convert_from(%s, 'UTF8')::%s%s;";
    return snprintf(sql, size, format, table->parked_quoted, column->name, schema, column->type,
                    column->name, schema, column->type);
}

int parked_column_sql(const struct parked_column *column, const struct table *table, char *sql,
                      size_t size)
{
    return snprintf(sql, size, "ALTER TABLE %s ADD COLUMN %s %s%s;", table->parked_quoted,
                    column->name, sql_type_schema(column->added_as), column->added_as);
}

int parked_index_sql(const struct parked_index *index, const struct table *table, bool concurrently,
                     char *sql, size_t size)
{
    return snprintf(sql, size, "CREATE INDEX %sON %s (%s) WHERE %s;",
                    concurrently ? "CONCURRENTLY " : "", table->parked_quoted, index->columns,
                    index->made_where);
}
