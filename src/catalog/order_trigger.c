#include "catalog/order_trigger.h"

#include "catalog/schema.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of order_keeper.sql that are read here. */
enum { IS_THERE, IS_WHOLE, HOLDS, PROBLEM, REMEDY };

static const struct table_facts *tables_of(const void *about)
{
    return about;
}

static int put_order_body(FILE *out, const void *about)
{
    char *body = schema_order_body(tables_of(about)->table, tables_of(about)->options);

    if (body == NULL)
        return -1;
    sql_put_literal(out, body);
    free(body);
    return 0;
}

static int put_order_config(FILE *out, const void *about)
{
    const char *config = schema_order_config(tables_of(about)->table);

    if (config == NULL)
        return fputs("NULL", out) < 0 ? -1 : 0;
    sql_put_literal(out, config);
    return 0;
}

/* As literals. */
static int put_text(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct table *table = tables_of(about)->table;
    bool is_name = strcmp(fact->name, "key_name") == 0;

    sql_put_literal(out, is_name ? table->columns[COLUMN_KEY].name : table->key_columns);
    return 0;
}

static const struct sql_fact facts[] = {
    {"order_body", .put = put_order_body},
    {"order_config", .put = put_order_config},
    {"key_name", .put_named = put_text},
    {"key_columns", .put_named = put_text},
    {.name = NULL},
};

struct sql_facts order_trigger_facts(const struct table_facts *tables)
{
    return (struct sql_facts){.list = facts, .about = tables};
}

int order_trigger_describe(struct order_trigger *trigger, struct session *session,
                           const struct table *table, const struct outbox_options *options,
                           struct error *error)
{
    const struct table_facts tables = {table, options};
    const struct sql_facts of_tables = table_facts(&tables);
    struct sql_facts all = order_trigger_facts(&tables);
    PGresult *result;
    char *sql;
    int status = 0;

    all.more = &of_tables;
    *trigger = (struct order_trigger){0};
    sql = sql_render(statement_order_keeper, &all);
    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(session, sql, 0, NULL, error);
    free(sql);
    if (result == NULL)
        return -1;
    if (options->order != ORDER_KEY || !table_has(table, COLUMN_KEY)) {
        status =
            error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                      "no trigger can keep the order of %s: %s", table->quoted,
                      options->order != ORDER_KEY ? "it has order = \"none\"" : "it has no key");
        if (options->order != ORDER_KEY)
            (void)error_hint(error, "order = \"key\" in [outbox]");
    } else if (PQntuples(result) > 0) {
        trigger->is_whole = PQgetvalue(result, 0, IS_WHOLE)[0] == 't';
        trigger->holds = PQgetvalue(result, 0, HOLDS)[0] == 't';
        if (!PQgetisnull(result, 0, PROBLEM)) {
            (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s",
                            PQgetvalue(result, 0, PROBLEM));
            status = error_hint(error, "%s", PQgetvalue(result, 0, REMEDY));
        }
    }
    PQclear(result);
    return status;
}
