#include "catalog/words.h"

#include "catalog/pauses.h"
#include "catalog/refused.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

static const struct table *table_of(const void *about)
{
    return ((const struct table_words *)about)->table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct table_words *)about)->options;
}

static int put_string(FILE *out, const char *text)
{
    return fputs(text, out) < 0 ? -1 : 0;
}

/* {outbox}, {parked}, {control}, {slice_table}, and {oid_of:...} them, NULL when the table does not
 * exist. */
static const char *name_of_table(const struct table *table, const char *word)
{
    if (strcmp(word, "outbox") == 0)
        return table->quoted;
    if (strcmp(word, "control") == 0)
        return table->control_quoted;
    return strcmp(word, "parked") == 0 ? table->parked_quoted : table->slice_quoted;
}

static int put_table(FILE *out, const struct sql_call *call)
{
    return put_string(out, name_of_table(table_of(call->about), call->word));
}

static int put_oid_of(FILE *out, const struct sql_call *call)
{
    (void)fputs("to_regclass(", out);
    sql_put_literal(out, name_of_table(table_of(call->about), call->argument));
    return put_string(out, ")");
}

/* Without its schema, as a column in `where` may be written: "outbox"."id". */
static int put_outbox_name(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    return put_string(out, table->quoted + strlen(table->schema_quoted) + 1);
}

static int put_outbox_oid(FILE *out, const struct sql_call *call)
{
    return fprintf(out, "%u", table_of(call->about)->oid) < 0 ? -1 : 0;
}

enum column column_of(const char *name)
{
    int column = 0;

    while (strcmp(column_name((enum column)column), name) != 0)
        column++;
    return (enum column)column;
}

static int put_column(FILE *out, const struct sql_call *call)
{
    return put_string(out, column_sql(&table_of(call->about)->columns[column_of(call->word)]));
}

/* {more_headers}: those of [outbox.headers], as names and values in turn; and {not_before}. */
static int put_more_headers(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    if (table->header_count == 0)
        return put_string(out, "NULL::bytea[]");
    for (int i = 0; i < table->header_count; i++) {
        const struct table_column *header = &table->headers[i];
        bool is_bytes = strcmp(header->base, "bytea") == 0;

        (void)fprintf(out, "%sconvert_to(", i == 0 ? "ARRAY[" : ", ");
        sql_put_literal(out, table->header_names[i].name);
        (void)fprintf(out, ", 'UTF8'), %s%s%s", is_bytes ? "" : "convert_to((", column_sql(header),
                      is_bytes ? "::bytea" : ")::text, 'UTF8')");
    }
    return put_string(out, "]");
}

static int put_not_before(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    if (!table_has(table, COLUMN_DUE))
        return put_string(out, "NULL::timestamptz");
    return fprintf(out, "(%s)::timestamptz", column_sql(&table->columns[COLUMN_DUE])) < 0 ? -1 : 0;
}

/* {value:NAME}: NULL when the table has none. */
static int put_value_of(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    enum column column = column_of(call->argument);

    return put_string(out, table_has(table, column) ? column_sql(&table->columns[column])
                                                    : "NULL::text");
}

static int put_all_columns(FILE *out, const struct sql_call *call)
{
    return put_string(out, table_of(call->about)->all_columns);
}

/* The values under the names that the parked table has; those that the outbox lacks are NULL. */
static int put_values(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++) {
        const char *comma = i > COLUMN_ID ? ", " : "";

        if (table_has(table, (enum column)i))
            (void)fprintf(out, "%s%s AS %s", comma, column_sql(&table->columns[i]),
                          column_name((enum column)i));
        else
            (void)fprintf(out, "%sNULL::text AS %s", comma, column_name((enum column)i));
    }
    return 0;
}

/* What a claim locks: the values themselves, or all columns if values are computed from them. */
static int put_columns(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    return table->is_computed ? put_string(out, table->all_columns) : put_values(out, call);
}

/* A value that is computed may fail, and a note must not. */
static bool is_noted(const struct table *table, const struct outbox_options *options, int column)
{
    if (column == COLUMN_PAYLOAD || column == COLUMN_HEADERS)
        return false;
    return table->columns[column].expression == NULL ||
           (column == COLUMN_KEY && sql_keeps_order(table, options));
}

/* The next of "a", "b", ... in double quotes; *len is 0 at the end. */
static const char *next_quoted(const char *at, size_t *len)
{
    at += strspn(at, ", ");
    *len = *at != '\0';
    while (*len > 0 && (at[*len] != '"' || at[++*len] == '"'))
        ++*len;
    return at;
}

static bool is_listed(const char *list, const char *quoted, size_t quoted_len)
{
    size_t len;

    for (list = next_quoted(list, &len); len > 0; list = next_quoted(list + len, &len))
        if (len == quoted_len && memcmp(list, quoted, len) == 0)
            return true;
    return false;
}

/* The whole row as a JSON object of texts, which json_populate_record() makes of it again, and the
 * types of its columns, by which kept_problem.sql sees that they have changed. format() and
 * to_json() of a text use no casts, which the owner of a type may have made. */
static int put_raw(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    const char *at;
    size_t len;
    int i = 0;

    (void)fprintf(out,
                  "(SELECT row_to_json(relay_texts)::text FROM (SELECT (SELECT"
                  " json_object_agg(attname, format_type(atttypid, NULL)) FROM"
                  " pg_catalog.pg_attribute WHERE attrelid = %u AND attnum > 0 AND NOT"
                  " attisdropped) AS \"column types\"",
                  table->oid);
    for (at = next_quoted(table->all_columns, &len); len > 0; at = next_quoted(at + len, &len)) {
        bool is_json = (table->json_columns[i / 8] >> i % 8 & 1) != 0;

        i++;
        if (is_json)
            (void)fprintf(out, ", %.*s", (int)len, at);
        else
            (void)fprintf(out,
                          ", CASE WHEN %.*s IS DISTINCT FROM NULL THEN format('%%s', %.*s) END"
                          " AS %.*s",
                          (int)len, at, (int)len, at, (int)len, at);
    }
    return put_string(out, ") relay_texts)");
}

/* The columns that the event is made of, but those that the relay writes. */
static void put_event_columns(FILE *out, const struct table *table)
{
    const char *at;
    size_t len;
    const char *comma = "";

    for (at = next_quoted(table->all_columns, &len); len > 0; at = next_quoted(at + len, &len)) {
        bool is_used = table->reads_rows || is_listed(table->read_columns, at, len);

        for (int i = COLUMN_ID; i < COLUMN_CREATED_AT && !is_used; i++)
            is_used = table->columns[i].expression == NULL &&
                      is_listed(table->columns[i].quoted, at, len);
        if (!is_used || is_listed(table->listed_columns, at, len) ||
            (table->mark == NULL && is_listed(table->columns[COLUMN_SENT_AT].quoted, at, len)))
            continue;
        (void)fprintf(out, "%s%.*s", comma, (int)len, at);
        comma = ", ";
    }
}

/*
 * {identity}: a text by which a row is known besides its id, which another row may be given after a
 * TRUNCATE, a DELETE or a restore, and with it an event id that is made of the id. It is made of
 * what stays the same while the row is that row, whatever columns its table has or is given, and
 * whatever else another relay maps: of the event id if that is a uuid; else of event id and
 * created_at if that is a time. Of any other table, and where they are NULL, it is a digest of the
 * columns that the event is made of: there a row that is corrected counts as another one. Nothing
 * is computed by expressions, which may fail.
 */
static int put_identity(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    const struct table_column *event_id = &table->columns[COLUMN_EVENT_ID];
    const struct table_column *created_at = &table->columns[COLUMN_CREATED_AT];
    bool is_unique = event_id->expression == NULL && strcmp(event_id->base, "uuid") == 0;
    bool has_event = event_id->expression == NULL && table_has(table, COLUMN_EVENT_ID);
    bool has_time =
        created_at->expression == NULL && strncmp(created_at->base, "timestamp", 9) == 0;
    const char *zone = has_time && strstr(created_at->base, "with time") != NULL ? "tz" : "";

    (void)fputs("coalesce(", out);
    if (is_unique)
        (void)fprintf(out, "CASE WHEN %s IS NOT NULL THEN format('%%s', %s) END, ",
                      event_id->quoted, event_id->quoted);
    if (has_event && has_time)
        (void)fprintf(out, "format('%%s', %s) || ", event_id->quoted);
    if (has_time)
        (void)fprintf(out, "encode(timestamp%s_send(%s::timestamp%s), 'hex'), ", zone,
                      created_at->quoted, zone);
    (void)fputs("md5(format('%s', ROW(", out);
    put_event_columns(out, table);
    return put_string(out, "))))");
}

/* {moved_columns}: those that the outbox has; {noted_columns}: of these, what a note has; and their
 * names in the parked table, {moved_names} and {noted_names}. */
static int put_parked_columns(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    bool noted = strncmp(call->word, "noted", 5) == 0;
    bool names = strstr(call->word, "names") != NULL;
    const char *comma = "";

    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++) {
        if (!table_has(table, (enum column)i) ||
            (noted && !is_noted(table, options_of(call->about), i)))
            continue;
        if (names)
            (void)fprintf(out, "%s%s", comma, column_name((enum column)i));
        else
            (void)fprintf(out, "%s%s AS %s", comma, column_sql(&table->columns[i]),
                          column_name((enum column)i));
        comma = ", ";
    }
    return 0;
}

static int put_id_type(FILE *out, const struct sql_call *call)
{
    return put_string(out, table_of(call->about)->columns[COLUMN_ID].type);
}

/* [outbox] where. The configured condition is safe in parentheses, because PostgreSQL has parsed it
 * alone (filter.c). */
static int put_where(FILE *out, const struct sql_call *call)
{
    const char *where = table_of(call->about)->where;

    return where == NULL ? put_string(out, "true") : fprintf(out, "(%s)", where) < 0 ? -1 : 0;
}

static int put_mark(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    if (table->mark != NULL)
        return put_string(out, table->mark);
    return fprintf(out, "%s = clock_timestamp()", table->columns[COLUMN_SENT_AT].quoted) < 0 ? -1
                                                                                             : 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || c == '_';
}

/* [outbox] park. $error, $attempts and $state are columns of "relay_given", outside of quotes. The
 * row may have been sent once, and brought back: it must not count as sent (choose_where_of_sent).
 */
static int put_park(FILE *out, const struct sql_call *call)
{
    static const char *const names[] = {"error", "attempts", "state"};
    const struct table *table = table_of(call->about);
    char quote = '\0';

    for (const char *at = table->park; *at != '\0'; at++) {
        size_t len = 0;
        bool is_given = false;

        if (quote == '\0' ? strchr("'\"", *at) != NULL : *at == quote)
            quote = quote == '\0' ? *at : '\0';
        while (*at == '$' && quote == '\0' && is_letter(at[len + 1]))
            len++;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            is_given = is_given || (strlen(names[i]) == len && memcmp(at + 1, names[i], len) == 0);
        if (is_given) {
            (void)fprintf(out, "relay_%.*s", (int)len, at + 1);
            at += len;
        } else {
            (void)fputc(*at, out);
        }
    }
    if (table->mark != NULL && table_knows_sent(table))
        (void)fprintf(out, ", %s = %s", table->columns[COLUMN_SENT_AT].quoted,
                      table->columns[COLUMN_SENT_AT].not_null ? "'-infinity'" : "NULL");
    return 0;
}

/* Assignments of the columns by which the relay finds a row and its order again. */
static int put_kept(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    const struct table_column *id = &table->columns[COLUMN_ID];
    const struct table_column *key = &table->columns[COLUMN_KEY];

    (void)fprintf(out, "%s = DEFAULT", id->quoted);
    if (key->expression != NULL)
        (void)fprintf(out, "%s%s", table->key_columns[0] != '\0' ? ", " : "", table->key_columns);
    else if (table_has(table, COLUMN_KEY) && strcmp(key->quoted, id->quoted) != 0)
        (void)fprintf(out, ", %s = DEFAULT", key->quoted);
    return 0;
}

/* With a mark of its own, `where` says what is unsent. What was marked before a relay sent anything
 * from a table that `init` did not create is not the relay's; no row is before that is noted. */
static const char *choose_where_of_sent(const void *about)
{
    if (table_of(about)->mark != NULL)
        return "{where} IS NOT TRUE AND {is_since_adoption}";
    return table_of(about)->is_own ? "{where}" : "{where} AND {is_since_adoption}";
}

/* A marked row counts as sent even with on_sent = "delete". */
static int put_unsent(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);
    bool marked = table_is_marked_by_time(table);

    if (marked)
        (void)fprintf(out, "%s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    if (table->where != NULL)
        (void)fprintf(out, "%s(%s)", marked ? " AND " : "", table->where);
    return put_string(out, marked || table->where != NULL ? "" : "true");
}

static int put_slice(FILE *out, const struct sql_call *call)
{
    const struct outbox_options *options = options_of(call->about);

    if (options->order == ORDER_NONE)
        return put_string(out, "0");
    sql_put_slice(out, table_of(call->about), options->slices,
                  strcmp(call->word, "slice_of_parked") == 0);
    return 0;
}

static const char *choose_is_of_locked_slice(const void *about)
{
    return options_of(about)->order == ORDER_KEY
               ? "{slice_of_parked} = ANY (current_setting('outbox_relay.slices')::int4[])"
               : "true";
}

static const char *choose_is_head(const void *about)
{
    return sql_keeps_order(table_of(about), options_of(about)) ? statement_is_head : "true";
}

static int put_slices(FILE *out, const struct sql_call *call)
{
    return fprintf(out, "%d", options_of(call->about)->slices) < 0 ? -1 : 0;
}

static const char *choose_key_text(const void *about)
{
    bool bytea = strcmp(table_of(about)->columns[COLUMN_KEY].type, "bytea") == 0;

    return bytea ? "encode({argument}, 'hex')" : "{argument}::text";
}

static const char *choose_time_of(const void *about)
{
    return table_of(about)->columns[COLUMN_CREATED_AT].category == 'D' ? statement_time_of_date
                                                                       : statement_time_of_text;
}

/* When a parked row was created, or else parked. */
static const char *choose_parked_time(const void *about)
{
    return table_has(table_of(about), COLUMN_CREATED_AT)
               ? "coalesce({time_of:created_at}, parked_at)"
               : "parked_at";
}

/* Of a parked row that the argument chooses as "copy". */
static const char *choose_is_known(const void *about)
{
    return table_of(about)->park != NULL ? statement_is_known : "NULL::bool";
}

static const struct sql_word words[] = {
    {"outbox", .put = put_table},
    {"parked", .put = put_table},
    {"control", .put = put_table},
    {"slice_table", .put = put_table},
    {"oid_of", .put = put_oid_of},
    {"outbox_name", .put = put_outbox_name},
    {"outbox_oid", .put = put_outbox_oid},
    {"id", .put = put_column},
    {"id_type", .put = put_id_type},
    {"event_id", .put = put_column},
    {"topic", .put = put_column},
    {"key", .put = put_column},
    {"type", .put = put_column},
    {"payload", .put = put_column},
    {"headers", .put = put_column},
    {"created_at", .put = put_column},
    {"sent_at", .put = put_column},
    {"columns", .put = put_columns},
    {"values", .put = put_values},
    {"value_of", .put = put_value_of},
    {"all_columns", .put = put_all_columns},
    {"more_headers", .put = put_more_headers},
    {"not_before", .put = put_not_before},
    {"mark", .put = put_mark},
    {"park", .put = put_park},
    {"raw", .put = put_raw},
    {"identity", .put = put_identity},
    {"is_out", .text = "({unsent}) IS NOT TRUE"},
    {"is_known", .choose = choose_is_known},
    {"kept", .put = put_kept},
    {"where_of_sent", .choose = choose_where_of_sent},
    {"is_since_adoption",
     .text = "{sent_at} >= (SELECT set_at FROM {control} WHERE kind = 'setting' AND name ="
             " 'condition')"},
    {"only_relay_writes", .text = ONLY_RELAY_WRITES},
    {"reach", .text = statement_reach},
    {"moved_columns", .put = put_parked_columns},
    {"moved_names", .put = put_parked_columns},
    {"carried_names", .text = "{moved_names}, more_headers, raw, identity"},
    {"noted_columns", .put = put_parked_columns},
    {"noted_names", .put = put_parked_columns},
    {"where", .put = put_where},
    {"unsent", .put = put_unsent},
    {"claimable", .text = "{unsent} AND {is_not_noted}"},
    {"is_not_noted", .text = statement_is_not_noted},
    {"slice_of_row", .put = put_slice},
    {"slice_of_parked", .put = put_slice},
    {"is_of_locked_slice", .choose = choose_is_of_locked_slice},
    {"slices", .put = put_slices},
    {"key_text", .choose = choose_key_text},
    {"time_of", .choose = choose_time_of},
    {"parked_time", .choose = choose_parked_time},
    {"is_head", .choose = choose_is_head},
    {"last_seq", .text = "9223372036854775807"},
    {"has_probe", .text = statement_has_probe},
    {"is_note", .text = "state IN ('" REFUSED_UNSENT "', '" REFUSED_SENT "')"},
    {"is_tried",
     .text = "state IN ('retry', 'scheduled', 'waiting', 'paused') AND sent_at IS NULL"},
    {"is_pause", .text = PAUSE_ROW_SQL},
    {"is_paused", .text = "waits_for LIKE '" PAUSED_PREFIX "%'"},
    {"pauses", .text = statement_pauses},
    {"base_type", .text = statement_base_type},
    {"is_trusted", .text = statement_is_trusted},
    {"is_superuser", .text = statement_is_superuser},
    {"folded", .text = statement_folded},
    {"spelt", .text = statement_spelt},
    {"shape", .text = statement_shape},
    {"is_same_table", .text = statement_is_same_table},
    {"file", .text = statement_file},
    {"file_is", .text = statement_file_is},
    {"lowest_id", .text = "'-9223372036854775808'::int8"},
    {.name = NULL},
};

struct sql_words table_words(const struct table_words *about)
{
    return (struct sql_words){.list = words, .about = about};
}

char *table_sql(const struct table *table, const char *statement)
{
    const struct table_words about = {.table = table};
    const struct sql_words list = table_words(&about);

    return sql_render(statement, &list);
}

PGresult *table_query(const struct table *table, struct session *session, const char *statement,
                      int param_count, const char *const *params, struct error *error)
{
    char *sql = table_sql(table, statement);
    PGresult *result = NULL;

    if (sql != NULL)
        result = session_query(session, sql, param_count, params, error);
    else
        (void)error_no_memory(error);
    free(sql);
    return result;
}
