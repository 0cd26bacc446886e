#include "admin/parked/replay_sql.h"

#include "catalog/sql_text.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_ROWS 10
/* Excludes copies that have been sent. */
#define PARKED_SENT "seq > 0 AND sent_at IS NOT NULL"

static void put_filter(FILE *out, const char *sent_at, const char *topic)
{
    (void)fprintf(out,
                  "($2::timestamptz IS NULL OR %s >= $2::timestamptz) AND %s < $3::timestamptz"
                  " AND ($4::text IS NULL OR %s::text = $4::text)"
                  " AND ($5::text IS NULL OR %s::text ~ $5::text)",
                  sent_at, sent_at, topic, topic);
}

static void put_ids(FILE *out, const char *id, const char *type)
{
    (void)fprintf(out,
                  "($1::text IS NULL OR %s > $1::text::%s) AND ($6::text IS NULL OR %s = ANY"
                  " ($6::text::%s[]))",
                  id, type, id, type);
}

/* Rows of the outbox and rows that had been parked before they were sent, in the order of the ids.
 * Any other row has been purged. */
static void put_chosen(FILE *out, const struct table *table)
{
    const char *id = table->columns[COLUMN_ID].quoted;
    const char *type = table->columns[COLUMN_ID].type;

    (void)fprintf(out,
                  "WITH looked AS MATERIALIZED (SELECT ctid AS place, %s AS id, %s AS sent_at,"
                  " %s AS topic FROM %s WHERE ",
                  id, table->columns[COLUMN_SENT_AT].quoted, table->columns[COLUMN_TOPIC].quoted,
                  table->quoted);
    put_ids(out, id, type);
    sql_put_where(out, table);
    (void)fprintf(out,
                  " ORDER BY %s LIMIT %d), edge AS MATERIALIZED (SELECT id FROM looked ORDER BY id"
                  " OFFSET %d LIMIT 1), chosen AS MATERIALIZED (SELECT * FROM (SELECT false AS"
                  " parked, place, id, sent_at, topic::text AS topic FROM looked WHERE ",
                  id, REPLAY_LOOKED_ROWS, REPLAY_LOOKED_ROWS - 1);
    put_filter(out, "sent_at", "topic");
    (void)fprintf(
        out,
        " UNION ALL SELECT true, ctid, id, sent_at, topic::text FROM %s WHERE " PARKED_SENT " AND ",
        table->parked_quoted);
    put_ids(out, "id", type);
    (void)fprintf(out, " AND (NOT EXISTS (SELECT FROM edge) OR id <= (SELECT id FROM edge)) AND ");
    put_filter(out, "sent_at", "topic");
    (void)fprintf(out, ") candidates ORDER BY id LIMIT $7::int4)");
}

static void put_columns(FILE *out, const struct table *table, bool mapped)
{
    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++)
        if (table_has(table, (enum column)i))
            (void)fprintf(out, "%s%s%s%s", i > COLUMN_ID ? ", " : "",
                          mapped ? table->columns[i].quoted : "", mapped ? " AS " : "",
                          column_name((enum column)i));
}

/* The first copy of a key is due, and the others follow it, like rows that were parked together. */
static void put_due(FILE *out, const struct table *table, bool keeps_order)
{
    if (!keeps_order) {
        (void)fprintf(out, "pg_catalog.clock_timestamp()");
        return;
    }
    (void)fprintf(out, "CASE WHEN (key IS NULL OR pg_catalog.row_number() OVER (PARTITION BY ");
    sql_put_key_text(out, table, "key");
    (void)fprintf(out, " ORDER BY id) = 1)");
    sql_put_head(out, table, "sent_row");
    (void)fprintf(out, " THEN pg_catalog.clock_timestamp() ELSE 'infinity' END");
}

static void put_copies(FILE *out, const struct table *table, bool keeps_order)
{
    (void)fprintf(out, ", sent_rows AS (SELECT ");
    put_columns(out, table, true);
    (void)fprintf(out,
                  " FROM %s WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE NOT parked))"
                  " UNION ALL SELECT ",
                  table->quoted);
    put_columns(out, table, false);
    (void)fprintf(out,
                  " FROM %s WHERE ctid = ANY (ARRAY(SELECT place FROM chosen WHERE parked)))"
                  ", copies AS (INSERT INTO %s (seq, due, error, ",
                  table->parked_quoted, table->parked_quoted);
    put_columns(out, table, false);
    (void)fprintf(out,
                  ") OVERRIDING SYSTEM VALUE SELECT (SELECT least(min(seq), 0) FROM %s)"
                  " - count(*) OVER () + pg_catalog.row_number() OVER (ORDER BY id) - 1, ",
                  table->parked_quoted);
    put_due(out, table, keeps_order);
    (void)fprintf(out, ", 'replayed', ");
    put_columns(out, table, false);
    (void)fprintf(out, " FROM sent_rows sent_row RETURNING 1)");
}

char *sql_replay(const struct table *table, const struct outbox_options *options, bool dry_run)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    put_chosen(writer.out, table);
    if (!dry_run)
        put_copies(writer.out, table, sql_keeps_order(table, options));
    (void)fprintf(writer.out,
                  " SELECT counted.*, shown.* FROM (SELECT (SELECT count(*) FROM %s), CASE WHEN"
                  " (SELECT count(*) FROM chosen) = $7::int4 THEN (SELECT id::text FROM chosen"
                  " ORDER BY chosen.id DESC LIMIT 1) ELSE (SELECT id::text FROM edge) END,"
                  " (SELECT id::text FROM chosen ORDER BY chosen.id DESC LIMIT 1)) counted"
                  " LEFT JOIN (SELECT id::text, pg_catalog.to_char(sent_at::timestamptz"
                  " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), left(topic, 256)"
                  " FROM chosen ORDER BY chosen.id LIMIT %d) shown ON true",
                  dry_run ? "chosen" : "copies", dry_run ? SHOWN_ROWS : 0);
    return writer_end(&writer);
}

static void put_hits(FILE *out, const struct table *table, bool parked, enum column column,
                     bool words_are_ids)
{
    const struct table_column *described = &table->columns[column];
    const char *name = parked ? column_name(column) : described->quoted;
    bool uuid = strcmp(described->type, "uuid") == 0;

    (void)fprintf(out, "SELECT %s AS id, word FROM %s JOIN wanted ON ",
                  parked ? "id" : table->columns[COLUMN_ID].quoted,
                  parked ? table->parked_quoted : table->quoted);
    if (words_are_ids)
        (void)fprintf(out, "%s = word::int8", name);
    else
        (void)fprintf(out, "%s::text = %s", name, uuid ? "lower(word)" : "word");
    if (parked)
        (void)fprintf(out, " WHERE " PARKED_SENT);
    else
        (void)fprintf(out, " WHERE %s IS NOT NULL", table->columns[COLUMN_SENT_AT].quoted);
    if (!parked)
        sql_put_where(out, table);
}

char *sql_replay_ids(const struct table *table, bool words_are_ids)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "WITH wanted AS (SELECT DISTINCT word FROM unnest($1::text[]) AS w"
                              " (word)), hits AS MATERIALIZED (");
    for (int i = 0; i < 2; i++) {
        (void)fprintf(writer.out, "%s", i > 0 ? " UNION " : "");
        put_hits(writer.out, table, i > 0, COLUMN_ID, words_are_ids);
        if (words_are_ids)
            continue;
        (void)fprintf(writer.out, " UNION ");
        put_hits(writer.out, table, i > 0, COLUMN_EVENT_ID, false);
    }
    (void)fprintf(writer.out,
                  "), missing AS (SELECT word FROM wanted WHERE word NOT IN (SELECT word FROM"
                  " hits)) SELECT (SELECT string_agg('\"' || left(word, 64) || '\"', ' or ' ORDER"
                  " BY word) FROM (SELECT word FROM missing ORDER BY word LIMIT 5) few),"
                  " (SELECT pg_catalog.array_agg(DISTINCT id)::text FROM hits)");
    return writer_end(&writer);
}
