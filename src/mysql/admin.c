/* A command's connection, and what the janitor and purge do with it. */
#include "mysql/admin.h"

#include "base/clock.h"
#include "base/hint.h"
#include "mysql/settle.h"
#include "mysql/statements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PURGE_ROWS 1000 /* of a transaction */
#define WALK_REST 20    /* times what a walk took that found nothing to delete */

struct admin *admin_open(const struct outbox_options *options, struct error *error)
{
    struct admin *admin = calloc(1, sizeof *admin);

    if (admin == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    admin->options = options;
    if (db_open(&admin->session, options, options->publish_timeout_ms, "admin", error) == 0 &&
        db_server_read(&admin->server, &admin->session, error) == 0 &&
        tables_describe(&admin->tables, options, &admin->session, error) == 0)
        return admin;
    admin_close(admin);
    return NULL;
}

struct admin *admin_open_to_write(const struct outbox_options *options, struct error *error)
{
    return admin_open(options, error); /* triggers run with the rights of who has made them */
}

void admin_close(struct admin *admin)
{
    if (admin == NULL)
        return;
    db_end(&admin->session);
    tables_free(&admin->tables);
    free(admin);
}

/* Rows that are there are sent, and not left out by a comparison with the time of `init`. */
int admin_settle_adoption(struct admin *admin, struct error *error)
{
    (void)admin;
    (void)error;
    return 0;
}

int admin_check_slices(const struct admin *admin, struct error *error)
{
    struct admin *mine = (struct admin *)admin;
    int64_t counts[2];

    if (tables_ask(&mine->tables, &mine->session, db_sql_count_slices, NULL, counts, 2, error) < 0)
        return -1;
    if (counts[0] == counts[1])
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s_slice lacks the rows of some slices", admin->tables.outbox);
    return error_hint(error, "outbox-relay-mysql init --print prints the INSERT of all of them");
}

int admin_upkeep(struct admin *admin, struct upkeep *upkeep, struct error *error)
{
    (void)admin;
    (void)upkeep;
    (void)error;
    return 0;
}

int admin_adopt_waiting(struct admin *admin, struct error *error)
{
    return settle_adopt(&admin->tables, &admin->session, error) < 0 ? -1 : 0;
}

/* ---- purge ---- */

/* Rows that are marked by sent_at are the relay's; with [outbox] mark none is purged. */
int admin_check_sent(struct admin *admin, struct error *error)
{
    (void)admin;
    (void)error;
    return 0;
}

/* Whether sent rows of the outbox may be deleted. */
static bool may_purge_outbox(const struct admin *admin)
{
    return admin->tables.is_own && admin->options->on_sent == ON_SENT_MARK &&
           admin->options->mark == NULL && admin->tables.has[COLUMN_SENT_AT];
}

/* The statement that finds rows to delete, the first ones without an order; free() it. With `locks`
 * it locks them, and leaves out what others have locked. `place`: in the order of sending, "": from
 * the first on, or those behind "ID TIME". NULL with *error set. */
static char *purgeable(const struct admin *admin, bool parked, int64_t age_ms, uint64_t limit,
                       bool locks, const char *place, struct error *error)
{
    char age[24], most[24], id[24] = "", sent[72] = "";
    const struct sql_fact facts[] = {
        {"age_s", .text = age},
        {"limit", .text = most},
        {"now", .text = admin->tables.is_zoned[COLUMN_SENT_AT] ? "CURRENT_TIMESTAMP(6)"
                                                               : "UTC_TIMESTAMP(6)"},
        {locks ? "locks" : "", .text = NULL},
        {place != NULL ? "ordered" : "", .text = NULL},
        {place != NULL && place[0] != '\0' ? "after" : "", .text = NULL},
        {"after_id", .text = id},
        {"after_sent", .text = sent},
        {.name = NULL}};
    char *sql;

    (void)snprintf(age, sizeof age, "%" PRId64 ".%03d", age_ms / 1000, (int)(age_ms % 1000));
    (void)snprintf(most, sizeof most, "%" PRIu64, limit);
    if (place != NULL && place[0] != '\0') {
        int len = (int)strcspn(place, " ");

        (void)snprintf(id, sizeof id, "%.*s", len, place);
        (void)snprintf(sent, sizeof sent, "'%s'", place + len + 1);
    }
    sql = tables_statement(&admin->tables, parked ? db_sql_purgeable_parked : db_sql_purgeable,
                           facts);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
}

/* -1 with *error set. */
static int64_t count(struct admin *admin, bool parked, int64_t age_ms, struct error *error)
{
    char *found = purgeable(admin, parked, age_ms, UINT64_MAX, false, NULL, error);
    char *sql = NULL;
    MYSQL_RES *rows = NULL;
    MYSQL_ROW row;
    int64_t counted = -1;

    if (found == NULL)
        return -1;
    if (asprintf(&sql, "SELECT COUNT(*) FROM (%s) counted", sql_body(found)) < 0) {
        sql = NULL;
        (void)error_no_memory(error);
    } else {
        rows = db_query(&admin->session, sql, error);
    }
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
    int64_t outbox = may_purge_outbox(admin) ? count(admin, false, *age_ms, error) : 0;
    int64_t parked = outbox >= 0 ? count(admin, true, *age_ms, error) : -1;

    return parked < 0 ? -1 : outbox + parked;
}

/* One run. */
struct run {
    struct admin *admin;
    struct purge *purge;
    int64_t deadline_ms; /* 0: none */
    bool (*stop)(const void *closure);
    const void *closure;
};

static bool is_over(const struct run *run)
{
    return (run->stop != NULL && run->stop(run->closure)) ||
           (run->deadline_ms != 0 && clock_left_ms(run->deadline_ms) == 0);
}

/* Begins a transaction and locks a page of rows to delete. NULL with *error set. */
static MYSQL_RES *find(const struct run *run, bool parked, const char *place, struct error *error)
{
    char *sql = purgeable(run->admin, parked, run->purge->age_ms, PURGE_ROWS, true, place, error);
    MYSQL_RES *rows = NULL;

    if (sql != NULL && db_execute(&run->admin->session, "START TRANSACTION", error) >= 0)
        rows = db_query(&run->admin->session, sql, error);
    free(sql);
    return rows;
}

/* What was deleted is gone; -1 with *error set, also when it was not deleted for `deleted` < 0. */
static int end_page(const struct run *run, int deleted, struct error *error)
{
    struct error ignored;

    if (deleted >= 0)
        return db_execute(&run->admin->session, "COMMIT", error) < 0 ? -1 : deleted;
    if (run->admin->session.conn != NULL)
        (void)db_execute(&run->admin->session, "ROLLBACK", &ignored);
    return -1;
}

/* Deletes the rows of a JSON array (NULL: no memory). Returns 1; 0 with *error set when the server
 * refuses one of them, and none is deleted; -1, also when it would refuse any row. */
static int delete_rows(const struct run *run, bool parked, const char *list, struct error *error)
{
    struct admin *admin = run->admin;
    const char *statement = parked ? db_sql_purge_parked : db_sql_purge;
    char *sql = list != NULL ? tables_statement(&admin->tables, statement, NULL) : NULL;
    const struct text param = text_of(list != NULL ? list : "");
    int64_t deleted;

    if (sql == NULL)
        return error_no_memory(error);
    deleted = db_run_once(&admin->session, sql, &param, 1, error);
    free(sql);
    if (deleted < 0)
        return admin->session.failure == DB_FAILURE_STATEMENT && error->kind != ERROR_PERMANENT
                   ? 0
                   : -1;
    run->purge->purged += deleted;
    return 1;
}

static int delete_page(const struct run *run, bool parked, MYSQL_RES *rows, struct error *error)
{
    char *list = settle_pack_first(rows);
    int deleted = delete_rows(run, parked, list, error);

    free(list);
    return deleted;
}

/* Until no row is found. Returns as delete_rows() does. */
static int delete_all(const struct run *run, bool parked, struct error *error)
{
    int deleted = 1;
    bool more = true;

    while (deleted > 0 && more && !is_over(run)) {
        MYSQL_RES *rows = find(run, parked, NULL, error);

        if (rows == NULL)
            return -1;
        more = mysql_num_rows(rows) > 0;
        if (more)
            deleted = delete_page(run, parked, rows, error);
        mysql_free_result(rows);
        deleted = end_page(run, deleted, error);
    }
    return deleted;
}

static void keep_place(struct purge *purge, MYSQL_ROW row)
{
    (void)snprintf(purge->place, sizeof purge->place, "%s %s", row[0], row[1]);
}

static void refuse(struct purge *purge, const char *row, const char *why)
{
    if (purge->refused++ > 0)
        return;
    (void)snprintf(purge->row, sizeof purge->row, "%s", row);
    (void)snprintf(purge->why, sizeof purge->why, "%.*s", (int)sizeof purge->why - 1, why);
    purge->fix = hint_find("settle", text_of(why));
}

/* The rows of a page one by one. Returns 0, or -1. */
static int delete_each(const struct run *run, MYSQL_RES *rows, struct error *error)
{
    MYSQL_ROW row;

    mysql_data_seek(rows, 0);
    while (!is_over(run) && (row = mysql_fetch_row(rows)) != NULL) {
        char list[32];
        int deleted;

        (void)snprintf(list, sizeof list, "[%s]", row[0]);
        deleted = delete_rows(run, false, list, error);
        if (deleted < 0)
            return -1;
        if (deleted == 0)
            refuse(run->purge, row[0], error->text);
        keep_place(run->purge, row);
    }
    return 0;
}

/* Passes all rows in their order, from where the last walk has ended, and steps over those that the
 * server refuses to delete. Returns 0, or -1. */
static int walk(const struct run *run, struct error *error)
{
    int64_t purged = run->purge->purged;
    int64_t began_ms = clock_now_ms();
    bool more = true;

    while (more && !is_over(run)) {
        MYSQL_RES *rows = find(run, false, run->purge->place, error);
        int deleted = 1;

        if (rows == NULL)
            return -1;
        more = mysql_num_rows(rows) == PURGE_ROWS;
        if (mysql_num_rows(rows) > 0)
            deleted = delete_page(run, false, rows, error);
        if (deleted == 0 && delete_each(run, rows, error) < 0)
            deleted = -1;
        if (deleted > 0 && more) {
            mysql_data_seek(rows, PURGE_ROWS - 1);
            keep_place(run->purge, mysql_fetch_row(rows));
        }
        mysql_free_result(rows);
        if (end_page(run, deleted, error) < 0)
            return -1;
    }
    if (!is_over(run))
        run->purge->place[0] = '\0';
    if (run->purge->purged == purged)
        run->purge->walk_at_ms = clock_now_ms() + WALK_REST * (clock_now_ms() - began_ms);
    return 0;
}

int admin_purge(struct admin *admin, int64_t age_ms, int64_t limit_ms,
                bool (*stop)(const void *closure), const void *closure, struct purge *purge,
                struct error *error)
{
    const struct run run = {.admin = admin,
                            .purge = purge,
                            .deadline_ms = limit_ms > 0 ? clock_now_ms() + limit_ms : 0,
                            .stop = stop,
                            .closure = closure};
    struct error of_parked;
    int parked, deleted = 0;

    purge->purged = 0;
    purge->refused = 0;
    purge->age_ms = age_ms;
    parked = delete_all(&run, true, &of_parked);
    if (admin->session.conn != NULL && may_purge_outbox(admin)) {
        deleted = delete_all(&run, false, error);
        if (deleted == 0 && clock_left_ms(purge->walk_at_ms) == 0)
            deleted = walk(&run, error);
    }
    if (parked <= 0)
        *error = of_parked;
    return parked <= 0 || deleted < 0 ? -1 : 0;
}
