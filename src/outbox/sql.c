#include "outbox/sql.h"

#include "catalog/sql_text.h"

#include <stdio.h>
#include <string.h>

#define RELEASE_BATCHES 4

/* A trigger or a rule can turn the statement into a silent no-op. A wrong count must therefore be
 * an error, or the COMMIT after it in the pipeline would succeed. */
static void put_count_check(FILE *out)
{
    (void)fprintf(
        out, " SELECT CASE WHEN count(*) = $2::int4 THEN 0 ELSE"
             " ('settled ' || count(*) || ' rows instead of ' || $2::int4)::int4 END FROM touched");
}

/* A destination that has accepted a row exists again: rows that wait for it become due, the oldest
 * first. Each sent batch releases several batches more. */
static void put_release(FILE *out, const struct table *table, const struct outbox_options *options)
{
    (void)fprintf(out,
                  ", released AS (UPDATE %s SET due = pg_catalog.clock_timestamp() WHERE ctid = ANY"
                  " (ARRAY(SELECT released_row FROM (SELECT DISTINCT reached FROM touched) t,"
                  " LATERAL (SELECT ctid AS released_row FROM %s waiting WHERE waits_for = reached"
                  " AND due = 'infinity'",
                  table->parked_quoted, table->parked_quoted);
    if (sql_keeps_order(table, options))
        sql_put_head(out, table, "waiting");
    (void)fprintf(out, " ORDER BY seq LIMIT %d FOR UPDATE SKIP LOCKED) rows)))",
                  RELEASE_BATCHES * options->batch);
}

/* When a parked row is sent, the next row of its key becomes due. The statement's snapshot still
 * shows the rows that it settles as unsent, so they are excluded by ctid. */
static void put_freed(FILE *out, const struct table *table)
{
    (void)fprintf(out,
                  ", freed AS (UPDATE %s SET due = pg_catalog.clock_timestamp()"
                  " WHERE due = 'infinity' AND waits_for IS NULL AND seq = ANY (ARRAY("
                  "SELECT next FROM (SELECT DISTINCT left_key FROM touched) gone,"
                  " LATERAL (SELECT seq AS next FROM %s behind WHERE ",
                  table->parked_quoted, table->parked_quoted);
    sql_put_key_is(out, table, "behind.key", "gone.left_key");
    (void)fprintf(out, " AND sent_at IS NULL AND ctid <> ALL ($1::tid[]) ORDER BY id LIMIT 1)"
                       " nexts)))");
}

static char *sent_parked(const struct table *table, const struct outbox_options *options)
{
    bool keeps_order = sql_keeps_order(table, options);
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    if (options->on_sent == ON_SENT_MARK)
        (void)fprintf(writer.out,
                      "WITH touched AS (UPDATE %s o SET sent_at = pg_catalog.clock_timestamp(),"
                      " due = NULL, error = NULL",
                      table->parked_quoted);
    else
        (void)fprintf(writer.out, "WITH touched AS (DELETE FROM %s o", table->parked_quoted);
    (void)fprintf(writer.out, " WHERE ctid = ANY ($1::tid[]) RETURNING waits_for AS reached");
    if (keeps_order) {
        (void)fprintf(writer.out, ", ");
        sql_put_key_text(writer.out, table, "o.key");
        (void)fprintf(writer.out, " AS left_key");
    }
    (void)fprintf(writer.out, ")");
    if (keeps_order)
        put_freed(writer.out, table);
    put_release(writer.out, table, options);
    put_count_check(writer.out);
    return writer_end(&writer);
}

char *sql_sent(const struct table *table, const struct outbox_options *options, bool parked)
{
    struct writer writer;

    if (parked)
        return sent_parked(table, options);
    if (!writer_begin(&writer))
        return NULL;
    if (options->on_sent == ON_SENT_MARK)
        (void)fprintf(writer.out,
                      "WITH touched AS (UPDATE %s SET %s = pg_catalog.clock_timestamp()",
                      table->quoted, table->columns[COLUMN_SENT_AT].quoted);
    else
        (void)fprintf(writer.out, "WITH touched AS (DELETE FROM %s", table->quoted);
    (void)fprintf(writer.out, " WHERE ctid = ANY ($1::tid[]) RETURNING 1)");
    put_count_check(writer.out);
    return writer_end(&writer);
}

static void put_moved_columns(FILE *out, const struct table *table, bool names_only)
{
    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++) {
        if (!table_has(table, (enum column)i))
            continue;
        if (names_only)
            (void)fprintf(out, "%s, ", column_name((enum column)i));
        else
            (void)fprintf(out, "o.%s AS %s, ", table->columns[i].quoted,
                          column_name((enum column)i));
    }
}

/* The parameters as rows. Of the rows that wait for one destination the first is its probe and
 * becomes due; the others have due = infinity until the destination is reached. */
static void put_parameters(FILE *out)
{
    (void)fprintf(out, "WITH given AS (SELECT *, CASE WHEN wait_ms = -2 THEN 'infinity'"
                       " WHEN wait_ms < 0 THEN NULL"
                       " WHEN waits_for IS NOT NULL AND pg_catalog.row_number()"
                       " OVER (PARTITION BY waits_for ORDER BY place) > 1 THEN 'infinity'"
                       " ELSE pg_catalog.clock_timestamp() + wait_ms * interval '1 millisecond'"
                       " END AS due FROM ROWS FROM (pg_catalog.unnest($1::tid[]),"
                       " pg_catalog.unnest($3::text[]), pg_catalog.unnest($4::int4[]),"
                       " pg_catalog.unnest($5::int8[]), pg_catalog.unnest($6::text[]))"
                       " WITH ORDINALITY AS g (relay_row, error, attempts, wait_ms, waits_for,"
                       " place)), ");
}

/* A parked row that no longer waits for its destination has reached it, even if it failed again for
 * another reason. A row that now waits for another destination leaves the others of the first one
 * without a probe, so they are released too. */
static void put_touched_parked(FILE *out, const struct table *table)
{
    (void)fprintf(out,
                  "touched AS (UPDATE %s o SET error = g.error, attempts = g.attempts,"
                  " due = g.due, waits_for = g.waits_for FROM given g, %s before"
                  " WHERE o.ctid = g.relay_row AND before.ctid = g.relay_row"
                  " AND o.ctid = ANY ($1::tid[]) AND before.ctid = ANY ($1::tid[])"
                  " RETURNING CASE WHEN g.waits_for IS DISTINCT FROM before.waits_for THEN"
                  " before.waits_for END AS reached)",
                  table->parked_quoted, table->parked_quoted);
}

/* A destination that has a probe already gets no second one. */
static void put_touched_outbox(FILE *out, const struct table *table,
                               const struct outbox_options *options)
{
    (void)fprintf(out, "gone AS (DELETE FROM %s o WHERE o.ctid = ANY ($1::tid[]) RETURNING ",
                  table->quoted);
    put_moved_columns(out, table, false);
    (void)fprintf(out, "o.ctid AS relay_row), touched AS (INSERT INTO %s (", table->parked_quoted);
    put_moved_columns(out, table, true);
    (void)fprintf(out, "error, attempts, waits_for, due) SELECT ");
    put_moved_columns(out, table, true);
    (void)fprintf(out, "g.error, g.attempts, g.waits_for, CASE WHEN g.waits_for IS NOT NULL AND ");
    sql_put_probe(out, table, options, "g.waits_for");
    (void)fprintf(out, " THEN 'infinity' ELSE g.due END"
                       " FROM gone JOIN given g USING (relay_row) ORDER BY g.place RETURNING 1)");
}

char *sql_park(const struct table *table, const struct outbox_options *options, bool parked)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    put_parameters(writer.out);
    if (parked) {
        put_touched_parked(writer.out, table);
        put_release(writer.out, table, options);
    } else {
        put_touched_outbox(writer.out, table, options);
    }
    put_count_check(writer.out);
    return writer_end(&writer);
}

char *sql_park_bare(const struct table *table)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(
        writer.out,
        "WITH gone AS (DELETE FROM %s WHERE ctid = $1::tid RETURNING %s AS id),"
        " touched AS (INSERT INTO %s (id, error, attempts) SELECT id, $2::text, 1 FROM gone"
        " RETURNING 1) SELECT 1 / count(*) FROM touched",
        table->quoted, id, table->parked_quoted);
    return writer_end(&writer);
}

/* A row without an id can never be claimed: a drain does not wait for it, but counts it. */
char *sql_remaining(const struct table *table, const struct outbox_options *options)
{
    const struct table_column *id = &table->columns[COLUMN_ID];
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT EXISTS (SELECT FROM %s WHERE true", table->quoted);
    sql_put_unsent(writer.out, table);
    if (!id->not_null)
        (void)fprintf(writer.out, " AND %s IS NOT NULL", id->quoted);
    if (options->order == ORDER_NONE)
        (void)fprintf(writer.out, " ORDER BY %s LIMIT 1", id->quoted);
    (void)fprintf(writer.out,
                  ") OR EXISTS (SELECT FROM %s waiting WHERE due <= pg_catalog.now()"
                  " AND sent_at IS NULL",
                  table->parked_quoted);
    if (sql_keeps_order(table, options))
        sql_put_head(writer.out, table, "waiting");
    (void)fprintf(writer.out,
                  "), (SELECT count(*) FROM (SELECT FROM %s WHERE sent_at IS NULL LIMIT 1000)"
                  " counted)",
                  table->parked_quoted);
    if (!id->not_null) {
        (void)fprintf(writer.out, " + (SELECT count(*) FROM (SELECT FROM %s WHERE %s IS NULL",
                      table->quoted, id->quoted);
        sql_put_unsent(writer.out, table);
        (void)fprintf(writer.out, " LIMIT 1000) lost)");
    }
    return writer_end(&writer);
}
