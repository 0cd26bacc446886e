#include "catalog/shape.h"

#include "catalog/words.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

int shape_read(struct table *table, struct session *session, struct error *error)
{
    const struct table_words about = {.table = table};
    const struct sql_words words = table_words(&about);
    char *sql = sql_render(statement_shape, &words);
    PGresult *result;

    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(session, sql, 0, NULL, error);
    free(sql);
    if (result == NULL)
        return -1;
    (void)snprintf(table->shape, sizeof table->shape, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return 0;
}
