#ifndef BROKER_NATS_HEADERS_H
#define BROKER_NATS_HEADERS_H

#include "core/message.h"

#include <nats/nats.h>

/* A message's headers, in the library's hands; only the nats_*.c files include it. */

#define NATS_OWN_HEADERS 6

struct nats;

/* Whether one call can set all headers. */
enum nats_block {
    NATS_BLOCK_UNTRIED,
    NATS_BLOCK_TRIED, /* what comes back will tell */
    NATS_BLOCK_WORKS,
    NATS_BLOCK_REFUSED /* by the library, or nothing came back: not tried again */
};

/* The relay's own, and two for the server: by which id it drops repeats, and, the last, which
 * stream must answer. A value that is NULL makes no header. */
void nats_own_headers(const struct message *message, const char *stream,
                      struct header own[NATS_OWN_HEADERS]);

/* One by one. `strings` has room for all of them, each terminated. */
natsStatus nats_set_headers(natsMsg *built, const struct message *message,
                            const struct header own[NATS_OWN_HEADERS], char *strings);
void nats_drop_headers(natsMsg *built, const struct header own[NATS_OWN_HEADERS]);

/* All at once, as one name, which stays in `strings`; they cannot be asked for. */
natsStatus nats_set_block(natsMsg *built, const struct message *message,
                          const struct header own[NATS_OWN_HEADERS], char *strings);
void nats_drop_block(natsMsg *built, const char *strings);

/* Sends a message to the connection's own inbox, unless it is known whether blocks work. */
void nats_try_block(struct nats *nats);
/* Of an answer to no question: it may be that message. */
void nats_hear_block(struct nats *nats, natsMsg *answer);
/* What was asked later has been answered. */
void nats_end_trial(struct nats *nats);

#endif
