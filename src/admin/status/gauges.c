#include "admin/status/gauges.h"

#include "admin/admin_session.h"
#include "admin/oldest.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>

#define DEAD_MAX 1000 /* whose keys are looked at */

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

static PGresult *query_text(struct admin *admin, char **sql, FILE *out, struct error *error)
{
    PGresult *result = NULL;

    if (fclose(out) != 0)
        (void)error_no_memory(error);
    else
        result = session_query(&admin->session, *sql, 0, NULL, error);
    free(*sql);
    return result;
}

static int64_t read_number(const PGresult *result, int column)
{
    return PQgetisnull(result, 0, column) ? -1 : strtoll(PQgetvalue(result, 0, column), NULL, 10);
}

/* The first rows of the first dead keys: of a key, its dead row comes first. */
static int read_held(struct admin *admin, struct gauges *gauges, struct error *error)
{
    const struct table *table = &admin->table;
    char *sql = NULL;
    size_t len = 0;
    FILE *out;
    PGresult *result;

    if (parked_key_columns(table) == NULL)
        return 0;
    out = open_memstream(&sql, &len);
    if (out == NULL)
        return error_no_memory(error);
    (void)fprintf(
        out, "SELECT pg_catalog.count(*), pg_catalog.count(DISTINCT key) FROM (SELECT dead.key,"
             " of_key.due, of_key.waits_for FROM (SELECT DISTINCT ");
    sql_put_key_text(out, table, "key");
    (void)fprintf(out,
                  " AS key FROM (SELECT key FROM %s WHERE due IS NULL AND sent_at IS NULL"
                  " ORDER BY seq LIMIT %d) rows WHERE key IS NOT NULL) dead, LATERAL (SELECT"
                  " due, waits_for FROM %s WHERE sent_at IS NULL AND ",
                  table->parked_quoted, DEAD_MAX, table->parked_quoted);
    sql_put_key_is(out, table, "key", "dead.key");
    (void)fprintf(out,
                  " LIMIT %d) of_key LIMIT %d) held WHERE due = 'infinity' AND waits_for IS NULL",
                  GAUGES_HELD_MAX, GAUGES_HELD_MAX);
    result = query_text(admin, &sql, out, error);
    if (result == NULL)
        return -1;
    gauges->held_rows = read_number(result, 0);
    gauges->held_keys = read_number(result, 1);
    PQclear(result);
    return 0;
}

static int read_sizes(struct admin *admin, struct gauges *gauges, struct error *error)
{
    const char *params[2] = {admin->table.quoted, admin->table.parked_quoted};
    PGresult *result = session_query(&admin->session,
                                     "SELECT (SELECT n_dead_tup FROM pg_catalog.pg_stat_user_tables"
                                     " WHERE relid = $1::pg_catalog.regclass),"
                                     " pg_catalog.pg_total_relation_size($1::pg_catalog.regclass),"
                                     " pg_catalog.pg_indexes_size($1::pg_catalog.regclass),"
                                     " pg_catalog.pg_total_relation_size($2::pg_catalog.regclass)",
                                     2, params, error);

    if (result == NULL)
        return -1;
    gauges->dead_tuples = read_number(result, 0);
    gauges->table_bytes = read_number(result, 1);
    gauges->index_bytes = read_number(result, 2);
    gauges->parked_bytes = read_number(result, 3);
    PQclear(result);
    return 0;
}

/* Finds what keeps VACUUM from removing dead rows of this database's tables. A snapshot in another
 * database does not, except that of a walsender. */
static int read_xmin(struct admin *admin, struct gauges *gauges, struct error *error)
{
    PGresult *result = session_query(
        &admin->session,
        "SELECT kind, holder, pg_catalog.age(xmin), for_s FROM ("
        "SELECT CASE WHEN backend_type = 'walsender' THEN 'standby' ELSE 'backend' END,"
        " pg_catalog.concat_ws(' ', 'pid ' || pid, usename, application_name), backend_xmin,"
        " extract(epoch FROM pg_catalog.clock_timestamp() - coalesce(xact_start, backend_start))"
        " FROM pg_catalog.pg_stat_activity WHERE backend_xmin IS NOT NULL"
        " AND pid <> pg_catalog.pg_backend_pid()"
        " AND (datname = pg_catalog.current_database() OR backend_type = 'walsender')"
        " UNION ALL SELECT 'replication slot', slot_name::text, xmin, NULL"
        " FROM pg_catalog.pg_replication_slots WHERE xmin IS NOT NULL"
        " UNION ALL SELECT 'prepared transaction', gid, transaction,"
        " extract(epoch FROM pg_catalog.clock_timestamp() - prepared)"
        " FROM pg_catalog.pg_prepared_xacts WHERE database = pg_catalog.current_database()"
        ") holders (kind, holder, xmin, for_s) ORDER BY 3 DESC, 4 DESC NULLS LAST LIMIT 1",
        0, NULL, error);

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
