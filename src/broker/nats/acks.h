#ifndef BROKER_NATS_ACKS_H
#define BROKER_NATS_ACKS_H

#include "broker/broker.h"

#include <nats/nats.h>

/* What a server says of a message, and what that means. Pure; only the files of this folder include
 * it.
 */

#define NATS_TEXT_BYTES 256

enum nats_state {
    NATS_NOT_EXPECTED,
    NATS_EXPECTED,
    NATS_STORED,           /* by the configured stream, under a number of its own */
    NATS_DUPLICATE,        /* the stream has had this event_id; sequence: where, 0 when not kept */
    NATS_STORED_ELSEWHERE, /* text: by whom, instead */
    NATS_REFUSED           /* status, code and text: why */
};

/* What has become of one message. */
struct nats_answer {
    enum nats_state state;
    natsStatus status; /* of a refusal: NATS_ERR when a server has answered */
    int code;          /* the server's, 0 when there is none */
    uint64_t sequence;
    char text[NATS_TEXT_BYTES];
};

/* acks.c: the answer to a publish, `len` bytes; only `stream` can acknowledge. */
struct nats_answer nats_read_ack(const char *data, size_t len, const char *stream);
struct nats_answer nats_refusal(natsStatus status);

/* verdicts.c. Of a refusal. PENDING: the broker is down. */
enum verdict nats_verdict_of(natsStatus status, int code);
/* Of a message that is still pending. */
void nats_judge(struct batch *batch, struct message *message, const struct nats_answer *answer,
                const char *stream);

#endif
