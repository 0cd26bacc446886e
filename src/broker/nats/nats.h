#ifndef BROKER_NATS_NATS_H
#define BROKER_NATS_NATS_H

#include "base/bounded_call.h"
#include "broker/nats/acks.h"
#include "broker/nats/headers.h"
#include "broker/nats/io.h"
#include "broker/nats/problems.h"

#include <jansson.h>

/* Declarations shared by the files of this folder; no other file includes this header. */

#define NATS_HEADER_FRAME_BYTES 12            /* "NATS/1.0" and two CRLFs */
#define NATS_HEADER_BYTES_MAX (64 * 1024 - 1) /* JetStream's limit */
#define NATS_DISCARDED_MAX 256
#define NATS_FETCH_PREFIX "$JS.API.STREAM.MSG.GET."
#define NATS_INBOX_PREFIX "_INBOX" /* the default of all NATS clients */
#define NATS_RANDOM_BYTES 4096

/* The state of one message of the batch. */
struct nats_pending {
    enum nats_state state;
    char token[NATS_TOKEN_BYTES]; /* the random part of its reply subject */
    uint64_t sequence;            /* its sequence number in the stream */
};

/* A hanging attempt to connect to one server. */
struct nats_hang {
    struct bounded_call *call; /* NULL: none */
    int64_t since_ms;
};

struct nats {
    struct broker_base base;
    natsConnection *connection; /* NULL: none; ready() makes one */
    natsSubscription *inbox;    /* receives all replies; the library's jsCtx would need a thread */
    char inbox_name[NATS_INBOX_BYTES];
    uint64_t next_request; /* number of the next request, used in its reply subject */
    char request_token[NATS_TOKEN_BYTES]; /* random part of the last request's reply subject */
    unsigned char random[NATS_RANDOM_BYTES];
    int random_left;              /* unused bytes of `random` */
    uint64_t highest_sequence;    /* highest sequence number acknowledged on this connection */
    uint64_t highest_before_send; /* the value of highest_sequence before the current send */
    bool threaded;                /* true for TLS: the library's own threads read and write */
    bool needs_tls;          /* a server required TLS, and no connection attempt has failed since */
    bool stream_found;       /* the stream has been checked on this connection */
    bool subjects_are_stale; /* the stream's subjects may have changed and must be read again */
    int64_t subjects_read_at_ms; /* when the subjects were read last */
    struct match *subjects;      /* the stream's subjects */
    int subject_count;
    struct nats_io *io;                    /* never NULL */
    struct nats_hang hangs[SINK_LIST_MAX]; /* one per server */
    natsMsg **received;                    /* replies read from the library */
    int received_capacity;
    int received_count;
    int received_taken; /* how many of `received` have been processed */

    int no_responders; /* number of "no responders" replies; the library does not say to what */
    natsMsg *discarded[NATS_DISCARDED_MAX]; /* messages to be destroyed together */
    int discarded_count;
    int64_t discarded_bytes;

    /* Whether an answer that says "duplicate" without a sequence number means that the first copy
     * is still being stored. False with interest retention and one replica, where it may also mean
     * that no copy was ever stored. */
    bool unnumbered_is_pending;
    bool warned;          /* a duplicate that could not be compared was logged on this connection */
    bool fetch_disabled;  /* stored messages are not fetched any more on this connection */
    bool fetch_forbidden; /* fetching stored messages is not permitted on this connection */
    bool last_fetch_timed_out; /* the last fetch, on any connection, got no reply */
    struct nats_problems *problems;
    int64_t stream_bytes_max;  /* max_msg_size as last read, of headers and payload; -1: no limit */
    int64_t message_bytes_max; /* the server's max_payload, which limits headers plus payload */
    int64_t max_payload_read_at_ms; /* when the server announced max_payload */
    bool max_payload_is_stale;      /* max_payload may have changed: the next ready() reconnects */
    const char *address;            /* the server tried last */
    int64_t ready_deadline_ms;      /* of the current ready(), or of a later question */
    unsigned server;                /* the next server to try, modulo their number */

    struct nats_pending *pending; /* one per message of the batch */
    int pending_capacity;
    int count;              /* entries of `pending` in use */
    int expected;           /* messages published and not yet answered */
    int unresolved;         /* messages that stay pending although no answer is awaited */
    uint64_t first_request; /* the request number of the batch's first message */
    char *scratch;          /* buffer for the terminated strings of one message */

    bool headers_in_one_call; /* all headers are set in one call of the library */
};

/* loop.c: the prefix of all reply subjects. */
const char *nats_inbox_prefix(const struct nats *nats);

/* publish.c */
void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error);

/* duplicates.c: gives each duplicate its verdict. Returns how many stay pending. */
int nats_compare_duplicates(struct nats *nats, struct batch *batch, int64_t deadline_ms);

/* connect.c */
/* Whether this version of the library can be trusted with TLS. */
bool nats_tls_is_safe(void);
/* 0, or -1: the options ask for TLS although nats_tls_is_safe() is false. */
int nats_check_tls(const struct sink_options *options, struct error *error);
/* Connects unless connected. Returns within twice the connect timeout plus one second, even if the
 * library hangs. */
int nats_connect(struct nats *nats, struct error *error);
void nats_disconnect(struct nats *nats);
const char *nats_error_text(natsStatus status);
int nats_fail(const struct nats *nats, struct error *error, enum error_kind kind, const char *text);

/* stuck.c: call when an attempt to connect to this server is late. Shuts down the sockets of all
 * attempts to its port, so that a library before 3.8 returns from them; an attempt of another lane
 * then fails too. */
void nats_end_stuck(const char *server);

/* policy.c: what `check` says of a stream, by its information, and of its account; or of one
 * subject or pattern. It asks the server; what that does not tell is left out. */
void nats_report(struct nats *nats, const json_t *info, const char *destination,
                 struct findings *findings);

/* stream.c */
/* Sends a request to the server's JetStream API, as in "STREAM.INFO.EVENTS". *reply: the parsed
 * reply, which the caller releases; NULL: it is no JSON. */
int nats_call_api(struct nats *nats, const char *what, const char *request, json_t **reply,
                  struct error *error);
/* A setting in a stream's information. NULL, or "": there is none. */
const json_t *nats_setting(const json_t *info, const char *name);
const char *nats_setting_text(const json_t *info, const char *name);
int64_t nats_duplicate_window_ms(const json_t *info);
/* Whether the stream acknowledges messages and stores none. */
bool nats_keeps_nothing(const json_t *info);
#define NATS_KEEPS_NOTHING                                                                         \
    "retention is \"interest\" and there is no consumer: it acknowledges messages and stores none"
/* Checks the stream; adds it when it is missing and the sink has create = true. */
int nats_check_stream(struct nats *nats, struct error *error);
/* Whether the server knows, by the deadline, what the stream is or that there is none. */
bool nats_stream_has_leader(struct nats *nats, int64_t deadline_ms);
/* Whether the destination matches a subject of the stream, as read last. */
bool nats_stream_takes(const struct nats *nats, struct text destination);
void nats_forget_subjects(struct nats *nats);
/* Whether the stream's subjects may have changed and were not read within the last second. */
bool nats_subjects_need_refresh(const struct nats *nats);
/* Checks the stream, and `destination` unless it is NULL. *info: what the server says of the
 * stream, which the caller releases; NULL: it is missing, and will be created. */
int nats_inspect(struct nats *nats, const char *destination, json_t **info,
                 struct findings *findings, struct error *error);
int nats_make(struct broker *broker, const char *destination, struct error *error);

#endif
