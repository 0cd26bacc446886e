#include "outbox/inspect_slices.h"

#include "outbox/slices.h"
#include "outbox/sql_text.h"

#include <string.h>

/* The sequences that column $2 of $1 draws from, its own (identity) or its default's. */
static const char sequences_sql[] =
    "SELECT s.seqrelid::pg_catalog.regclass, s.seqcache, s.seqincrement"
    " FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_depend d"
    "   ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype = 'i'"
    "      AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum"
    "   OR d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass"
    "      AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
    "      AND d.objid = (SELECT oid FROM pg_catalog.pg_attrdef"
    "                     WHERE adrelid = a.attrelid AND adnum = a.attnum)"
    " JOIN pg_catalog.pg_sequence s"
    "   ON s.seqrelid = CASE d.deptype WHEN 'i' THEN d.objid ELSE d.refobjid END"
    " WHERE a.attrelid = $1::pg_catalog.regclass AND a.attname = $2"
    "   AND (s.seqcache > 1 OR s.seqincrement < 1)";

/* A session that draws ids ahead inserts a later event of a key with a lower one. */
static int inspect_sequences(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table_column *id = &admin->table.columns[COLUMN_ID];
    const char *params[2] = {admin->table.quoted, id->name};
    PGresult *result = session_query(&admin->session, sequences_sql, 2, params, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        const char *sequence = PQgetvalue(result, row, 0);
        struct finding *finding = findings_add(
            findings, FINDING_WARNING,
            "the ids in column %s of %s do not grow in the order of insertion: sequence %s has"
            " CACHE %s, INCREMENT %s",
            id->quoted, admin->table.quoted, sequence, PQgetvalue(result, row, 1),
            PQgetvalue(result, row, 2));

        (void)snprintf(finding->fix, sizeof finding->fix, "ALTER SEQUENCE %s INCREMENT 1 CACHE 1;",
                       sequence);
    }
    PQclear(result);
    return 0;
}

/* An index that no claim goes by costs each insert. */
static int inspect_stale(struct admin *admin, struct findings *findings, struct error *error)
{
    struct writer writer;
    struct finding *finding;
    char *drops;
    int status;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    status = slices_put_drops(writer.out, SLICES_UNUSED, admin, error);
    drops = writer_end(&writer);
    if (status == 0 && drops != NULL && drops[0] != '\0') {
        finding = findings_add(findings, FINDING_WARNING,
                               "table %s has an index by slices of another number, or one that is"
                               " not valid",
                               admin->table.quoted);
        (void)snprintf(finding->fix, sizeof finding->fix, "%.*s", (int)strlen(drops) - 1, drops);
    }
    free(drops);
    return status;
}

/* Over all unsent rows by id: what claims of order = "none" go by. */
static const char unordered_sql[] =
    "SELECT i.indexrelid::pg_catalog.regclass FROM pg_catalog.pg_index i"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
    " WHERE i.indrelid = $1::pg_catalog.regclass AND i.indnkeyatts = 1 AND NOT i.indisunique"
    "   AND a.attname = $2 AND pg_catalog.pg_get_expr(i.indpred, i.indrelid)"
    "       = pg_catalog.format('(%I IS NULL)', $3::text)";

static int inspect_unordered(struct admin *admin, struct findings *findings, struct error *error)
{
    const struct table *table = &admin->table;
    const char *params[3] = {table->quoted, table->columns[COLUMN_ID].name,
                             table->columns[COLUMN_SENT_AT].name};
    PGresult *result = session_query(&admin->session, unordered_sql, 3, params, error);

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
    return inspect_sequences(admin, findings, error);
}
