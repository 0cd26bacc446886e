/*
 * A superuser may run `init` and `check`, and may look. PostgreSQL plans a query with the rights of
 * the role that sends it, and then evaluates what is constant in an index, its predicate or a
 * statistics object of the table: the table's owner can have any function of his run there. The
 * constraint of a domain runs when a column of that type is added, and a cast when a value is read
 * as text. So what can run is looked up before the first statement that touches the tables.
 */
#include "catalog/borrowed.h"

#include "pg/server.h"

#define IS_TABLE "r.class = 'pg_catalog.pg_class'::pg_catalog.regclass"
#define IS_TYPE "r.class = 'pg_catalog.pg_type'::pg_catalog.regclass"
#define IS_FUNCTION "r.class = 'pg_catalog.pg_proc'::pg_catalog.regclass"

/* $1 to $4: the tables. A function is a leaf: what it calls is its owner's affair. */
static const char sql[] =
    "WITH RECURSIVE reach (class, id) AS (SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid,"
    " c.oid FROM pg_catalog.pg_class c WHERE " SERVER_SUPERUSER_SQL " AND c.oid IN"
    " (pg_catalog.to_regclass($1), pg_catalog.to_regclass($2), pg_catalog.to_regclass($3),"
    " pg_catalog.to_regclass($4))"
    " UNION SELECT used.class, used.id FROM reach r CROSS JOIN LATERAL ("
    "SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid AS class, i.indexrelid AS id"
    " FROM pg_catalog.pg_index i WHERE " IS_TABLE " AND i.indrelid = r.id"
    " UNION ALL SELECT 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass, s.oid"
    " FROM pg_catalog.pg_statistic_ext s WHERE " IS_TABLE " AND s.stxrelid = r.id"
    " UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, o.oid"
    " FROM pg_catalog.pg_constraint o WHERE " IS_TYPE " AND o.contypid = r.id"
    " UNION ALL SELECT 'pg_catalog.pg_cast'::pg_catalog.regclass, k.oid"
    " FROM pg_catalog.pg_cast k WHERE " IS_TYPE " AND r.id IN (k.castsource, k.casttarget)"
    " UNION ALL SELECT 'pg_catalog.pg_class'::pg_catalog.regclass, t.typrelid"
    " FROM pg_catalog.pg_type t WHERE " IS_TYPE " AND t.oid = r.id AND t.typrelid <> 0"
    " UNION ALL SELECT d.refclassid, d.refobjid FROM pg_catalog.pg_depend d WHERE d.classid ="
    " r.class AND d.objid = r.id AND NOT " IS_FUNCTION " AND d.refclassid IN"
    " ('pg_catalog.pg_type'::pg_catalog.regclass, 'pg_catalog.pg_proc'::pg_catalog.regclass,"
    " 'pg_catalog.pg_operator'::pg_catalog.regclass)) used)"
    " SELECT p.oid::pg_catalog.regprocedure, o.rolname FROM reach r JOIN pg_catalog.pg_proc p"
    " ON " IS_FUNCTION " AND p.oid = r.id JOIN pg_catalog.pg_roles o ON o.oid = p.proowner"
    " WHERE NOT o.rolsuper AND o.rolname <> session_user ORDER BY p.oid LIMIT 1";

int borrowed_check(const struct table *table, struct session *session,
                   const struct outbox_options *options, struct error *error)
{
    const char *params[TABLE_NAMES];
    PGresult *result;
    int status = 0;

    if (options->allow_superuser)
        return 0;
    table_names(table, params);
    result = session_query(session, sql, TABLE_NAMES, params, error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        status = error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                           "function %s of role \"%s\" would run with the rights of \"%s\", which"
                           " is a superuser, or may become one: an index, statistics or a type of"
                           " %s, or of the relay's tables beside it, uses the function",
                           PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1),
                           session_role(session), table->quoted);
        (void)error_hint(error,
                         "connect as the owner of %s, or as the relay's role; or trust \"%s\" with"
                         " allow_superuser = true in [database]",
                         table->quoted, PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return status;
}
