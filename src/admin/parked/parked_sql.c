#include "admin/parked/parked_sql.h"

#include "catalog/pauses.h"
#include "catalog/refused.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"
#include "route/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'"
/* Texts are cut to this length, because a row may be parked for a huge text, and a page has 1,000
 * rows. */
#define LISTED_MAX 1024
#define SHOWN_MAX 4097
#define NO_MAX 0
#define STATE                                                                                      \
    "CASE WHEN due IS NULL THEN 'dead' WHEN " REFUSED_SQL                                          \
    " THEN 'refused' ELSE 'waiting' END AS state"
#define LEFT_S "ceil(extract(epoch FROM due - clock_timestamp()))"
/* A probe that is under way, and a row that is due, are next. */
#define STATE_IN_WORDS                                                                             \
    "CASE WHEN due IS NULL THEN 'dead' WHEN due = 'infinity' AND waits_for IS NULL"                \
    " THEN 'waiting behind its key' WHEN " REFUSED_SQL                                             \
    " THEN 'refused by PostgreSQL' WHEN waits_for LIKE '" PAUSED_PREFIX "%%' THEN 'paused'"        \
    " WHEN due = 'infinity' THEN 'waiting for its topic'"                                          \
    " WHEN due <= clock_timestamp() THEN 'waiting, next try now'"                                  \
    " WHEN due < clock_timestamp() + interval '100 s' THEN 'waiting, next try in ' || " LEFT_S     \
    " || ' s' WHEN due < clock_timestamp() + interval '100 min' THEN 'waiting, next try in '"      \
    " || ceil(" LEFT_S " / 60) || ' min' ELSE 'waiting till ' || to_char(due" TIME                 \
    ") END AS state"

static bool changes(const struct parked_request *request)
{
    return !request->dry_run && (request->verb == PARKED_RETRY || request->verb == PARKED_DROP);
}

static const char *result_word(const struct parked_request *request)
{
    if (request->verb == PARKED_RETRY)
        return request->dry_run ? "would retry" : "retried";
    return request->dry_run ? "would drop" : "dropped";
}

static void put_as_text(FILE *out, const char *column, enum parked_detail detail, int max)
{
    (void)fprintf(out, "%s", max > 0 ? "left(" : "");
    if (detail == PARKED_WHOLE)
        (void)fprintf(out, "%s::text", column);
    else
        (void)fprintf(out, "encode(convert_to(%s::text, getdatabaseencoding()), 'escape')", column);
    if (max > 0)
        (void)fprintf(out, ", %d)", max);
    (void)fprintf(out, " AS %s", column);
}

static void put_text(FILE *out, const char *column, enum parked_detail detail, int max)
{
    if (detail == PARKED_LEFT_OUT)
        (void)fprintf(out, "NULL::text AS %s", column);
    else
        put_as_text(out, column, detail, max);
}

/* The value itself, which becomes JSON, if PostgreSQL can return it; else its escaped text or
 * NULL. */
static void put_value(FILE *out, const char *column, enum parked_detail detail)
{
    if (detail == PARKED_WHOLE)
        (void)fprintf(out, "%s", column);
    else
        put_text(out, column, detail, NO_MAX);
}

static void put_ids(FILE *out, enum parked_detail detail)
{
    put_as_text(out, "id", detail, NO_MAX);
    (void)fprintf(out, ", ");
    put_as_text(out, "event_id", detail, LISTED_MAX);
    (void)fprintf(out, ", ");
}

static void put_texts(FILE *out, enum parked_detail detail, int max)
{
    static const char *const columns[] = {"topic", "key", "type"};

    for (int i = 0; i < 3; i++) {
        put_text(out, columns[i], detail, max);
        (void)fprintf(out, ", ");
    }
}

/* The error is never left out: the relay itself has written it, and it says why the row is
 * parked. */
static void put_error(FILE *out, enum parked_detail detail, int max)
{
    put_as_text(out, "error", detail, max);
}

static void put_payload_bytes(FILE *out, const struct parked_shape *shape)
{
    if (shape->detail == PARKED_LEFT_OUT)
        (void)fprintf(out, "NULL::bigint AS payload_bytes, ");
    else
        (void)fprintf(out, "octet_length(%s) AS payload_bytes, ",
                      shape->payload_is_bytea ? "payload" : "payload::text");
}

static void put_whole_row(FILE *out, const struct parked_shape *shape)
{
    put_ids(out, shape->detail);
    put_texts(out, shape->detail, NO_MAX);
    (void)fprintf(out, STATE ", attempts, due, ");
    put_error(out, shape->detail, NO_MAX);
    (void)fprintf(out, ", parked_at, ");
    put_value(out, "created_at", shape->detail);
    (void)fprintf(out, ", ");
    put_value(out, "headers", shape->detail);
    (void)fprintf(out, ", ");
    put_payload_bytes(out, shape);
    put_value(out, "payload", shape->detail);
}

static void put_shown_row(FILE *out, const struct parked_shape *shape)
{
    put_ids(out, shape->detail);
    (void)fprintf(out, STATE_IN_WORDS ", ");
    put_texts(out, shape->detail, SHOWN_MAX);
    put_text(out, "created_at", shape->detail, NO_MAX);
    (void)fprintf(out, ", to_char(parked_at" TIME ") AS parked_at, attempts, ");
    put_error(out, shape->detail, SHOWN_MAX);
    (void)fprintf(out, ", ");
    put_text(out, "headers", shape->detail, SHOWN_MAX);
    (void)fprintf(out, ", ");
    put_payload_bytes(out, shape);
    if (shape->payload_is_bytea && shape->detail != PARKED_LEFT_OUT)
        (void)fprintf(out, "substring(payload FROM 1 FOR %d) AS payload", PARKED_PAYLOAD_MAX);
    else
        put_text(out, "payload", shape->detail, PARKED_PAYLOAD_MAX);
}

static void put_values(FILE *out, const struct parked_request *request,
                       const struct parked_shape *shape)
{
    if (request->verb == PARKED_SHOW && request->json) {
        put_whole_row(out, shape);
        return;
    }
    if (request->verb == PARKED_SHOW) {
        put_shown_row(out, shape);
        return;
    }
    if (request->json && request->verb != PARKED_LIST)
        (void)fprintf(out, "'%s' AS result, ", result_word(request));
    if (request->json) {
        put_ids(out, shape->detail);
        put_texts(out, shape->detail, LISTED_MAX);
        if (request->verb == PARKED_LIST)
            (void)fprintf(out, STATE ", attempts, due, ");
        put_error(out, shape->detail, LISTED_MAX);
        if (request->verb == PARKED_LIST)
            (void)fprintf(out, ", parked_at");
        return;
    }
    put_as_text(out, "id", shape->detail, NO_MAX);
    (void)fprintf(out, ", " STATE_IN_WORDS ", ");
    put_as_text(out, "event_id", shape->detail, LISTED_MAX);
    (void)fprintf(out, ", ");
    put_texts(out, shape->detail, LISTED_MAX);
    (void)fprintf(out, "attempts, ");
    put_error(out, shape->detail, LISTED_MAX);
}

/* Selects seq and the row's values, or one JSON object of these values. A change without --json
 * reports no values, so that it cannot fail because of one. */
static void put_row(FILE *out, const struct parked_request *request,
                    const struct parked_shape *shape)
{
    (void)fprintf(out, "seq");
    if (changes(request) && !request->json)
        return;
    (void)fprintf(out, ", %s", request->json ? "(SELECT row_to_json(r) FROM (SELECT " : "");
    put_values(out, request, shape);
    (void)fprintf(out, "%s", request->json ? ") r) AS json" : "");
}

/* A uuid is compared in PostgreSQL's spelling, which is lower case; any other id literally. */
static void put_hits(FILE *out, const struct table *table, enum column column)
{
    bool uuid = strcmp(schema_type(table, column), "uuid") == 0;

    (void)fprintf(out,
                  "SELECT seq AS hit, word FROM %s JOIN wanted ON %s::text = %s"
                  " WHERE sent_at IS NULL",
                  table->parked_quoted, column_name(column), uuid ? "lower(word)" : "word");
}

/* There is a separate join for each id column, so that PostgreSQL can use a hash join for many ids.
 * The rows are locked before anything is decided. A row that PostgreSQL refuses is still in the
 * outbox, from where it would be sent again if its note were dropped. */
static void put_chosen_by_id(FILE *out, const struct table *table,
                             const struct parked_request *request)
{
    (void)fprintf(
        out, "WITH wanted AS MATERIALIZED (SELECT DISTINCT word FROM unnest($1::text[]) AS w (word)"
             "), hits AS MATERIALIZED (");
    put_hits(out, table, COLUMN_ID);
    (void)fprintf(out, " UNION ");
    put_hits(out, table, COLUMN_EVENT_ID);
    (void)fprintf(
        out,
        "), locked AS MATERIALIZED (SELECT seq AS locked_seq FROM %s WHERE seq = ANY"
        " (ARRAY(SELECT hit FROM hits)) AND sent_at IS NULL%s%s),"
        " missing AS MATERIALIZED (SELECT word FROM wanted WHERE word NOT IN"
        " (SELECT word FROM hits JOIN locked ON hit = locked_seq)),"
        " missing_words AS (SELECT (SELECT string_agg('\"' || left(word, 64) || '\"',"
        " ' or ' ORDER BY word) FROM (SELECT word FROM missing ORDER BY word LIMIT 5) few)"
        " || CASE WHEN count(*) > 5 THEN ' or ' || count(*) - 5 || ' more' ELSE '' END"
        " AS words FROM missing),"
        " chosen AS MATERIALIZED (SELECT locked_seq AS chosen_seq FROM locked"
        " WHERE NOT EXISTS (SELECT FROM missing))",
        table->parked_quoted, request->verb == PARKED_DROP ? " AND " NOT_REFUSED_SQL : "",
        changes(request) ? " FOR UPDATE" : "");
}

static void put_chosen_by_filter(FILE *out, const struct table *table,
                                 const struct parked_request *request, int page_rows)
{
    bool list = request->verb == PARKED_LIST;

    (void)fprintf(out,
                  "WITH missing_words AS (SELECT NULL::text AS words), chosen AS MATERIALIZED"
                  " (SELECT seq AS chosen_seq FROM %s WHERE sent_at IS NULL%s"
                  " AND seq > $1::int8 AND seq < $2::int8"
                  " AND ($3::text IS NULL OR type::text = $3)"
                  " AND ($4::text IS NULL OR topic::text = $4)"
                  " AND ($5::text IS NULL OR topic::text ~ $5)"
                  " AND ($6::timestamptz IS NULL OR parked_at >= $6::timestamptz)"
                  " ORDER BY seq%s LIMIT %d%s)",
                  table->parked_quoted, list ? "" : " AND due IS NULL", list ? " DESC" : "",
                  page_rows, changes(request) ? " FOR UPDATE" : "");
}

/* Makes the next row of a dropped row's key due. */
static void put_freed(FILE *out, const struct table *table)
{
    const char *parked = table->parked_quoted;

    (void)fprintf(
        out,
        ", freed AS (UPDATE %s SET due = now() WHERE due = 'infinity' AND waits_for IS NULL"
        " AND seq IN (SELECT next FROM (SELECT DISTINCT ",
        parked);
    sql_put_key_text(out, table, "key");
    (void)fprintf(out,
                  " AS left_key FROM %s JOIN chosen ON seq = chosen_seq) gone,"
                  " LATERAL (SELECT seq AS next FROM %s behind WHERE ",
                  parked, parked);
    sql_put_key_is(out, table, "behind.key", "gone.left_key");
    (void)fprintf(out, " AND sent_at IS NULL AND seq NOT IN (SELECT chosen_seq FROM chosen)"
                       " ORDER BY id LIMIT 1) nexts))");
}

/* A row with an earlier parked row of its key becomes due only when that row has left. */
static void put_retried(FILE *out, const struct table *table, bool keeps_order)
{
    (void)fprintf(out, "UPDATE %s retried SET due = CASE WHEN " REFUSED_SQL " OR true",
                  table->parked_quoted);
    if (keeps_order)
        sql_put_head(out, table, "retried");
    (void)fprintf(out, " THEN now() ELSE 'infinity' END, attempts = 0 FROM chosen");
}

static void put_done(FILE *out, const struct table *table, const struct parked_request *request,
                     const struct parked_shape *shape)
{
    const char *parked = table->parked_quoted;

    (void)fprintf(out, ", done AS MATERIALIZED (");
    if (!changes(request)) {
        (void)fprintf(out, "SELECT ");
        put_row(out, request, shape);
        (void)fprintf(out, " FROM %s JOIN chosen ON seq = chosen_seq)", parked);
        return;
    }
    if (request->verb == PARKED_RETRY)
        put_retried(out, table, shape->keeps_order);
    else
        (void)fprintf(out, "DELETE FROM %s USING chosen", parked);
    (void)fprintf(out, " WHERE seq = chosen_seq RETURNING ");
    put_row(out, request, shape);
    (void)fprintf(out, ")");
    if (request->verb == PARKED_DROP && table_has(table, COLUMN_KEY))
        put_freed(out, table);
}

char *parked_sql(const struct table *table, const struct parked_request *request,
                 const struct parked_shape *shape)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    if (request->id_count > 0)
        put_chosen_by_id(out, table, request);
    else
        put_chosen_by_filter(out, table, request, shape->page_rows);
    put_done(out, table, request, shape);
    (void)fprintf(out,
                  " SELECT words, done.* FROM missing_words LEFT JOIN done ON true"
                  " ORDER BY seq%s",
                  request->verb == PARKED_LIST ? " DESC" : "");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static bool has_wildcard(const struct match *match)
{
    for (const char *token = match->source; *token != '\0' && !match->is_regex;) {
        size_t len = strcspn(token, ".");

        if (len == 1 && (*token == '*' || *token == '>'))
            return true;
        token += len + (token[len] == '.');
    }
    return false;
}

int parked_topic_regex(const char *topic, char **regex)
{
    struct match match;
    char why[128];
    bool wild;

    *regex = NULL;
    if (match_parse(&match, topic, why, sizeof why) < 0)
        return 0;
    wild = has_wildcard(&match);
    if (wild)
        *regex = match_sql_regex(&match);
    match_free(&match);
    return wild && *regex == NULL ? -1 : 0;
}
