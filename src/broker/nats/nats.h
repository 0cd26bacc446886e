#ifndef BROKER_NATS_NATS_H
#define BROKER_NATS_NATS_H

#include "base/bounded_call.h"
#include "broker/nats/acks.h"
#include "broker/nats/headers.h"
#include "broker/nats/io.h"
#include "broker/nats/problems.h"

/* What the files of this folder share; nobody else includes it. */

#define NATS_HEADER_FRAME_BYTES 12            /* "NATS/1.0" and two line ends */
#define NATS_HEADER_BYTES_MAX (64 * 1024 - 1) /* JetStream's limit */
#define NATS_SPENT_MAX 256
#define NATS_FETCH_PREFIX "$JS.API.STREAM.MSG.GET."
#define NATS_INBOX_PREFIX "_INBOX" /* the default of every client of NATS */
#define NATS_RANDOM_BYTES 4096

/* What became of a message of the batch. */
struct nats_place {
    enum nats_state state;
    char token[NATS_TOKEN_BYTES]; /* of its answer's subject */
    uint64_t sequence;            /* where it is stored */
};

/* An attempt to connect to one server that hangs. */
struct nats_hang {
    struct bounded_call *late; /* NULL: none */
    int64_t since_ms;
};

struct nats {
    struct broker_base base;
    natsConnection *connection; /* NULL: none, ready() makes one */
    natsSubscription *inbox;    /* of every answer; a context of JetStream's would need a thread */
    char inbox_name[NATS_INBOX_BYTES];
    uint64_t asked;                     /* on this object; the number of an answer's subject */
    char asked_token[NATS_TOKEN_BYTES]; /* of the last request */
    unsigned char random[NATS_RANDOM_BYTES];
    int random_left;      /* bytes of it */
    uint64_t highest;     /* sequence number acknowledged on this connection, */
    uint64_t floor;       /* and the same before the present send */
    bool threaded;        /* TLS: the library's threads read and write */
    bool needs_tls;       /* a server asked for it, and none has failed since */
    bool stream_found;    /* on this connection */
    bool doubts_subjects; /* the stream may take other subjects by now: it is asked anew */
    int64_t subjects_ms;  /* when it was asked last */
    struct match *taken;  /* the stream's subjects, as it said last */
    int taken_count;
    struct nats_io *io;                    /* never NULL */
    struct nats_hang hangs[SINK_LIST_MAX]; /* of each server */
    natsMsg **received;                    /* read, not yet taken */
    int received_capacity;
    int received_count;
    int received_taken;

    int unheard; /* answers that nobody listens to a subject: the library does not say to which */
    natsMsg *spent[NATS_SPENT_MAX]; /* to be destroyed together */
    int spent_count;
    int64_t spent_bytes;

    bool keeps_unwanted;   /* false: interest retention, alone: a repeat may have no number */
    bool warned;           /* on this connection, of a duplicate that could not be compared */
    bool fetches_end;      /* on this connection */
    bool may_not_fetch;    /* on this connection: stored messages */
    bool fetch_was_silent; /* the last one, on whichever connection */
    struct nats_problems *problems;
    int64_t message_bytes_max; /* the server's max_payload: headers and payload, */
    int64_t told_ms;           /* as it said when this connection was made */
    bool doubts_max;           /* that was long ago, and something is larger: it is asked anew */
    const char *address;       /* the server tried last */
    int64_t ready_ms;          /* when ready() must have an answer, or go without */
    unsigned server;           /* the next to try */

    struct nats_place *places; /* of the batch */
    int place_capacity;
    int count;      /* places in use */
    int expected;   /* published, not answered */
    int unsent;     /* for want of memory */
    uint64_t first; /* the number of the first place's answer */
    char *strings;  /* the headers of one message, terminated */

    bool block; /* all headers go in one call */
};

/* loop.c: below which acknowledgements come back. */
const char *nats_inbox_prefix(const struct nats *nats);

/* publish.c */
void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error);
/* With all its headers, of which a block's cannot be asked for. NULL when there is no memory: the
 * message stays as it is. */
natsMsg *nats_build(struct nats *nats, const struct message *message,
                    const struct header own[NATS_OWN_HEADERS], const char *reply, bool block);

/* duplicates.c: gives each duplicate its verdict. How many stay pending. */
int nats_compare_duplicates(struct nats *nats, struct batch *batch, int64_t deadline_ms);

/* connect.c */
/* Whether the library keeps a TLS connection in order. */
bool nats_tls_is_safe(void);
/* 0, or -1: one of its servers needs TLS, and the library is not fit for it. */
int nats_check_tls(const struct sink_options *options, struct error *error);
/* Nothing when the connection stands. Ends also when the library hangs: within twice the patience
 * and a second. */
int nats_connect(struct nats *nats, struct error *error);
void nats_disconnect(struct nats *nats);
const char *nats_text(natsStatus status);
int nats_fail(const struct nats *nats, struct error *error, enum error_kind kind, const char *text);

/* stream.c: missing streams are added when the sink says create. */
int nats_check_stream(struct nats *nats, struct error *error);
/* Whether the stream takes it, by its subjects at that time. */
bool nats_stream_takes(const struct nats *nats, struct text destination);
void nats_forget_subjects(struct nats *nats);
/* Whether its subjects are in doubt, and it was not asked within the last second. */
bool nats_may_ask_subjects(const struct nats *nats);
int nats_inspect(struct broker *broker, const char *destination, char *warning, size_t warning_size,
                 struct error *error);
int nats_make(struct broker *broker, const char *destination, struct error *error);

#endif
