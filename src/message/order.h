#ifndef MESSAGE_ORDER_H
#define MESSAGE_ORDER_H

#include "message/batch.h"

/*
 * The order of a key inside a batch. A message is handed to its broker only after the one of its
 * key before it, in the same sink, has been acknowledged; so a batch goes out in waves. A message
 * that was not acknowledged holds those of its key behind it, and nobody else. A message without a
 * key (NULL) has no order.
 */

/*
 * After routing: links each message that has a key to the one before it, and numbers the waves.
 * `kept`: a bit for each sink whose client stores nothing behind a message that failed; there the
 * messages of a key that go the same way (destination and route_key) share a wave. 0; -1: no
 * memory, nothing is linked, and the batch must not be published.
 */
int order_link(struct batch *batch, uint64_t kept);

/* Belongs to this sink and to the wave in hand, and has no verdict yet. */
bool order_is_in_wave(const struct batch *batch, const struct message *message, int sink);

/* In the wave, and none of its key stands in its way: it may be handed over. Asked in the order of
 * the batch, whose client notes what it has taken in message->handed when it keeps the order. */
bool order_is_due(const struct batch *batch, const struct message *message, int sink);

/* It was not sent because of an earlier row of its key, in the batch or parked. */
bool order_is_held(const struct batch *batch, const struct message *message);

#endif
