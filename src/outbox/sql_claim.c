/*
 * The text of the claim: which rows it locks, in which order, and what it returns of them.
 */
#include "outbox/sql.h"

#include "catalog/pauses.h"
#include "catalog/refused.h"
#include "catalog/shape.h"
#include "outbox/slices/claim_parts.h"
#include "pg/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_bytes_or_text(const char *type)
{
    static const char varying[] = "character varying";

    if (strstr(type, "[]") != NULL)
        return false;
    return strcmp(type, "bytea") == 0 || strcmp(type, "text") == 0 ||
           strncmp(type, varying, sizeof varying - 1) == 0;
}

static bool is_sent_binary(const struct table *table, enum column column)
{
    const char *type = table->columns[column].base;

    return is_bytes_or_text(type) || (column == COLUMN_EVENT_ID && strcmp(type, "uuid") == 0);
}

/* Turns numbers into strings, because a JSON library would make them doubles. Nested values, and
 * anything but an object, are left for row_headers() to refuse: an error here would make the whole
 * claim fail. */
static void put_jsonb_headers(FILE *out, const char *name)
{
    (void)fprintf(out,
                  "CASE WHEN jsonb_typeof(%s) = 'object' AND %s @? '$.* ? (@.type() == \"number\")'"
                  " THEN (SELECT jsonb_object_agg(k, CASE jsonb_typeof(v) WHEN 'number'"
                  " THEN to_jsonb(v::text) ELSE v END) FROM jsonb_each(%s) e (k, v))::text"
                  " ELSE %s::text END AS headers",
                  name, name, name, name);
}

/* A subquery, so that it is evaluated once. */
#define IS_CAREFUL                                                                                 \
    "(SELECT coalesce(pg_catalog.current_setting('outbox_relay.careful', true), '') <> '')"
#define SMALLEST_BYTES 100
#define LARGE_BYTES 2000 /* longer values are TOASTed: compressed or stored out of line */

/* After the last row that fits, large values are not converted to text any more: 1 MiB of jsonb
 * takes 2 ms. A value that is small on disk can take seconds, so none is converted once the claim
 * has lasted 500 ms; and after a claim that took too long, only the smallest are. The row is then
 * claimed alone. */
static void put_payload_text(FILE *out, const char *name, const struct outbox_options *options,
                             const struct claim_text *text)
{
    (void)fprintf(out, "CASE WHEN pg_catalog.pg_column_size(%s) <= ", name);
    if (text->limit > 1)
        (void)fprintf(out,
                      "CASE WHEN " IS_CAREFUL " THEN %d ELSE %d END OR NOT " IS_CAREFUL
                      " AND pg_catalog.clock_timestamp() <"
                      " pg_catalog.statement_timestamp() + interval '500 ms' AND ",
                      SMALLEST_BYTES, LARGE_BYTES);
    else
        (void)fprintf(out, "%d OR ", LARGE_BYTES);
    (void)fprintf(out, TAKEN_BYTES " <= %" PRId64 " THEN %s::text END AS payload",
                  options->batch_bytes, name);
}

/* bytea, text and the event id's uuid are sent in their binary format, all other types as text. */
static void put_text_column(FILE *out, const struct table *table,
                            const struct outbox_options *options, enum column column,
                            const struct claim_text *text)
{
    const struct table_column *described = &table->columns[column];
    const char *name = text->kind == CLAIM_PARKED ? column_name(column) : described->quoted;

    if (column == COLUMN_PAYLOAD && !is_sent_binary(table, column)) {
        put_payload_text(out, name, options, text);
        return;
    }
    if (column == COLUMN_HEADERS && strcmp(described->base, "jsonb") == 0) {
        put_jsonb_headers(out, name);
        return;
    }
    if (!table_has(table, column))
        (void)fprintf(out, "NULL::text");
    else
        (void)fprintf(out, "%s%s", name, is_sent_binary(table, column) ? "" : "::text");
    (void)fprintf(out, " AS %s", column_name(column));
}

/* The rows of the slices that sql_lock_slices has locked: slice by slice, from each its share of
 * the limit. No other lane claims rows of these slices. A row that some other session has locked
 * must be waited for, because skipping it would reorder its key. */
static int put_slices_source(FILE *out, const struct table *table,
                             const struct outbox_options *options, const struct claim_text *text)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    const char *lock = options->on_sent == ON_SENT_MARK ? "FOR NO KEY UPDATE" : "FOR UPDATE";
    int status;

    (void)fprintf(out,
                  "SELECT taken.*, relay_slice FROM ROWS FROM (pg_catalog.unnest(" LOCKED_SLICES
                  "), pg_catalog.unnest(" LOCKED_LOWS "), pg_catalog.unnest(" LOCKED_HIGHS
                  ")) AS locked (relay_slice, relay_low, relay_high),"
                  " LATERAL (SELECT ctid AS relay_row, xmin AS relay_xmin, * FROM %s"
                  " WHERE (SELECT lsn FROM wal) IS NOT NULL AND ",
                  table->quoted);
    sql_put_in_slice(out, table, options->slices, "relay_slice",
                     "CASE WHEN (SELECT running FROM held) THEN relay_high ELSE relay_low END");
    sql_put_claimable(out, table);
    status = sql_put_sinks(out, table, text->routes, false, 1);
    (void)fprintf(out, " ORDER BY ");
    sql_put_slice(out, table, options->slices, false);
    (void)fprintf(out,
                  ", %s LIMIT (SELECT (%d + n) / n FROM (SELECT "
                  "greatest(pg_catalog.cardinality(" LOCKED_SLICES
                  "), 1)) shares (n)) %s) taken LIMIT %d",
                  id, text->limit - 1, lock, text->limit);
    return status;
}

/* The first row of a key is due. The later rows of the key are claimed with it, up to the first one
 * that has to wait for a reason of its own. */
static void put_runs(FILE *out, const struct table *table, int limit)
{
    const char *parked = table->parked_quoted;

    (void)fprintf(out,
                  "SELECT run FROM (SELECT seq AS run, bool_or(due IS NULL OR"
                  " due > pg_catalog.statement_timestamp() AND due < 'infinity' OR"
                  " NOT " NOT_REFUSED_SQL
                  ") OVER (ORDER BY id) AS stopped FROM (SELECT seq, id, due, waits_for FROM %s"
                  " behind WHERE ",
                  parked);
    sql_put_key_is(out, table, "behind.key", "head.key_text");
    (void)fprintf(out,
                  " AND behind.id >= head.id AND behind.sent_at IS NULL ORDER BY id LIMIT %d)"
                  " next) judged WHERE NOT stopped UNION ALL SELECT head.seq"
                  " WHERE head.key_text IS NULL",
                  limit);
}

/* The due rows of the slices that sql_lock_parked_slices has locked. Rows are found by seq and not
 * by ctid: a row that an operator updates at the same time is waited for and found again. By ctid
 * it would be missed, and later rows of its key would overtake it. */
static int put_runs_source(FILE *out, const struct table *table,
                           const struct outbox_options *options, const struct claim_text *text)
{
    const char *parked = table->parked_quoted;
    int status;

    (void)fprintf(out,
                  "SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice FROM %s"
                  " WHERE (SELECT lsn FROM wal) IS NOT NULL AND sent_at IS NULL AND due IS NOT "
                  "NULL AND seq = ANY (ARRAY("
                  "SELECT run FROM (SELECT seq, id, ",
                  parked);
    sql_put_key_text(out, table, "key");
    (void)fprintf(out,
                  " AS key_text FROM %s due_row"
                  " WHERE due <= pg_catalog.statement_timestamp() AND sent_at IS NULL"
                  " AND " NOT_REFUSED_SQL " AND ",
                  parked);
    sql_put_slice(out, table, options->slices, true);
    (void)fprintf(out, " = ANY (" LOCKED_SLICES ")");
    status = sql_put_sinks(out, table, text->routes, true, 1);
    sql_put_head(out, table, "due_row");
    (void)fprintf(out, " ORDER BY due LIMIT %d) head, LATERAL (", text->limit);
    put_runs(out, table, text->limit);
    (void)fprintf(out, ") runs LIMIT %d)) ORDER BY id FOR UPDATE", text->limit);
    return status;
}

/* A row that is only to be settled is out of its key's order: it has been sent. Of the others only
 * the first of a key is tried. */
static int put_refused_source(FILE *out, const struct table *table,
                              const struct outbox_options *options, const struct claim_text *text)
{
    bool by_slice = options->order == ORDER_KEY;
    int status;

    (void)fprintf(out, "SELECT relay_outbox.ctid AS relay_row, relay_outbox.xmin AS relay_xmin,"
                       " relay_outbox.*, relay_note.*, ");
    if (by_slice)
        sql_put_slice(out, table, options->slices, false);
    else
        (void)fprintf(out, "0");
    (void)fprintf(out, " AS relay_slice FROM (");
    sql_put_due_notes(out, table, options);
    if (by_slice)
        (void)fprintf(out, " AND (waits_for = '" REFUSED_SENT "' OR true");
    if (sql_keeps_order(table, options))
        sql_put_head(out, table, "noted");
    if (by_slice)
        (void)fprintf(out, ")");
    (void)fprintf(out, " ORDER BY due LIMIT %d) relay_note JOIN %s relay_outbox ON ", text->limit,
                  table->quoted);
    sql_put_is_noted(out, table, options);
    (void)fprintf(out, " WHERE (SELECT lsn FROM wal) IS NOT NULL");
    status = sql_put_sinks(out, table, text->routes, false, 1);
    (void)fprintf(out, " ORDER BY %s LIMIT %d FOR UPDATE OF relay_outbox SKIP LOCKED",
                  table->columns[COLUMN_ID].quoted, text->limit);
    return status;
}

static bool is_bounded(const struct table *table, const struct claim_text *text)
{
    return text->kind == CLAIM_TABLE && !text->alone && table_has_integer_ids(table);
}

static int put_source(FILE *out, const struct table *table, const struct outbox_options *options,
                      const struct claim_text *text)
{
    bool parked = text->kind == CLAIM_PARKED;
    const char *id = table->columns[COLUMN_ID].quoted;
    const char *lock =
        options->on_sent == ON_SENT_MARK && !parked ? "FOR NO KEY UPDATE" : "FOR UPDATE";

    if (text->alone) {
        (void)fprintf(out,
                      "SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice FROM %s"
                      " WHERE (SELECT lsn FROM wal) IS NOT NULL AND ctid = $3::tid"
                      " AND $1::int8 IS NOT NULL",
                      parked ? table->parked_quoted : table->quoted);
        return 0;
    }
    if (text->kind == CLAIM_SLICES)
        return put_slices_source(out, table, options, text);
    if (text->kind == CLAIM_REFUSED)
        return put_refused_source(out, table, options, text);
    if (parked && sql_keeps_order(table, options))
        return put_runs_source(out, table, options, text);
    (void)fprintf(out,
                  "SELECT ctid AS relay_row, xmin AS relay_xmin, *, 0 AS relay_slice FROM %s"
                  " WHERE (SELECT lsn FROM wal) IS NOT NULL",
                  parked ? table->parked_quoted : table->quoted);
    if (parked)
        (void)fprintf(out, " AND due <= pg_catalog.statement_timestamp() AND sent_at IS NULL"
                           " AND " NOT_REFUSED_SQL);
    else
        sql_put_claimable(out, table);
    if (is_bounded(table, text)) {
        (void)fprintf(out, " AND %s >= CASE WHEN NOT ", id);
        sql_put_file_is(out, table, "$6::int8");
        (void)fprintf(out,
                      " THEN " SQL_LOWEST_ID " WHEN (SELECT running FROM held) THEN $4::int8"
                      " ELSE $3::int8 END AND %s <= $7::int8",
                      id);
    }
    if (sql_put_sinks(out, table, text->routes, parked, 1) < 0)
        return -1;
    (void)fprintf(out, " ORDER BY %s LIMIT %d %s SKIP LOCKED", parked ? "due" : id, text->limit,
                  lock);
    return 0;
}

/* Whether a row of the same key is parked. Nothing is looked up while no row with a key is parked.
 * Otherwise each key of the batch is looked up only once, because the index may be full of dead
 * entries. OFFSET 0 keeps the planner from a join that compares each key with each parked row,
 * which it likes as long as it takes the parked table for empty. */
static void put_blocked(FILE *out, const struct table *table, const struct claim_text *text,
                        const struct outbox_options *options)
{
    const char *key = table->columns[COLUMN_KEY].quoted;

    if (text->kind != CLAIM_SLICES || !sql_keeps_order(table, options)) {
        (void)fprintf(out, "NULL::bool");
        return;
    }
    (void)fprintf(out,
                  "CASE WHEN (SELECT EXISTS (SELECT FROM %s WHERE sent_at IS NULL AND key IS NOT"
                  " NULL)) THEN nullif(coalesce(",
                  table->parked_quoted);
    sql_put_key_text(out, table, key);
    (void)fprintf(out, " IN (SELECT key_text FROM (SELECT DISTINCT ");
    sql_put_key_text(out, table, key);
    (void)fprintf(out, " AS key_text FROM locked) keys WHERE EXISTS (SELECT FROM %s parked WHERE ",
                  table->parked_quoted);
    sql_put_key_is(out, table, "parked.key", "keys.key_text");
    (void)fprintf(out, " AND parked.sent_at IS NULL OFFSET 0)), false), false) END");
}

/* For how long the row has waited since this time; takes its column. */
#define WAITED_MS "(extract(epoch FROM pg_catalog.clock_timestamp() - %s) * 1000)::bigint"

/* OFFSET 0 keeps the planner from converting a payload to text twice, once for its length. */
static void put_rows(FILE *out, const struct table *table, const struct outbox_options *options,
                     const struct claim_text *text, const char *source)
{
    bool parked = text->kind == CLAIM_PARKED;

    (void)fprintf(out, "SELECT relay_row, relay_xmin");
    for (int i = COLUMN_ID; i <= COLUMN_HEADERS; i++) {
        (void)fprintf(out, ", ");
        put_text_column(out, table, options, (enum column)i, text);
    }
    (void)fprintf(out, ", %s IS NULL AS tombstone",
                  parked ? "payload" : table->columns[COLUMN_PAYLOAD].quoted);
    if (table_has(table, COLUMN_CREATED_AT))
        (void)fprintf(out, ", %s::timestamptz AS created_at",
                      parked ? "created_at" : table->columns[COLUMN_CREATED_AT].quoted);
    else
        (void)fprintf(out, ", NULL::timestamptz AS created_at");
    (void)fprintf(out, ", relay_slice, ");
    put_blocked(out, table, text, options);
    (void)fprintf(out, " AS blocked");
    if (parked)
        (void)fprintf(out,
                      ", attempts, " WAITED_MS " AS waited_ms,"
                      " CASE WHEN seq < 0 THEN parked_at END AS replayed_at",
                      "parked_at");
    else if (text->kind == CLAIM_REFUSED)
        (void)fprintf(out,
                      ", relay_attempts AS attempts, " WAITED_MS " AS waited_ms,"
                      " NULL::timestamptz AS replayed_at, relay_noted, relay_is_sent",
                      "relay_noted_at");
    (void)fprintf(out, " FROM ");
    (void)fprintf(out, text->kind == CLAIM_SLICES ? "locked OFFSET 0" : "(%s) locked OFFSET 0",
                  source);
}

char *sql_lock(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "LOCK TABLE ONLY %s, ONLY %s IN ROW EXCLUSIVE MODE", table->quoted,
                  table->parked_quoted);
    return writer_end(&writer);
}

static char *make_source(const struct table *table, const struct outbox_options *options,
                         const struct claim_text *text)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    return writer_end_if(&writer, put_source(writer.out, table, options, text));
}

/* Decides by the claim's own snapshot which of the two bounds it may read from. */
static void put_held(FILE *out, const struct table *table, const struct claim_text *text)
{
    if (text->alone || (text->kind != CLAIM_SLICES && !is_bounded(table, text)))
        return;
    (void)fprintf(out, "held AS MATERIALIZED (SELECT pg_catalog.set_config(" READ_HIGH ", ");
    sql_put_running(out, text->kind == CLAIM_SLICES ? LONG_HOLDERS : "$5::xid8[]");
    (void)fprintf(out, "::text, true)::bool AS running), ");
}

/* Reads the WAL position before the first lock, so that the claim's own lock records lie after it.
 */
static void put_wal(FILE *out)
{
    (void)fprintf(out, "wal AS MATERIALIZED (SELECT pg_catalog.set_config(" SEEN_WAL ", CASE"
                       " pg_catalog.current_setting(" SEEN_SNAPSHOT ", true)"
                       " WHEN pg_catalog.pg_current_snapshot()::text"
                       " THEN pg_catalog.current_setting(" SEEN_WAL ", true)"
                       " ELSE pg_catalog.pg_current_wal_insert_lsn()::text END, true) AS lsn,"
                       " pg_catalog.age(pg_catalog.pg_snapshot_xmin("
                       "pg_catalog.pg_current_snapshot())::xid) AS edge)");
}

/* A row that changed before it was locked is returned in a version that the snapshot does not see;
 * then everything up to the current WAL position must be flushed. The age of its xmin shows whether
 * this is possible. */
static void put_row(FILE *out)
{
    (void)fprintf(out, "CASE WHEN pg_catalog.age(relay_xmin) > (SELECT edge FROM wal)"
                       " THEN relay_row WHEN pg_catalog.set_config(" SEEN_WAL
                       ", pg_catalog.pg_current_wal_insert_lsn()::text, true) IS NOT NULL"
                       " THEN relay_row END");
}

char *sql_pauses(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    sql_put_pauses(writer.out, table);
    return writer_end(&writer);
}

/* The pauses are read here, by a snapshot that is younger than the table lock of this transaction:
 * `pause` waits for those who held that lock when it committed, so that all others have seen it. */
char *sql_claimed(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "SELECT pg_catalog.current_setting('synchronous_standby_names') = ''"
                  " AND pg_catalog.pg_current_wal_flush_lsn()"
                  " >= nullif(pg_catalog.current_setting(" SEEN_WAL ", true), '')::pg_lsn,"
                  " pg_catalog.pg_current_xact_id_if_assigned(),"
                  " pg_catalog.transaction_timestamp(), pg_catalog.clock_timestamp(),"
                  " nullif(pg_catalog.current_setting(" READ_HIGH ", true), '')::bool, (");
    sql_put_pauses(writer.out, table);
    (void)fprintf(writer.out, "), (");
    sql_put_shape(writer.out, table);
    (void)fprintf(writer.out,
                  "), CASE WHEN EXISTS (SELECT FROM %s WHERE " REFUSED_SQL
                  ") THEN EXISTS (SELECT FROM %s WHERE " REFUSED_SQL
                  " AND due <= pg_catalog.statement_timestamp()) END,"
                  " pg_catalog.set_config('statement_timeout', '%d', true)",
                  table->parked_quoted, table->parked_quoted, SESSION_STATEMENT_MS);
    return writer_end(&writer);
}

#define REST_LEN                                                                                   \
    "(coalesce(octet_length(key), 0)::bigint + coalesce(octet_length(type), 0)"                    \
    " + coalesce(octet_length(headers), 0))"
#define ROW_LEN "(coalesce(octet_length(payload), 0) + " REST_LEN ")"

/* A row above the inline limit is returned in full while the sum of such rows fits into the batch;
 * the first one is returned in any case. */
static void put_whole(FILE *out, const struct outbox_options *options, int64_t inline_bytes)
{
    (void)fprintf(out,
                  "CASE WHEN payload IS NULL AND NOT tombstone THEN false"
                  " WHEN " ROW_LEN " <= %" PRId64 " THEN true"
                  " WHEN octet_length(payload) > $2::int8 OR " REST_LEN " > %d THEN false"
                  " ELSE pg_catalog.set_config(" TAKEN ", (" TAKEN_BYTES " + " ROW_LEN ")::text,"
                  " true)::int8 <= greatest(" ROW_LEN ", %" PRId64 ") END AS whole",
                  inline_bytes, CLAIM_REST_BYTES_MAX, options->batch_bytes);
}

char *sql_claim(const struct table *table, const struct outbox_options *options,
                const struct claim_text *text)
{
    char *source = make_source(table, options, text);
    struct writer writer;

    if (source == NULL || !writer_begin(&writer)) {
        free(source);
        return NULL;
    }
    (void)fprintf(writer.out, "WITH ");
    put_held(writer.out, table, text);
    put_wal(writer.out);
    if (text->kind == CLAIM_SLICES) /* read twice: for the rows and for their keys */
        (void)fprintf(writer.out, ", locked AS MATERIALIZED (%s)", source);
    (void)fprintf(writer.out, " SELECT ");
    put_row(writer.out);
    (void)fprintf(
        writer.out,
        ", id, event_id,"
        " CASE WHEN octet_length(topic) > 1025 THEN left(topic, 1025) ELSE topic END,"
        " CASE WHEN whole OR octet_length(key) <= %d THEN key END,"
        " CASE WHEN whole THEN type END,"
        " CASE WHEN whole THEN payload END, CASE WHEN whole THEN headers END, created_at,"
        " CASE WHEN NOT whole THEN pg_catalog.int8send(coalesce(octet_length(payload), -1))"
        " || pg_catalog.int8send(" REST_LEN ") END, relay_slice, blocked%s"
        " FROM (SELECT *, ",
        CLAIM_KEY_BYTES_MAX,
        text->kind == CLAIM_PARKED ? ", attempts, waited_ms, replayed_at"
        : text->kind == CLAIM_REFUSED
            ? ", attempts, waited_ms, replayed_at, relay_noted, relay_is_sent"
            : "");
    put_whole(writer.out, options, text->inline_bytes);
    (void)fprintf(writer.out, " FROM (");
    put_rows(writer.out, table, options, text, source);
    (void)fprintf(writer.out, ") texts OFFSET 0) claimed");
    free(source);
    return writer_end(&writer);
}

char *sql_first_row(const struct table *table, const struct outbox_options *options,
                    const struct claim_text *text)
{
    const char *id = text->kind == CLAIM_PARKED ? "id" : table->columns[COLUMN_ID].quoted;
    struct writer writer;
    int status;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "WITH ");
    put_held(writer.out, table, text);
    put_wal(writer.out);
    (void)fprintf(writer.out, " SELECT relay_row, %s::text%s FROM (", id,
                  text->kind == CLAIM_REFUSED ? ", relay_noted, relay_is_sent" : "");
    status = put_source(writer.out, table, options, text);
    (void)fprintf(writer.out, ") locked WHERE $2::int8 IS NOT NULL");
    return writer_end_if(&writer, status);
}
