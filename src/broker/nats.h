#ifndef BROKER_NATS_H
#define BROKER_NATS_H

#include "broker/broker.h"

#include <nats/nats.h>
#include <pthread.h>

/* What the nats_*.c files share; nobody else includes it. */

#define NATS_HEADER_FRAME_BYTES 12 /* "NATS/1.0" and two line ends */

struct nats_slot {
    const natsMsg *key; /* NULL: free */
    struct message *message; /* NULL: has its verdict */
};

/* What the library's threads may touch: everything under the mutex, for ever allocated. */
struct nats_acks {
    pthread_mutex_t mutex;
    pthread_cond_t ended; /* no message is outstanding, or the connection is lost */
    natsConnection *connection; /* whose events count; NULL: nobody's */
    bool lost; /* that connection is closed */
    const char *stream; /* the only one whose acknowledgement is one */
    struct batch *batch;
    struct nats_slot *slots; /* open addressing by the pointer; at most half full */
    size_t slot_count; /* a power of two, or 0 */
    int outstanding; /* published, no verdict yet */
    int unanswered; /* given up by the library */
    int duplicates; /* the stream had them already */
    natsMsg **built; /* the lane's own: by place in the batch; NULL: not to be published */
    int built_capacity;
    unsigned number;
    struct nats_acks *next; /* in the pool */
};

struct nats {
    struct broker_base base;
    natsConnection *connection; /* NULL: none, ready() makes one */
    jsCtx *context;
    bool stream_checked; /* on this connection */
    struct nats_acks *acks;
    int64_t message_bytes_max; /* the server's max_payload: headers and payload */
    const char *address; /* the server tried last */
    unsigned server; /* the next to try */
    natsMsg **built; /* by place in the batch; NULL: not to be published */
    int built_capacity;
};

/* nats_acks.c */
struct nats_acks *nats_acks_take(void); /* NULL: no memory */
void nats_acks_return(struct nats_acks *acks);
void nats_acks_watch(struct nats_acks *acks, natsConnection *connection);
bool nats_acks_lost(struct nats_acks *acks);
/* Empties the table, and `built`. -1, no memory: await will say so. */
int nats_acks_begin(struct nats_acks *acks, struct batch *batch, const char *stream);
/* Enters `built`, before it is published: an acknowledgement may overtake the publishing call. */
void nats_acks_expect(struct nats_acks *acks);
/* Ends the expectation: with a verdict, or unanswered when the reason is NULL. */
void nats_acks_refuse(struct nats_acks *acks, const natsMsg *key, enum verdict verdict,
                      const char *reason);
/* Forgets what is outstanding at the deadline. How many messages have no answer. */
int nats_acks_await(struct nats_acks *acks, int64_t deadline_ms);
void on_ack(jsCtx *context, natsMsg *key, jsPubAck *ack, jsPubAckErr *refusal, void *closure);
void on_lost(natsConnection *connection, void *closure);
void on_problem(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                void *closure);

/* nats_publish.c */
void nats_send(struct broker *broker, struct batch *batch, int sink);
int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error);

/* nats_connect.c: nothing when the connection stands. */
int nats_connect(struct nats *nats, struct error *error);
void nats_disconnect(struct nats *nats);
const char *nats_text(natsStatus status);
int nats_fail(const struct nats *nats, struct error *error, enum error_kind kind, const char *text);

/* nats_stream.c: missing streams are added when the sink says create. */
int nats_check_stream(struct nats *nats, struct error *error);
int nats_inspect(struct broker *broker, const char *destination, char *warning, size_t warning_size,
                 struct error *error);
int nats_make(struct broker *broker, const char *destination, struct error *error);

#endif
