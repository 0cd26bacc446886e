#include "admin/oldest.h"
#include "catalog/sql_text.h"

#include <stdlib.h>

#define SAMPLE_ROWS 1000

static void put_sample_sql(const struct admin *admin, FILE *out, int size)
{
    static const enum column columns[] = {COLUMN_KEY, COLUMN_TYPE, COLUMN_ID, COLUMN_EVENT_ID};
    const struct table *table = &admin->table;
    bool by_slice = admin->options->order == ORDER_KEY;

    (void)fprintf(out,
                  "SELECT DISTINCT ON (topic) topic, key, type, id, event_id FROM"
                  " (SELECT left(%s::text, 256) AS topic",
                  table->columns[COLUMN_TOPIC].quoted);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        (void)fprintf(out, ", left(%s::text, 256) AS %s",
                      table_has(table, columns[i]) ? table->columns[columns[i]].quoted : "NULL",
                      column_name(columns[i]));
    oldest_put_sql(admin, out, by_slice ? SAMPLE_ROWS / admin->options->slices + 1 : SAMPLE_ROWS);
    (void)fprintf(out,
                  " UNION ALL (SELECT left(topic::text, 256), left(key::text, 256),"
                  " left(type::text, 256), left(id::text, 256), left(event_id::text, 256) FROM %s"
                  " WHERE due IS NOT NULL ORDER BY due LIMIT %d)) sample WHERE topic IS NOT NULL"
                  " ORDER BY topic LIMIT %d",
                  table->parked_quoted, SAMPLE_ROWS, size);
}

static struct text copy_field(struct batch *batch, const PGresult *result, int row, int column)
{
    if (PQgetisnull(result, row, column))
        return (struct text){NULL, 0};
    return batch_copy(batch, PQgetvalue(result, row, column),
                      (size_t)PQgetlength(result, row, column));
}

int admin_sample(struct admin *admin, struct batch *batch, struct error *error)
{
    struct writer writer;
    char *sql;
    PGresult *result;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    put_sample_sql(admin, writer.out, batch->capacity);
    sql = writer_end(&writer);
    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(&admin->session, sql, 0, NULL, error);
    free(sql);
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
