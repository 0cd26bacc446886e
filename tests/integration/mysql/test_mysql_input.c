/* Rows and tables that an application should not make, and errors at each statement: what cannot be
 * sent holds up its own key alone. */
#include "integration/mysql/lane_fixture.h"

#include "mysql/admin.h"
#include "mysql/parked.h"
#include "mysql/statements.h"

FIXTURE(set_up, tear_down)

/* Of these columns, in place of the outbox. */
static void replace_table(struct lane_fixture *fixture, const char *columns)
{
    char text[640];

    (void)snprintf(text, sizeof text,
                   "DROP TABLE outbox; DELETE FROM outbox_parked; CREATE TABLE outbox (%s)"
                   " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4",
                   columns);
    sql(fixture, text);
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
}

static void settle_as(struct lane_fixture *fixture, enum outcome outcome, const char *reason)
{
    for (int i = 0; i < fixture->batch.count; i++) {
        fixture->batch.messages[i].outcome = outcome;
        fixture->batch.messages[i].reason = reason;
    }
    settle(fixture);
}

/* As outcome_decide() does. */
static void settle_by_verdict(struct lane_fixture *fixture)
{
    for (int i = 0; i < fixture->batch.count; i++) {
        struct message *message = &fixture->batch.messages[i];

        message->outcome = message->verdict == VERDICT_REJECTED  ? OUTCOME_DEAD
                           : message->verdict == VERDICT_REFUSED ? OUTCOME_REFUSED
                                                                 : OUTCOME_SENT;
        if (message->blocked)
            message->outcome = OUTCOME_BEHIND;
    }
    settle(fixture);
}

/* ---- keys and topics ---- */

#define EMOJI "\xf0\x9f\x98\x80"

/* A topic is text, so that a column of bytes is tried as a key alone. */
static void assert_key_kept(struct lane_fixture *fixture, const char *type, const char *key,
                            const char *other)
{
    bool is_text = strstr(type, "BINARY") == NULL && strstr(type, "BLOB") == NULL;
    const char *topic = is_text ? key : "'t'";
    char text[400];

    (void)snprintf(text, sizeof text,
                   "id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, topic %s, `key` %s,"
                   " payload TEXT",
                   is_text ? type : "TEXT", type);
    replace_table(fixture, text);
    (void)snprintf(text, sizeof text, "INSERT INTO outbox (topic, `key`) VALUES (%s, %s)", topic,
                   key);
    sql(fixture, text);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_non_null(fixture->batch.messages[0].key.data);
    if (is_text && !text_equal(fixture->batch.messages[0].topic, fixture->batch.messages[0].key))
        fail_msg("%s: %s is another text as a topic", type, key);
    settle_as(fixture, OUTCOME_DEAD, "no");
    (void)snprintf(text, sizeof text, "INSERT INTO outbox (topic, `key`) VALUES (%s, %s), (%s, %s)",
                   topic, key, topic, other);
    sql(fixture, text);
    claim(fixture);
    if (fixture->batch.count != 2 || !fixture->batch.messages[0].blocked ||
        fixture->batch.messages[1].blocked)
        fail_msg("%s: %s, and not %s, waits for the dead row", type, key, other);
    settle_by_verdict(fixture);
    sql(fixture, "UPDATE outbox_parked SET state = 'retry', due = UTC_TIMESTAMP(6)"
                 " WHERE state = 'dead'");
    claim_parked(fixture);
    if (fixture->batch.count != 2 ||
        !text_equal(fixture->batch.messages[0].key, fixture->batch.messages[1].key))
        fail_msg("%s: %s is parked as another key", type, key);
    send_all(fixture);
}

TEST(rows_of_a_key_wait_for_each_other_whatever_its_column_is)
{
    struct lane_fixture *fixture = *state;
    static const struct {
        const char *type, *key, *other;
    } kinds[] = {
        {"VARCHAR(99) CHARACTER SET latin1", "'\u00e9'", "'e'"},
        {"VARCHAR(99) CHARACTER SET latin1", "'a'", "'A'"},
        {"VARCHAR(99) COLLATE utf8mb4_general_ci", "'a'", "'a '"},
        {"VARCHAR(99) COLLATE utf8mb4_general_ci", "'e'", "'\u00e9'"},
        {"VARCHAR(99) CHARACTER SET utf16", "'" EMOJI "'", "'" EMOJI EMOJI "'"},
        {"TEXT", "'" EMOJI "'", "''"},
        {"VARBINARY(1024)", "X'6100'", "X'61'"},
        {"VARBINARY(1024)", "REPEAT('k', 1024)", "REPEAT('k', 1023)"},
        {"BINARY(16)", "X'ff00fe'", "X'ff00ff'"},
        {"BLOB", "REPEAT(X'ff', 2000)", "REPEAT(X'fe', 2000)"},
        {"TINYINT", "-128", "127"},
        {"BIGINT UNSIGNED", "18446744073709551615", "18446744073709551614"},
        {"DECIMAL(30, 4)", "1.5", "1.6"},
        {"DOUBLE", "0.1", "0.2"},
        {"DATE", "'2026-01-01'", "'2026-01-02'"},
        {"DATETIME(6)", "'2026-01-01 00:00:00.000001'", "'2026-01-01 00:00:00.000002'"},
        {"JSON", "'{\"a\": 1}'", "'{\"a\": 2}'"},
        {"ENUM('a', 'b')", "'a'", "'b'"},
        {"SET('a', 'b')", "'a,b'", "'a'"},
    };

    end_watcher(fixture);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_key_kept(fixture, kinds[i].type, kinds[i].key, kinds[i].other);
    begin_watcher(fixture);
}

/* ---- other columns ---- */

/* Each row behind a bad one is of its key, and the last one is of another. */
TEST(a_row_of_bad_values_holds_up_its_key_alone)
{
    struct lane_fixture *fixture = *state;
    static const char *const bad[] = {
        "topic = 't', event_id = X'ff00fe'",
        "event_id = 'e', topic = X'74ff00'",
        "event_id = 'e', topic = REPEAT('t', 100000)",
        "event_id = 'e', topic = NULL",
        "topic = 't', event_id = NULL",
        "topic = 't', event_id = 'e', type = X'ff00fe'",
        "topic = 't', event_id = 'e', type = REPEAT('t', 200000)",
        "topic = 't', event_id = 'e', headers = X'ff00fe'",
        "topic = 't', event_id = 'e', headers = ''",
        "topic = 't', event_id = 'e', headers = '[1]'",
        "topic = 't', event_id = 'e', headers = '{\"a\": {}}'",
        "topic = 't', event_id = 'e', headers = '{\"a\": 1, \"a\": 2}'",
        "topic = 't', event_id = 'e', created_at = 'never'",
    };
    const int count = sizeof bad / sizeof *bad;
    char text[200];

    end_watcher(fixture);
    replace_table(fixture, "id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, event_id LONGBLOB,"
                           " topic LONGBLOB, `key` INT, type LONGBLOB, payload LONGBLOB,"
                           " headers LONGBLOB, created_at VARCHAR(99)");
    for (int i = 0; i < count; i++) {
        (void)snprintf(text, sizeof text, "INSERT INTO outbox SET %s, `key` = %d", bad[i], i);
        sql(fixture, text);
    }
    (void)snprintf(text, sizeof text,
                   "INSERT INTO outbox (topic, `key`, event_id) SELECT 't', seq - 1, 'f'"
                   " FROM numbers WHERE seq <= %d ORDER BY seq",
                   count + 1);
    sql(fixture, text);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 2 * count + 1);
    for (int i = 0; i < fixture->batch.count; i++) {
        fixture->batch.messages[i].outcome = i < count       ? OUTCOME_DEAD
                                             : i < 2 * count ? OUTCOME_BEHIND
                                                             : OUTCOME_SENT;
        if (fixture->batch.messages[i].reason == NULL)
            fixture->batch.messages[i].reason = "no \"\xff\"";
    }
    settle(fixture);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state IN ('dead', 'refused')"),
        count);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state = 'behind'"), count);
    /* those whose values the parked table cannot hold stay in the outbox, each with a note */
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 5);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state = 'refused'"
                                        " AND error LIKE '%refuses to park%'"),
                     5);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 0);
    begin_watcher(fixture);
}

TEST(a_payload_that_is_an_expression_keeps_its_bytes)
{
    struct lane_fixture *fixture = *state;
    static char payload[] = "(IF(o.type = 'b', o.payload, CONVERT('\u00e9' USING latin1)))";
    static char bytes[] = "(o.payload)";

    sql(fixture, "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k', X'ff00fe')");
    for (int i = 0; i < 2; i++) {
        fixture->options.columns[COLUMN_PAYLOAD] = i == 0 ? bytes : payload;
        outbox_reopen(fixture->outbox, &fixture->options, NULL);
        claim(fixture);
        assert_int_equal(fixture->batch.count, 1);
        if (i == 0)
            assert_memory_equal(fixture->batch.messages[0].payload.data, "\xff\0\xfe", 3);
        outbox_abandon(fixture->outbox);
    }
}

/* Each claim that fails ends the session; the lane connects anew. */
static void claim_past_errors(struct lane_fixture *fixture, bool refused, bool away)
{
    const struct claim_request request = {
        .payload_max = PAYLOAD_MAX, .refused = refused, .away = away};
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    do {
        fixture->outbox->choice.width = 64;
        if (outbox_ready(fixture->outbox, &fixture->error) < 0 ||
            outbox_claim(fixture->outbox, &fixture->batch, &request, &fixture->error) < 0) {
            assert_int_equal(fixture->error.cause, ERROR_OF_ROW);
            outbox_abandon(fixture->outbox);
        }
    } while (fixture->batch.count == 0 && clock_left_ms(deadline_ms) > 0);
    assert_true(fixture->batch.count > 0);
}

/* For the row of the type "bad". `away`: among rows of a sink that is away. */
static void fail_for_a_row(struct lane_fixture *fixture, enum column column, char *expression,
                           bool away)
{
    struct route entries[2] = {{.sink = 0}, {.sink = 1}};
    const struct routes routes = {.entries = entries, .count = 2};
    int others = away ? 30 : 0;
    char why[128], text[400];
    int sent = 0;

    assert_int_equal(match_parse(&entries[0].match, "away", why, sizeof why), 0);
    assert_int_equal(match_parse(&entries[1].match, "t", why, sizeof why), 0);
    end_watcher(fixture);
    fixture->options.columns[column] = expression;
    outbox_reopen(fixture->outbox, &fixture->options, &routes);
    (void)snprintf(text, sizeof text,
                   "INSERT INTO outbox (topic, `key`) SELECT 'away', seq FROM numbers WHERE seq <="
                   " %d; INSERT INTO outbox (topic, `key`, type) SELECT 't', IF(seq IN (9, 20),"
                   " 'k', seq), IF(seq = 9, 'bad', 'good') FROM numbers WHERE seq <= 30"
                   " ORDER BY seq",
                   others);
    sql(fixture, text);
    while (sent < 28) {
        claim_past_errors(fixture, false, away);
        for (int i = 0; i < fixture->batch.count; i++) {
            bool of_key = text_equal(fixture->batch.messages[i].key, text_of("k"));

            assert_int_equal(fixture->batch.messages[i].blocked, sent > 8 && of_key);
            sent += !of_key;
        }
        settle_by_verdict(fixture);
    }
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state = 'refused'"
                                        " AND error LIKE '%cannot read this row%'"),
                     1);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked JOIN outbox"
                                        " USING (id) WHERE outbox.type = 'bad'"),
                     1);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state ="
                                        " 'behind'"),
                     1);
    for (int i = 0; i < 2; i++) { /* it is tried again until somebody corrects it */
        sql(fixture, "UPDATE outbox_parked SET due = UTC_TIMESTAMP(6) WHERE state = 'refused'");
        claim_past_errors(fixture, true, away);
        assert_int_equal(fixture->batch.count, 1);
        assert_int_equal(fixture->batch.messages[0].verdict == VERDICT_REFUSED, i == 0);
        settle_by_verdict(fixture);
        sql(fixture, "UPDATE outbox SET type = 'good'");
    }
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 1);
    send_all(fixture);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), others);
    match_free(&entries[0].match);
    match_free(&entries[1].match);
    begin_watcher(fixture);
}

TEST(a_row_for_which_an_expression_fails_holds_up_its_key_alone)
{
    static char topic[] = "(IF(o.type = 'bad', (SELECT 1 UNION SELECT 2), o.topic))";

    fail_for_a_row(*state, COLUMN_TOPIC, topic, false);
}

TEST(so_it_does_among_rows_of_a_sink_that_is_away)
{
    static char topic[] = "(IF(o.type = 'bad', (SELECT 1 UNION SELECT 2), o.topic))";

    fail_for_a_row(*state, COLUMN_TOPIC, topic, true);
}

TEST(so_it_does_before_rows_that_go_to_another_sink)
{
    static char headers[] = "(IF(o.type = 'bad', (SELECT 1 UNION SELECT 2), '{}'))";

    fail_for_a_row(*state, COLUMN_HEADERS, headers, true);
}

TEST(so_does_one_whose_event_id_fails)
{
    static char event_id[] = "(IF(o.type = 'bad', (SELECT 1 UNION SELECT 2), o.event_id))";

    fail_for_a_row(*state, COLUMN_EVENT_ID, event_id, false);
}

TEST(so_does_one_that_could_be_parked)
{
    static char created_at[] = "(IF(o.type = 'bad', (SELECT NOW() UNION SELECT 2), o.created_at))";

    fail_for_a_row(*state, COLUMN_CREATED_AT, created_at, false);
}

/* Else this lane would take a key for one of another slice than a lane that connects now. */
TEST(a_lane_sees_that_its_table_was_changed)
{
    struct lane_fixture *fixture = *state;
    int slice;

    sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', '\u00e9')");
    claim(fixture);
    slice = fixture->batch.messages[0].slice;
    outbox_abandon(fixture->outbox);
    await_number(fixture,
                 "SELECT CREATE_TIME < NOW() FROM information_schema.TABLES"
                 " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox'",
                 1);
    sql(fixture, "ALTER TABLE outbox MODIFY `key` VARCHAR(99) CHARACTER SET utf8mb4;"
                 "ALTER TABLE outbox MODIFY `key` VARCHAR(99) CHARACTER SET latin1");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].key, "\u00e9");
    assert_int_equal(fixture->batch.messages[0].slice, slice);
    send_all(fixture);
}

/* The server says only in which second a table was changed. */
TEST(a_lane_sees_a_change_in_the_second_in_which_it_has_connected)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "DO SLEEP(1.01 - MICROSECOND(NOW(6)) / 1000000); ALTER TABLE outbox MODIFY `key`"
                 " VARCHAR(99) CHARACTER SET latin1");
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    sql(fixture, "ALTER TABLE outbox MODIFY `key` VARBINARY(99);"
                 "INSERT INTO outbox (topic, `key`) VALUES ('t', X'e9')");
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    assert_text(fixture->batch.messages[0].key, "\xe9");
    send_all(fixture);
}

/* As pt-online-schema-change does it: triggers keep the copy up to date until it takes the place.
 */
TEST(rows_are_sent_once_and_in_order_while_their_table_is_copied_and_replaced)
{
    struct lane_fixture *fixture = *state;
    const char *const steps[] = {
        "CREATE TABLE copy LIKE outbox",
        "CREATE TRIGGER copy_del AFTER DELETE ON outbox FOR EACH ROW"
        " DELETE IGNORE FROM copy WHERE copy.id <=> OLD.id",
        "CREATE TRIGGER copy_ins AFTER INSERT ON outbox FOR EACH ROW REPLACE INTO copy (id, topic,"
        " `key`) VALUES (NEW.id, NEW.topic, NEW.`key`)",
        "INSERT IGNORE INTO copy SELECT * FROM outbox WHERE id <= 60 LOCK IN SHARE MODE",
        "INSERT IGNORE INTO copy SELECT * FROM outbox WHERE id > 60 LOCK IN SHARE MODE",
        "RENAME TABLE outbox TO gone, copy TO outbox",
        "DROP TABLE gone",
        "ALTER TABLE outbox FORCE", /* what OPTIMIZE does */
    };
    const int step_count = sizeof steps / sizeof *steps;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    long long last = 0;
    int sent = 0;

    fixture->options.batch = 7;
    for (int i = 0; i < step_count || number_of(fixture, "SELECT COUNT(*) FROM outbox") > 0; i++) {
        assert_true(clock_left_ms(deadline_ms) > 0);
        if (i < step_count) {
            sql(fixture, "INSERT INTO outbox (topic, `key`) SELECT 't', 'k' FROM numbers"
                         " WHERE seq <= 20");
            sql(fixture, steps[i]);
        }
        claim(fixture);
        for (int k = 0; k < fixture->batch.count; k++) {
            long long id = strtoll(fixture->batch.messages[k].id.data, NULL, 10);

            assert_true(id > last);
            last = id;
        }
        sent += fixture->batch.count;
        if (fixture->batch.count > 0)
            send_all(fixture);
    }
    assert_int_equal(sent, 20 * step_count);
}

/* ---- times ---- */

TEST(a_row_whose_time_is_no_time_is_parked_without_it)
{
    struct lane_fixture *fixture = *state;
    char *oldest;

    sql(fixture, "ALTER TABLE outbox MODIFY created_at DATETIME(6);"
                 "SET sql_mode = 'ALLOW_INVALID_DATES';"
                 "INSERT INTO outbox (topic, `key`, created_at) VALUES ('t', 1, '0000-00-00'),"
                 " ('t', 2, '2026-00-00'), ('t', 3, '2026-02-31'), ('t', 4, '1000-01-01'),"
                 " ('t', 5, NULL), ('t', 6, '2026-01-02 03:04:05.678901')");
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    assert_int_equal(outbox_ready(fixture->outbox, &fixture->error), 0);
    oldest =
        tables_statement(&fixture->outbox->tables, db_sql_status_oldest, &(struct sql_fact){NULL});
    assert_in_range(number_of(fixture, oldest), 1, 1000000000); /* not since 1970 */
    free(oldest);
    for (int parked = 0; parked < 2; parked++) {
        if (parked)
            claim_parked(fixture);
        else
            claim(fixture);
        assert_int_equal(fixture->batch.count, 6);
        for (int i = 0; i < 5; i++)
            if (i == 2 && !fixture->db.is_mariadb) /* MySQL reads the third of March */
                assert_text(fixture->batch.messages[i].created_at, "2026-03-03T00:00:00.000000Z");
            else
                assert_null(fixture->batch.messages[i].created_at.data);
        assert_text(fixture->batch.messages[5].created_at, "2026-01-02T03:04:05.678901Z");
        settle_as(fixture, parked ? OUTCOME_SENT : OUTCOME_PARK, "no");
    }
}

TEST(a_row_that_is_due_in_9999_is_not_sent)
{
    struct lane_fixture *fixture = *state;
    static char due[] = "due_at";
    const enum verdict wanted[] = {VERDICT_EARLY, VERDICT_EARLY, VERDICT_PENDING, VERDICT_PENDING};

    sql(fixture, "ALTER TABLE outbox ADD due_at DATETIME(6); SET sql_mode = '';"
                 "INSERT INTO outbox (topic, `key`, due_at) VALUES"
                 " ('t', 1, '9999-12-31 23:59:59.999999'), ('t', 2, '2040-01-01'),"
                 " ('t', 3, '0000-00-00'), ('t', 4, NULL)");
    fixture->options.columns[COLUMN_DUE] = due;
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 4);
    for (int i = 0; i < 4; i++) {
        struct message *message = &fixture->batch.messages[i];

        assert_int_equal(message->verdict, wanted[i]);
        message->retry_ms = message->due_ms;
        message->outcome = message->verdict == VERDICT_EARLY ? OUTCOME_PARK : OUTCOME_SENT;
    }
    settle(fixture);
    sql(fixture, "UPDATE outbox_parked SET due = UTC_TIMESTAMP(6)");
    claim_parked(fixture);
    assert_int_equal(fixture->batch.count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fixture->batch.messages[i].verdict, VERDICT_EARLY);
}

/* ---- ids ---- */

static void assert_all_sent(struct lane_fixture *fixture, int wanted)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    int sent = 0;

    while (sent < wanted && clock_left_ms(deadline_ms) > 0) {
        claim(fixture);
        sent += fixture->batch.count;
        if (fixture->batch.count > 0)
            send_all(fixture);
    }
    assert_int_equal(sent, wanted);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
}

TEST(ids_of_a_small_type_are_sent_up_to_the_last_one)
{
    struct lane_fixture *fixture = *state;

    sql(fixture,
        "ALTER TABLE outbox MODIFY id TINYINT NOT NULL AUTO_INCREMENT;"
        "INSERT INTO outbox (id, topic, `key`) VALUES (125, 't', 'a'), (126, 't', 'a'), (127, 't', 'a')");
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    assert_all_sent(fixture, 3);
}

TEST(ids_above_those_of_a_signed_number_are_sent)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "INSERT INTO outbox (id, topic, `key`) VALUES (9223372036854775807, 't', 'b'),"
                 " (9223372036854775808, 't', 'c'), (18446744073709551610, 't', 'd')");
    assert_all_sent(fixture, 3);
    sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'a')");
    assert_all_sent(fixture, 1);
}

/* ---- sizes ---- */

/* The first time in vain, perhaps, when it finds that bounds are void. */
static void claim_large(struct lane_fixture *fixture, bool parked)
{
    const struct claim_request request = {.payload_max = 64 << 20, .parked = parked};
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    fixture->outbox->choice.width = 64;
    do
        claim_by(fixture, fixture->outbox, &fixture->batch, &request);
    while (fixture->batch.count == 0 && clock_left_ms(deadline_ms) > 0);
}

/* Larger than any statement may be. */
TEST(rows_that_are_larger_than_a_packet_are_claimed_and_parked)
{
    struct lane_fixture *fixture = *state;
    static const size_t lengths[] = {4000000, 1400000};
    const struct claim_request of_little = {.payload_max = 1000};

    sql(fixture, "ALTER TABLE outbox MODIFY payload LONGTEXT CHARACTER SET latin1;"
                 "INSERT INTO outbox (topic, `key`, payload) VALUES"
                 " ('t', 'k', REPEAT('p', 4000000)), ('t', 'k', REPEAT('\u00e9', 700000));"
                 "SET GLOBAL max_allowed_packet = 1048576");
    fixture->options.batch_bytes = 64 << 20;
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    fixture->outbox->choice.width = 64;
    claim_by(fixture, fixture->outbox, &fixture->batch, &of_little);
    assert_int_equal(fixture->batch.messages[0].payload_len, 4000000);
    assert_null(fixture->batch.messages[0].payload.data); /* the sink says that it is too large */
    outbox_abandon(fixture->outbox);
    claim_large(fixture, false);
    sql(fixture, "SET GLOBAL max_allowed_packet = 16777216");
    assert_int_equal(fixture->batch.count, 2);
    for (int i = 0; i < 2; i++)
        assert_int_equal(fixture->batch.messages[i].payload.len, lengths[i]);
    settle_as(fixture, OUTCOME_PARK, "no");
    for (int i = 0; i < 2; i++) {
        claim_large(fixture, true);
        assert_int_equal(fixture->batch.count, 1);
        assert_int_equal(fixture->batch.messages[0].payload.len, lengths[i]);
        send_all(fixture);
    }
}

#define MANY 1200
#define MANY_ROWS                                                                                  \
    "INSERT INTO outbox (topic, `key`) SELECT 't', RPAD(seq, 1024, 'k') FROM numbers"              \
    " WHERE seq <= 1200"

/* Their keys, and the reasons why they are parked, have no room in one statement. */
TEST(many_rows_are_parked_and_claimed_in_parts)
{
    struct lane_fixture *fixture = *state;
    char reason[1000];

    memset(reason, 'x', sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    fixture->options.batch = MANY;
    batch_free(&fixture->batch);
    assert_int_equal(batch_init(&fixture->batch, MANY), 0);
    sql(fixture, "SET GLOBAL max_allowed_packet = 1048576");
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    for (int behind = 0; behind < 2; behind++) {
        sql(fixture, MANY_ROWS);
        claim_large(fixture, false);
        sql(fixture, "SET GLOBAL max_allowed_packet = 16777216");
        assert_int_equal(fixture->batch.count, MANY);
        assert_int_equal(fixture->batch.messages[MANY - 1].blocked, behind);
        settle_as(fixture, behind ? OUTCOME_BEHIND : OUTCOME_PARK, reason);
    }
    for (int i = 0; i < 2; i++) {
        claim_large(fixture, true);
        assert_int_equal(fixture->batch.count, MANY);
        send_all(fixture);
    }
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 0);
}

/* ---- servers ---- */

TEST(servers_on_which_a_relay_cannot_keep_its_promises_are_refused)
{
    struct lane_fixture *fixture = *state;
    const struct {
        struct db_server server;
        const char *words;
    } servers[] = {
        {{.is_read_only = true}, "read-only"},
        {{.is_cluster = true}, "Galera"},
        {{.logs_statements = true}, "the binary log has statements"},
        {{.packet_bytes = 1048575}, "max_allowed_packet is 1048575 bytes"},
    };

    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++) {
        assert_int_equal(db_server_check(&servers[i].server, &fixture->options, &fixture->error),
                         -1);
        assert_non_null(strstr(fixture->error.text, servers[i].words));
    }
}

/* As in a switch to another primary that ends no session. */
TEST(a_lane_looks_for_another_server_when_its_own_becomes_read_only)
{
    struct lane_fixture *fixture = *state;
    char url[256];
    int settled, connected;

    sql(fixture, "CREATE USER IF NOT EXISTS relay@'127.0.0.1';"
                 "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO relay@'127.0.0.1';"
                 "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
    (void)snprintf(url, sizeof url, "mysql://relay%s", strchr(fixture->url, '@'));
    end_watcher(fixture);
    fixture->options.url = url;
    outbox_reopen(fixture->outbox, &fixture->options, NULL);
    claim(fixture);
    assert_int_equal(fixture->batch.count, 1);
    fixture->batch.messages[0].outcome = OUTCOME_SENT;
    sql(fixture, "SET GLOBAL read_only = 1");
    settled = outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error);
    connected = outbox_ready(fixture->outbox, &fixture->error);
    sql(fixture, "SET GLOBAL read_only = 0");
    assert_int_equal(settled, -1);
    assert_int_equal(connected, -1);
    assert_non_null(strstr(fixture->error.text, "read-only"));
    assert_all_sent(fixture, 1);
    fixture->options.url = fixture->url;
    begin_watcher(fixture);
}

/* ---- errors at each statement ---- */

/* Each change of the tables of the relay and of the outbox by a session other than the test's is
 * counted, in a table that no transaction takes back; the one that is chosen fails. */
static const char fault_tables[] =
    "CREATE TABLE fault (changes INT, fails_at INT, code INT, refuses INT, spared BIGINT)"
    " ENGINE = MyISAM;"
    "INSERT INTO fault VALUES (0, 0, 0, 0, CONNECTION_ID());"
    "CREATE PROCEDURE change_it() BEGIN"
    " DECLARE is_it, error_code INT DEFAULT 0;"
    " IF CONNECTION_ID() <> (SELECT spared FROM fault) THEN"
    "  UPDATE fault SET changes = changes + 1;"
    "  SELECT changes = fails_at, code INTO is_it, error_code FROM fault;"
    "  IF is_it THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = error_code; END IF;"
    " END IF; END;";

static void make_faults(struct lane_fixture *fixture)
{
    static const char *const tables[] = {"outbox", "outbox_parked", "outbox_control"};
    static const char *const events[] = {"INSERT", "UPDATE", "DELETE"};
    char text[320];

    sql(fixture, fault_tables);
    for (int i = 0; i < 9; i++) {
        bool refuses = i == 1; /* UPDATE of the outbox */

        (void)snprintf(text, sizeof text,
                       "CREATE TRIGGER fault%d BEFORE %s ON %s FOR EACH ROW BEGIN CALL change_it();"
                       " %s END",
                       i, events[i % 3], tables[i / 3],
                       refuses ? "IF OLD.`key` = 'refused' AND (SELECT refuses FROM fault) = 1 THEN"
                                 " SIGNAL SQLSTATE '45000'; END IF;"
                               : "");
        sql(fixture, text);
    }
}

struct faulty {
    struct lane_fixture *fixture;
    struct admin *admin;
    long long last[4]; /* by key */
    int wrong;
    int64_t deadline_ms;
};

static const char *const faulty_keys[] = {"sent", "parked", "dead", "refused"};

static void decide(struct faulty *faulty, struct message *message, bool *is_held)
{
    const struct batch *batch = &faulty->fixture->batch;
    long long number = strtoll(message->payload.data, NULL, 10);
    int key = 0;

    while (!text_equal(message->key, text_of(faulty_keys[key])))
        key++;
    message->outcome = OUTCOME_SENT;
    if (!batch->parked && !batch->refused && (message->blocked || is_held[key]))
        message->outcome = OUTCOME_BEHIND;
    else if (!batch->parked && (key == 1 || key == 2))
        message->outcome = key == 1 ? OUTCOME_PARK : OUTCOME_DEAD;
    is_held[key] = message->outcome != OUTCOME_SENT;
    message->reason = "no";
    if (message->outcome != OUTCOME_SENT || message->is_sent)
        return;
    faulty->wrong += number > faulty->last[key] + 1;
    faulty->last[key] = number;
}

/* As a lane does, which begins anew after an error. */
static void step(struct faulty *faulty, bool parked, bool refused)
{
    struct lane_fixture *fixture = faulty->fixture;
    const struct claim_request request = {
        .payload_max = PAYLOAD_MAX, .parked = parked, .refused = refused};
    bool is_held[4] = {false};

    assert_true(clock_left_ms(faulty->deadline_ms) > 0);
    fixture->outbox->choice.width = 64;
    (void)admin_adopt_waiting(faulty->admin, &fixture->error); /* as the janitor does */
    sql(fixture, "UPDATE outbox_parked SET due = UTC_TIMESTAMP(6) WHERE due IS NOT NULL");
    if (outbox_ready(fixture->outbox, &fixture->error) < 0 ||
        outbox_claim(fixture->outbox, &fixture->batch, &request, &fixture->error) < 0) {
        outbox_abandon(fixture->outbox);
        return;
    }
    for (int i = 0; i < fixture->batch.count; i++)
        decide(faulty, &fixture->batch.messages[i], is_held);
    if (fixture->batch.count > 0)
        (void)outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error);
}

static long long left(struct faulty *faulty, const char *table, const char *condition)
{
    char text[160];

    (void)snprintf(text, sizeof text, "SELECT COUNT(*) FROM %s WHERE sent_at IS NULL AND %s", table,
                   condition);
    return number_of(faulty->fixture, text);
}

static void on_row(void *closure, const json_t *row)
{
    (void)closure;
    (void)row;
}

static void command(struct faulty *faulty, int which)
{
    struct lane_fixture *fixture = faulty->fixture;
    const struct parked_request all = {0};
    const struct parked_reader reader = {on_row, NULL};
    struct purge purge;
    bool changed;
    int failed = 1;

    for (int i = 0; i < 3 && failed != 0; i++) {
        if (which == 0)
            failed =
                parked_change(faulty->admin, PARKED_RETRY, &all, false, &reader, &fixture->error);
        else if (which == 1)
            failed =
                pause_begin(faulty->admin, "paused topic", "t", NULL, &changed, &fixture->error);
        else if (which == 2)
            failed = pause_end(faulty->admin, "paused topic", "t", &changed, &fixture->error);
        else
            failed = admin_purge(faulty->admin, 0, 0, NULL, NULL, &purge, &fixture->error);
    }
    assert_int_equal(failed, 0);
}

/* Everything that changes rows. Two rows of each key. */
static void do_all(struct faulty *faulty)
{
    struct lane_fixture *fixture = faulty->fixture;

    memset(faulty->last, 0, sizeof faulty->last);
    faulty->deadline_ms = clock_now_ms() + DEADLINE_MS;
    sql(fixture, "UPDATE fault SET refuses = 1;"
                 "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'sent', 1),"
                 " ('t', 'parked', 1), ('t', 'dead', 1), ('t', 'refused', 1), ('t', 'sent', 2),"
                 " ('t', 'parked', 2), ('t', 'dead', 2), ('t', 'refused', 2)");
    while (left(faulty, "outbox", "`key` <> 'refused'") > 0) {
        step(faulty, false, false);
        step(faulty, false, true); /* a row that was locked has a note */
    }
    command(faulty, 1);
    sql(fixture, "UPDATE outbox_parked SET state = 'paused', waits_for = 'paused topic t',"
                 " due = NULL WHERE state = 'retry'");
    command(faulty, 2);
    while (left(faulty, "outbox_parked", "`key` = 'parked'") > 0)
        step(faulty, true, false);
    command(faulty, 0);
    while (left(faulty, "outbox_parked", "`key` = 'dead'") > 0)
        step(faulty, true, false);
    step(faulty, false, true);
    sql(fixture, "UPDATE fault SET refuses = 0");
    while (left(faulty, "outbox", "TRUE") + left(faulty, "outbox_parked", "TRUE") > 0) {
        step(faulty, false, true);
        step(faulty, false, false);
        step(faulty, true, false);
    }
    command(faulty, 3);
    for (int i = 0; i < 4; i++)
        assert_int_equal(faulty->last[i], 2);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 0);
    assert_int_equal(faulty->wrong, 0);
}

static int flush_and_tear_down(void **state)
{
    struct lane_fixture *fixture = *state;

    sql(fixture, "SET GLOBAL innodb_flush_log_at_trx_commit = 1");
    return tear_down(state);
}

/* Thousands of commits, which need not be on disk. */
static void fail_at_each_change(struct lane_fixture *fixture, int code)
{
    struct faulty faulty = {.fixture = fixture};
    char text[96];
    int at = 0;

    end_watcher(fixture);
    sql(fixture, "SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    make_faults(fixture);
    faulty.admin = admin_open(&fixture->options, &fixture->error);
    assert_non_null(faulty.admin);
    do {
        (void)snprintf(text, sizeof text, "UPDATE fault SET changes = 0, fails_at = %d, code = %d",
                       ++at, code);
        sql(fixture, text);
        do_all(&faulty);
    } while (number_of(fixture, "SELECT changes >= fails_at FROM fault") == 1);
    assert_true(at > 20);
    admin_close(faulty.admin);
    begin_watcher(fixture);
}

TEST_WITH(a_lock_that_is_waited_for_in_vain_at_any_change_loses_and_reorders_nothing, set_up_mark,
          flush_and_tear_down)
{
    fail_at_each_change(*state, 1205);
}

TEST_WITH(so_does_a_deadlock, set_up_mark, flush_and_tear_down)
{
    fail_at_each_change(*state, 1213);
}
