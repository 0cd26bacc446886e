#include "admin/inspect_slices.h"

#include "catalog/slice_table.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <stdio.h>
#include <string.h>

/* An index that no claim goes by costs each insert. */
static int inspect_stale(struct admin *admin, struct findings *findings, struct error *error)
{
    struct writer writer;
    struct finding *finding;
    char *drops;
    int status;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    status = slices_put_drops(writer.out, SLICES_UNUSED, &admin->table, &admin->session,
                              admin->options, error);
    drops = writer_end(&writer);
    if (status == 0 && drops != NULL && drops[0] != '\0') {
        finding =
            findings_add(findings, FINDING_WARNING,
                         "table %s has an index by slices that no relay with this configuration"
                         " uses: it has a different number of slices or a different condition, or"
                         " it is not valid",
                         admin->table.quoted);
        (void)snprintf(finding->fix, sizeof finding->fix, "%.*s", (int)strlen(drops) - 1, drops);
    }
    free(drops);
    return status;
}

static int inspect_unordered(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table *table = &admin->table;
    const char *params[2] = {table->columns[COLUMN_ID].name, table->columns[COLUMN_SENT_AT].name};
    PGresult *result = admin_query(admin, statement_unordered_indexes, 2, params, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        const char *index = PQgetvalue(result, row, 0);
        struct finding *finding = findings_add(
            findings, FINDING_WARNING,
            "index %s serves order = \"none\" only, and each insert pays for it", index);

        (void)snprintf(finding->fix, sizeof finding->fix, "DROP INDEX CONCURRENTLY %s;", index);
    }
    PQclear(result);
    return 0;
}

int admin_check_slices(const struct admin *admin, struct error *error)
{
    if (admin->options->order != ORDER_KEY || admin->table.slices != 0)
        return 0;
    return slices_check(SLICES_NUMBER, &admin->table, admin->options, error);
}

int inspect_slices(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table *table = &admin->table;
    struct error problem;
    int problems = 0;

    if (admin->options->order != ORDER_KEY)
        return 0;
    for (int i = 0; i < SLICES_CHECKS; i++) {
        if (slices_check((enum slices_check)i, table, admin->options, &problem) == 0)
            continue;
        problems++;
        (void)snprintf(findings_add(findings, FINDING_ERROR, "%s", problem.text)->fix,
                       sizeof findings->items->fix, "%s", problem.hint);
    }
    if (problems > 0)
        return 0;
    (void)findings_add(findings, FINDING_OK, "table %s: %d slices", table->slice_quoted,
                       table->slices);
    if (inspect_stale(admin, findings, error) < 0 ||
        (table_has(table, COLUMN_SENT_AT) && inspect_unordered(admin, findings, error) < 0))
        return -1;
    return 0;
}
