#include "admin/admin_session.h"

#include "catalog/describe.h"
#include "catalog/refused.h"
#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT_MAX 10000000 /* a few seconds */

int64_t admin_count_unsent(struct admin *admin, struct error *error)
{
    struct writer writer;
    int64_t count;
    char *sql;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    if (!writer_begin(&writer))
        return error_no_memory(error);
    (void)fprintf(writer.out, "SELECT (SELECT count(*) FROM (SELECT FROM %s WHERE true",
                  admin->table.quoted);
    sql_put_unsent(writer.out, &admin->table);
    (void)fprintf(writer.out,
                  " LIMIT %d) unsent) + (SELECT count(*) FROM %s parked WHERE due IS NOT NULL AND"
                  " (parked." REFUSED_SQL ") IS NOT TRUE)",
                  COUNT_MAX, admin->table.parked_quoted);
    sql = writer_end(&writer);
    if (sql == NULL)
        return error_no_memory(error);
    count = admin_number(admin, sql, 0, NULL, error);
    free(sql);
    return count < COUNT_MAX ? count : -1;
}
