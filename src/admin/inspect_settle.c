#include "admin/admin_session.h"

#include "catalog/facts.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

/* Adds a finding for each row, which holds the text's two names, and the fix or NULL. */
typedef void (*on_row)(struct admin *admin, struct findings *findings, const char *first,
                       const char *second);

static int for_each(struct admin *admin, struct findings *findings, const char *statement,
                    on_row add, struct error *error)
{
    PGresult *result = admin_query(admin, statement, 0, NULL, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        add(admin, findings, PQgetvalue(result, row, 0), PQgetvalue(result, row, 1));
    PQclear(result);
    return 0;
}

static void add_foreign_key(struct admin *admin, struct findings *findings, const char *key,
                            const char *of)
{
    bool mark = admin->options->on_sent == ON_SENT_MARK;
    finding_fix(
        findings_add(
            findings, FINDING_WARNING,
            "foreign key %s of table %s references the outbox: a row that it references can be"
            " neither %s nor parked, and its key waits",
            key, of, mark ? "purged" : "deleted"),
        "make the foreign key ON DELETE CASCADE or SET NULL, or drop it");
}

static void add_publication(struct admin *admin, struct findings *findings, const char *publication,
                            const char *what)
{
    finding_fix(findings_add(
                    findings, FINDING_ERROR,
                    "publication %s publishes each %s of the outbox, which has no replica identity:"
                    " PostgreSQL refuses them",
                    publication, what),
                "add a primary key, or ALTER TABLE %s REPLICA IDENTITY FULL;", admin->table.quoted);
}

static void add_trigger(struct admin *admin, struct findings *findings, const char *trigger,
                        const char *what)
{
    (void)admin;
    (void)findings_add(findings, FINDING_WARNING,
                       "%s %s runs when the relay settles a row, with the relay's rights: a row for"
                       " which it fails, or whose settling it undoes, waits with its key",
                       what, trigger);
}

/* A rule with INSTEAD makes PostgreSQL refuse the statement itself, whatever the row. Nothing is
 * executed or planned. */
static int prepare(struct admin *admin, struct findings *findings, const char *statement,
                   struct error *error)
{
    char *sql = NULL;
    int status;

    if (asprintf(&sql, "PREPARE settling AS %s\nWHERE false RETURNING 1; DEALLOCATE settling",
                 statement) < 0)
        return error_no_memory(error);
    status = session_execute(&admin->session, sql, error);
    free(sql);
    if (status == 0)
        return 0;
    if (!error_is_sqlstate(error, "0A") && !error_is_sqlstate(error, "42"))
        return -1;
    (void)findings_add(findings, FINDING_ERROR, "no row can be settled: %s", error->text);
    return 0;
}

int inspect_settle(struct admin *admin, struct findings *findings, struct error *error)
{
    bool mark = admin->options->on_sent == ON_SENT_MARK;
    char *statement;
    int status;

    if (for_each(admin, findings, statement_referencing_keys, add_foreign_key, error) < 0 ||
        for_each(admin, findings, statement_publications, add_publication, error) < 0 ||
        for_each(admin, findings, statement_settling_triggers, add_trigger, error) < 0)
        return -1;
    if (mark && admin->table.sql_problem[0] == '\0') {
        statement = table_sql(&admin->table, "UPDATE {outbox} SET {mark}");
        status =
            statement != NULL ? prepare(admin, findings, statement, error) : error_no_memory(error);
        free(statement);
        if (status < 0)
            return -1;
    }
    statement = table_sql(&admin->table, "DELETE FROM {outbox}");
    status =
        statement != NULL ? prepare(admin, findings, statement, error) : error_no_memory(error);
    free(statement);
    return status;
}
