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

static int read_held(struct admin *admin, struct gauges *gauges, struct error *error)
{
    char limit[16];
    const char *params[1] = {limit};
    PGresult *result;

    if (parked_key_columns(&admin->table) == NULL)
        return 0;
    (void)snprintf(limit, sizeof limit, "%d", GAUGES_HELD_MAX);
    result = admin_query(admin, statement_held_rows, 1, params, error);
    if (result == NULL)
        return -1;
    gauges->held_rows = read_number(result, 0);
    gauges->held_keys = read_number(result, 1);
    PQclear(result);
    return 0;
}

static int read_sizes(struct admin *admin, struct gauges *gauges, struct error *error)
{
    PGresult *result = admin_query(admin, statement_table_sizes, 0, NULL, error);

    if (result == NULL)
        return -1;
    gauges->dead_tuples = read_number(result, 0);
    gauges->table_bytes = read_number(result, 1);
    gauges->index_bytes = read_number(result, 2);
    gauges->parked_bytes = read_number(result, 3);
    PQclear(result);
    return 0;
}

static int read_xmin(struct admin *admin, struct gauges *gauges, struct error *error)
{
    PGresult *result = admin_query(admin, statement_oldest_snapshot, 0, NULL, error);

    if (result == NULL)
        return -1;
    gauges->xmin_age = 0;
    if (PQntuples(result) == 1) {
        (void)snprintf(gauges->xmin_kind, sizeof gauges->xmin_kind, "%s", PQgetvalue(result, 0, 0));
        (void)snprintf(gauges->xmin_holder, sizeof gauges->xmin_holder, "%s",
                       PQgetvalue(result, 0, 1));
        gauges->xmin_age = read_number(result, 2);
        gauges->xmin_for_s =
            PQgetisnull(result, 0, 3) ? -1 : strtod(PQgetvalue(result, 0, 3), NULL);
    }
    PQclear(result);
    return 0;
}

/* Each is read alone, so that one that fails takes no other with it. */
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
    if (read_held(admin, gauges, error) < 0 &&
        status_note_unknown(admin, status, "rows behind dead ones", error) < 0)
        return -1;
    if (read_sizes(admin, gauges, error) < 0 &&
        status_note_unknown(admin, status, "the sizes of the tables", error) < 0)
        return -1;
    if (read_xmin(admin, gauges, error) < 0 &&
        status_note_unknown(admin, status, "the oldest snapshot", error) < 0)
        return -1;
    return 0;
}
