#include "catalog/shape.h"

#include "catalog/words.h"
#include "sql/statements.h"

#include <stdio.h>

int shape_read(struct table *table, struct session *session, struct error *error)
{
    PGresult *result = table_query(table, session, statement_shape, 0, NULL, error);

    if (result == NULL)
        return -1;
    (void)snprintf(table->shape, sizeof table->shape, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return 0;
}
