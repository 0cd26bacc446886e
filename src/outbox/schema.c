/*
 * init: config/schema.sql with the configured names and types filled in.
 *
 * An existing table is never altered: what it lacks is handed back as SQL, of the relay's own too.
 * What does not exist is created. Two inits at once are kept apart by an advisory lock.
 */
#include "outbox/schema.h"
#include "outbox/adoption.h"
#include "outbox/columns.h"
#include "outbox/filter.h"
#include "outbox/missing.h"
#include "outbox/parked_table.h"
#include "outbox/sequence.h"
#include "outbox/slices.h"
#include "outbox/sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const default_types[COLUMN_COUNT] = {
    "bigint", "uuid", "text", "text", "text", "jsonb", "jsonb", "timestamptz", "timestamptz"};

#define SECTIONS_MAX 10

struct expansion {
    const struct table *table;
    const struct outbox_options *options;
    const char *role;     /* quoted; NULL outside --grant, */
    const char *sequence; /* as this one */
    bool concurrently;
};

const char *schema_type(const struct table *table, enum column column)
{
    return table_has(table, column) ? table->columns[column].type : default_types[column];
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

/* A name or a text of the whole; NULL when the word is none of them. */
static const char *find_name(const struct expansion *expansion, const char *word, size_t len)
{
    const struct table *table = expansion->table;
    bool mark = expansion->options->on_sent == ON_SENT_MARK;
    const struct {
        const char *word;
        const char *text;
    } names[] = {
        {"outbox", table->quoted},
        {"parked", table->parked_quoted},
        {"parked_key", parked_key_columns(table)},
        {"slice", table->slice_quoted},
        {"schema", table->schema_quoted},
        {"index", table->claim_index_quoted},
        {"notify", table->notify_quoted},
        {"role", expansion->role},
        {"sequence", expansion->sequence},
        /* The condition's names are those of the relay, whose search_path is empty. */
        {"where_path", table->where != NULL ? "SET search_path = '';\n" : ""},
        {"concurrently", expansion->concurrently ? "CONCURRENTLY " : ""},
        {"lock_column", table->columns[mark ? COLUMN_SENT_AT : COLUMN_ID].quoted},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(word, len, names[i].word))
            return names[i].text;
    return NULL;
}

/* The index's predicate: that of sql_put_unsent(). */
static void put_unsent(FILE *out, const struct table *table, bool marked)
{
    if (marked)
        (void)fprintf(out, " WHERE %s IS NULL", table->columns[COLUMN_SENT_AT].quoted);
    if (table->where != NULL)
        (void)fprintf(out, " %s (%s)", marked ? "AND" : "WHERE", table->where);
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
    bool marked = mark || table_has(table, COLUMN_SENT_AT);

    if (name != NULL)
        (void)fprintf(out, "%s", name);
    else if (is_word(word, len, "slices"))
        (void)fprintf(out, "%d", expansion->options->slices);
    else if (is_word(word, len, "last_slice"))
        (void)fprintf(out, "%d", expansion->options->slices - 1);
    else if (is_word(word, len, "slice_of_row"))
        sql_put_slice_in_full(out, table, expansion->options->slices);
    else if (is_word(word, len, "unsent"))
        put_unsent(out, table, marked);
    else if (is_word(word, len, "key_room") && mark)
        (void)fprintf(out, " WITH (fillfactor = 50)"); /* marking adds a second entry to each */
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

/* The part of the file between "--[name]" and the next such line. */
static void put_section(const struct expansion *expansion, FILE *out, const char *name)
{
    char heading[32];
    const char *start;
    const char *end;

    (void)snprintf(heading, sizeof heading, "--[%s]\n", name);
    start = strstr(schema_sql_text, heading);
    if (start == NULL)
        return;
    start += strlen(heading);
    end = strstr(start, "\n--[");
    expand(expansion, out, start, end != NULL ? (size_t)(end - start) : strlen(start));
}

static char *render(const struct expansion *expansion, const char *const *sections)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    for (int i = 0; sections[i] != NULL; i++)
        put_section(expansion, out, sections[i]);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *schema_sections_sql(const struct admin *admin, const char *const *sections)
{
    const struct expansion expansion = {.table = &admin->table, .options = admin->options};

    return render(&expansion, sections);
}

/* The section that makes the claim's index. NULL: with "delete" the primary key serves. */
static const char *index_section(const struct outbox_options *options)
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

static void add_parked(const char **sections, const struct table *table)
{
    add_section(sections, "parked");
    add_section(sections, parked_key_columns(table) != NULL ? "parked_key" : NULL);
}

/* The table as it is, or as `init` would make it. */
static void foresee(struct table *table, const struct outbox_options *options)
{
    for (int i = 0; i < COLUMN_COUNT && !table->exists; i++) {
        if (i == COLUMN_SENT_AT && options->on_sent != ON_SENT_MARK)
            continue;
        (void)snprintf(table->columns[i].type, sizeof table->columns[i].type, "%s",
                       default_types[i]);
        table->columns[i].immutable = true;
    }
}

/* Before anything is made or printed that PostgreSQL would refuse for the condition. */
static int check_where(struct admin *admin, struct error *error)
{
    if (filter_try_index(&admin->table, &admin->session, error) < 0)
        return -1;
    if (admin->table.where_problem[0] == '\0')
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s", admin->table.where_problem);
}

char *admin_schema_sql(struct admin *admin, struct error *error)
{
    static const char *const outbox[] = {"begin", "outbox", "commit"};
    /* Of somebody else's table only the relay's own part is ours to create. */
    bool ours = admin->options->preset == PRESET_DEFAULT;
    struct table table = admin->table;
    const struct expansion expansion = {
        .table = &table, .options = admin->options, .concurrently = !ours};
    const char *sections[SECTIONS_MAX] = {NULL};
    char *sql;

    if (table.exists && (table_plain(&table, error) < 0 || check_where(admin, error) < 0))
        return NULL;
    foresee(&table, admin->options);
    for (size_t i = 0; ours && i < sizeof outbox / sizeof *outbox; i++)
        add_section(sections, outbox[i]);
    add_section(sections, index_section(admin->options));
    add_section(sections, admin->options->order == ORDER_KEY ? "slice" : NULL);
    add_parked(sections, &table);
    sql = render(&expansion, sections);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
}

/* 1, 0, or -1. A role that is yet to be made will have what everybody has. */
static int may_identify(struct admin *admin, const char *role, struct error *error)
{
    static const char sql[] =
        "SELECT pg_catalog.has_function_privilege(coalesce((SELECT rolname FROM"
        " pg_catalog.pg_roles WHERE rolname = $1), 'public'), " IDENTITY_FUNCTION
        ", 'EXECUTE')::int";

    return (int)admin_number(admin, sql, 1, &role, error);
}

/* Of a table that is yet to be made: the one that PostgreSQL will make for its identity column. */
static int find_sequence(struct admin *admin, struct sequence *sequence, struct error *error)
{
    const struct table *table = &admin->table;
    char name[QUOTED_BYTES_MAX];
    char quoted[QUOTED_BYTES_MAX];

    if (table->exists)
        return sequence_describe(sequence, &admin->session, table, error);
    (void)snprintf(name, sizeof name, "%.63s_%.63s_seq", table->name,
                   table->columns[COLUMN_ID].name);
    table_quote(admin->session.conn, name, quoted);
    (void)snprintf(sequence->quoted, sizeof sequence->quoted, "%s.%s", table->schema_quoted,
                   quoted);
    return 0;
}

char *admin_grant_sql(struct admin *admin, const char *role, struct error *error)
{
    struct sequence sequence = {0};
    int identifies = may_identify(admin, role, error);
    char *quoted =
        identifies < 0 ? NULL : PQescapeIdentifier(admin->session.conn, role, strlen(role));
    const struct expansion expansion = {.table = &admin->table,
                                        .options = admin->options,
                                        .role = quoted,
                                        .sequence = sequence.quoted};
    const char *sections[SECTIONS_MAX] = {"grant"};
    char *sql;

    if (identifies < 0 || find_sequence(admin, &sequence, error) < 0) {
        PQfreemem(quoted);
        return NULL;
    }
    add_section(sections, sequence.quoted[0] != '\0' ? "grant_sequence" : NULL);
    add_section(sections, admin->options->order == ORDER_KEY ? "grant_slice" : NULL);
    add_section(sections, identifies == 0 ? "grant_identity" : NULL);
    sql = quoted != NULL ? render(&expansion, sections) : NULL;
    PQfreemem(quoted);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
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

char *schema_slices_sql(const struct table *table, const struct outbox_options *options)
{
    const struct expansion expansion = {.table = table, .options = options};
    const char *sections[SECTIONS_MAX] = {"slices"};

    return render(&expansion, sections);
}

static int execute_sections(struct admin *admin, const char *const *sections, struct error *error)
{
    const struct expansion expansion = {.table = &admin->table, .options = admin->options};
    char *sql = render(&expansion, sections);
    int status =
        sql != NULL ? session_execute(&admin->session, sql, error) : error_no_memory(error);

    free(sql);
    return status;
}

/* With the condition of [outbox] where, which may name a column that the new table has not. */
static int create_outbox(struct admin *admin, struct error *error)
{
    const char *sections[SECTIONS_MAX] = {"outbox"};
    struct error cause;

    if (admin->options->preset != PRESET_DEFAULT)
        return error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "table %s does not exist; init creates the default table only, not a preset's",
            admin->table.quoted);
    foresee(&admin->table, admin->options);
    if (execute_sections(admin, sections, error) < 0)
        return -1;
    sections[0] = index_section(admin->options);
    if (sections[0] == NULL || execute_sections(admin, sections, &cause) == 0)
        return table_describe(&admin->table, &admin->session, admin->options, error);
    return error_set(error, cause.kind, cause.origin, "%s%s",
                     admin->options->where != NULL ? "[outbox] where: " : "", cause.text);
}

/* Whether the relay can send from the table that is there. What no SQL adds makes it an error, too:
 * other types of id and key, a missing privilege. */
static int refuse(const struct table *table, const struct outbox_options *options,
                  struct error *error)
{
    if (columns_check(table, options, error) < 0)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "nothing was created: table %s does not fit", table->quoted);
    if (options->order != ORDER_KEY)
        return 0;
    if (slices_check(SLICES_COLUMNS, table, options, error) < 0)
        return -1;
    return table->slice_exists ? slices_check(SLICES_TABLE, table, options, error) : 0;
}

/* Where a column is missing nothing is created; what it takes is told once the transaction is over.
 */
static int create_missing(struct admin *admin, struct error *error)
{
    const char *sections[SECTIONS_MAX] = {NULL};

    if (table_describe(&admin->table, &admin->session, admin->options, error) < 0 ||
        (admin->table.exists ? table_plain(&admin->table, error) : create_outbox(admin, error)) < 0)
        return -1;
    if (refuse(&admin->table, admin->options, error) < 0)
        return -1;
    if (!table_has_needed(&admin->table, admin->options))
        return 0;
    if (admin->options->order == ORDER_KEY && !admin->table.slice_exists)
        add_section(sections, "slice");
    if (!admin->table.parked_exists)
        add_parked(sections, &admin->table);
    return sections[0] != NULL ? execute_sections(admin, sections, error) : 0;
}

/* The SQL drops the index of the relays that run, when their condition is another one. */
static int tell_missing(struct admin *admin, struct error *error)
{
    const struct table *table = &admin->table;
    struct adoption adoption;
    struct error ignored; /* the SQL may add what the note is read by */

    if (!table_has_needed(table, admin->options) && !table->parked_exists)
        return error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "nothing was created: table %s lacks what this SQL adds; then run init again:",
            table->quoted);
    if (adoption_read_note(&adoption, table, &admin->session, &ignored) == 0 &&
        adoption.state == ADOPTION_CONDITION) {
        adoption_explain(&adoption, table, admin->options, error);
        return -1;
    }
    if (admin->options->order == ORDER_KEY &&
        slices_check(SLICES_NUMBER, table, admin->options, error) < 0)
        return -1;
    return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                     "what exists of %s and %s is not altered; it lacks what this SQL adds:",
                     table->quoted, table->parked_quoted);
}

int admin_init(struct admin *admin, char **missing, struct error *error)
{
    *missing = NULL;
    if (check_where(admin, error) < 0 ||
        session_execute(
            &admin->session,
            "BEGIN; SET LOCAL lock_timeout = 0; SELECT pg_catalog.pg_advisory_xact_lock(7246113,"
            " 1)",
            error) < 0 ||
        create_missing(admin, error) < 0 || session_execute(&admin->session, "COMMIT", error) < 0 ||
        table_describe(&admin->table, &admin->session, admin->options, error) < 0 ||
        missing_sql(admin, missing, error) < 0)
        return -1;
    if ((*missing)[0] != '\0')
        return tell_missing(admin, error);
    free(*missing);
    *missing = NULL;
    return 0;
}

int admin_foresee_adoption(struct admin *admin, struct error *error)
{
    struct adoption adoption;

    if (adoption_examine(&adoption, &admin->table, &admin->session, admin->options, error) < 0)
        return -1;
    if (adoption.state != ADOPTION_CONDITION &&
        (adoption.state != ADOPTION_OPEN || admin->options->adopt))
        return 0;
    adoption_explain(&adoption, &admin->table, admin->options, error);
    return 1;
}

int admin_settle_adoption(struct admin *admin, struct error *error)
{
    struct adoption adoption;

    if (table_whole(&admin->table, admin->options, error) < 0)
        return -1;
    return adoption_settle(&adoption, &admin->table, &admin->session, admin->options, error);
}
