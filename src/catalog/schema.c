/* config/schema.sql with the configured names and types filled in. */
#include "catalog/schema.h"

#include "catalog/sql_text.h"
#include "sql/sql.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const default_types[COLUMN_COUNT] = {
    "bigint", "uuid", "text", "text", "text", "jsonb", "jsonb", "timestamptz", "timestamptz"};

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

const char *schema_type(const struct table *table, enum column column)
{
    return table_has(table, column) ? table->columns[column].type : default_types[column];
}

const char *parked_key_columns(const struct table *table)
{
    if (!table_has(table, COLUMN_KEY) || !table->columns[COLUMN_KEY].immutable)
        return NULL;
    if (strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0)
        return "pg_catalog.hashtextextended(pg_catalog.encode(key, 'hex'), 0), id";
    return "pg_catalog.hashtextextended(key::pg_catalog.text, 0), id";
}

static bool is_word(const char *word, size_t len, const char *name)
{
    return strlen(name) == len && memcmp(word, name, len) == 0;
}

static const char *find_column(const struct table *table, const char *word, size_t len, bool type)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!is_word(word, len, column_name((enum column)i)))
            continue;
        return type ? schema_type(table, (enum column)i) : table->columns[i].quoted;
    }
    return "";
}

/* As the relay evaluates the condition (pg/connect.c). */
static const char *where_settings(const struct table *table)
{
    if (table->where == NULL && table->columns[COLUMN_KEY].expression == NULL)
        return "";
    return (table->where != NULL && strchr(table->where, '\\') != NULL) ||
                   strchr(column_sql(&table->columns[COLUMN_KEY]), '\\') != NULL
               ? "SET search_path = ''; SET standard_conforming_strings = on;\n"
               : "SET search_path = '';\n";
}

/* The settings of the order trigger's function, in SQL and as pg_proc has them. It evaluates an
 * expression as the relay does; without one it needs none. */
static const struct order_settings {
    const char *sql;
    const char *config;
} order_settings[] = {
    {"", NULL},
    {" SET search_path = ''", "{\"search_path=\\\"\\\"\"}"},
    {" SET search_path = '' SET standard_conforming_strings = on",
     "{\"search_path=\\\"\\\"\",standard_conforming_strings=on}"},
};

static const struct order_settings *order_settings_of(const struct table *table)
{
    const char *key = table->columns[COLUMN_KEY].expression;

    return &order_settings[key == NULL ? 0 : strchr(key, '\\') == NULL ? 1 : 2];
}

const char *schema_order_config(const struct table *table)
{
    return order_settings_of(table)->config;
}

bool schema_needs_delete(const struct table *table, const struct outbox_options *options)
{
    return options->on_sent == ON_SENT_DELETE || table->park == NULL ||
           (table_knows_sent(table) && options->retention_ms > 0);
}

/* The replacement of a word that is not a column; NULL when the word is unknown here. */
static const char *find_name(const struct expansion *expansion, const char *word, size_t len)
{
    const struct table *table = expansion->table;
    const struct {
        const char *word;
        const char *text;
    } names[] = {
        {"outbox", table->quoted},
        {"parked", table->parked_quoted},
        {"control", table->control_quoted},
        {"parked_key", parked_key_columns(table)},
        {"slice", table->slice_quoted},
        {"schema", table->schema_quoted},
        {"index", table->claim_index_quoted},
        {"notify", table->notify_quoted},
        {"order", table->order_quoted},
        {"order_bucket", table->order_bucket_quoted},
        {"order_gate", table->order_gate_quoted},
        {"order_sequence", table->order_sequence_quoted},
        {"order_trigger", ORDER_TRIGGER},
        {"order_settings", order_settings_of(table)->sql},
        {"role", expansion->role},
        {"sequence", expansion->sequence},
        {"database", expansion->database},
        {"delete", schema_needs_delete(table, expansion->options) ? " DELETE," : ""},
        {"where_path", where_settings(table)},
        {"concurrently", expansion->concurrently ? "CONCURRENTLY " : ""},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(word, len, names[i].word))
            return names[i].text;
    return NULL;
}

/* The predicate of the claim index, which must match {unsent} (words.c). */
static void put_unsent(FILE *out, const struct table *table, bool marked)
{
    if (marked)
        (void)fprintf(out, " WHERE %s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    if (table->where != NULL)
        (void)fprintf(out, " %s (%s)", marked ? "AND" : "WHERE", table->where);
}

/* A SET list may set any column. */
static void put_lock_column(FILE *out, const struct table *table, bool mark)
{
    if ((!mark || table->mark == NULL) && table->park == NULL)
        (void)fprintf(out, " (%s)", table->columns[mark ? COLUMN_SENT_AT : COLUMN_ID].quoted);
}

/* The bucket of a key: of `value`, or of that of the row which is inserted. NULL has none. */
static void put_bucket(FILE *out, const struct table *table, const char *value)
{
    const struct table_column *key = &table->columns[COLUMN_KEY];
    bool is_bytes = strcmp(key->type, "bytea") == 0;

    (void)fputs(is_bytes ? "pg_catalog.hashtext(pg_catalog.encode(" : "pg_catalog.hashtext((", out);
    if (strcmp(value, "row") != 0)
        (void)fputs(value, out);
    else if (key->expression == NULL)
        (void)fprintf(out, "NEW.%s", key->quoted);
    else
        (void)fprintf(out, "(SELECT %s FROM (SELECT NEW.*) AS %s)", key->expression,
                      table->quoted + strlen(table->schema_quoted) + 1);
    (void)fprintf(out, is_bytes ? ", 'hex'))" : ")::pg_catalog.text)");
    (void)fprintf(out, " OPERATOR(pg_catalog.&) %d", BUCKETS - 1);
}

static void put_type(FILE *out, const char *type)
{
    (void)fprintf(out, "%s%s", sql_type_schema(type), type);
}

static void put_word(const struct expansion *expansion, FILE *out, const char *word, size_t len)
{
    const struct table *table = expansion->table;
    const char *sent_at = table->columns[COLUMN_SENT_AT].quoted;
    const char *name = find_name(expansion, word, len);
    bool mark = expansion->options->on_sent == ON_SENT_MARK;
    bool marked = table->mark == NULL && (mark || table_has(table, COLUMN_SENT_AT));

    if (name != NULL)
        (void)fprintf(out, "%s", name);
    else if (is_word(word, len, "slices"))
        (void)fprintf(out, "%d", expansion->options->slices);
    else if (is_word(word, len, "last_slice"))
        (void)fprintf(out, "%d", expansion->options->slices - 1);
    else if (is_word(word, len, "bucket_lock"))
        (void)fprintf(out, "%d", BUCKET_LOCK);
    else if (is_word(word, len, "gate_lock"))
        (void)fprintf(out, "%d", GATE_LOCK);
    else if (is_word(word, len, "bucket:row"))
        put_bucket(out, table, "row");
    else if (is_word(word, len, "bucket:$1"))
        put_bucket(out, table, "$1");
    else if (is_word(word, len, "order_sequence_text"))
        sql_put_literal(out, table->order_sequence_quoted);
    else if (is_word(word, len, "outbox_text"))
        sql_put_literal(out, table->quoted);
    else if (is_word(word, len, "drawn") && expansion->drawn[0] != '\0')
        (void)fprintf(out, ", (SELECT last_value FROM %s)", expansion->drawn);
    else if (is_word(word, len, "schema_number"))
        (void)fprintf(out, "%d", SCHEMA_NUMBER);
    else if (is_word(word, len, "slice_of_row"))
        sql_put_slice_in_full(out, table, expansion->options->slices);
    else if (is_word(word, len, "lock_column"))
        put_lock_column(out, table, mark);
    else if (is_word(word, len, "unsent"))
        put_unsent(out, table, marked);
    else if (is_word(word, len, "key_room") && mark)
        (void)fprintf(out,
                      " WITH (fillfactor = 50)"); /* marking a row adds a second entry for its id */
    else if (is_word(word, len, "sent_at_column") && marked)
        (void)fprintf(out, ",\n    %s    pg_catalog.timestamptz -- NULL: not sent yet", sent_at);
    else if (len > 5 && memcmp(word, "type:", 5) == 0)
        put_type(out, find_column(table, word + 5, len - 5, true));
    else
        (void)fprintf(out, "%s", find_column(table, word, len, false));
}

static void expand(const struct expansion *expansion, FILE *out, const char *text, size_t len)
{
    const char *end = text + len;

    while (text < end) {
        const char *open = memchr(text, '@', (size_t)(end - text));
        const char *close = open != NULL ? memchr(open + 1, '@', (size_t)(end - open - 1)) : NULL;

        if (close == NULL) {
            (void)fwrite(text, 1, (size_t)(end - text), out);
            return;
        }
        (void)fwrite(text, 1, (size_t)(open - text), out);
        put_word(expansion, out, open + 1, (size_t)(close - open - 1));
        text = close + 1;
    }
}

/* Writes the part of the file between "--[name]" and the next such line. */
static void put_section(const struct expansion *expansion, FILE *out, const char *name)
{
    char heading[32];
    const char *start;
    const char *end;

    (void)snprintf(heading, sizeof heading, "--[%s]\n", name);
    start = strstr(embedded_schema, heading);
    if (start == NULL)
        return;
    start += strlen(heading);
    end = strstr(start, "\n--[");
    expand(expansion, out, start, end != NULL ? (size_t)(end - start) : strlen(start));
}

static char *render(const struct expansion *expansion, const char *const *sections)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    for (int i = 0; sections[i] != NULL; i++)
        put_section(expansion, writer.out, sections[i]);
    return writer_end(&writer);
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
                       default_types[i]);
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
