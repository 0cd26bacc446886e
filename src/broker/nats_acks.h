#ifndef BROKER_NATS_ACKS_H
#define BROKER_NATS_ACKS_H

#include "broker/broker.h"

#include <nats/nats.h>
#include <pthread.h>

/* What has become of the messages of a batch: written by the library's threads, read by the lane.
 * Only the nats_*.c files include it. */

#define NATS_TEXT_BYTES 256 /* a subject is at most one byte shorter */
#define NATS_FETCH_PREFIX "$JS.API.STREAM.MSG.GET."

enum nats_state {
    NATS_NOT_EXPECTED,
    NATS_EXPECTED,         /* handed over, or about to be; text: its subject */
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

struct nats_slot {
    const natsMsg *key; /* NULL: free */
    int place;          /* in the batch */
};

/* What the library's threads may touch: everything under the mutex, for ever allocated, and of the
 * batch nothing. */
struct nats_acks {
    pthread_mutex_t mutex;
    pthread_cond_t ended;        /* no message is outstanding, or the connection is lost */
    natsConnection *connection;  /* whose events count; NULL: nobody's */
    bool lost;                   /* that connection is closed */
    const char *stream;          /* the only one whose acknowledgement is one */
    struct nats_slot *slots;     /* open addressing by the pointer; at most half full */
    size_t slot_count;           /* a power of two, or 0 */
    struct nats_answer *answers; /* by place in the batch; the lane's own once none is awaited */
    int answer_capacity;
    int count;          /* places in use */
    int outstanding;    /* expected, not answered */
    bool may_not_fetch; /* the connection is not permitted to read stored messages */
    unsigned number;
    struct nats_acks *next; /* in the pool */
};

struct nats_acks *nats_acks_take(void); /* NULL: no memory */
void nats_acks_return(struct nats_acks *acks);
void nats_acks_watch(struct nats_acks *acks, natsConnection *connection);
bool nats_acks_lost(struct nats_acks *acks);
bool nats_acks_may_not_fetch(struct nats_acks *acks);
/* Enters `built`, before it is published: an acknowledgement may overtake the publishing call. -1:
 * no memory, and nothing is expected. */
int nats_acks_expect(struct nats_acks *acks, natsMsg *const *built, int count, const char *stream);
/* Ends an expectation: the library itself has refused the message. */
void nats_acks_refuse(struct nats_acks *acks, int place, natsStatus status);
/* Waits, then forgets what is outstanding, and turns the answers into the verdicts of `batch`;
 * duplicates stay pending. How many of the others have no answer. */
int nats_acks_await(struct nats_acks *acks, struct batch *batch, int64_t deadline_ms);
void on_ack(jsCtx *context, natsMsg *key, jsPubAck *ack, jsPubAckErr *refusal, void *closure);
void on_lost(natsConnection *connection, void *closure);
void on_problem(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                void *closure);

/* nats_verdicts.c. Pure: of a refusal. PENDING: the broker is down. */
enum verdict nats_verdict_of(natsStatus status, int code);
/* On the lane's thread, of a message that is still pending. */
void nats_judge(struct batch *batch, struct message *message, const struct nats_answer *answer,
                const char *stream);

#endif
