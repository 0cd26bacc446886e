/*
 * Four relays that are killed, one after the other, beside twelve writers: no event is lost, and
 * those of a key arrive in the order of their transactions. KILLS_SECONDS=180 makes it last.
 */
#include "test.h"

#include "base/clock.h"
#include "mysql/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 12
#define RELAYS 4
#define KEYS 100
#define DRAIN_MS 60000

static char url[256];
static atomic_bool writers_end;
static atomic_int written;

static void connect_db(struct db_session *session)
{
    const struct outbox_options how = {.url = url};
    struct error error;

    *session = (struct db_session){.conn = NULL};
    if (db_open(session, &how, 600000, "writer", &error) < 0)
        fail_msg("%s", error.text);
}

static void execute(struct db_session *session, const char *sql)
{
    struct error error;

    if (db_execute(session, sql, &error) < 0)
        fail_msg("%s: %s %s", sql, error.text, error.words);
}

static long long number_of(struct db_session *session, const char *sql)
{
    struct error error;
    MYSQL_RES *rows = db_query(session, sql, &error);
    MYSQL_ROW row;
    long long number = -1;

    if (rows == NULL)
        fail_msg("%s: %s %s", sql, error.text, error.words);
    row = mysql_fetch_row(rows);
    if (row != NULL && row[0] != NULL)
        number = strtoll(row[0], NULL, 10);
    mysql_free_result(rows);
    return number;
}

/* The row of its key is locked until COMMIT, so that the events of a key are inserted one after the
 * other. Some transactions stay open for a while. */
static void *write_events(void *closure)
{
    unsigned seed = (unsigned)(uintptr_t)closure;
    struct db_session session;
    char sql[512];

    connect_db(&session);
    while (!atomic_load(&writers_end)) {
        int key = rand_r(&seed) % KEYS;
        int insert_count = rand_r(&seed) % 10 == 0 ? 5 : 1;
        struct error error;
        long long n;

        (void)snprintf(sql, sizeof sql,
                       "START TRANSACTION; UPDATE counters SET n = n + %d WHERE id = %d",
                       insert_count, key);
        if (db_execute(&session, sql, &error) < 0) { /* a lock that took too long */
            execute(&session, "ROLLBACK");
            continue;
        }
        (void)snprintf(sql, sizeof sql, "SELECT n FROM counters WHERE id = %d", key);
        n = number_of(&session, sql) - insert_count;
        for (int i = 0; i < insert_count; i++) {
            (void)snprintf(
                sql, sizeof sql,
                "INSERT INTO outbox (topic, `key`, payload) VALUES ('kills', 'k%d', '{\"k\":%d,\"n\":%lld}')",
                key, key, ++n);
            execute(&session, sql);
        }
        if (rand_r(&seed) % 20 == 0)
            (void)usleep((useconds_t)(rand_r(&seed) % 200000));
        execute(&session, "COMMIT");
        atomic_fetch_add(&written, insert_count);
        (void)usleep((useconds_t)(rand_r(&seed) % 30000));
    }
    db_end(&session);
    return NULL;
}

static const char *program(void)
{
    const char *given = getenv("RELAY_MYSQL");

    return given != NULL ? given : "build/outbox-relay-mysql";
}

/* The relays write into one log. */
static pid_t start_relay(const char *config, const char *log)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (freopen(log, "a", stderr) == NULL)
            _exit(127);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(program(), "outbox-relay-mysql", "run", "-c", config, NULL);
        _exit(127);
    }
    return pid;
}

static void make_database(struct db_session *session)
{
    char sql[256];

    (void)snprintf(url, sizeof url, "%s", getenv("TEST_MARIADB_URL"));
    connect_db(session);
    (void)snprintf(sql, sizeof sql,
                   "DROP DATABASE IF EXISTS kills; CREATE DATABASE kills; USE kills;"
                   "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB;"
                   "INSERT INTO counters VALUES (0, 0)");
    execute(session, sql);
    for (int i = 1; i < KEYS; i++) {
        (void)snprintf(sql, sizeof sql, "INSERT INTO counters VALUES (%d, 0)", i);
        execute(session, sql);
    }
    (void)snprintf(strrchr(url, '/') + 1, 32, "kills");
}

static void write_config(const char *path, const char *on_sent)
{
    FILE *out = fopen(path, "w");

    assert_non_null(out);
    (void)fprintf(
        out,
        "[database]\nurl = \"%s\"\n[outbox]\ntable = \"outbox\"\non_sent = \"%s\"\n"
        "[relay]\nlanes = 2\nbatch = 100\npublish_timeout = \"5s\"\nshutdown_timeout = \"6s\"\n"
        "[http]\nlisten = \"\"\n"
        "[sink.out]\ntype = \"nats\"\nstream = \"KILLS\"\nservers = [\"%s\"]\n",
        url, on_sent, getenv("TEST_NATS_URL"));
    (void)fclose(out);
}

static void read_line(const char *line, long long last[KEYS], int *events, int *repeated,
                      int *wrong)
{
    const char *at = strstr(line, "\\\"k\\\":");
    long long n;
    int key;

    if (at == NULL)
        at = strstr(line, "\"k\":");
    if (at == NULL || sscanf(at, "%*[^0-9]%d%*[^0-9]%lld", &key, &n) != 2)
        return;
    ++*events;
    if (n == last[key] + 1)
        last[key] = n;
    else if (n <= last[key])
        ++*repeated;
    else {
        ++*wrong;
        last[key] = n;
    }
}

static void run(const char *on_sent)
{
    const char *seconds = getenv("KILLS_SECONDS");
    int64_t end_ms = clock_now_ms() + 1000 * (seconds != NULL ? strtol(seconds, NULL, 10) : 12);
    pthread_t writers[WRITERS];
    struct db_session session;
    pid_t relays[RELAYS];
    char config[256], log[256], command[512], line[4096];
    long long last[KEYS] = {0};
    int kills = 0, events = 0, repeated = 0, wrong = 0, lost = 0;
    unsigned seed = 7;
    FILE *reader;

    make_database(&session);
    (void)snprintf(config, sizeof config, "%s/kills.toml", getenv("TEST_DIR"));
    (void)snprintf(log, sizeof log, "%s/kills.log", getenv("TEST_DIR"));
    write_config(config, on_sent);
    (void)snprintf(command, sizeof command, "%s init -c %s >/dev/null", program(), config);
    assert_int_equal(system(command), 0);
    (void)snprintf(command, sizeof command,
                   "build/reader stream %s create KILLS kills --duplicates-ms 100 >/dev/null",
                   getenv("TEST_NATS_URL"));
    assert_int_equal(system(command), 0);
    for (int i = 0; i < RELAYS; i++)
        relays[i] = start_relay(config, log);
    atomic_store(&writers_end, false);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(
            pthread_create(&writers[i], NULL, write_events, (void *)(uintptr_t)(i + 1)), 0);
    while (clock_now_ms() < end_ms) {
        int victim = rand_r(&seed) % RELAYS;

        (void)usleep(500000 + (useconds_t)(rand_r(&seed) % 1000000));
        (void)kill(relays[victim], SIGKILL);
        (void)waitpid(relays[victim], NULL, 0);
        relays[victim] = start_relay(config, log);
        kills++;
    }
    atomic_store(&writers_end, true);
    for (int i = 0; i < WRITERS; i++)
        (void)pthread_join(writers[i], NULL);
    execute(&session, "USE kills");
    end_ms = clock_now_ms() + DRAIN_MS;
    while (
        number_of(
            &session,
            strcmp(on_sent, "delete") == 0
                ? "SELECT (SELECT COUNT(*) FROM outbox) + (SELECT COUNT(*) FROM outbox_parked)"
                : "SELECT (SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL) + (SELECT COUNT(*) FROM outbox_parked WHERE sent_at IS NULL)") >
            0 &&
        clock_now_ms() < end_ms)
        (void)usleep(50000);
    for (int i = 0; i < RELAYS; i++) {
        (void)kill(relays[i], SIGTERM);
        (void)waitpid(relays[i], NULL, 0);
    }
    (void)snprintf(command, sizeof command, "build/reader nats %s KILLS", getenv("TEST_NATS_URL"));
    reader = popen(command, "r");
    assert_non_null(reader);
    while (fgets(line, sizeof line, reader) != NULL)
        read_line(line, last, &events, &repeated, &wrong);
    assert_int_equal(pclose(reader), 0);
    for (int i = 0; i < KEYS; i++) {
        char sql[96];

        (void)snprintf(sql, sizeof sql, "SELECT n FROM counters WHERE id = %d", i);
        lost += number_of(&session, sql) != last[i];
    }
    print_message(
        "%d kills, %d written, %d published, %d repeated, %d out of order, %d keys incomplete\n",
        kills, atomic_load(&written), events, repeated, wrong, lost);
    assert_int_equal(wrong, 0);
    assert_int_equal(lost, 0);
    /* nobody else had a row that a lane has claimed */
    (void)snprintf(command, sizeof command, "! grep 'instead of' %s", log);
    assert_int_equal(system(command), 0);
    /* what two lanes had not settled when they were killed */
    assert_in_range(repeated, 0, kills * 2 * 100);
    (void)snprintf(command, sizeof command, "build/reader stream %s delete KILLS >/dev/null",
                   getenv("TEST_NATS_URL"));
    assert_int_equal(system(command), 0);
    db_end(&session);
}

TEST(killed_relays_lose_nothing_and_keep_the_order_of_keys)
{
    (void)state;
    run("delete");
}

TEST(so_they_do_where_rows_are_marked)
{
    (void)state;
    atomic_store(&written, 0);
    run("mark");
}
