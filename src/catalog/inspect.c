#include "catalog/inspect.h"

#include "base/hint.h"
#include "catalog/columns.h"
#include "catalog/notify.h"
#include "catalog/order_trigger.h"
#include "catalog/schema.h"
#include "catalog/slice_table.h"
#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

/* ---- facts that only these files need */

static const struct inspection *inspection_of(const void *about)
{
    return about;
}

/* As a literal. */
static int put_text(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct inspection *inspection = inspection_of(about);
    const struct table *table = inspection->tables.table;
    const char *zone = inspection->tables.options->time_zone;
    char role[QUOTED_BYTES_MAX];
    const struct {
        const char *name;
        const char *text;
    } texts[] = {
        {"notify_text", table->notify_quoted},      {"role_text", role},
        {"zone_text", zone != NULL ? zone : "UTC"}, {"called_text", table->called},
        {"where_clock_text", table->where_clock},
    };
    size_t at = 0;

    table_quote(inspection->session, session_role(inspection->session), role);
    while (strcmp(texts[at].name, fact->name) != 0)
        at++;
    sql_put_literal(out, texts[at].text);
    return 0;
}

static int put_name(FILE *out, const void *about, const struct sql_fact *fact)
{
    sql_put_literal(out, inspection_of(about)->tables.table->columns[fact->column].name);
    return 0;
}

static int put_column_text(FILE *out, const void *about, const struct sql_fact *fact)
{
    sql_put_literal(out, inspection_of(about)->tables.table->columns[fact->column].quoted);
    return 0;
}

/* The SQL that makes the index of claims, on one line. */
static int put_index(FILE *out, const void *about)
{
    const struct table_facts *tables = &inspection_of(about)->tables;
    char fix[sizeof((struct finding *)NULL)->fix];

    schema_index_fix(tables->table, tables->options, fix, sizeof fix);
    sql_put_literal(out, fix);
    return 0;
}

static int is_so(const void *about, const char *name)
{
    const struct inspection *inspection = inspection_of(about);
    const struct table *table = inspection->tables.table;
    const struct outbox_options *options = inspection->tables.options;
    const struct table_column *event_id = &table->columns[COLUMN_EVENT_ID];
    bool marks = options->on_sent == ON_SENT_MARK;
    const struct sql_truth all[] = {
        {"pooled", inspection->session->is_pooled},
        {"readable", inspection->is_readable},
        {"allow_superuser", options->allow_superuser},
        {"zone_is_given", options->time_zone != NULL},
        {"created_at_lacks_zone", zone_is_lacking(&table->columns[COLUMN_CREATED_AT])},
        {"due_lacks_zone", zone_is_lacking(&table->columns[COLUMN_DUE])},
        {"sent_at_lacks_zone", marks && zone_is_lacking(&table->columns[COLUMN_SENT_AT])},
        {"settles_column", !marks || table_is_marked_by_time(table)}, /* a list is tried */
        {"deletes", schema_needs_delete(table, options)},
        {"has_where", table->where != NULL},
        {"has_needed", table_has_needed(table, options)},
        {"has_claim_index", table->has_claim_index},
        {"sql_is_refused", table->sql_problem[0] != '\0'},
        {"slices_fit", slices_fit(table, options)},
        {"event_id_may_repeat",
         table_has(table, COLUMN_EVENT_ID) && !event_id->unique && event_id->expression == NULL},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

static const struct sql_fact facts[] = {
    {"notify_text", .put_named = put_text},
    {"role_text", .put_named = put_text},
    {"zone_text", .put_named = put_text},
    {"called_text", .put_named = put_text},
    {"where_clock_text", .put_named = put_text},
    {"index_text", .put = put_index},
    {"event_id_text", .put_named = put_column_text, .column = COLUMN_EVENT_ID},
    {"sent_at_name", .put_named = put_name, .column = COLUMN_SENT_AT},
    {"xid_name", .put_named = put_name, .column = COLUMN_XID},
    {"created_at_text", .put_named = put_column_text, .column = COLUMN_CREATED_AT},
    {"due_text", .put_named = put_column_text, .column = COLUMN_DUE},
    {"sent_at_text", .put_named = put_column_text, .column = COLUMN_SENT_AT},
    {"xid_text", .put_named = put_column_text, .column = COLUMN_XID},
    {"key_text_name", .put_named = put_column_text, .column = COLUMN_KEY},
    {"notify_lock", .text = FACT_NUMBER(NOTIFY_LOCK)},
    {.name = NULL},
};

struct sql_facts inspect_facts(const struct inspection *inspection)
{
    return (struct sql_facts){.list = facts, .is = is_so, .about = inspection};
}

/* ---- sections */

static enum finding_level level_of(const char *word)
{
    int level = FINDING_OK;

    while (level < FINDING_ERROR && strcmp(word, finding_level_names[level]) != 0)
        level++;
    return (enum finding_level)level;
}

static int add_rows(const PGresult *result, struct findings *findings, struct error *error)
{
    if (PQnfields(result) != 3)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "its rows are not level, text and fix");
    for (int row = 0; row < PQntuples(result); row++) {
        const char *text = PQgetvalue(result, row, 1);
        struct finding *finding =
            findings_add(findings, level_of(PQgetvalue(result, row, 0)), "%s", text);

        finding_fix(finding, "%s",
                    PQgetisnull(result, row, 2) ? hint_find("connect-later", text_of(text))
                                                : PQgetvalue(result, row, 2));
    }
    return 0;
}

static int run_section(const struct inspection *inspection, const struct sql_use *use,
                       struct findings *findings, struct error *error)
{
    const struct sql_facts tables = table_facts(&inspection->tables);
    struct sql_facts of_order = order_trigger_facts(&inspection->tables);
    struct sql_facts all = inspect_facts(inspection);
    PGresult *result;
    char *sql;
    int status;

    of_order.more = &tables;
    all.more = &of_order;
    if (!sql_holds(use->condition, &all))
        return 0;
    sql = sql_render(use->text, &all);
    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(inspection->session, sql, 0, NULL, error);
    free(sql);
    status = result != NULL ? add_rows(result, findings, error) : -1;
    PQclear(result);
    return status;
}

static void note_refused(const struct inspection *inspection, const char *what,
                         struct findings *findings, struct error *error)
{
    struct finding *finding;

    table_name_holders(inspection->tables.table, inspection->session, error);
    finding =
        findings_add(findings, FINDING_ERROR, "%s could not be looked at: %s", what, error->text);
    if (error->hint[0] != '\0')
        finding_fix(finding, "%s", error->hint);
    else
        finding_fix(finding, "outbox-relay sql %s prints the statement", what);
    finding->is_schema = error->is_schema;
}

int inspect_sections(const struct inspection *inspection, const char *user,
                     struct findings *findings, struct error *error)
{
    int refused = 0;

    for (const struct sql_use *use = sql_uses; use->name != NULL; use++) {
        if (strcmp(use->user, user) != 0 || run_section(inspection, use, findings, error) == 0)
            continue;
        if (!inspection->goes_on || inspection->session->conn == NULL)
            return -1;
        note_refused(inspection, use->name, findings, error);
        refused++;
    }
    return refused;
}

int inspect_reasons(const struct table *table, struct session *session,
                    const struct outbox_options *options, struct findings *findings,
                    struct error *error)
{
    const struct inspection inspection = {.tables = {table, options}, .session = session};

    return inspect_sections(&inspection, "run", findings, error);
}
