#ifndef TESTS_INTEGRATION_MYSQL_LANE_FIXTURE_H
#define TESTS_INTEGRATION_MYSQL_LANE_FIXTURE_H

/* One lane's outbox beside a real MariaDB, without a broker: the test decides each outcome. The
 * watcher runs beside it, as in a process. */

#include "test.h"

#include "base/clock.h"
#include "message/outcome.h"
#include "mysql/state.h"
#include "mysql/statements.h"
#include "relay/watcher.h"
#include "source/outbox.h"
#include "source/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAYLOAD_MAX (2 * 1024 * 1024)
#define DEADLINE_MS 60000

struct lane_fixture {
    char url[256];
    struct db_session db; /* of the test itself */
    struct outbox_options options;
    struct outbox *outbox;
    struct stop stop;
    struct watcher_shared shared;
    pthread_t watcher;
    struct batch batch;
    struct error error;
};

static inline void sql(struct lane_fixture *fixture, const char *text)
{
    if (db_execute(&fixture->db, text, &fixture->error) < 0)
        fail_msg("%s: %s %s", text, fixture->error.text, fixture->error.words);
}

static inline long long number_of(struct lane_fixture *fixture, const char *text)
{
    MYSQL_RES *rows = db_query(&fixture->db, text, &fixture->error);
    MYSQL_ROW row;
    long long number;

    if (rows == NULL)
        fail_msg("%s: %s %s", text, fixture->error.text, fixture->error.words);
    row = mysql_fetch_row(rows);
    number = row != NULL && row[0] != NULL ? strtoll(row[0], NULL, 10) : -1;
    mysql_free_result(rows);
    return number;
}

static inline void await_number(struct lane_fixture *fixture, const char *text, long long wanted)
{
    int64_t deadline_ms = clock_now_ms() + DEADLINE_MS;

    while (number_of(fixture, text) != wanted) {
        if (clock_left_ms(deadline_ms) == 0)
            fail_msg("%s: %lld instead of %lld", text, number_of(fixture, text), wanted);
        (void)usleep(10000);
    }
}

static inline void connect_to(struct db_session *session, const char *url)
{
    const struct outbox_options how = {.url = (char *)url};
    struct error error;

    *session = (struct db_session){.conn = NULL};
    if (db_open(session, &how, 600000, "test", &error) < 0)
        fail_msg("%s", error.text);
}

/* A database of the test's own, and its url. */
static inline void make_database(struct lane_fixture *fixture)
{
    const char *server = getenv("TEST_MARIADB_URL");
    char text[128];

    assert_non_null(server);
    connect_to(&fixture->db, server);
    (void)snprintf(text, sizeof text,
                   "DROP DATABASE IF EXISTS lane%d; CREATE DATABASE lane%d; USE lane%d",
                   (int)getpid(), (int)getpid(), (int)getpid());
    sql(fixture, text);
    sql(fixture, "CREATE TABLE numbers (seq INT PRIMARY KEY); INSERT INTO numbers VALUES (1)");
    for (int count = 1; count < 2048; count *= 2)
        sql(fixture,
            "INSERT INTO numbers SELECT seq + (SELECT COUNT(*) FROM numbers) FROM numbers");
    (void)snprintf(fixture->url, sizeof fixture->url, "%.*s/lane%d",
                   (int)(strrchr(server, '/') - server), server, (int)getpid());
}

static inline void make_tables(struct lane_fixture *fixture)
{
    struct tables tables;
    char *text;

    if (tables_describe(&tables, &fixture->options, &fixture->db, &fixture->error) < 0)
        fail_msg("%s", fixture->error.text);
    text = tables_statement(&tables, db_sql_tables, NULL);
    assert_non_null(text);
    sql(fixture, text);
    free(text);
    tables_free(&tables);
}

static inline void *run_watcher(void *shared)
{
    watcher_run(shared);
    return NULL;
}

/* For what the watcher would see, or would be in the way of. */
static inline void end_watcher(struct lane_fixture *fixture)
{
    fixture->options.durable_before_publish = false;
    stop_request(&fixture->stop);
    (void)pthread_join(fixture->watcher, NULL);
    stop_free(&fixture->stop);
}

static inline void begin_watcher(struct lane_fixture *fixture)
{
    assert_int_equal(stop_init(&fixture->stop), 0);
    assert_int_equal(pthread_create(&fixture->watcher, NULL, run_watcher, &fixture->shared), 0);
}

static inline struct outbox *open_lane(struct lane_fixture *fixture)
{
    struct outbox *outbox = outbox_open(&fixture->options, NULL, "test/1");

    assert_non_null(outbox);
    assert_int_equal(outbox_share(outbox, fixture->shared.source), 0);
    return outbox;
}

static inline int set_up_with(void **state, enum on_sent on_sent, enum order order)
{
    static char table[] = "outbox";
    struct lane_fixture *fixture = calloc(1, sizeof *fixture);

    *state = fixture;
    make_database(fixture);
    fixture->options = (struct outbox_options){.url = fixture->url,
                                               .table = table,
                                               .on_sent = on_sent,
                                               .order = order,
                                               .slices = 64,
                                               .durable_before_publish = true,
                                               .batch = 500,
                                               .batch_bytes = 8 * 1024 * 1024,
                                               .publish_timeout_ms = 10000};
    make_tables(fixture);
    assert_int_equal(stop_init(&fixture->stop), 0);
    fixture->shared = (struct watcher_shared){.options = &fixture->options,
                                              .source = source_open(&fixture->options),
                                              .stop = &fixture->stop};
    assert_non_null(fixture->shared.source);
    assert_int_equal(pthread_create(&fixture->watcher, NULL, run_watcher, &fixture->shared), 0);
    fixture->outbox = open_lane(fixture);
    return batch_init(&fixture->batch, 500);
}

static inline int set_up(void **state)
{
    return set_up_with(state, ON_SENT_DELETE, ORDER_KEY);
}

static inline int set_up_mark(void **state)
{
    return set_up_with(state, ON_SENT_MARK, ORDER_KEY);
}

static inline int set_up_unordered(void **state)
{
    return set_up_with(state, ON_SENT_DELETE, ORDER_NONE);
}

static inline int tear_down(void **state)
{
    struct lane_fixture *fixture = *state;
    char text[64];

    outbox_close(fixture->outbox);
    stop_request(&fixture->stop);
    (void)pthread_join(fixture->watcher, NULL);
    source_close(fixture->shared.source);
    stop_free(&fixture->stop);
    (void)snprintf(text, sizeof text, "DROP DATABASE lane%d", (int)getpid());
    sql(fixture, text);
    db_end(&fixture->db);
    batch_free(&fixture->batch);
    free(fixture);
    return 0;
}

static inline void claim_by(struct lane_fixture *fixture, struct outbox *outbox,
                            struct batch *batch, const struct claim_request *request)
{
    if (outbox_ready(outbox, &fixture->error) < 0 ||
        outbox_claim(outbox, batch, request, &fixture->error) < 0)
        fail_msg("%s %s", fixture->error.text, fixture->error.words);
}

/* Of all slices. */
static inline void claim(struct lane_fixture *fixture)
{
    const struct claim_request request = {.payload_max = PAYLOAD_MAX};

    fixture->outbox->choice.width = fixture->outbox->choice.count;
    do
        claim_by(fixture, fixture->outbox, &fixture->batch, &request);
    while (fixture->batch.count == 0 && fixture->batch.has_more);
}

static inline void claim_parked(struct lane_fixture *fixture)
{
    const struct claim_request request = {.payload_max = PAYLOAD_MAX, .parked = true};

    claim_by(fixture, fixture->outbox, &fixture->batch, &request);
}

static inline void settle(struct lane_fixture *fixture)
{
    if (outbox_settle(fixture->outbox, &fixture->batch, NULL, &fixture->error) < 0)
        fail_msg("%s %s", fixture->error.text, fixture->error.words);
}

static inline void send_all(struct lane_fixture *fixture)
{
    for (int i = 0; i < fixture->batch.count; i++) {
        fixture->batch.messages[i].verdict = VERDICT_SENT;
        fixture->batch.messages[i].outcome = OUTCOME_SENT;
    }
    settle(fixture);
}

static inline void assert_text(struct text text, const char *wanted)
{
    assert_int_equal(text.len, strlen(wanted));
    assert_memory_equal(text.data, wanted, text.len);
}

#endif
