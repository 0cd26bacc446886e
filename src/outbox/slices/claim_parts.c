#include "outbox/slices/claim_parts.h"

#include <stdio.h>
#include <stdlib.h>

/* An E'' literal does not depend on standard_conforming_strings. */
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

/* Appends a text with a character for each of its bytes, as regexec() takes it. */
static void put_bytes(FILE *out, void (*put)(FILE *out, const char *text), const char *text)
{
    (void)fprintf(out, "CASE pg_catalog.getdatabaseencoding() WHEN 'UTF8' THEN"
                       " pg_catalog.convert_from(pg_catalog.convert_to(");
    put(out, text);
    (void)fprintf(out, ", 'UTF8'), 'LATIN1') ELSE ");
    put(out, text);
    (void)fprintf(out, " END");
}

static void put_as_text(FILE *out, const char *column)
{
    (void)fprintf(out, "%s::text", column);
}

/* An expression for the number of the sink that a row is routed to. It is NULL when no route
 * matches, and when PostgreSQL might not judge as match_topic() does, which then decides: the topic
 * is cut when it is claimed, its bytes in UTF-8 are not those in the database, or it has a line
 * break, at which glibc's anchors match. Bytes are compared, whatever the collation of the column.
 */
static int put_sink(FILE *out, const struct table *table, const struct routes *routes, bool parked)
{
    const char *topic = parked ? "topic" : table->columns[COLUMN_TOPIC].quoted;

    if (routes == NULL || routes->count == 0) {
        (void)fprintf(out, "0");
        return 0;
    }
    (void)fprintf(out,
                  "CASE WHEN octet_length(%s::text) > %d OR %s::text COLLATE pg_catalog.\"C\" ~"
                  " CASE WHEN pg_catalog.getdatabaseencoding() IN ('UTF8', 'SQL_ASCII') THEN E'\\n'"
                  " ELSE E'[^\\\\x01-\\\\x7f]|\\n' END THEN NULL",
                  topic, MATCH_BYTES_MAX, topic);
    for (int i = 0; i < routes->count; i++) {
        char *regex = match_sql_regex(&routes->entries[i].match);

        if (regex == NULL)
            return -1;
        (void)fprintf(out, " WHEN (");
        put_bytes(out, put_as_text, topic);
        (void)fprintf(out, ") COLLATE pg_catalog.\"C\" ~ (");
        put_bytes(out, put_literal, regex);
        (void)fprintf(out, ") THEN %d", routes->entries[i].sink);
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

/* The condition is a range. With an equality on the slice the planner could prefer another index on
 * the id and read all slices. Only the claim index supports the range. */
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

/* nextval() stores a value that is too high in the sequence's page for a moment. A SELECT from the
 * sequence may see it; pg_sequence_last_value() locks the page first, and does not. It returns NULL
 * when no value was drawn since the sequence was created or reset. */
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
