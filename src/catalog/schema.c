/* The files of config/sql with the configured names and types filled in. */
#include "catalog/schema.h"

#include "catalog/facts.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expansion {
    const struct table *table;
    const struct outbox_options *options;
    const struct schema_grant *grant; /* only for init --grant, otherwise NULL */
    const char *drawn;                /* quoted; only for init --order-trigger, otherwise NULL */
    int64_t from, to;                 /* of a partition */
    int taken;                        /* names of it that others have */
};

bool schema_needs_index(const struct outbox_options *options)
{
    return options->order == ORDER_KEY || options->on_sent == ON_SENT_MARK ||
           options->where != NULL;
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
    const struct schema_grant *grant = expansion->grant;
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
        {"order_kept", table->order_kept_quoted},
        {"order_sequence", table->order_sequence_quoted},
        {"role", grant != NULL ? grant->role : NULL},
        {"sequence", grant != NULL ? grant->sequence : NULL},
        {"database", grant != NULL ? grant->database : NULL},
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

static int put_slice_in_full(FILE *out, const void *about)
{
    sql_put_slice_in_full(out, table_of(about), options_of(about)->slices);
    return 0;
}

/* {partition}: is named by the first of its ids; {default_partition}. */
static int put_partition(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct expansion *expansion = about;
    const struct table *table = expansion->table;
    char name[QUOTED_BYTES_MAX];

    if (strcmp(fact->name, "partition") == 0)
        (void)snprintf(name, sizeof name,
                       expansion->taken > 0 ? "%s_p%" PRId64 "_%d" : "%s_p%" PRId64, table->stem,
                       expansion->from, expansion->taken);
    else
        (void)snprintf(name, sizeof name, "%s_default", table->stem);
    (void)fprintf(out, "%s.\"", table->schema_quoted);
    for (const char *at = name; *at != '\0'; at++)
        (void)fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
    return fputc('"', out) == EOF ? -1 : 0;
}

static int put_first_partitions(FILE *out, const void *about)
{
    const struct expansion *expansion = about;
    int64_t rows = expansion->table->partition_rows;
    int status = 0;

    for (int i = 0; i < PARTITIONS_AHEAD && status == 0; i++) {
        char *sql =
            schema_partition_sql(expansion->table, expansion->options, i * rows, (i + 1) * rows, 0);

        status = sql != NULL && fputs(sql, out) >= 0 ? 0 : -1;
        free(sql);
    }
    return status;
}

static int put_ids(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct expansion *expansion = about;
    int64_t number = strcmp(fact->name, "partition_rows") == 0   ? expansion->table->partition_rows
                     : strcmp(fact->name, "partition_from") == 0 ? expansion->from
                                                                 : expansion->to;

    return fprintf(out, "%" PRId64, number) < 0 ? -1 : 0;
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
           (outbox_keeps_sent(options_of(about)) || table_has(table, COLUMN_SENT_AT));
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
    bool marks = options_of(about)->on_sent != ON_SENT_DELETE;

    return fputs(table_of(about)->columns[marks ? COLUMN_SENT_AT : COLUMN_ID].quoted, out) < 0 ? -1
                                                                                               : 0;
}

static int is_so(const void *about, const char *name)
{
    const struct expansion *expansion = about;
    const struct table *table = expansion->table;
    const struct table_column *key = &table->columns[COLUMN_KEY];
    bool key_has_escapes = strchr(column_sql(key), '\\') != NULL;
    const struct schema_grant *grant = expansion->grant;
    const struct sql_truth all[] = {
        {"has_mark", has_mark(about)},
        {"unsent", expansion->options->on_sent != ON_SENT_POSITION &&
                       (has_mark(about) || table->where != NULL)},
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
        {"sequence", grant != NULL && grant->sequence[0] != '\0'},
        {"database", grant != NULL && grant->database != NULL},
        {"identifies", grant != NULL && grant->identifies},
        {"drawn", expansion->drawn != NULL && expansion->drawn[0] != '\0'},
        {"partition_rows", table->partition_rows > 0},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

static const struct sql_fact facts[] = {
    {"schema", .put_named = put_name},
    {"claim_index", .put_named = put_name},
    {"notify", .put_named = put_name},
    {"order", .put_named = put_name},
    {"order_bucket", .put_named = put_name},
    {"order_gate", .put_named = put_name},
    {"order_kept", .put_named = put_name},
    {"order_sequence", .put_named = put_name},
    {"order_trigger", .text = ORDER_TRIGGER},
    {"role", .put_named = put_name},
    {"sequence", .put_named = put_name},
    {"database", .put_named = put_name},
    {"drawn", .put_named = put_name},
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
    {"partition", .put_named = put_partition},
    {"default_partition", .put_named = put_partition},
    {"first_partitions", .put = put_first_partitions},
    {"partition_rows", .put_named = put_ids},
    {"partition_from", .put_named = put_ids},
    {"partition_to", .put_named = put_ids},
    {"last_slice", .put_named = put_number},
    {"last_bucket", .put_named = put_number},
    {"bucket_lock", .put_named = put_number},
    {"gate_lock", .put_named = put_number},
    {"schema_number", .text = FACT_NUMBER(SCHEMA_NUMBER)},
    {"key_of_new", .put = put_key_of_new},
    {"unsent", .put = put_unsent},
    {"lock_column", .put = put_lock_column},
    {.name = NULL},
};

/* ---- statements ---- */

/* `names`: of facts that are true. */
static char *render(const struct expansion *expansion, const char *statement, const char *names)
{
    const struct table_facts about = {expansion->table, expansion->options};
    const struct sql_facts tables = table_facts(&about);
    const struct sql_facts all = {
        .names = names, .list = facts, .is = is_so, .about = expansion, .more = &tables};
    char *text = sql_render(statement, &all);
    char *sql = NULL;

    if (text != NULL && asprintf(&sql, "%s%s", text, text[0] != '\0' ? "\n" : "") < 0)
        sql = NULL;
    free(text);
    return sql;
}

char *schema_sql(const struct table *table, const struct outbox_options *options,
                 const char *statement, const char *names)
{
    const struct expansion expansion = {.table = table, .options = options};

    return render(&expansion, statement, names);
}

char *schema_partition_sql(const struct table *table, const struct outbox_options *options,
                           int64_t from, int64_t to, int taken)
{
    const struct expansion expansion = {
        .table = table, .options = options, .from = from, .to = to, .taken = taken};

    return render(&expansion, statement_add_partition, "");
}

char *schema_parked_text(const struct table *table)
{
    bool is_bytes = strcmp(table->columns[COLUMN_KEY].type, "bytea") == 0;
    const struct sql_facts key = {.names = !table_key_is_indexed(table) ? ""
                                           : is_bytes ? "key_is_indexed key_is_bytes"
                                                      : "key_is_indexed"};

    return sql_render(statement_parked_table, &key);
}

/* Fills in the columns as `init` would create them, unless the table exists. */
void schema_foresee(struct table *table, const struct outbox_options *options)
{
    for (int i = 0; i < COLUMN_COUNT && !table->exists; i++) {
        if (i >= COLUMN_SENT_AT ? !table_needs(options, (enum column)i)
                                : table->columns[i].name[0] == '\0')
            continue;
        (void)snprintf(table->columns[i].type, sizeof table->columns[i].type, "%s",
                       table_type(table, (enum column)i));
        table->columns[i].immutable = true;
    }
}

char *schema_index_sql(const struct table *table, const struct outbox_options *options)
{
    return schema_sql(table, options, statement_index_of_claims, "concurrently");
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

char *schema_order_sql(const struct table *table, const struct outbox_options *options,
                       const char *drawn)
{
    const struct expansion expansion = {.table = table, .options = options, .drawn = drawn};

    return render(&expansion, statement_ordering, "");
}

char *schema_order_body(const struct table *table, const struct outbox_options *options)
{
    char *sql = schema_order_sql(table, options, NULL);
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

/* With a preset the outbox belongs to the application: only the other tables are created. */
char *schema_complete_sql(const struct table *existing, const struct outbox_options *options,
                          bool ordered)
{
    struct table table = *existing;
    char names[128];

    table.slice_exists = table.parked_exists = table.control_exists = false;
    table.progress_exists = false;
    schema_foresee(&table, options);
    (void)snprintf(names, sizeof names, "%s makes_others%s%s",
                   options->preset_columns == NULL ? "makes_outbox in_transaction" : "concurrently",
                   schema_needs_index(options) ? " makes_index" : "", ordered ? " ordered" : "");
    return schema_sql(&table, options, statement_tables, names);
}

char *schema_grant_sql(const struct table *table, const struct outbox_options *options,
                       const struct schema_grant *grant)
{
    const struct expansion expansion = {.table = table, .options = options, .grant = grant};

    return render(&expansion, statement_grant, "");
}
