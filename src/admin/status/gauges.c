#include "admin/status/gauges.h"

#include "admin/admin_session.h"
#include "catalog/schema.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>

int admin_gauges_begin(struct admin *admin, struct error *error)
{
    if (admin_status_begin(admin, error) < 0)
        return -1;
    return session_execute(&admin->session, "SET statement_timeout = '4s'; SET lock_timeout = '1s'",
                           error);
}

void admin_gauges_unsent_from(struct admin *admin, int64_t id)
{
    admin->unsent_from = table_has_integer_ids(&admin->table) ? id : INT64_MIN;
}

static int64_t read_number(const PGresult *result, int column)
{
    return PQgetisnull(result, 0, column) ? -1 : strtoll(PQgetvalue(result, 0, column), NULL, 10);
}

static void take_held(const PGresult *result, struct gauges *gauges)
{
    gauges->held_rows = read_number(result, 0);
    gauges->held_keys = read_number(result, 1);
}

static void take_sizes(const PGresult *result, struct gauges *gauges)
{
    gauges->dead_tuples = read_number(result, 0);
    gauges->table_bytes = read_number(result, 1);
    gauges->index_bytes = read_number(result, 2);
    gauges->parked_bytes = read_number(result, 3);
}

static void take_snapshot(const PGresult *result, struct gauges *gauges)
{
    gauges->xmin_age = 0;
    if (PQntuples(result) != 1)
        return;
    (void)snprintf(gauges->xmin_kind, sizeof gauges->xmin_kind, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(gauges->xmin_holder, sizeof gauges->xmin_holder, "%s", PQgetvalue(result, 0, 1));
    gauges->xmin_age = read_number(result, 2);
    gauges->xmin_for_s = PQgetisnull(result, 0, 3) ? -1 : strtod(PQgetvalue(result, 0, 3), NULL);
}

/* Each is read alone, so that one that fails takes no other with it. */
static const struct {
    const char *name;
    const char *statement;
    const char *limit; /* its parameter; NULL: it has none */
    void (*take)(const PGresult *result, struct gauges *gauges);
} figures[] = {
    {"rows behind dead ones", statement_held_rows, GAUGES_HELD_MAX, take_held},
    {"the sizes of the tables", statement_table_sizes, NULL, take_sizes},
    {"the oldest snapshot", statement_oldest_snapshot, NULL, take_snapshot},
};

int admin_gauges(struct admin *admin, struct status *status, struct gauges *gauges,
                 struct error *error)
{
    *gauges = (struct gauges){.held_rows = -1,
                              .held_keys = -1,
                              .dead_tuples = -1,
                              .table_bytes = -1,
                              .index_bytes = -1,
                              .parked_bytes = -1,
                              .xmin_age = -1,
                              .xmin_for_s = -1};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        PGresult *result;

        if (figures[i].take == take_held && parked_key_columns(&admin->table) == NULL)
            continue;
        result = admin_query(admin, figures[i].statement, figures[i].limit != NULL,
                             &figures[i].limit, error);
        if (result != NULL)
            figures[i].take(result, gauges);
        else if (status_note_unknown(admin, status, figures[i].name, error) < 0)
            return -1;
        PQclear(result);
    }
    return 0;
}
