/* What a server does to a lane, and what a lane refuses. */
#include "integration/mysql/lane_fixture.h"

#include "mysql/memory.h"

#include <stdatomic.h>

FIXTURE(set_up, tear_down)

struct operator
{
    struct db_session session;
    const char *text;
    int64_t affected;
};

static bool a_lane_waits(struct db_session *session)
{
    struct error error;
    MYSQL_RES *rows = db_query(session,
                               "SELECT COUNT(*) FROM information_schema.innodb_trx"
                               " WHERE trx_state = 'LOCK WAIT'",
                               &error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    bool is = row != NULL && strcmp(row[0], "0") != 0;

    mysql_free_result(rows);
    return is;
}

/* Once the lane waits for a lock; else the test fails by what it settles. InnoDB shows the same
 * innodb_trx for as long as it is read more often than every 100 ms. */
static void *operate(void *closure)
{
    struct operator* operator= closure;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    struct error error;

    while (!a_lane_waits(&operator->session) && clock_left_ms(deadline_ms) > 0)
        (void)usleep(150000);
    operator->affected = db_execute(&operator->session, operator->text, &error);
    return NULL;
}

/* The other transaction has changed more rows, so that the server ends that of the lane. */
TEST(after_a_deadlock_nothing_is_settled_and_the_rows_are_claimed_again)
{
    struct lane_fixture *fixture = *state;
    struct operator operator= {.text = "UPDATE outbox SET type = 'y' WHERE id = 1"};
    pthread_t thread;

    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'a', '1'), ('t', 'b', '2');"
        "CREATE TABLE weight (id INT PRIMARY KEY) ENGINE=InnoDB");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    connect_to(&operator.session, fixture->url);
    assert_true(db_execute(&operator.session,
                           "START TRANSACTION; INSERT INTO weight SELECT seq FROM numbers;"
                           " UPDATE outbox SET type = 'x' WHERE id = 2",
                           &fixture->error) >= 0);
    assert_int_equal(pthread_create(&thread, NULL, operate, &operator), 0);
    for (int i = 0; i < 2; i++)
        fixture->batch.messages[i].outcome = OUTCOME_SENT;
    assert_int_equal(outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error), -1);
    assert_int_equal(fixture->error.cause, ERROR_LOCKED);
    (void)pthread_join(thread, NULL);
    assert_int_equal(operator.affected, 1);
    assert_true(db_execute(&operator.session, "COMMIT", &fixture->error) >= 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 2);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2);
    send_all(fixture);
    db_end(&operator.session);
}

static void *kill_again_and_again(void *closure)
{
    struct lane_fixture *fixture = closure;
    struct db_session session;
    struct error error;
    char victims[320];
    unsigned seed = 1;

    (void)snprintf(
        victims, sizeof victims,
        "SELECT id FROM information_schema.processlist WHERE db = DATABASE()"
        " AND id NOT IN (CONNECTION_ID(), %lu) AND info IS NOT NULL ORDER BY RAND() LIMIT 1",
        mysql_thread_id(fixture->db.conn));
    connect_to(&session, fixture->url);
    while (!stop_requested(&fixture->stop)) {
        MYSQL_RES *rows = db_query(&session, victims, &error);
        MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
        char text[48];

        if (row != NULL) {
            (void)snprintf(text, sizeof text, "KILL %s", row[0]);
            (void)db_execute(&session, text, &error);
        }
        mysql_free_result(rows);
        (void)usleep((useconds_t)(rand_r(&seed) % 200000));
    }
    db_end(&session);
    return NULL;
}

/* Statements of the lane and of the watcher are hit while they run, COMMIT among them. */
/* A hundred rows of each of ten keys, numbered within their key. */
static void insert_more(struct lane_fixture *fixture, int *rounds)
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "INSERT INTO outbox (topic, `key`, payload) SELECT 't', seq MOD 10,"
                   " %d + (seq + 9) DIV 10 FROM numbers WHERE seq <= 1000 ORDER BY seq",
                   100 * (*rounds)++);
    sql(fixture, text);
}

static int note_order(const struct batch *batch, long long last[10])
{
    int wrong = 0;

    for (int i = 0; i < batch->count; i++) {
        int key = (int)strtol(batch->messages[i].key.data, NULL, 10);
        long long number = strtoll(batch->messages[i].payload.data, NULL, 10);

        wrong += number > last[key] + 1;
        if (number > last[key])
            last[key] = number;
        batch->messages[i].outcome = OUTCOME_SENT;
    }
    return wrong;
}

TEST(a_lane_that_is_killed_at_any_statement_settles_every_row_at_last_and_in_order)
{
    struct lane_fixture *fixture = *state;
    const struct claim_request request = {.payload_max = PAYLOAD_MAX};
    int64_t deadline_ms = clock_now_ms() + 60000;
    long long last[10] = {0};
    pthread_t killer;
    int rounds = 0;
    int wrong = 0;

    fixture->options.batch = 50;
    fixture->options.durable_before_publish = false; /* the watcher is killed too */
    insert_more(fixture, &rounds);
    assert_int_equal(pthread_create(&killer, NULL, kill_again_and_again, fixture), 0);
    while (clock_left_ms(deadline_ms) > 0) {
        if (number_of(fixture, "SELECT COUNT(*) FROM outbox") == 0) {
            if (outbox_connections(fixture->outbox) > 10)
                break;
            insert_more(fixture, &rounds);
        }
        if (outbox_ready(fixture->outbox, &fixture->error) < 0 ||
            outbox_claim(fixture->outbox, &fixture->batch, &request, &fixture->error) < 0) {
            outbox_abandon(fixture->outbox);
            continue;
        }
        wrong += note_order(&fixture->batch, last);
        if (fixture->batch.count > 0)
            (void)outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error);
    }
    stop_request(&fixture->stop);
    (void)pthread_join(killer, NULL);
    assert_int_equal(wrong, 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(last[i], 100 * rounds);
}

/* The numbers of sessions begin again. */
static void connect_by_number(struct db_session *session, const char *url, unsigned long number)
{
    do {
        db_end(session);
        connect_to(session, url);
    } while (mysql_thread_id(session->conn) < number);
    assert_int_equal(mysql_thread_id(session->conn), number);
}

TEST(a_session_that_has_the_number_of_a_lane_s_last_one_is_not_ended)
{
    struct lane_fixture *fixture = *state;
    struct db_session innocent = {.conn = NULL};
    unsigned long number;
    int settled;

    end_watcher(fixture);
    sql(fixture, "INSERT INTO outbox (topic) VALUES ('t')");
    for (number = 0; number < 50; number = mysql_thread_id(innocent.conn)) {
        db_end(&innocent);
        connect_to(&innocent, fixture->url);
    }
    claim(fixture);
    number = mysql_thread_id(fixture->outbox->session.conn);
    fixture->batch.messages[0].outcome = OUTCOME_UNSENT;
    assert_int_equal(system("tests/support/services kill mariadb"), 0);
    settled = outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error);
    assert_int_equal(system("tests/support/services start mariadb"), 0);
    assert_int_equal(settled, -1);
    connect_by_number(&innocent, fixture->url, number);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    assert_true(db_execute(&innocent, "DO 1", &fixture->error) >= 0);
    db_end(&innocent);
    db_end(&fixture->db);
    connect_to(&fixture->db, fixture->url);
    begin_watcher(fixture);
}

TEST(a_lane_s_session_ends_the_one_before_it)
{
    struct lane_fixture *fixture = *state;
    MYSQL *left;

    sql(fixture, "INSERT INTO outbox (topic) VALUES ('t')");
    claim(fixture);
    left = fixture->outbox->session.conn;
    fixture->outbox->session.conn = NULL;
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    send_all(fixture);
    mysql_close(left);
}

TEST(rows_are_on_disk_before_they_are_claimed)
{
    struct lane_fixture *fixture = *state;

    if (number_of(fixture, "SELECT @@log_bin") == 1)
        return; /* they are before they are visible */
    sql(fixture, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_control WHERE name = 'flush'"),
                     1);
    send_all(fixture);
}

static void assert_refused(struct lane_fixture *fixture, const char *words)
{
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), -1);
    if (strstr(fixture->error.text, words) == NULL)
        fail_msg("%s", fixture->error.text);
    assert_int_equal(fixture->error.kind, ERROR_PERMANENT);
}

TEST(what_cannot_be_relayed_is_refused_with_its_reason)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "SET GLOBAL innodb_flush_log_at_trx_commit = 2");
    assert_refused(fixture, "durable_before_publish needs innodb_flush_log_at_trx_commit = 1");
    fixture->options.durable_before_publish = false;
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    sql(fixture, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    sql(fixture, "UPDATE outbox_slice SET slices = 32");
    assert_refused(fixture, "says 32 slices, the configuration says 64");
    sql(fixture,
        "UPDATE outbox_slice SET slices = 64; ALTER TABLE outbox RENAME COLUMN topic TO subject");
    assert_refused(fixture, "has no column topic");
    sql(fixture, "ALTER TABLE outbox RENAME COLUMN subject TO topic; RENAME TABLE outbox TO events;"
                 " CREATE VIEW outbox AS SELECT * FROM events");
    assert_refused(fixture, "a view");
    sql(fixture, "DROP VIEW outbox");
    assert_refused(fixture, "there is no table outbox");
    sql(fixture,
        "CREATE TABLE outbox (id BIGINT PRIMARY KEY, topic TEXT, payload TEXT) ENGINE=MyISAM");
    assert_refused(fixture, "another engine than InnoDB");
}

TEST(keys_are_told_apart_by_their_bytes)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'a', '1')");
    claim(fixture);
    fixture->batch.messages[0].outcome = OUTCOME_DEAD;
    fixture->batch.messages[0].reason = "no";
    settle(fixture);
    sql(fixture,
        "INSERT INTO outbox (topic, `key`, payload) VALUES"
        " ('t', 'A', '2'), ('t', 'a ', '3'), ('t', X'6100', '4'), ('t', 'a', '5'), ('t', NULL, '6')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fixture->batch.messages[i].blocked, i == 3);
}

TEST(a_latin1_key_and_text_are_sent_as_utf8)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "ALTER TABLE outbox MODIFY `key` VARCHAR(20) CHARACTER SET latin1,"
                 " MODIFY payload TEXT CHARACTER SET latin1;"
                 "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'é', 'ü')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].key, "é");
    assert_text(fixture->batch.messages[0].payload, "ü");
    fixture->batch.messages[0].outcome = OUTCOME_PARK;
    fixture->batch.messages[0].reason = "later";
    settle(fixture);
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].key, "é");
    assert_text(fixture->batch.messages[0].payload, "ü");
    send_all(fixture);
}

static int told;

static void on_acknowledged(void *closure, const struct acknowledged *item)
{
    (void)closure;
    assert_string_equal(item->sink, "main");
    told = (int)item->position;
}

static void on_began(void *closure, int64_t began_ms)
{
    (void)closure;
    assert_true(began_ms > 0);
}

TEST(what_is_paused_and_acknowledged_is_read_from_the_control_table)
{
    struct lane_fixture *fixture = *state;
    const struct memory_reader reader = {on_acknowledged, on_began, NULL};

    sql(fixture,
        "INSERT INTO outbox_control (kind, name, set_at) VALUES ('paused topic', 'shop.>', '2026-01-01'),"
        " ('paused key', 'k 1', '2026-01-02')");
    claim(fixture);
    assert_string_equal(outbox_pauses(fixture->outbox), "paused topic shop.>\npaused key k 1");
    for (int i = 0; i < 3; i++) {
        static const char *const items[] = {
            "[{\"name\":\"main/t\",\"sink\":\"main\",\"destination\":\"t\",\"partition\":-1,\"identity\":\"x\",\"position\":7,\"first_ms\":1}]",
            "[{\"name\":\"main/t\",\"sink\":\"main\",\"destination\":\"t\",\"partition\":-1,\"identity\":\"x\",\"position\":5,\"first_ms\":1}]",
            "[{\"name\":\"main/t\",\"sink\":\"main\",\"destination\":\"t\",\"partition\":-1,\"identity\":\"y\",\"position\":3,\"first_ms\":1}]"};
        static const int wanted[] = {7, 7, 3};

        assert_int_equal(memory_keep_acknowledged(&fixture->outbox->tables, &fixture->db, items[i],
                                                  &fixture->error),
                         0);
        assert_int_equal(outbox_read_acknowledged(fixture->outbox, &reader, &fixture->error), 0);
        assert_int_equal(told, wanted[i]);
    }
    told = -1;
    assert_int_equal(
        memory_keep_loss(
            &fixture->outbox->tables, &fixture->db,
            "{\"name\":\"main/t\",\"sink\":\"main\",\"destination\":\"\",\"text\":\"gone\",\"since\":null}",
            &fixture->error),
        0);
    assert_int_equal(outbox_read_acknowledged(fixture->outbox, &reader, &fixture->error), 0);
    assert_int_equal(told, -1);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox_control WHERE name = 'lost main/t'"), 1);
}
