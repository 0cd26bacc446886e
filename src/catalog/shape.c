#include "catalog/shape.h"

#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>

/* A column of these catalogs with an index on it, whose rows change with the tables. A changed row
 * has a new xmin, which is above those of all older rows until transaction ids wrap around; a row
 * that is dropped lowers the count. The rows of pg_class that VACUUM changes keep their xmin. */
static const struct {
    const char *catalog, *column;
} parts[] = {{"pg_class", "oid"},      {"pg_attribute", "attrelid"}, {"pg_attrdef", "adrelid"},
             {"pg_index", "indrelid"}, {"pg_trigger", "tgrelid"},    {"pg_rewrite", "ev_class"}};

static void put_name(FILE *out, const char *quoted)
{
    (void)fputs("pg_catalog.to_regclass(E'", out);
    for (; *quoted != '\0'; quoted++) {
        if (*quoted == '\'' || *quoted == '\\')
            (void)fputc(*quoted, out);
        (void)fputc(*quoted, out);
    }
    (void)fputs("')", out);
}

void sql_put_shape(FILE *out, const struct table *table)
{
    const char *const names[] = {table->quoted, table->parked_quoted, table->slice_quoted};

    (void)fprintf(out, "WITH relay_ids AS MATERIALIZED (SELECT ARRAY[");
    for (int i = 0; i < 3; i++) {
        (void)fprintf(out, "%s", i > 0 ? ", " : "");
        put_name(out, names[i]);
    }
    (void)fprintf(out, "]::pg_catalog.oid[] AS known) SELECT pg_catalog.concat_ws(' ',"
                       " (SELECT known::text FROM relay_ids), count(*), sum(mark), max(mark))"
                       " FROM (");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        (void)fprintf(out,
                      "%sSELECT xmin::text::int8 AS mark FROM pg_catalog.%s WHERE %s ="
                      " ANY ((SELECT known FROM relay_ids)::pg_catalog.oid[])",
                      i > 0 ? " UNION ALL " : "", parts[i].catalog, parts[i].column);
    (void)fprintf(out, ") marks");
}

char *sql_shape(const struct table *table)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    sql_put_shape(writer.out, table);
    return writer_end(&writer);
}

int shape_read(struct table *table, struct session *session, struct error *error)
{
    PGresult *result;
    char *sql = sql_shape(table);

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
