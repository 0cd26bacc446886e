#include "mysql/schema.h"

#include "mysql/statements.h"

#include <stdlib.h>

char *schema_text(const struct tables *tables)
{
    char *numbers = NULL;
    size_t size;
    FILE *out = open_memstream(&numbers, &size);
    char *sql;

    if (out == NULL)
        return NULL;
    for (int i = 0; i < tables->slices; i++)
        (void)fprintf(out, "%s%d", i == 0 ? "[" : ",", i);
    (void)fputc(']', out);
    if (fclose(out) != 0)
        return NULL;
    const struct sql_fact facts[] = {{"numbers", .text = numbers},
                                     {tables->exists ? "" : "makes_outbox", .text = NULL},
                                     {.name = NULL}};

    sql = tables_statement(tables, db_sql_tables, facts);
    free(numbers);
    return sql;
}
