/*
 * Rows that become visible long after rows with higher ids: of transactions that stay open, and of
 * such that are prepared by XA, lose their session and are committed by another one.
 * HORIZON_SECONDS=60 makes it last.
 */
#include "integration/mysql/lane_fixture.h"

#include <stdatomic.h>

#define WRITERS 16
#define KEYS 200

FIXTURE(set_up, tear_down)

struct writers {
    struct lane_fixture *fixture;
    atomic_bool end;
    atomic_int number;
    atomic_int committed;
    bool uses_xa;
};

static bool run(struct db_session *session, const char *text)
{
    struct error error;

    return db_execute(session, text, &error) >= 0;
}

static void must(struct db_session *session, const char *text)
{
    struct error error;

    if (db_execute(session, text, &error) < 0)
        fail_msg("%s: %s %s", text, error.text, error.words);
}

static long long ask(struct db_session *session, const char *text)
{
    struct error error;
    MYSQL_RES *rows = db_query(session, text, &error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;
    long long number = row != NULL && row[0] != NULL ? strtoll(row[0], NULL, 10) : -1;

    mysql_free_result(rows);
    return number;
}

/* The counter of the key is locked until the end of the transaction. Prepared, it outlives its
 * session. */
static bool write_one(struct writers *writers, struct db_session *session, unsigned *seed,
                      int number)
{
    int key = rand_r(seed) % KEYS;
    bool by_xa = writers->uses_xa && rand_r(seed) % 20 == 0;
    int stay_us = rand_r(seed) % 50 == 0 ? rand_r(seed) % 1500000 : rand_r(seed) % 20000;
    char name[32], text[256];
    int64_t deadline_ms;

    (void)snprintf(name, sizeof name, "'w%d-%d'", number, atomic_load(&writers->committed));
    (void)snprintf(text, sizeof text, by_xa ? "XA START %s" : "START TRANSACTION", name);
    must(session, text);
    (void)snprintf(text, sizeof text, "UPDATE counters SET n = n + 1 WHERE id = %d", key);
    if (!run(session, text)) { /* another one holds the counter for too long */
        (void)snprintf(text, sizeof text, by_xa ? "XA END %s; XA ROLLBACK %s" : "ROLLBACK", name,
                       name);
        (void)run(session, text);
        return true;
    }
    (void)snprintf(text, sizeof text, "SELECT n FROM counters WHERE id = %d", key);
    long long n = ask(session, text);

    (void)snprintf(text, sizeof text,
                   "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', 'k%d', '%d %lld')", key,
                   key, n);
    must(session, text);
    (void)usleep((useconds_t)stay_us);
    if (!by_xa) {
        must(session, "COMMIT");
    } else {
        (void)snprintf(text, sizeof text, "XA END %s; XA PREPARE %s", name, name);
        must(session, text);
        db_end(session);
        (void)usleep((useconds_t)stay_us);
        connect_to(session, writers->fixture->url);
        deadline_ms = clock_now_ms() + DEADLINE_MS;
        (void)snprintf(text, sizeof text, "XA COMMIT %s", name);
        while (!run(session, text) && clock_left_ms(deadline_ms) > 0)
            (void)usleep(10000); /* the session before has not ended yet */
    }
    atomic_fetch_add(&writers->committed, 1);
    return true;
}

static void *write_rows(void *closure)
{
    struct writers *writers = closure;
    int number = atomic_fetch_add(&writers->number, 1);
    unsigned seed = (unsigned)number + 1;
    struct db_session session;

    connect_to(&session, writers->fixture->url);
    while (!atomic_load(&writers->end))
        (void)write_one(writers, &session, &seed, number);
    db_end(&session);
    return NULL;
}

static void note(struct lane_fixture *fixture, long long last[KEYS], int *sent, int *wrong)
{
    for (int i = 0; i < fixture->batch.count; i++) {
        const char *payload = fixture->batch.messages[i].payload.data;
        char *end;
        long key = strtol(payload, &end, 10);
        long long n = strtoll(end, NULL, 10);

        *wrong += n != last[key] + 1;
        last[key] = n;
        ++*sent;
    }
}

static void relay_beside(struct lane_fixture *fixture, bool uses_xa)
{
    const char *seconds = getenv("HORIZON_SECONDS");
    int64_t end_ms = clock_now_ms() + 1000 * (seconds != NULL ? strtol(seconds, NULL, 10) : 6);
    struct writers writers = {.fixture = fixture, .uses_xa = uses_xa};
    long long last[KEYS] = {0};
    pthread_t threads[WRITERS];
    int64_t highest = 0;
    int sent = 0, wrong = 0;

    sql(fixture, "CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB;"
                 "INSERT INTO counters SELECT seq - 1, 0 FROM numbers WHERE seq <= 200");
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_rows, &writers), 0);
    for (bool ended = false; !ended || fixture->batch.count > 0;) {
        if (!ended && clock_now_ms() >= end_ms) {
            atomic_store(&writers.end, true);
            for (int i = 0; i < WRITERS; i++)
                (void)pthread_join(threads[i], NULL);
            ended = true;
        }
        claim(fixture);
        note(fixture, last, &sent, &wrong);
        if (fixture->batch.count > 0)
            send_all(fixture);
        else
            (void)usleep(1000);
        if (source_unsent_from(fixture->shared.source) > highest)
            highest = source_unsent_from(fixture->shared.source);
    }
    print_message("%d rows, %d out of order; the bound rose to %lld\n", sent, wrong,
                  (long long)highest);
    assert_int_equal(wrong, 0);
    assert_int_equal(sent, atomic_load(&writers.committed));
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox"), 0);
    assert_true(highest > sent / 4);
}

TEST(rows_that_are_committed_late_are_sent_in_the_order_of_their_key)
{
    relay_beside(*state, false);
}

TEST(so_are_rows_of_transactions_that_are_prepared_and_committed_by_another_session)
{
    relay_beside(*state, true);
}

/* ---- the premise of the horizon: a commit is visible before its metadata lock is gone ---- */

#define COMMITTERS 4
#define LOOKS 2000

struct committer {
    const char *url;
    atomic_bool *end;
    unsigned long connection;
    _Atomic long long id; /* of the row that is inserted, and is or is being committed */
};

static void *commit_rows(void *closure)
{
    struct committer *committer = closure;
    struct db_session session;

    connect_to(&session, committer->url);
    committer->connection = mysql_thread_id(session.conn);
    while (!atomic_load(committer->end)) {
        must(&session, "START TRANSACTION");
        must(&session, "INSERT INTO outbox (topic, payload) VALUES ('t', '1')");
        atomic_store(&committer->id, ask(&session, "SELECT LAST_INSERT_ID()"));
        must(&session, "COMMIT");
    }
    db_end(&session);
    return NULL;
}

static bool has_lock(struct lane_fixture *fixture, const struct committer *committer)
{
    char text[320];

    (void)snprintf(text, sizeof text, "%s = %lu AND OBJECT_NAME = 'outbox'",
                   "SELECT COUNT(*) FROM performance_schema.metadata_locks JOIN"
                   " performance_schema.threads ON THREAD_ID = OWNER_THREAD_ID"
                   " WHERE OBJECT_SCHEMA = DATABASE() AND PROCESSLIST_ID",
                   committer->connection);
    if (strstr(mysql_get_server_info(fixture->db.conn), "MariaDB") != NULL)
        (void)snprintf(text, sizeof text,
                       "SELECT COUNT(*) FROM information_schema.METADATA_LOCK_INFO WHERE"
                       " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'outbox' AND THREAD_ID = %lu",
                       committer->connection);
    return number_of(fixture, text) > 0;
}

static bool is_visible(struct lane_fixture *fixture, long long id)
{
    char text[64];

    (void)snprintf(text, sizeof text, "SELECT COUNT(*) FROM outbox WHERE id = %lld", id);
    return number_of(fixture, text) > 0;
}

/* Looks at a row that was inserted under a lock: at the lock first, as the watch does, or at the
 * row first. The lock may be that of the next row, so that only its absence says something. */
TEST(a_commit_is_visible_before_its_metadata_lock_is_gone)
{
    struct lane_fixture *fixture = *state;
    struct committer committers[COMMITTERS];
    pthread_t threads[COMMITTERS];
    atomic_bool end = false;
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;
    int looks = 0, invisible = 0, other_way_round = 0;

    for (int i = 0; i < COMMITTERS; i++) {
        committers[i] = (struct committer){.url = fixture->url, .end = &end};
        assert_int_equal(pthread_create(&threads[i], NULL, commit_rows, &committers[i]), 0);
    }
    for (int i = 0; looks < LOOKS || other_way_round == 0; i++) {
        struct committer *committer = &committers[i % COMMITTERS];
        long long id = atomic_load(&committer->id);

        if (clock_left_ms(deadline_ms) == 0 || invisible > 0)
            break;
        if (id == 0)
            continue;
        if (i / COMMITTERS % 2 == 0 && !has_lock(fixture, committer)) {
            looks++;
            invisible += !is_visible(fixture, id);
        } else if (i / COMMITTERS % 2 != 0 && !is_visible(fixture, id)) {
            other_way_round += !has_lock(fixture, committer);
        }
    }
    atomic_store(&end, true);
    for (int i = 0; i < COMMITTERS; i++)
        (void)pthread_join(threads[i], NULL);
    print_message("%d looks; the other way round %d rows were invisible\n", looks, other_way_round);
    assert_int_equal(invisible, 0);
    assert_true(looks > 0);
    assert_true(other_way_round > 0);
}

/* The lane that was woken has met a slice that another relay had locked for a moment. */
TEST(a_lane_is_woken_again_while_a_row_waits)
{
    struct lane_fixture *fixture = *state;
    struct wake *wake = wake_open(1, 60000);
    const struct wait wait = {.poll_anyway_ms = 60000, .whole = true};
    int64_t began_ms = clock_now_ms();

    assert_non_null(wake);
    end_watcher(fixture);
    fixture->shared.wake = wake;
    begin_watcher(fixture);
    sql(fixture, "INSERT INTO outbox (topic) VALUES ('t')");
    for (int i = 0; i < 6; i++)
        wake_wait(wake, &fixture->stop, &wait);
    assert_true(clock_now_ms() - began_ms < 50000);
    end_watcher(fixture);
    fixture->shared.wake = NULL;
    wake_close(wake);
    begin_watcher(fixture);
}
