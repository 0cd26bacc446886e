/* init: makes the tables that are missing, or prints the SQL of all. */
#include "mysql/cli/commands.h"

#include "mysql/admin.h"
#include "mysql/order.h"
#include "mysql/statements.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -1 with *error set. */
static int count_tables(struct admin *admin, struct error *error)
{
    int64_t count;

    return tables_ask(&admin->tables, &admin->session, db_sql_count_tables, NULL, &count, 1,
                      error) < 0
               ? -1
               : (int)count;
}

static int create(struct admin *admin, const char *sql, struct error *error)
{
    int before = count_tables(admin, error);
    int after;

    if (before < 0 || db_execute(&admin->session, sql, error) < 0 ||
        (after = count_tables(admin, error)) < 0)
        return -1;
    if (after == before)
        (void)printf("%s and the relay's tables are there\n", admin->tables.outbox);
    else
        (void)printf("created %d table%s: %s\n", after - before, PLURAL(after - before),
                     admin->tables.exists ? "those of the relay" : admin->tables.outbox);
    return admin_check_slices(admin, error);
}

static int add_order(struct admin *admin, const char *order, struct error *error)
{
    if (order_make(admin, order, error) < 0)
        return -1;
    (void)printf("the order trigger locks each key; other roles need no right for it\n");
    if (!admin->session.is_mariadb)
        (void)printf("on MySQL this holds for INSERTs of one row: docs/mysql.md\n");
    return 0;
}

static int print_or_create(struct admin *admin, const struct arguments *arguments,
                           struct error *error)
{
    char *sql = tables_statement(&admin->tables, db_sql_tables, NULL);
    char *order = NULL;
    int status = -1;

    if (sql == NULL)
        (void)error_no_memory(error);
    else if (arguments->order_trigger &&
             (order = order_text(admin, arguments->print, error)) == NULL)
        status = -1;
    else if (arguments->print)
        status = puts(sql) < 0 || (order != NULL && puts(order) < 0)
                     ? error_set(error, ERROR_PERMANENT, ERROR_SELF, "standard output: %s",
                                 strerror(errno))
                     : 0;
    else if (create(admin, sql, error) == 0)
        status = order != NULL ? add_order(admin, order, error) : 0;
    free(sql);
    free(order);
    return status;
}

enum exit_status command_init(const struct arguments *arguments, struct config *config)
{
    struct error error;
    struct admin *admin = admin_open(&config->relay.outbox, &error);
    int status = admin != NULL ? print_or_create(admin, arguments, &error) : -1;

    admin_close(admin);
    if (status != 0)
        return cli_fail(&error);
    return arguments->print ? EXIT_DONE : cli_make_destinations(&config->relay);
}
