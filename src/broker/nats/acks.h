#ifndef BROKER_NATS_ACKS_H
#define BROKER_NATS_ACKS_H

#include "broker/broker.h"

#include <nats/nats.h>

/* A server's answer to a publish, and the verdict that follows. Pure functions; only the files of
 * this folder include this header. */

#define NATS_TEXT_BYTES 256

enum nats_state {
    NATS_NOT_EXPECTED,
    NATS_EXPECTED,
    NATS_STORED,           /* stored by the configured stream, with a sequence number of its own */
    NATS_DUPLICATE,        /* the stream knows this event_id; `sequence` may be 0 */
    NATS_STORED_ELSEWHERE, /* another stream has stored it; `text` says which */
    NATS_REFUSED           /* `status`, `code` and `text` say why */
};

/* A server's answer to one message, or the library's refusal of it. */
struct nats_answer {
    enum nats_state state;
    natsStatus status; /* of a refusal; NATS_ERR when a server has answered */
    int code;          /* the server's error code; 0: none */
    uint64_t sequence;
    char text[NATS_TEXT_BYTES];
};

/* acks.c: reads the answer to a publish. Only an acknowledgement by `stream` counts. */
struct nats_answer nats_read_ack(const char *data, size_t len, const char *stream);
struct nats_answer nats_refusal(natsStatus status);

/* verdicts.c. The verdict that follows from a refusal. PENDING: the broker is down. */
enum verdict nats_verdict_of(natsStatus status, int code);
/* Sets the verdict of a pending message. It stays pending if it is a duplicate (duplicates.c) or
 * the broker is down. */
void nats_judge(struct batch *batch, struct message *message, const struct nats_answer *answer,
                const char *stream);

#endif
