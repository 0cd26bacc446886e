#ifndef INTEGRATION_KEYED_ROWS_H
#define INTEGRATION_KEYED_ROWS_H

#include "integration/publishing.h"
#include "message/order.h"
#include "message/outcome.h"

/*
 * Rows with keys on their way through one broker, as a lane and its table would take them: each
 * cycle claims what is unsent, publishes it wave by wave and notes the outcomes. A row behind a
 * parked one of its key is blocked.
 */

#define ROWS_MAX 500
#define CYCLES_MAX 8

struct keyed_row {
    int id;
    const char *destination;
    const char *key;
    const char *value;
    enum outcome outcome;
};

static struct keyed_row rows[ROWS_MAX];
static int row_count;

static inline struct keyed_row *add_row(const char *destination, const char *key, const char *value)
{
    static int id;

    rows[row_count] = (struct keyed_row){++id, destination, key, value, OUTCOME_UNSENT};
    return &rows[row_count++];
}

static inline bool is_blocked(const struct keyed_row *row)
{
    for (int i = 0; i < row_count; i++)
        if (strcmp(rows[i].key, row->key) == 0 && rows[i].outcome != OUTCOME_UNSENT &&
            rows[i].outcome != OUTCOME_SENT)
            return true;
    return false;
}

static inline void claim_rows(struct keyed_row *claimed[ROWS_MAX])
{
    char id[32];

    batch_reset(&batch);
    for (int i = 0; i < row_count; i++) {
        struct message *message;

        if (rows[i].outcome != OUTCOME_UNSENT)
            continue;
        claimed[batch.count] = &rows[i];
        message = add_message(&batch, rows[i].destination, rows[i].key, rows[i].value);
        (void)snprintf(id, sizeof id, "row-%d", rows[i].id);
        message->event_id = batch_copy(&batch, id, strlen(id));
        message->key = message->route_key;
        message->blocked = is_blocked(&rows[i]);
    }
}

/* As a lane does. */
static inline void link_batch(void)
{
    enum order_kept kept[] = {[SINK] = ORDER_NOT_KEPT};

    assert_int_equal(order_link(&batch, kept), 0);
    kept[SINK] = broker_keeps_order(broker, &batch, SINK);
    assert_int_equal(order_link(&batch, kept), 0);
}

/* 0, or -1: the broker went away. */
static inline int publish_waves(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    int status = 0;

    for (batch.wave = 0; status == 0 && batch.wave <= batch.last_wave; batch.wave++) {
        broker_send(broker, &batch, SINK, deadline_ms);
        status = broker_await(broker, &batch, SINK, deadline_ms, &error);
    }
    return status;
}

static inline int run_cycle(void)
{
    static const struct retry_options retry = {
        .max_attempts = 3, .backoff_ms = 1000, .backoff_max_ms = 1000};
    struct keyed_row *claimed[ROWS_MAX];
    int status;

    wait_until_ready();
    claim_rows(claimed);
    link_batch();
    status = publish_waves();
    outcome_decide(&batch, &retry, 1);
    for (int i = 0; i < batch.count; i++)
        claimed[i]->outcome = batch.messages[i].outcome;
    return status;
}

static inline int count_rows(enum outcome outcome)
{
    int count = 0;

    for (int i = 0; i < row_count; i++)
        count += rows[i].outcome == outcome;
    return count;
}

static inline void run_cycles(void)
{
    for (int i = 0; i < CYCLES_MAX && count_rows(OUTCOME_UNSENT) > 0; i++)
        (void)run_cycle();
    assert_int_equal(count_rows(OUTCOME_UNSENT), 0);
}

/* The operator drops what is dead; what stood behind it falls due, in its order. */
static inline void drop_dead_rows(void)
{
    int kept = 0;

    for (int i = 0; i < row_count; i++) {
        if (rows[i].outcome == OUTCOME_DEAD)
            continue;
        rows[kept] = rows[i];
        if (rows[kept].outcome == OUTCOME_BEHIND)
            rows[kept].outcome = OUTCOME_UNSENT;
        kept++;
    }
    row_count = kept;
}

#endif
