#ifndef BROKER_NATS_HEADERS_H
#define BROKER_NATS_HEADERS_H

#include "message/message.h"

#include <nats/nats.h>

/* A message's headers, in the library's hands; only the files of this folder include it. */

#define NATS_OWN_HEADERS 6

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

/* Whether this version of the library takes them all at once. */
bool nats_block_works(void);

#endif
