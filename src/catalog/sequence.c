#include "catalog/sequence.h"

#include "catalog/schema.h"
#include "sql/sql.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

int sequence_describe(struct sequence *sequence, struct session *session, const struct table *table,
                      struct error *error)
{
    char oid[16];
    char ordered[sizeof table->stem + sizeof ORDER_SEQUENCE_SUFFIX];
    const char *params[4] = {oid, table->columns[COLUMN_ID].name, ordered, ORDER_TRIGGER};
    PGresult *result;

    *sequence = (struct sequence){0};
    (void)snprintf(oid, sizeof oid, "%u", table->oid);
    (void)snprintf(ordered, sizeof ordered, "%s" ORDER_SEQUENCE_SUFFIX, table->stem);
    result = session_query(session, sql_body(statement_sequence), 4, params, error);
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
