/* Tables and settings that are refused, and what notes and dead rows are mistaken for. */
#include "integration/mysql/lane_fixture.h"

#include "mysql/admin.h"
#include "mysql/parked.h"

static struct db_session other; /* whose locks end with the test */

static int end_other_and_tear_down(void **state)
{
    db_end(&other);
    return tear_down(state);
}

FIXTURE(set_up, end_other_and_tear_down)

static const struct claim_request refused_rows = {.payload_max = PAYLOAD_MAX, .refused = true};

/* The note is of the row that had the id before. */
TEST(a_new_row_with_the_id_of_a_sent_one_is_sent)
{
    struct lane_fixture *fixture = *state;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    bool pending = false;

    sql(fixture, "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', 'old');"
                 "CREATE TABLE uses (id BIGINT UNSIGNED NOT NULL,"
                 " FOREIGN KEY (id) REFERENCES outbox (id)) ENGINE=InnoDB;"
                 "INSERT INTO uses VALUES (1)");
    claim(fixture);
    send_all(fixture);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state = 'unsettled'"), 1);
    sql(fixture, "DROP TABLE uses; TRUNCATE TABLE outbox;"
                 "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', 'new')");
    assert_int_equal(number_of(fixture, "SELECT id FROM outbox"), 1);
    sql(fixture, "UPDATE outbox_parked SET due = UTC_TIMESTAMP(6)");
    horizon_connected(fixture->shared.source->horizon, &fixture->outbox->server.identity);
    while (clock_left_ms(deadline_ms) > 0 && !pending &&
           number_of(fixture, "SELECT COUNT(*) FROM outbox") > 0) {
        claim(fixture);
        if (fixture->batch.count == 0)
            claim_by(fixture, fixture->outbox, &fixture->batch, &refused_rows);
        if (fixture->batch.count > 0) {
            pending = fixture->batch.messages[0].verdict == VERDICT_PENDING;
            send_all(fixture);
        }
        (void)usleep(100000);
    }
    assert_true(pending);
}

/* The other lane is of another process, which knows no bounds yet. */
TEST(rows_that_were_sent_and_could_not_be_settled_are_not_sent_by_a_lane_that_knew_no_notes)
{
    struct lane_fixture *fixture = *state;
    struct outbox *late = outbox_open(&fixture->options, NULL, "test/2");

    assert_non_null(late);
    fixture->options.durable_before_publish = false;
    claim_by(fixture, late, &fixture->batch, &(struct claim_request){.payload_max = PAYLOAD_MAX});
    sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100;"
                 "CREATE TABLE uses (id BIGINT UNSIGNED NOT NULL,"
                 " FOREIGN KEY (id) REFERENCES outbox (id)) ENGINE=InnoDB;"
                 "INSERT INTO uses SELECT id FROM outbox");
    for (claim(fixture); fixture->batch.count > 0; claim(fixture))
        send_all(fixture);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state = 'unsettled'"), 100);
    outbox_close(fixture->outbox);
    fixture->outbox = late;
    claim(fixture);
    assert_int_equal(fixture->batch.count, 0);
}

/* The first of them is refused again and again. */
TEST(many_notes_of_one_key_hide_no_other_note)
{
    struct lane_fixture *fixture = *state;

    sql(fixture,
        "INSERT INTO outbox (topic, `key`) SELECT 't', IF(seq < 1500, 'k', 'other')"
        " FROM numbers WHERE seq <= 1500 ORDER BY seq;"
        "INSERT INTO outbox_parked (id, event_id, `key`, state, due)"
        " SELECT id, event_id, `key`, 'refused', UTC_TIMESTAMP(6) - INTERVAL IF(id = 1, -1,"
        " IF(id < 1500, 2, 1)) HOUR FROM outbox");
    claim_by(fixture, fixture->outbox, &fixture->batch, &refused_rows);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].key, "other");
    send_all(fixture);
}

static void on_row(void *closure, const json_t *row)
{
    (void)closure;
    (void)row;
}

static void park_two_dead(struct lane_fixture *fixture)
{
    sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'a'), ('t', 'bb')");
    claim(fixture);
    for (int i = 0; i < 2; i++) {
        fixture->batch.messages[i].outcome = OUTCOME_DEAD;
        fixture->batch.messages[i].reason = "no";
    }
    settle(fixture);
}

TEST(a_retry_waits_for_no_other_parked_row)
{
    struct lane_fixture *fixture = *state;
    const char *const words[] = {"2"};
    const struct parked_request request = {.words = words, .word_count = 1};
    const struct parked_reader reader = {on_row, NULL};
    struct admin *admin = admin_open(&fixture->options, &fixture->error);
    int64_t began_ms;

    assert_non_null(admin);
    park_two_dead(fixture);
    connect_to(&other, fixture->url);
    assert_true(db_execute(&other,
                           "START TRANSACTION; UPDATE outbox_parked SET attempts = 7 WHERE id = 1",
                           &fixture->error) >= 0);
    began_ms = clock_now_ms();
    if (parked_change(admin, PARKED_RETRY, &request, false, &reader, &fixture->error) < 0)
        fail_msg("%s %s", fixture->error.text, fixture->error.words);
    assert_true(clock_now_ms() - began_ms < 2000);
    db_end(&other);
    admin_close(admin);
}

static void *let_go_later(void *closure)
{
    (void)sleep(15);
    db_end(closure);
    return NULL;
}

TEST(a_retry_waits_for_a_batch)
{
    struct lane_fixture *fixture = *state;
    const char *const words[] = {"2"};
    const struct parked_request request = {.words = words, .word_count = 1};
    const struct parked_reader reader = {on_row, NULL};
    struct admin *admin = admin_open(&fixture->options, &fixture->error);
    pthread_t thread;
    int done;

    assert_non_null(admin);
    park_two_dead(fixture);
    connect_to(&other, fixture->url);
    assert_true(db_execute(&other, "START TRANSACTION; UPDATE outbox_slice SET slices = slices",
                           &fixture->error) >= 0);
    assert_int_equal(pthread_create(&thread, NULL, let_go_later, &other), 0);
    done = parked_change(admin, PARKED_RETRY, &request, false, &reader, &fixture->error);
    (void)pthread_join(thread, NULL);
    if (done < 0)
        fail_msg("%s %s", fixture->error.text, fixture->error.words);
    admin_close(admin);
}

TEST(an_id_that_is_not_the_primary_key_is_refused)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "DROP TABLE outbox; CREATE TABLE outbox (event_id VARCHAR(36) PRIMARY KEY,"
                 " id BIGINT UNSIGNED NOT NULL UNIQUE AUTO_INCREMENT, topic TEXT, payload TEXT)");
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), -1);
}

TEST(a_table_with_negative_ids_is_refused)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "ALTER TABLE outbox MODIFY id BIGINT NOT NULL AUTO_INCREMENT;"
                 "INSERT INTO outbox (id, topic) VALUES (7, 't')");
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    sql(fixture, "INSERT INTO outbox (id, topic) VALUES (-7, 't')");
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), -1);
    assert_non_null(strstr(fixture->error.text, "negative ids"));
}

TEST(an_id_that_is_no_integer_is_refused)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "DROP TABLE outbox; CREATE TABLE outbox (id VARCHAR(36) PRIMARY KEY,"
                 " topic TEXT, payload TEXT)");
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), -1);
}

TEST(an_event_id_of_bytes_is_refused)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "ALTER TABLE outbox MODIFY event_id BINARY(16);"
                 "INSERT INTO outbox (event_id, topic, `key`) VALUES"
                 " (X'ff00fe00fd00fc00ff00fe00fd00fc00', 't', 'k'),"
                 " (X'fe00fe00fd00fc00ff00fe00fd00fc00', 't', 'l')");
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), -1);
}

TEST(a_row_is_not_sent_before_its_time_in_a_zone_that_the_server_does_not_know)
{
    struct lane_fixture *fixture = *state;
    static char zone[] = "Europe/Berlin";
    static char due[] = "due_at";

    sql(fixture, "ALTER TABLE outbox ADD due_at DATETIME(6);"
                 "INSERT INTO outbox (topic, `key`, due_at) VALUES"
                 " ('t', 'k', UTC_TIMESTAMP(6) + INTERVAL 1 DAY)");
    fixture->options.time_zone = zone;
    fixture->options.columns[COLUMN_DUE] = due;
    if (outbox_ready(fixture->outbox, &fixture->error) == 0) {
        claim(fixture);
        assert_int_equal(fixture->batch.count, 1);
        assert_int_equal(fixture->batch.messages[0].verdict, VERDICT_EARLY);
    }
}

TEST(what_makes_commits_durable_is_looked_at_with_each_claim)
{
    struct lane_fixture *fixture = *state;
    const struct claim_request request = {.payload_max = PAYLOAD_MAX};
    const char *const settings[] = {"innodb_flush_log_at_trx_commit", "sync_binlog"};
    bool logs = number_of(fixture, "SELECT @@log_bin") == 1;

    for (int i = 0; i < (logs ? 2 : 1); i++) {
        char text[80];
        int claimed;

        sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
        claim(fixture);
        assert_int_equal(fixture->batch.count, 1);
        send_all(fixture);
        (void)snprintf(text, sizeof text, "SET GLOBAL %s = 0", settings[i]);
        sql(fixture, text);
        sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
        do
            claimed = outbox_claim(fixture->outbox, &fixture->batch, &request, &fixture->error);
        while (claimed == 0 && fixture->batch.count == 0 && fixture->batch.has_more);
        outbox_abandon(fixture->outbox);
        (void)snprintf(text, sizeof text, "SET GLOBAL %s = 1", settings[i]);
        sql(fixture, text);
        assert_int_equal(claimed, -1);
        claim(fixture);
        send_all(fixture);
    }
}
