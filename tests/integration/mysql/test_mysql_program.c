/* The program on a real MariaDB, by its commands: what a person sees. */
#include "integration/mysql/lane_fixture.h"

#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define ARGUMENTS_MAX 12
#define SAID_BYTES 65536

static struct lane_fixture *fixture;
static char folder[] = "/tmp/test_mysql_program.XXXXXX";
static char config[sizeof folder + 16];
static char said[SAID_BYTES]; /* by the last command, on both outputs */
static pid_t relay;

static const char *program(void)
{
    const char *path = getenv("RELAY_MYSQL");

    return path != NULL ? path : "build/outbox-relay-mysql";
}

/* `out`: the descriptor of both outputs. */
static pid_t start(const char *const *argv, int out)
{
    pid_t child = fork();

    assert_true(child >= 0);
    if (child > 0)
        return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(out, STDERR_FILENO);
    (void)execv(program(), (char *const *)argv);
    _exit(127);
}

static int end_of(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the command, with arguments up to NULL, and keeps what it says. Returns its exit status. */
static int run(const char *command, ...)
{
    const char *argv[ARGUMENTS_MAX + 4] = {"outbox-relay-mysql", command, "-c", config};
    va_list args;
    int ends[2];
    int count = 4;
    size_t len = 0;
    ssize_t got;
    pid_t child;

    va_start(args, command);
    while (count < ARGUMENTS_MAX + 3 && (argv[count] = va_arg(args, const char *)) != NULL)
        count++;
    va_end(args);
    assert_int_equal(pipe(ends), 0);
    child = start(argv, ends[1]);
    (void)close(ends[1]);
    while ((got = read(ends[0], said + len, sizeof said - 1 - len)) > 0)
        len += (size_t)got;
    said[len] = '\0';
    (void)close(ends[0]);
    return end_of(child);
}

static void assert_said(const char *words)
{
    if (strstr(said, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, said);
}

static void assert_not_said(const char *words)
{
    if (strstr(said, words) != NULL)
        fail_msg("\"%s\" is in: %s", words, said);
}

static void write_config(const char *outbox, const char *rest)
{
    FILE *file = fopen(config, "w");

    assert_non_null(file);
    (void)fprintf(file,
                  "[database]\nurl = \"%s\"\n[outbox]\n%s\n[http]\nlisten = \"\"\n[relay]\n"
                  "poll_interval = \"50ms\"\n[sink.out]\ntype = \"stdout\"\n%s\n",
                  fixture->url, outbox, rest);
    assert_int_equal(fclose(file), 0);
}

static int set_up_program(void **state)
{
    (void)state;
    fixture = calloc(1, sizeof *fixture);
    make_database(fixture);
    (void)snprintf(folder, sizeof folder, "/tmp/test_mysql_program.XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(config, sizeof config, "%s/relay.toml", folder);
    write_config("", "");
    relay = 0;
    return 0;
}

static int tear_down_program(void **state)
{
    char text[64];

    (void)state;
    if (relay > 0) {
        (void)kill(relay, SIGKILL);
        (void)end_of(relay);
    }
    (void)unlink(config);
    (void)snprintf(text, sizeof text, "%s/out", folder);
    (void)unlink(text);
    (void)rmdir(folder);
    (void)snprintf(text, sizeof text, "DROP DATABASE lane%d", (int)getpid());
    sql(fixture, text);
    db_end(&fixture->db);
    free(fixture);
    return 0;
}

FIXTURE(set_up_program, tear_down_program)

static void start_relay(void)
{
    const char *const argv[] = {"outbox-relay-mysql", "run", "-c", config, NULL};
    char path[sizeof folder + 8];
    int out;

    (void)snprintf(path, sizeof path, "%s/out", folder);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    relay = start(argv, out);
    (void)close(out);
}

static void stop_relay(void)
{
    assert_int_equal(kill(relay, SIGTERM), 0);
    assert_int_equal(end_of(relay), 0);
    relay = 0;
}

/* What the relay has said, in `said`. */
static void read_relay(void)
{
    char path[sizeof folder + 8];
    FILE *file;
    size_t len;

    (void)snprintf(path, sizeof path, "%s/out", folder);
    file = fopen(path, "r");
    assert_non_null(file);
    len = fread(said, 1, sizeof said - 1, file);
    said[len] = '\0';
    (void)fclose(file);
}

static void create(void)
{
    assert_int_equal(run("init", NULL), 0);
    assert_said("created 4 tables");
}

/* ---- set-up ---- */

TEST(init_makes_the_tables_once_and_check_says_what_is_wrong_before)
{
    assert_int_equal(run("check", NULL), 3);
    assert_said("table outbox does not exist");
    assert_said("fix: outbox-relay-mysql init");
    assert_int_equal(run("init", "--print", NULL), 0);
    assert_said("CREATE TABLE IF NOT EXISTS `outbox`");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM information_schema.TABLES WHERE"
                                        " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox'"),
                     0);
    create();
    assert_int_equal(run("init", NULL), 0);
    assert_said("are there");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_slice"), 64);
    assert_int_equal(run("check", NULL), 0);
    assert_said("ready: no error");
    sql(fixture, "DELETE FROM outbox_slice WHERE slice = 7");
    assert_int_equal(run("check", NULL), 3);
    assert_said("lacks the rows of some slices");
}

TEST(what_is_there_for_postgresql_alone_is_said_in_a_line)
{
    static const char *const commands[] = {"replay", "audit", "introspect"};

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_equal(run(commands[i], NULL), 2);
        assert_said("is there for PostgreSQL alone: docs/mysql.md");
    }
    write_config("on_sent = \"position\"", "");
    assert_int_equal(run("check", NULL), 2);
    assert_said("on_sent: is there for PostgreSQL alone");
    write_config("where = \"status = 1\"\nmark = \"status = 2\"\npark = \"status = 3\"", "");
    assert_int_equal(run("check", NULL), 2);
    assert_said("park: is there for PostgreSQL alone");
}

TEST(tables_that_cannot_be_relayed_are_refused_each_with_its_line)
{
    sql(fixture, "CREATE TABLE outbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, topic TEXT, payload"
                 " TEXT, sent_at DATETIME) ENGINE = MyISAM");
    assert_int_equal(run("check", NULL), 3);
    assert_said("has another engine than InnoDB");
    sql(fixture,
        "DROP TABLE outbox; CREATE TABLE rows_of_it (id BIGINT PRIMARY KEY, topic TEXT,"
        " payload TEXT, sent_at DATETIME); CREATE VIEW outbox AS SELECT * FROM rows_of_it");
    assert_int_equal(run("check", NULL), 3);
    assert_said("is no table but a view");
    sql(fixture, "DROP VIEW outbox; CREATE TABLE outbox (id BIGINT PRIMARY KEY, payload TEXT)");
    assert_int_equal(run("check", NULL), 3);
    assert_said("has no column topic");
}

/* ---- events ---- */

TEST(emitted_events_are_explained_sent_and_seen_in_status)
{
    create();
    assert_int_equal(run("emit", "order.paid", "k\xc3\xa4", "{\"a\": 1}", "--type", "Paid", NULL),
                     0);
    assert_string_equal(said, "1\n");
    assert_int_equal(run("explain", "1", "--json", NULL), 0);
    assert_said("\"outcome\":\"send\"");
    assert_int_equal(run("explain", "2", NULL), 1);
    assert_said("has id \"2\"");
    assert_int_equal(run("explain", "--where", "topic = 'x'; DROP TABLE outbox", NULL), 2);
    assert_int_equal(run("status", NULL), 0);
    assert_said("backlog  1, oldest");
    assert_said("no relay runs, and 1 row is to be sent");
    assert_int_equal(run("status", "--max-backlog", "0", NULL), 1);
    assert_int_equal(run("run", "--drain", NULL), 0);
    assert_said("\"topic\":\"order.paid\",\"key\":\"k\xc3\xa4\"");
    assert_said("\"type\":\"Paid\"");
    assert_said("{\\\"a\\\": 1}");
    assert_int_equal(run("status", "--json", NULL), 0);
    assert_said("\"backlog\":0,");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NOT NULL"),
                     1);
    assert_int_equal(run("purge", "--older-than", "0s", "--dry-run", NULL), 0);
    assert_said("would purge 1");
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("purged 1");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
}

/* Of a key, the later row waits behind the first, and follows it. */
TEST(parked_rows_are_listed_shown_tried_again_and_dropped)
{
    create();
    write_config("", "[[route]]\nmatch = \"a.>\"\nsink = \"out\"");
    sql(fixture, "INSERT INTO outbox (topic, `key`, payload, type) VALUES ('b.x', 'k', '1', 'T'),"
                 " ('b.y', 'k', '2', 'U'), ('a.z', 'other', '3', NULL)");
    start_relay();
    await_number(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL", 0);
    await_number(fixture, "SELECT COUNT(*) FROM outbox_parked", 2);
    assert_int_equal(run("dead", "list", NULL), 0);
    assert_said("no [[route]] matches topic \"b.x\"");
    assert_said("waits for an earlier row of its key");
    assert_int_equal(run("dead", "list", "--type", "U", "--since", "1h", "--json", NULL), 0);
    assert_said("\"id\":\"2\"");
    assert_not_said("\"id\":\"1\"");
    assert_int_equal(run("dead", "list", "--topic", "b.*", "--limit", "1", NULL), 0);
    assert_not_said("b.x");
    assert_int_equal(run("dead", "show", "1", NULL), 0);
    assert_said("payload_bytes  1");
    assert_int_equal(run("dead", "retry", "1", "77", NULL), 1);
    assert_said("has id \"77\": nothing was done");
    assert_int_equal(run("dead", "drop", "1", "--dry-run", NULL), 0);
    assert_said("would drop 1");
    assert_int_equal(run("dead", "drop", "1", NULL), 0);
    assert_said("dropped 1");
    await_number(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE waits_for IS NOT NULL", 1);
    assert_int_equal(run("status", NULL), 0);
    assert_said("1 row waits for a configuration that routes b.y");
    stop_relay();
    write_config("", "");
    assert_int_equal(run("dead", "retry", "--topic", "b.>", NULL), 0);
    assert_said("1 row will be tried again");
    start_relay();
    await_number(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE sent_at IS NULL", 0);
    stop_relay();
    read_relay();
    assert_said("\"topic\":\"b.y\"");
    assert_not_said("\"topic\":\"b.x\",\"key\"");
}

TEST(pauses_hold_rows_back_until_they_are_ended)
{
    create();
    start_relay();
    assert_int_equal(run("pause", "sink", "nope", NULL), 2);
    assert_said("the configured ones are: out");
    assert_int_equal(run("pause", "topic", "a.>", "--reason", "why", NULL), 0);
    assert_said("topic \"a.>\" is paused");
    assert_int_equal(run("pause", "topic", "a.>", NULL), 0);
    assert_said("is paused already");
    sql(fixture, "INSERT INTO outbox (topic, `key`) VALUES ('a.x', 'k'), ('a.y', 'k'), ('b', 'l')");
    await_number(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE state IN ('paused', 'behind')",
                 2);
    assert_int_equal(run("pause", NULL), 0);
    assert_said(": why");
    assert_int_equal(run("status", NULL), 0);
    assert_said("fix: outbox-relay-mysql resume topic 'a.>'");
    assert_int_equal(run("resume", "topic", "a.>", NULL), 0);
    await_number(fixture, "SELECT COUNT(*) FROM outbox_parked WHERE sent_at IS NULL", 0);
    assert_int_equal(run("resume", "topic", "a.>", NULL), 1);
    assert_said("is not paused");
    stop_relay();
    read_relay();
    assert_true(strstr(said, "\"topic\":\"a.x\"") < strstr(said, "\"topic\":\"a.y\""));
}

TEST(sinks_without_routes_have_all_rows_in_status)
{
    create();
    sql(fixture, "INSERT INTO outbox (topic) VALUES ('a'), ('b'), ('c')");
    assert_int_equal(run("status", "--json", NULL), 0);
    assert_said("\"rows\":3");
}

/* ---- purge ---- */

TEST(a_dry_run_counts_what_a_purge_deletes_which_is_nothing_of_a_table_of_others)
{
    sql(fixture, "CREATE TABLE outbox (id BIGINT AUTO_INCREMENT PRIMARY KEY, topic TEXT, payload"
                 " TEXT, sent_at DATETIME)");
    assert_int_equal(run("init", NULL), 0);
    sql(fixture, "INSERT INTO outbox (topic, sent_at) VALUES ('t', '2026-01-01')");
    assert_int_equal(run("purge", "--older-than", "0s", "--dry-run", NULL), 0);
    assert_said("would purge 0");
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("purged 0");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 1);
}

/* The row was sent, and is unsent again by its status. */
TEST(a_row_that_is_marked_otherwise_is_not_purged_by_the_time_that_it_was_sent)
{
    create();
    sql(fixture, "ALTER TABLE outbox ADD status INT DEFAULT 1;"
                 "INSERT INTO outbox (topic, sent_at) VALUES ('t', '2026-01-01')");
    write_config("where = \"status = 1\"\nmark = \"status = 2\"\n"
                 "[outbox.columns]\nsent_at = \"sent_at\"",
                 "");
    assert_int_equal(run("purge", "--older-than", "0s", "--dry-run", NULL), 0);
    assert_said("would purge 0");
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("purged 0");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 1);
}

TEST(a_row_that_another_transaction_has_locked_holds_up_no_purge)
{
    struct db_session other;

    create();
    sql(fixture, "INSERT INTO outbox (topic, sent_at) VALUES ('a', '2026-01-01'),"
                 " ('b', '2026-01-01'), ('c', '2026-01-02');"
                 "INSERT INTO outbox_parked (id, state, sent_at) VALUES (9, 'sent', '2026-01-01')");
    connect_to(&other, fixture->url);
    assert_true(db_execute(&other, "START TRANSACTION; UPDATE outbox SET topic = 'x' WHERE id = 1",
                           &fixture->error) >= 0);
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("purged 3");
    assert_true(db_execute(&other, "COMMIT", &fixture->error) >= 0);
    db_end(&other);
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("purged 1");
}

TEST(a_purge_steps_over_rows_that_cannot_be_deleted)
{
    create();
    sql(fixture, "INSERT INTO outbox (topic, sent_at) SELECT 't', '2026-01-01' + INTERVAL seq DIV 5"
                 " SECOND FROM numbers ORDER BY seq;"
                 "CREATE TABLE uses (id BIGINT UNSIGNED NOT NULL,"
                 " FOREIGN KEY (id) REFERENCES outbox (id)) ENGINE=InnoDB;"
                 "INSERT INTO uses SELECT id FROM outbox WHERE id IN (5, 1003, 1004, 2048)");
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 3);
    assert_said("purged 2044");
    assert_said("the database refuses to delete 4 sent rows, the first is row 5: ");
    assert_said("a foreign key constraint fails");
    assert_said("fix: delete the rows that reference it");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox JOIN uses USING (id)"), 4);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 4);
    sql(fixture, "DROP TABLE uses");
    assert_int_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("purged 4");
}

TEST(a_parked_row_that_cannot_be_deleted_holds_up_no_purge_of_the_outbox)
{
    create();
    sql(fixture, "INSERT INTO outbox (topic, sent_at) VALUES ('t', '2026-01-01');"
                 "INSERT INTO outbox_parked (id, state, sent_at) VALUES (9, 'sent', '2026-01-01');"
                 "CREATE TABLE uses (seq BIGINT UNSIGNED NOT NULL,"
                 " FOREIGN KEY (seq) REFERENCES outbox_parked (seq)) ENGINE=InnoDB;"
                 "INSERT INTO uses SELECT seq FROM outbox_parked");
    assert_int_not_equal(run("purge", "--older-than", "0s", NULL), 0);
    assert_said("a foreign key constraint fails");
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 1);
}

/* ---- rows that are not sent ---- */

TEST(a_row_of_which_where_knows_nothing_is_explained_as_left_out)
{
    create();
    sql(fixture, "ALTER TABLE outbox ADD status INT; INSERT INTO outbox (topic) VALUES ('t')");
    write_config("where = \"status = 1\"", "");
    assert_int_equal(run("explain", "1", NULL), 0);
    assert_said("left out by where");
    sql(fixture, "UPDATE outbox SET status = 1");
    assert_int_equal(run("explain", "1", "--json", NULL), 0);
    assert_said("\"outcome\":\"send\"");
}

TEST(a_row_that_the_server_refuses_is_explained_and_cannot_be_dropped)
{
    create();
    sql(fixture, "INSERT INTO outbox (topic) VALUES ('t'), ('t');"
                 "INSERT INTO outbox_parked (id, event_id, state, error, due) SELECT id, event_id,"
                 " IF(id = 1, 'refused', 'unsettled'), 'the reason', UTC_TIMESTAMP(6) FROM outbox");
    assert_int_equal(run("explain", "1", NULL), 0);
    assert_said("1, refused (the reason): ");
    assert_int_equal(run("explain", "2", "--json", NULL), 0);
    assert_said("\"state\":\"unsettled\"");
    assert_not_said("\"outcome\":\"send\"");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run("dead", "drop", "1", i == 0 ? "--dry-run" : NULL, NULL), 1);
        assert_said("no parked or dead row has id \"1\": nothing was done");
        assert_said("refuses stays until it can be settled");
    }
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 2);
    sql(fixture, "UPDATE outbox SET sent_at = created_at");
    assert_int_equal(run("explain", "1", NULL), 0);
    assert_not_said("the reason");
}

TEST(a_row_behind_a_parked_one_of_its_key_is_explained_as_such)
{
    create();
    sql(fixture, "INSERT INTO outbox_parked (id, `key`, state) VALUES (1, 'k', 'dead');"
                 "INSERT INTO outbox (id, topic, `key`) VALUES (2, 't', 'k'), (3, 't', 'other'),"
                 " (4, 't', NULL)");
    assert_int_equal(run("explain", "2", NULL), 0);
    assert_said("would wait behind a parked row of its key");
    assert_int_equal(run("explain", "3", "4", NULL), 0);
    assert_not_said("would wait");
}

TEST(all_bytes_of_a_payload_are_shown)
{
    create();
    sql(fixture, "INSERT INTO outbox_parked (id, payload, state) VALUES (1, X'610062', 'dead'),"
                 " (2, REPEAT(X'ff', 5000), 'dead')");
    assert_int_equal(run("dead", "show", "1", "--json", NULL), 0);
    assert_said("\"payload\":\"a\\u0000b\"");
    assert_int_equal(run("dead", "show", "2", "--json", NULL), 0);
    assert_true(strlen(said) > (size_t)4 * 5000);
}

TEST(every_statement_can_be_shown_with_these_tables)
{
    create();
    assert_int_equal(run("sql", "--list", NULL), 0);
    assert_said("claim ");
    assert_int_equal(run("sql", "lock_slices", NULL), 0);
    assert_said("FROM `outbox_slice` s");
    assert_said("SKIP LOCKED");
    assert_int_equal(run("sql", "nope", NULL), 2);
    assert_int_equal(run("config", NULL), 0);
    assert_said("url = \"mysql://");
}
