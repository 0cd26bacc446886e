#ifndef TESTS_INTEGRATION_LANE_FIXTURE_H
#define TESTS_INTEGRATION_LANE_FIXTURE_H

/* One lane's outbox beside a real PostgreSQL, without a broker: the test decides each outcome. The
 * watcher runs beside it, as in a process. */

#include "integration/harness.h"

#include "relay/watcher.h"

#include "admin/admin.h"
#include "outbox/slices/slice_lock_state.h"
#include "outbox/slices/source_state.h"
#include "outbox/state.h"
#include "source/outbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PAYLOAD_MAX (2 * 1024 * 1024)

struct lane_fixture {
    char url[256];
    PGconn *conn;
    struct outbox_options options;
    struct outbox *outbox;
    struct stop stop;
    struct watcher_shared shared;
    pthread_t watcher;
    struct horizon_view view;
    struct batch batch;
    struct error error;
};

/* A test that has it as `fixture`. */
#define LANE_TEST(name) TEST_GIVEN(struct lane_fixture *fixture, name)
#define LANE_TEST_WITH(name, before, after)                                                        \
    TEST_GIVEN_WITH(struct lane_fixture *fixture, name, before, after)

static inline void init_tables(struct lane_fixture *fixture)
{
    struct admin *admin = admin_open(&fixture->options, &fixture->error);
    char *executed;
    char *missing = NULL;

    assert_non_null(admin);
    assert_int_equal(admin_init(admin, &executed, &missing, &fixture->error), 0);
    admin_close(admin);
}

static inline void *run_watcher(void *shared)
{
    watcher_run(shared);
    return NULL;
}

static inline void start_watcher(struct lane_fixture *fixture)
{
    int slices = fixture->options.order == ORDER_KEY ? fixture->options.slices : 1;

    assert_int_equal(stop_init(&fixture->stop), 0);
    fixture->shared = (struct watcher_shared){.options = &fixture->options,
                                              .source = source_open(&fixture->options),
                                              .stop = &fixture->stop};
    assert_non_null(fixture->shared.source);
    assert_int_equal(horizon_view_init(&fixture->view, slices), 0);
    assert_int_equal(pthread_create(&fixture->watcher, NULL, run_watcher, &fixture->shared), 0);
}

/* A lane of the same process. */
static inline void share(struct lane_fixture *fixture, struct outbox *outbox)
{
    assert_int_equal(outbox_share(outbox, fixture->shared.source), 0);
}

static inline void stop_watcher(struct lane_fixture *fixture)
{
    stop_request(&fixture->stop);
    (void)pthread_join(fixture->watcher, NULL);
    horizon_view_free(&fixture->view);
    source_close(fixture->shared.source);
    stop_free(&fixture->stop);
}

static inline int set_up_by(void **state, enum on_sent on_sent, enum order order, int slices)
{
    static char table[] = "public.outbox";
    struct lane_fixture *fixture = calloc(1, sizeof *fixture);

    *state = fixture;
    fixture->conn = harness_database(fixture->url);
    fixture->options = (struct outbox_options){.url = fixture->url,
                                               .table = table,
                                               .on_sent = on_sent,
                                               .order = order,
                                               .slices = slices,
                                               .durable_before_publish = true,
                                               .synchronous_commit = true,
                                               .batch = 500,
                                               .batch_bytes = 8 * 1024 * 1024,
                                               .publish_timeout_ms = 10000};
    init_tables(fixture);
    fixture->outbox = outbox_open(&fixture->options, NULL, "test/1");
    assert_non_null(fixture->outbox);
    start_watcher(fixture);
    share(fixture, fixture->outbox);
    return batch_init(&fixture->batch, 500);
}

static inline int set_up_with(void **state, enum on_sent on_sent)
{
    return set_up_by(state, on_sent, ORDER_NONE, 0);
}

static inline int set_up(void **state)
{
    return set_up_with(state, ON_SENT_MARK);
}

static inline int set_up_delete(void **state)
{
    return set_up_with(state, ON_SENT_DELETE);
}

static inline int tear_down(void **state)
{
    struct lane_fixture *fixture = *state;

    batch_free(&fixture->batch);
    outbox_close(fixture->outbox);
    stop_watcher(fixture);
    PQfinish(fixture->conn);
    free(fixture);
    return 0;
}

/* Reads into fixture->view. */
static inline void read_horizon(struct lane_fixture *fixture)
{
    horizon_read(fixture->shared.source->horizon, &fixture->outbox->server, &fixture->view);
}

/* The lowest of the bounds. */
static inline int64_t lowest_bound(struct lane_fixture *fixture, bool high)
{
    int64_t lowest = INT64_MAX;

    read_horizon(fixture);
    for (int i = 0; i < horizon_slices(fixture->shared.source->horizon); i++) {
        const struct horizon_bound *bound = &fixture->view.bounds[i];
        int64_t id = high ? bound->high : bound->low;

        lowest = id < lowest ? id : lowest;
    }
    return lowest;
}

static inline void await_bounds(struct lane_fixture *fixture, bool high, int64_t id)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    while (lowest_bound(fixture, high) < id) {
        if (harness_now_ms() > deadline_ms)
            fail_msg("bound %lld, waiting for %lld", (long long)lowest_bound(fixture, high),
                     (long long)id);
        harness_pause();
    }
}

static inline bool is_starting(struct lane_fixture *fixture, const struct outbox *outbox)
{
    horizon_read(fixture->shared.source->horizon, &outbox->server, &fixture->view);
    return fixture->view.starting;
}

/* After each connect of a lane its process scans the table, and claims wait for the scan. */
static inline void await_first_scan(struct lane_fixture *fixture, const struct outbox *outbox)
{
    int64_t deadline_ms = harness_now_ms() + HARNESS_WAIT_MS;

    while (is_starting(fixture, outbox)) {
        assert_true(harness_now_ms() < deadline_ms);
        harness_pause();
    }
}

static inline void connect_lane(struct lane_fixture *fixture, struct outbox *outbox)
{
    if (outbox_ready(outbox, &fixture->error) < 0)
        fail_msg("%s", fixture->error.text);
    await_first_scan(fixture, outbox);
}

/* A second lane of the process. */
static inline struct outbox *open_second(struct lane_fixture *fixture)
{
    struct outbox *second = outbox_open(&fixture->options, NULL, "test/2");

    assert_non_null(second);
    share(fixture, second);
    connect_lane(fixture, second);
    return second;
}

/* A lane that keeps the order of keys and may claim all slices at once. */
static inline int open_ordered(void **state, enum on_sent on_sent, int slices)
{
    struct lane_fixture *fixture;

    if (set_up_by(state, on_sent, ORDER_KEY, slices) != 0)
        return -1;
    fixture = *state;
    fixture->outbox->slices->choice.width =
        SLICES_PER_CLAIM_MAX; /* as wide as a lane becomes when its claims find few rows */
    connect_lane(fixture, fixture->outbox);
    return 0;
}

static inline int claim_from(struct outbox *outbox, struct batch *batch, bool parked,
                             struct error *error)
{
    const struct claim_request claim = {.parked = parked, .payload_max = PAYLOAD_MAX};

    return outbox_claim(outbox, batch, &claim, error);
}

static inline int claim(struct lane_fixture *fixture)
{
    if (outbox_ready(fixture->outbox, &fixture->error) < 0)
        return -1;
    await_first_scan(fixture, fixture->outbox);
    return claim_from(fixture->outbox, &fixture->batch, false, &fixture->error);
}

static inline void claim_count(struct lane_fixture *fixture, int count)
{
    if (claim(fixture) < 0)
        fail_msg("%s", fixture->error.text);
    assert_int_equal(fixture->batch.count, count);
}

static inline void decide_all(struct batch *batch, enum outcome outcome)
{
    for (int i = 0; i < batch->count; i++)
        batch->messages[i].outcome = outcome;
}

static inline int settle_all(struct lane_fixture *fixture, bool claim_next)
{
    const struct claim_request next = {.payload_max = PAYLOAD_MAX};

    return outbox_settle(fixture->outbox, &fixture->batch, claim_next ? &next : NULL,
                         &fixture->error);
}

static inline void settle(struct lane_fixture *fixture, bool claim_next)
{
    if (settle_all(fixture, claim_next) < 0)
        fail_msg("%s", fixture->error.text);
}

static inline void insert_rows(struct lane_fixture *fixture, int count)
{
    sql(fixture->conn,
        "INSERT INTO outbox (topic, key, payload) SELECT 't', 'k' || i, to_jsonb(i)"
        " FROM generate_series(1, %d) i",
        count);
}

static inline void assert_text(struct text actual, const char *expected)
{
    if (expected == NULL) {
        assert_null(actual.data);
        return;
    }
    assert_non_null(actual.data);
    assert_int_equal(actual.len, strlen(expected));
    assert_memory_equal(actual.data, expected, actual.len);
}

static inline void refuse_all(struct lane_fixture *fixture, enum outcome outcome, int64_t retry_ms)
{
    for (int i = 0; i < fixture->batch.count; i++) {
        struct message *message = &fixture->batch.messages[i];

        batch_refuse(&fixture->batch, message, VERDICT_RETRY, "reason %d", i + 1);
        message->attempts++;
        message->outcome = outcome;
        message->retry_ms = retry_ms;
    }
}

#endif
