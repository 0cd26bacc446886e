#include "admin/purge_sql.h"

#include "catalog/sql_text.h"

#include <stdio.h>
#include <string.h>

#define CUTOFF "pg_catalog.clock_timestamp() - $1::int8 * interval '1 millisecond'"

/* With sequential ids the purge reads only the rows with the lowest ids; otherwise it may read
 * every row. */
static bool has_sequential_ids(const struct table *table)
{
    const char *type = table->columns[COLUMN_ID].type;

    return strcmp(type, "bigint") == 0 || strcmp(type, "integer") == 0 ||
           strcmp(type, "smallint") == 0 || strncmp(type, "numeric", 7) == 0;
}

static void put_oldest(FILE *out, const struct table *table, int limit)
{
    const char *sent_at = table->columns[COLUMN_SENT_AT].quoted;

    if (has_sequential_ids(table)) {
        (void)fprintf(out, "SELECT ctid FROM (SELECT ctid, %s AS sent_at FROM %s", sent_at,
                      table->quoted);
        if (table->where != NULL)
            (void)fprintf(out, " WHERE (%s)", table->where);
        (void)fprintf(out, " ORDER BY %s LIMIT %d) oldest WHERE sent_at < " CUTOFF,
                      table->columns[COLUMN_ID].quoted, limit);
    } else {
        (void)fprintf(out, "SELECT ctid FROM %s WHERE %s < " CUTOFF, table->quoted, sent_at);
        sql_put_where(out, table);
        (void)fprintf(out, " LIMIT %d", limit);
    }
}

static void put_purged(FILE *out, const struct table *table, int limit)
{
    (void)fprintf(out, ", purged AS (DELETE FROM %s WHERE ctid = ANY (ARRAY(", table->quoted);
    put_oldest(out, table, limit);
    (void)fprintf(out, ")) AND %s < " CUTOFF, table->columns[COLUMN_SENT_AT].quoted);
    sql_put_where(out, table);
    (void)fprintf(out, " RETURNING 1)");
}

char *sql_purge(const struct table *table, int limit)
{
    bool marked = table_has(table, COLUMN_SENT_AT);
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "WITH purged_parked AS (DELETE FROM %s WHERE ctid = ANY (ARRAY(SELECT ctid FROM"
                  " %s WHERE sent_at < " CUTOFF " ORDER BY sent_at LIMIT %d)) AND sent_at < " CUTOFF
                  " RETURNING 1)",
                  table->parked_quoted, table->parked_quoted, limit);
    if (marked)
        put_purged(writer.out, table, limit);
    (void)fprintf(writer.out, " SELECT (SELECT count(*) FROM purged_parked)%s",
                  marked ? " + (SELECT count(*) FROM purged)" : "");
    return writer_end(&writer);
}

char *sql_purge_page(const struct table *table, int limit)
{
    const char *sent_at = table->columns[COLUMN_SENT_AT].quoted;
    const char *id = table->columns[COLUMN_ID].quoted;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    if (has_sequential_ids(table)) {
        (void)fprintf(writer.out,
                      "SELECT relay_row::text, relay_id::text FROM (SELECT ctid AS relay_row, %s AS"
                      " relay_id, %s AS relay_sent_at FROM %s WHERE ($2::text = '' OR %s >"
                      " nullif($2::text, '')::%s)",
                      id, sent_at, table->quoted, id, table->columns[COLUMN_ID].type);
        sql_put_where(writer.out, table);
        (void)fprintf(writer.out, " ORDER BY %s LIMIT %d) oldest WHERE relay_sent_at < " CUTOFF, id,
                      limit);
    } else {
        (void)fprintf(writer.out,
                      "SELECT ctid::text, ctid::text FROM %s WHERE ($2::text = '' OR ctid >"
                      " nullif($2::text, '')::tid) AND %s < " CUTOFF,
                      table->quoted, sent_at);
        sql_put_where(writer.out, table);
        (void)fprintf(writer.out, " ORDER BY ctid LIMIT %d", limit);
    }
    return writer_end(&writer);
}

char *sql_purge_rows(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "WITH purged AS (DELETE FROM %s WHERE ctid = ANY ($2::tid[]) AND %s < " CUTOFF,
                  table->quoted, table->columns[COLUMN_SENT_AT].quoted);
    sql_put_where(writer.out, table);
    (void)fprintf(writer.out, " RETURNING 1) SELECT count(*) FROM purged");
    return writer_end(&writer);
}

char *sql_purgeable(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT (SELECT count(*) FROM %s WHERE sent_at < " CUTOFF ")",
                  table->parked_quoted);
    if (table_has(table, COLUMN_SENT_AT)) {
        (void)fprintf(writer.out, " + (SELECT count(*) FROM %s WHERE %s < " CUTOFF, table->quoted,
                      table->columns[COLUMN_SENT_AT].quoted);
        sql_put_where(writer.out, table);
        (void)fprintf(writer.out, ")");
    }
    return writer_end(&writer);
}

/* ---- rows that nothing would make due ---- */

/* Without order = "key" no row waits for another, so all such rows become due. */
char *sql_adopt_behind(const struct table *table, const struct outbox_options *options)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "UPDATE %s waiting SET due = pg_catalog.clock_timestamp() WHERE due = 'infinity'"
                  " AND waits_for IS NULL AND sent_at IS NULL",
                  table->parked_quoted);
    if (sql_keeps_order(table, options))
        sql_put_head(writer.out, table, "waiting");
    return writer_end(&writer);
}

char *sql_adopt_probes(const struct table *table, const struct outbox_options *options)
{
    const char *parked = table->parked_quoted;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "UPDATE %s SET due = pg_catalog.clock_timestamp() WHERE due = 'infinity'"
                  " AND sent_at IS NULL AND seq = ANY (ARRAY(SELECT next FROM (SELECT DISTINCT"
                  " waits_for FROM %s WHERE waits_for IS NOT NULL AND due = 'infinity') missed,"
                  " LATERAL (SELECT seq AS next FROM %s waiting WHERE waiting.waits_for ="
                  " missed.waits_for AND due = 'infinity'",
                  parked, parked, parked);
    if (sql_keeps_order(table, options))
        sql_put_head(writer.out, table, "waiting");
    (void)fprintf(writer.out, " ORDER BY seq LIMIT 1) nexts WHERE NOT ");
    sql_put_probe(writer.out, table, options, "missed.waits_for");
    (void)fprintf(writer.out, "))");
    return writer_end(&writer);
}
