/* sql: the statements with these tables. */
#include "mysql/admin.h"

#include "mysql/statements.h"

#include <stdlib.h>
#include <string.h>

/* A fact that only a claim or a command knows is shown by its name: {from}. */
int admin_read_statements(struct admin *admin, const struct routes *routes,
                          const struct admin_statement_reader *reader, struct error *error)
{
    (void)routes;
    for (const struct db_statement *statement = db_statements; statement->name != NULL;
         statement++) {
        char *sql = tables_statement(&admin->tables, statement->text, NULL);
        const char *body;

        if (sql == NULL)
            return error_no_memory(error);
        body = sql_body(sql);
        reader->on_statement(reader->closure, statement->name, statement->text,
                             (size_t)(sql_body(statement->text) - statement->text), body);
        free(sql);
    }
    return 0;
}
