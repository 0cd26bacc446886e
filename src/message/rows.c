#include "message/rows.h"

int rows_choose(struct rows *rows, struct batch *batch,
                bool (*belongs)(const struct batch *batch, const struct message *message),
                struct error *error)
{
    rows->count = 0;
    rows->messages = batch_alloc(batch, (size_t)batch->count * sizeof(struct message *) + 1);
    if (rows->messages == NULL)
        return error_no_memory(error);
    for (int i = 0; i < batch->count; i++)
        if (belongs(batch, &batch->messages[i]))
            rows->messages[rows->count++] = &batch->messages[i];
    return 0;
}

bool rows_sent(const struct batch *batch, const struct message *message)
{
    (void)batch;
    return message->outcome == OUTCOME_SENT;
}

bool rows_refused(const struct batch *batch, const struct message *message)
{
    (void)batch;
    return message->outcome == OUTCOME_REFUSED;
}

bool rows_to_be_parked(const struct batch *batch, const struct message *message)
{
    return message->outcome == OUTCOME_PARK || message->outcome == OUTCOME_DEAD ||
           (message->outcome == OUTCOME_BEHIND && !batch->parked);
}

bool rows_to_be_published(const struct batch *batch, const struct message *message)
{
    (void)batch;
    return message->verdict == VERDICT_PENDING && !message->blocked;
}
