/* The statements that `outbox-relay sql` prints: PostgreSQL accepts each for every kind of table,
 * and those that look for rows go by their index. */
#include "integration/program.h"

#include <stdio.h>
#include <string.h>

FIXTURE(fixture_open_empty, fixture_close)

static const char *const payloads[] = {"jsonb", "json", "text", "bytea"};

/* The kinds of table and of configuration; each number is one of them. */
enum { PLAIN_KINDS = 32, KINDS = PLAIN_KINDS + 8 };

struct kind {
    const char *order, *on_sent, *payload, *id, *key;
    bool where, routes, computed, park;
};

/* Every pair of order, on_sent, where and routes; the other properties change from one to the next.
 * Then those whose values are computed, with and without park. */
static struct kind kind_of(int number)
{
    if (number >= PLAIN_KINDS)
        return (struct kind){
            .order = number & 1 ? "key" : "none",
            .on_sent = number & 2 ? "mark" : "delete",
            .where = true,
            .routes = true,
            .payload = "jsonb",
            .id = "bigint GENERATED ALWAYS AS IDENTITY",
            .key = "key text,",
            .computed = true,
            .park = (number & 4) != 0,
        };
    return (struct kind){
        .order = number & 1 ? "key" : "none",
        .on_sent = number & 2 ? "mark" : "delete",
        .where = (number & 4) != 0,
        .routes = (number & 8) != 0,
        .payload = payloads[(number / 4) % 4],
        .id = (number & 17) == 16 /* which have no order */ ? "uuid DEFAULT gen_random_uuid()"
                                                            : "bigint GENERATED ALWAYS AS IDENTITY",
        .key = number % 5 == 0   ? ""
               : number % 3 == 0 ? "key bytea,"
                                 : "key text,"};
}

#define COMPUTED                                                                                   \
    "[outbox.columns]\nevent_id = \"('e-' || id)\"\ntopic = \"(topic || '.x')\"\nkey ="            \
    " \"(lower(key))\"\npayload = \"(to_jsonb(outbox) - 'id')\"\n[outbox.headers]\nx-place ="      \
    " \"(int8send(id))\"\nx-ready = \"ready\"\n"

static void open_kind(struct fixture *fixture, const struct kind *kind)
{
    bool is_marked = strcmp(kind->on_sent, "mark") == 0;

    sql(fixture->conn,
        "SET client_min_messages = warning; DROP TABLE IF EXISTS outbox, outbox_parked, outbox_slice, outbox_control CASCADE");
    sql(fixture->conn,
        "CREATE TABLE outbox (id %s PRIMARY KEY, event_id uuid NOT NULL DEFAULT gen_random_uuid(), topic text NOT"
        " NULL, %s payload %s, created_at timestamptz NOT NULL DEFAULT now()%s, ready boolean)",
        kind->id, kind->key, kind->payload,
        is_marked && !kind->park ? ", sent_at timestamptz" : "");
    (void)snprintf(
        fixture->config, sizeof fixture->config, "%s",
        harness_file("kind.toml",
                     "[database]\nurl = \"%s\"\n[outbox]\nadopt = true\norder = \"%s\"\non_sent ="
                     " \"%s\"\nslices = 8\n%s%s%s%s%s\n",
                     fixture->url, kind->order, kind->on_sent,
                     kind->where ? "where = \"outbox.ready\"\n" : "",
                     !kind->computed || !is_marked ? ""
                     : kind->park                  ? "mark = \"ready = false\"\n"
                                                   : "mark = \"ready = false, sent_at = now()\"\n",
                     kind->park ? "park = \"ready = ($state <> $error)\"\n" : "",
                     kind->computed ? "due = \"created_at\"\n" COMPUTED : "",
                     kind->routes ? "[sink.out]\ntype = \"stdout\"\n[sink.far]\ntype = \"stdout\"\n"
                                    "[[route]]\nmatch = \"far.*\"\nsink = \"far\"\n"
                                    "[[route]]\nmatch = \">\"\nsink = \"out\""
                                  : STDOUT_SINK));
    init_existing(fixture);
}

static void fill(PGconn *conn, const struct kind *kind)
{
    sql(conn,
        "INSERT INTO outbox (topic, ready) SELECT 't', true FROM generate_series(1, 5000);"
        " INSERT INTO outbox_parked (id, event_id, topic, state, due, in_outbox) SELECT id, event_id,"
        " topic, 'retry', now() + random() * interval '9 days', %s FROM outbox;"
        " ANALYZE outbox, outbox_parked",
        kind->park ? "true" : "NULL");
}

static void forget_types(PGresult *result)
{
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s", PQresultErrorMessage(result));
    PQclear(result);
}

/* Of a claim the first parameter says that no sink is away. */
static const char *value_of(Oid type, bool is_away)
{
    enum { INT8 = 20, INT4 = 23, TEXT = 25, TID = 27, TEXTS = 1009, TIMESTAMPTZ = 1184 };

    if (type == TID)
        return "'(0,1)'";
    if (type == TEXT || type == TIMESTAMPTZ)
        return "NULL";
    if (type == TEXTS) /* of none, a condition would be false */
        return "'{1}'";
    if (type != INT8 && type != INT4)
        return "'{}'";
    return is_away ? "0" : "2000";
}

static const char *plan_of(PGconn *conn, const char *name, const char *statement, bool is_of_lane)
{
    static char plan[65536];
    char execute[256];
    PGresult *described;
    PGresult *result;
    size_t len;

    sql(conn, "PREPARE planned AS %s", statement);
    described = PQdescribePrepared(conn, "planned");
    len = (size_t)snprintf(execute, sizeof execute, "EXPLAIN EXECUTE planned");
    for (int i = 0; i < PQnparams(described); i++)
        len += (size_t)snprintf(execute + len, sizeof execute - len, "%s%s", i == 0 ? " (" : ", ",
                                value_of(PQparamtype(described, i), is_of_lane && i == 0));
    (void)snprintf(execute + len, sizeof execute - len, "%s", PQnparams(described) > 0 ? ")" : "");
    PQclear(described);
    result = PQexec(conn, execute);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", name, PQerrorMessage(conn));
    plan[0] = '\0';
    len = 0;
    for (int row = 0; row < PQntuples(result) && len < sizeof plan; row++)
        len += (size_t)snprintf(plan + len, sizeof plan - len, "%s\n", PQgetvalue(result, row, 0));
    PQclear(result);
    sql(conn, "DEALLOCATE planned");
    return plan;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

/* Every session but those of lanes with order = "none" has these settings, and commands have their
 * statements planned with the parameters. */
static const char *plan_of_command(PGconn *conn, const char *name, const char *statement)
{
    const char *plan;

    sql(conn, "BEGIN; SET LOCAL plan_cache_mode = auto; SET LOCAL enable_seqscan = off;"
              " SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off");
    plan = plan_of(conn, name, statement, false);
    sql(conn, "ROLLBACK");
    return plan;
}

/* Of a table without keys no parked row has one, and nothing looks for the next row of a key. A
 * purge of ids without an order reads the whole table, and so does who counts rows of which all are
 * unsent. */
static void assert_plan(PGconn *conn, const char *name, const char *statement,
                        const struct kind *kind)
{
    static const char *const of_outbox[] = {
        "claim_0",  "claim_3",     "first_row",   "scan",         "horizon_scan",
        "sent",     "park",        "lock_slices", "lean_claim_0", "lean_lock_slices",
        "read_row", "sent_copied", "park_copied", "park_raw",     NULL};
    static const char *const of_parked[] = {
        "claim_parked_0", "first_parked_row", "sent_parked",     "lock_parked_slices",
        "end_notes",      "end_copies",       "read_parked_row", NULL};
    static const char *const of_commands[] = {"purge_rows",
                                              "backlog_oldest",
                                              "backlog_oldest_from",
                                              "sample",
                                              "replay_count",
                                              "parked_rows",
                                              "purge_parked",
                                              "dead_rows",
                                              "held_rows",
                                              "reasons",
                                              "dead_list",
                                              "dead_list_json",
                                              "waiting_rows",
                                              "refused_rows",
                                              "dead_retry",
                                              "dead_drop",
                                              "adopt_probes",
                                              "adopt_behind",
                                              NULL};
    /* An index scan of all rows would pass for one of a few. */
    static const char *const by_index[][2] = {
        {"claim_0", "using outbox_slice_idx on outbox"},
        {"claim_3", "using outbox_slice_idx on outbox"},
        {"lean_claim_0", "using outbox_slice_idx on outbox"},
        {"first_row", "using outbox_slice_idx on outbox"},
        {"claim_parked_0", "using outbox_slice_idx on outbox"},
        {"sent_copied", "using outbox_pkey on outbox"},
        {"park_copied", "using outbox_pkey on outbox"},
        {"end_copies", "using outbox_parked_id_idx on outbox_parked"},
        {"sent_parked", "using outbox_parked_waits_for_due_seq_idx on outbox_parked head"},
        {"adopt_probes", "using outbox_parked_waits_for_due_seq_idx on outbox_parked head"},
        {"adopt_behind", "using outbox_parked_due_idx on outbox_parked head"},
    };
    static const char *const of_ordered_ids[] = {"purge", "purge_page", NULL};
    static const char *const of_marks[] = {"backlog", "backlog_from", "count_unsent", NULL};
    bool has_keys = kind->key[0] != '\0';
    bool is_ordered = strncmp(kind->id, "uuid", 4) != 0;
    bool is_by_slice = strcmp(kind->order, "key") == 0;
    const char *plan;

    if (is_one_of(name, of_outbox) || (has_keys && is_one_of(name, of_parked)))
        plan = plan_of(conn, name, statement, true);
    else if (is_one_of(name, of_commands) || (is_ordered && is_one_of(name, of_ordered_ids)) ||
             (strcmp(kind->on_sent, "mark") == 0 && is_one_of(name, of_marks)))
        plan = plan_of_command(conn, name, statement);
    else
        return;
    /* PostgreSQL 13 chooses while it parks whether it looks up each probe or reads them all, and
     * shows both. */
    if ((has_keys && strcmp(name, "park") != 0 &&
         strstr(plan, "Seq Scan on outbox_parked") != NULL) ||
        strstr(plan, "Seq Scan on outbox ") != NULL)
        fail_msg("%s: %s", name, plan);
    for (size_t i = 0; has_keys && i < sizeof by_index / sizeof *by_index; i++)
        if (strcmp(name, by_index[i][0]) == 0 && strstr(plan, by_index[i][1]) == NULL &&
            (is_by_slice || strstr(by_index[i][1], "slice") == NULL))
            fail_msg("%s: %s", name, plan);
}

static int try_each(struct fixture *fixture, PGconn *conn, const struct kind *kind)
{
    char *at = fixture->process.out;
    int statements = 0;

    while (strncmp(at, "-- ", 3) == 0) { /* the heading, the comment and the statement */
        char *name = at + 3;
        char *statement = strchr(name, '\n');
        char *end;

        assert_non_null(statement);
        *statement++ = '\0';
        end = strstr(statement, ";\n\n");
        assert_non_null(end);
        *end = '\0';
        forget_types(PQprepare(conn, "", statement, 0, NULL));
        assert_plan(conn, name, statement, kind);
        statements++;
        at = end + 3;
    }
    assert_string_equal(at, "");
    return statements;
}

static void set_as_a_relay_does(PGconn *conn, const struct kind *kind)
{
    sql(conn, "SET search_path = ''; SET jit = off");
    sql(conn,
        "SET outbox_relay.slices = '{3}'; SET outbox_relay.lows = '{5}'; SET outbox_relay.highs = '{7}';"
        " SET outbox_relay.holders = '{900}'");
    if (strcmp(kind->order, "key") == 0)
        sql(conn,
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off");
}

FIXTURE_TEST(every_statement_is_accepted_for_every_kind_of_table_and_goes_by_its_index)
{
    for (int number = 0; number < KINDS; number++) {
        const struct kind kind = kind_of(number);
        PGconn *conn;

        print_message("order %s, on_sent %s, payload %s, id %s%s%s%s%s%s\n", kind.order,
                      kind.on_sent, kind.payload, kind.id, kind.key[0] != '\0' ? ", " : "",
                      kind.key, kind.where ? " where" : "", kind.computed ? ", computed" : "",
                      kind.park ? ", park" : "");
        open_kind(fixture, &kind);
        fill(fixture->conn, &kind);
        expect(fixture, run_command(fixture, "sql"), 0);
        conn = harness_connect(fixture->url);
        set_as_a_relay_does(conn, &kind);
        assert_true(try_each(fixture, conn, &kind) > 100);
        PQfinish(conn);
    }
}

FIXTURE_TEST(statements_are_listed_and_printed_by_name)
{
    open_kind(fixture, &(struct kind){.order = "key",
                                      .on_sent = "mark",
                                      .payload = "jsonb",
                                      .id = "bigint",
                                      .key = "key text,"});
    expect_run(fixture, 0, "sql", "--list");
    assert_says(fixture->process.out, "\nclaim_0              Claims the rows of the slices");
    expect_run(fixture, 0, "sql", "sent");
    assert_says(fixture->process.out, "-- Settles rows of the outbox by their mark.");
    assert_says(fixture->process.out,
                "    UPDATE \"public\".\"outbox\" SET \"sent_at\" = clock_timestamp()");
    expect_run(fixture, 2, "sql", "claim");
    assert_says(fixture->process.err, "there is no statement \"claim\"");
}
