#include "base/text.h"
#include "outbox/admin_session.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE_ROWS 1000

/* Both the text and the JSON come from PostgreSQL; column 0 is where the next page begins. */
static const char *page_sql(bool json)
{
    return json ? "SELECT seq, jsonb_build_object('id', id::text, 'event_id', event_id::text, "
                  "'topic',"
                  " topic, 'key', key, 'type', type, 'attempts', attempts, 'due', due, 'error', "
                  "error,"
                  " 'parked_at', parked_at) FROM %s WHERE sent_at IS NULL AND seq < $1"
                  " ORDER BY seq DESC LIMIT %d"
                : "SELECT seq, id::text, event_id::text, topic::text, attempts::text,"
                  " coalesce(to_char(due, 'YYYY-MM-DD HH24:MI:SS'), 'dead'), error"
                  " FROM %s WHERE sent_at IS NULL AND seq < $1 ORDER BY seq DESC LIMIT %d";
}

static void print_row(const PGresult *result, int row, FILE *out, bool json)
{
    for (int i = 1; i < PQnfields(result); i++) {
        char safe[1024];
        const char *value = PQgetvalue(result, row, i);

        if (!json)
            value = text_escape(safe, sizeof safe, value, (size_t)PQgetlength(result, row, i));
        (void)fprintf(out, "%s%s", i > 1 ? "  " : "", value);
    }
    (void)fputc('\n', out);
}

int admin_print_parked(struct admin *admin, FILE *out, bool json, struct error *error)
{
    char sql[1024];
    char before[32] = "9223372036854775807";
    const char *params[1] = {before};
    int rows = PAGE_ROWS;

    if (table_usable(&admin->table, admin->options, error) < 0)
        return -1;
    (void)snprintf(sql, sizeof sql, page_sql(json), admin->table.parked_quoted, PAGE_ROWS);
    while (rows == PAGE_ROWS && !ferror(out)) {
        PGresult *result = session_query(&admin->session, sql, 1, params, error);

        if (result == NULL)
            return -1;
        rows = PQntuples(result);
        for (int row = 0; row < rows; row++)
            print_row(result, row, out, json);
        if (rows > 0)
            (void)snprintf(before, sizeof before, "%s", PQgetvalue(result, rows - 1, 0));
        PQclear(result);
    }
    return 0;
}

int64_t admin_drop_parked(struct admin *admin, const char *id, struct error *error)
{
    char sql[512];
    const char *params[1] = {id};

    if (table_usable(&admin->table, admin->options, error) < 0)
        return -1;
    (void)snprintf(
        sql, sizeof sql,
        "WITH dropped AS (DELETE FROM %s WHERE sent_at IS NULL AND CASE WHEN $1::text IS NULL"
        " THEN due IS NULL ELSE $1 IN (id::text, event_id::text) END RETURNING 1)"
        " SELECT count(*) FROM dropped",
        admin->table.parked_quoted);
    return admin_number(admin, sql, 1, params, error);
}
