/* A command's connection, and what the janitor does with it. */
#include "mysql/admin.h"

#include "base/clock.h"
#include "mysql/settle.h"
#include "mysql/statements.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PURGE_ROWS 1000 /* of a statement, which is a transaction of its own */

struct admin *admin_open(const struct outbox_options *options, struct error *error)
{
    const struct db_options how = {.url = options->url,
                                   .password_file = options->password_file,
                                   .allow_plaintext = options->allow_plaintext,
                                   .idle_ms = options->publish_timeout_ms};
    struct admin *admin = calloc(1, sizeof *admin);

    if (admin == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    admin->options = options;
    if (db_open(&admin->session, &how, "admin", error) == 0 &&
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
    MYSQL_RES *rows = tables_query(&mine->tables, &mine->session, db_sql_count_slices, NULL, error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    bool is_whole;

    if (rows == NULL)
        return -1;
    is_whole = row != NULL && row[1] != NULL && strcmp(row[0], row[1]) == 0;
    mysql_free_result(rows);
    if (is_whole)
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

/* Deletes up to PURGE_ROWS rows. Returns how many; -1 with *error set. */
static int64_t purge_some(struct admin *admin, const char *find, const char *gone, int64_t age_ms,
                          struct error *error)
{
    char age[24], limit[12];
    bool is_zoned = admin->tables.is_zoned[COLUMN_SENT_AT];
    const struct sql_fact facts[] = {
        {"age_s", .text = age},
        {"limit", .text = limit},
        {"now", .text = is_zoned ? "CURRENT_TIMESTAMP(6)" : "UTC_TIMESTAMP(6)"},
        {.name = NULL}};
    MYSQL_RES *rows;
    char *list;
    char *sql = NULL;
    int64_t deleted = -1;

    (void)snprintf(age, sizeof age, "%" PRId64 ".%03d", age_ms / 1000, (int)(age_ms % 1000));
    (void)snprintf(limit, sizeof limit, "%d", PURGE_ROWS);
    rows = tables_query(&admin->tables, &admin->session, find, facts, error);
    if (rows == NULL)
        return -1;
    list = settle_pack_first(rows);
    if (mysql_num_rows(rows) == 0) {
        deleted = 0;
    } else if (list != NULL && (sql = tables_statement(&admin->tables, gone, facts)) != NULL) {
        const struct text param = text_of(list);

        deleted = db_run_once(&admin->session, sql, &param, 1, error);
    } else {
        (void)error_no_memory(error);
    }
    mysql_free_result(rows);
    free(sql);
    free(list);
    return deleted;
}

int admin_purge(struct admin *admin, int64_t age_ms, int64_t limit_ms,
                bool (*stop)(const void *closure), const void *closure, struct purge *purge,
                struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + limit_ms;
    bool has_rows = admin->tables.is_own && admin->options->on_sent == ON_SENT_MARK &&
                    admin->tables.has[COLUMN_SENT_AT];
    int64_t deleted = 1;

    *purge = (struct purge){.age_ms = age_ms};
    for (int parked = has_rows ? 0 : 1; parked < 2; parked++)
        do {
            if ((stop != NULL && stop(closure)) ||
                (limit_ms > 0 && clock_left_ms(deadline_ms) == 0))
                return 0;
            deleted = purge_some(admin, parked ? db_sql_purgeable_parked : db_sql_purgeable,
                                 parked ? db_sql_purge_parked : db_sql_purge, age_ms, error);
            if (deleted < 0)
                return -1;
            purge->purged += deleted;
        } while (deleted > 0);
    return 0;
}
