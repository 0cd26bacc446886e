/*
 * A superuser may run `init` and `check`, and may look. PostgreSQL plans a query with the rights of
 * the role that sends it, and then evaluates what is constant in an index, its predicate or a
 * statistics object of the table: the table's owner can have any function of his run there. The
 * constraint of a domain runs when a column of that type is added, and a cast when a value is read
 * as text. So what can run is looked up before the first statement that touches the tables.
 */
#include "catalog/borrowed.h"

#include "catalog/words.h"
#include "sql/statements.h"

int borrowed_check(const struct table *table, struct session *session,
                   const struct outbox_options *options, struct error *error)
{
    PGresult *result;
    int status = 0;

    if (options->allow_superuser)
        return 0;
    result = table_query(table, session, statement_borrowed_function, 0, NULL, error);
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
