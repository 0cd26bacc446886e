#ifndef BROKER_NATS_HEADERS_H
#define BROKER_NATS_HEADERS_H

#include "message/message.h"

#include <nats/nats.h>

/* Headers of the library's messages; only the files of this folder include this header. */

#define NATS_OWN_HEADERS 7

/* The relay's own headers, followed by two for the server: the id by which it drops repeats, and
 * the stream that must answer. A NULL value means that the header is not sent. */
void nats_own_headers(const struct message *message, const char *stream,
                      struct header own[NATS_OWN_HEADERS]);

/* Sets the headers one by one. `strings` must have room for all of them, each terminated. */
natsStatus nats_set_headers(natsMsg *built, const struct message *message,
                            const struct header own[NATS_OWN_HEADERS], char *strings);
void nats_drop_headers(natsMsg *built, const struct header own[NATS_OWN_HEADERS]);

/* Sets all headers in one call, disguised as one header with a very long name (headers.c). They
 * cannot be read back. `strings` keeps the name for nats_drop_block(). */
natsStatus nats_set_block(natsMsg *built, const struct message *message,
                          const struct header own[NATS_OWN_HEADERS], char *strings);
void nats_drop_block(natsMsg *built, const char *strings);

/* The library's form of a message. `block`: all headers are set in one call, which can be sent but
 * not read back. `scratch` has room for the subject, and for all headers. NULL when out of memory.
 */
natsMsg *nats_build(const struct message *message, const struct header own[NATS_OWN_HEADERS],
                    const char *reply, bool block, char *scratch);

/* Whether nats_set_block works with this version of the library. */
bool nats_one_call_works(void);

#endif
