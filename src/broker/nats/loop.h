#ifndef BROKER_NATS_LOOP_H
#define BROKER_NATS_LOOP_H

#include "broker/nats/nats.h"

/* A connection's bytes, out and in; only the files of this folder include it. */

natsStatus nats_set_loop(natsOptions *library, struct nats_io *io);
natsStatus nats_open_inbox(struct nats *nats);
void nats_close_inbox(struct nats *nats);
/* Writes no more: the library finds the connection lost. */
void nats_hang_up(struct nats *nats);
bool nats_lost(const struct nats *nats);
/* Nobody can guess one from those before it. */
void nats_new_token(struct nats *nats, char token[NATS_TOKEN_BYTES]);
/* Where the answer to request `number` comes back. */
void nats_reply_subject(const struct nats *nats, uint64_t number, const char *token,
                        char reply[NATS_REPLY_BYTES]);
/* Number and token, which lies in the answer, of the request that it belongs to. False: to none. */
bool nats_read_reply(const struct nats *nats, const natsMsg *answer, uint64_t *number,
                     const char **token);
/* Writes what has been published, also when it is little. Until the deadline at most. */
void nats_flush(struct nats *nats, int64_t deadline_ms);
/* Writes what the socket takes at once: this server works while others are awaited. */
void nats_push(struct nats *nats, int64_t deadline_ms);
/* Writes it when it is much: little is neither looked at nor judged. False: what was much could not
 * all be written, by the deadline or because the connection is lost. */
bool nats_relieve(struct nats *nats, int64_t deadline_ms);
/* Answers the server's pings, and finds out that it has gone. */
void nats_rest(struct nats *nats);
/* The next answer, the caller's to discard; waits a while for it, until the deadline at most. */
natsMsg *nats_next(struct nats *nats, int64_t deadline_ms);
/* The answer to a request; drops other answers. */
natsStatus nats_ask(struct nats *nats, const char *subject, const char *text, int64_t deadline_ms,
                    natsMsg **answer);

/* Destroys a message, some time. */
void nats_discard(struct nats *nats, natsMsg *message);
/* Destroys what has been discarded. */
void nats_clean(struct nats *nats);

#endif
