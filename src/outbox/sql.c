#include "outbox/sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The texts are built in memory streams: a failed write shows when the stream is closed. */
struct writer {
    FILE *out;
    char *text;
    size_t len;
};

static bool begin(struct writer *writer)
{
    *writer = (struct writer){0};
    writer->out = open_memstream(&writer->text, &writer->len);
    return writer->out != NULL;
}

static char *end(struct writer *writer)
{
    if (fclose(writer->out) == 0)
        return writer->text;
    free(writer->text);
    return NULL;
}

static bool is_bytes_or_text(const char *type)
{
    static const char varying[] = "character varying";

    if (strstr(type, "[]") != NULL)
        return false;
    return strcmp(type, "bytea") == 0 || strcmp(type, "text") == 0 ||
           strncmp(type, varying, sizeof varying - 1) == 0;
}

/* Numbers become strings here, because a JSON library would make them doubles. A nested value, or
 * anything but an object, is left for row_headers to refuse: an error here would fail the claim. */
static void put_jsonb_headers(FILE *out, const char *name)
{
    (void)fprintf(out,
                  "CASE WHEN jsonb_typeof(%s) = 'object' AND %s @? '$.* ? (@.type() == \"number\")'"
                  " THEN (SELECT jsonb_object_agg(k, CASE jsonb_typeof(v) WHEN 'number'"
                  " THEN to_jsonb(v::text) ELSE v END) FROM jsonb_each(%s) e (k, v))::text"
                  " ELSE %s::text END AS headers",
                  name, name, name, name);
}

/* bytea and text travel as they are; what else a column may be, as its text. */
static void put_text_column(FILE *out, const struct table *table, enum column column, bool parked)
{
    const struct table_column *described = &table->columns[column];
    const char *name = parked ? column_name(column) : described->quoted;

    if (column == COLUMN_HEADERS && strcmp(described->type, "jsonb") == 0) {
        put_jsonb_headers(out, name);
        return;
    }
    if (!table_has(table, column))
        (void)fprintf(out, "NULL::text");
    else
        (void)fprintf(out, "%s%s", name, is_bytes_or_text(described->type) ? "" : "::text");
    (void)fprintf(out, " AS %s", column_name(column));
}

static void put_lock_and_source(FILE *out, const struct table *table,
                                const struct outbox_options *options, bool parked, int limit)
{
    if (parked) {
        (void)fprintf(
            out,
            "SELECT ctid AS relay_row, * FROM %s WHERE due <= pg_catalog.statement_timestamp()"
            " AND (SELECT lsn FROM wal) IS NOT NULL ORDER BY due LIMIT %d"
            " FOR UPDATE SKIP LOCKED",
            table->parked_quoted, limit);
        return;
    }
    (void)fprintf(out,
                  "SELECT ctid AS relay_row, * FROM %s WHERE (SELECT lsn FROM wal) IS NOT NULL",
                  table->quoted);
    if (options->on_sent == ON_SENT_MARK)
        (void)fprintf(out, " AND %s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    (void)fprintf(out, " ORDER BY %s LIMIT %d FOR %s SKIP LOCKED", table->columns[COLUMN_ID].quoted,
                  limit, options->on_sent == ON_SENT_MARK ? "NO KEY UPDATE" : "UPDATE");
}

/* OFFSET 0 keeps the planner from evaluating a payload's text once for its length and once more. */
static void put_rows(FILE *out, const struct table *table, const struct outbox_options *options,
                     bool parked, int limit)
{
    (void)fprintf(out, "SELECT relay_row");
    for (int i = COLUMN_ID; i <= COLUMN_HEADERS; i++) {
        (void)fprintf(out, ", ");
        put_text_column(out, table, (enum column)i, parked);
    }
    if (table_has(table, COLUMN_CREATED_AT))
        (void)fprintf(out, ", %s::timestamptz AS created_at",
                      parked ? "created_at" : table->columns[COLUMN_CREATED_AT].quoted);
    else
        (void)fprintf(out, ", NULL::timestamptz AS created_at");
    (void)fprintf(out, ", %s AS attempts, %s AS waited_ms FROM (", parked ? "attempts" : "0",
                  parked ? "(extract(epoch FROM pg_catalog.clock_timestamp() - parked_at) * 1000)"
                           "::bigint"
                         : "0::bigint");
    put_lock_and_source(out, table, options, parked, limit);
    (void)fprintf(out, ") locked OFFSET 0");
}

char *sql_lock(const struct table *table)
{
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "LOCK TABLE ONLY %s, ONLY %s IN ROW EXCLUSIVE MODE", table->quoted,
                  table->parked_quoted);
    return end(&writer);
}

char *sql_claim(const struct table *table, const struct outbox_options *options, bool parked,
                int limit, int64_t inline_bytes)
{
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    /* The WAL position is read before the first lock and after the snapshot: every commit that the
     * snapshot sees lies before it, and our own lock records lie after it. */
    (void)fprintf(writer.out,
                  "WITH wal AS MATERIALIZED (SELECT pg_catalog.pg_current_wal_insert_lsn() AS lsn) "
                  "SELECT relay_row, id, event_id,"
                  " left(topic, 1025),"
                  " CASE WHEN small THEN key END, CASE WHEN small THEN type END,"
                  " CASE WHEN small THEN payload END, CASE WHEN small THEN headers END,"
                  " created_at, attempts, waited_ms, payload_len, rest_len,"
                  " pg_catalog.current_setting('synchronous_standby_names') = ''"
                  "   AND pg_catalog.pg_current_wal_flush_lsn() >= (SELECT lsn FROM wal) "
                  "FROM (SELECT *, payload_len::bigint + rest_len <= %" PRId64
                  " OR payload_len IS NULL AND rest_len <= %" PRId64 " AS small"
                  " FROM (SELECT *, octet_length(payload)::bigint AS payload_len,"
                  "       (coalesce(octet_length(key), 0)::bigint + coalesce(octet_length(type), 0)"
                  "        + coalesce(octet_length(headers), 0)) AS rest_len FROM (",
                  inline_bytes, inline_bytes);
    put_rows(writer.out, table, options, parked, limit);
    (void)fprintf(writer.out, ") texts OFFSET 0) sized) claimed");
    return end(&writer);
}

char *sql_fetch(const struct table *table, bool parked)
{
    static const enum column fetched[] = {COLUMN_KEY, COLUMN_TYPE, COLUMN_PAYLOAD, COLUMN_HEADERS};
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT ctid");
    for (size_t i = 0; i < sizeof fetched / sizeof *fetched; i++) {
        (void)fprintf(writer.out, ", ");
        put_text_column(writer.out, table, fetched[i], parked);
    }
    (void)fprintf(writer.out, " FROM %s WHERE ctid = ANY ($1::tid[])",
                  parked ? table->parked_quoted : table->quoted);
    return end(&writer);
}

/* Within the settling transaction a wrong count must be an error, or the COMMIT behind it in the
 * pipeline would seal it: a trigger or a rule can turn the statement into a silent no-op. */
static void put_count_check(FILE *out)
{
    (void)fprintf(
        out, ") SELECT CASE WHEN count(*) = $2::int4 THEN 0 ELSE"
             " ('settled ' || count(*) || ' rows instead of ' || $2::int4)::int4 END FROM touched");
}

char *sql_sent(const struct table *table, const struct outbox_options *options, bool parked)
{
    bool mark = options->on_sent == ON_SENT_MARK;
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "WITH touched AS (");
    if (!mark)
        (void)fprintf(writer.out, "DELETE FROM %s", parked ? table->parked_quoted : table->quoted);
    else if (parked)
        (void)fprintf(
            writer.out,
            "UPDATE %s SET sent_at = pg_catalog.clock_timestamp(), due = NULL, error = NULL",
            table->parked_quoted);
    else
        (void)fprintf(writer.out, "UPDATE %s SET %s = pg_catalog.clock_timestamp()", table->quoted,
                      table->columns[COLUMN_SENT_AT].quoted);
    (void)fprintf(writer.out, " WHERE ctid = ANY ($1::tid[]) RETURNING 1");
    put_count_check(writer.out);
    return end(&writer);
}

#define POSITION "pg_catalog.array_position($1::tid[], o.ctid)"
#define WAIT_MS "($5::int8[])[" POSITION "]"
#define DUE                                                                                        \
    "CASE WHEN " WAIT_MS " >= 0 THEN pg_catalog.clock_timestamp()"                                 \
    " + " WAIT_MS " * interval '1 millisecond' END"

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

char *sql_park(const struct table *table, bool parked)
{
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    if (parked) {
        (void)fprintf(writer.out,
                      "WITH touched AS (UPDATE %s o SET error = ($3::text[])[" POSITION "],"
                      " attempts = ($4::int4[])[" POSITION "], due = " DUE
                      " WHERE o.ctid = ANY ($1::tid[]) RETURNING 1",
                      table->parked_quoted);
    } else {
        (void)fprintf(writer.out,
                      "WITH gone AS (DELETE FROM %s o WHERE o.ctid = ANY ($1::tid[]) RETURNING ",
                      table->quoted);
        put_moved_columns(writer.out, table, false);
        (void)fprintf(writer.out,
                      "($3::text[])[" POSITION "] AS error, ($4::int4[])[" POSITION
                      "] AS attempts, " DUE " AS due), touched AS (INSERT INTO %s (",
                      table->parked_quoted);
        put_moved_columns(writer.out, table, true);
        (void)fprintf(writer.out, "error, attempts, due) SELECT ");
        put_moved_columns(writer.out, table, true);
        (void)fprintf(writer.out, "error, attempts, due FROM gone RETURNING 1");
    }
    put_count_check(writer.out);
    return end(&writer);
}

char *sql_leftover(const struct table *table, const struct outbox_options *options)
{
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT EXISTS (SELECT FROM %s", table->quoted);
    if (options->on_sent == ON_SENT_MARK)
        (void)fprintf(writer.out, " WHERE %s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    (void)fprintf(
        writer.out,
        " ORDER BY %s LIMIT 1) OR EXISTS (SELECT FROM %s WHERE due <= pg_catalog.now()),"
        " (SELECT count(*) FROM (SELECT FROM %s WHERE sent_at IS NULL LIMIT 1000) counted)",
        table->columns[COLUMN_ID].quoted, table->parked_quoted, table->parked_quoted);
    return end(&writer);
}

#define CUTOFF "pg_catalog.clock_timestamp() - $1::int8 * interval '1 millisecond'"

/* Ids that are handed out in order let the purge stop at the first young rows; others need a look
 * at every row. */
static bool has_sequential_ids(const struct table *table)
{
    const char *type = table->columns[COLUMN_ID].type;

    return strcmp(type, "bigint") == 0 || strcmp(type, "integer") == 0 ||
           strcmp(type, "smallint") == 0 || strncmp(type, "numeric", 7) == 0;
}

static void put_oldest(FILE *out, const struct table *table, int limit)
{
    const char *sent_at = table->columns[COLUMN_SENT_AT].quoted;

    if (has_sequential_ids(table))
        (void)fprintf(out,
                      "SELECT ctid FROM (SELECT ctid, %s AS sent_at FROM %s ORDER BY %s LIMIT %d)"
                      " oldest WHERE sent_at < " CUTOFF,
                      sent_at, table->quoted, table->columns[COLUMN_ID].quoted, limit);
    else
        (void)fprintf(out, "SELECT ctid FROM %s WHERE %s < " CUTOFF " LIMIT %d", table->quoted,
                      sent_at, limit);
}

char *sql_purge(const struct table *table, int limit)
{
    struct writer writer;

    if (!begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "WITH purged AS (DELETE FROM %s WHERE ctid = ANY (ARRAY(",
                  table->quoted);
    put_oldest(writer.out, table, limit);
    (void)fprintf(writer.out,
                  ")) AND %s < " CUTOFF " RETURNING 1),"
                  " purged_parked AS (DELETE FROM %s WHERE ctid = ANY (ARRAY(SELECT ctid FROM %s"
                  " WHERE sent_at < " CUTOFF " ORDER BY sent_at LIMIT %d)) AND sent_at < " CUTOFF
                  " RETURNING 1)"
                  " SELECT (SELECT count(*) FROM purged) + (SELECT count(*) FROM purged_parked)",
                  table->columns[COLUMN_SENT_AT].quoted, table->parked_quoted, table->parked_quoted,
                  limit);
    return end(&writer);
}
