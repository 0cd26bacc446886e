/*
 * Locks the slices that a lane works on in this transaction.
 *
 * This is a statement of its own before the claim, because each statement has its own snapshot. A
 * claim whose snapshot was taken before the lock would still see as unsent what the lane that had
 * the slice before has just sent.
 * The statement leaves the planner no choice: it visits the candidates in order and locks the slice
 * row of each that has unsent rows, until there are enough.
 */
#include "outbox/slices/sql_slices.h"

#include "catalog/refused.h"
#include "outbox/slices/claim_parts.h"

#include <stdio.h>

#define DUE_ROWS 1000 /* how many due parked rows are read to find their slices */

/* A lane that is configured for a different number of slices must not lock any. */
static void put_lock(FILE *out, const struct table *table, int slices)
{
    (void)fprintf(out,
                  "SELECT FROM %s slices WHERE slices.slice = relay_candidate.slice"
                  " AND slices.slices = %d AND (SELECT seen FROM wal) IS NOT NULL",
                  table->slice_quoted, slices);
}

/* Keeps this statement's snapshot and WAL position for the claim after it. */
static void put_seen(FILE *out)
{
    (void)fprintf(out, "WITH wal AS MATERIALIZED (SELECT pg_catalog.set_config(" SEEN_SNAPSHOT
                       ", pg_catalog.pg_current_snapshot()::text, true)"
                       " || pg_catalog.set_config(" SEEN_WAL
                       ", pg_catalog.pg_current_wal_insert_lsn()::text, true) AS seen)");
}

/* The candidates, under a name that no table of the application has. Their bounds are ignored when
 * they are not valid: after a TRUNCATE, which changes the file node, or when the sequence was set
 * back, so that ids below the bounds are drawn again. */
static void put_candidates(FILE *out)
{
    (void)fprintf(out,
                  "(SELECT slice, more, CASE WHEN valid THEN low ELSE %s END AS low,"
                  " CASE WHEN valid THEN high ELSE %s END AS high"
                  " FROM ROWS FROM (pg_catalog.unnest($1::int4[]), pg_catalog.unnest($2::int8[]),"
                  " pg_catalog.unnest($3::int8[]), pg_catalog.unnest($4::int4[]))"
                  " AS given (slice, low, high, more), (SELECT valid FROM bounds) AS trust (valid))"
                  " relay_candidate",
                  SQL_LOWEST_ID, SQL_LOWEST_ID);
}

static int put_locked(FILE *out, const struct table *table, const struct outbox_options *options,
                      const struct routes *routes)
{
    int status;

    (void)fprintf(out, "SELECT relay_candidate.slice, relay_candidate.low, relay_candidate.high"
                       " FROM ");
    put_candidates(out);
    (void)fprintf(out, ", LATERAL (");
    put_lock(out, table, options->slices);
    (void)fprintf(out, " AND (relay_candidate.more <> 0 OR EXISTS (SELECT FROM %s WHERE ",
                  table->quoted);
    sql_put_in_slice(out, table, options->slices, "relay_candidate.slice",
                     "CASE WHEN (SELECT running FROM held) THEN relay_candidate.high"
                     " ELSE relay_candidate.low END");
    sql_put_claimable(out, table);
    status = sql_put_sinks(out, table, routes, false, 8);
    (void)fprintf(out, ")) FOR UPDATE SKIP LOCKED) locked LIMIT $7::int4");
    return status;
}

char *sql_lock_slices(const struct table *table, const struct outbox_options *options,
                      const struct routes *routes, const struct sequence *sequence)
{
    struct writer writer;
    int status;

    if (!writer_begin(&writer))
        return NULL;
    put_seen(writer.out);
    (void)fprintf(writer.out, ", held AS MATERIALIZED (SELECT ");
    sql_put_running(writer.out, "$5::xid8[]");
    (void)fprintf(writer.out, " AS running), bounds AS MATERIALIZED (SELECT ");
    sql_put_file_is(writer.out, table, "$6::int8");
    (void)fprintf(writer.out, " AND $9::int8 <= ");
    if (sequence->readable)
        sql_put_drawn(writer.out, sequence);
    else
        (void)fprintf(writer.out, "$9::int8");
    (void)fprintf(writer.out,
                  " AS valid) SELECT coalesce(pg_catalog.array_to_string(slices, ','), ''),"
                  " (SELECT slices.slices FROM %s slices ORDER BY slice LIMIT 1), (SELECT valid "
                  "FROM bounds), ",
                  table->slice_quoted);
    sql_put_is_same(writer.out, table);
    (void)fprintf(
        writer.out,
        ", pg_catalog.set_config('outbox_relay.slices', coalesce(slices::text, '{}'), true),"
        " pg_catalog.set_config('outbox_relay.lows', coalesce(lows::text, '{}'), true),"
        " pg_catalog.set_config('outbox_relay.highs', coalesce(highs::text, '{}'), true),"
        " pg_catalog.set_config('outbox_relay.holders', $5::xid8[]::text, true)"
        " FROM (SELECT pg_catalog.array_agg(slice) AS slices, pg_catalog.array_agg(low) AS lows,"
        " pg_catalog.array_agg(high) AS highs FROM (");
    status = put_locked(writer.out, table, options, routes);
    (void)fprintf(writer.out, ") taken) locked");
    return writer_end_if(&writer, status);
}

char *sql_lock_parked_slices(const struct table *table, const struct outbox_options *options,
                             const struct routes *routes, bool refused)
{
    struct writer writer;
    int status;

    if (!writer_begin(&writer))
        return NULL;
    put_seen(writer.out);
    (void)fprintf(
        writer.out,
        " SELECT coalesce(pg_catalog.array_to_string(slices, ','), ''),"
        " (SELECT slices.slices FROM %s slices ORDER BY slice LIMIT 1), true, true,"
        " pg_catalog.set_config('outbox_relay.slices', coalesce(slices::text, '{}'), true)"
        " FROM (SELECT pg_catalog.array_agg(slice) AS slices FROM ("
        "SELECT relay_candidate.slice FROM (SELECT ",
        table->slice_quoted);
    sql_put_slice(writer.out, table, options->slices, true);
    (void)fprintf(writer.out,
                  " AS slice FROM (SELECT id, due%s FROM %s due_row"
                  " WHERE due <= pg_catalog.statement_timestamp() AND sent_at IS NULL"
                  " AND %s",
                  table_has(table, COLUMN_KEY) ? ", key" : "", table->parked_quoted,
                  refused ? REFUSED_SQL : NOT_REFUSED_SQL);
    status = sql_put_sinks(writer.out, table, routes, true, 2);
    (void)fprintf(writer.out, " AND (waits_for = '" REFUSED_SENT "' OR true");
    sql_put_head(writer.out, table, "due_row");
    (void)fprintf(writer.out,
                  ") ORDER BY due LIMIT %d) due_rows GROUP BY 1 ORDER BY min(due))"
                  " relay_candidate, LATERAL (",
                  DUE_ROWS);
    put_lock(writer.out, table, options->slices);
    (void)fprintf(writer.out, " FOR UPDATE SKIP LOCKED) locked LIMIT $1::int4) taken) locked");
    return writer_end_if(&writer, status);
}
