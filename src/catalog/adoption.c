/*
 * An existing table may contain rows that another program has sent already, and that it marks in a
 * column unknown to the relay. So the relay sends nothing from a table that it did not create until
 * the operator has confirmed it. The rules:
 *
 * `init` puts a comment on a table that it creates. A table of an earlier `init` is recognised by
 * its columns: init's identity and default, and no other column that looks like a sent mark.
 *
 * A decision is kept as a note in the parked table, which every relay can write and pg_dump saves.
 * The note is a row with sent_at = 'infinity', which all other statements ignore. It contains the
 * condition by which rows are sent. Relays with another condition are refused: parked rows are
 * shared and have only the mapped columns, so it would be unknown to which condition they belong.
 *
 * Earlier relays left no note. If one has locked a slice or parked a row, the table counts as
 * adopted.
 *
 * A table with no row to send or to purge is adopted by the first relay that finds it so, because
 * rows that are committed later are meant for the relay.
 *
 * In all other cases the operator has to confirm with `adopt = true`. To change the condition of a
 * table the operator deletes the note; then everything is decided again.
 */
#include "catalog/adoption.h"

#include "base/log.h"
#include "catalog/filter.h"
#include "catalog/pauses.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"
#include "pg/holders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_ROW "sent_at = 'infinity' AND waits_for IS NULL" /* else it is a pause (pauses.h) */

/* Writes the note: the condition by which rows are sent. */
static int make_note(char *note, size_t size, const struct table *table, struct error *error)
{
    struct writer writer;
    char *text;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    sql_put_unsent(writer.out, table);
    text = writer_end(&writer);
    if (text == NULL)
        return error_no_memory(error);
    if (text[0] == '\0')
        (void)snprintf(note, size, "all rows are sent");
    else
        (void)snprintf(note, size, "rows are sent WHERE %s", text + strlen(" AND "));
    free(text);
    return 0;
}

/* Returns 1 if there is a note, 0 if there is none, -1 with *error set. */
static int read_note(char *note, size_t size, const struct table *table, struct session *session,
                     struct error *error)
{
    char sql[2 * QUOTED_BYTES_MAX + 128];
    PGresult *result;
    int found;

    (void)snprintf(sql, sizeof sql,
                   "SELECT error FROM %s WHERE " NOTE_ROW " ORDER BY seq + 0 LIMIT 1",
                   table->parked_quoted);
    result = session_query(session, sql, 0, NULL, error);
    if (result == NULL)
        return -1;
    found = PQntuples(result) > 0;
    if (found)
        (void)snprintf(note, size, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return found;
}

/* The mapped columns that the table has, as a text[]. NULL: no memory. free() it. */
static char *list_mapped(const struct table *table)
{
    const char *names[COLUMN_COUNT];
    int count = 0;

    for (int i = 0; i < COLUMN_COUNT; i++)
        if (table_has(table, (enum column)i))
            names[count++] = table->columns[i].name;
    if (count == 0)
        return strdup("{}");
    return sql_text_array(names, count);
}

/* Any boolean counts: more often than not it records a state of the event. */
#define LOOKS_LIKE_A_MARK                                                                          \
    "(atttypid = 'pg_catalog.bool'::pg_catalog.regtype OR attname ~* '(^|_)(status|state"          \
    "|processed|published|sent|delivered|dispatched|done)(_|$)' OR attname ~ '(_at|At)$')"

/* Whether `init` created the table. $1 the table; $2 text[] the mapped columns; $3 the id column,
 * $4 the event_id column. Columns that the application has added must not look like a sent mark,
 * and the table must still have init's storage settings. */
static const char own_sql[] =
    "SELECT coalesce(pg_catalog.obj_description($1::oid, 'pg_class') LIKE 'outbox-relay:%', false)"
    " OR (EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid AND attname = $3"
    "         AND attidentity = 'a')"
    "     AND EXISTS (SELECT FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_attrdef d"
    "         ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE a.attrelid = $1::oid"
    "         AND a.attname = $4 AND pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE"
    "         '%gen_random_uuid()')"
    "     AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid"
    "         AND attnum > 0 AND NOT attisdropped AND attname <> ALL ($2::text[])"
    "         AND (" LOOKS_LIKE_A_MARK " OR NOT EXISTS (SELECT FROM pg_catalog.pg_class"
    "             WHERE oid = $1::oid AND 'autovacuum_vacuum_threshold=10000' = ANY "
    "(reloptions)))))";

static const char marks_sql[] =
    "SELECT pg_catalog.quote_ident(attname) || ' (' || pg_catalog.format_type(atttypid, atttypmod)"
    " || ')' FROM pg_catalog.pg_attribute WHERE attrelid = $1::oid AND attnum > 0"
    " AND NOT attisdropped AND attname <> ALL ($2::text[]) AND " LOOKS_LIKE_A_MARK
    " ORDER BY attnum LIMIT 6";
#define MARKS_SHOWN 5

/* 1, 0, or -1. */
static int is_true(struct session *session, const char *sql, int count, const char *const *params,
                   struct error *error)
{
    PGresult *result = session_query(session, sql, count, params, error);
    int is;

    if (result == NULL)
        return -1;
    is = PQntuples(result) > 0 && PQgetvalue(result, 0, 0)[0] == 't';
    PQclear(result);
    return is;
}

static int is_own(const struct table *table, struct session *session, const char *mapped,
                  struct error *error)
{
    char oid[16];
    const char *params[4] = {oid, mapped, table->columns[COLUMN_ID].name,
                             table->columns[COLUMN_EVENT_ID].name};

    (void)snprintf(oid, sizeof oid, "%u", table->oid);
    return is_true(session, own_sql, 4, params, error);
}

/* Whether a relay of an earlier version, which left no note, has used the table. Such a relay had
 * no [outbox] where. */
static int was_relayed(const struct table *table, struct session *session, struct error *error)
{
    char sql[4 * QUOTED_BYTES_MAX + 256];

    if (table->where != NULL || !table->parked_exists)
        return 0;
    (void)snprintf(sql, sizeof sql,
                   "SELECT EXISTS (SELECT FROM %s WHERE (" PAUSE_ROW_SQL ") IS NOT TRUE)%s%s%s",
                   table->parked_quoted, table->slice_readable ? " OR EXISTS (SELECT FROM " : "",
                   table->slice_readable ? table->slice_quoted : "",
                   table->slice_readable ? " WHERE xmax <> '0'::xid)" : "");
    return is_true(session, sql, 0, NULL, error);
}

/* *count is -1 when counting took too long, which is not an error. */
static int count_rows(struct session *session, char *sql, int64_t *count, struct error *error)
{
    PGresult *result;

    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(session, sql, 0, NULL, error);
    free(sql);
    *count = -1;
    if (result == NULL)
        return session->conn != NULL && error_is_sqlstate(error, "57014") ? 0 : -1;
    *count = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return 0;
}

static char *to_send_sql(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out, "SELECT count(*) FROM (SELECT FROM %s WHERE true", table->quoted);
    sql_put_unsent(writer.out, table);
    (void)fprintf(writer.out, " LIMIT %d) counted", ADOPTION_COUNT_MAX + 1);
    return writer_end(&writer);
}

static char *to_purge_sql(const struct table *table, int64_t retention_ms)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "SELECT count(*) FROM (SELECT FROM %s WHERE %s < pg_catalog.clock_timestamp()"
                  " - %" PRId64 " * interval '1 millisecond'",
                  table->quoted, table->columns[COLUMN_SENT_AT].quoted, retention_ms);
    sql_put_where(writer.out, table);
    (void)fprintf(writer.out, " LIMIT %d) counted", ADOPTION_COUNT_MAX + 1);
    return writer_end(&writer);
}

static int find_marks(struct adoption *adoption, const struct table *table, struct session *session,
                      const char *mapped, struct error *error)
{
    char oid[16];
    const char *params[2] = {oid, mapped};
    size_t used = 0;
    PGresult *result;

    (void)snprintf(oid, sizeof oid, "%u", table->oid);
    result = session_query(session, marks_sql, 2, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result) && used < sizeof adoption->marks; row++) {
        const char *mark = row < MARKS_SHOWN ? PQgetvalue(result, row, 0) : "...";

        used += (size_t)snprintf(adoption->marks + used, sizeof adoption->marks - used, "%s%s",
                                 row > 0 ? ", " : "", mark);
    }
    PQclear(result);
    return 0;
}

static int count(struct adoption *adoption, const struct table *table, struct session *session,
                 const struct outbox_options *options, const char *mapped, struct error *error)
{
    bool purges = options->on_sent == ON_SENT_MARK && options->retention_ms > 0;

    if (count_rows(session, to_send_sql(table), &adoption->to_send, error) < 0 ||
        (purges && count_rows(session, to_purge_sql(table, options->retention_ms),
                              &adoption->to_purge, error) < 0)) {
        filter_name_error(table, error);
        return -1;
    }
    if (adoption->to_send == 0 && adoption->to_purge == 0) {
        adoption->state = ADOPTION_NO_ROWS;
        return 0;
    }
    adoption->state = ADOPTION_OPEN;
    return find_marks(adoption, table, session, mapped, error);
}

static int examine(struct adoption *adoption, const struct table *table, struct session *session,
                   const struct outbox_options *options, const char *mapped, struct error *error)
{
    int known = is_own(table, session, mapped, error);

    if (known == 0)
        known = was_relayed(table, session, error);
    if (known != 0)
        return known < 0 ? -1 : 0;
    return count(adoption, table, session, options, mapped, error);
}

int adoption_read_note(struct adoption *adoption, const struct table *table,
                       struct session *session, struct error *error)
{
    int found;

    *adoption = (struct adoption){.state = ADOPTION_SETTLED};
    if (make_note(adoption->wanted, sizeof adoption->wanted, table, error) < 0)
        return -1;
    if (!table->parked_exists)
        return 0;
    found = read_note(adoption->note, sizeof adoption->note, table, session, error);
    adoption->noted = found > 0;
    if (found > 0 && strcmp(adoption->note, adoption->wanted) != 0)
        adoption->state = ADOPTION_CONDITION;
    return found < 0 ? -1 : 0;
}

int adoption_examine(struct adoption *adoption, const struct table *table, struct session *session,
                     const struct outbox_options *options, struct error *error)
{
    char *mapped;
    int status;

    if (adoption_read_note(adoption, table, session, error) < 0)
        return -1;
    if (adoption->noted)
        return 0;
    mapped = list_mapped(table);
    if (mapped == NULL)
        return error_no_memory(error);
    status = examine(adoption, table, session, options, mapped, error);
    free(mapped);
    return status;
}

static const char *number(char out[64], int64_t rows)
{
    if (rows < 0)
        (void)snprintf(out, 64, "rows whose number took too long to count");
    else if (rows > ADOPTION_COUNT_MAX)
        (void)snprintf(out, 64, "more than %d rows", ADOPTION_COUNT_MAX);
    else
        (void)snprintf(out, 64, "%" PRId64 " row%s", rows, rows == 1 ? "" : "s");
    return out;
}

void adoption_explain(const struct adoption *adoption, const struct table *table,
                      const struct outbox_options *options, struct error *error)
{
    bool mark = options->on_sent == ON_SENT_MARK;
    char to_send[64];
    char to_purge[64];

    if (adoption->state == ADOPTION_CONDITION) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "[outbox] where: table %s is relayed by another condition: \"%.200s\", not"
                        " \"%.200s\" (on_sent and sent_at count too); all relays of a table must"
                        " have the same one, because they share its parked rows",
                        table->quoted, adoption->note, adoption->wanted);
        (void)error_hint(
            error,
            "to change it: stop the relays of this table, DELETE FROM %s WHERE " NOTE_ROW
            "; and start them with the new condition and [outbox] adopt = true",
            table->parked_quoted);
        return;
    }
    (void)error_set(
        error, ERROR_PERMANENT, ERROR_DATABASE,
        "table %s was not created by outbox-relay: %s would be sent and %s%s%s%s%s%s",
        table->quoted, number(to_send, adoption->to_send), mark ? "marked" : "deleted",
        adoption->to_purge != 0 ? ", and " : "",
        adoption->to_purge != 0 ? number(to_purge, adoption->to_purge) : "",
        adoption->to_purge != 0 ? " marked as sent would be purged by [outbox] retention" : "",
        adoption->marks[0] != '\0' ? "; columns that may mark rows as sent: " : "",
        adoption->marks);
    (void)error_hint(error, "set [outbox] adopt = true if all these rows are meant for the relay;"
                            " [outbox] where = \"...\" excludes other rows");
}

/* Of two relays that start at the same time the first one writes its condition. */
static int write_note(const struct adoption *adoption, const struct table *table,
                      struct session *session, struct error *error)
{
    char *note = PQescapeLiteral(session->conn, adoption->wanted, strlen(adoption->wanted));
    struct writer writer;
    struct error ignored;
    char *sql;
    int status;

    if (note == NULL || !writer_begin(&writer)) {
        PQfreemem(note);
        return error_no_memory(error);
    }
    (void)fprintf(writer.out,
                  "INSERT INTO %s"
                  " (error, sent_at) SELECT %s, 'infinity' WHERE NOT EXISTS (SELECT FROM %s WHERE"
                  " " NOTE_ROW "); COMMIT",
                  table->parked_quoted, note, table->parked_quoted);
    PQfreemem(note);
    sql = writer_end(&writer);
    if (sql == NULL)
        return error_no_memory(error);
    status = session_execute(session, "BEGIN", error) == 0 &&
                     holders_lock_advisory(session, SCHEMA_LOCK, error) == 0 &&
                     session_execute(session, sql, error) == 0
                 ? 0
                 : -1;
    free(sql);
    if (status < 0 && session->conn != NULL)
        (void)session_execute(session, "ROLLBACK", &ignored);
    return status;
}

/* Writes the note. If it cannot be written, adopt = true in the configuration takes its place. The
 * relay's own table without a condition needs no note: all its rows are sent. */
static int remember(const struct adoption *adoption, const struct table *table,
                    struct session *session, const struct outbox_options *options,
                    struct error *error)
{
    if (write_note(adoption, table, session, error) == 0)
        return 0;
    if (error->kind != ERROR_PERMANENT)
        return -1;
    if (adoption->state == ADOPTION_SETTLED && table->where == NULL)
        return 0;
    if (!options->adopt)
        return error_hint(error,
                          "set [outbox] adopt = true: the adoption of %s cannot be recorded in"
                          " %s",
                          table->quoted, table->parked_quoted);
    log_event(LOG_WARN, LOG_FIELDS(.error = error->text),
              "keep [outbox] adopt = true: the adoption of %s cannot be recorded in %s",
              table->quoted, table->parked_quoted);
    return 0;
}

int adoption_settle(struct adoption *adoption, const struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error)
{
    if (adoption_examine(adoption, table, session, options, error) < 0)
        return -1;
    if (adoption->state == ADOPTION_CONDITION ||
        (adoption->state == ADOPTION_OPEN && !options->adopt)) {
        adoption_explain(adoption, table, options, error);
        return -1;
    }
    if (adoption->noted)
        return 0;
    if (remember(adoption, table, session, options, error) < 0 ||
        adoption_read_note(adoption, table, session, error) < 0)
        return -1;
    if (adoption->state != ADOPTION_CONDITION)
        return 0;
    adoption_explain(adoption, table, options, error);
    return -1;
}
