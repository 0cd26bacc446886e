#include "admin/status/sinks.h"

#include "admin/oldest.h"
#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>

#define TOPICS_MAX 1000 /* the most frequent */

static char *topics_sql(const struct admin *admin, int count_max)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    (void)fprintf(writer.out,
                  "SELECT topic, count(*) FROM (SELECT pg_catalog.left(%s::text, 256) AS topic",
                  admin->table.columns[COLUMN_TOPIC].quoted);
    oldest_put_unsent_sql(admin, writer.out, count_max);
    (void)fprintf(writer.out,
                  ") counted WHERE topic IS NOT NULL GROUP BY topic ORDER BY 2 DESC LIMIT %d",
                  TOPICS_MAX);
    return writer_end(&writer);
}

static int sink_of(const struct routes *routes, struct text topic)
{
    for (int i = 0; i < routes->count; i++)
        if (match_topic(&routes->entries[i].match, topic))
            return routes->entries[i].sink;
    return -1;
}

int status_count_sinks(struct admin *admin, const struct status_query *query, struct status *status,
                       struct error *error)
{
    char *sql;
    PGresult *result;

    for (int i = 0; i < query->sink_count && i < status->sink_count; i++)
        status->sinks[i].rows = status->backlog >= 0 ? 0 : -1;
    if (query->sink_count == 1 || status->backlog <= 0) {
        if (query->sink_count == 1)
            status->sinks[0].rows = status->backlog;
        return 0;
    }
    sql = topics_sql(admin, query->count_max);
    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(&admin->session, sql, 0, NULL, error);
    free(sql);
    if (result == NULL) {
        for (int i = 0; i < status->sink_count; i++)
            status->sinks[i].rows = -1;
        return status_note_unknown(admin, status, "the rows of each sink", error);
    }
    for (int row = 0; row < PQntuples(result); row++) {
        struct text topic = {PQgetvalue(result, row, 0), (size_t)PQgetlength(result, row, 0)};
        int sink = sink_of(query->routes, topic);

        if (sink >= 0 && sink < status->sink_count)
            status->sinks[sink].rows += strtoll(PQgetvalue(result, row, 1), NULL, 10);
    }
    PQclear(result);
    return 0;
}
