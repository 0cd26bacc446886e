/*
 * check, the database's part: one finding for each thing that is wrong or weak, each with the SQL
 * that mends it. It goes on after a finding, so that one run shows everything.
 */
#include "admin/admin_session.h"

#include "catalog/adoption.h"
#include "catalog/columns.h"
#include "catalog/filter.h"
#include "catalog/parked_table.h"
#include "catalog/schema.h"
#include "catalog/slice_table.h"
#include "catalog/values.h"
#include "catalog/sql_text.h"
#include "pg/server.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inspection admin_inspection(struct admin *admin)
{
    return (struct inspection){.tables = {&admin->table, admin->options},
                               .session = &admin->session,
                               .is_readable = true,
                               .goes_on = true};
}

/* Whether there is more to look at. */
static bool inspect_table(struct admin *admin, struct findings *findings)
{
    const struct table *table = &admin->table;
    struct error problem;

    if (!table->exists) {
        (void)table_refuse_missing(table, &problem);
        finding_fix(findings_add(findings, FINDING_ERROR, "%s (in database \"%s\", as role \"%s\")",
                                 problem.text, session_database(&admin->session),
                                 session_role(&admin->session)),
                    "%s", problem.hint);
        return false;
    }
    if (table_plain(table, &problem) < 0) {
        (void)findings_add(findings, FINDING_ERROR, "%s", problem.text);
        return false;
    }
    (void)findings_add(findings, FINDING_OK, "table %s", table->quoted);
    return true;
}

void admin_inspect_columns(struct admin *admin, struct findings *findings)
{
    struct error not_plain;

    if (admin->table.exists && table_plain(&admin->table, &not_plain) == 0)
        columns_inspect(&admin->table, admin->options, findings);
}

static void inspect_columns(struct admin *admin, struct findings *findings)
{
    struct error unknown;

    columns_inspect(&admin->table, admin->options, findings);
    values_inspect_headers(&admin->table, findings);
    if (outbox_keeps_sent(admin->options) && table_check_sent(&admin->table, &unknown) < 0)
        finding_fix(findings_add(findings,
                                 table_has(&admin->table, COLUMN_SENT_AT) &&
                                         admin->options->retention_ms > 0
                                     ? FINDING_WARNING
                                     : FINDING_NOTE,
                                 "%s", unknown.text),
                    "%s", unknown.hint);
}

/* An index that no claim goes by costs each insert. */
static int inspect_stale(struct admin *admin, struct findings *findings, struct error *error)
{
    struct writer writer;
    char *drops;
    int status;

    if (!slices_fit(&admin->table, admin->options))
        return 0;
    if (!writer_begin(&writer))
        return error_no_memory(error);
    status = slices_put_drops(writer.out, SLICES_UNUSED, &admin->table, &admin->session,
                              admin->options, error);
    drops = writer_end(&writer);
    if (status == 0 && drops != NULL && drops[0] != '\0')
        finding_fix(
            findings_add(findings, FINDING_NOTE,
                         "table %s has an index by slices that no relay with this configuration"
                         " uses: it has a different number of slices or a different condition, or"
                         " it is not valid",
                         admin->table.quoted),
            "%.*s", (int)strlen(drops) - 1, drops);
    free(drops);
    return status;
}

static void add_not_found(struct findings *findings, const char *quoted)
{
    finding_fix(findings_add(findings, FINDING_ERROR, "table %s not found", quoted),
                "outbox-relay init");
}

static int inspect_parked(struct admin *admin, struct findings *findings, struct error *error)
{
    if (!admin->table.control_exists)
        add_not_found(findings, admin->table.control_quoted);
    if (admin->table.parked_exists)
        return parked_inspect(&admin->table, &admin->session, findings, error);
    add_not_found(findings, admin->table.parked_quoted);
    return 0;
}

/* What only a table that fits can be asked. */
static int inspect_adoption(struct admin *admin, struct findings *findings, struct error *error)
{
    struct adoption adoption;
    struct error problem;

    if (!table_has_needed(&admin->table, admin->options) || admin->table.sql_problem[0] != '\0')
        return 0;
    if (adoption_examine(&adoption, &admin->table, &admin->session, admin->options, error) < 0)
        return findings_have_error(findings) ? 0
                                             : -1; /* it is what keeps the table from being asked */
    if (adoption.state != ADOPTION_OPEN && adoption.state != ADOPTION_CONDITION)
        return 0;
    (void)adoption_explain(&adoption, &admin->table, admin->options, &problem);
    if (adoption.state == ADOPTION_OPEN && admin->options->adopt) {
        (void)findings_add(findings, FINDING_WARNING, "%s ([outbox] adopt is true)", problem.text);
        return 0;
    }
    findings_add_error(findings, &problem);
    return 0;
}

/* An UPDATE fires triggers, and those of the outbox's owner must not have a superuser's rights. */
static int try_lists(struct admin *admin, struct findings *findings, struct error *error)
{
    struct error refusal;

    if (server_check_role(&admin->session, admin->options->allow_superuser, &refusal) == 0)
        return values_try_lists(&admin->table, &admin->session, findings, error);
    if (refusal.kind == ERROR_PERMANENT)
        return 0;
    *error = refusal;
    return -1;
}

/* A rule with INSTEAD makes PostgreSQL refuse the statement itself, whatever the row. Nothing is
 * executed or planned. */
static int try_settling(struct admin *admin, const char *statement, struct findings *findings,
                        struct error *error)
{
    if (admin_execute(admin, statement, error) == 0)
        return 0;
    if (!error_is_sqlstate(error, "0A") && !error_is_sqlstate(error, "42"))
        return -1;
    (void)findings_add(findings, FINDING_ERROR, "no row can be settled: %s", error->text);
    return 0;
}

static int inspect_settling(struct admin *admin, struct findings *findings, struct error *error)
{
    if (admin->options->on_sent == ON_SENT_MARK && admin->table.sql_problem[0] == '\0' &&
        try_settling(admin,
                     "PREPARE settling AS UPDATE {outbox} SET {mark} WHERE false RETURNING 1;"
                     " DEALLOCATE settling",
                     findings, error) < 0)
        return -1;
    return try_settling(admin,
                        "PREPARE settling AS DELETE FROM {outbox} WHERE false RETURNING 1;"
                        " DEALLOCATE settling",
                        findings, error);
}

static int find_readable(struct admin *admin, bool *is_readable, struct error *error)
{
    int64_t may_read =
        admin_number(admin,
                     "SELECT (pg_catalog.has_table_privilege({outbox_text}, 'SELECT')"
                     " AND NOT pg_catalog.row_security_active({outbox_text}))::int",
                     0, NULL, error);

    *is_readable = may_read > 0;
    return may_read < 0 ? -1 : 0;
}

static int inspect_all(struct admin *admin, struct findings *findings, struct error *error)
{
    struct inspection inspection = admin_inspection(admin);
    struct error problem;
    int refused;
    int reasons;
    int more;

    refused = inspect_sections(&inspection, "server", findings, error);
    if (refused < 0 || !inspect_table(admin, findings))
        return refused;
    if (table_fits_preset(&admin->table, admin->options, &problem) < 0) {
        findings_add_error(findings, &problem);
        return refused;
    }
    if (find_readable(admin, &inspection.is_readable, error) < 0 ||
        filter_try_index(&admin->table, &admin->session, error) < 0 ||
        values_try_index(&admin->table, &admin->session, admin->options, error) < 0)
        return -1;
    if (admin->table.sql_problem[0] != '\0')
        (void)findings_add(findings, FINDING_ERROR, "%s", admin->table.sql_problem);
    inspect_columns(admin, findings);
    if (admin->options->order == ORDER_KEY)
        slices_inspect(&admin->table, admin->options, findings);
    reasons = inspect_sections(&inspection, "run", findings, error);
    if (reasons < 0 || inspect_parked(admin, findings, error) < 0)
        return -1;
    more = inspect_sections(&inspection, "check", findings, error);
    inspection.goes_on = false;
    if (more < 0 || inspect_stale(admin, findings, error) < 0 ||
        inspect_settling(admin, findings, error) < 0 || try_lists(admin, findings, error) < 0 ||
        inspect_sections(&inspection, "last", findings, error) < 0 ||
        inspect_adoption(admin, findings, error) < 0)
        return -1;
    return refused + reasons + more;
}

int admin_inspect(struct admin *admin, struct findings *findings, struct error *error)
{
    int refused = inspect_all(admin, findings, error);

    if (refused < 0)
        table_name_holders(&admin->table, &admin->session, error);
    return refused;
}

int admin_check_slices(const struct admin *admin, struct error *error)
{
    if (admin->options->order != ORDER_KEY || admin->table.slices != 0)
        return 0;
    return slices_check_number(&admin->table, admin->options, error);
}

/* ---- the topics of waiting rows ---- */

#define SAMPLE_ROWS 1000

static struct text copy_field(struct batch *batch, const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return batch_copy(batch, PQgetvalue(result, row, column),
                      (size_t)PQgetlength(result, row, column));
}

int admin_sample(struct admin *admin, struct batch *batch, struct error *error)
{
    char unsent[16];
    char topics[16];
    const char *params[2] = {unsent, topics};
    PGresult *result;

    (void)snprintf(unsent, sizeof unsent, "%d",
                   admin->options->order == ORDER_KEY ? SAMPLE_ROWS / admin->options->slices + 1
                                                      : SAMPLE_ROWS);
    (void)snprintf(topics, sizeof topics, "%d", batch->capacity);
    result = admin_query(admin, statement_sample, 2, params, error);
    if (result == NULL)
        return -1;
    batch->numbered = admin->table.numbered;
    for (int row = 0; row < PQntuples(result); row++) {
        struct message *message = batch_add(batch);

        message->topic = copy_field(batch, result, row, 0);
        message->key = copy_field(batch, result, row, 1);
        message->type = copy_field(batch, result, row, 2);
        message->id = copy_field(batch, result, row, 3);
        message->event_id = copy_field(batch, result, row, 4);
    }
    PQclear(result);
    return 0;
}
