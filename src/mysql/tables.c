#include "mysql/tables.h"

#include "mysql/statements.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What an item of the parameter of park.sql is. */
#define GIVEN                                                                                      \
    "JSON_TABLE(?, '$[*]' COLUMNS (relay_id BIGINT UNSIGNED PATH '$.i',"                           \
    " relay_state VARCHAR(16) CHARACTER SET ascii PATH '$.s', relay_attempts INT PATH '$.a',"      \
    " relay_wait_ms BIGINT PATH '$.w', relay_error LONGTEXT CHARACTER SET utf8mb4 PATH '$.e',"     \
    " relay_waits_for VARCHAR(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.d',"         \
    " relay_created_us BIGINT PATH '$.c',"                                                         \
    " relay_topic TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.t'))"

/* ---- facts ---- */

/* Returns the text, which the tables own; NULL: no memory, which tables_describe() finds. */
__attribute__((format(printf, 3, 4))) static const char *
add(struct tables *tables, const char *name, const char *format, ...)
{
    va_list args;
    char *text;
    int len;

    va_start(args, format);
    len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0 || tables->fact_count == TABLES_FACTS_MAX - 1) {
        tables->lacks_fact = true;
        if (len >= 0)
            free(text);
        return NULL;
    }
    tables->texts[tables->fact_count] = text;
    tables->facts[tables->fact_count++] = (struct sql_fact){.name = name, .text = text};
    return text;
}

static void add_truth(struct tables *tables, const char *name, bool is_true)
{
    if (is_true && tables->fact_count == TABLES_FACTS_MAX - 1)
        tables->lacks_fact = true;
    else if (is_true)
        tables->facts[tables->fact_count++] = (struct sql_fact){.name = name};
}

void tables_put_literal(FILE *out, const char *text, size_t len)
{
    (void)fputc('\'', out);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\'' || text[i] == '\\')
            (void)fputc('\\', out);
        (void)fputc(text[i], out);
    }
    (void)fputc('\'', out);
}

char *tables_literals(const char *const *words, int count)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    for (int i = 0; i < count; i++) {
        (void)fputs(i == 0 ? "" : ",", writer.out);
        tables_put_literal(writer.out, words[i], strlen(words[i]));
    }
    return writer_end(&writer);
}

const char *tables_fact(const struct tables *tables, const char *name)
{
    for (int i = 0; i < tables->fact_count; i++)
        if (strcmp(tables->facts[i].name, name) == 0)
            return tables->facts[i].text;
    return "NULL";
}

/* Of at most 64 characters, all of which may have to be doubled. */
static void quote(char out[2 * OUTBOX_NAME_BYTES + 3], const char *name)
{
    size_t at = 0;

    out[at++] = '`';
    for (; *name != '\0'; name++) {
        if (*name == '`')
            out[at++] = '`';
        out[at++] = *name;
    }
    out[at++] = '`';
    out[at] = '\0';
}

static void add_literal(struct tables *tables, const char *name, const char *text)
{
    char *literal = tables_literals(&text, 1);

    if (literal != NULL)
        (void)add(tables, name, "%s", literal);
    else
        tables->lacks_fact = true;
    free(literal);
}

/* {outbox}, the tables beside it, and the order trigger and its sequence. */
static void add_tables(struct tables *tables)
{
    static const struct {
        const char *fact;
        const char *suffix;
    } all[] = {{"outbox", ""},
               {"parked", "_parked"},
               {"slice_table", "_slice"},
               {"control", "_control"},
               {"order_table", "_order"},
               {"order_trigger", "_order"},
               {"order_sequence", "_order_seq"}};
    char schema[2 * OUTBOX_NAME_BYTES + 3] = "";
    char name[OUTBOX_NAME_BYTES + 16];
    char quoted[2 * OUTBOX_NAME_BYTES + 3 + 16];

    if (tables->schema[0] != '\0')
        quote(schema, tables->schema);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        (void)snprintf(name, sizeof name, "%.*s%s",
                       OUTBOX_NAME_BYTES - 1 - (int)strlen(all[i].suffix), tables->name,
                       all[i].suffix);
        quote(quoted, name);
        (void)add(tables, all[i].fact, "%s%s%s", schema, schema[0] != '\0' ? "." : "", quoted);
    }
    add_literal(tables, "order_sequence_text", tables_fact(tables, "order_sequence"));
    (void)snprintf(tables->outbox, sizeof tables->outbox, "%s%s%s", tables->schema,
                   tables->schema[0] != '\0' ? "." : "", tables->name);
    add_literal(tables, "table_text", tables->name);
    if (tables->schema[0] != '\0')
        add_literal(tables, "schema_text", tables->schema);
    else
        (void)add(tables, "schema_text", "DATABASE()");
}

/* The column's value in SQL: of the row o, or with a name alone where the table is made. */
static void column_sql(const struct tables *tables, enum column column, bool bare, char *out,
                       size_t size)
{
    const char *configured = outbox_column(tables->options, column);
    char name[OUTBOX_NAME_BYTES] = "";
    char quoted[2 * OUTBOX_NAME_BYTES + 3];

    if (!tables->has[column]) {
        (void)snprintf(out, size, "NULL");
        return;
    }
    if (outbox_is_expression(configured)) {
        (void)snprintf(out, size, "%s", configured);
        return;
    }
    (void)outbox_read_column(configured, name);
    quote(quoted, name);
    (void)snprintf(out, size, "%s%s", bare ? "" : "o.", quoted);
}

/* Of text its bytes in UTF-8, in whatever character set the column is. */
static void add_bytes(struct tables *tables, enum column column, const char *fact, const char *sql)
{
    if (tables->is_bytes[column] || !tables->has[column])
        (void)add(tables, fact, "%s", sql);
    else if (column == COLUMN_PAYLOAD) /* CAST makes NULL of what is larger than a packet */
        (void)add(tables, fact, "CONVERT(%s USING utf8mb4)", sql);
    else
        (void)add(tables, fact, "CAST(CONVERT(%s USING utf8mb4) AS BINARY)", sql);
}

/* For notes, which tell a row from another one that has its id now. Bytes that are no UTF-8 would
 * be an error for each statement that meets them, as may any row be for an expression: then notes
 * go by the id alone. */
static void add_event_id_text(struct tables *tables, const char *sql)
{
    if (outbox_is_expression(outbox_column(tables->options, COLUMN_EVENT_ID)))
        sql = "NULL";
    (void)add(
        tables, "event_id_text",
        tables->is_bytes[COLUMN_EVENT_ID]
            ? "LEFT(CONVERT(CONVERT(%s USING latin1) USING utf8mb4) COLLATE utf8mb4_bin, 1024)"
            : "LEFT(CONVERT(%s USING utf8mb4) COLLATE utf8mb4_bin, 1024)",
        sql);
}

/* A DATETIME is read in [outbox] time_zone, and without one as UTC. */
static void moment_sql(const struct tables *tables, enum column column, const char *sql, char *out,
                       size_t size)
{
    const char *zone = tables->options->time_zone;

    if (zone == NULL || tables->is_zoned[column] || !tables->has[column])
        (void)snprintf(out, size, "%s", sql);
    else
        (void)snprintf(out, size, "CONVERT_TZ(%s, '%s', '+00:00')", sql, zone);
}

/* Of a row that is inserted, for the order trigger. */
static void add_new(struct tables *tables)
{
    char name[4200];
    char new_key[4300];

    column_sql(tables, COLUMN_ID, true, name, sizeof name);
    (void)add(tables, "id_name", "%s", name);
    column_sql(tables, COLUMN_KEY, true, name, sizeof name);
    (void)add(tables, "key_name", "%s", name);
    (void)snprintf(new_key, sizeof new_key, "NEW.%s", name);
    add_bytes(tables, COLUMN_KEY, "new_key_bytes", new_key);
}

static void add_columns(struct tables *tables, bool bare)
{
    char sql[COLUMN_COUNT][4200];
    char moment[4300];

    for (int i = 0; i < COLUMN_COUNT; i++)
        column_sql(tables, (enum column)i, bare, sql[i], sizeof sql[i]);
    if (!tables->has[COLUMN_EVENT_ID]) /* rows are told apart by their ids */
        memcpy(sql[COLUMN_EVENT_ID], sql[COLUMN_ID], sizeof sql[COLUMN_ID]);
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (i != COLUMN_DUE)
            (void)add(tables, column_name((enum column)i), "%s", sql[i]);
    add_event_id_text(tables, sql[COLUMN_EVENT_ID]);
    add_bytes(tables, COLUMN_KEY, "key_bytes", sql[COLUMN_KEY]);
    add_bytes(tables, COLUMN_PAYLOAD, "payload_bytes", sql[COLUMN_PAYLOAD]);
    add_bytes(tables, COLUMN_TOPIC, "topic_bytes", sql[COLUMN_TOPIC]);
    (void)add(tables, "meta_length",
              "(COALESCE(LENGTH(%s), 0) + COALESCE(LENGTH(%s), 0) + COALESCE(LENGTH(%s), 0))",
              sql[COLUMN_KEY], sql[COLUMN_TYPE], sql[COLUMN_HEADERS]);
    moment_sql(tables, COLUMN_CREATED_AT, sql[COLUMN_CREATED_AT], moment, sizeof moment);
    (void)add(tables, "created_us", "CAST(UNIX_TIMESTAMP(%s) * 1000000 AS SIGNED)", moment);
    (void)add(tables, "created_time", "%s", moment);
    moment_sql(tables, COLUMN_DUE, sql[COLUMN_DUE], moment, sizeof moment);
    (void)add(tables, "due", "%s", moment);
    (void)add(tables, "not_before", "%s", moment);
    (void)add(tables, "slice_of_row", "IFNULL(CRC32(%s), %s) MOD %d",
              tables_fact(tables, "key_bytes"), sql[COLUMN_ID], tables->slices);
}

/* {unsent}: what is true of a row that is not sent; without it every row is unsent. */
static void add_condition(struct tables *tables)
{
    const struct outbox_options *options = tables->options;
    bool by_mark = options->mark == NULL && tables->has[COLUMN_SENT_AT];
    const char *sent_at = tables_fact(tables, "sent_at");

    if (options->where != NULL && by_mark)
        (void)add(tables, "unsent", "(%s) AND %s IS NULL", options->where, sent_at);
    else if (options->where != NULL)
        (void)add(tables, "unsent", "(%s)", options->where);
    else if (by_mark)
        (void)add(tables, "unsent", "%s IS NULL", sent_at);
    if (options->mark != NULL)
        (void)add(tables, "mark", "%s", options->mark);
    else
        (void)add(tables, "mark", "%s = %s(6)", sent_at,
                  tables->is_zoned[COLUMN_SENT_AT] ? "CURRENT_TIMESTAMP" : "UTC_TIMESTAMP");
}

static void add_rest(struct tables *tables, const char *unsent_index, bool is_mariadb)
{
    bool keyed = tables->options->order == ORDER_KEY && tables->has[COLUMN_KEY];
    char quoted[2 * OUTBOX_NAME_BYTES + 3] = "PRIMARY";

    if (unsent_index != NULL && tables->options->on_sent == ON_SENT_MARK)
        quote(quoted, unsent_index);
    (void)add(tables, "claim_index", "%s", quoted);
    (void)add(tables, "slices", "%d", tables->slices);
    (void)add(tables, "slice_of_parked", "IFNULL(p.key_hash, p.id) MOD %d", tables->slices);
    (void)add(tables, "meta_max", "%d", TABLES_META_MAX);
    (void)add(tables, "wait_max_ms", "%" PRId64, TABLES_WAIT_MAX_MS);
    (void)add(tables, "given", "%s", GIVEN);
    add_truth(tables, "exists", tables->exists);
    add_truth(tables, "keyed", keyed);
    add_truth(tables, "has_due", tables->has[COLUMN_DUE]);
    add_truth(tables, "deleting", tables->options->on_sent == ON_SENT_DELETE);
    add_truth(tables, "marking", tables->options->on_sent == ON_SENT_MARK);
    add_truth(tables, "is_mariadb", is_mariadb);
}

/* ---- the description ---- */

static bool is_one_of(const char *type, const char *const *types)
{
    for (; *types != NULL; types++)
        if (strcmp(type, *types) == 0)
            return true;
    return false;
}

static void note_column(struct tables *tables, MYSQL_ROW row)
{
    static const char *const integers[] = {"bigint",   "int",     "mediumint",
                                           "smallint", "tinyint", NULL};
    char name[OUTBOX_NAME_BYTES];

    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *configured = outbox_column(tables->options, (enum column)i);

        if (configured == NULL || outbox_is_expression(configured) ||
            outbox_read_column(configured, name) != NULL || strcasecmp(name, row[0]) != 0)
            continue;
        tables->has[i] = true;
        tables->is_zoned[i] = strcmp(row[1], "timestamp") == 0;
        if (i == COLUMN_KEY)
            tables->key_is_generated =
                strstr(row[2], "VIRTUAL") != NULL || strstr(row[2], "STORED") != NULL;
        if (i == COLUMN_ID)
            tables->id_is_key = is_one_of(row[1], integers) && strcmp(row[4], "PRI") == 0;
        if (i == COLUMN_PAYLOAD)
            tables->payload_is_json = strcmp(row[1], "json") == 0;
        if (i == COLUMN_KEY)
            tables->key_is_bits = strcmp(row[1], "bit") == 0;
        if (i == COLUMN_EVENT_ID)
            tables->event_id_is_binary = strcmp(row[1], "binary") == 0;
        if (i == COLUMN_EVENT_ID)
            tables->event_id_is_unique = strcmp(row[4], "UNI") == 0 || strcmp(row[4], "PRI") == 0;
    }
}

/* The information schema leaves out what it cannot open, with a warning. */
static int has_looked(const struct tables *tables, struct db_session *session, struct error *error)
{
    if (mysql_warning_count(session->conn) == 0)
        return 0;
    (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                    "database: table %s cannot be looked at: somebody locks or changes it",
                    tables->outbox);
    error->cause = ERROR_LOCKED;
    return -1;
}

/* Before anything else is read of the table: a change after this shows by a later time. */
static int read_made_at(struct tables *tables, struct db_session *session, struct error *error)
{
    int64_t made_at;

    if (tables_ask(tables, session, db_sql_made_at, NULL, &made_at, 1, error) < 0)
        return -1;
    if (made_at != INT64_MIN)
        tables->made_at = made_at;
    return has_looked(tables, session, error);
}

static int read_columns(struct tables *tables, struct db_session *session, struct error *error)
{
    MYSQL_RES *rows = tables_query(tables, session, db_sql_inspect_columns, NULL, error);
    MYSQL_ROW row;

    if (rows == NULL)
        return -1;
    tables->exists = mysql_num_rows(rows) > 0;
    tables->is_bytes[COLUMN_KEY] = !tables->exists; /* as init makes it */
    while ((row = mysql_fetch_row(rows)) != NULL)
        note_column(tables, row);
    mysql_free_result(rows);
    if (has_looked(tables, session, error) < 0)
        return -1;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *configured = outbox_column(tables->options, (enum column)i);

        if (outbox_is_expression(configured) || (!tables->exists && configured != NULL))
            tables->has[i] = true;
    }
    return 0;
}

/* Of expressions, too: the server says it of the columns of an answer. */
static int read_types(struct tables *tables, struct db_session *session, struct error *error)
{
    static const int character_set_of_bytes = 63;
    char sql[COLUMN_COUNT * 4200];
    const struct sql_fact facts[] = {{"columns", .text = sql}, {.name = NULL}};
    MYSQL_RES *rows;
    int len = 0;

    for (int i = 0; i < COLUMN_COUNT; i++) {
        len += snprintf(sql + len, sizeof sql - (size_t)len, "%s", i == 0 ? "" : ", ");
        column_sql(tables, (enum column)i, false, sql + len, sizeof sql - (size_t)len);
        len += (int)strlen(sql + len);
    }
    rows = tables_query(tables, session, db_sql_types, facts, error);
    for (int i = 0; rows != NULL && i < COLUMN_COUNT; i++) {
        const MYSQL_FIELD *field = mysql_fetch_field_direct(rows, (unsigned)i);

        tables->is_bytes[i] =
            field->charsetnr == character_set_of_bytes && field->type >= MYSQL_TYPE_TINY_BLOB;
    }
    mysql_free_result(rows);
    return rows != NULL ? 0 : -1;
}

static int refuse(const struct tables *tables, struct error *error, const char *why)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "table %s %s", tables->outbox, why);
    return error_mark_schema(error);
}

static int check_columns(const struct tables *tables, struct error *error)
{
    static const enum column needed[] = {COLUMN_ID, COLUMN_TOPIC, COLUMN_PAYLOAD};

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!tables->has[needed[i]]) {
            (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                            "table %s has no column %s; name its column in [outbox.columns] %s",
                            tables->outbox, outbox_column(tables->options, needed[i]),
                            column_name(needed[i]));
            return error_mark_schema(error);
        }
    if (tables->event_id_is_binary)
        return refuse(tables, error,
                      "has an event id of type BINARY: write event_id = \"(HEX(o.COLUMN))\" in"
                      " [outbox.columns]");
    if (tables->key_is_bits)
        return refuse(tables, error,
                      "has a key of type BIT, whose bytes the server takes for text");
    if (tables->options->on_sent == ON_SENT_MARK && tables->options->mark == NULL &&
        !tables->has[COLUMN_SENT_AT])
        return refuse(tables, error, "has no column sent_at to mark rows with");
    if (tables->options->on_sent == ON_SENT_POSITION)
        return refuse(tables, error, "cannot be relayed by position: only on PostgreSQL");
    if (outbox_is_numbered(tables->options))
        return refuse(tables, error, "cannot be given an order column: only on PostgreSQL");
    return 0;
}

/* Reads what kind of table it is, and adds the facts that depend on it. */
static int read_kind(struct tables *tables, struct db_session *session, struct error *error)
{
    MYSQL_RES *rows = tables_query(tables, session, db_sql_kind_of_table, NULL, error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    int status = 0;

    if (rows == NULL)
        return -1;
    if (has_looked(tables, session, error) < 0)
        status = -1;
    else if (row != NULL && (row[0] == NULL || strcmp(row[1], "BASE TABLE") != 0))
        status = refuse(tables, error, "is no table but a view");
    else if (row != NULL && strcasecmp(row[0], "InnoDB") != 0)
        status = refuse(tables, error,
                        "has another engine than InnoDB: its rows cannot be settled"
                        " in a transaction");
    else if (row != NULL && (strcmp(row[3], "1") != 0 || !tables->id_is_key))
        status = refuse(tables, error,
                        "has no primary key of one column, which is the id and an integer");
    tables->is_own = row != NULL && row[4] != NULL && strcmp(row[4], "1") == 0;
    add_rest(tables, row != NULL ? row[2] : NULL, session->is_mariadb);
    mysql_free_result(rows);
    return status;
}

/* Claims begin at 0. */
static int check_ids(const struct tables *tables, struct db_session *session, struct error *error)
{
    int64_t negative;

    if (tables_ask(tables, session, db_sql_negative, NULL, &negative, 1, error) < 0)
        return -1;
    return negative == INT64_MIN
               ? 0
               : refuse(tables, error, "has rows with negative ids, which would never be sent");
}

/* The server may have no table of named zones: each time of a zone would be NULL. */
static int check_zone(const struct tables *tables, struct db_session *session, struct error *error)
{
    const struct sql_fact facts[] = {{"zone", .text = tables->options->time_zone}, {.name = NULL}};
    int64_t year;

    if (tables->options->time_zone == NULL)
        return 0;
    if (tables_ask(tables, session, "SELECT CONVERT_TZ('2026-01-01 00:00:00', '{zone}', '+00:00')",
                   facts, &year, 1, error) < 0)
        return -1;
    if (year != INT64_MIN)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "[outbox] time_zone: the server does not know this zone");
    return error_hint(error, "write it as \"+02:00\", or load mysql_tzinfo_to_sql's tables");
}

int tables_describe(struct tables *tables, const struct outbox_options *options,
                    struct db_session *session, struct error *error)
{
    const char *sent_at = outbox_column(options, COLUMN_SENT_AT);
    char name[OUTBOX_NAME_BYTES] = "";
    const char *problem;

    *tables =
        (struct tables){.options = options,
                        .slices = options->order == ORDER_KEY ? options->slices : TABLES_SLICES};
    tables->list = (struct sql_facts){.list = tables->facts};
    problem = outbox_read_table(options->table, tables->schema, tables->name);
    if (problem != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[outbox] table %s", problem);
    add_tables(tables);
    if (sent_at != NULL && !outbox_is_expression(sent_at))
        (void)outbox_read_column(sent_at, name);
    add_literal(tables, "sent_at_text", name);
    if (read_made_at(tables, session, error) < 0 || read_columns(tables, session, error) < 0 ||
        check_columns(tables, error) < 0 || check_zone(tables, session, error) < 0 ||
        (tables->exists && read_types(tables, session, error) < 0))
        return -1;
    add_columns(tables, !tables->exists);
    add_new(tables);
    add_condition(tables);
    if (read_kind(tables, session, error) < 0 ||
        (tables->exists && check_ids(tables, session, error) < 0))
        return -1;
    return tables->lacks_fact ? error_no_memory(error) : 0;
}

void tables_free(struct tables *tables)
{
    for (int i = 0; i < tables->fact_count; i++)
        free(tables->texts[i]);
    *tables = (struct tables){0};
}

/* ---- statements ---- */

char *tables_statement(const struct tables *tables, const char *statement,
                       const struct sql_fact *more)
{
    const struct sql_facts all = {.list = more, .more = &tables->list};

    return sql_render(statement, &all);
}

MYSQL_RES *tables_query(const struct tables *tables, struct db_session *session,
                        const char *statement, const struct sql_fact *more, struct error *error)
{
    char *sql = tables_statement(tables, statement, more);
    MYSQL_RES *rows = NULL;

    if (sql != NULL)
        rows = db_query(session, sql, error);
    else
        (void)error_no_memory(error);
    free(sql);
    return rows;
}

int tables_ask(const struct tables *tables, struct db_session *session, const char *statement,
               const struct sql_fact *more, int64_t *numbers, int count, struct error *error)
{
    MYSQL_RES *rows = tables_query(tables, session, statement, more, error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;

    for (int i = 0; i < count; i++)
        numbers[i] = row != NULL && row[i] != NULL ? strtoll(row[i], NULL, 10) : INT64_MIN;
    mysql_free_result(rows);
    return rows != NULL ? 0 : -1;
}

int64_t tables_execute(const struct tables *tables, struct db_session *session,
                       const char *statement, const struct sql_fact *more, struct error *error)
{
    char *sql = tables_statement(tables, statement, more);
    int64_t affected = -1;

    if (sql != NULL)
        affected = db_execute(session, sql, error);
    else
        (void)error_no_memory(error);
    free(sql);
    return affected;
}
