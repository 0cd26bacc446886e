#include "integration/lane_fixture.h"
#include "unit/seed.h"

#include "admin/admin_session.h"
#include "desk/run.h"
#include "message/order.h"
#include "relay/lane.h"

#include <stdio.h>

/*
 * The order of a key at each sink, whatever is configured meanwhile: two lanes with a real
 * PostgreSQL and brokers of the test's own, which are away, refuse topics or lack them as the test
 * says. The lanes are started anew with other routes. Whenever a broker stores a message, no
 * earlier row of its key that would now go to the same sink may be unsent.
 */

#define LANES 2
#define SINKS 2
#define BUS 0
#define X 1
#define NO_SINK (-1)
#define TOPICS 5
#define KEYS 40
#define IDS_MAX 30000
#define SEEN_BUFFER 16384

enum mood { ACCEPTED, REFUSED, REJECTED, MISSING };

struct fake_broker {
    struct broker base;
    bool is_away;
};

static const char *const topics[TOPICS] = {"a", "b", "c", "d", "e"};
static const char *const patterns[TOPICS] = {"a", "b", "c", "d", "re:^e"};
static char sink_names[SINKS][8] = {"bus", "x"};

static struct {
    struct lane_fixture *fixture;
    struct relay_options options;
    struct stop stop;
    struct lane lanes[LANES];
    bool is_open;
    struct fake_broker brokers[LANES][SINKS];
    int sink_of[TOPICS]; /* where the routes send a topic */
    enum mood moods[TOPICS];
    bool stored[IDS_MAX];
    int stored_count;
    int overtaken; /* messages stored before an earlier row of their key */
    char seen[SEEN_BUFFER];
} rig;

/* ---- the brokers ---- */

static int fake_ready(struct broker *broker, struct error *error)
{
    return ((struct fake_broker *)broker)->is_away
               ? error_set(error, ERROR_TRANSIENT, ERROR_BROKER, "away")
               : 0;
}

static int64_t fake_payload_max(const struct broker *broker)
{
    (void)broker;
    return PAYLOAD_MAX;
}

static void fake_destroy(struct broker *broker)
{
    (void)broker;
}

static void fake_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    (void)broker;
    (void)batch;
    (void)sink;
    (void)deadline_ms;
}

/* "CASE topic WHEN 'a' THEN 0 ... END" */
static const char *routes_as_sql(void)
{
    static char text[256];
    int len = snprintf(text, sizeof text, "CASE topic");

    for (int i = 0; i < TOPICS; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, " WHEN '%s' THEN %d", topics[i],
                        rig.sink_of[i]);
    (void)snprintf(text + len, sizeof text - (size_t)len, " END");
    return text;
}

/* What the transaction of the batch has not committed yet counts as sent when it is stored. */
static bool overtakes(const struct message *message, int sink)
{
    PGconn *conn = rig.fixture->conn;
    PGresult *result;
    char sql[2048];
    bool found = false;

    (void)snprintf(
        sql, sizeof sql,
        "SELECT id FROM outbox WHERE sent_at IS NULL AND key = '%.*s' AND id < %.*s AND %s = %d"
        " UNION SELECT id FROM outbox_parked WHERE sent_at IS NULL AND replayed_at IS NULL"
        " AND key = '%.*s' AND id < %.*s AND %s = %d",
        (int)message->key.len, message->key.data, (int)message->id.len, message->id.data,
        routes_as_sql(), sink, (int)message->key.len, message->key.data, (int)message->id.len,
        message->id.data, routes_as_sql(), sink);
    result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s", PQerrorMessage(conn));
    for (int row = 0; row < PQntuples(result); row++)
        found = found || !rig.stored[strtol(PQgetvalue(result, row, 0), NULL, 10)];
    PQclear(result);
    return found;
}

static void note(const struct message *message, int sink)
{
    size_t len = strlen(rig.seen);
    long id = strtol(message->id.data, NULL, 10);

    assert_true(id < IDS_MAX);
    if (message->key.data != NULL && message->replayed_at.data == NULL &&
        overtakes(message, sink)) {
        rig.overtaken++;
        (void)snprintf(rig.seen + len, sizeof rig.seen - len, " %.*s of %.*s at %s;",
                       (int)message->id.len, message->id.data, (int)message->key.len,
                       message->key.data, sink_names[sink]);
    }
    rig.stored_count += !rig.stored[id];
    rig.stored[id] = true;
}

static void answer(struct batch *batch, struct message *message, int sink)
{
    int topic = message->topic.data[0] - 'a';

    switch (rig.moods[topic]) {
    case ACCEPTED:
        note(message, sink);
        message->verdict = VERDICT_SENT;
        return;
    case REFUSED:
        batch_refuse(batch, message, VERDICT_RETRY, "refused");
        return;
    case REJECTED:
        batch_refuse(batch, message, VERDICT_REJECTED, "rejected");
        return;
    case MISSING:
        batch_refuse(batch, message, VERDICT_WAIT, "missing");
        return;
    }
}

static int fake_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                      struct error *error)
{
    (void)deadline_ms;
    if (((struct fake_broker *)broker)->is_away)
        return error_set(error, ERROR_TRANSIENT, ERROR_BROKER, "lost");
    for (int i = 0; i < batch->count; i++)
        if (order_is_due(batch, &batch->messages[i], sink))
            answer(batch, &batch->messages[i], sink);
    return 0;
}

static const struct broker_ops fake_ops = {
    .type = "fake",
    .ready = fake_ready,
    .send = fake_send,
    .await = fake_await,
    .payload_max = fake_payload_max,
    .destroy = fake_destroy,
};

/* ---- the lanes ---- */

static void make_routes(struct routes *routes)
{
    char why[160];
    size_t position;

    *routes = (struct routes){.entries = calloc(TOPICS, sizeof *routes->entries)};
    assert_non_null(routes->entries);
    for (int i = 0; i < TOPICS; i++) {
        struct route *route = &routes->entries[routes->count];

        if (rig.sink_of[i] == NO_SINK)
            continue;
        route->sink = rig.sink_of[i];
        assert_int_equal(match_parse(&route->match, patterns[i], why, sizeof why), 0);
        assert_int_equal(template_parse(&route->topic, "{topic}", why, sizeof why, &position), 0);
        assert_int_equal(template_parse(&route->key, "{key}", why, sizeof why, &position), 0);
        routes->count++;
    }
}

static void close_lanes(void)
{
    for (int lane = 0; lane < LANES && rig.is_open; lane++)
        lane_close(&rig.lanes[lane]);
    if (rig.is_open)
        routes_free(&rig.options.routes);
    rig.is_open = false;
}

static void open_lanes(void)
{
    make_routes(&rig.options.routes);
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = &rig.lanes[i];

        if (lane_init(lane, i + 1, &rig.options, NULL, &rig.stop, &rig.fixture->error) < 0)
            fail_msg("%s", rig.fixture->error.text);
        for (int sink = 0; sink < SINKS; sink++) {
            broker_close(lane->sinks.brokers[sink]);
            rig.brokers[i][sink].base =
                (struct broker){.ops = &fake_ops, .options = &rig.options.sinks[sink]};
            lane->sinks.brokers[sink] = &rig.brokers[i][sink].base;
        }
        share(rig.fixture, lane->outbox);
        connect_lane(rig.fixture, lane->outbox);
    }
    rig.is_open = true;
}

static void start_anew(void)
{
    close_lanes();
    open_lanes();
}

/* All lanes, in turn, without any pause: a probe is due, and parked rows that are due have their
 * turn. */
static void step(int number)
{
    struct lane *lane = &rig.lanes[number];

    for (int sink = 0; sink < SINKS; sink++)
        lane->sinks.states[sink].probe_at_ms = 0;
    lane->turns.parked_at_ms = 0;
    await_first_scan(rig.fixture, lane->outbox);
    if (lane_step(lane) == LANE_BROKEN && lane->error.origin != ERROR_BROKER)
        fail_msg("%s", lane->error.text);
}

static void run_until(long long expected, const char *query)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    for (int round = 0; sql_number(rig.fixture->conn, "%s", query) != expected; round++) {
        if (harness_now_ms() > deadline_ms)
            fail_msg("%s: %lld, not %lld; overtaken: %d", query,
                     sql_number(rig.fixture->conn, "%s", query), expected, rig.overtaken);
        step(round % LANES);
        if (round % LANES == 0)
            harness_pause();
    }
}

/* Long enough for every row to be tried twice. */
static void step_often(int steps)
{
    for (int i = 0; i < steps; i++)
        step(i % LANES);
}

static void set_away(int sink, bool is_away)
{
    for (int lane = 0; lane < LANES; lane++)
        rig.brokers[lane][sink].is_away = is_away;
}

static int set_up_lanes(void **state)
{
    static char type[] = "stdout";

    if (set_up_by(state, ON_SENT_MARK, ORDER_KEY, 2) < 0)
        return -1;
    memset(&rig, 0, sizeof rig);
    rig.fixture = *state;
    rig.options = (struct relay_options){
        .lanes = LANES,
        .publish_timeout_ms = 10000,
        .outbox = rig.fixture->options,
        .retry = {.max_attempts = 3, .backoff_ms = 20, .backoff_max_ms = 100},
        .sinks = {{.name = sink_names[BUS], .type = type}, {.name = sink_names[X], .type = type}},
        .sink_count = SINKS};
    return stop_init(&rig.stop);
}

static int tear_down_lanes(void **state)
{
    close_lanes();
    stop_free(&rig.stop);
    return tear_down(state);
}

FIXTURE(set_up_lanes, tear_down_lanes)

/* ---- what an operator does ---- */

/* Takes the steps of a command (src/desk/run.h) with these parameters. */
static int64_t order(const char *steps, const char *verb, const char *name, const char *topic,
                     const char *id)
{
    struct error *error = &rig.fixture->error;
    struct admin *admin = admin_open(&rig.fixture->options, error);
    struct desk *desk = admin != NULL ? desk_new(admin, error) : NULL;
    int64_t count;

    assert_non_null(desk);
    if (desk_set(desk, "verb", verb, error) < 0 || desk_set(desk, "all", "true", error) < 0 ||
        desk_set(desk, "name", name, error) < 0 ||
        (topic != NULL && desk_set_option(desk, "topic", topic, error) < 0) ||
        (id != NULL && desk_set_array(desk, "ids", &id, 1, error) < 0) ||
        (desk_run(desk, text_of(steps), error) < 0 && strstr(error->text, "is not paused") == NULL))
        fail_msg("%s", error->text);
    count = desk_total(desk);
    desk_free(desk);
    admin_close(admin);
    return count;
}

static int64_t dead(const char *verb, const char *topic, const char *id)
{
    char steps[64];

    (void)snprintf(steps, sizeof steps, "  values dead_bounds\n  rows dead_%s", verb);
    return order(steps, verb, NULL, topic, id);
}

static void set_pause(const char *what, const char *name, bool is_paused)
{
    (void)order(is_paused ? "  values pause"
                          : "  values resume\n  run let_go\n  run adopt_probes\n  run adopt_behind",
                what, name, NULL, NULL);
}

/* ---- scenarios, each with 40 keys ---- */

#define PARKED(condition) "SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL AND " condition
#define ALL_UNSENT                                                                                 \
    "SELECT (SELECT count(*) FROM outbox WHERE sent_at IS NULL) +"                                 \
    " (SELECT count(*) FROM outbox_parked WHERE sent_at IS NULL)"

static void insert_for_each_key(const char *topic)
{
    sql(rig.fixture->conn,
        "INSERT INTO outbox (topic, key) SELECT '%s', 'k' || i FROM generate_series(1, %d) i",
        topic, KEYS);
}

static void expect_all_in_order(int count)
{
    run_until(0, ALL_UNSENT);
    if (rig.overtaken > 0)
        fail_msg("overtaken: %d of %d keys:%s", rig.overtaken, KEYS, rig.seen);
    assert_int_equal(rig.stored_count, count);
}

static void route_topics(int a, int b, int c)
{
    rig.sink_of[0] = a;
    rig.sink_of[1] = b;
    rig.sink_of[2] = c;
    rig.sink_of[3] = NO_SINK;
    rig.sink_of[4] = X;
}

/* Of each key: the first row waits for a sink that is away, the last behind the dead one. */
static void make_second_of_three_dead(void)
{
    route_topics(BUS, X, X);
    rig.moods[1] = REJECTED;
    set_away(BUS, true);
    open_lanes();
    insert_for_each_key("a");
    insert_for_each_key("b");
    insert_for_each_key("c");
    run_until(KEYS, PARKED("state = 'behind'"));
}

TEST(a_row_freed_by_a_drop_does_not_leave_before_one_of_a_sink_that_was_away)
{
    make_second_of_three_dead();
    route_topics(BUS, X, BUS);
    start_anew();
    assert_int_equal(dead("drop", "b", NULL), KEYS);
    step_often(20);
    set_away(BUS, false);
    expect_all_in_order(2 * KEYS);
}

TEST(a_row_whose_route_is_corrected_waits_for_the_earlier_one_of_a_sink_that_was_away)
{
    route_topics(BUS, X, NO_SINK);
    rig.moods[1] = MISSING;
    set_away(BUS, true);
    open_lanes();
    insert_for_each_key("a");
    insert_for_each_key("b");
    run_until(KEYS, PARKED("state = 'waiting'"));
    rig.moods[1] = ACCEPTED;
    route_topics(BUS, BUS, NO_SINK);
    start_anew();
    step_often(20);
    set_away(BUS, false);
    expect_all_in_order(2 * KEYS);
}

TEST(a_row_whose_topic_is_corrected_waits_for_the_earlier_one_of_a_sink_that_was_paused)
{
    route_topics(BUS, X, NO_SINK);
    rig.moods[1] = MISSING;
    set_pause("sink", "bus", true);
    open_lanes();
    insert_for_each_key("a");
    insert_for_each_key("b");
    run_until(KEYS, PARKED("state = 'waiting'"));
    sql(rig.fixture->conn, "UPDATE outbox_parked SET topic = 'a'");
    step_often(20);
    set_pause("sink", "bus", false);
    expect_all_in_order(2 * KEYS);
}

/* Nothing but the dead row stays, and that is sent once it is retried. */
TEST(an_earlier_row_of_a_sink_that_was_away_does_not_wait_for_a_dead_one)
{
    make_second_of_three_dead();
    set_away(BUS, false);
    run_until(0, "SELECT count(*) FROM outbox WHERE sent_at IS NULL");
    assert_number(rig.fixture->conn, 0, PARKED("topic = 'a'"));
    assert_number(rig.fixture->conn, KEYS, PARKED("state = 'dead'"));
    sql(rig.fixture->conn, "UPDATE outbox_parked SET topic = 'a' WHERE state = 'dead'");
    assert_int_equal(dead("retry", NULL, NULL), KEYS);
    expect_all_in_order(3 * KEYS);
}

TEST(dead_rows_that_are_retried_while_a_sink_is_away_stay_behind_the_rows_of_that_sink)
{
    make_second_of_three_dead();
    rig.moods[1] = ACCEPTED;
    route_topics(BUS, BUS, X);
    start_anew();
    assert_int_equal(dead("retry", NULL, NULL), KEYS);
    step_often(20);
    assert_int_equal(rig.stored_count, 0);
    set_away(BUS, false);
    expect_all_in_order(3 * KEYS);
}

/* Of the sink that is here, as before. */
TEST(a_parked_row_of_one_sink_does_not_wait_for_earlier_rows_of_another_that_is_away)
{
    route_topics(BUS, X, NO_SINK);
    rig.moods[1] = REFUSED;
    set_away(BUS, true);
    open_lanes();
    insert_for_each_key("a");
    insert_for_each_key("b");
    run_until(KEYS, PARKED("true"));
    rig.moods[1] = ACCEPTED;
    run_until(0, PARKED("state <> 'dead'"));
    (void)dead("retry", NULL, NULL);
    run_until(0, PARKED("true"));
    assert_int_equal(rig.stored_count, KEYS);
    set_away(BUS, false);
    expect_all_in_order(2 * KEYS);
}

/* So it takes no longer beside millions of waiting rows. */
static void look_at(void *closure, const char *name, const char *comment, size_t comment_len,
                    const char *sql)
{
    (void)comment;
    (void)comment_len;
    if (strcmp(name, "dead_retry") != 0)
        return;
    *(bool *)closure = true;
    assert_non_null(strstr(sql, "\"outbox_parked\""));
    assert_null(strstr(sql, "\"outbox\""));
}

TEST(dead_retry_reads_no_row_of_the_outbox)
{
    bool is_found = false;
    const struct admin_statement_reader reader = {look_at, &is_found};
    struct admin *admin = admin_open(&rig.fixture->options, &rig.fixture->error);

    assert_non_null(admin);
    assert_int_equal(
        admin_read_statements(admin, &rig.options.routes, &reader, &rig.fixture->error), 0);
    assert_true(is_found);
    admin_close(admin);
}

/* A claim reads no more than 10,000 of them; until there are fewer, the row waits. */
TEST(a_retried_row_is_sent_behind_a_backlog_whose_sink_was_away)
{
    route_topics(BUS, X, X);
    rig.moods[1] = REJECTED;
    set_away(BUS, true);
    open_lanes();
    insert_for_each_key("a");
    sql(rig.fixture->conn, "INSERT INTO outbox (topic) SELECT 'a' FROM generate_series(1, 24000)");
    insert_for_each_key("b");
    run_until(KEYS, PARKED("state = 'dead'"));
    rig.moods[1] = ACCEPTED;
    route_topics(BUS, BUS, X);
    start_anew();
    assert_int_equal(dead("retry", NULL, NULL), KEYS);
    set_away(BUS, false);
    expect_all_in_order(24000 + 2 * KEYS);
}

/* A lane sends the next claim together with what it has settled. PostgreSQL does not tell the sink
 * of a topic with a line break, so that claim has its row, and not the earlier one of the sink that
 * was away then. */
TEST(a_sink_that_returns_while_a_claim_is_on_its_way_gets_nothing_of_that_claim)
{
    route_topics(BUS, X, NO_SINK);
    rig.sink_of[4] = BUS;
    rig.options.outbox.batch = 2;
    set_away(BUS, true);
    open_lanes();
    sql(rig.fixture->conn,
        "INSERT INTO outbox (topic, key) VALUES ('e', 'k'), ('b', 'k'), ('b', 'k'), (E'e\n', 'k')");
    for (int i = 0; i < 40 && rig.stored_count < 2; i++)
        step(0);
    set_away(BUS, false);
    expect_all_in_order(4);
}

/* ---- random histories ---- */

static bool one_in(int count)
{
    return rand() % count == 0;
}

static void insert_some(void)
{
    sql(rig.fixture->conn,
        "INSERT INTO outbox (topic, key) SELECT chr(97 + (random() * %d)::int), 'k' || (random() * 3)::int"
        " FROM generate_series(1, %d)",
        TOPICS - 1, 1 + rand() % 8);
}

static void change_routes(void)
{
    for (int i = 0; i < TOPICS; i++)
        if (one_in(3))
            rig.sink_of[i] = one_in(4) ? NO_SINK : rand() % SINKS;
    start_anew();
}

/* As an operator names a row: whatever its state. */
static void change_a_parked_row(const char *verb)
{
    PGconn *conn = rig.fixture->conn;
    char id[32];

    if (sql_number(conn, PARKED("true")) == 0)
        return;
    (void)snprintf(
        id, sizeof id, "%s",
        sql_text(conn,
                 "SELECT id FROM outbox_parked WHERE sent_at IS NULL ORDER BY random() LIMIT 1"));
    if (sql_number(conn, PARKED("id = %s"), id) == 1)
        (void)dead(verb, NULL, id);
}

/* The other lane may have claimed rows ahead, and locked them. */
static void abandon_claims(void)
{
    for (int lane = 0; lane < LANES; lane++)
        outbox_abandon(rig.lanes[lane].outbox);
}

static void operate(void)
{
    PGconn *conn = rig.fixture->conn;

    switch (rand() % 8) {
    case 0:
        change_a_parked_row("retry");
        return;
    case 1:
        change_a_parked_row("drop");
        return;
    case 2:
        (void)dead("retry", one_in(2) ? NULL : topics[rand() % TOPICS], NULL);
        return;
    case 3:
        sql(conn, "UPDATE outbox_parked SET topic = '%s' WHERE sent_at IS NULL AND seq %% 3 = %d",
            topics[rand() % TOPICS], rand() % 3);
        return;
    case 4:
        set_pause("sink", sink_names[rand() % SINKS], one_in(2));
        return;
    case 5:
        set_pause("topic", topics[rand() % TOPICS], one_in(2));
        return;
    case 6:
        set_pause("key", one_in(2) ? "k0" : "k1", one_in(2));
        return;
    default:
        sql(conn, "UPDATE outbox_parked SET due = now() WHERE due IS NOT NULL");
    }
}

#define IS_FIRST                                                                                   \
    "NOT EXISTS (SELECT FROM outbox_parked earlier WHERE earlier.sent_at IS NULL"                  \
    " AND earlier.key = head.key AND earlier.id < head.id)"
#define FORGOTTEN "SELECT count(*) FROM outbox_parked head WHERE state = 'behind' AND " IS_FIRST

static void act(void)
{
    switch (rand() % 10) {
    case 0:
    case 1:
        insert_some();
        return;
    case 2:
        set_away(rand() % SINKS, one_in(2));
        return;
    case 3:
        rig.brokers[rand() % LANES][rand() % SINKS].is_away = one_in(2);
        return;
    case 4:
        rig.moods[rand() % TOPICS] = (enum mood)(rand() % 4);
        return;
    case 5:
        change_routes();
        return;
    case 6:
    case 7:
        abandon_claims();
        operate();
        return;
    default:
        step(rand() % LANES);
    }
}

/* Everything works again, and the dead rows are retried. */
static void mend_everything(void)
{
    close_lanes();
    sql(rig.fixture->conn, "DELETE FROM outbox_control WHERE kind LIKE 'paused %%'");
    for (int i = 0; i < TOPICS; i++) {
        rig.moods[i] = ACCEPTED;
        rig.sink_of[i] = i % SINKS;
    }
    set_away(BUS, false);
    set_away(X, false);
    open_lanes();
    (void)dead("retry", NULL, NULL);
}

static void drain(void)
{
    assert_int_equal(lane_run(&rig.lanes[0], true), LANE_DRAINED);
}

static void play(unsigned seed, int episode)
{
    int64_t deadline_ms;

    srand(seed + (unsigned)episode);
    sql(rig.fixture->conn, "SELECT setseed(%f)", (double)(rand() % 1000) / 1000);
    sql(rig.fixture->conn, "TRUNCATE outbox, outbox_parked");
    for (int i = 0; i < TOPICS; i++)
        rig.sink_of[i] = i % SINKS;
    start_anew();
    for (int i = 0; i < 120; i++) {
        act();
        if (rig.overtaken > 0)
            fail_msg("TEST_SEED=%u, episode %d, act %d: overtaken:%s", seed, episode, i, rig.seen);
        if (sql_number(rig.fixture->conn, FORGOTTEN) > 0)
            fail_msg("TEST_SEED=%u, episode %d, act %d: a row waits for no other", seed, episode,
                     i);
    }
    mend_everything();
    deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;
    do {
        sql(rig.fixture->conn, "UPDATE outbox_parked SET due = now() WHERE due IS NOT NULL");
        drain();
        if (harness_now_ms() > deadline_ms)
            fail_msg("TEST_SEED=%u, episode %d: rows are left", seed, episode);
    } while (sql_number(rig.fixture->conn, PARKED("due IS NOT NULL")) > 0);
    if (rig.overtaken > 0 || sql_number(rig.fixture->conn, ALL_UNSENT) > 0)
        fail_msg("TEST_SEED=%u, episode %d: overtaken %d:%s; %lld rows are left", seed, episode,
                 rig.overtaken, rig.seen, sql_number(rig.fixture->conn, ALL_UNSENT));
}

TEST(in_random_histories_no_row_leaves_before_an_earlier_one_of_its_key_and_none_is_left)
{
    const char *given = getenv("TEST_EPISODES");
    int episodes = given != NULL ? (int)strtol(given, NULL, 10) : 3;
    unsigned seed = seed_random();

    open_lanes();
    for (int episode = 0; episode < episodes; episode++)
        play(seed, episode);
}
