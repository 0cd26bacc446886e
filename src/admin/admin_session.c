#include "admin/admin_session.h"

#include "admin/facts.h"
#include "catalog/describe.h"
#include "catalog/session_options.h"
#include "catalog/sql_text.h"
#include "pg/server.h"
#include "sql/statements.h"

#include <stdlib.h>

/* Kept from one session to the next, because the janitor opens one in every round: a hanging name
 * lookup then holds one thread and not one per round. */
static _Thread_local struct bounded_call *late;

struct admin *admin_open(const struct outbox_options *options, struct error *error)
{
    struct session_options session = outbox_session_options(options);
    struct admin *admin = calloc(1, sizeof *admin);

    if (admin == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    admin->options = options;
    admin->unsent_from = INT64_MIN;
    admin->session.late = late;
    late = NULL;
    if (session_open(&admin->session, &session, "admin", error) < 0 ||
        describe_table(&admin->table, &admin->session, options, error) < 0) {
        table_name_holders(&admin->table, &admin->session, error);
        admin_close(admin);
        return NULL;
    }
    return admin;
}

int admin_foresee_role(struct admin *admin, struct error *error)
{
    return server_check_role(&admin->session, admin->options->allow_superuser, error);
}

struct admin *admin_open_to_write(const struct outbox_options *options, struct error *error)
{
    struct admin *admin = admin_open(options, error);

    if (admin == NULL || admin_foresee_role(admin, error) == 0)
        return admin;
    admin_close(admin);
    return NULL;
}

void admin_close(struct admin *admin)
{
    if (admin == NULL)
        return;
    session_close(&admin->session);
    late = admin->session.late;
    free(admin);
}

char *admin_sql(const struct admin *admin, const char *statement)
{
    const struct admin_facts about = {.tables = {&admin->table, admin->options},
                                      .unsent_from = admin->unsent_from,
                                      .partition = admin->partition};
    struct sql_facts more[2];
    const struct sql_facts facts = admin_facts(&about, more);

    return sql_render(statement, &facts);
}

PGresult *admin_query_sql(struct admin *admin, char *sql, int param_count,
                          const char *const *params, struct error *error)
{
    PGresult *result = NULL;

    if (sql != NULL)
        result = session_query(&admin->session, sql, param_count, params, error);
    else
        (void)error_no_memory(error);
    free(sql);
    return result;
}

PGresult *admin_query(struct admin *admin, const char *statement, int param_count,
                      const char *const *params, struct error *error)
{
    return admin_query_sql(admin, admin_sql(admin, statement), param_count, params, error);
}

int64_t admin_number(struct admin *admin, const char *statement, int param_count,
                     const char *const *params, struct error *error)
{
    PGresult *result = admin_query(admin, statement, param_count, params, error);
    int64_t number;

    if (result == NULL)
        return -1;
    number = PQntuples(result) > 0 ? (int64_t)strtoll(PQgetvalue(result, 0, 0), NULL, 10) : 0;
    PQclear(result);
    return number;
}

int admin_execute(struct admin *admin, const char *statement, struct error *error)
{
    char *sql = admin_sql(admin, statement);
    int status =
        sql != NULL ? session_execute(&admin->session, sql, error) : error_no_memory(error);

    free(sql);
    return status;
}

int64_t admin_count_unsent(struct admin *admin, struct error *error)
{
    int64_t count;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    count = admin_number(admin, statement_count_unsent, 0, NULL, error);
    return count < UNSENT_COUNT_MAX ? count : -1;
}

int admin_write_sql(struct admin *admin,
                    int (*put)(struct admin *admin, FILE *out, struct error *error), char **sql,
                    struct error *error)
{
    struct writer writer;
    char *text;
    int status;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    status = put(admin, writer.out, error);
    text = writer_end(&writer);
    if (status == 0 && text != NULL)
        *sql = text;
    else
        free(text);
    return status == 0 && text == NULL ? error_no_memory(error) : status;
}
