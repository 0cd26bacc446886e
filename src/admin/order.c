/* init --order-trigger: the trigger that keeps the order of each key, for an outbox that exists.
 * Its rows are in use, so all that is printed is one transaction that somebody else runs. */
#include "admin/admin_session.h"

#include "catalog/order_trigger.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int admin_order(struct admin *admin, struct error *error)
{
    const struct table *table = &admin->table;

    admin->is_ordering = true;
    if (strstr(column_sql(&table->columns[COLUMN_KEY]), ORDER_QUOTES) != NULL ||
        strstr(table->columns[COLUMN_ID].quoted, ORDER_QUOTES) != NULL ||
        strstr(table->quoted, ORDER_QUOTES) != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "a name contains " ORDER_QUOTES ", which ends the body of a function");
    if (column_sql(&table->columns[COLUMN_KEY])[0] == '\0')
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "no trigger can keep the order of %s: it has no key", table->quoted);
    if (admin->options->order == ORDER_KEY)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                    "the order trigger keeps the order of keys, and order is \"none\"");
    return error_hint(error, "write order = \"key\" in [outbox]");
}

void admin_order_grant(const struct admin *admin, char *sql, size_t size)
{
    (void)snprintf(sql, size, "GRANT USAGE ON SEQUENCE %s TO ...;",
                   admin->table.order_sequence_quoted);
}

static int put_grants(struct admin *admin, const struct sequence *before, FILE *out,
                      struct error *error)
{
    char oid[16];
    const char *params[2] = {oid, admin->table.order_sequence_quoted};
    PGresult *result;

    (void)snprintf(oid, sizeof oid, "%" PRIu32, before->oid);
    result = admin_query(admin, statement_order_grants, 2, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        (void)fprintf(out, "%s\n", PQgetvalue(result, row, 0));
    PQclear(result);
    return 0;
}

int admin_check_order(struct admin *admin, struct error *error)
{
    struct order_trigger trigger;

    return order_trigger_describe(&trigger, &admin->session, &admin->table, admin->options, error);
}

int admin_put_order(struct admin *admin, FILE *out, struct error *error)
{
    struct sequence before;
    char *sql;

    if (admin_check_order(admin, error) < 0)
        return -1;
    if (sequence_describe(&before, &admin->session, &admin->table, error) < 0)
        return -1;
    sql = schema_order_sql(
        &admin->table, admin->options,
        strcmp(before.quoted, admin->table.order_sequence_quoted) != 0 ? before.quoted : "");
    if (sql == NULL)
        return error_no_memory(error);
    (void)fputs(sql, out);
    free(sql);
    if (put_grants(admin, &before, out, error) < 0)
        return -1;
    (void)fputs("COMMIT;\n", out);
    return 0;
}

char *admin_order_sql(struct admin *admin, struct error *error)
{
    struct order_trigger trigger;
    char *sql = NULL;

    if (order_trigger_describe(&trigger, &admin->session, &admin->table, admin->options, error) < 0)
        return NULL;
    if (!trigger.is_whole) {
        (void)admin_write_sql(admin, admin_put_order, &sql, error);
    } else if (trigger.holds) {
        sql = strdup("");
        if (sql == NULL)
            (void)error_no_memory(error);
    } else {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "the order trigger of %s is there, but something else changes what it does",
                        admin->table.quoted);
        (void)error_hint(error, "outbox-relay check");
    }
    return sql;
}
