#include "base/text.h"
#include "outbox/admin_session.h"

#include <stdio.h>
#include <stdlib.h>

/* jsonb_build_object and row text both come from PostgreSQL: the caller only prints lines. */
int admin_print_parked(struct admin *admin, FILE *out, bool json, int limit, struct error *error)
{
    char sql[1024];
    PGresult *result;

    if (table_usable(&admin->table, admin->options, error) < 0)
        return -1;
    (void)snprintf(
        sql, sizeof sql,
        json ? "SELECT jsonb_build_object('id', id::text, 'event_id', event_id::text, 'topic', "
               "topic,"
               " 'key', key, 'type', type, 'attempts', attempts, 'due', due, 'error', error,"
               " 'parked_at', parked_at) FROM %s WHERE sent_at IS NULL ORDER BY seq DESC LIMIT %d"
             : "SELECT id::text, event_id::text, topic::text, attempts::text,"
               " coalesce(to_char(due, 'YYYY-MM-DD HH24:MI:SS'), 'dead'), error"
               " FROM %s WHERE sent_at IS NULL ORDER BY seq DESC LIMIT %d",
        admin->table.parked_quoted, limit);
    result = session_query(&admin->session, sql, 0, NULL, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++) {
        for (int i = 0; i < PQnfields(result); i++) {
            char safe[1024];
            const char *value = PQgetvalue(result, row, i);

            (void)fprintf(
                out, "%s%s", i > 0 ? "  " : "",
                json ? value
                     : text_escape(safe, sizeof safe, value, (size_t)PQgetlength(result, row, i)));
        }
        (void)fputc('\n', out);
    }
    PQclear(result);
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
        "WITH dropped AS (DELETE FROM %s WHERE sent_at IS NULL AND ($1::text IS NULL"
        " OR id::text = $1 OR event_id::text = $1) RETURNING 1) SELECT count(*) FROM dropped",
        admin->table.parked_quoted);
    return admin_number(admin, sql, 1, params, error);
}
