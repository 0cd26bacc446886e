/*
 * The order trigger. The writers lock nothing before they insert. A transaction takes the counter
 * of a key after its event, so that the counter numbers the transactions of the key as they commit,
 * and nothing but the trigger makes the ids follow it. ORDER_SECONDS=60 makes it last.
 */
#include "integration/mysql/lane_fixture.h"

#include <stdatomic.h>
#include <sys/wait.h>

#define WRITERS 10
#define KEYS 20
#define ROWS_MAX 4
#define TAGS_MAX 500000

FIXTURE(set_up, tear_down)

/* ---- the program ---- */

static char said[65536]; /* by the last one, on both outputs */

/* With these lines in [outbox]. What stands behind the first word of `arguments` may go on in the
 * shell. Returns the status. */
static int run_as(const char *url, const char *outbox, const char *arguments)
{
    const char *program = getenv("RELAY_MYSQL");
    int word = (int)strcspn(arguments, " ");
    char config[64], command[512];
    FILE *file;
    int status;

    (void)snprintf(config, sizeof config, "/tmp/test_mysql_order.%d", (int)getpid());
    file = fopen(config, "w");
    assert_non_null(file);
    (void)fprintf(file,
                  "[database]\nurl = \"%s\"\n[http]\nlisten = \"\"\n[sink.out]\ntype = \"stdout\"\n"
                  "[outbox]\non_sent = \"delete\"\n%s\n",
                  url, outbox);
    (void)fclose(file);
    (void)snprintf(command, sizeof command, "exec 2>&1; %s %.*s -c %s%s",
                   program != NULL ? program : "build/outbox-relay-mysql", word, arguments, config,
                   arguments + word);
    file = popen(command, "r");
    assert_non_null(file);
    said[fread(said, 1, sizeof said - 1, file)] = '\0';
    status = pclose(file);
    (void)unlink(config);
    return WEXITSTATUS(status);
}

static void run(struct lane_fixture *fixture, const char *arguments, const char *words)
{
    int status = run_as(fixture->url, "", arguments);

    if (status != 0 || strstr(said, words) == NULL)
        fail_msg("status %d; \"%s\" is not in: %s", status, words, said);
}

static void refuse(const char *url, const char *outbox, const char *words)
{
    int status = run_as(url, outbox, "init --order-trigger");

    if (status == 0 || strstr(said, words) == NULL)
        fail_msg("status %d; \"%s\" is not in: %s", status, words, said);
}

static void make_trigger(struct lane_fixture *fixture)
{
    run(fixture, "init --order-trigger", "the order trigger locks each key");
}

/* ---- writers ---- */

struct load {
    struct lane_fixture *fixture;
    bool many;       /* also statements of several rows */
    int order[KEYS]; /* the keys in the order of their buckets */
    atomic_bool end;
    atomic_int number, tags, committed;
};

/* What one transaction inserts: keys, and a number for each row. */
struct insert {
    int count;
    int keys[ROWS_MAX], tags[ROWS_MAX];
};

static void choose(struct load *load, unsigned *seed, struct insert *insert)
{
    int rank = 0;

    insert->count = load->many && rand_r(seed) % 3 != 0 ? ROWS_MAX : 1;
    for (int i = 0; i < insert->count; i++) {
        rank += rand_r(seed) % (KEYS / insert->count);
        insert->keys[i] = load->order[rank];
        insert->tags[i] = atomic_fetch_add(&load->tags, 1);
    }
}

static bool insert_rows(struct db_session *session, const struct insert *insert, int kind)
{
    static const struct {
        const char *begin, *row, *between, *end;
    } kinds[] = {
        {"INSERT INTO outbox (topic, `key`, payload) VALUES ", "('t', 'k%d', '%d')", ", ", ""},
        {"INSERT INTO outbox (topic, `key`, payload) SELECT 't', k, p FROM (",
         "SELECT 'k%d' AS k, '%d' AS p", " UNION ALL ", ") r"},
        {"", "t\tk%d\t%d", "\n", "\n"}};
    char text[1024], path[64];
    FILE *out = fmemopen(text, sizeof text, "w");
    struct error error;
    bool done;

    (void)snprintf(path, sizeof path, "/tmp/test_mysql_order.%d.%lu", (int)getpid(),
                   mysql_thread_id(session->conn));
    if (kind == 2) {
        (void)fprintf(out, "LOAD DATA INFILE '%s' INTO TABLE outbox (topic, `key`, payload)", path);
        (void)fclose(out);
        out = fopen(path, "w");
    }
    (void)fputs(kinds[kind].begin, out);
    for (int i = 0; i < insert->count; i++) {
        (void)fputs(i > 0 ? kinds[kind].between : "", out);
        (void)fprintf(out, kinds[kind].row, insert->keys[i], insert->tags[i]);
    }
    (void)fputs(kinds[kind].end, out);
    (void)fclose(out);
    done = db_execute(session, text, &error) >= 0;
    (void)unlink(path);
    return done;
}

static void *write_rows(void *closure)
{
    struct load *load = closure;
    unsigned seed = (unsigned)atomic_fetch_add(&load->number, 1) + 1;
    struct db_session session;
    struct insert insert;
    struct error error;
    char text[256];

    connect_to(&session, load->fixture->url);
    while (!atomic_load(&load->end) && atomic_load(&load->tags) < TAGS_MAX - WRITERS * ROWS_MAX) {
        choose(load, &seed, &insert);
        bool done = db_execute(&session, "START TRANSACTION", &error) >= 0 &&
                    insert_rows(&session, &insert, load->many ? rand_r(&seed) % 3 : 0);

        (void)usleep((useconds_t)(rand_r(&seed) % 4000));
        for (int i = 0; i < insert.count && done; i++) {
            (void)snprintf(text, sizeof text,
                           "UPDATE counters SET n = n + 1 WHERE id = %d;"
                           "INSERT INTO numbered SELECT %d, id, n FROM counters WHERE id = %d",
                           insert.keys[i], insert.tags[i], insert.keys[i]);
            done = db_execute(&session, text, &error) >= 0;
        }
        if (done && db_execute(&session, "COMMIT", &error) >= 0)
            atomic_fetch_add(&load->committed, insert.count);
        else
            (void)db_execute(&session, "ROLLBACK", &error);
    }
    db_end(&session);
    return NULL;
}

/* Of the events as they were sent, those behind a later one of their key; only of statements that
 * began when `from` rows had been numbered, or later. */
static int count_wrong(struct lane_fixture *fixture, const int *sent, int count, int from)
{
    MYSQL_RES *rows = db_query(&fixture->db, "SELECT tag, id, n FROM numbered", &fixture->error);
    int(*of)[2] = calloc(TAGS_MAX, sizeof *of); /* key and number of each */
    int last[KEYS] = {0};
    int wrong = 0;
    MYSQL_ROW row;

    assert_non_null(rows);
    while ((row = mysql_fetch_row(rows)) != NULL)
        for (int i = 0; i < 2; i++)
            of[strtol(row[0], NULL, 10)][i] = (int)strtol(row[1 + i], NULL, 10);
    mysql_free_result(rows);
    for (int i = 0; i < count; i++)
        if (sent[i] >= from) {
            wrong += of[sent[i]][1] <= last[of[sent[i]][0]];
            last[of[sent[i]][0]] = of[sent[i]][1];
        }
    free(of);
    return wrong;
}

static void end_writers(struct load *load, const pthread_t *threads)
{
    atomic_store(&load->end, true);
    for (int i = 0; i < WRITERS; i++)
        (void)pthread_join(threads[i], NULL);
}

/* `late`: the trigger is made meanwhile. Returns how many events were sent out of order, or were so
 * since then. */
static int relay_beside(struct lane_fixture *fixture, bool many, bool late)
{
    const char *seconds = getenv("ORDER_SECONDS");
    int64_t length_ms = 1000 * (seconds != NULL ? strtol(seconds, NULL, 10) : 3);
    int64_t begin_ms = clock_now_ms();
    struct load load = {.fixture = fixture, .many = many};
    int *sent = calloc(TAGS_MAX, sizeof *sent);
    int count = 0, from = 0, wrong;
    pthread_t threads[WRITERS];

    sql(fixture, "CREATE TABLE counters (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB;"
                 "INSERT INTO counters SELECT seq - 1, 0 FROM numbers WHERE seq <= 20;"
                 "CREATE TABLE numbered (tag INT PRIMARY KEY, id INT, n INT) ENGINE=InnoDB");
    for (int i = 0; i < KEYS; i++) {
        char text[128];

        (void)snprintf(
            text, sizeof text,
            "SELECT id FROM counters ORDER BY CRC32(CONCAT('k', id)) MOD 1024 LIMIT %d, 1", i);
        load.order[i] = (int)number_of(fixture, text);
    }
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_rows, &load), 0);
    for (bool ended = false; !ended || fixture->batch.count > 0;) {
        if (late && clock_now_ms() >= begin_ms + length_ms / 3) {
            make_trigger(fixture);
            from = atomic_load(&load.tags);
            begin_ms = clock_now_ms();
            late = false;
        }
        if (!ended && clock_now_ms() >= begin_ms + length_ms) {
            end_writers(&load, threads);
            ended = true;
        }
        claim(fixture);
        for (int i = 0; i < fixture->batch.count; i++)
            sent[count++] = (int)strtol(fixture->batch.messages[i].payload.data, NULL, 10);
        if (fixture->batch.count > 0)
            send_all(fixture);
        else
            (void)usleep(1000);
    }
    wrong = count_wrong(fixture, sent, count, from);
    print_message("%d events, %d out of order\n", count, wrong);
    free(sent);
    assert_int_equal(count, atomic_load(&load.committed));
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_true(atomic_load(&load.tags) > from);
    return wrong;
}

TEST(events_of_writers_that_lock_nothing_are_sent_in_the_order_of_their_commits)
{
    struct lane_fixture *fixture = *state;

    make_trigger(fixture);
    assert_int_equal(relay_beside(fixture, fixture->db.is_mariadb, false), 0);
}

TEST(without_the_trigger_some_are_not)
{
    assert_true(relay_beside(*state, false, false) > 0);
}

TEST(they_are_from_then_on_if_it_is_made_beside_writers_and_a_relay)
{
    struct lane_fixture *fixture = *state;

    assert_int_equal(relay_beside(fixture, fixture->db.is_mariadb, true), 0);
}

/* ---- init and check ---- */

TEST(init_makes_it_once_and_what_it_prints_runs_in_the_client)
{
    struct lane_fixture *fixture = *state;
    char command[256];

    (void)snprintf(command, sizeof command,
                   "init --order-trigger --print | mariadb -S %s -u root lane%d",
                   getenv("TEST_MARIADB_SOCKET"), (int)getpid());
    sql(fixture,
        "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k'), ('t', 'k'); DELETE FROM outbox");
    run(fixture, "check", "note: no trigger locks the keys: the application must lock each key");
    for (int i = 0; i < 2; i++) {
        run(fixture, command, "");
        assert_int_equal(strlen(said), 0);
        run(fixture, "check", "ok: the order trigger locks");
    }
    make_trigger(fixture);
    run(fixture, "status", "order    the trigger locks each key");
    run(fixture, "emit t k 1", "3\n");
    run(fixture, "emit t k 1", "4\n");
}

static void make_role(struct lane_fixture *fixture, const char *rights, char url[256])
{
    char text[300];

    (void)snprintf(
        text, sizeof text,
        "DROP USER IF EXISTS app_of_test@'127.0.0.1'; CREATE USER app_of_test@'127.0.0.1';"
        "GRANT %s TO app_of_test@'127.0.0.1'",
        rights);
    sql(fixture, text);
    (void)snprintf(url, 256, "mysql://app_of_test%s", strchr(fixture->url, '@'));
}

TEST(applications_need_no_right_but_insert_and_missing_rights_are_said_in_a_line)
{
    struct lane_fixture *fixture = *state;
    struct db_session app;
    char url[256];

    make_role(fixture, "SELECT, INSERT, UPDATE, DELETE, CREATE, LOCK TABLES ON *.*", url);
    sql(fixture, "SET GLOBAL log_bin_trust_function_creators = 0");
    if (number_of(fixture, "SELECT @@log_bin") == 1)
        refuse(url, "", "SET GLOBAL log_bin_trust_function_creators = 1;");
    sql(fixture, "SET GLOBAL log_bin_trust_function_creators = 1");
    refuse(url, "", "the role needs CREATE, TRIGGER, LOCK TABLES");
    make_trigger(fixture);
    assert_int_equal(run_as(url, "", "check"), 0);
    assert_non_null(strstr(said, "this role may not look at trigger `outbox_order`"));
    make_role(fixture, "INSERT ON outbox", url);
    connect_to(&app, url);
    if (db_execute(&app, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')", &fixture->error) <
        0)
        fail_msg("%s %s", fixture->error.text, fixture->error.words);
    db_end(&app);
    sql(fixture, "DROP USER app_of_test@'127.0.0.1';"
                 "SET GLOBAL log_bin_trust_function_creators = DEFAULT");
}

TEST(init_gives_way_to_a_transaction_that_stays_open)
{
    struct lane_fixture *fixture = *state;
    struct db_session writer;

    connect_to(&writer, fixture->url);
    assert_true(db_execute(&writer, "START TRANSACTION; INSERT INTO outbox (topic) VALUES ('t')",
                           &fixture->error) >= 0);
    refuse(fixture->url, "", "a transaction that has written to outbox is still open");
    db_end(&writer);
    make_trigger(fixture);
    sql(fixture, "INSERT INTO outbox (topic) VALUES ('t')");
    assert_int_equal(number_of(fixture, "SELECT id FROM outbox"), 2);
}

static void break_and_mend(struct lane_fixture *fixture, const char *how, const char *words)
{
    sql(fixture, how);
    run(fixture, "check", words);
    run(fixture, "status", "order    the application must lock each key");
    make_trigger(fixture);
    run(fixture, "check", "ok: the order trigger locks");
}

TEST(check_names_each_condition_that_is_broken_and_init_mends_it)
{
    static const char events[] = "table = \"events\"";
    struct lane_fixture *fixture = *state;

    make_trigger(fixture);
    break_and_mend(fixture, "DELETE FROM outbox_order WHERE bucket = 7", "lacks buckets");
    break_and_mend(fixture, "DROP TABLE outbox_order", "outbox_order' doesn't exist");
    break_and_mend(fixture, "DROP TRIGGER outbox_order", "note: no trigger locks the keys");
    break_and_mend(fixture, "ALTER TABLE outbox MODIFY `key` VARCHAR(9) CHARACTER SET latin1",
                   "is not the one that init makes");
    break_and_mend(fixture,
                   "CREATE TRIGGER later BEFORE INSERT ON outbox FOR EACH ROW SET NEW.`key` = 'x'",
                   "`later`: if that changes");
    break_and_mend(fixture,
                   "RENAME TABLE outbox TO gone; CREATE TABLE outbox LIKE gone; DROP TABLE gone",
                   "note: no trigger");
    if (fixture->db.is_mariadb) {
        break_and_mend(fixture, "DROP SEQUENCE outbox_order_seq",
                       "outbox_order_seq' doesn't exist");
        break_and_mend(fixture, "ALTER TABLE outbox AUTO_INCREMENT = 70000",
                       "draws ids below AUTO_INCREMENT");
        sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
        assert_int_equal(number_of(fixture, "SELECT id FROM outbox"), 70000);
    }
    sql(fixture, "RENAME TABLE outbox TO events; CREATE TABLE outbox LIKE events");
    refuse(fixture->url, "", "a copy of outbox has a trigger of this name");
    /* one that cannot be replaced stays */
    sql(fixture, "CREATE TABLE other (n INT); CREATE TRIGGER events_order BEFORE INSERT ON other"
                 " FOR EACH ROW SET NEW.n = 1");
    assert_int_not_equal(run_as(fixture->url, events, "init --order-trigger"), 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE"
                                        " TRIGGER_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE ="
                                        " 'events'"),
                     1);
    sql(fixture, "DROP TABLE other");
    assert_int_equal(run_as(fixture->url, events, "init --order-trigger"), 0);
    assert_int_equal(
        number_of(fixture, "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA ="
                           " DATABASE() AND TRIGGER_NAME LIKE '%order'"),
        1);
    make_trigger(fixture);
}

TEST(an_insert_whose_bucket_is_gone_is_refused)
{
    struct lane_fixture *fixture = *state;

    make_trigger(fixture);
    sql(fixture, "DELETE FROM outbox_order WHERE bucket = CRC32('k') MOD 1024;"
                 "INSERT INTO outbox (topic, `key`) VALUES ('t', 'other'), ('t', NULL)");
    assert_int_equal(db_execute(&fixture->db, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')",
                                &fixture->error),
                     -1);
    assert_non_null(strstr(fixture->error.words, "the bucket of this key is gone"));
    make_trigger(fixture);
    sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('t', 'k')");
}

TEST(a_key_of_an_own_table_is_locked_if_it_is_a_column)
{
    static const char own[] =
        "table = \"own 'events\"\n[outbox.columns]\nid = \"seq'no\"\nevent_id = \"seq'no\"\ntopic = \"kind\"\n"
        "key = \"the 'key\"\npayload = \"kind\"\ntype = \"\"\nheaders = \"\"\ncreated_at = \"\"";
    struct lane_fixture *fixture = *state;

    sql(fixture,
        "CREATE TABLE `own 'events` (`seq'no` INT AUTO_INCREMENT PRIMARY KEY, kind VARCHAR(100), `the 'key` INT);"
        "INSERT INTO `own 'events` (kind, `the 'key`) VALUES ('a', 1), ('b', 2)");
    assert_int_equal(run_as(fixture->url, own, "init --order-trigger"), 0);
    assert_int_equal(run_as(fixture->url, own, "check"), 0);
    assert_non_null(strstr(said, "ok: the order trigger locks"));
    sql(fixture, "INSERT INTO `own 'events` (kind, `the 'key`) VALUES ('a', 1)");
    assert_int_equal(number_of(fixture, "SELECT MAX(`seq'no`) FROM `own 'events`"), 3);
    sql(fixture, "ALTER TABLE outbox ADD made VARCHAR(300) AS (CONCAT(topic, 'x'))");
    refuse(fixture->url, "[outbox.columns]\nkey = \"made\"", "its key is a generated column");
    refuse(fixture->url, "[outbox.columns]\nkey = \"(UPPER(o.topic))\"",
           "its key is an expression, and no column");
    refuse(fixture->url, "order = \"none\"",
           "no trigger can keep the order of outbox: it has order = \"none\"");
}

/* ---- every kind of INSERT ---- */

static bool can_insert(struct lane_fixture *fixture, struct db_session *other, const char *key)
{
    char text[128];
    bool can;

    (void)snprintf(text, sizeof text,
                   "START TRANSACTION; INSERT INTO outbox (topic, `key`) VALUES ('t', %s)", key);
    can = db_execute(other, text, &fixture->error) >= 0;
    assert_true(can || other->failure == DB_FAILURE_LOCKED);
    assert_true(db_execute(other, "ROLLBACK", &fixture->error) >= 0);
    return can;
}

TEST(a_key_is_locked_until_the_transaction_ends_and_null_never)
{
    static const char *const transactions[][2] = {
        {"START TRANSACTION; DELETE FROM numbers; SAVEPOINT s; INSERT INTO outbox (topic, `key`) VALUES ('t', 'a'),"
         " ('t', NULL); ROLLBACK TO SAVEPOINT s",
         "COMMIT"},
        {"XA START 'x'; INSERT INTO outbox (topic, `key`) VALUES ('t', 'a'); XA END 'x'; XA PREPARE 'x'",
         "XA COMMIT 'x'"},
        {"ALTER TABLE outbox MODIFY `key` VARBINARY(1); SET sql_mode = ''; START TRANSACTION;"
         "INSERT INTO outbox (topic, `key`) VALUES ('t', 'abc')",
         "COMMIT"}};
    struct lane_fixture *fixture = *state;
    struct db_session other;

    make_trigger(fixture);
    connect_to(&other, fixture->url);
    for (size_t i = 0; i < sizeof transactions / sizeof *transactions; i++) {
        sql(fixture, transactions[i][0]);
        assert_false(can_insert(fixture, &other, "'a'"));
        assert_true(can_insert(fixture, &other, "'b'"));
        assert_true(can_insert(fixture, &other, "NULL"));
        sql(fixture, transactions[i][1]);
        assert_true(can_insert(fixture, &other, "'a'"));
    }
    db_end(&other);
}

TEST(ids_that_are_given_are_overwritten_and_go_on_after_truncate)
{
    struct lane_fixture *fixture = *state;

    make_trigger(fixture);
    if (!fixture->db.is_mariadb) { /* MySQL's trigger draws no id */
        sql(fixture, "INSERT INTO outbox (id, topic) VALUES (900, 't')");
        assert_int_equal(number_of(fixture, "SELECT id FROM outbox"), 900);
        return;
    }
    sql(fixture,
        "ALTER TABLE outbox ADD UNIQUE (event_id); SET auto_increment_increment = 10;"
        "INSERT INTO outbox (id, topic, event_id) VALUES (700, 't', 'a'), (1, 't', 'b');"
        "INSERT IGNORE INTO outbox (id, topic, event_id) VALUES (900, 't', 'a');"
        "INSERT INTO outbox (topic, event_id) VALUES ('t', 'a') ON DUPLICATE KEY UPDATE payload = '1';"
        "REPLACE INTO outbox (id, topic, event_id) VALUES (2, 't', 'b')");
    assert_int_equal(number_of(fixture, "SELECT id FROM outbox WHERE event_id = 'a'"), 1);
    assert_int_equal(number_of(fixture, "SELECT id FROM outbox WHERE event_id = 'b'"), 5);
    for (int i = 0, sent; i < 3; i++) {
        for (sent = 0; sent < (i == 0 ? 2 : 100); sent += fixture->batch.count) {
            claim(fixture);
            assert_true(fixture->batch.count > 0);
            send_all(fixture);
        }
        sql(fixture,
            "TRUNCATE TABLE outbox;"
            "INSERT INTO outbox (topic, `key`) SELECT 't', seq FROM numbers WHERE seq <= 100");
        assert_int_equal(number_of(fixture, "SELECT MIN(id) FROM outbox"), 6 + 100 * i);
    }
}
