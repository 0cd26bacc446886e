#ifndef MESSAGE_ORDER_H
#define MESSAGE_ORDER_H

#include "message/batch.h"

/*
 * The order of the messages of one key inside a batch. A message is handed to its broker only after
 * the previous message of its key, in the same sink, was acknowledged, or together with it, where
 * the client keeps the order. So a batch is published in waves. A message that was not acknowledged
 * holds back the later ones of its key and no others. Messages without a key (NULL) have no order.
 */

/* Which messages of a key share a wave. */
enum order_kept {
    ORDER_NOT_KEPT,          /* none */
    ORDER_KEPT_IN_PARTITION, /* those with the same destination and route_key */
    ORDER_KEPT_IN_SINK       /* all */
};

/*
 * Runs after routing: links each message that has a key to the previous one and numbers the waves.
 * `kept`: by sink. Returns 0, or -1 when there is no memory: then the batch must not be published.
 */
int order_link(struct batch *batch, const enum order_kept *kept);

/* Whether messages of a key share the current wave of this sink. */
bool order_shares_wave(const struct batch *batch, int sink);

/* Whether the message belongs to this sink and to the current wave, and has no verdict yet. */
bool order_is_in_wave(const struct batch *batch, const struct message *message, int sink);

/* Whether the message is in the current wave and no earlier message of its key is in its way: it
 * may be handed to the client. To be called in the order of the batch; a client that keeps the
 * order sets message->handed on each message that it has accepted. */
bool order_is_due(const struct batch *batch, const struct message *message, int sink);

/* Whether the message was not sent because of an earlier row of its key, in the batch or parked. */
bool order_is_held(const struct batch *batch, const struct message *message);

#endif
