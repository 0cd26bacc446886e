#include "admin/status/gauges.h"

#include "admin/admin_session.h"
#include "admin/oldest.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>

#define STRATA 50
#define STRATUM_ROWS 20
#define ROW_BYTES_MIN 32             /* a row takes at least so much: header, pointer, id, topic */
#define ID_MAX "9223372036854774784" /* the highest bigint that is a float8 too */
#define DEAD_MAX 1000                /* whose keys are looked at */

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

/* `relation` is $1; NULL: there is none. */
static PGresult *query_text(struct admin *admin, char **sql, FILE *out, const char *relation,
                            struct error *error)
{
    const char *params[1] = {relation};
    PGresult *result = NULL;

    if (fclose(out) != 0)
        (void)error_no_memory(error);
    else
        result = session_query(&admin->session, *sql, relation != NULL, params, error);
    free(*sql);
    return result;
}

static int64_t read_number(const PGresult *result, int column)
{
    return PQgetisnull(result, 0, column) ? -1 : strtoll(PQgetvalue(result, 0, column), NULL, 10);
}

/* Counting millions of rows takes seconds. Instead the range of ids, from `low`
 * to `high`, is divided into STRATA equal parts, and the first STRATUM_ROWS
 * rows of a part show how many rows it holds of those that fulfil each
 * condition. Ids may lie far apart, up to both ends of bigint, so the size of
 * $1, the table, bounds the result. */
static void put_estimate_sql(FILE *out, const char *table, const char *id,
                             const char *const *conditions, int count)
{
    (void)fprintf(out,
                  ", strata AS (SELECT pg_catalog.ceil(low + n * (high - low + 1) / %d) AS first,"
                  " pg_catalog.ceil(low + (n + 1) * (high - low + 1) / %d) AS next"
                  " FROM range, pg_catalog.generate_series(0, %d) n) SELECT ",
                  STRATA, STRATA, STRATA - 1);
    for (int i = 0; i < count; i++)
        (void)fprintf(
            out,
            "%sleast(pg_catalog.round(pg_catalog.sum(CASE WHEN seen < %d OR last >= next THEN "
            "inside%d ELSE inside%d * (next - first) / (last::pg_catalog.float8 - first + 1) "
            "END)), pg_catalog.pg_relation_size($1::pg_catalog.regclass) / %d)::bigint",
            i > 0 ? ", " : "", STRATUM_ROWS, i, i, ROW_BYTES_MIN);
    (void)fprintf(out, " FROM strata, LATERAL (SELECT pg_catalog.count(*) AS seen, "
                       "pg_catalog.max(relay_id) AS last");
    for (int i = 0; i < count; i++)
        (void)fprintf(
            out, ", pg_catalog.count(*) FILTER (WHERE is%d AND relay_id < next) AS inside%d", i, i);
    (void)fprintf(out, " FROM (SELECT %s AS relay_id", id);
    for (int i = 0; i < count; i++)
        (void)fprintf(out, ", (true%s) AS is%d", conditions[i], i);
    (void)fprintf(out,
                  " FROM %s WHERE %s >= least(first, " ID_MAX
                  ")::bigint ORDER BY %s LIMIT %d) rows) stratum",
                  table, id, id, STRATUM_ROWS);
}

static int estimate_backlog(struct admin *admin, struct gauges *gauges, struct error *error)
{
    const struct table *table = &admin->table;
    const char *id = table->columns[COLUMN_ID].quoted;
    const char *conditions[1];
    struct writer unsent;
    char *sql = NULL;
    size_t len = 0;
    FILE *out;
    PGresult *result;

    if (!table_has_integer_ids(table) || !table->columns[COLUMN_ID].unique ||
        !oldest_can_be_found(admin))
        return 0;
    if (!writer_begin(&unsent))
        return error_no_memory(error);
    sql_put_claimable(unsent.out, table);
    conditions[0] = writer_end(&unsent);
    out = conditions[0] != NULL ? open_memstream(&sql, &len) : NULL;
    if (out == NULL) {
        free((char *)conditions[0]);
        return error_no_memory(error);
    }
    (void)fprintf(out, "WITH range AS (SELECT (SELECT %s", id);
    oldest_put_sql(admin, out, 1);
    (void)fprintf(out,
                  " ORDER BY %s LIMIT 1)::pg_catalog.float8 AS low,"
                  " (SELECT pg_catalog.max(%s) FROM %s)::pg_catalog.float8 AS high)",
                  id, id, table->quoted);
    put_estimate_sql(out, table->quoted, id, conditions, 1);
    free((char *)conditions[0]);
    result = query_text(admin, &sql, out, table->quoted, error);
    if (result == NULL)
        return -1;
    gauges->backlog = read_number(result, 0);
    PQclear(result);
    return 0;
}

static int estimate_parked(struct admin *admin, const struct status *status, struct gauges *gauges,
                           struct error *error)
{
    static const char *const conditions[] = {" AND due IS NOT NULL",
                                             " AND due IS NULL AND sent_at IS NULL"};
    const char *parked = admin->table.parked_quoted;
    char *sql = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&sql, &len);
    PGresult *result;

    if (out == NULL)
        return error_no_memory(error);
    (void)fprintf(out,
                  "WITH range AS (SELECT pg_catalog.min(seq)::pg_catalog.float8 AS low,"
                  " pg_catalog.max(seq)::pg_catalog.float8 AS high FROM %s)",
                  parked);
    put_estimate_sql(out, parked, "seq", conditions, 2);
    result = query_text(admin, &sql, out, parked, error);
    if (result == NULL)
        return -1;
    if (status->parked_is_bound)
        gauges->parked = read_number(result, 0);
    if (status->dead_is_bound)
        gauges->dead = read_number(result, 1);
    PQclear(result);
    return 0;
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
    result = query_text(admin, &sql, out, NULL, error);
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
    *gauges = (struct gauges){.backlog = -1,
                              .parked = -1,
                              .dead = -1,
                              .held_rows = -1,
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
    if (status->backlog_is_bound && estimate_backlog(admin, gauges, error) < 0 &&
        status_note_unknown(admin, status, "the estimate of the backlog", error) < 0)
        return -1;
    if ((status->parked_is_bound || status->dead_is_bound) &&
        estimate_parked(admin, status, gauges, error) < 0 &&
        status_note_unknown(admin, status, "the estimate of the parked rows", error) < 0)
        return -1;
    return 0;
}
