/* What backups do beside relays: locks of the whole server, and a dump. */
#include "integration/mysql/relay_process.h"

#include <stdatomic.h>

#define HOLD_MS 12000 /* a lock; four times as long as a statement waits for one */

static struct lane_fixture *fixture;
static struct relay relay;
static struct db_session operator;
static struct published published;
static atomic_bool writer_ends;
static atomic_int written;

/* ---- the fixture ---- */

static int set_up_backups(void **state)
{
    (void)state;
    fixture = calloc(1, sizeof *fixture);
    make_database(fixture);
    connect_to(&operator, fixture->url);
    atomic_store(&writer_ends, false);
    atomic_store(&written, 0);
    relay.pid = 0;
    return 0;
}

static int tear_down_backups(void **state)
{
    char text[64];

    (void)state;
    relay_kill(&relay);
    db_end(&operator);
    (void)snprintf(text, sizeof text, "DROP DATABASE lane%d", (int)getpid());
    sql(fixture, text);
    db_end(&fixture->db);
    free(fixture);
    return 0;
}

FIXTURE(set_up_backups, tear_down_backups)

static void make_outbox(const char *outbox)
{
    relay_configure(&relay, "backups", fixture->url, outbox);
    assert_int_equal(relay_command(&relay, "init"), 0);
}

static void operate(const char *text)
{
    if (db_execute(&operator, text, &fixture->error) < 0)
        fail_msg("%s: %s %s", text, fixture->error.text, fixture->error.words);
}

static void insert(struct db_session *session, int n)
{
    struct error error;
    char text[128];

    (void)snprintf(text, sizeof text,
                   "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', '%d', '%d')",
                   n % RELAY_KEYS, n / RELAY_KEYS + 1);
    if (db_execute(session, text, &error) >= 0)
        atomic_fetch_add(&written, 1);
    else if (error.cause != ERROR_LOCKED)
        fail_msg("%s", error.text);
}

static void insert_rows(int count)
{
    sql(fixture, "START TRANSACTION");
    while (count-- > 0)
        insert(&fixture->db, atomic_load(&written));
    sql(fixture, "COMMIT");
}

/* Until it is told to end. An INSERT that waits for a lock in vain is tried again. */
static void *write_rows(void *closure)
{
    struct db_session session;

    (void)closure;
    connect_to(&session, fixture->url);
    while (!atomic_load(&writer_ends)) {
        insert(&session, atomic_load(&written));
        (void)usleep(1000);
    }
    db_end(&session);
    return NULL;
}

static pthread_t start_writer(void)
{
    pthread_t writer;

    assert_int_equal(pthread_create(&writer, NULL, write_rows, NULL), 0);
    return writer;
}

static void end_writer(pthread_t writer)
{
    atomic_store(&writer_ends, true);
    assert_int_equal(pthread_join(writer, NULL), 0);
}

static void await_sent(void)
{
    await_number(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL", 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox_parked"), 0);
}

static void await_published(int count)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    for (relay_read(&relay, &published); published.events < count; relay_read(&relay, &published)) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%d published instead of %d", published.events, count);
        (void)usleep(20000);
    }
}

/* The lock is what is tested: it lasts. */
static void hold(void)
{
    for (int64_t end_ms = clock_now_ms() + HOLD_MS; clock_now_ms() < end_ms;) {
        relay_assert_runs(&relay);
        (void)usleep(100000);
    }
}

/* Each event that was written, in order, and with at most so many repeats. */
static void assert_all_published(int repeated)
{
    relay_stop(&relay);
    relay_read(&relay, &published);
    print_message("%d written, %d published, %d repeated, %d out of order\n", atomic_load(&written),
                  published.events, published.repeated, published.out_of_order);
    assert_int_equal(published_distinct(&published), atomic_load(&written));
    assert_int_equal(published.out_of_order, 0);
    assert_in_range(published.repeated, 0, repeated);
}

/* ---- locks ---- */

TEST(while_a_global_read_lock_lasts_nothing_is_published_and_then_each_row_once)
{
    make_outbox("");
    insert_rows(400);
    operate("FLUSH TABLES WITH READ LOCK");
    relay_start(&relay);
    relay_await_said(&relay, "the database has the relay wait for a lock");
    hold();
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL"), 400);
    relay_read(&relay, &published);
    assert_int_equal(published.events, 0);
    operate("UNLOCK TABLES");
    await_sent();
    assert_all_published(0);
}

/* It comes between what is published and its settling, too. Once a lane has waited in vain, its
 * rows are published again only when it can claim them again. */
TEST(a_global_read_lock_amid_a_backlog_repeats_no_more_than_each_lane_holds)
{
    pthread_t writer;

    make_outbox("");
    insert_rows(4000);
    writer = start_writer();
    relay_start(&relay);
    await_published(500);
    operate("FLUSH TABLES WITH READ LOCK");
    hold();
    operate("UNLOCK TABLES");
    end_writer(writer);
    await_sent();
    assert_all_published(RELAY_LANES * RELAY_BATCH);
}

TEST(rows_are_sent_while_a_backup_keeps_tables_as_they_are)
{
    make_outbox("");
    operate(fixture->db.is_mariadb
                ? "BACKUP STAGE START; BACKUP STAGE FLUSH; BACKUP STAGE BLOCK_DDL"
                : "LOCK INSTANCE FOR BACKUP");
    relay_start(&relay);
    insert_rows(400);
    await_sent();
    operate(fixture->db.is_mariadb ? "BACKUP STAGE END" : "UNLOCK INSTANCE");
    assert_all_published(0);
}

/* A claim is possible then, and its COMMIT is refused after 3 s. */
TEST(while_a_backup_blocks_commits_each_lane_publishes_one_batch_and_then_waits)
{
    int held;

    if (!fixture->db.is_mariadb)
        skip(); /* MySQL has no such lock */
    make_outbox("durable_before_publish = false");
    insert_rows(1000);
    operate("BACKUP STAGE START; BACKUP STAGE FLUSH; BACKUP STAGE BLOCK_DDL;"
            " BACKUP STAGE BLOCK_COMMIT");
    relay_start(&relay);
    relay_await_said(&relay, "the database has the relay wait for a lock");
    hold();
    relay_read(&relay, &published);
    held = published.events;
    assert_in_range(held, 1, RELAY_LANES * RELAY_BATCH);
    operate("BACKUP STAGE END");
    await_sent();
    assert_all_published(held);
}

/* With the flush before a publish, which is a commit, there is not even that. */
TEST(while_a_backup_blocks_commits_rows_that_await_a_flush_are_not_published)
{
    if (!fixture->db.is_mariadb)
        skip();
    make_outbox("");
    insert_rows(400);
    operate("BACKUP STAGE START; BACKUP STAGE FLUSH; BACKUP STAGE BLOCK_DDL;"
            " BACKUP STAGE BLOCK_COMMIT");
    relay_start(&relay);
    relay_await_said(&relay, "Lock wait timeout exceeded");
    hold();
    relay_read(&relay, &published);
    assert_int_equal(published.events, 0);
    operate("BACKUP STAGE END");
    await_sent();
    assert_all_published(0);
}

/* ---- a dump ---- */

static void run_shell(const char *text)
{
    if (system(text) != 0)
        fail_msg("%s", text);
}

/* The dump, as another database. */
static void restore(const char *database)
{
    const char *socket = getenv("TEST_MARIADB_SOCKET");
    char text[512];

    (void)snprintf(text, sizeof text, "CREATE DATABASE %s", database);
    sql(fixture, text);
    (void)snprintf(text, sizeof text, "mariadb --no-defaults -S %s -u root %s <%s/dump.sql", socket,
                   database, getenv("TEST_DIR"));
    run_shell(text);
}

static void assert_restored(const char *database)
{
    struct relay other;
    struct published sent;
    char text[256];
    long long rows, unsent;

    (void)snprintf(text, sizeof text, "%.*s/%s", (int)(strrchr(fixture->url, '/') - fixture->url),
                   fixture->url, database);
    relay_configure(&other, "restored", text, "");
    (void)snprintf(text, sizeof text, "USE %s", database);
    sql(fixture, text);
    assert_int_equal(relay_command(&other, "check"), 0);
    rows = number_of(fixture, "SELECT COUNT(*) FROM outbox");
    unsent = number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL");
    print_message("%lld rows in the dump, of which %lld were unsent\n", rows, unsent);
    assert_true(rows >= 2000 && rows <= atomic_load(&written));
    assert_int_equal(/* the first ones that were written, without a gap */
                     number_of(fixture, "SELECT MAX((payload - 1) * 10 + `key`) + 1 FROM outbox"),
                     rows);
    assert_int_equal(relay_command(&other, "run --drain"), 0);
    relay_read(&other, &sent);
    assert_int_equal(sent.events, unsent);
    assert_int_equal(sent.out_of_order, 0);
    assert_int_equal(number_of(fixture, "SELECT COUNT(*) FROM outbox WHERE sent_at IS NULL"), 0);
}

TEST(a_dump_beside_writers_and_relays_disturbs_neither_and_can_be_relayed_from)
{
    pthread_t writer;
    char database[32];
    char text[512];

    (void)snprintf(database, sizeof database, "restored%d", (int)getpid());
    make_outbox("");
    insert_rows(2000);
    writer = start_writer();
    relay_start(&relay);
    await_published(300);
    (void)snprintf(text, sizeof text,
                   "mariadb-dump --no-defaults -S %s -u root --single-transaction lane%d"
                   " >%s/dump.sql",
                   getenv("TEST_MARIADB_SOCKET"), (int)getpid(), getenv("TEST_DIR"));
    run_shell(text);
    end_writer(writer);
    await_sent();
    assert_all_published(RELAY_LANES * RELAY_BATCH);
    restore(database);
    assert_restored(database);
    (void)snprintf(text, sizeof text, "DROP DATABASE %s; USE lane%d", database, (int)getpid());
    sql(fixture, text);
}
