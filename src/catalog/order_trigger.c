#include "catalog/order_trigger.h"

#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/facts.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

/* The columns of order_trigger.sql. */
enum { ENABLED, FITS, FUNCTION, OWNER, LATER, DRAWS, GENERATED, OWNS_SOURCE, IS_BY_ID };

static void read_trigger(struct order_trigger *trigger, const PGresult *result)
{
    trigger->exists = !PQgetisnull(result, 0, ENABLED);
    trigger->enabled = PQgetvalue(result, 0, ENABLED)[0];
    trigger->fits = PQgetvalue(result, 0, FITS)[0] == 't';
    trigger->owns_source = PQgetvalue(result, 0, OWNS_SOURCE)[0] == 't';
    trigger->is_by_id = PQgetvalue(result, 0, IS_BY_ID)[0] == 't';
    (void)snprintf(trigger->function, sizeof trigger->function, "%s",
                   PQgetvalue(result, 0, FUNCTION));
    (void)snprintf(trigger->owner, sizeof trigger->owner, "%s", PQgetvalue(result, 0, OWNER));
    (void)snprintf(trigger->later, sizeof trigger->later, "%s", PQgetvalue(result, 0, LATER));
    (void)snprintf(trigger->draws, sizeof trigger->draws, "%s", PQgetvalue(result, 0, DRAWS));
    (void)snprintf(trigger->generated, sizeof trigger->generated, "%s",
                   PQgetvalue(result, 0, GENERATED));
}

int order_trigger_describe(struct order_trigger *trigger, struct session *session,
                           const struct table *table, const struct outbox_options *options,
                           struct error *error)
{
    char *body = schema_order_body(table, options);
    const char *params[8] = {ORDER_TRIGGER,
                             table->stem,
                             body,
                             schema_order_config(table),
                             table->columns[COLUMN_ID].name,
                             table->columns[COLUMN_KEY].name,
                             table->key_columns,
                             table->order_sequence_quoted};
    struct sequence sequence;
    PGresult *result;

    *trigger = (struct order_trigger){0};
    if (body == NULL)
        return error_no_memory(error);
    result = table_query(table, session, statement_order_trigger, 8, params, error);
    free(body);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0)
        read_trigger(trigger, result);
    PQclear(result);
    if (sequence_describe(&sequence, session, table, error) < 0)
        return -1;
    trigger->cache = sequence.increment > 0 && !sequence.cycles ? sequence.cache : 0;
    return 0;
}

bool order_trigger_lacks(const struct order_trigger *trigger)
{
    return !trigger->exists || trigger->enabled != 'O' || !trigger->fits || !trigger->owns_source ||
           trigger->cache != 1 || trigger->draws[0] != '\0';
}

bool order_trigger_holds(const struct order_trigger *trigger)
{
    return !order_trigger_lacks(trigger) && !trigger->is_by_id && trigger->function[0] == '\0' &&
           trigger->later[0] == '\0' && trigger->generated[0] == '\0';
}

int order_trigger_refuse(const struct order_trigger *trigger, const struct table *table,
                         const struct outbox_options *options, struct error *error)
{
    if (options->order != ORDER_KEY || !table_has(table, COLUMN_KEY)) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "no trigger can keep the order of %s: %s", table->quoted,
                        options->order != ORDER_KEY ? "it has order = \"none\"" : "it has no key");
        return options->order != ORDER_KEY ? error_hint(error, "order = \"key\" in [outbox]") : -1;
    }
    if (trigger->is_by_id) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "no trigger can draw the ids of %s: it is a partition that is chosen by"
                        " column %s, before triggers run",
                        table->quoted, table->columns[COLUMN_ID].quoted);
        return error_hint(error, "let the application lock the key (docs/order.md), or write the"
                                 " rows into an outbox of the relay's own: outbox-relay init"
                                 " --feed");
    }
    if (trigger->generated[0] != '\0') {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "no trigger can lock the key of %s: column %s is generated, and has no"
                        " value yet when triggers run",
                        table->quoted, trigger->generated);
        return error_hint(error, "write its expression as the key in [outbox.columns]");
    }
    return 0;
}

/* The trigger itself. */
static void inspect_trigger(const struct order_trigger *trigger, const struct table *table,
                            struct findings *findings)
{
    if (trigger->enabled != 'O')
        finding_fix(findings_add(findings, FINDING_WARNING, "the order trigger of %s is %s",
                                 table->quoted,
                                 trigger->enabled == 'A'
                                     ? "enabled as ALWAYS: it gives replicated rows other ids"
                                     : "disabled"),
                    "ALTER TABLE %s ENABLE TRIGGER " ORDER_TRIGGER ";", table->quoted);
    if (!trigger->fits)
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "the order trigger of %s is not the one that init makes with this"
                                 " configuration",
                                 table->quoted),
                    "outbox-relay init --order-trigger");
    if (!trigger->owns_source)
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "the order trigger of %s draws from %s, which does not belong to"
                                 " column %s: the relay does not find it",
                                 table->quoted, table->order_sequence_quoted,
                                 table->columns[COLUMN_ID].quoted),
                    "ALTER SEQUENCE %s OWNED BY %s.%s;", table->order_sequence_quoted,
                    table->quoted, table->columns[COLUMN_ID].quoted);
}

/* What stands beside it. */
static void inspect_column(const struct order_trigger *trigger, const struct table *table,
                           struct findings *findings)
{
    if (trigger->draws[0] != '\0')
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "column %s of %s draws an id by its %s, which the order trigger"
                                 " throws away",
                                 table->columns[COLUMN_ID].quoted, table->quoted, trigger->draws),
                    "ALTER TABLE %s ALTER COLUMN %s DROP %s;", table->quoted,
                    table->columns[COLUMN_ID].quoted, trigger->draws);
    if (trigger->later[0] != '\0')
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "trigger %s of %s runs after the order trigger: if it changes the"
                                 " key or the id, order is not kept",
                                 trigger->later, table->quoted),
                    "ALTER TRIGGER %s ON %s RENAME TO a name that sorts before " ORDER_TRIGGER ";",
                    trigger->later, table->quoted);
    if (trigger->function[0] != '\0')
        finding_fix(findings_add(findings, FINDING_WARNING,
                                 "function %s of the order trigger belongs to role %s, which can"
                                 " change what runs at each insert",
                                 trigger->function, trigger->owner),
                    "ALTER FUNCTION %s OWNER TO the owner of %s;", trigger->function,
                    table->quoted);
}

void order_trigger_inspect(const struct order_trigger *trigger, const struct table *table,
                           const struct outbox_options *options, struct findings *findings)
{
    struct error problem;

    if (order_trigger_holds(trigger)) {
        (void)findings_add(findings, FINDING_OK,
                           "the order trigger locks each key before it draws the id");
        return;
    }
    if (!trigger->exists) {
        finding_fix(findings_add(findings, FINDING_OK,
                                 "no trigger locks the keys: the application must lock each key"
                                 " before it inserts"),
                    "outbox-relay init --order-trigger");
        return;
    }
    if (order_trigger_refuse(trigger, table, options, &problem) < 0)
        finding_fix(findings_add(findings, FINDING_WARNING, "%s", problem.text), "%s",
                    problem.hint);
    inspect_trigger(trigger, table, findings);
    inspect_column(trigger, table, findings);
    (void)findings_add(findings, FINDING_WARNING,
                       "until then the application must lock each key before it inserts");
}
