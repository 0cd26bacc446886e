#include "catalog/sequence.h"

#include <stdio.h>
#include <stdlib.h>

static const char sequence_sql[] =
    "SELECT '\"' || pg_catalog.replace(n.nspname, '\"', '\"\"') || '\".\"' ||"
    "   pg_catalog.replace(c.relname, '\"', '\"\"') || '\"',"
    " pg_catalog.has_sequence_privilege(c.oid, 'SELECT'), s.seqcycle, s.seqcache, s.seqincrement,"
    " c.oid"
    " FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_depend d"
    "   ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype = 'i'"
    "      AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum"
    "   OR d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass"
    "      AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass"
    "      AND d.objid = (SELECT oid FROM pg_catalog.pg_attrdef"
    "                     WHERE adrelid = a.attrelid AND adnum = a.attnum)"
    " JOIN pg_catalog.pg_sequence s"
    "   ON s.seqrelid = CASE d.deptype WHEN 'i' THEN d.objid ELSE d.refobjid END"
    " JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid"
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE a.attrelid = $1::pg_catalog.oid AND a.attname = $2 ORDER BY c.oid LIMIT 1";

int sequence_describe(struct sequence *sequence, struct session *session, const struct table *table,
                      struct error *error)
{
    char oid[16];
    const char *params[2] = {oid, table->columns[COLUMN_ID].name};
    PGresult *result;

    *sequence = (struct sequence){0};
    (void)snprintf(oid, sizeof oid, "%u", table->oid);
    result = session_query(session, sequence_sql, 2, params, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        (void)snprintf(sequence->quoted, sizeof sequence->quoted, "%s", PQgetvalue(result, 0, 0));
        sequence->readable = PQgetvalue(result, 0, 1)[0] == 't';
        sequence->cycles = PQgetvalue(result, 0, 2)[0] == 't';
        sequence->cache = strtoll(PQgetvalue(result, 0, 3), NULL, 10);
        sequence->increment = strtoll(PQgetvalue(result, 0, 4), NULL, 10);
        sequence->oid = (uint32_t)strtoul(PQgetvalue(result, 0, 5), NULL, 10);
    }
    PQclear(result);
    return 0;
}
