#include "admin/status/sinks.h"

#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

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
    char limit[16];
    const char *params[1] = {limit};
    PGresult *result;

    for (int i = 0; i < query->sink_count && i < status->sink_count; i++)
        status->sinks[i].rows = status->backlog >= 0 ? 0 : -1;
    if (query->sink_count == 1 || status->backlog <= 0) {
        if (query->sink_count == 1)
            status->sinks[0].rows = status->backlog;
        return 0;
    }
    (void)snprintf(limit, sizeof limit, "%d", query->count_max);
    result = admin_query(admin, statement_backlog_topics, 1, params, error);
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
