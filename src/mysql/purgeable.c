/* purge --dry-run: counts what a purge would delete. */
#include "mysql/admin.h"

#include "mysql/statements.h"

#include <inttypes.h>
#include <stdlib.h>

/* Rows that are marked by sent_at are the relay's; with [outbox] mark none is purged. */
int admin_check_sent(struct admin *admin, struct error *error)
{
    (void)admin;
    (void)error;
    return 0;
}

/* -1 with *error set. */
static int64_t count(struct admin *admin, const char *find, int64_t age_ms, struct error *error)
{
    char age[24];
    const struct sql_fact facts[] = {{"age_s", .text = age},
                                     {"limit", .text = "18446744073709551615"},
                                     {"now", .text = admin->tables.is_zoned[COLUMN_SENT_AT]
                                                         ? "CURRENT_TIMESTAMP(6)"
                                                         : "UTC_TIMESTAMP(6)"},
                                     {.name = NULL}};
    char *found;
    char *sql = NULL;
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;
    int64_t counted = -1;

    (void)snprintf(age, sizeof age, "%" PRId64 ".%03d", age_ms / 1000, (int)(age_ms % 1000));
    found = tables_statement(&admin->tables, find, facts);
    if (found == NULL || asprintf(&sql, "SELECT COUNT(*) FROM (%s) counted", sql_body(found)) < 0)
        (void)error_no_memory(error);
    else
        rows = db_query(&admin->session, sql, error);
    free(found);
    free(sql);
    row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    if (row != NULL)
        counted = strtoll(row[0], NULL, 10);
    mysql_free_result(rows);
    return counted;
}

int64_t admin_count_purgeable(struct admin *admin, int64_t *age_ms, struct error *error)
{
    bool has_rows = admin->options->on_sent == ON_SENT_MARK && admin->options->mark == NULL &&
                    admin->tables.has[COLUMN_SENT_AT];
    int64_t outbox = has_rows ? count(admin, db_sql_purgeable, *age_ms, error) : 0;
    int64_t parked = outbox >= 0 ? count(admin, db_sql_purgeable_parked, *age_ms, error) : -1;

    return parked < 0 ? -1 : outbox + parked;
}
