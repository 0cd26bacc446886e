#include "message/outcome.h"

#include "message/order.h"

/* A xorshift step (Marsaglia 2003): jitter needs spread, not secrecy. */
uint32_t backoff_random(uint32_t *state)
{
    uint32_t x = *state != 0 ? *state : 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

int64_t backoff_ms(int64_t first_ms, int64_t max_ms, int attempt, uint32_t random)
{
    int64_t delay = first_ms < max_ms ? first_ms : max_ms;
    int64_t half;

    for (int i = 1; i < attempt && delay < max_ms; i++)
        delay = delay > max_ms / 2 ? max_ms : delay * 2;
    half = delay / 2;
    /* half * random / UINT32_MAX, in two terms that cannot overflow */
    delay -= half;
    delay += half / UINT32_MAX * random;
    delay += (int64_t)((uint64_t)(half % UINT32_MAX) * random / UINT32_MAX);
    return delay < 1 ? 1 : delay;
}

/* No attempt is counted while a row waits. The delay grows with the time that it has waited
 * instead. */
static int64_t wait_again_ms(const struct message *message, const struct retry_options *options,
                             uint32_t random)
{
    int64_t max_ms = options->backoff_max_ms;
    int64_t first_ms =
        message->waited_ms > options->backoff_ms ? message->waited_ms : options->backoff_ms;

    if (message->wait_max_ms > 0 && message->wait_max_ms < max_ms)
        max_ms = message->wait_max_ms;
    return backoff_ms(first_ms, max_ms, 1, random);
}

static void decide(struct message *message, const struct retry_options *options, uint32_t random)
{
    message->retry_ms = wait_again_ms(message, options, random);
    switch (message->verdict) {
    case VERDICT_PENDING:
        message->outcome = OUTCOME_UNSENT;
        return;
    case VERDICT_SENT:
        message->outcome = OUTCOME_SENT;
        return;
    case VERDICT_RETRY:
        message->attempts++;
        message->outcome = message->attempts >= options->max_attempts ? OUTCOME_DEAD : OUTCOME_PARK;
        break;
    case VERDICT_EARLY:
        message->retry_ms = message->due_ms;
        message->outcome = OUTCOME_PARK;
        return;
    case VERDICT_WAIT:
    case VERDICT_DECLINED:
    case VERDICT_PAUSED:
        message->outcome = OUTCOME_PARK;
        return;
    case VERDICT_REFUSED:
        if (message->is_untried)
            message->retry_ms = 0;
        message->outcome = OUTCOME_REFUSED;
        return;
    case VERDICT_REJECTED:
        message->attempts++;
        message->outcome = OUTCOME_DEAD;
        return;
    }
    message->retry_ms =
        backoff_ms(options->backoff_ms, options->backoff_max_ms, message->attempts, random);
}

/* Overrides the message's own verdict, because an earlier row of its key comes first. Called only
 * when order_is_held(): the earlier row is parked if the message is blocked, else it is `before`,
 * and when that stays in the outbox this one stays there too. */
static void hold(const struct batch *batch, struct message *message)
{
    if (!message->blocked && batch->messages[message->before].outcome == OUTCOME_UNSENT) {
        message->outcome = OUTCOME_UNSENT;
        return;
    }
    message->outcome = OUTCOME_BEHIND;
    message->reason = "waits for an earlier row of its key";
    message->parked_reason = NULL;
    message->waits_for = (struct text){NULL, 0};
}

void outcome_decide(struct batch *batch, const struct retry_options *options, uint32_t random)
{
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];

        if (order_is_held(batch, message))
            hold(batch, message);
        else
            decide(message, options, backoff_random(&random));
    }
}

/* The rows of a slice lie together, in the order of their ids. */
void outcome_pass(struct batch *batch, const struct retry_options *options)
{
    bool is_passed = false;

    for (int i = batch->count - 1; i >= 0; i--) {
        struct message *message = &batch->messages[i];

        if (i == batch->count - 1 || message->slice != batch->messages[i + 1].slice)
            is_passed = false;
        if (message->outcome != OUTCOME_UNSENT) {
            is_passed = true;
        } else if (is_passed) {
            message->outcome = OUTCOME_PARK;
            message->retry_ms = options->backoff_ms;
            if (message->reason == NULL)
                message->reason = "later rows of its slice were sent before it";
        }
    }
}
