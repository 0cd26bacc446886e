/* A failover from a primary to its replica: what was acknowledged there is published, in order. */
#include "integration/mysql/own_mysql.h"

#include <stdatomic.h>

#define WRITERS 4
#define SOME 200 /* events that are written before and after */

static struct own_mysql servers[2]; /* the primary, and its replica */
static struct relay relay;
static struct published published;
static bool acknowledged[RELAY_KEYS][RELAY_EVENTS_MAX];
static atomic_int acknowledged_count;
static atomic_int primary; /* for writers */
static atomic_bool writers_end;
static atomic_bool writers_pause;
static atomic_int paused_count;
static pthread_t writers[WRITERS];

static int set_up_pair(void **state)
{
    char url[128];

    (void)state;
    memset(servers, 0, sizeof servers);
    memset(acknowledged, 0, sizeof acknowledged);
    atomic_store(&acknowledged_count, 0);
    atomic_store(&primary, 0);
    atomic_store(&writers_end, false);
    atomic_store(&writers_pause, false);
    atomic_store(&paused_count, 0);
    relay.pid = 0;
    own_create_pair(&servers[0], &servers[1]);
    (void)snprintf(url, sizeof url, "mysql://relay@127.0.0.1:%d,127.0.0.1:%d/test", servers[0].port,
                   servers[1].port);
    relay_configure(&relay, "failover", url, "");
    assert_int_equal(relay_command(&relay, "init"), 0);
    relay_start(&relay);
    return 0;
}

static int tear_down_pair(void **state)
{
    (void)state;
    relay_kill(&relay);
    own_end(&servers[0]);
    own_end(&servers[1]);
    return 0;
}

FIXTURE(set_up_pair, tear_down_pair)

/* ---- writers ---- */

static int open_writer(struct db_session *session)
{
    char url[96];
    const struct outbox_options options = {.url = url};
    struct error error;

    (void)snprintf(url, sizeof url, "mysql://relay@127.0.0.1:%d/test",
                   servers[atomic_load(&primary)].port);
    return db_open(session, &options, 600000, "writer", &error);
}

/* What is not acknowledged may be there or not, and is not written again. */
static void write_one(struct db_session *session, int key, int n)
{
    struct error error;
    char text[128];

    (void)snprintf(text, sizeof text,
                   "INSERT INTO outbox (topic, `key`, payload) VALUES ('t', '%d', '%d')", key, n);
    if (db_execute(session, text, &error) >= 0) {
        acknowledged[key][n] = true;
        atomic_fetch_add(&acknowledged_count, 1);
    } else {
        db_close(session);
    }
}

/* Each has keys of its own. */
static void *write_events(void *closure)
{
    int number = (int)(uintptr_t)closure;
    struct db_session session = {.conn = NULL};
    int next[RELAY_KEYS] = {0};

    while (!atomic_load(&writers_end)) {
        if (atomic_load(&writers_pause)) {
            atomic_fetch_add(&paused_count, 1);
            while (atomic_load(&writers_pause))
                (void)usleep(1000);
        }
        if (session.conn == NULL && open_writer(&session) < 0) {
            (void)usleep(20000);
            continue;
        }
        for (int key = number; session.conn != NULL && key < RELAY_KEYS; key += WRITERS)
            if (next[key] < RELAY_EVENTS_MAX - 1)
                write_one(&session, key, ++next[key]);
        (void)usleep(1000);
    }
    db_end(&session);
    return NULL;
}

static void start_writers(void)
{
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_events, (void *)(uintptr_t)i), 0);
}

static void end_writers(void)
{
    atomic_store(&writers_end, true);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_join(writers[i], NULL), 0);
}

static void await_count(atomic_int *count, int wanted)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (atomic_load(count) < wanted) {
        relay_assert_runs(&relay);
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%d instead of %d", atomic_load(count), wanted);
        (void)usleep(5000);
    }
}

static void await_more(void)
{
    await_count(&acknowledged_count, atomic_load(&acknowledged_count) + SOME);
}

/* The relay is at work. */
static void await_published(int count)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    for (relay_read(&relay, &published); published.events < count; relay_read(&relay, &published)) {
        relay_assert_runs(&relay);
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%d published instead of %d", published.events, count);
        (void)usleep(5000);
    }
}

/* ---- what is proved ---- */

static void await_sent(struct own_mysql *own)
{
    own_await(own, "SELECT COUNT(*) AS unsent FROM outbox WHERE sent_at IS NULL", "unsent", "0");
}

static int count_lost(void)
{
    int lost = 0;

    for (int key = 0; key < RELAY_KEYS; key++)
        for (int n = 1; n < RELAY_EVENTS_MAX; n++)
            lost += acknowledged[key][n] && !published.has[key][n];
    return lost;
}

static void assert_all_published(void)
{
    end_writers();
    await_sent(&servers[1]);
    relay_stop(&relay);
    relay_read(&relay, &published);
    print_message("%d acknowledged, %d published, %d repeated, %d out of order, %d lost\n",
                  atomic_load(&acknowledged_count), published.events, published.repeated,
                  published.out_of_order, count_lost());
    assert_int_equal(count_lost(), 0);
    assert_int_equal(published.out_of_order, 0);
    assert_in_range(published.repeated, 0, RELAY_LANES * RELAY_BATCH);
}

static void switch_over(void)
{
    own_switch_over(&servers[0], &servers[1]);
    atomic_store(&primary, 1);
}

TEST(what_a_killed_primary_has_acknowledged_is_published_from_its_replica)
{
    start_writers();
    await_published(SOME);
    await_more();
    own_kill(&servers[0]);
    own_promote(&servers[1]);
    atomic_store(&primary, 1);
    await_more();
    assert_all_published();
}

TEST(where_the_primary_becomes_read_only_the_relay_follows_the_writers_to_the_other_server)
{
    start_writers();
    await_published(SOME);
    await_more();
    switch_over();
    await_more();
    assert_all_published();
}

/* Its lanes have sessions that are idle, and nothing to write, on a server that stays up. */
TEST(so_it_does_where_nothing_is_to_be_sent_meanwhile)
{
    start_writers();
    await_published(SOME);
    atomic_store(&writers_pause, true);
    await_count(&paused_count, WRITERS);
    await_sent(&servers[0]);
    switch_over();
    atomic_store(&writers_pause, false);
    await_more();
    assert_all_published();
}
