#include "admin/admin_session.h"
#include "catalog/describe.h"
#include "catalog/sequence.h"
#include "outbox/sql.h"

#include <stdlib.h>

/* The comment in front of the statement is that of its file. */
static int show(const struct admin_statement_reader *reader, const char *name, const char *text,
                char *sql, struct error *error)
{
    if (sql == NULL)
        return error_no_memory(error);
    reader->on_statement(reader->closure, name, text, (size_t)(sql_body(text) - text), sql);
    free(sql);
    return 0;
}

int admin_read_statements(struct admin *admin, const struct routes *routes,
                          const struct admin_statement_reader *reader, struct error *error)
{
    struct sequence sequence;
    const struct slice_words about = {
        .tables = {&admin->table, admin->options}, .routes = routes, .sequence = &sequence};
    const struct slice_words of_horizon = {.tables = about.tables, .sequence = &sequence};
    struct statement statement;
    int at = 0;

    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        sequence_describe(&sequence, &admin->session, &admin->table, error) < 0)
        return -1;
    while (sql_next(&at, &about, &statement))
        if (show(reader, statement.name, statement.text, sql_statement(&statement, &about), error) <
            0)
            return -1;
    for (int i = 0; i < HORIZON_STATEMENTS && table_has_integer_ids(&admin->table); i++) {
        const char *text = horizon_statement_text((enum horizon_statement)i, admin->options);

        if (show(reader, horizon_statement_name((enum horizon_statement)i), text,
                 slice_statement(text, &of_horizon), error) < 0)
            return -1;
    }
    return 0;
}
