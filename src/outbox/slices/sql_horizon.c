#include "outbox/slices/sql_horizon.h"

#include "catalog/shape.h"
#include "outbox/slices/claim_parts.h"

#include <stdio.h>

char *sql_locked_shape(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT (");
    sql_put_shape(writer.out, table);
    (void)fprintf(writer.out, ") FROM (SELECT count(*) FROM (SELECT FROM %s LIMIT 0) none) locked",
                  table->quoted);
    return writer_end(&writer);
}

/* Locks the table before the sequence, as TRUNCATE ... RESTART IDENTITY does. The scans of the same
 * transaction lock the table too: if the sequence came first, they could deadlock with a
 * TRUNCATE. */
char *sql_drawn(const struct table *table, const struct sequence *sequence)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT ");
    sql_put_drawn(writer.out, sequence);
    (void)fprintf(writer.out, " FROM (SELECT count(*) FROM (SELECT FROM %s LIMIT 0) none) locked",
                  table->quoted);
    return writer_end(&writer);
}

char *sql_holders(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(
        writer.out,
        "WITH RECURSIVE above (oid) AS (SELECT %u::oid UNION SELECT i.inhparent FROM"
        " pg_catalog.pg_inherits i JOIN above ON i.inhrelid = above.oid),"
        " locks AS MATERIALIZED (SELECT locktype, virtualtransaction, transactionid, pid"
        " FROM pg_catalog.pg_locks WHERE granted AND (locktype = 'transactionid' AND"
        " mode = 'ExclusiveLock' OR locktype = 'relation' AND mode = 'RowExclusiveLock'"
        " AND relation = ANY (ARRAY(SELECT oid FROM above)) AND database = (SELECT oid FROM "
        "pg_catalog.pg_database"
        " WHERE datname = pg_catalog.current_database()))) SELECT file.node, virtualtransaction,"
        " holder.prepared, running.xid FROM (SELECT ",
        table->oid);
    sql_put_file(writer.out, table);
    (void)fprintf(
        writer.out,
        ") file (node) LEFT JOIN (SELECT virtualtransaction, bool_or(pid IS NULL) AS prepared"
        " FROM locks WHERE locktype = 'relation' GROUP BY 1) holder ON true LEFT JOIN"
        " (SELECT locks.virtualtransaction, seen.xid FROM locks JOIN"
        " pg_catalog.pg_snapshot_xip(pg_catalog.pg_current_snapshot()) seen (xid)"
        " ON seen.xid::xid = locks.transactionid WHERE locks.locktype = 'transactionid')"
        " running USING (virtualtransaction)");
    return writer_end(&writer);
}

#define FROM_BOUND                                                                                 \
    "CASE WHEN (SELECT running FROM held) THEN relay_scan.high ELSE relay_scan.low END"

static void put_unsent_from_bound(FILE *out, const struct table *table,
                                  const struct outbox_options *options)
{
    if (options->order == ORDER_KEY)
        sql_put_in_slice(out, table, options->slices, "relay_scan.slice", FROM_BOUND);
    else
        (void)fprintf(out, "%s >= " FROM_BOUND, table->columns[COLUMN_ID].quoted);
    sql_put_claimable(out, table);
}

static void put_in_order(FILE *out, const struct table *table, const struct outbox_options *options)
{
    (void)fprintf(out, " ORDER BY ");
    if (options->order == ORDER_KEY) {
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, ", ");
    }
    (void)fprintf(out, "%s", table->columns[COLUMN_ID].quoted);
}

static int put_lowest(FILE *out, const struct table *table, const struct outbox_options *options,
                      const struct routes *routes)
{
    int status;

    (void)fprintf(out, "SELECT %s AS lowest, NULL AS last FROM %s WHERE ",
                  table->columns[COLUMN_ID].quoted, table->quoted);
    put_unsent_from_bound(out, table, options);
    status = sql_put_sinks(out, table, routes, false, 5);
    put_in_order(out, table, options);
    (void)fprintf(out, " LIMIT 1");
    return status;
}

/* The first row after the window has the number `window` + 1. */
static int put_lowest_in_window(FILE *out, const struct table *table,
                                const struct outbox_options *options, const struct routes *routes,
                                int window)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    int status;

    (void)fprintf(out,
                  "SELECT coalesce(min(id) FILTER (WHERE number <= %d AND ours), max(id) FILTER"
                  " (WHERE number > %d)) AS lowest, max(id) FILTER (WHERE number = %d) AS last"
                  " FROM (SELECT %s AS id, pg_catalog.row_number() OVER () AS number, true",
                  window, window, window, id);
    status = sql_put_sinks(out, table, routes, false, 5);
    (void)fprintf(out, " AS ours FROM (SELECT * FROM %s WHERE ", table->quoted);
    put_unsent_from_bound(out, table, options);
    put_in_order(out, table, options);
    (void)fprintf(out, " LIMIT %d) unsent) numbered", window + 1);
    return status;
}

char *sql_scan(const struct table *table, const struct outbox_options *options,
               const struct routes *routes, int window)
{
    struct writer writer;
    int status;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "WITH held AS MATERIALIZED (SELECT ");
    sql_put_running(writer.out, "$4::xid8[]");
    (void)fprintf(writer.out,
                  " AS running) SELECT relay_scan.slice, found.lowest, (SELECT running FROM held),"
                  " found.last FROM ROWS FROM (pg_catalog.unnest($1::int4[]),"
                  " pg_catalog.unnest($2::int8[]), pg_catalog.unnest($3::int8[]))"
                  " AS relay_scan (slice, low, high) LEFT JOIN LATERAL (");
    status = window > 0 ? put_lowest_in_window(writer.out, table, options, routes, window)
                        : put_lowest(writer.out, table, options, routes);
    (void)fprintf(writer.out, ") found ON $5::int8 IS NOT NULL");
    return writer_end_if(&writer, status);
}
