/* config/schema.sql with the configured names and types filled in. */
#include "catalog/schema.h"

#include "catalog/facts.h"
#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTIONS_MAX 14

struct expansion {
    const struct table *table;
    const struct outbox_options *options;
    const char *role;     /* quoted; only for init --grant, otherwise NULL */
    const char *sequence; /* quoted; only for init --grant, otherwise NULL */
    const char *database; /* the same */
    const char *drawn;    /* quoted; only for init --order-trigger, otherwise NULL */
    bool concurrently;
};

const char *parked_key_columns(const struct table *table)
{
    if (!table_has(table, COLUMN_KEY) || !table->columns[COLUMN_KEY].immutable)
        return NULL;
    if (strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0)
        return "pg_catalog.hashtextextended(pg_catalog.encode(key, 'hex'), 0), id";
    return "pg_catalog.hashtextextended(key::pg_catalog.text, 0), id";
}

/* The settings of the order trigger's function, as pg_proc has them. */
const char *schema_order_config(const struct table *table)
{
    const char *key = table->columns[COLUMN_KEY].expression;

    if (key == NULL)
        return NULL;
    return strchr(key, '\\') == NULL ? "{\"search_path=\\\"\\\"\"}"
                                     : "{\"search_path=\\\"\\\"\",standard_conforming_strings=on}";
}

bool schema_needs_delete(const struct table *table, const struct outbox_options *options)
{
    return options->on_sent == ON_SENT_DELETE || table->park == NULL ||
           (table_knows_sent(table) && options->retention_ms > 0);
}

/* ---- facts ---- */

static const struct table *table_of(const void *about)
{
    return ((const struct expansion *)about)->table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct expansion *)about)->options;
}

static int put_name(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct expansion *expansion = about;
    const struct table *table = expansion->table;
    const struct {
        const char *name;
        const char *text;
    } names[] = {
        {"schema", table->schema_quoted},
        {"claim_index", table->claim_index_quoted},
        {"notify", table->notify_quoted},
        {"order", table->order_quoted},
        {"order_bucket", table->order_bucket_quoted},
        {"order_gate", table->order_gate_quoted},
        {"order_sequence", table->order_sequence_quoted},
        {"role", expansion->role},
        {"sequence", expansion->sequence},
        {"database", expansion->database},
        {"drawn", expansion->drawn},
    };
    size_t at = 0;

    while (strcmp(names[at].name, fact->name) != 0)
        at++;
    return fputs(names[at].text, out) < 0 ? -1 : 0;
}

/* {id} and so on: the column, also where its value is computed by an expression. */
static int put_quoted(FILE *out, const void *about, const struct sql_fact *fact)
{
    return fputs(table_of(about)->columns[fact->column].quoted, out) < 0 ? -1 : 0;
}

static int put_type(FILE *out, const void *about, const struct sql_fact *fact)
{
    const char *type = table_type(table_of(about), (enum column)fact->column);

    return fprintf(out, "%s%s", sql_type_schema(type), type) < 0 ? -1 : 0;
}

static int put_order_sequence_text(FILE *out, const void *about)
{
    sql_put_literal(out, table_of(about)->order_sequence_quoted);
    return 0;
}

static int put_slice_in_full(FILE *out, const void *about)
{
    sql_put_slice_in_full(out, table_of(about), options_of(about)->slices);
    return 0;
}

static int put_number(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct {
        const char *name;
        int number;
    } numbers[] = {
        {"last_slice", options_of(about)->slices - 1},
        {"last_bucket", BUCKETS - 1},
        {"bucket_lock", BUCKET_LOCK},
        {"gate_lock", GATE_LOCK},
    };
    size_t at = 0;

    while (strcmp(numbers[at].name, fact->name) != 0)
        at++;
    return fprintf(out, "%d", numbers[at].number) < 0 ? -1 : 0;
}

/* The key of the row that is inserted. */
static int put_key_of_new(FILE *out, const void *about)
{
    const struct table *table = table_of(about);
    const struct table_column *key = &table->columns[COLUMN_KEY];
    int written = key->expression == NULL
                      ? fprintf(out, "NEW.%s", key->quoted)
                      : fprintf(out, "(SELECT %s FROM (SELECT NEW.*) AS %s)", key->expression,
                                table->quoted + strlen(table->schema_quoted) + 1);

    return written < 0 ? -1 : 0;
}

/* The outbox has, or gets, the column sent_at, which says what is unsent. */
static bool has_mark(const void *about)
{
    const struct table *table = table_of(about);

    return table->mark == NULL &&
           (options_of(about)->on_sent == ON_SENT_MARK || table_has(table, COLUMN_SENT_AT));
}

/* {unsent}: the predicate of the claim index, which must match that of the claims (facts.c). */
static int put_unsent(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    if (has_mark(about))
        (void)fprintf(out, "%s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    if (table->where != NULL)
        (void)fprintf(out, "%s(%s)", has_mark(about) ? " AND " : "", table->where);
    return 0;
}

static int put_lock_column(FILE *out, const void *about)
{
    bool marks = options_of(about)->on_sent == ON_SENT_MARK;

    return fputs(table_of(about)->columns[marks ? COLUMN_SENT_AT : COLUMN_ID].quoted, out) < 0 ? -1
                                                                                               : 0;
}

static bool is_so(const void *about, const char *name)
{
    const struct expansion *expansion = about;
    const struct table *table = expansion->table;
    const struct table_column *key = &table->columns[COLUMN_KEY];
    bool key_has_escapes = strchr(column_sql(key), '\\') != NULL;
    const struct sql_truth all[] = {
        {"has_mark", has_mark(about)},
        {"unsent", has_mark(about) || table->where != NULL},
        /* A SET list may set any column. */
        {"locks_column", (expansion->options->on_sent != ON_SENT_MARK || table->mark == NULL) &&
                             table->park == NULL},
        {"deletes", schema_needs_delete(table, expansion->options)},
        {"key_is_computed", key->expression != NULL},
        {"key_has_escapes", key_has_escapes},
        /* The index is made as the relay evaluates the condition and the key (pg/connect.c). */
        {"sets_path", table->where != NULL || key->expression != NULL},
        {"has_escapes",
         (table->where != NULL && strchr(table->where, '\\') != NULL) || key_has_escapes},
        {"concurrently", expansion->concurrently},
        {"drawn", expansion->drawn != NULL && expansion->drawn[0] != '\0'},
    };

    return sql_truth(all, name);
}

static const struct sql_fact facts[] = {
    {"schema", .put_named = put_name},
    {"claim_index", .put_named = put_name},
    {"notify", .put_named = put_name},
    {"order", .put_named = put_name},
    {"order_bucket", .put_named = put_name},
    {"order_gate", .put_named = put_name},
    {"order_sequence", .put_named = put_name},
    {"order_sequence_text", .put = put_order_sequence_text},
    {"order_trigger", .text = ORDER_TRIGGER},
    {"role", .put_named = put_name},
    {"sequence", .put_named = put_name},
    {"database", .put_named = put_name},
    {"drawn", .put_named = put_name, .is = is_so},
    {"id", .put_named = put_quoted, .column = COLUMN_ID},
    {"event_id", .put_named = put_quoted, .column = COLUMN_EVENT_ID},
    {"topic", .put_named = put_quoted, .column = COLUMN_TOPIC},
    {"key", .put_named = put_quoted, .column = COLUMN_KEY},
    {"type", .put_named = put_quoted, .column = COLUMN_TYPE},
    {"payload", .put_named = put_quoted, .column = COLUMN_PAYLOAD},
    {"headers", .put_named = put_quoted, .column = COLUMN_HEADERS},
    {"created_at", .put_named = put_quoted, .column = COLUMN_CREATED_AT},
    {"type_of_id", .put_named = put_type, .column = COLUMN_ID},
    {"type_of_event_id", .put_named = put_type, .column = COLUMN_EVENT_ID},
    {"type_of_topic", .put_named = put_type, .column = COLUMN_TOPIC},
    {"type_of_key", .put_named = put_type, .column = COLUMN_KEY},
    {"type_of_type", .put_named = put_type, .column = COLUMN_TYPE},
    {"type_of_payload", .put_named = put_type, .column = COLUMN_PAYLOAD},
    {"type_of_headers", .put_named = put_type, .column = COLUMN_HEADERS},
    {"type_of_created_at", .put_named = put_type, .column = COLUMN_CREATED_AT},
    {"slice_in_full", .put = put_slice_in_full},
    {"last_slice", .put_named = put_number},
    {"last_bucket", .put_named = put_number},
    {"bucket_lock", .put_named = put_number},
    {"gate_lock", .put_named = put_number},
    {"schema_number", .text = FACT_NUMBER(SCHEMA_NUMBER)},
    {"key_of_new", .put = put_key_of_new},
    {"unsent", .put = put_unsent, .is = is_so},
    {"has_mark", .is = is_so},
    {"lock_column", .put = put_lock_column},
    {"locks_column", .is = is_so},
    {"deletes", .is = is_so},
    {"key_is_computed", .is = is_so},
    {"key_has_escapes", .is = is_so},
    {"sets_path", .is = is_so},
    {"has_escapes", .is = is_so},
    {"concurrently", .is = is_so},
    {.name = NULL},
};

/* ---- sections ---- */

/* Writes the part of the file between "--[name]" and the next such line. The newline in front of
 * the part keeps its first comment. */
static int put_section(const struct expansion *expansion, FILE *out, const char *name)
{
    const struct table_facts about = {expansion->table, expansion->options};
    const struct sql_facts tables = table_facts(&about);
    const struct sql_facts list = {.list = facts, .about = expansion, .more = &tables};
    char heading[32];
    const char *start;
    const char *end;
    char *text;
    char *sql;

    (void)snprintf(heading, sizeof heading, "--[%s]\n", name);
    start = strstr(embedded_schema, heading) + strlen(heading) - 1;
    end = strstr(start, "\n--[");
    text = end != NULL ? strndup(start, (size_t)(end - start)) : strdup(start);
    sql = text != NULL ? sql_render(text, &list) : NULL;
    if (sql != NULL)
        (void)fprintf(out, "%s\n", sql + 1);
    free(text);
    free(sql);
    return sql != NULL ? 0 : -1;
}

static char *render(const struct expansion *expansion, const char *const *sections)
{
    struct writer writer;
    int status = 0;
    char *sql;

    if (!writer_begin(&writer))
        return NULL;
    for (int i = 0; sections[i] != NULL && status == 0; i++)
        status = put_section(expansion, writer.out, sections[i]);
    sql = writer_end(&writer);
    if (status == 0)
        return sql;
    free(sql);
    return NULL;
}

char *schema_sections_sql(const struct table *table, const struct outbox_options *options,
                          const char *const *sections)
{
    const struct expansion expansion = {.table = table, .options = options};

    return render(&expansion, sections);
}

const char *schema_index_section(const struct outbox_options *options)
{
    if (options->order == ORDER_KEY)
        return "slice_index";
    return options->on_sent == ON_SENT_MARK || options->where != NULL ? "index" : NULL;
}

static void add_section(const char **sections, const char *name)
{
    while (*sections != NULL)
        sections++;
    *sections = name;
}

/* Fills in the columns as `init` would create them, unless the table exists. */
void schema_foresee(struct table *table, const struct outbox_options *options)
{
    for (int i = 0; i < COLUMN_COUNT && !table->exists; i++) {
        if (i == COLUMN_SENT_AT && options->on_sent != ON_SENT_MARK)
            continue;
        (void)snprintf(table->columns[i].type, sizeof table->columns[i].type, "%s",
                       table_type(table, (enum column)i));
        table->columns[i].immutable = true;
    }
}

char *schema_index_sql(const struct table *table, const struct outbox_options *options)
{
    const struct expansion expansion = {.table = table, .options = options, .concurrently = true};
    const char *sections[SECTIONS_MAX] = {options->order == ORDER_KEY ? "slice_index" : "index"};

    return render(&expansion, sections);
}

void schema_index_fix(const struct table *table, const struct outbox_options *options, char *fix,
                      size_t size)
{
    char *sql = schema_index_sql(table, options);

    (void)snprintf(fix, size, "%.*s", sql != NULL ? (int)strlen(sql) - 1 : 0,
                   sql != NULL ? sql : "");
    free(sql);
    for (char *at = fix; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';
}

char *schema_number_sql(const struct table *table, const struct outbox_options *options)
{
    const char *const sections[] = {"schema_number", NULL};

    return schema_sections_sql(table, options, sections);
}

char *schema_slices_sql(const struct table *table, const struct outbox_options *options)
{
    const struct expansion expansion = {.table = table, .options = options};
    const char *sections[SECTIONS_MAX] = {"slices"};

    return render(&expansion, sections);
}

char *schema_order_sql(const struct table *table, const struct outbox_options *options,
                       const char *drawn)
{
    const struct expansion expansion = {.table = table, .options = options, .drawn = drawn};
    static const char *const sections[] = {"order_lock",      "order_sequence", "order_start",
                                           "order_functions", "order_trigger",  NULL};

    return render(&expansion, sections);
}

char *schema_order_body(const struct table *table, const struct outbox_options *options)
{
    static const char *const sections[] = {"order_functions", NULL};
    char *sql = schema_sections_sql(table, options, sections);
    char *body = NULL;
    char *next = sql != NULL ? strstr(sql, ORDER_QUOTES) : NULL;

    while (next != NULL) { /* the last of an even number of quotes ends the body */
        body = next + strlen(ORDER_QUOTES);
        next = strstr(body, ORDER_QUOTES);
        if (next != NULL)
            *next = '\0';
        next = next != NULL ? strstr(next + 1, ORDER_QUOTES) : NULL;
    }
    body = body != NULL ? strdup(body) : NULL;
    free(sql);
    return body;
}

char *schema_complete_sql(const struct table *existing, const struct outbox_options *options,
                          bool ordered)
{
    static const char *const plain[] = {"begin", "outbox", "outbox_columns", "commit", NULL};
    static const char *const with_trigger[] = {
        "begin",           "ordered_outbox", "outbox_columns", "order_sequence",
        "order_functions", "order_trigger",  "commit",         NULL};
    const char *const *outbox = ordered ? with_trigger : plain;
    /* With a preset the outbox belongs to the application: only the other tables are created. */
    bool ours = options->preset_columns == NULL;
    struct table table = *existing;
    const struct expansion expansion = {.table = &table, .options = options, .concurrently = !ours};
    const char *sections[SECTIONS_MAX] = {NULL};

    schema_foresee(&table, options);
    for (; ours && *outbox != NULL; outbox++)
        add_section(sections, *outbox);
    add_section(sections, schema_index_section(options));
    add_section(sections, options->order == ORDER_KEY ? "slice" : NULL);
    add_section(sections, "parked");
    add_section(sections, parked_key_columns(&table) != NULL ? "parked_key" : NULL);
    add_section(sections, "control");
    add_section(sections, "schema_number");
    return render(&expansion, sections);
}

char *schema_grant_sql(const struct table *table, const struct outbox_options *options,
                       const struct schema_grant *grant)
{
    const struct expansion expansion = {.table = table,
                                        .options = options,
                                        .role = grant->role,
                                        .sequence = grant->sequence,
                                        .database = grant->database};
    const char *sections[SECTIONS_MAX] = {"grant"};

    add_section(sections, grant->sequence[0] != '\0' ? "grant_sequence" : NULL);
    add_section(sections, options->order == ORDER_KEY ? "grant_slice" : NULL);
    add_section(sections, grant->database != NULL ? "grant_temporary" : NULL);
    add_section(sections, grant->identifies ? NULL : "grant_identity");
    return render(&expansion, sections);
}
