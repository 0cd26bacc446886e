#ifndef BROKER_NATS_LOOP_H
#define BROKER_NATS_LOOP_H

#include "broker/nats/nats.h"

/* Reading from and writing to a connection; only the files of this folder include this header. */

natsStatus nats_set_loop(natsOptions *library, struct nats_io *io);
natsStatus nats_open_inbox(struct nats *nats);
void nats_close_inbox(struct nats *nats);
/* Shuts the socket down, so that nothing more is written and the library finds the connection
 * lost. */
void nats_hang_up(struct nats *nats);
bool nats_lost(const struct nats *nats);
/* Makes a random token that cannot be guessed from earlier ones. */
void nats_new_token(struct nats *nats, char token[NATS_TOKEN_BYTES]);
/* Builds the reply subject of request `number`. */
void nats_reply_subject(const struct nats *nats, uint64_t number, const char *token,
                        char reply[NATS_REPLY_BYTES]);
/* Reads the request number and token from an answer's subject; *token points into the answer.
 * False: the subject is not one of ours. */
bool nats_read_reply(const struct nats *nats, const natsMsg *answer, uint64_t *number,
                     const char **token);
/* Writes all that has been published. Waits until the deadline at most. */
void nats_flush(struct nats *nats, int64_t deadline_ms);
/* Writes what the socket takes without waiting, so that the server can start while the lane serves
 * other sinks. */
void nats_write_some(struct nats *nats, int64_t deadline_ms);
/* Like nats_flush, but only when much is buffered. False: not everything could be written, because
 * the deadline passed or the connection was lost. */
bool nats_flush_if_large(struct nats *nats, int64_t deadline_ms);
/* Call when the lane was idle: answers the server's pings and notices a closed connection. */
void nats_serve_idle(struct nats *nats);
/* The next answer, which the caller must nats_discard. Waits a while, until the deadline at most.
 * NULL: none yet. */
natsMsg *nats_next(struct nats *nats, int64_t deadline_ms);
/* Sends a request and waits for its answer, which the caller owns; drops all other answers. */
natsStatus nats_ask(struct nats *nats, const char *subject, const char *text, int64_t deadline_ms,
                    natsMsg **answer);

/* Destroys a message, not necessarily at once. */
void nats_discard(struct nats *nats, natsMsg *message);
/* Destroys all discarded messages now. */
void nats_free_discarded(struct nats *nats);

#endif
