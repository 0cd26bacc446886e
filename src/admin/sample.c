#include "admin/admin_session.h"

#include "sql/statements.h"

#include <stdio.h>

#define SAMPLE_ROWS 1000

static struct text copy_field(struct batch *batch, const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return batch_copy(batch, PQgetvalue(result, row, column),
                      (size_t)PQgetlength(result, row, column));
}

int admin_sample(struct admin *admin, struct batch *batch, struct error *error)
{
    char unsent[16];
    char topics[16];
    const char *params[2] = {unsent, topics};
    PGresult *result;

    (void)snprintf(unsent, sizeof unsent, "%d",
                   admin->options->order == ORDER_KEY ? SAMPLE_ROWS / admin->options->slices + 1
                                                      : SAMPLE_ROWS);
    (void)snprintf(topics, sizeof topics, "%d", batch->capacity);
    result = admin_query(admin, statement_sample, 2, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        struct message *message = batch_add(batch);

        message->topic = copy_field(batch, result, row, 0);
        message->key = copy_field(batch, result, row, 1);
        message->type = copy_field(batch, result, row, 2);
        message->id = copy_field(batch, result, row, 3);
        message->event_id = copy_field(batch, result, row, 4);
    }
    PQclear(result);
    return 0;
}
