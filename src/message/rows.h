#ifndef MESSAGE_ROWS_H
#define MESSAGE_ROWS_H

#include "base/error.h"
#include "message/batch.h"

#include <stdbool.h>

/* Messages of a batch, in its order, in its memory. */
struct rows {
    struct message **messages;
    int count;
};

/* Chooses the messages that `belongs` says; -1: no memory. */
int rows_choose(struct rows *rows, struct batch *batch,
                bool (*belongs)(const struct batch *batch, const struct message *message),
                struct error *error);

/* What rows_choose() is told, by the verdict or the outcome of a message. */
bool rows_sent(const struct batch *batch, const struct message *message);
bool rows_to_be_published(const struct batch *batch, const struct message *message);
bool rows_refused(const struct batch *batch, const struct message *message);

/* A parked row that still waits for an earlier row of its key is not written again. */
bool rows_to_be_parked(const struct batch *batch, const struct message *message);

#endif
