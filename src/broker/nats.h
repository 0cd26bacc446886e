#ifndef BROKER_NATS_H
#define BROKER_NATS_H

#include "broker/nats_acks.h"

/* What the nats_*.c files share; nobody else includes it. */

#define NATS_HEADER_FRAME_BYTES 12 /* "NATS/1.0" and two line ends */

struct nats {
    struct broker_base base;
    natsConnection *connection; /* NULL: none, ready() makes one */
    jsCtx *context;
    bool stream_checked;   /* on this connection */
    bool keeps_unwanted;   /* false: interest retention, alone: a repeat may have no number */
    bool warned;           /* on this connection, of a duplicate that could not be compared */
    bool fetches_end;      /* on this connection */
    bool fetch_was_silent; /* the last one, on whichever connection */
    struct nats_acks *acks;
    int64_t message_bytes_max; /* the server's max_payload: headers and payload */
    const char *address;       /* the server tried last */
    unsigned server;           /* the next to try */
    natsMsg **built;           /* by place in the batch; NULL: not to be published */
    int built_capacity;
    int unsent; /* for want of memory */
    bool unflushed;
};

/* nats_publish.c */
void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error);
/* With all its headers. NULL when there is no memory: the message stays as it is. */
natsMsg *nats_build(const struct nats *nats, struct batch *batch, const struct message *message);

/* nats_duplicates.c: gives each duplicate its verdict. How many stay pending. */
int nats_compare_duplicates(struct nats *nats, struct batch *batch, int64_t deadline_ms);

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
