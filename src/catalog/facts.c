#include "catalog/facts.h"

#include "catalog/partitions.h"
#include "catalog/refused.h"
#include "catalog/sql_text.h"
#include "source/pauses.h"
#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

static const struct table *table_of(const void *about)
{
    return ((const struct table_facts *)about)->table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct table_facts *)about)->options;
}

static int put_string(FILE *out, const char *text)
{
    return fputs(text, out) < 0 ? -1 : 0;
}

/* {outbox}, {parked}, {control}, {slice_table} and {progress}; and each with "_text" behind it, as
 * a literal.
 */
static int put_table(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct table *table = table_of(about);
    const struct {
        const char *name;
        const char *quoted;
    } tables[] = {{"outbox", table->quoted},
                  {"parked", table->parked_quoted},
                  {"control", table->control_quoted},
                  {"slice_table", table->slice_quoted},
                  {"progress", table->progress_quoted}};
    const char *quoted;
    size_t at = 0;

    while (strncmp(tables[at].name, fact->name, strlen(tables[at].name)) != 0)
        at++;
    quoted = tables[at].quoted;
    if (strstr(fact->name, "_text") == NULL)
        return put_string(out, quoted);
    sql_put_literal(out, quoted);
    return 0;
}

/* Without its schema, as a column in `where` may be written: "outbox"."id". */
static int put_outbox_name(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    return put_string(out, table->quoted + strlen(table->schema_quoted) + 1);
}

static int put_order_sequence_text(FILE *out, const void *about)
{
    sql_put_literal(out, table_of(about)->order_sequence_quoted);
    return 0;
}

static int put_event_id_literal(FILE *out, const void *about)
{
    sql_put_literal(out, column_sql(&table_of(about)->columns[COLUMN_EVENT_ID]));
    return 0;
}

/* What the names of the relay's tables beside it begin with, as a literal. */
static int put_stem(FILE *out, const void *about)
{
    sql_put_literal(out, table_of(about)->stem);
    return 0;
}

/* The name of the id's column as a literal, and as it is written in SQL. */
static int put_id_name(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct table_column *id = &table_of(about)->columns[COLUMN_ID];

    sql_put_literal(out, strcmp(fact->name, "id_name") == 0 ? id->name : id->quoted);
    return 0;
}

static int put_outbox_oid(FILE *out, const void *about)
{
    return fprintf(out, "%u", table_of(about)->oid) < 0 ? -1 : 0;
}

/* {sent_at}: also where the table has none yet. */
static int put_column(FILE *out, const void *about, const struct sql_fact *fact)
{
    return put_string(out, column_sql(&table_of(about)->columns[fact->column]));
}

static int put_value(FILE *out, const void *about, const struct sql_fact *fact)
{
    return put_string(out, table_has(table_of(about), (enum column)fact->column)
                               ? column_sql(&table_of(about)->columns[fact->column])
                               : "NULL::text");
}

static bool is_varying_text(const char *type)
{
    static const char varying[] = "character varying";

    if (strstr(type, "[]") != NULL)
        return false;
    return strcmp(type, "bytea") == 0 || strcmp(type, "text") == 0 ||
           strncmp(type, varying, sizeof varying - 1) == 0;
}

/* bytea, text and the event id's uuid are sent in their binary format, all other types as text. */
static bool is_sent_binary(const struct table *table, enum column column)
{
    const char *type = table->columns[column].base;

    return is_varying_text(type) || (column == COLUMN_EVENT_ID && strcmp(type, "uuid") == 0);
}

/* {topic_as_sent} and so on: a value of a claim's row in the form in which the claim returns it. */
static int put_as_sent(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct table *table = table_of(about);
    enum column column = (enum column)fact->column;
    const char *type = column == COLUMN_CREATED_AT ? "timestamptz" : "text";
    const char *value = table_has(table, column) ? column_name(column) : "NULL";

    if (column != COLUMN_CREATED_AT && table_has(table, column) && is_sent_binary(table, column))
        return put_string(out, value);
    return fprintf(out, "%s::%s", value, type) < 0 ? -1 : 0;
}

/* {mapping}: all names and expressions that a message is made of, as one text. */
static int put_mapping(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    (void)fputs("concat_ws(' '", out);
    for (int i = 0; i < COLUMN_COUNT + table->header_count; i++) {
        const struct table_column *column =
            i < COLUMN_COUNT ? &table->columns[i] : &table->headers[i - COLUMN_COUNT];

        if (i == COLUMN_SENT_AT || i == COLUMN_XID || column->type[0] == '\0')
            continue;
        (void)fputs(", ", out);
        sql_put_literal(out, column_sql(column));
    }
    return put_string(out, ")");
}

/* {more_headers}: those of [outbox.headers], as names and values in turn; and {not_before}. */
static int put_more_headers(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

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

static int put_not_before(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    if (!table_has(table, COLUMN_DUE))
        return put_string(out, "NULL::timestamptz");
    return fprintf(out, "(%s)::timestamptz", column_sql(&table->columns[COLUMN_DUE])) < 0 ? -1 : 0;
}

static int put_all_columns(FILE *out, const void *about)
{
    return put_string(out, table_of(about)->all_columns);
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
 * types of its columns, by which computed_parked.sql sees that they have changed. format() and
 * to_json() of a text use no casts, which the owner of a type may have made. */
static int put_raw(FILE *out, const void *about)
{
    const struct table *table = table_of(about);
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
static int put_identity(FILE *out, const void *about)
{
    const struct table *table = table_of(about);
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
static int put_parked_columns(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct table *table = table_of(about);
    bool noted = strncmp(fact->name, "noted", 5) == 0;
    bool names = strstr(fact->name, "names") != NULL;
    const char *comma = "";

    for (int i = COLUMN_ID; i <= COLUMN_CREATED_AT; i++) {
        if (!table_has(table, (enum column)i) || (noted && !is_noted(table, options_of(about), i)))
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

static int put_id_type(FILE *out, const void *about)
{
    return put_string(out, table_of(about)->columns[COLUMN_ID].type);
}

/* [outbox] where. The configured condition is safe in parentheses, because PostgreSQL has parsed it
 * alone (filter.c). */
static int put_where(FILE *out, const void *about)
{
    const char *where = table_of(about)->where;

    return where == NULL ? put_string(out, "true") : fprintf(out, "(%s)", where) < 0 ? -1 : 0;
}

static int put_mark(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

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
 * row may have been sent once, and brought back: it must not count as sent (adoption.h).
 */
static int put_park(FILE *out, const void *about)
{
    static const char *const names[] = {"error", "attempts", "state"};
    const struct table *table = table_of(about);
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
static int put_kept(FILE *out, const void *about)
{
    const struct table *table = table_of(about);
    const struct table_column *id = &table->columns[COLUMN_ID];
    const struct table_column *key = &table->columns[COLUMN_KEY];

    const char *comma = "";

    if (!table->numbered || table_has(table, COLUMN_ID)) { /* init is to add the numbers */
        (void)fprintf(out, "%s = DEFAULT", id->quoted);
        comma = ", ";
    }
    if (key->expression != NULL)
        (void)fprintf(out, "%s%s", table->key_columns[0] != '\0' ? comma : "", table->key_columns);
    else if (table_has(table, COLUMN_KEY) && strcmp(key->quoted, id->quoted) != 0)
        (void)fprintf(out, "%s%s = DEFAULT", comma, key->quoted);
    return 0;
}

static bool has_position(const void *about)
{
    return options_of(about) != NULL && options_of(about)->on_sent == ON_SENT_POSITION;
}

/* An expression that is a file of its own. */
static int put_part(FILE *out, const void *about, const char *statement)
{
    const struct sql_facts of_table = table_facts(about);
    char *sql = sql_render(statement, &of_table);
    int status = sql != NULL ? put_string(out, sql) : -1;

    free(sql);
    return status;
}

/* {sent_time}: when the row was sent; NULL: it was not. */
static int put_sent_time(FILE *out, const void *about)
{
    return has_position(about)
               ? put_part(out, about, statement_sent_by_position)
               : put_string(out, column_sql(&table_of(about)->columns[COLUMN_SENT_AT]));
}

/* A marked row counts as sent even with on_sent = "delete". */
static int put_unsent(FILE *out, const void *about)
{
    const struct table *table = table_of(about);
    bool marked = table_is_marked_by_time(table);

    if (has_position(about))
        return put_part(out, about, statement_unsent_by_position);
    if (marked)
        (void)fprintf(out, "%s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    if (table->where != NULL)
        (void)fprintf(out, "%s(%s)", marked ? " AND " : "", table->where);
    return put_string(out, marked || table->where != NULL ? "" : "true");
}

static int put_slice(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct outbox_options *options = options_of(about);

    if (options->order == ORDER_NONE)
        return put_string(out, "0");
    sql_put_slice(out, table_of(about), options->slices,
                  strcmp(fact->name, "slice_of_parked") == 0);
    return 0;
}

static int put_slices(FILE *out, const void *about)
{
    return fprintf(out, "%d", options_of(about)->slices) < 0 ? -1 : 0;
}

static int is_so(const void *about, const char *name)
{
    const struct table *table = table_of(about);
    const struct table_column *columns = table->columns;
    const struct outbox_options *options = options_of(about);
    bool has_options = options != NULL;
    const struct sql_truth all[] = {
        {"by_slice", has_options && options->order == ORDER_KEY},
        {"keyed", has_options && sql_keeps_order(table, options)},
        {"marking", has_options && options->on_sent == ON_SENT_MARK},
        {"deleting", has_options && options->on_sent == ON_SENT_DELETE},
        {"position", has_options && options->on_sent == ON_SENT_POSITION},
        {"partitioned", table->is_partitioned},
        {"keeps_sent", has_options && outbox_keeps_sent(options)},
        {"computed", table->is_computed},
        {"in_place", table->park != NULL},
        {"own_mark", table->mark != NULL},
        {"own_table", table->is_own},
        {"marked_by_time", table_is_marked_by_time(table)},
        {"integer_ids", table_has_integer_ids(table)},
        {"numbered", table->numbered},
        {"id_has_default", columns[COLUMN_ID].has_default},
        {"id_is_not_null", columns[COLUMN_ID].not_null},
        {"id_is_unique", columns[COLUMN_ID].unique},
        {"id_is_uuid", strcmp(table_type(table, COLUMN_ID), "uuid") == 0},
        {"event_id_is_uuid", strcmp(table_type(table, COLUMN_EVENT_ID), "uuid") == 0},
        {"key_is_bytes", strcmp(columns[COLUMN_KEY].type, "bytea") == 0},
        {"created_at_is_date", columns[COLUMN_CREATED_AT].category == 'D'},
        {"payload_is_converted",
         table_has(table, COLUMN_PAYLOAD) && !is_sent_binary(table, COLUMN_PAYLOAD)},
        {"headers_are_jsonb", strcmp(columns[COLUMN_HEADERS].base, "jsonb") == 0},
        {"key_is_indexed", table_key_is_indexed(table)},
        {"parked_exists", table->parked_exists},
        {"slice_exists", table->slice_exists},
        {"control_exists", table->control_exists},
        {"progress_exists", table->progress_exists},
        {"has_id", table_has(table, COLUMN_ID)},
        {"has_event_id", table_has(table, COLUMN_EVENT_ID)},
        {"has_topic", table_has(table, COLUMN_TOPIC)},
        {"has_key", table_has(table, COLUMN_KEY)},
        {"has_type", table_has(table, COLUMN_TYPE)},
        {"has_payload", table_has(table, COLUMN_PAYLOAD)},
        {"has_headers", table_has(table, COLUMN_HEADERS)},
        {"has_created_at", table_has(table, COLUMN_CREATED_AT)},
        {"has_sent_at", table_has(table, COLUMN_SENT_AT)},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

static const struct sql_fact facts[] = {
    {"outbox", .put_named = put_table},
    {"parked", .put_named = put_table},
    {"control", .put_named = put_table},
    {"slice_table", .put_named = put_table},
    {"progress", .put_named = put_table},
    {"outbox_text", .put_named = put_table},
    {"parked_text", .put_named = put_table},
    {"control_text", .put_named = put_table},
    {"slice_table_text", .put_named = put_table},
    {"progress_text", .put_named = put_table},
    {"order_sequence_text", .put = put_order_sequence_text},
    {"event_id_literal", .put = put_event_id_literal},
    {"first_number", .text = FACT_NUMBER(FIRST_NUMBER)},
    {"outbox_name", .put = put_outbox_name},
    {"outbox_oid", .put = put_outbox_oid},
    {"stem_text", .put = put_stem},
    {"id_name", .put_named = put_id_name},
    {"id_text", .put_named = put_id_name},
    {"order_trigger", .text = ORDER_TRIGGER},
    {"position_trigger", .text = POSITION_TRIGGER},
    {"xid_trigger", .text = XID_TRIGGER},
    {"order_sequence_suffix", .text = ORDER_SEQUENCE_SUFFIX},
    {"id", .put_named = put_value, .column = COLUMN_ID},
    {"event_id", .put_named = put_value, .column = COLUMN_EVENT_ID},
    {"topic", .put_named = put_value, .column = COLUMN_TOPIC},
    {"key", .put_named = put_value, .column = COLUMN_KEY},
    {"type", .put_named = put_value, .column = COLUMN_TYPE},
    {"payload", .put_named = put_value, .column = COLUMN_PAYLOAD},
    {"headers", .put_named = put_value, .column = COLUMN_HEADERS},
    {"created_at", .put_named = put_value, .column = COLUMN_CREATED_AT},
    {"sent_at", .put_named = put_column, .column = COLUMN_SENT_AT},
    {"sent_time", .put = put_sent_time},
    {"partitions_few", .text = FACT_NUMBER(PARTITIONS_FEW)},
    {"xid", .put_named = put_column, .column = COLUMN_XID},
    {"id_as_sent", .put_named = put_as_sent, .column = COLUMN_ID},
    {"event_id_as_sent", .put_named = put_as_sent, .column = COLUMN_EVENT_ID},
    {"topic_as_sent", .put_named = put_as_sent, .column = COLUMN_TOPIC},
    {"key_as_sent", .put_named = put_as_sent, .column = COLUMN_KEY},
    {"type_as_sent", .put_named = put_as_sent, .column = COLUMN_TYPE},
    {"payload_as_sent", .put_named = put_as_sent, .column = COLUMN_PAYLOAD},
    {"headers_as_sent", .put_named = put_as_sent, .column = COLUMN_HEADERS},
    {"created_at_as_sent", .put_named = put_as_sent, .column = COLUMN_CREATED_AT},
    {"id_type", .put = put_id_type},
    {"all_columns", .put = put_all_columns},
    {"more_headers", .put = put_more_headers},
    {"not_before", .put = put_not_before},
    {"mark", .put = put_mark},
    {"park", .put = put_park},
    {"raw", .put = put_raw},
    {"identity", .put = put_identity},
    {"kept", .put = put_kept},
    {"where", .put = put_where},
    {"unsent", .put = put_unsent},
    {"slices", .put = put_slices},
    {"mapping", .put = put_mapping},
    {"slice_of_row", .put_named = put_slice},
    {"slice_of_parked", .put_named = put_slice},
    {"moved_columns", .put_named = put_parked_columns},
    {"moved_names", .put_named = put_parked_columns},
    {"noted_columns", .put_named = put_parked_columns},
    {"noted_names", .put_named = put_parked_columns},
    {"is_pause", .text = PAUSE_ROW_SQL},
    {"is_paused", .text = "waits_for LIKE '" PAUSED_PREFIX "%'"},
    {"is_note", .text = "state IN ('" REFUSED_UNSENT "', '" REFUSED_SENT "')"},
    {"only_relay_writes", .text = ONLY_RELAY_WRITES},
    {"notes_max", .text = FACT_NUMBER(REFUSED_MAX)},
    {"long_s", .text = FACT_NUMBER(HOLDERS_LONG_S)},
    {.name = NULL},
};

struct sql_facts table_facts(const struct table_facts *about)
{
    return (struct sql_facts){.list = facts, .is = is_so, .about = about};
}

static char *table_sql_with(const struct table *table, const char *statement, const char *name,
                            const char *value)
{
    const struct table_facts about = {.table = table};
    const struct sql_facts of_table = table_facts(&about);
    const struct sql_fact one[] = {{name, .text = value}, {.name = NULL}};
    const struct sql_facts with = {.list = one, .more = &of_table};

    return sql_render(statement, &with);
}

char *table_sql(const struct table *table, const char *statement)
{
    return table_sql_with(table, statement, NULL, NULL);
}

/* Takes the statement. */
static PGresult *run(struct session *session, char *sql, int param_count, const char *const *params,
                     struct error *error)
{
    PGresult *result = NULL;

    if (sql != NULL)
        result = session_query(session, sql, param_count, params, error);
    else
        (void)error_no_memory(error);
    free(sql);
    return result;
}

PGresult *table_query(const struct table *table, struct session *session, const char *statement,
                      int param_count, const char *const *params, struct error *error)
{
    return run(session, table_sql(table, statement), param_count, params, error);
}

PGresult *table_query_with(const struct table *table, struct session *session,
                           const char *statement, const char *name, const char *value,
                           struct error *error)
{
    return run(session, table_sql_with(table, statement, name, value), 0, NULL, error);
}
