#include "admin/admin_session.h"

#include "admin/facts.h"
#include "base/clock.h"
#include "base/hint.h"
#include "base/log.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WALK_REST 20 /* times what a look at the rows took that found none to delete */

static void name_error(const struct admin *admin, struct error *error)
{
    if (error_is_sqlstate(error, "22008"))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "the age of the rows to purge is before the earliest date of PostgreSQL");
    else
        filter_name_error(&admin->table, error);
}

/* One run. */
struct run {
    struct admin *admin;
    struct purge *purge;
    char age[32];
    int64_t deadline_ms; /* 0: none */
    bool (*stop)(const void *closure);
    const void *closure;
    bool walks; /* over all rows */
    PGresult *page;
    int old[PURGE_ROWS]; /* the rows of the page to delete */
};

enum page_column { PAGE_ROW, PAGE_PLACE, PAGE_IS_OLD, PAGE_HAS_OTHERS };

static const char *old_row(const struct run *run, int number, enum page_column column)
{
    return PQgetvalue(run->page, run->old[number], column);
}

static bool is_over(const void *closure)
{
    const struct run *run = closure;

    return (run->deadline_ms != 0 && clock_left_ms(run->deadline_ms) <= 0) ||
           (run->stop != NULL && run->stop(run->closure));
}

/* Old rows of the page. Returns how many were deleted, or -1. */
static int64_t delete_rows(struct run *run, int first, int count, struct error *error)
{
    const char *rows[PURGE_ROWS];
    const char *params[2] = {run->age, NULL};
    int64_t deleted;
    char *array;

    for (int i = 0; i < count; i++)
        rows[i] = old_row(run, first + i, PAGE_ROW);
    array = sql_text_array(rows, count);
    if (array == NULL)
        return error_no_memory(error);
    params[1] = array;
    deleted = admin_number(run->admin, statement_purge_rows, 2, params, error);
    free(array);
    return deleted;
}

static void refuse(struct run *run, int row, const char *why)
{
    struct purge *purge = run->purge;

    if (purge->refused++ > 0)
        return;
    (void)snprintf(purge->row, sizeof purge->row, "%s", old_row(run, row, PAGE_PLACE));
    (void)snprintf(purge->why, sizeof purge->why, "%s", why);
    purge->fix = hint_find("settle", text_of(why));
}

/* A row that is neither deleted nor refused: another purge was faster, or a trigger keeps it. */
static int judge(struct run *run, int row, struct error *error)
{
    const char *params[1] = {old_row(run, row, PAGE_ROW)};
    int64_t count = admin_number(run->admin, statement_purge_row_stays, 1, params, error);

    if (count > 0)
        refuse(run, row, "a trigger or a rule of the table keeps it");
    return count < 0 ? -1 : 0;
}

/* Deletes the rows in ever smaller parts when PostgreSQL refuses one. */
static int delete_parts(struct run *run, int first, int count, struct error *error)
{
    int64_t deleted = delete_rows(run, first, count, error);

    if (deleted < 0 && run->admin->session.conn == NULL)
        return -1;
    if (deleted > 0)
        run->purge->purged += deleted;
    if (deleted == count || is_over(run))
        return 0;
    if (count == 1 && deleted < 0)
        refuse(run, first, error->text);
    if (count == 1)
        return deleted < 0 ? 0 : judge(run, first, error);
    if (delete_parts(run, first, count / 2, error) < 0)
        return -1;
    return delete_parts(run, first + count / 2, count - count / 2, error);
}

/* Deletes the old rows of a page. Returns 0 when later pages have none, because their rows were
 * sent later; unsent rows, as those of a sink that is away, say nothing of the rows behind them. */
static int purge_page(struct run *run, struct error *error)
{
    int rows = PQntuples(run->page);
    int count = 0;

    for (int row = 0; row < rows; row++)
        if (PQgetvalue(run->page, row, PAGE_IS_OLD)[0] == 't')
            run->old[count++] = row;
    if (count > 0 && delete_parts(run, 0, count, error) < 0)
        return -1;
    return count > 0 || (rows > 0 && PQgetvalue(run->page, 0, PAGE_HAS_OTHERS)[0] == 't');
}

static int purge_pages(struct run *run, struct error *error)
{
    char *place = run->purge->place;
    const char *params[2] = {run->age, place};
    int goes_on = 1;

    while (goes_on > 0 && !is_over(run)) {
        run->page = admin_query(run->admin, statement_purge_page, 2, params, error);
        goes_on = run->page != NULL ? purge_page(run, error) : -1;
        (void)snprintf(place, sizeof run->purge->place, "%s",
                       goes_on > 0 ? PQgetvalue(run->page, PQntuples(run->page) - 1, PAGE_PLACE)
                                   : "");
        if (goes_on > 0 && place[0] == '\0') /* NULL: the last rows may have no id */
            goes_on = 0;
        PQclear(run->page);
    }
    return goes_on < 0 ? -1 : 0;
}

/* As purge_pages(), but many unsent rows are not looked at all the time. */
static int walk(struct run *run, struct error *error)
{
    struct purge *purge = run->purge;
    int64_t purged = purge->purged;
    int64_t began_ms = clock_now_ms();
    int status;

    if (!run->walks)
        return 0;
    status = purge_pages(run, error);
    if (purge->purged == purged)
        purge->walk_at_ms = clock_now_ms() + WALK_REST * (clock_now_ms() - began_ms);
    return status;
}

/* Purges with a statement that needs no list of rows, until it deletes fewer than `least` or a row
 * is refused. Returns -1 only when no other statement would do better. */
static int purge_quickly(struct run *run, const char *statement, int least, struct error *error)
{
    const char *params[1] = {run->age};
    int64_t purged = least;

    while (purged >= least && !is_over(run)) {
        purged = admin_number(run->admin, statement, 1, params, error);
        if (purged > 0)
            run->purge->purged += purged;
    }
    if (purged < 0)
        log_debug("purge: %s", error->text);
    return purged < 0 && (run->admin->session.conn == NULL || error_is_sqlstate(error, "22008"))
               ? -1
               : 0;
}

static int purge_rows(struct run *run, struct error *error)
{
    if ((run->admin->options->on_sent == ON_SENT_POSITION &&
         purge_quickly(run, statement_purge_covered, PURGE_ROWS / 2, error) < 0) ||
        purge_quickly(run, statement_purge, 1, error) < 0) /* the rest, or what was refused */
        return -1;
    return walk(run, error);
}

/* The partition in which the last walk ended. If it is gone, the place means nothing. */
static int first_partition(const struct run *run, const PGresult *kept)
{
    struct purge *purge = run->purge;

    for (int row = 0; run->walks && row < PQntuples(kept); row++)
        if (strcmp(PQgetvalue(kept, row, 0), purge->partition) == 0)
            return row;
    if (run->walks)
        purge->place[0] = '\0';
    return 0;
}

/* Whole partitions, and the rows of those that have no last id. */
static int purge_partitions(struct run *run, struct error *error)
{
    struct admin *admin = run->admin;
    PGresult *kept;
    int status;

    if (admin_drop_partitions(admin, run->age, is_over, run, run->purge, error) < 0)
        return -1;
    kept = admin_query(admin, statement_partitions_kept, 0, NULL, error);
    status = kept != NULL ? 0 : -1;
    for (int row = status == 0 ? first_partition(run, kept) : 0;
         status == 0 && row < PQntuples(kept) && !is_over(run); row++) {
        admin->partition = PQgetvalue(kept, row, 0);
        if (run->walks)
            (void)snprintf(run->purge->partition, sizeof run->purge->partition, "%s",
                           admin->partition);
        status = purge_rows(run, error);
    }
    if (run->walks && !is_over(run)) /* all have been walked */
        run->purge->partition[0] = '\0';
    admin->partition = NULL;
    PQclear(kept);
    return status;
}

/* By the statement, with the age, in each of these partitions; takes `names`, NULL: -1. */
static int64_t count_rows(struct admin *admin, PGresult *names, const char *statement,
                          const char *age, struct error *error)
{
    int64_t count = names != NULL ? 0 : -1;

    for (int row = 0; count >= 0 && row < PQntuples(names); row++) {
        int64_t rows;

        admin->partition = PQgetvalue(names, row, 0);
        rows = admin_number(admin, statement, 1, &age, error);
        count = rows < 0 ? -1 : count + rows;
    }
    admin->partition = NULL;
    PQclear(names);
    return count;
}

static int64_t count_partitions(struct admin *admin, const char *age, struct error *error)
{
    PGresult *names = admin_query(admin, statement_partitions_to_drop, 1, &age, error);
    int64_t dropped = count_rows(
        admin, names, "SELECT count(*) FROM {partition} WHERE $1::int8 IS NOT NULL", age, error);
    int64_t kept;

    if (dropped < 0)
        return -1;
    names = admin_query(admin, statement_partitions_kept, 0, NULL, error);
    kept = count_rows(admin, names, statement_count_purgeable, age, error);
    return kept < 0 ? -1 : dropped + kept;
}

int admin_purge(struct admin *admin, int64_t age_ms, int64_t limit_ms,
                bool (*stop)(const void *closure), const void *closure, struct purge *purge,
                struct error *error)
{
    struct run run = {.admin = admin,
                      .purge = purge,
                      .deadline_ms = limit_ms > 0 ? clock_now_ms() + limit_ms : 0,
                      .stop = stop,
                      .closure = closure,
                      .walks = clock_left_ms(purge->walk_at_ms) <= 0};
    int status;

    purge->purged = 0;
    purge->refused = 0;
    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        admin_raise_age(admin, &age_ms, error) < 0 || admin_settle_adoption(admin, error) < 0)
        return -1;
    purge->age_ms = age_ms;
    (void)snprintf(run.age, sizeof run.age, "%" PRId64, age_ms);
    status = purge_quickly(&run, statement_purge_parked, 1, error);
    if (status == 0 && table_knows_sent(&admin->table))
        status =
            admin->table.is_partitioned ? purge_partitions(&run, error) : purge_rows(&run, error);
    if (status < 0)
        name_error(admin, error);
    return status;
}

int64_t admin_count_purgeable(struct admin *admin, int64_t *age_ms, struct error *error)
{
    char age[32];
    const char *params[1] = {age};
    int64_t count;
    int64_t sent = 0;

    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        admin_raise_age(admin, age_ms, error) < 0)
        return -1;
    (void)snprintf(age, sizeof age, "%" PRId64, *age_ms);
    count = admin_number(admin, statement_count_purgeable_parked, 1, params, error);
    if (count >= 0 && table_knows_sent(&admin->table))
        sent = admin->table.is_partitioned
                   ? count_partitions(admin, age, error)
                   : admin_number(admin, statement_count_purgeable, 1, params, error);
    count = count < 0 || sent < 0 ? -1 : count + sent;
    if (count < 0)
        name_error(admin, error);
    return count;
}

int admin_adopt_waiting(struct admin *admin, struct error *error)
{
    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        admin_execute(admin, statement_adopt_probes, error) < 0)
        return -1;
    return admin_execute(admin, statement_adopt_behind, error);
}

/* With on_sent = "position": deletes the progress that neither a claim nor anybody who asks when a
 * row was sent needs. */
static int thin_positions(struct admin *admin, struct error *error)
{
    char retention[32];
    const char *params[1] = {retention};
    PGresult *result;

    if (admin->options->on_sent != ON_SENT_POSITION)
        return 0;
    (void)snprintf(retention, sizeof retention, "%" PRId64, admin->options->retention_ms);
    result = admin_query(admin, statement_thin_positions, 1, params, error);
    PQclear(result);
    return result != NULL ? 0 : -1;
}

int admin_upkeep(struct admin *admin, struct upkeep *upkeep, struct error *error)
{
    struct error other;
    int status = admin_make_partitions(admin, upkeep, error);

    if (thin_positions(admin, status < 0 ? &other : error) < 0)
        status = -1;
    return status;
}
