#include "admin/status/status.h"

#include "admin/admin_session.h"
#include "admin/oldest.h"
#include "admin/status/attention.h"
#include "admin/status/relays.h"
#include "admin/status/sinks.h"
#include "catalog/describe.h"
#include "catalog/pauses.h"
#include "catalog/sql_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASONS_ROWS 1000

/* Its created_at as a time, or when it was parked; a text need not be a time. */
static const char *parked_time(const struct table *table)
{
    return table_has(table, COLUMN_CREATED_AT) && table->columns[COLUMN_CREATED_AT].category == 'D'
               ? "coalesce(created_at::timestamptz, parked_at)"
               : "parked_at";
}

#define AGE_SQL "extract(epoch FROM pg_catalog.clock_timestamp() - "

/* Counting stops at `count_max`: count(*) over ten million rows takes more than a second. Parked
 * rows are counted in the order in which they are tried, so rows that are held come last. */
static void put_sql(const struct admin *admin, int count_max, FILE *out)
{
    const struct table *table = &admin->table;
    bool mark = admin->options->on_sent == ON_SENT_MARK;
    const char *time = parked_time(table);

    (void)fprintf(out, "SELECT extract(epoch FROM pg_catalog.clock_timestamp()),"
                       " (SELECT count(*) FROM (SELECT");
    oldest_put_unsent_sql(admin, out, count_max);
    (void)fprintf(out, ") counted), ");
    if (table_has(table, COLUMN_CREATED_AT) && oldest_can_be_found(admin)) {
        (void)fprintf(out, "(SELECT " AGE_SQL "%s::timestamptz)",
                      table->columns[COLUMN_CREATED_AT].quoted);
        oldest_put_sql(admin, out, 1);
        (void)fprintf(out, " ORDER BY %s LIMIT 1), ", table->columns[COLUMN_ID].quoted);
    } else {
        (void)fprintf(out, "NULL, ");
    }
    (void)fprintf(
        out,
        "parked.*, dead.*,"
        " (SELECT %s FROM pg_catalog.pg_stat_user_tables WHERE relid = $1::pg_catalog.regclass)"
        " FROM (SELECT count(*), " AGE_SQL "min(%s)), -" AGE_SQL
        "min(due) FILTER (WHERE due < 'infinity')), count(*) FILTER (WHERE due = 'infinity' AND"
        " (waits_for IS NULL OR waits_for LIKE '" PAUSED_PREFIX
        "%%')) FROM (SELECT * FROM %s WHERE due IS NOT NULL ORDER BY due LIMIT %d) first) parked,"
        " (SELECT count(*), " AGE_SQL
        "min(%s)) FROM (SELECT * FROM %s WHERE due IS NULL AND sent_at IS NULL ORDER BY seq"
        " LIMIT %d) first) dead",
        mark ? "n_tup_upd" : "n_tup_del", time, table->parked_quoted, count_max, time,
        table->parked_quoted, count_max);
}

enum { NOW, BACKLOG, OLDEST, PARKED, PARKED_OLDEST, NEXT_TRY, HELD, DEAD, DEAD_OLDEST, SETTLED };

static double read_age(const PGresult *result, int column)
{
    double age_s;

    if (PQgetisnull(result, 0, column))
        return -1;
    age_s = strtod(PQgetvalue(result, 0, column), NULL);
    return age_s > 0 ? age_s : 0;
}

static int read_tables(struct admin *admin, int count_max, struct status *status,
                       struct error *error)
{
    const char *params[1] = {admin->table.quoted};
    struct writer writer;
    char *sql;
    PGresult *result;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    put_sql(admin, count_max, writer.out);
    sql = writer_end(&writer);
    if (sql == NULL)
        return error_no_memory(error);
    result = session_query(&admin->session, sql, 1, params, error);
    free(sql);
    if (result == NULL)
        return -1;
    status->taken_ms = (int64_t)(strtod(PQgetvalue(result, 0, NOW), NULL) * 1000);
    status->backlog = strtoll(PQgetvalue(result, 0, BACKLOG), NULL, 10);
    status->backlog_is_bound = status->backlog == count_max;
    status->backlog_oldest_s = read_age(result, OLDEST);
    status->parked = strtoll(PQgetvalue(result, 0, PARKED), NULL, 10);
    status->parked_is_bound = status->parked == count_max;
    status->parked_oldest_s = read_age(result, PARKED_OLDEST);
    status->next_try_s = read_age(result, NEXT_TRY);
    status->held = strtoll(PQgetvalue(result, 0, HELD), NULL, 10);
    status->dead = strtoll(PQgetvalue(result, 0, DEAD), NULL, 10);
    status->dead_is_bound = status->dead == count_max;
    status->dead_oldest_s = read_age(result, DEAD_OLDEST);
    status->settled_total = strtoll(PQgetvalue(result, 0, SETTLED), NULL, 10);
    status->oldest_s = status->backlog_oldest_s > status->parked_oldest_s ? status->backlog_oldest_s
                                                                          : status->parked_oldest_s;
    PQclear(result);
    return 0;
}

static int read_reasons(struct admin *admin, struct status *status, struct error *error)
{
    char sql[1024];
    PGresult *result;

    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*), left(coalesce(error, ''), 120) FROM ((SELECT error FROM %s"
        " WHERE due IS NOT NULL ORDER BY due LIMIT %d) UNION ALL (SELECT error FROM %s"
        " WHERE due IS NULL AND sent_at IS NULL ORDER BY seq DESC LIMIT %d)) parked GROUP BY 2"
        " ORDER BY 1 DESC, 2 LIMIT %d",
        admin->table.parked_quoted, REASONS_ROWS, admin->table.parked_quoted, REASONS_ROWS,
        STATUS_REASONS_MAX);
    result = session_query(&admin->session, sql, 0, NULL, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result) && row < STATUS_REASONS_MAX; row++) {
        struct status_reason *reason = &status->reasons[status->reason_count++];

        reason->count = strtoll(PQgetvalue(result, row, 0), NULL, 10);
        (void)snprintf(reason->text, sizeof reason->text, "%s", PQgetvalue(result, row, 1));
    }
    PQclear(result);
    return 0;
}

int admin_status_begin(struct admin *admin, struct error *error)
{
    return session_execute(
        &admin->session,
        "SET default_transaction_read_only = on; SET max_parallel_workers_per_gather = 0", error);
}

/* With a known bound, the sent rows below it are not read, which VACUUM may not have removed. */
static int read_database(struct admin *admin, const struct status_query *query, int64_t unsent_from,
                         struct status *status, struct error *error)
{
    int64_t given = admin->unsent_from;
    int result;

    if (given == INT64_MIN && table_has_integer_ids(&admin->table))
        admin->unsent_from = unsent_from;
    result = read_tables(admin, query->count_max, status, error) < 0 ||
                     read_reasons(admin, status, error) < 0 ||
                     admin_list_pauses(admin, status->pauses, error) < 0 ||
                     status_count_sinks(admin, query, status, error) < 0
                 ? -1
                 : 0;
    admin->unsent_from = given;
    return result;
}

int admin_status(struct admin *admin, const struct status_query *query, struct status *status,
                 struct error *error)
{
    struct asking asking;
    int result = 0;

    *status = (struct status){.per_s = -1};
    status->sinks = calloc(STATUS_SINKS_MAX, sizeof *status->sinks);
    status->processes = calloc(STATUS_RELAYS_MAX, sizeof *status->processes);
    status->lane_list = calloc(STATUS_LANES_MAX, sizeof *status->lane_list);
    status->pauses = calloc(1, sizeof *status->pauses);
    if (findings_init(&status->attention) < 0 || status->pauses == NULL || status->sinks == NULL ||
        status->processes == NULL || status->lane_list == NULL)
        return error_no_memory(error);
    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    (void)snprintf(status->table, sizeof status->table, "%s.%s", admin->table.schema,
                   admin->table.name);
    for (int i = 0; i < query->sink_count && i < STATUS_SINKS_MAX; i++) {
        struct status_sink *sink = &status->sinks[status->sink_count++];

        *sink = (struct status_sink){.state = "unknown", .rows = -1};
        (void)snprintf(sink->name, sizeof sink->name, "%s", query->sinks[i]);
    }
    if (relays_ask(&asking, admin, status, query->wait_ms, error) < 0 ||
        relays_hear(&asking, error) < 0 ||
        read_database(admin, query, asking.unsent_from, status, error) < 0 ||
        attention_fill(admin, status, error) < 0)
        result = -1;
    admin->session.notifications.on_arrival = NULL;
    return result;
}

void status_free(struct status *status)
{
    free(status->sinks);
    free(status->processes);
    free(status->lane_list);
    free(status->pauses);
    findings_free(&status->attention);
    *status = (struct status){0};
}

void status_compare(struct status *status, const struct status *before)
{
    int64_t elapsed_ms = status->taken_ms - before->taken_ms;

    if (elapsed_ms > 0)
        status->per_s =
            (double)(status->settled_total - before->settled_total) * 1000 / (double)elapsed_ms;
}
