/*
 * init: config/schema.sql with the configured names and types filled in.
 *
 * An existing table is never altered: what it lacks is handed back as SQL, of the relay's own too.
 * What does not exist is created. Two inits at once are kept apart by an advisory lock.
 */
#include "outbox/parked_table.h"
#include "outbox/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const default_types[COLUMN_COUNT] = {
    "bigint", "uuid", "text", "text", "text", "jsonb", "jsonb", "timestamptz", "timestamptz"};

struct expansion {
    struct admin *admin;
    const char *role; /* quoted; NULL outside --grant */
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

static const char *find_column(const struct admin *admin, const char *word, size_t len, bool type)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!is_word(word, len, column_name((enum column)i)))
            continue;
        return type ? schema_type(&admin->table, (enum column)i) : admin->table.columns[i].quoted;
    }
    return "";
}

static void put_index_name(const struct admin *admin, FILE *out)
{
    char name[96];
    char *quoted;

    (void)snprintf(name, sizeof name, "%s_unsent_idx", admin->table.name);
    quoted = PQescapeIdentifier(admin->session.conn, name, strlen(name));
    (void)fprintf(out, "%s", quoted != NULL ? quoted : "");
    PQfreemem(quoted);
}

static void put_schema_name(const struct admin *admin, FILE *out)
{
    char *quoted =
        PQescapeIdentifier(admin->session.conn, admin->table.schema, strlen(admin->table.schema));

    (void)fprintf(out, "%s", quoted != NULL ? quoted : "");
    PQfreemem(quoted);
}

static void put_word(const struct expansion *expansion, FILE *out, const char *word, size_t len)
{
    const struct admin *admin = expansion->admin;
    const char *sent_at = admin->table.columns[COLUMN_SENT_AT].quoted;
    bool mark = admin->options->on_sent == ON_SENT_MARK;

    if (is_word(word, len, "outbox"))
        (void)fprintf(out, "%s", admin->table.quoted);
    else if (is_word(word, len, "parked"))
        (void)fprintf(out, "%s", admin->table.parked_quoted);
    else if (is_word(word, len, "schema"))
        put_schema_name(admin, out);
    else if (is_word(word, len, "index"))
        put_index_name(admin, out);
    else if (is_word(word, len, "role"))
        (void)fprintf(out, "%s", expansion->role);
    else if (is_word(word, len, "concurrently"))
        (void)fprintf(out, "%s", expansion->concurrently ? "CONCURRENTLY " : "");
    else if (is_word(word, len, "lock_column"))
        (void)fprintf(out, "%s", mark ? sent_at : admin->table.columns[COLUMN_ID].quoted);
    else if (is_word(word, len, "unsent") && mark)
        (void)fprintf(out, " WHERE %s IS NULL", sent_at);
    else if (is_word(word, len, "sent_at_column") && mark)
        (void)fprintf(out, ",\n    %s    timestamptz -- NULL: not sent yet", sent_at);
    else if (len > 5 && memcmp(word, "type:", 5) == 0)
        (void)fprintf(out, "%s", find_column(admin, word + 5, len - 5, true));
    else
        (void)fprintf(out, "%s", find_column(admin, word, len, false));
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

/* With "delete" the primary key serves the claim: no second index. */
static bool wants_index(const struct admin *admin)
{
    return admin->options->on_sent == ON_SENT_MARK;
}

char *admin_schema_sql(struct admin *admin)
{
    /* Of somebody else's table only the relay's own part is ours to create. */
    bool ours = admin->options->preset == PRESET_DEFAULT;
    const struct expansion expansion = {.admin = admin, .concurrently = !ours};
    const char *const sections[] = {"outbox", "index", "parked", NULL};
    const char *const without_index[] = {"outbox", "parked", NULL};

    return render(&expansion, (wants_index(admin) ? sections : without_index) + !ours);
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

char *admin_grant_sql(struct admin *admin, const char *role, struct error *error)
{
    int identifies = may_identify(admin, role, error);
    char *quoted =
        identifies < 0 ? NULL : PQescapeIdentifier(admin->session.conn, role, strlen(role));
    const struct expansion expansion = {.admin = admin, .role = quoted};
    const char *const sections[] = {"grant", identifies == 0 ? "grant_identity" : NULL, NULL};
    char *sql;

    if (identifies < 0)
        return NULL;
    sql = quoted != NULL ? render(&expansion, sections) : NULL;
    PQfreemem(quoted);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
}

char *schema_index_sql(struct admin *admin)
{
    const struct expansion expansion = {.admin = admin, .concurrently = true};
    const char *const sections[] = {"index", NULL};

    return render(&expansion, sections);
}

static int execute_sections(struct admin *admin, const char *const *sections, struct error *error)
{
    const struct expansion expansion = {.admin = admin};
    char *sql = render(&expansion, sections);
    int status =
        sql != NULL ? session_execute(&admin->session, sql, error) : error_no_memory(error);

    free(sql);
    return status;
}

static int create_missing(struct admin *admin, struct error *error)
{
    const char *const fresh[] = {"outbox", wants_index(admin) ? "index" : NULL, NULL};
    const char *const parked[] = {"parked", NULL};

    if (table_describe(&admin->table, &admin->session, admin->options, error) < 0)
        return -1;
    if (!admin->table.exists && admin->options->preset != PRESET_DEFAULT)
        return error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "table %s does not exist; init creates the default table only, not a preset's",
            admin->table.quoted);
    if (!admin->table.exists &&
        (execute_sections(admin, fresh, error) < 0 ||
         table_describe(&admin->table, &admin->session, admin->options, error) < 0))
        return -1;
    return admin->table.parked_exists ? 0 : execute_sections(admin, parked, error);
}

static void put_missing_columns(struct admin *admin, FILE *out)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const struct table_column *column = &admin->table.columns[i];

        if (!table_needs(admin->options, (enum column)i) ||
            table_has(&admin->table, (enum column)i))
            continue;
        (void)fprintf(out, "ALTER TABLE %s ADD COLUMN %s %s%s;\n", admin->table.quoted,
                      column->quoted, default_types[i],
                      i == COLUMN_EVENT_ID ? " NOT NULL DEFAULT gen_random_uuid()" : "");
    }
}

static void put_missing_parked(const struct parked_table *parked, const struct table *table,
                               FILE *out)
{
    char sql[1024];

    for (int i = 0; i < PARKED_COLUMN_COUNT; i++) {
        if (parked->columns[i].has_type[0] != '\0')
            continue;
        (void)parked_column_sql(&parked->columns[i], table, sql, sizeof sql);
        (void)fprintf(out, "%s\n", sql);
    }
    for (int i = 0; i < PARKED_INDEX_COUNT; i++) {
        if (parked->indexes[i].exists)
            continue;
        (void)parked_index_sql(&parked->indexes[i], table, sql, sizeof sql);
        (void)fprintf(out, "%s\n", sql);
    }
}

static char *missing_sql(struct admin *admin, const struct parked_table *parked)
{
    const struct expansion expansion = {.admin = admin, .concurrently = true};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    put_missing_columns(admin, out);
    if (!admin->table.has_claim_index)
        put_section(&expansion, out, "index");
    put_missing_parked(parked, &admin->table, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

int admin_init(struct admin *admin, char **missing, struct error *error)
{
    struct parked_table parked;

    *missing = NULL;
    if (session_execute(
            &admin->session,
            "BEGIN; SET LOCAL lock_timeout = 0; SELECT pg_catalog.pg_advisory_xact_lock(7246113,"
            " 1)",
            error) < 0 ||
        create_missing(admin, error) < 0 || session_execute(&admin->session, "COMMIT", error) < 0 ||
        table_describe(&admin->table, &admin->session, admin->options, error) < 0 ||
        parked_describe(&parked, admin, error) < 0)
        return -1;
    *missing = missing_sql(admin, &parked);
    if (*missing == NULL)
        return error_no_memory(error);
    if ((*missing)[0] != '\0')
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "what exists of %s and %s is not altered; it lacks what this SQL adds:",
                         admin->table.quoted, admin->table.parked_quoted);
    free(*missing);
    *missing = NULL;
    return 0;
}
