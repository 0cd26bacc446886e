/*
 * What several statements of a lane have in common: which rows are to be claimed, and which of them
 * share a key.
 */
#include "catalog/sql_parts.h"

#include "catalog/sequence.h"

#include <stdio.h>
#include <string.h>

bool sql_keeps_order(const struct table *table, const struct outbox_options *options)
{
    return options->order == ORDER_KEY && table_has(table, COLUMN_KEY);
}

/* Correct whatever standard_conforming_strings says. */
static void put_literal(FILE *out, const char *text)
{
    (void)fputs("E'", out);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            (void)fputc(*text, out);
        (void)fputc(*text, out);
    }
    (void)fputc('\'', out);
}

/* The sink that a row goes to, as a number; NULL when no route takes it. */
static int put_sink(FILE *out, const struct table *table, const struct routes *routes, bool parked)
{
    const char *topic = parked ? "topic" : table->columns[COLUMN_TOPIC].quoted;

    if (routes == NULL || routes->count == 0) {
        (void)fprintf(out, "0");
        return 0;
    }
    (void)fprintf(out, "CASE");
    for (int i = 0; i < routes->count; i++) {
        char *regex = match_sql_regex(&routes->entries[i].match);

        if (regex == NULL)
            return -1;
        (void)fprintf(out, " WHEN %s::text ~ ", topic);
        put_literal(out, regex);
        (void)fprintf(out, " THEN %d", routes->entries[i].sink);
        free(regex);
    }
    (void)fprintf(out, " END");
    return 0;
}

int sql_put_sinks(FILE *out, const struct table *table, const struct routes *routes, bool parked,
                  int param)
{
    int status;

    (void)fprintf(out, " AND ($%d::int8 = 0 OR coalesce($%d::int8 >> (", param, param);
    status = put_sink(out, table, routes, parked);
    (void)fprintf(out, "), 0) & 1 = 0)");
    return status;
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

/* A range, not an equality: with one the planner may prefer another index on the id, and read all
 * the slices to find one. Only the claim index has this order. */
void sql_put_in_slice(FILE *out, const struct table *table, int slices, const char *slice,
                      const char *first)
{
    (void)fprintf(out, "(");
    sql_put_slice(out, table, slices, false);
    (void)fprintf(out, ", %s) >= (%s, %s) AND ", table->columns[COLUMN_ID].quoted, slice, first);
    sql_put_slice(out, table, slices, false);
    (void)fprintf(out, " < %s + 1", slice);
}

void sql_put_running(FILE *out, const char *holders)
{
    (void)fprintf(out,
                  "(CASE WHEN pg_catalog.cardinality(%s) = 0 THEN false ELSE (SELECT count(*) FROM"
                  " pg_catalog.pg_snapshot_xip(pg_catalog.pg_current_snapshot()) running (xid)"
                  " WHERE running.xid = ANY (%s)) = pg_catalog.cardinality(%s) END)",
                  holders, holders, holders);
}

/* Not by SELECT: nextval writes a value ahead into the page for a moment, which only the page's
 * lock hides. NULL: nothing was drawn since it was set. */
void sql_put_drawn(FILE *out, const struct sequence *sequence)
{
    (void)fprintf(out, "coalesce(pg_catalog.pg_sequence_last_value(%u), " SQL_LOWEST_ID ")",
                  sequence->oid);
}

void sql_put_is_same(FILE *out, const struct table *table)
{
    (void)fprintf(out, "coalesce(pg_catalog.to_regclass(");
    put_literal(out, table->quoted);
    (void)fprintf(out, ")::oid = %u, false)", table->oid);
}

void sql_put_file(FILE *out, const struct table *table)
{
    (void)fprintf(out, "CASE WHEN ");
    sql_put_is_same(out, table);
    (void)fprintf(out, " THEN pg_catalog.pg_relation_filenode(%u)::int8 END", table->oid);
}

void sql_put_file_is(FILE *out, const struct table *table, const char *file)
{
    (void)fprintf(out, "coalesce(");
    sql_put_file(out, table);
    (void)fprintf(out, " = %s, false)", file);
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
