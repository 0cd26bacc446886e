#include "catalog/memory.h"

#include "catalog/sql_text.h"
#include "catalog/facts.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int memory_read(const struct table *table, struct session *session,
                const struct memory_reader *reader, struct error *error)
{
    PGresult *result = table_query(table, session, statement_acknowledged, 0, NULL, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        struct acknowledged item;

        if (PQgetisnull(result, row, 0)) {
            reader->on_began(reader->closure, strtoll(PQgetvalue(result, row, 5), NULL, 10));
            continue;
        }
        item = (struct acknowledged){.sink = PQgetvalue(result, row, 0),
                                     .destination = PQgetvalue(result, row, 1),
                                     .partition = (int)strtol(PQgetvalue(result, row, 2), NULL, 10),
                                     .identity = PQgetvalue(result, row, 3),
                                     .position = strtoll(PQgetvalue(result, row, 4), NULL, 10),
                                     .first_ms = strtoll(PQgetvalue(result, row, 5), NULL, 10)};

        reader->on_acknowledged(reader->closure, &item);
    }
    PQclear(result);
    return 0;
}

static int run(const struct table *table, struct session *session, const char *statement,
               const char *parameter, struct error *error)
{
    PGresult *result = table_query(table, session, statement, 1, &parameter, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

int memory_keep_acknowledged(const struct table *table, struct session *session, const char *items,
                             struct error *error)
{
    return run(table, session, statement_remember_acknowledged, items, error);
}

int memory_keep_loss(const struct table *table, struct session *session, const char *loss,
                     struct error *error)
{
    return run(table, session, statement_remember_loss, loss, error);
}

int memory_forget_losses(const struct table *table, struct session *session,
                         const struct memory_audit *audit, struct error *error)
{
    char *sinks = sql_text_array(audit->sinks, audit->sink_count);
    char began[24], since[24];
    const char *params[4] = {sinks, began, since, audit->is_missing ? "true" : "false"};
    PGresult *result = NULL;

    (void)snprintf(began, sizeof began, "%" PRId64, audit->began_ms);
    (void)snprintf(since, sizeof since, "%" PRId64, audit->since_ms);
    if (sinks == NULL)
        (void)error_no_memory(error);
    else
        result = table_query(table, session, statement_forget_losses, 4, params, error);
    free(sinks);
    PQclear(result);
    return result != NULL ? 0 : -1;
}
