/*
 * Choose: which slices a lane works on in this transaction.
 *
 * It is a statement of its own, before the claim: each statement has its own snapshot, and one that
 * is older than the lock would see rows that the slice's last owner has sent meanwhile. The planner
 * is left no choice: each candidate is looked at in its turn, and its slice row is locked only when
 * it has rows, until there are enough.
 */
#include "outbox/sql_choose.h"

#include "outbox/sql_parts.h"

#define DUE_ROWS 1000 /* parked rows that are looked at for their slices */
#define OUTLIERS 10   /* rows of a slice whose ids may be far above all that are drawn */

/* A lane that thinks of another number of slices locks none. */
static void put_lock(FILE *out, const struct table *table, int slices)
{
    (void)fprintf(out,
                  "SELECT FROM %s slices WHERE slices.slice = relay_look.slice"
                  " AND slices.slices = %d AND (SELECT seen FROM wal) IS NOT NULL",
                  table->slice_quoted, slices);
}

/* EXISTS (a row of the candidate to be claimed) */
static int put_work(FILE *out, const struct table *table, const struct outbox_options *options,
                    const struct routes *routes, int sinks_param)
{
    int status;

    (void)fprintf(out, "EXISTS (SELECT FROM %s WHERE ", table->quoted);
    sql_put_in_slice(out, table, options->slices, "relay_look.slice", "relay_look.first");
    sql_put_unsent(out, table);
    status = sql_put_sinks(out, table, routes, false, sinks_param);
    (void)fprintf(out, ")");
    return status;
}

/* As relay_look: a table of the application has any other name. */
#define CANDIDATES "ROWS FROM (pg_catalog.unnest($1::int4[]), pg_catalog.unnest($2::int8[])"

static int put_taken(FILE *out, const struct table *table, const struct outbox_options *options,
                     const struct routes *routes)
{
    int status;

    (void)fprintf(out,
                  "SELECT relay_look.slice, relay_look.first FROM " CANDIDATES
                  ", pg_catalog.unnest($6::int4[])) AS relay_look (slice, first, sure), LATERAL (");
    put_lock(out, table, options->slices);
    (void)fprintf(out, " AND (relay_look.sure <> 0 OR ");
    status = put_work(out, table, options, routes, 4);
    (void)fprintf(out, ") FOR UPDATE SKIP LOCKED) locked LIMIT $3::int4");
    return status;
}

static int put_taken_parked(FILE *out, const struct table *table,
                            const struct outbox_options *options, const struct routes *routes)
{
    int status;

    (void)fprintf(out, "SELECT relay_look.slice, 0::int8 AS first FROM (SELECT ");
    sql_put_slice(out, table, options->slices, true);
    (void)fprintf(out,
                  " AS slice FROM (SELECT id, due%s FROM %s due_row"
                  " WHERE due <= pg_catalog.statement_timestamp() AND sent_at IS NULL",
                  table_has(table, COLUMN_KEY) ? ", key" : "", table->parked_quoted);
    status = sql_put_sinks(out, table, routes, true, 2);
    sql_put_head(out, table, "due_row");
    (void)fprintf(out,
                  " ORDER BY due LIMIT %d) due_rows GROUP BY 1 ORDER BY min(due))"
                  " relay_look, LATERAL (",
                  DUE_ROWS);
    put_lock(out, table, options->slices);
    (void)fprintf(out, " FOR UPDATE SKIP LOCKED) locked LIMIT $1::int4");
    return status;
}

/* For the claim behind it. */
static void put_seen(FILE *out)
{
    (void)fprintf(out, "WITH wal AS MATERIALIZED (SELECT pg_catalog.set_config(" SEEN_SNAPSHOT
                       ", pg_catalog.pg_current_snapshot()::text, true)"
                       " || pg_catalog.set_config(" SEEN_WAL
                       ", pg_catalog.pg_current_wal_insert_lsn()::text, true) AS seen) ");
}

char *sql_choose(const struct table *table, const struct outbox_options *options,
                 const struct routes *routes, bool parked)
{
    struct writer writer;
    int status = 0;

    if (!writer_begin(&writer))
        return NULL;
    if (options->order == ORDER_KEY)
        put_seen(writer.out);
    (void)fprintf(writer.out,
                  "SELECT pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())");
    if (options->order == ORDER_NONE) {
        (void)fprintf(writer.out, ", ''::text, NULL::int4");
        return writer_end(&writer);
    }
    (void)fprintf(
        writer.out,
        ", coalesce(pg_catalog.array_to_string(slices, ','), ''),"
        " (SELECT slices.slices FROM %s slices ORDER BY slice LIMIT 1),"
        " pg_catalog.set_config('outbox_relay.slices', coalesce(slices::text, '{}'), true),"
        " pg_catalog.set_config('outbox_relay.firsts', coalesce(firsts::text, '{}'), true)%s"
        " FROM (SELECT pg_catalog.array_agg(slice) AS slices,"
        " pg_catalog.array_agg(first) AS firsts FROM (",
        table->slice_quoted,
        parked
            ? ""
            : ", pg_catalog.set_config('outbox_relay.shares',"
              " CASE WHEN $5::bool THEN pg_catalog.cardinality(slices)::text ELSE '1' END, true)");
    status = parked ? put_taken_parked(writer.out, table, options, routes)
                    : put_taken(writer.out, table, options, routes);
    (void)fprintf(writer.out, ") taken) chosen");
    return writer_end_if(&writer, status);
}

char *sql_empty(const struct table *table, const struct outbox_options *options,
                const struct routes *routes)
{
    struct writer writer;
    int status;

    if (!writer_begin(&writer))
        return NULL;
    if (options->order == ORDER_NONE) {
        (void)fprintf(writer.out,
                      "SELECT '0' WHERE $1::int4[] IS NOT NULL AND NOT EXISTS"
                      " (SELECT FROM %s WHERE %s >= ($2::int8[])[1]",
                      table->quoted, table->columns[COLUMN_ID].quoted);
        sql_put_unsent(writer.out, table);
        status = sql_put_sinks(writer.out, table, routes, false, 3);
        (void)fprintf(writer.out, ")");
        return writer_end_if(&writer, status);
    }
    (void)fprintf(writer.out, "SELECT pg_catalog.string_agg(relay_look.slice::text, ',')"
                              " FROM " CANDIDATES ") AS relay_look (slice, first) WHERE NOT ");
    status = put_work(writer.out, table, options, routes, 3);
    return writer_end_if(&writer, status);
}

char *sql_newest(const struct table *table)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT %s FROM %s WHERE %s IS NOT NULL ORDER BY %s DESC LIMIT 1", id,
                  table->quoted, id, id);
    return writer_end(&writer);
}

char *sql_newest_of_slices(const struct table *table, const struct outbox_options *options)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "SELECT relay_look.slice, newest.id FROM " CANDIDATES
                  ") AS relay_look (slice, first), LATERAL (SELECT %s AS id FROM %s WHERE ",
                  id, table->quoted);
    sql_put_in_slice(writer.out, table, options->slices, "relay_look.slice", "relay_look.first");
    sql_put_unsent(writer.out, table);
    (void)fprintf(writer.out, " ORDER BY ");
    sql_put_slice(writer.out, table, options->slices, false);
    (void)fprintf(writer.out, " DESC, %s DESC OFFSET %d LIMIT 1) newest", id, OUTLIERS);
    return writer_end(&writer);
}

char *sql_first(const struct table *table, const struct outbox_options *options)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT %s FROM %s WHERE ", id, table->quoted);
    sql_put_in_slice(writer.out, table, options->slices, "$1::int4",
                     "'-9223372036854775808'::int8");
    sql_put_unsent(writer.out, table);
    (void)fprintf(writer.out, " ORDER BY ");
    sql_put_slice(writer.out, table, options->slices, false);
    (void)fprintf(writer.out, ", %s LIMIT 1", id);
    return writer_end(&writer);
}
