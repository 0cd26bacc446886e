/* What a running relay measures of its tables, against PostgreSQL. */
#include "integration/harness.h"

#include "admin/admin_session.h"
#include "admin/status/status.h"
#include "base/clock.h"
#include "sql/statements.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gauged {
    char url[256];
    PGconn *conn;
    struct outbox_options options;
    struct admin *admin;
    json_t *status;
    struct error error;
};

static void open_tables(struct gauged *gauged, enum on_sent on_sent, enum order order)
{
    static char table[] = "public.outbox";
    char *executed;
    char *missing = NULL;

    gauged->conn = harness_database(gauged->url);
    gauged->options = (struct outbox_options){.url = gauged->url,
                                              .table = table,
                                              .on_sent = on_sent,
                                              .order = order,
                                              .slices = 4,
                                              .batch = 500,
                                              .publish_timeout_ms = 10000};
    gauged->admin = admin_open(&gauged->options, &gauged->error);
    assert_non_null(gauged->admin);
    assert_int_equal(admin_init(gauged->admin, &executed, &missing, &gauged->error), 0);
    admin_close(gauged->admin);
    gauged->admin = admin_open(&gauged->options, &gauged->error);
    assert_non_null(gauged->admin);
    assert_int_equal(admin_gauges_begin(gauged->admin, &gauged->error), 0);
}

static void close_tables(struct gauged *gauged)
{
    admin_close(gauged->admin);
    json_decref(gauged->status);
    PQfinish(gauged->conn);
    gauged->conn = NULL;
}

static void measure(struct gauged *gauged, int64_t unsent_from, int count_max)
{
    static const char *const sinks[] = {"a", "b"};
    static const struct routes routes;
    const struct status_query query = {.routes = &routes,
                                       .sinks = sinks,
                                       .sink_count = 2,
                                       .count_max = count_max,
                                       .has_storage = true};

    json_decref(gauged->status);
    admin_gauges_unsent_from(gauged->admin, unsent_from);
    gauged->status = admin_status(gauged->admin, &query, &gauged->error);
    if (gauged->status == NULL)
        fail_msg("%s", gauged->error.text);
}

static const json_t *figure(const struct gauged *gauged, const char *name)
{
    const json_t *value = json_object_get(gauged->status, name);

    if (value == NULL)
        value = json_object_get(json_object_get(gauged->status, "storage"), name);
    assert_non_null(value);
    return value;
}

static long number(const struct gauged *gauged, const char *name)
{
    return (long)json_number_value(figure(gauged, name));
}

static const char *holder(const struct gauged *gauged)
{
    const char *text = json_string_value(figure(gauged, "vacuum_held_by"));

    return text != NULL ? text : "";
}

static void assert_all_known(const struct gauged *gauged)
{
    char *text = json_dumps(json_object_get(gauged->status, "attention"), 0);

    if (number(gauged, "_unknown") != 0)
        fail_msg("%s", text);
    free(text);
}

TEST(the_backlog_is_the_same_from_the_lowest_unsent_id_on)
{
    static const enum order orders[] = {ORDER_KEY, ORDER_NONE};
    static const enum on_sent modes[] = {ON_SENT_MARK, ON_SENT_DELETE};

    for (int i = 0; i < 4; i++) {
        struct gauged gauged = {0};
        bool mark = modes[i / 2] == ON_SENT_MARK;

        open_tables(&gauged, modes[i / 2], orders[i % 2]);
        sql(gauged.conn, "INSERT INTO outbox (topic, key, created_at) SELECT 't', (i %% 7)::text,"
                         " now() - interval '1 hour' FROM generate_series(1, 500) i");
        sql(gauged.conn, mark ? "UPDATE outbox SET sent_at = now() WHERE id <= 200"
                              : "DELETE FROM outbox WHERE id <= 200");
        measure(&gauged, INT64_MIN, 1000);
        assert_int_equal(number(&gauged, "backlog"), 300);
        measure(&gauged, 201, 1000);
        assert_int_equal(number(&gauged, "backlog"), 300);
        assert_true(json_is_false(figure(&gauged, "backlog_is_lower_bound")));
        assert_in_range(number(&gauged, "backlog_oldest_seconds"), 3600, 3700);
        measure(&gauged, 201, 100);
        assert_int_equal(number(&gauged, "backlog"), 100);
        assert_true(json_is_true(figure(&gauged, "backlog_is_lower_bound")));
        close_tables(&gauged);
    }
}

/* Ends the session and begins another one: PostgreSQL counts the rows that a session wrote when it
 * ends at the latest, and then not on top of what ANALYZE counts. */
static void report_rows(struct gauged *gauged)
{
    char ended[80];

    (void)snprintf(ended, sizeof ended, "SELECT count(*) FROM pg_stat_activity WHERE pid = %d",
                   PQbackendPID(gauged->conn));
    PQfinish(gauged->conn);
    gauged->conn = harness_connect(gauged->url);
    wait_for_number(gauged->conn, 0, ended);
}

/* Rows are spread evenly, or half of the newer ones sent, or of one key, or beyond a gap of ids, or
 * all of them are below one with a high id; some are parked. */
TEST(a_backlog_that_is_too_long_to_be_counted_is_estimated)
{
    enum { GAP = 3 };
    static const char *const kinds[] = {
        "SELECT 1", "UPDATE outbox SET sent_at = now() WHERE id > 6000 AND hashint8(id) % 2 = 0",
        "UPDATE outbox SET key = 'one'",
        "UPDATE outbox SET id = id + 1000000 WHERE id > 9000; DELETE FROM outbox WHERE id < 3000",
        "UPDATE outbox SET id = 9223372036854775807 WHERE id = 12000"};
    static const enum order orders[] = {ORDER_KEY, ORDER_NONE};

    for (size_t i = 0; i < 2 * sizeof kinds / sizeof *kinds; i++) {
        struct gauged gauged = {0};
        double rows;

        open_tables(&gauged, ON_SENT_MARK, orders[i % 2]);
        sql(gauged.conn, "ALTER TABLE outbox ALTER id SET GENERATED BY DEFAULT");
        sql(gauged.conn, "INSERT INTO outbox (id, topic, key) SELECT i, 't', (i %% 7919)::text"
                         " FROM generate_series(1, 12000) i");
        sql(gauged.conn,
            "INSERT INTO outbox_parked (id, event_id, topic, state, due)"
            " SELECT i, gen_random_uuid(), 't', CASE WHEN i <= 300 THEN 'retry' ELSE"
            " 'scheduled' END, now() + interval '1 hour' FROM generate_series(1, 400) i");
        sql(gauged.conn, "%s", kinds[i / 2]);
        report_rows(&gauged);
        sql(gauged.conn, "ANALYZE outbox");
        rows = (double)sql_number(gauged.conn, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
        measure(&gauged, i % 3 == 0 ? 1 : INT64_MIN, 1000);
        assert_all_known(&gauged);
        assert_int_equal(number(&gauged, "backlog"), 1000);
        assert_true(json_is_true(figure(&gauged, "backlog_is_lower_bound")));
        if (fabs(json_number_value(figure(&gauged, "backlog_estimate")) - rows) >
            (i / 2 == GAP ? 0.1 : 0.05) * rows)
            fail_msg("%s: %ld of %.0f", kinds[i / 2], number(&gauged, "backlog_estimate"), rows);
        assert_int_equal(number(&gauged, "unsent"), number(&gauged, "backlog_estimate") + 300);
        measure(&gauged, INT64_MIN, 12001);
        assert_true(json_is_null(figure(&gauged, "backlog_estimate")));
        assert_int_equal(number(&gauged, "unsent"), (long)rows + 300);
        close_tables(&gauged);
    }
}

TEST(parked_and_dead_rows_are_counted_so_far)
{
    struct gauged gauged = {0};

    open_tables(&gauged, ON_SENT_MARK, ORDER_KEY);
    sql(gauged.conn,
        "INSERT INTO outbox_parked (id, event_id, topic, key, created_at, state, due, sent_at,"
        " error)"
        " SELECT i, gen_random_uuid(), 't', i::text, now() - interval '1 hour' + i * interval '1 "
        "s',"
        " (ARRAY['retry', 'behind', 'sent', 'dead'])[i %% 4 + 1],"
        " CASE i %% 4 WHEN 0 THEN now() + interval '50 s' END,"
        " CASE i %% 4 WHEN 2 THEN now() END, CASE i %% 4 WHEN 3 THEN 'is dead' ELSE 'waits' END"
        " FROM generate_series(1, 2400) i");
    measure(&gauged, INT64_MIN, 601);
    assert_int_equal(number(&gauged, "parked"), 601);
    assert_true(json_is_true(figure(&gauged, "parked_is_lower_bound")));
    assert_in_range(number(&gauged, "parked_oldest_seconds"), 3500, 3700);
    assert_in_range(number(&gauged, "next_try_seconds"), 1, 50);
    assert_int_equal(number(&gauged, "dead"), 600);
    assert_true(json_is_false(figure(&gauged, "dead_is_lower_bound")));
    assert_int_equal(json_array_size(figure(&gauged, "parked_reasons")), 2);
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(figure(&gauged, "parked_reasons"), 0), "count")),
                     1000);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(figure(&gauged, "parked_reasons"), 0), "reason")),
                        "waits");
    assert_int_equal(json_integer_value(json_object_get(
                         json_array_get(figure(&gauged, "parked_reasons"), 1), "count")),
                     600);
    assert_int_equal(json_array_size(figure(&gauged, "dead_first")), 3);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(figure(&gauged, "dead_first"), 0), "id")),
        "3");
    measure(&gauged, INT64_MIN, 100);
    assert_int_equal(number(&gauged, "dead"), 100);
    assert_true(json_is_true(figure(&gauged, "dead_is_lower_bound")));
    assert_in_range(number(&gauged, "dead_oldest_seconds"), 3500, 3700);
    measure(&gauged, INT64_MIN, 10000);
    assert_int_equal(number(&gauged, "parked"), 1200);
    assert_true(json_is_false(figure(&gauged, "parked_is_lower_bound")));
    close_tables(&gauged);
}

TEST(rows_behind_dead_ones_are_counted_with_their_keys)
{
    struct gauged gauged = {0};

    open_tables(&gauged, ON_SENT_MARK, ORDER_KEY);
    sql(gauged.conn, "INSERT INTO outbox_parked (id, event_id, topic, key, state, due) VALUES"
                     " (1, gen_random_uuid(), 't', 'dead', 'dead', NULL),"
                     " (2, gen_random_uuid(), 't', 'dead', 'behind', NULL),"
                     " (3, gen_random_uuid(), 't', 'dead', 'behind', NULL),"
                     " (4, gen_random_uuid(), 't', 'waits', 'retry', now() + interval '1 hour'),"
                     " (5, gen_random_uuid(), 't', 'waits', 'behind', NULL)");
    measure(&gauged, INT64_MIN, 1000);
    assert_int_equal(number(&gauged, "held_rows"), 2);
    assert_int_equal(number(&gauged, "held_keys"), 1);
    close_tables(&gauged);
}

TEST(who_holds_the_oldest_snapshot_is_named)
{
    struct gauged gauged = {0};
    int64_t deadline_ms = clock_now_ms() + HARNESS_WAIT_MS;
    PGconn *reader;
    char pid[32];

    open_tables(&gauged, ON_SENT_MARK, ORDER_KEY);
    reader = harness_connect(gauged.url);
    sql(reader, "SET application_name = 'report of the month'");
    sql(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ");
    (void)sql_number(reader, "SELECT count(*) FROM outbox");
    sql(gauged.conn, "INSERT INTO outbox (topic) VALUES ('t')");
    (void)snprintf(pid, sizeof pid, "pid %d ", PQbackendPID(reader));
    do /* an ANALYZE of autovacuum may be older */
        measure(&gauged, INT64_MIN, 1000);
    while (strstr(holder(&gauged), pid) == NULL && clock_left_ms(deadline_ms) > 0);
    assert_non_null(strstr(holder(&gauged), pid));
    assert_ptr_equal(strstr(holder(&gauged), "backend "), holder(&gauged));
    assert_non_null(strstr(holder(&gauged), "report of the month"));
    assert_true(number(&gauged, "vacuum_held_transactions") >= 1);
    assert_int_equal(number(&gauged, "vacuum_held_seconds"), 0); /* it may not see since when */
    sql(gauged.conn, "GRANT pg_read_all_stats TO " HARNESS_RELAY);
    measure(&gauged, INT64_MIN, 1000);
    assert_true(json_number_value(figure(&gauged, "vacuum_held_seconds")) > 0);
    sql(gauged.conn, "REVOKE pg_read_all_stats FROM " HARNESS_RELAY);
    PQfinish(reader);
    close_tables(&gauged);
}

TEST(a_vacuum_is_not_named_although_it_has_a_snapshot)
{
    struct gauged gauged = {0};
    PGresult *holders;
    struct error error;
    PGconn *vacuum;

    open_tables(&gauged, ON_SENT_MARK, ORDER_KEY);
    sql(gauged.conn, "GRANT pg_read_all_stats TO " HARNESS_RELAY);
    sql(gauged.conn, "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 10000)");
    vacuum = harness_connect(gauged.url);
    sql(vacuum, "SET application_name = 'vacuum by hand'");
    sql(vacuum, "SET vacuum_cost_delay = '100ms'");
    sql(vacuum, "SET vacuum_cost_limit = 1");
    assert_int_equal(PQsendQuery(vacuum, "VACUUM outbox"), 1);
    wait_for_number(gauged.conn, 1,
                    "SELECT count(*) FROM pg_stat_progress_vacuum JOIN pg_stat_activity USING (pid)"
                    " WHERE application_name = 'vacuum by hand' AND backend_xmin IS NOT NULL");
    measure(&gauged, INT64_MIN, 100);
    assert_null(strstr(holder(&gauged), "vacuum by hand"));
    holders = table_query_with(&gauged.admin->table, &gauged.admin->session,
                               statement_check_90_holders, "long_s", "0", &error);
    assert_non_null(holders);
    for (int row = 0; row < PQntuples(holders); row++)
        assert_null(strstr(PQgetvalue(holders, row, 1), "vacuum by hand"));
    PQclear(holders);
    sql(gauged.conn, "SELECT pg_terminate_backend(%d)", PQbackendPID(vacuum));
    sql(gauged.conn, "REVOKE pg_read_all_stats FROM " HARNESS_RELAY);
    PQfinish(vacuum);
    close_tables(&gauged);
}

TEST(ids_at_both_ends_of_bigint_leave_the_figures_known)
{
    static const enum order orders[] = {ORDER_KEY, ORDER_NONE};

    for (int i = 0; i < 2; i++) {
        struct gauged gauged = {0};

        open_tables(&gauged, ON_SENT_MARK, orders[i]);
        sql(gauged.conn, "INSERT INTO outbox (topic) SELECT 't' FROM generate_series(1, 398)");
        sql(gauged.conn, "INSERT INTO outbox (id, topic) OVERRIDING SYSTEM VALUE VALUES "
                         "(-9223372036854775807, 't'), (9223372036854775807, 't')");
        measure(&gauged, INT64_MIN, 100);
        assert_all_known(&gauged);
        assert_int_equal(number(&gauged, "backlog"), 100);
        sql(gauged.conn, "DELETE FROM outbox WHERE id < 9223372036854775806");
        measure(&gauged, INT64_MIN, 1);
        assert_all_known(&gauged);
        assert_int_equal(number(&gauged, "backlog"), 1);
        close_tables(&gauged);
    }
}

TEST(measuring_writes_nothing)
{
    struct gauged gauged = {0};

    open_tables(&gauged, ON_SENT_MARK, ORDER_KEY);
    assert_int_equal(
        admin_emit(gauged.admin, &(const struct event){.topic = "t"}, NULL, &gauged.error), -1);
    assert_non_null(strstr(gauged.error.text, "read-only"));
    close_tables(&gauged);
}
