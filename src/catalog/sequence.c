#include "catalog/sequence.h"

#include "catalog/facts.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

int sequence_describe(struct sequence *sequence, struct session *session, const struct table *table,
                      struct error *error)
{
    PGresult *result = table_query(table, session, statement_id_sequence, 0, NULL, error);

    *sequence = (struct sequence){0};
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        (void)snprintf(sequence->quoted, sizeof sequence->quoted, "%s", PQgetvalue(result, 0, 0));
        sequence->readable = PQgetvalue(result, 0, 1)[0] == 't';
        sequence->increment = strtoll(PQgetvalue(result, 0, 4), NULL, 10);
        sequence->oid = (uint32_t)strtoul(PQgetvalue(result, 0, 5), NULL, 10);
    }
    PQclear(result);
    return 0;
}
