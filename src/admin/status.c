#include "admin/admin_session.h"

#include "catalog/describe.h"
#include "catalog/sql_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * FROM the oldest unsent rows, as `oldest` with the table's columns: at least `limit`, or all there
 * are. With order = "key" the index is by slice and id, so it is `limit` of each slice; a range in
 * the place of an equation leaves that index as the only one in the order that is asked for.
 */
static void put_oldest(const struct admin *admin, FILE *out, int limit)
{
    const struct table *table = &admin->table;
    const struct outbox_options *options = admin->options;
    const char *id = table->columns[COLUMN_ID].quoted;
    bool by_slice = options->order == ORDER_KEY;

    if (by_slice)
        (void)fprintf(out,
                      " FROM pg_catalog.generate_series(0, %d) relay_slices (relay_slice),"
                      " LATERAL",
                      options->slices - 1);
    else
        (void)fprintf(out, " FROM");
    (void)fprintf(out, " (SELECT * FROM %s WHERE true", table->quoted);
    sql_put_unsent(out, table);
    if (by_slice) {
        (void)fprintf(out, " AND ");
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, " >= relay_slice AND ");
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, " < relay_slice + 1");
    }
    (void)fprintf(out, " ORDER BY ");
    if (by_slice) {
        sql_put_slice(out, table, options->slices, false);
        (void)fprintf(out, ", ");
    }
    (void)fprintf(out, "%s LIMIT %d) oldest", id, limit);
}

/* With order = "key" the oldest rows are found by the slices' index or not at all. */
static bool can_find_oldest(const struct admin *admin)
{
    return admin->options->order != ORDER_KEY || admin->table.has_claim_index;
}

/* Counting stops at STATUS_BACKLOG_MAX: count(*) over ten million rows takes more than a second. */
static void put_sql(const struct admin *admin, FILE *out)
{
    const struct table *table = &admin->table;
    bool mark = admin->options->on_sent == ON_SENT_MARK;

    (void)fprintf(out, "SELECT (SELECT count(*) FROM (SELECT FROM %s WHERE true", table->quoted);
    sql_put_unsent(out, table);
    (void)fprintf(out, " LIMIT %d) counted), ", STATUS_BACKLOG_MAX);
    if (table_has(table, COLUMN_CREATED_AT) && can_find_oldest(admin)) {
        (void)fprintf(out,
                      "(SELECT extract(epoch FROM pg_catalog.clock_timestamp() - %s::timestamptz)",
                      table->columns[COLUMN_CREATED_AT].quoted);
        put_oldest(admin, out, 1);
        (void)fprintf(out, " ORDER BY %s LIMIT 1), ", table->columns[COLUMN_ID].quoted);
    } else {
        (void)fprintf(out, "NULL, ");
    }
    (void)fprintf(
        out,
        "(SELECT count(*) FROM %s WHERE due IS NOT NULL),"
        "(SELECT count(*) FROM %s WHERE due IS NULL AND sent_at IS NULL),"
        "(SELECT %s FROM pg_catalog.pg_stat_user_tables WHERE relid = $1::pg_catalog.regclass)",
        table->parked_quoted, table->parked_quoted, mark ? "n_tup_upd" : "n_tup_del");
}

/* application_name is "outbox-relay/HOST:PID/LANE"; the commands' own is "outbox-relay/admin". That
 * of a process's session beside its lanes is ".../watch", or ".../away:SINK,..." (relay/watcher.c).
 */
#define RELAYS                                                                                     \
    "FROM pg_catalog.pg_stat_activity WHERE datname = current_database()"                          \
    " AND application_name ~ '^outbox-relay/[^/]+/[0-9]+$'"

static int read_relays(struct admin *admin, struct status *status, struct error *error)
{
    PGresult *result = session_query(
        &admin->session,
        "SELECT count(DISTINCT pg_catalog.split_part(application_name, '/', 2)), count(*) " RELAYS,
        0, NULL, error);

    if (result == NULL)
        return -1;
    status->relays = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    status->lanes = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
    PQclear(result);
    return 0;
}

static int read_reasons(struct admin *admin, struct status *status, struct error *error)
{
    char sql[768];
    PGresult *result;

    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*), left(coalesce(error, ''), 120) FROM (SELECT error FROM %s"
        " WHERE sent_at IS NULL ORDER BY seq DESC LIMIT %d) newest GROUP BY 2 ORDER BY 1 DESC, 2"
        " LIMIT %d",
        admin->table.parked_quoted, REASONS_ROWS, REASONS_MAX);
    result = session_query(&admin->session, sql, 0, NULL, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result) && row < REASONS_MAX; row++) {
        struct reason *reason = &status->reasons[status->reason_count++];

        reason->count = strtoll(PQgetvalue(result, row, 0), NULL, 10);
        (void)snprintf(reason->text, sizeof reason->text, "%s", PQgetvalue(result, row, 1));
    }
    PQclear(result);
    return 0;
}

int admin_status(struct admin *admin, struct status *status, struct error *error)
{
    const char *params[1] = {admin->table.quoted};
    char *sql = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&sql, &len);
    PGresult *result;

    *status = (struct status){.oldest_s = -1};
    if (table_whole(&admin->table, admin->options, error) < 0 || out == NULL) {
        if (out != NULL)
            (void)fclose(out);
        free(sql);
        return -1;
    }
    put_sql(admin, out);
    if (fclose(out) != 0)
        return error_no_memory(error);
    result = session_query(&admin->session, sql, 1, params, error);
    free(sql);
    if (result == NULL)
        return -1;
    status->backlog = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    status->backlog_is_bound = status->backlog == STATUS_BACKLOG_MAX;
    if (!PQgetisnull(result, 0, 1))
        status->oldest_s = strtod(PQgetvalue(result, 0, 1), NULL);
    status->waiting = strtoll(PQgetvalue(result, 0, 2), NULL, 10);
    status->dead = strtoll(PQgetvalue(result, 0, 3), NULL, 10);
    status->settled_total = strtoll(PQgetvalue(result, 0, 4), NULL, 10);
    PQclear(result);
    if (read_reasons(admin, status, error) < 0)
        return -1;
    return read_relays(admin, status, error);
}

/* Its name everybody may see. */
static void add_relay(struct findings *relays, const PGresult *result, int row)
{
    const char *name = PQgetvalue(result, row, 0) + strlen("outbox-relay/");

    if (PQgetisnull(result, row, 2))
        (void)findings_add(relays, FINDING_WARNING,
                           "%s: the rest is not visible to this role (pg_read_all_stats shows it)",
                           name);
    else
        (void)findings_add(relays, FINDING_OK, "%s from %s, %s, transaction open %s s", name,
                           PQgetvalue(result, row, 1), PQgetvalue(result, row, 2),
                           PQgetvalue(result, row, 3));
}

static int list_away(struct admin *admin, struct findings *relays, struct error *error)
{
    PGresult *result = session_query(
        &admin->session,
        "SELECT pg_catalog.split_part(application_name, '/', 2), pg_catalog.split_part("
        "application_name, '/away:', 2) FROM pg_catalog.pg_stat_activity WHERE datname ="
        " current_database() AND application_name ~ '^outbox-relay/[^/]+/away:' ORDER BY 1",
        0, NULL, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        (void)findings_add(relays, FINDING_OK, "%s cannot publish to: %s",
                           PQgetvalue(result, row, 0), PQgetvalue(result, row, 1));
    PQclear(result);
    return 0;
}

int admin_list_relays(struct admin *admin, struct findings *relays, struct error *error)
{
    PGresult *result =
        session_query(&admin->session,
                      "SELECT application_name, coalesce(client_addr::text, 'local'), state,"
                      " coalesce(extract(epoch FROM pg_catalog.clock_timestamp() - xact_start), "
                      "0)::numeric(10,3) " RELAYS " ORDER BY 1",
                      0, NULL, error);

    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result); row++)
        add_relay(relays, result, row);
    PQclear(result);
    return list_away(admin, relays, error);
}

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
    put_oldest(admin, out, by_slice ? SAMPLE_ROWS / admin->options->slices + 1 : SAMPLE_ROWS);
    (void)fprintf(out, ") sample WHERE topic IS NOT NULL ORDER BY topic LIMIT %d", size);
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
    char *sql = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&sql, &len);
    PGresult *result;

    if (out == NULL)
        return error_no_memory(error);
    put_sample_sql(admin, out, batch->capacity);
    if (fclose(out) != 0)
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
