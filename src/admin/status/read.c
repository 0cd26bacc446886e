#include "admin/status/status.h"

#include "admin/admin_session.h"
#include "admin/status/relays.h"
#include "admin/facts.h"
#include "base/clock.h"
#include "catalog/describe.h"
#include "catalog/schema.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MAX (-1)
#define AGED_ROWS 16 /* of each slice: the first may be one without an age */

static double read_age(const PGresult *result, int column)
{
    double age_s;

    if (PQgetisnull(result, 0, column))
        return -1;
    age_s = strtod(PQgetvalue(result, 0, column), NULL);
    return age_s > 0 ? age_s : 0;
}

static int64_t read_count(const PGresult *result, int column)
{
    return PQgetisnull(result, 0, column) ? -1 : strtoll(PQgetvalue(result, 0, column), NULL, 10);
}

static void take_settled(const PGresult *result, int count_max, struct status *status)
{
    (void)count_max;
    status->settled_total = read_count(result, 0);
    status->taken_ms = (int64_t)(strtod(PQgetvalue(result, 0, 1), NULL) * 1000);
}

static void take_backlog(const PGresult *result, int count_max, struct status *status)
{
    status->backlog = read_count(result, 0);
    status->backlog_is_bound = status->backlog == count_max;
}

static void take_backlog_oldest(const PGresult *result, int count_max, struct status *status)
{
    int64_t without_age = read_count(result, 1);

    (void)count_max;
    status->backlog_oldest_s = read_age(result, 0);
    if (without_age == 0)
        return;
    finding_fix(findings_add(&status->attention, FINDING_WARNING,
                             "created_at of %" PRId64 " of the oldest rows gives no age: row %s",
                             without_age, PQgetvalue(result, 0, 2)),
                "write a time from 1970 on into created_at; such rows count, but no age does");
}

static void take_parked(const PGresult *result, int count_max, struct status *status)
{
    status->parked = read_count(result, 0);
    status->parked_is_bound = status->parked == count_max;
    status->parked_oldest_s = read_age(result, 1);
    status->next_try_s = read_age(result, 2);
    status->held = read_count(result, 3);
    status->scheduled = read_count(result, 4);
}

static void take_dead(const PGresult *result, int count_max, struct status *status)
{
    status->dead = read_count(result, 0);
    status->dead_is_bound = status->dead == count_max;
    status->dead_oldest_s = read_age(result, 1);
}

/* Each is read alone, so that a row for which one of them fails takes no other with it. A statement
 * returns one row. */
static const struct figure {
    const char *name;
    const char *statement;
    int limit; /* its parameter; COUNT_MAX: where counting stops; 0: it has none */
    void (*take)(const PGresult *result, int count_max, struct status *status);
} figures[] = {
    {"the number of rows settled", statement_settled, 0, take_settled},
    {"the backlog", statement_backlog, COUNT_MAX, take_backlog},
    {"the age of the oldest unsent row", statement_backlog_oldest, AGED_ROWS, take_backlog_oldest},
    {"the parked rows", statement_parked_rows, COUNT_MAX, take_parked},
    {"the dead rows", statement_dead_rows, COUNT_MAX, take_dead},
};

/* Without such a column no row has an age. */
static bool can_be_read(const struct admin *admin, const struct figure *figure)
{
    return figure->take != take_backlog_oldest ||
           (table_has(&admin->table, COLUMN_CREATED_AT) &&
            oldest_can_be_found(&(struct table_facts){&admin->table, admin->options}));
}

static int read_figure(struct admin *admin, const struct figure *figure, int count_max,
                       struct status *status, struct error *error)
{
    char limit[16];
    const char *params[1] = {limit};
    PGresult *result;

    if (!can_be_read(admin, figure))
        return 0;
    (void)snprintf(limit, sizeof limit, "%d",
                   figure->limit == COUNT_MAX ? count_max : figure->limit);
    result = admin_query(admin, figure->statement, figure->limit != 0, params, error);
    if (result == NULL)
        return status_note_unknown(admin, status, figure->name, error);
    figure->take(result, count_max, status);
    PQclear(result);
    return 0;
}

static int read_tables(struct admin *admin, int count_max, struct status *status,
                       struct error *error)
{
    status->taken_ms = clock_wall_us() / 1000;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (read_figure(admin, &figures[i], count_max, status, error) < 0)
            return -1;
    status->oldest_s = status->backlog_oldest_s > status->parked_oldest_s ? status->backlog_oldest_s
                                                                          : status->parked_oldest_s;
    return 0;
}

static int read_reasons(struct admin *admin, struct status *status, struct error *error)
{
    char limit[16];
    const char *params[1] = {limit};
    PGresult *result;

    (void)snprintf(limit, sizeof limit, "%d", STATUS_REASONS_MAX);
    result = admin_query(admin, statement_reasons, 1, params, error);
    if (result == NULL)
        return status_note_unknown(admin, status, "why rows are parked", error);
    for (int row = 0; row < PQntuples(result) && row < STATUS_REASONS_MAX; row++) {
        struct status_reason *reason = &status->reasons[status->reason_count++];

        reason->count = strtoll(PQgetvalue(result, row, 0), NULL, 10);
        (void)snprintf(reason->text, sizeof reason->text, "%s", PQgetvalue(result, row, 1));
    }
    PQclear(result);
    return 0;
}

static int read_order(struct admin *admin, struct status *status, struct error *error)
{
    const char *who;

    if (admin_order_kept_by(admin, &who, error) < 0)
        return status_note_unknown(admin, status, "who locks the keys", error);
    (void)snprintf(status->locks_keys, sizeof status->locks_keys, "%s", who);
    return 0;
}

/* How many unsent rows of the outbox go to each sink, by their topics. */
static int sink_of(const struct routes *routes, struct text topic)
{
    for (int i = 0; i < routes->count; i++)
        if (match_topic(&routes->entries[i].match, topic))
            return routes->entries[i].sink;
    return -1;
}

static int count_sinks(struct admin *admin, const struct status_query *query, struct status *status,
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
                     (admin_list_pauses(admin, status->pauses, error) < 0 &&
                      status_note_unknown(admin, status, "what is paused", error) < 0) ||
                     count_sinks(admin, query, status, error) < 0
                 ? -1
                 : 0;
    admin->unsent_from = given;
    return result;
}

/* status_free() it in either case. */
static int status_init(struct status *status)
{
    status->sinks = calloc(STATUS_SINKS_MAX, sizeof *status->sinks);
    status->processes = calloc(STATUS_RELAYS_MAX, sizeof *status->processes);
    status->lane_list = calloc(STATUS_LANES_MAX, sizeof *status->lane_list);
    status->troubles = calloc(STATUS_TROUBLES_MAX, sizeof *status->troubles);
    status->pauses = calloc(1, sizeof *status->pauses);
    return findings_init(&status->attention) < 0 || status->pauses == NULL ||
                   status->sinks == NULL || status->processes == NULL ||
                   status->lane_list == NULL || status->troubles == NULL
               ? -1
               : 0;
}

int admin_compare_relays(struct admin *admin, const struct fingerprint *own, const char *name,
                         int wait_ms, struct findings *findings, struct error *error)
{
    struct status status = {0};
    struct asking asking;
    int result = 0;

    if (status_init(&status) < 0)
        result = error_no_memory(error);
    else if (relays_ask(&asking, admin, &status, wait_ms, error) < 0 ||
             relays_hear(&asking, error) < 0)
        result = -1;
    else
        relays_compare(&status, own, name, findings);
    admin->session.notifications.on_arrival = NULL;
    status_free(&status);
    return result;
}

int admin_status(struct admin *admin, const struct status_query *query, struct status *status,
                 struct error *error)
{
    struct asking asking;
    int result = 0;

    *status = (struct status){.per_s = -1,
                              .backlog = -1,
                              .backlog_oldest_s = -1,
                              .parked = -1,
                              .parked_oldest_s = -1,
                              .next_try_s = -1,
                              .dead = -1,
                              .dead_oldest_s = -1,
                              .oldest_s = -1,
                              .settled_total = -1};
    if (status_init(status) < 0)
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
        relays_hear(&asking, error) < 0 || read_order(admin, status, error) < 0 ||
        read_database(admin, query, asking.unsent_from, status, error) < 0 ||
        status_fill_attention(admin, query, status, error) < 0)
        result = -1;
    admin->session.notifications.on_arrival = NULL;
    return result;
}

void status_free(struct status *status)
{
    free(status->sinks);
    free(status->processes);
    free(status->lane_list);
    free(status->troubles);
    free(status->pauses);
    findings_free(&status->attention);
    *status = (struct status){0};
}

void status_compare(struct status *status, const struct status *before)
{
    int64_t elapsed_ms = status->taken_ms - before->taken_ms;

    if (elapsed_ms > 0 && status->settled_total >= 0 && before->settled_total >= 0)
        status->per_s =
            (double)(status->settled_total - before->settled_total) * 1000 / (double)elapsed_ms;
}

/* ---- gauges ---- */

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

static void take_held(const PGresult *result, struct gauges *gauges)
{
    gauges->held_rows = read_count(result, 0);
    gauges->held_keys = read_count(result, 1);
}

static void take_sizes(const PGresult *result, struct gauges *gauges)
{
    gauges->dead_tuples = read_count(result, 0);
    gauges->table_bytes = read_count(result, 1);
    gauges->index_bytes = read_count(result, 2);
    gauges->parked_bytes = read_count(result, 3);
}

static void take_snapshot(const PGresult *result, struct gauges *gauges)
{
    gauges->xmin_age = 0;
    if (PQntuples(result) != 1)
        return;
    (void)snprintf(gauges->xmin_kind, sizeof gauges->xmin_kind, "%s", PQgetvalue(result, 0, 0));
    (void)snprintf(gauges->xmin_holder, sizeof gauges->xmin_holder, "%s", PQgetvalue(result, 0, 1));
    gauges->xmin_age = read_count(result, 2);
    gauges->xmin_for_s = PQgetisnull(result, 0, 3) ? -1 : strtod(PQgetvalue(result, 0, 3), NULL);
}

/* Each is read alone, so that one that fails takes no other with it. */
static const struct {
    const char *name;
    const char *statement;
    const char *limit; /* its parameter; NULL: it has none */
    void (*take)(const PGresult *result, struct gauges *gauges);
} gauge_figures[] = {
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
    for (size_t i = 0; i < sizeof gauge_figures / sizeof *gauge_figures; i++) {
        PGresult *result;

        if (gauge_figures[i].take == take_held && !table_key_is_indexed(&admin->table))
            continue;
        result = admin_query(admin, gauge_figures[i].statement, gauge_figures[i].limit != NULL,
                             &gauge_figures[i].limit, error);
        if (result != NULL)
            gauge_figures[i].take(result, gauges);
        else if (status_note_unknown(admin, status, gauge_figures[i].name, error) < 0)
            return -1;
        PQclear(result);
    }
    return 0;
}
