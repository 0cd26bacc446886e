/*
 * Checks the types of the mapped columns for `init`, `check` and `run`.
 *
 * Types are compared by PostgreSQL's type categories, so that citext, a domain or an enum is
 * accepted where text is.
 */
#include "catalog/columns.h"

#include "catalog/schema.h"
#include "catalog/sql_text.h"

#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *type, const char *const *types)
{
    for (int i = 0; types[i] != NULL; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

static bool has_category(const struct table_column *column, const char *categories)
{
    return strchr(categories, column->category) != NULL;
}

static bool begins(const char *type, const char *word)
{
    return strncmp(type, word, strlen(word)) == 0;
}

/* Categories: A array, B boolean, D date and time, E enum, N number, S string, U others, such as
 * uuid, bytea and json. */
const char *column_wanted(enum column column, const struct table_column *described,
                          const struct outbox_options *options)
{
    static const char *const documents[] = {"json", "jsonb", "xml", NULL};
    static const char *const json[] = {"json", "jsonb", NULL};
    const char *type = described->base;
    bool is_document = is_one_of(type, documents);

    switch (column) {
    case COLUMN_ID: /* with order = "key" slices_check() requires more */
        if (options->order == ORDER_KEY || (has_category(described, "DENSU") && !is_document))
            return NULL;
        return "bigint, integer, smallint; with order = \"none\" also numeric, uuid, text or"
               " another type that sorts";
    case COLUMN_EVENT_ID:
        if (has_category(described, "ENSU") && !is_document)
            return NULL;
        return "uuid, text or an integer";
    case COLUMN_TOPIC:
        return has_category(described, "ES") ? NULL : "text, varchar or an enum";
    case COLUMN_KEY:
        /* json keeps the original text, so equal values could be different keys. */
        if (has_category(described, "BDENSU") && !begins(type, "xml") && strcmp(type, "json") != 0)
            return NULL;
        return "text, varchar, uuid, an integer, bytea or an enum";
    case COLUMN_TYPE:
        return has_category(described, "ENS") ? NULL : "text, varchar, an enum or an integer";
    case COLUMN_PAYLOAD:
        return has_category(described, "ESU") ? NULL : "jsonb, json, text or bytea";
    case COLUMN_HEADERS:
        return has_category(described, "S") || is_one_of(type, json) ? NULL : "jsonb, json or text";
    case COLUMN_CREATED_AT: /* a row whose text is not a time becomes dead */
        if (begins(type, "timestamp") || begins(type, "date") || has_category(described, "S"))
            return NULL;
        return "timestamptz or timestamp";
    case COLUMN_SENT_AT: /* with on_sent = "delete" only compared with NULL */
        if (options->on_sent == ON_SENT_DELETE || begins(type, "timestamp"))
            return NULL;
        return "timestamptz or timestamp with on_sent = \"mark\"";
    case COLUMN_COUNT:
        break;
    }
    return NULL;
}

/* Writes the SQL that changes the column's type, if a cast can do that. */
static void put_fix(char *fix, size_t size, const struct table *table, enum column column)
{
    const struct table_column *described = &table->columns[column];
    bool is_time = column == COLUMN_CREATED_AT || column == COLUMN_SENT_AT;
    const char *type = is_time ? "pg_catalog.timestamptz" : "pg_catalog.text";

    fix[0] = '\0';
    if (column == COLUMN_HEADERS || column == COLUMN_ID || (is_time && described->category != 'D'))
        return;
    (void)snprintf(fix, size, "ALTER TABLE %s ALTER COLUMN %s TYPE %s USING %s::%s;", table->quoted,
                   described->quoted, type, described->quoted, type);
}

#define MISFIT                                                                                     \
    "column %s (%s) of %s has type %s; it must be %s: change the type, or map another column in"   \
    " [outbox.columns]"

static void inspect_missing(const struct table *table, const struct outbox_options *options,
                            enum column column, struct findings *findings)
{
    const struct table_column *described = &table->columns[column];
    const char *type = schema_type(table, column);
    struct finding *finding;

    if (!table_needs(options, column))
        return;
    finding = findings_add(findings, FINDING_ERROR, "column %s (%s) is missing in %s%s",
                           described->quoted, column_name(column), table->quoted,
                           column == COLUMN_SENT_AT ? ": all existing rows will be sent" : "");
    (void)snprintf(finding->fix, sizeof finding->fix, "ALTER TABLE %s ADD COLUMN %s %s%s%s;",
                   table->quoted, described->quoted, sql_type_schema(type), type,
                   column == COLUMN_EVENT_ID ? " NOT NULL DEFAULT pg_catalog.gen_random_uuid()"
                                             : "");
}

void columns_inspect(const struct table *table, const struct outbox_options *options,
                     struct findings *findings)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const struct table_column *described = &table->columns[i];
        struct finding *finding;
        const char *wanted;

        if (!table_has(table, (enum column)i)) {
            inspect_missing(table, options, (enum column)i, findings);
            continue;
        }
        wanted = column_wanted((enum column)i, described, options);
        if (wanted == NULL)
            continue;
        finding = findings_add(findings, FINDING_ERROR, MISFIT, described->quoted,
                               column_name((enum column)i), table->quoted, described->type, wanted);
        put_fix(finding->fix, sizeof finding->fix, table, (enum column)i);
    }
}

int columns_check(const struct table *table, const struct outbox_options *options,
                  struct error *error)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const struct table_column *described = &table->columns[i];
        const char *wanted = table_has(table, (enum column)i)
                                 ? column_wanted((enum column)i, described, options)
                                 : NULL;

        if (wanted == NULL)
            continue;
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, MISFIT, described->quoted,
                        column_name((enum column)i), table->quoted, described->type, wanted);
        put_fix(error->hint, sizeof error->hint, table, (enum column)i);
        return -1;
    }
    return 0;
}
