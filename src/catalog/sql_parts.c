/* What several statements have in common: which rows are unsent, and which of them share a key. */
#include "catalog/sql_parts.h"

#include <stdio.h>
#include <string.h>

bool sql_keeps_order(const struct table *table, const struct outbox_options *options)
{
    return options->order == ORDER_KEY && table_has(table, COLUMN_KEY);
}

/* A row that was marked stays sent, also for relays that delete. */
void sql_put_unsent(FILE *out, const struct table *table)
{
    if (table_has(table, COLUMN_SENT_AT))
        (void)fprintf(out, " AND %s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    sql_put_where(out, table);
}

/* PostgreSQL has parsed it alone (filter.c), so what it opens it closes. */
void sql_put_where(FILE *out, const struct table *table)
{
    if (table->where != NULL)
        (void)fprintf(out, " AND (%s)", table->where);
}

void sql_put_key_text(FILE *out, const struct table *table, const char *key)
{
    bool bytea = strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0;

    (void)fprintf(out, bytea ? "pg_catalog.encode(%s, 'hex')" : "%s::text", key);
}

/* Keys may be longer than an entry of an index, so their hash is what the index holds. */
void sql_put_key_is(FILE *out, const struct table *table, const char *key, const char *text)
{
    (void)fprintf(out, "%s IS NOT NULL AND pg_catalog.hashtextextended(", key);
    sql_put_key_text(out, table, key);
    (void)fprintf(out, ", 0) = pg_catalog.hashtextextended(%s, 0) AND ", text);
    sql_put_key_text(out, table, key);
    (void)fprintf(out, " = %s", text);
}

static void put_key_is_of(FILE *out, const struct table *table, const char *key, const char *row)
{
    bool bytea = strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0;
    char text[96];

    (void)snprintf(text, sizeof text, bytea ? "pg_catalog.encode(%s.key, 'hex')" : "%s.key::text",
                   row);
    sql_put_key_is(out, table, key, text);
}

void sql_put_head(FILE *out, const struct table *table, const char *row)
{
    if (!table_has(table, COLUMN_KEY))
        return;
    (void)fprintf(out, " AND (%s.key IS NULL OR NOT EXISTS (SELECT FROM %s earlier WHERE ", row,
                  table->parked_quoted);
    put_key_is_of(out, table, "earlier.key", row);
    (void)fprintf(out, " AND earlier.id < %s.id AND earlier.sent_at IS NULL))", row);
}

void sql_put_probe(FILE *out, const struct table *table, const struct outbox_options *options,
                   const char *destination)
{
    (void)fprintf(out,
                  "EXISTS (SELECT FROM %s probe WHERE probe.waits_for = %s"
                  " AND probe.due < 'infinity'",
                  table->parked_quoted, destination);
    if (sql_keeps_order(table, options))
        sql_put_head(out, table, "probe");
    (void)fprintf(out, ")");
}
