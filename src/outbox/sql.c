#include "outbox/sql.h"

#include "catalog/refused.h"
#include "catalog/sql_text.h"
#include "outbox/slices/claim_parts.h"

#include <stdio.h>
#include <string.h>

#define RELEASE_BATCHES 4

/* A trigger or a rule can turn the statement into a silent no-op. A wrong count must therefore be
 * an error, or the COMMIT after it in the pipeline would succeed. */
static void put_count_check(FILE *out, const char *filter)
{
    (void)fprintf(out,
                  " SELECT CASE WHEN count(*) = $2::int4 THEN 0 ELSE ('settled ' || count(*) ||"
                  " ' rows instead of ' || $2::int4)::int4 END FROM touched%s",
                  filter);
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
 * shows the rows that it settles as unsent; `settled` excludes them. */
static void put_freed(FILE *out, const struct table *table, const char *gone, const char *settled)
{
    (void)fprintf(out,
                  ", freed AS (UPDATE %s SET due = pg_catalog.clock_timestamp()"
                  " WHERE due = 'infinity' AND waits_for IS NULL AND seq = ANY (ARRAY("
                  "SELECT next FROM (SELECT DISTINCT left_key FROM %s) gone,"
                  " LATERAL (SELECT seq AS next FROM %s behind WHERE ",
                  table->parked_quoted, gone, table->parked_quoted);
    sql_put_key_is(out, table, "behind.key", "gone.left_key");
    (void)fprintf(out, " AND sent_at IS NULL AND %s ORDER BY id LIMIT 1) nexts)))", settled);
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
        put_freed(writer.out, table, "touched", "ctid <> ALL ($1::tid[])");
    put_release(writer.out, table, options);
    put_count_check(writer.out, "");
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
    (void)fprintf(writer.out, " WHERE ctid = ANY ($1::tid[]) RETURNING ");
    if (options->on_sent == ON_SENT_MARK)
        (void)fprintf(writer.out, "%s IS NOT NULL", table->columns[COLUMN_SENT_AT].quoted);
    else
        (void)fprintf(writer.out, "true");
    (void)fprintf(writer.out, " AS settled)");
    put_count_check(writer.out, " WHERE settled");
    return writer_end(&writer);
}

char *sql_stay_settled(const struct table *table, const struct outbox_options *options)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "SELECT CASE WHEN count(*) = 0 THEN 0 ELSE ('settled rows of which '"
                  " || count(*) || ' are unsent again')::int4 END FROM ROWS FROM"
                  " (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::int4[])) AS relay_settled"
                  " (relay_id, relay_slice) JOIN %s ON %s = relay_id::%s",
                  table->quoted, table->columns[COLUMN_ID].quoted, table->columns[COLUMN_ID].type);
    if (options->order == ORDER_KEY) {
        (void)fprintf(writer.out, " AND ");
        sql_put_slice(writer.out, table, options->slices, false);
        (void)fprintf(writer.out, " = relay_slice");
    }
    (void)fprintf(writer.out, " WHERE true");
    sql_put_unsent(writer.out, table);
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
    put_count_check(writer.out, "");
    return writer_end(&writer);
}

/* ---- notes ---- */

static bool is_in_notes(const struct table *table, enum column column)
{
    return table_has(table, column) && column != COLUMN_PAYLOAD && column != COLUMN_HEADERS;
}

/* A row whose version has changed meanwhile gets no note: it is claimed again. */
char *sql_note(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "WITH given AS (SELECT * FROM ROWS FROM (pg_catalog.unnest($1::tid[]),"
                  " pg_catalog.unnest($3::text[]), pg_catalog.unnest($4::int4[]),"
                  " pg_catalog.unnest($5::int8[]), pg_catalog.unnest($6::text[]),"
                  " pg_catalog.unnest($7::text[])) AS g (relay_row, error, attempts,"
                  " wait_ms, waits_for, relay_id)), refused AS (SELECT ");
    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++)
        if (is_in_notes(table, (enum column)i))
            (void)fprintf(writer.out, "%s AS %s, ", table->columns[i].quoted,
                          column_name((enum column)i));
    (void)fprintf(writer.out, "ctid AS relay_row FROM %s WHERE ctid = ANY ($1::tid[])",
                  table->quoted);
    sql_put_claimable(writer.out, table);
    (void)fprintf(writer.out, " FOR NO KEY UPDATE SKIP LOCKED), noted AS (INSERT INTO %s (",
                  table->parked_quoted);
    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++)
        if (is_in_notes(table, (enum column)i))
            (void)fprintf(writer.out, "%s, ", column_name((enum column)i));
    (void)fprintf(writer.out, "error, attempts, waits_for, due) SELECT ");
    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++)
        if (is_in_notes(table, (enum column)i))
            (void)fprintf(writer.out, "%s, ", column_name((enum column)i));
    (void)fprintf(writer.out,
                  "g.error, g.attempts, g.waits_for, pg_catalog.clock_timestamp() + g.wait_ms"
                  " * interval '1 millisecond' FROM refused JOIN given g USING (relay_row)"
                  " WHERE refused.id::text = g.relay_id)"
                  " SELECT CASE WHEN count(*) + $2::int4 <= %d THEN 0 ELSE (count(*) || ' rows of"
                  " the outbox are refused, too many for notes')::int4 END"
                  " FROM (SELECT FROM %s WHERE " REFUSED_SQL " LIMIT %d) notes",
                  REFUSED_MAX, table->parked_quoted, REFUSED_MAX);
    return writer_end(&writer);
}

char *sql_renote(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "WITH given AS (SELECT * FROM ROWS FROM (pg_catalog.unnest($1::int8[]),"
                  " pg_catalog.unnest($3::text[]), pg_catalog.unnest($4::int4[]),"
                  " pg_catalog.unnest($5::int8[]), pg_catalog.unnest($6::text[]),"
                  " pg_catalog.unnest($7::text[])) AS g (noted, error, attempts, wait_ms,"
                  " waits_for, relay_id)), touched AS (UPDATE %s o SET error = g.error,"
                  " attempts = g.attempts, waits_for = g.waits_for, due ="
                  " pg_catalog.clock_timestamp() + g.wait_ms * interval '1 millisecond'"
                  " FROM given g WHERE o.seq = g.noted RETURNING 1)",
                  table->parked_quoted);
    put_count_check(writer.out, "");
    return writer_end(&writer);
}

void sql_put_due_notes(FILE *out, const struct table *table, const struct outbox_options *options)
{
    (void)fprintf(out, "SELECT seq AS relay_noted, id AS relay_noted_id,"
                       " event_id::text AS relay_noted_event_id, attempts AS relay_attempts,"
                       " parked_at AS relay_noted_at,"
                       " waits_for = '" REFUSED_SENT "' AS relay_is_sent");
    if (options->order == ORDER_KEY) {
        (void)fprintf(out, ", ");
        sql_put_slice(out, table, options->slices, true);
        (void)fprintf(out, " AS relay_noted_slice");
    }
    (void)fprintf(
        out, " FROM %s noted WHERE " REFUSED_SQL " AND due <= pg_catalog.statement_timestamp()",
        table->parked_quoted);
    if (options->order == ORDER_KEY) {
        (void)fprintf(out, " AND ");
        sql_put_slice(out, table, options->slices, true);
        (void)fprintf(out, " = ANY (" LOCKED_SLICES ")");
    }
}

/* The event id tells another row apart that was given the same id after a TRUNCATE. */
void sql_put_is_noted(FILE *out, const struct table *table, const struct outbox_options *options)
{
    if (options->order == ORDER_KEY) {
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, " = relay_noted_slice AND ");
    }
    (void)fprintf(out, "%s = relay_noted_id AND %s::text IS NOT DISTINCT FROM relay_noted_event_id",
                  table->columns[COLUMN_ID].quoted, table->columns[COLUMN_EVENT_ID].quoted);
    sql_put_unsent(out, table);
}

static void put_ended(FILE *out, const struct table *table, const struct outbox_options *options)
{
    bool keeps_order = sql_keeps_order(table, options);

    (void)fprintf(out, " RETURNING seq AS ended_seq");
    if (keeps_order) {
        (void)fprintf(out, ", ");
        sql_put_key_text(out, table, "key");
        (void)fprintf(out, " AS left_key");
    }
    (void)fprintf(out, ")");
    if (keeps_order)
        put_freed(out, table, "ended", "seq NOT IN (SELECT ended_seq FROM ended)");
    (void)fprintf(out, " SELECT count(*) FROM ended");
}

char *sql_end_notes(const struct table *table, const struct outbox_options *options)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "WITH ended AS (DELETE FROM %s WHERE seq = ANY ($1::int8[])",
                  table->parked_quoted);
    put_ended(writer.out, table, options);
    return writer_end(&writer);
}

char *sql_end_notes_of_none(const struct table *table, const struct outbox_options *options)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "WITH ended AS (DELETE FROM %s WHERE seq = ANY (ARRAY(SELECT relay_noted FROM (",
                  table->parked_quoted);
    sql_put_due_notes(writer.out, table, options);
    (void)fprintf(writer.out, ") relay_note WHERE NOT EXISTS (SELECT FROM %s WHERE ",
                  table->quoted);
    sql_put_is_noted(writer.out, table, options);
    (void)fprintf(writer.out, ")))");
    put_ended(writer.out, table, options);
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
    sql_put_claimable(writer.out, table);
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
