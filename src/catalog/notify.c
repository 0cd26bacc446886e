#include "catalog/notify.h"

#include "admin/admin_session.h"
#include "catalog/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that is too long is cut by PostgreSQL, here as when it is created. */
static const char trigger_sql[] =
    "SELECT c.oid, t.tgname IS NOT NULL, coalesce(t.tgenabled IN ('O', 'A'), false)"
    " FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_trigger t ON t.tgrelid = c.oid"
    "  AND NOT t.tgisinternal AND t.tgname = $2::pg_catalog.name"
    " WHERE c.oid = pg_catalog.to_regclass($1)";

int notify_describe(struct notify *notify, struct session *session, const struct table *table,
                    struct error *error)
{
    const char *params[2] = {table->quoted, notify->name};
    PGresult *result;

    *notify = (struct notify){0};
    (void)snprintf(notify->name, sizeof notify->name, "%s_notify", table->name);
    result = session_query(session, trigger_sql, 2, params, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        notify->oid = (uint32_t)strtoul(PQgetvalue(result, 0, 0), NULL, 10);
        notify->exists = PQgetvalue(result, 0, 1)[0] == 't';
        notify->fires = PQgetvalue(result, 0, 2)[0] == 't';
    }
    PQclear(result);
    (void)snprintf(notify->channel, sizeof notify->channel, "outbox_relay_%u", notify->oid);
    return 0;
}

char *admin_notify_sql(struct admin *admin)
{
    const char *const sections[] = {"notify", "notify_trigger", NULL};

    return schema_sections_sql(admin, sections);
}

/* The lock that CREATE TRIGGER waits for is waited for briefly: inserts queue behind it. */
static int create(struct admin *admin, const char *section, struct error *error)
{
    const char *const sections[] = {section, NULL};
    char *sql = schema_sections_sql(admin, sections);
    int status =
        sql != NULL ? session_execute(&admin->session, sql, error) : error_no_memory(error);

    free(sql);
    if (status < 0 && strstr(error->text, "55P03") != NULL)
        (void)error_hint(error,
                         "a transaction that uses %s has been open for more than a second:"
                         " run it again",
                         admin->table.quoted);
    return status;
}

/* CREATE OR REPLACE TRIGGER came with PostgreSQL 14 only. */
int admin_init_notify(struct admin *admin, struct error *error)
{
    struct notify notify;

    if (session_execute(&admin->session, "BEGIN", error) < 0 ||
        notify_describe(&notify, &admin->session, &admin->table, error) < 0 ||
        create(admin, "notify", error) < 0 ||
        (!notify.exists && create(admin, "notify_trigger", error) < 0))
        return -1;
    return session_execute(&admin->session, "COMMIT", error);
}

int notify_inspect(struct admin *admin, struct findings *findings, struct error *error)
{
    struct notify notify;
    struct finding *finding;

    if (notify_describe(&notify, &admin->session, &admin->table, error) < 0)
        return -1;
    if (notify.fires) {
        (void)findings_add(findings, FINDING_OK, "inserts wake idle relays (trigger \"%s\")",
                           notify.name);
        return 0;
    }
    finding = findings_add(findings, FINDING_OK, "%s: idle relays find new rows by polling",
                           notify.exists ? "the trigger that notifies is disabled"
                                         : "no trigger notifies of inserts");
    if (notify.exists)
        (void)snprintf(finding->fix, sizeof finding->fix, "ALTER TABLE %s ENABLE TRIGGER %s;",
                       admin->table.quoted, admin->table.notify_quoted);
    else
        (void)snprintf(finding->fix, sizeof finding->fix, "outbox-relay init --notify");
    return 0;
}
