#include "core/outcome.h"

#include "core/backoff.h"

/* A xorshift step (Marsaglia 2003): jitter needs spread, not secrecy. */
static uint32_t next_random(uint32_t *state)
{
    uint32_t x = *state != 0 ? *state : 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

static void decide(struct message *message, const struct retry_options *options, uint32_t random)
{
    switch (message->verdict) {
    case VERDICT_PENDING:
        message->outcome = OUTCOME_LEAVE;
        return;
    case VERDICT_SENT:
        message->outcome = OUTCOME_SENT;
        return;
    case VERDICT_RETRY:
        message->attempts++;
        message->outcome = message->attempts >= options->max_attempts ? OUTCOME_DEAD : OUTCOME_PARK;
        break;
    case VERDICT_WAIT:
        message->outcome = OUTCOME_PARK;
        break;
    case VERDICT_REJECTED:
        message->attempts++;
        message->outcome = OUTCOME_DEAD;
        return;
    }
    message->retry_ms = backoff_ms(options->backoff_ms, options->backoff_max_ms,
                                   message->attempts > 0 ? message->attempts : 1, random);
}

void outcome_decide(struct batch *batch, const struct retry_options *options, uint32_t random)
{
    for (int i = 0; i < batch->count; i++)
        decide(&batch->messages[i], options, next_random(&random));
}
