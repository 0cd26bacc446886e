#include "mysql/order.h"

#include "mysql/statements.h"
#include "source/source.h"

#include <mysqld_error.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS "1024"      /* as in sql/order.sql */
#define MARK "relay_bucket" /* what a body of init's has */

/* NULL: a trigger can. */
static const char *why_not(const struct tables *tables)
{
    if (tables->options->order != ORDER_KEY)
        return "it has order = \"none\"";
    if (!tables->has[COLUMN_KEY])
        return "it has no key";
    if (outbox_is_expression(outbox_column(tables->options, COLUMN_KEY)))
        return "its key is an expression, and no column";
    if (tables->key_is_generated)
        return "its key is a generated column, which has no value yet when triggers run";
    return NULL;
}

/* ---- what is there ---- */

/* In the order in which they run. A body is NULL if the role may not see it. */
static void note_trigger(struct order_trigger *trigger, MYSQL_ROW row, const char *body)
{
    if (row[1] != NULL && strstr(row[1], MARK) != NULL) {
        trigger->is_there = true;
        (void)snprintf(trigger->name, sizeof trigger->name, "%s", row[0]);
        (void)snprintf(trigger->problem, sizeof trigger->problem, "%s",
                       strcmp(row[1], body) == 0
                           ? ""
                           : "is not the one that init makes with this configuration");
    } else if (trigger->is_there && trigger->problem[0] == '\0') {
        (void)snprintf(trigger->problem, sizeof trigger->problem,
                       "runs before trigger %s: if that changes the key or the id, order is not"
                       " kept",
                       row[0]);
    }
}

/* 0, or -1 with *error set. */
static int read_parts(struct admin *admin, struct order_trigger *trigger, struct error *error)
{
    MYSQL_RES *rows =
        tables_query(&admin->tables, &admin->session, db_sql_order_parts, NULL, error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    const char *problem = "";

    if (rows == NULL && error->kind != ERROR_PERMANENT)
        return -1;
    if (row == NULL)
        problem = error_bare_text(error);
    else if (strcmp(row[0], BUCKETS) != 0)
        problem = "lacks buckets: it does not lock their keys";
    else if (row[1] != NULL && row[1][0] == '1')
        problem = "draws ids below AUTO_INCREMENT, which somebody has raised";
    (void)snprintf(trigger->problem, sizeof trigger->problem, "%s", problem);
    mysql_free_result(rows);
    return 0;
}

int order_read(struct admin *admin, struct order_trigger *trigger, struct error *error)
{
    const struct tables *tables = &admin->tables;
    char *body = tables_statement(tables, "{order_body}", NULL);
    MYSQL_RES *rows = tables_query(tables, &admin->session, db_sql_order_found, NULL, error);
    MYSQL_ROW row;
    struct error denied;

    *trigger = (struct order_trigger){.is_there = false};
    (void)snprintf(trigger->name, sizeof trigger->name, "%s", tables_fact(tables, "order_trigger"));
    while (rows != NULL && body != NULL && (row = mysql_fetch_row(rows)) != NULL)
        note_trigger(trigger, row, body);
    free(body);
    if (rows == NULL)
        return -1;
    mysql_free_result(rows);
    if (trigger->is_there)
        return trigger->problem[0] == '\0' ? read_parts(admin, trigger, error) : 0;
    admin->session.code = 0;
    mysql_free_result(tables_query(tables, &admin->session, "SHOW CREATE TRIGGER {order_trigger}",
                                   NULL, &denied));
    trigger->is_hidden = admin->session.code == ER_SPECIFIC_ACCESS_DENIED_ERROR;
    return 0;
}

/* ---- check ---- */

int order_inspect(struct admin *admin, struct findings *findings, struct error *error)
{
    const char *outbox = admin->tables.outbox;
    struct order_trigger trigger;
    struct finding *added;

    if (admin->options->order != ORDER_KEY || !admin->tables.has[COLUMN_KEY])
        return 0;
    if (order_read(admin, &trigger, error) < 0)
        return -1;
    if (trigger.is_hidden) {
        added = findings_add(findings, FINDING_NOTE,
                             "whether the order trigger locks the keys is not known: this role may"
                             " not look at trigger %s",
                             trigger.name);
        finding_fix(added, "GRANT TRIGGER ON %s TO the role of the relay", outbox);
    } else if (!trigger.is_there) {
        added = findings_add(findings, FINDING_NOTE,
                             "no trigger locks the keys: the application must lock each key before"
                             " it inserts");
        if (why_not(&admin->tables) == NULL)
            finding_fix(added, "%s init --order-trigger", source_program);
    } else if (trigger.problem[0] != '\0') {
        added = findings_add(findings, FINDING_WARNING, "the order trigger of %s %s", outbox,
                             trigger.problem);
        finding_fix(added, "%s init --order-trigger", source_program);
        (void)findings_add(findings, FINDING_WARNING,
                           "until then the application must lock each key before it inserts");
    } else if (admin->session.is_mariadb) {
        (void)findings_add(findings, FINDING_OK,
                           "the order trigger locks each key before it draws the id");
    } else {
        (void)findings_add(findings, FINDING_OK,
                           "the order trigger locks the key of an INSERT of one row");
        (void)findings_add(findings, FINDING_NOTE,
                           "MySQL draws all ids of an INSERT of several rows, INSERT ... SELECT or"
                           " LOAD DATA before the order trigger locks the second key: before those"
                           " the application must lock each key");
    }
    return 0;
}

/* ---- init ---- */

/* Whether the one that is there has another name, in its schema, than init's; that of another case
 * may be the same. */
static bool is_renamed(const struct order_trigger *trigger, const char *made)
{
    size_t len = strlen(trigger->name);
    size_t made_len = strlen(made);

    return len < made_len || strcasecmp(trigger->name + len - made_len, made) != 0 ||
           (len > made_len && trigger->name[len - made_len - 1] != '.');
}

char *order_text(struct admin *admin, bool printed, struct error *error)
{
    const char *why = why_not(&admin->tables);
    struct order_trigger trigger;
    const char *made = tables_fact(&admin->tables, "order_trigger");
    char *sql;

    if (why != NULL)
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "no trigger can keep the order of %s: %s", admin->tables.outbox, why);
    if (why != NULL || order_read(admin, &trigger, error) < 0)
        return NULL;
    const struct sql_fact facts[] = {{printed ? "printed" : "", .text = NULL},
                                     {is_renamed(&trigger, made) ? "renamed" : "", .text = NULL},
                                     {"replaced", .text = trigger.name},
                                     {.name = NULL}};

    sql = trigger.is_there && trigger.problem[0] == '\0'
              ? strdup("")
              : tables_statement(&admin->tables, db_sql_order, facts);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
}

int order_make(struct admin *admin, const char *sql, struct error *error)
{
    /* which has no CREATE OR REPLACE TRIGGER */
    const char *now = admin->session.is_mariadb ? "" : "no trigger may lock the keys now;";
    const char *hint = "the role needs CREATE, TRIGGER, LOCK TABLES, SELECT, INSERT and UPDATE;";

    if (sql[0] == '\0' || db_execute(&admin->session, sql, error) >= 0)
        return 0;
    if (error->cause == ERROR_LOCKED)
        return error_hint(error,
                          "a transaction that has written to %s is still open, so the trigger was"
                          " not made; try again when it has ended (SHOW PROCESSLIST)",
                          admin->tables.outbox);
    if (admin->session.code == ER_TABLE_NOT_LOCKED ||
        admin->session.code == ER_TRG_ALREADY_EXISTS ||
        admin->session.code == ER_TRG_DOES_NOT_EXIST) /* on this table: OR REPLACE */
        return error_hint(error, "a copy of %s has a trigger of this name: drop that first",
                          admin->tables.outbox);
    if (admin->session.code == ER_BINLOG_CREATE_ROUTINE_NEED_SUPER)
        hint = "SET GLOBAL log_bin_trust_function_creators = 1;";
    if (error->kind != ERROR_PERMANENT)
        return now[0] == '\0' ? -1 : error_hint(error, "%s run check", now);
    return error_hint(error,
                      "%s%s%s or let an administrator run the SQL of %s init --order-trigger"
                      " --print",
                      now, now[0] != '\0' ? " " : "", hint, source_program);
}
