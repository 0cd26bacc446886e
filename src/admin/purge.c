#include "admin/admin_session.h"

#include "admin/purge_sql.h"
#include "catalog/describe.h"
#include "catalog/filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PURGE_ROWS 1000

static void name_error(const struct admin *admin, struct error *error)
{
    if (error_is_sqlstate(error, "22008"))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "the age of the rows to purge is before the earliest date of PostgreSQL");
    else
        filter_name_error(&admin->table, error);
}

int admin_purge_batch(struct admin *admin, int64_t age_ms, int64_t *purged, struct error *error)
{
    char age[32];
    const char *params[1] = {age};
    char *sql;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    sql = sql_purge(&admin->table, PURGE_ROWS);
    if (sql == NULL)
        return error_no_memory(error);
    (void)snprintf(age, sizeof age, "%" PRId64, age_ms);
    *purged = admin_number(admin, sql, 1, params, error);
    free(sql);
    if (*purged < 0)
        name_error(admin, error);
    return *purged < 0 ? -1 : 0;
}

static int64_t count_purgeable(struct admin *admin, int64_t age_ms, struct error *error)
{
    char age[32];
    const char *params[1] = {age};
    char *sql = sql_purgeable(&admin->table);
    int64_t count;

    if (sql == NULL)
        return error_no_memory(error);
    (void)snprintf(age, sizeof age, "%" PRId64, age_ms);
    count = admin_number(admin, sql, 1, params, error);
    free(sql);
    if (count < 0)
        name_error(admin, error);
    return count;
}

static int64_t purge_all(struct admin *admin, int64_t age_ms, struct error *error)
{
    int64_t total = 0;
    int64_t purged = 0;

    do {
        if (admin_purge_batch(admin, age_ms, &purged, error) < 0)
            return -1;
        total += purged;
    } while (purged > 0);
    return total;
}

int64_t admin_purge(struct admin *admin, int64_t age_ms, bool dry_run, struct error *error)
{
    int64_t purged;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    if (!dry_run && admin_settle_adoption(admin, error) < 0)
        return -1;
    purged = dry_run ? count_purgeable(admin, age_ms, error) : purge_all(admin, age_ms, error);
    return purged;
}

/* Executes the statement and frees it. */
static int adopt(struct admin *admin, char *sql, struct error *error)
{
    int status =
        sql != NULL ? session_execute(&admin->session, sql, error) : error_no_memory(error);

    free(sql);
    return status;
}

int admin_adopt_waiting(struct admin *admin, struct error *error)
{
    const struct table *table = &admin->table;

    if (describe_check_whole(table, admin->options, error) < 0 ||
        adopt(admin, sql_adopt_probes(table, admin->options), error) < 0)
        return -1;
    return adopt(admin, sql_adopt_behind(table, admin->options), error);
}
