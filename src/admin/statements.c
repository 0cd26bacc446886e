/* What `outbox-relay sql` prints: the statements of lanes, of the horizon, of commands, and of what
 * describes the tables. */
#include "admin/admin_session.h"

#include "admin/audit.h"
#include "admin/facts.h"
#include "catalog/describe.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "desk/statement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The comment in front of the statement is that of its file. */
static int show(const struct admin_statement_reader *reader, const char *name, const char *text,
                char *sql, struct error *error)
{
    if (sql == NULL)
        return error_no_memory(error);
    reader->on_statement(reader->closure, name, text, (size_t)(sql_body(text) - text), sql);
    free(sql);
    return 0;
}

static char *render(const struct sql_use *use, const struct table_facts *tables,
                    const struct sql_facts *of_check)
{
    const struct admin_facts about = {
        .tables = *tables, .unsent_from = sql_names(use->facts, "unsent_from") ? 1 : INT64_MIN};
    struct sql_facts more[2];
    const struct sql_facts facts = admin_facts(&about, more);
    struct desk_params params;
    const struct desk_statement statement = {
        .use = use, .page_rows = DESK_PAGE_ROWS, .params = &params};
    char *whole = NULL;
    size_t len = 0;
    FILE *out = NULL;
    char *sql;

    more[1].more = of_check;
    sql = desk_sql(&statement, &facts);
    if (sql != NULL && params.count > 0)
        out = open_memstream(&whole, &len);
    if (out == NULL)
        return sql;
    for (int i = 0; i < params.count; i++)
        (void)fprintf(out, "%s$%d %s", i == 0 ? "-- " : ", ", i + 1, params.names[i]);
    (void)fprintf(out, "\n%s", sql);
    free(sql);
    if (fclose(out) == 0)
        return whole;
    free(whole);
    return NULL;
}

/* An event's values go into columns. */
static int emits(const void *about, const char *name)
{
    struct error error;
    const struct sql_truth all[] = {{"emits", admin_check_emit(about, &error) == 0}};

    return sql_truth(all, 1, name);
}

static int show_statements(const struct admin_statement_reader *reader,
                           const struct table_facts *tables, struct admin *admin,
                           struct error *error)
{
    const struct inspection inspection = admin_inspection(admin);
    const struct sql_facts of_check = inspect_facts(&inspection);
    const struct admin_facts about = {.tables = *tables, .unsent_from = INT64_MIN};
    struct sql_facts more[2];
    const struct sql_facts facts = admin_facts(&about, more);
    const struct sql_facts all = {.is = emits, .about = tables->table, .more = &facts};

    more[1].more = &of_check;
    for (const struct sql_use *use = sql_uses; use->name != NULL; use++)
        if (strcmp(use->user, "lane") != 0 && sql_holds(use->condition, &all) &&
            show(reader, use->name, use->text, render(use, tables, &of_check), error) < 0)
            return -1;
    return 0;
}

int admin_read_statements(struct admin *admin, const struct routes *routes,
                          const struct admin_statement_reader *reader, struct error *error)
{
    struct sequence sequence;
    const struct slice_facts about = {
        .tables = {&admin->table, admin->options}, .routes = routes, .sequence = &sequence};
    const struct slice_facts of_horizon = {.tables = about.tables, .sequence = &sequence};
    bool is_marking = outbox_keeps_sent(admin->options) && table_has(&admin->table, COLUMN_SENT_AT);
    struct statement statement;
    int at = 0;

    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        sequence_describe(&sequence, &admin->session, &admin->table, error) < 0)
        return -1;
    while (sql_next(&at, &about, &statement))
        if (show(reader, statement.name, statement.text, sql_statement(&statement, &about), error) <
            0)
            return -1;
    for (int parked = 0; parked <= 1 && is_marking; parked++) {
        statement = audit_statement(admin->options, parked);
        if (show(reader, statement.name, statement.text, sql_statement(&statement, &about), error) <
            0)
            return -1;
    }
    for (int i = 0; i < HORIZON_STATEMENTS && table_has_integer_ids(&admin->table); i++) {
        const char *text = horizon_statement_text((enum horizon_statement)i, admin->options);

        if (show(reader, horizon_statement_name((enum horizon_statement)i), text,
                 slice_statement(text, &of_horizon), error) < 0)
            return -1;
    }
    return show_statements(reader, &about.tables, admin, error);
}
