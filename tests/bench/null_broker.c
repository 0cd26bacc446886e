/*
 * A broker that takes no time: every message that is due is SENT at once. Linked with the relay's
 * own objects into build/bench_claim, where the linker's --wrap puts these functions before the
 * relay's, it leaves claim and settle alone, by the relay's own code. The configuration names the
 * sink type "stdout", which connects to nothing.
 *
 * At the end it writes how many messages there were, and how long after the first the last came.
 */

#include "broker/broker.h"
#include "message/order.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

void take(struct broker *broker, struct batch *batch, int sink,
          int64_t deadline_ms) __asm__("__wrap_broker_send");
int done(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
         struct error *error) __asm__("__wrap_broker_await");
enum order_kept keeps_order(const struct broker *broker, const struct batch *batch,
                            int sink) __asm__("__wrap_broker_keeps_order");
void end(void) __asm__("__wrap_broker_end");

static atomic_llong taken;
static atomic_llong first_ns;
static atomic_llong last_ns;

static long long now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

void take(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    long long now = now_ns();
    long long none = 0;
    int count = 0;

    (void)broker;
    (void)deadline_ms;
    (void)atomic_compare_exchange_strong(&first_ns, &none, now);
    for (int i = 0; i < batch->count; i++)
        if (order_is_due(batch, &batch->messages[i], sink)) {
            batch->messages[i].verdict = VERDICT_SENT;
            count++;
        }
    atomic_fetch_add(&taken, count);
    if (count > 0)
        atomic_store(&last_ns, now);
}

int done(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
         struct error *error)
{
    (void)broker;
    (void)batch;
    (void)sink;
    (void)deadline_ms;
    (void)error;
    return 0;
}

/* As Kafka's client does: the whole batch in one wave. */
enum order_kept keeps_order(const struct broker *broker, const struct batch *batch, int sink)
{
    (void)broker;
    (void)batch;
    (void)sink;
    return ORDER_KEPT_IN_PARTITION;
}

void end(void)
{
    (void)printf("%lld %.6f\n", atomic_load(&taken),
                 (double)(atomic_load(&last_ns) - atomic_load(&first_ns)) / 1e9);
    (void)fflush(stdout);
}
