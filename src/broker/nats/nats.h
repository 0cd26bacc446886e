#ifndef BROKER_NATS_NATS_H
#define BROKER_NATS_NATS_H

#include "base/bounded_call.h"
#include "broker/broker.h"
#include "broker/chunks.h"
#include "route/rules.h"

#include <jansson.h>
#include <nats/nats.h>

/* Declarations shared by the files of this folder; no other file includes this header. */

#define NATS_HEADER_FRAME_BYTES 12            /* "NATS/1.0" and two CRLFs */
#define NATS_HEADER_BYTES_MAX (64 * 1024 - 1) /* JetStream's limit */
#define NATS_DISCARDED_MAX 256
#define NATS_API_BYTES (DOMAIN_BYTES_MAX + 16)
#define NATS_INBOX_PREFIX "_INBOX" /* the default of all NATS clients */
#define NATS_RANDOM_BYTES 4096

#define NATS_OWN_HEADERS (OWN_HEADERS + 5)
#define NATS_TOKEN_BYTES 11 /* 66 random bits; no terminator */
#define NATS_INBOX_BYTES (NATS_INBOX_PREFIX_BYTES_MAX + 24)
#define NATS_REPLY_BYTES (NATS_INBOX_BYTES + 34)

/* The state of a connection's socket, as the library reports it. It outlives the connection. */
struct nats_io {
    natsConnection *connection;
    natsSock socket;  /* -1: closed, or owned by the library's threads */
    bool wants_write; /* the library has bytes to write */
};

#define NATS_TEXT_BYTES 256
#define NATS_LEADER_BYTES 64

enum nats_state {
    NATS_NOT_EXPECTED,
    NATS_IN_CHUNK, /* the answer to the last message of the chunk is for this one too */
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
    char batch_id[NATS_TOKEN_BYTES + 2]; /* of an acknowledged atomic batch, cut; "": of none */
    int64_t batch_count;                 /* how many messages of it were stored */
    char text[NATS_TEXT_BYTES];
};

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
    struct broker base;
    natsConnection *connection; /* NULL: none; ready() makes one */
    natsSubscription *inbox;    /* receives all replies; the library's jsCtx would need a thread */
    char inbox_name[NATS_INBOX_BYTES];
    char api[NATS_API_BYTES]; /* what the subjects of JetStream's API begin with (ADR-1) */
    uint64_t next_request;    /* number of the next request, used in its reply subject */
    char request_token[NATS_TOKEN_BYTES]; /* random part of the last request's reply subject */
    unsigned char random[NATS_RANDOM_BYTES];
    int random_left;              /* unused bytes of `random` */
    uint64_t highest_sequence;    /* the highest that was acknowledged, as far as is known */
    uint64_t highest_before_send; /* the value of highest_sequence before the current send */
    bool threaded;                /* true for TLS: the library's own threads read and write */
    bool needs_tls; /* a server required TLS, and no connection attempt has failed since */
    int64_t missing_since_ms;    /* since when there is no such stream; 0: there is, or not known */
    bool stream_found;           /* the stream has been checked on this connection */
    bool subjects_are_stale;     /* the stream's subjects may have changed and must be read again */
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
    char differs[64];     /* what of the last message that was sent before is another one now */
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
    bool takes_batches;     /* the stream takes atomic batches, as read last */
    struct chunks chunks;
    bool in_chunks; /* the messages of a key are sent together, in atomic batches */
    int next;       /* the first message that was not sent yet, of those that are sent in chunks */
    int chunk_last; /* the last message of the chunk in flight; -1: there is none */
    int chunk_count;
    char chunk_id[NATS_TOKEN_BYTES + 1]; /* its last byte stays 0 */

    /* silence.c */
    char leader[NATS_LEADER_BYTES]; /* the server that leads the stream, cut; "": not known */
    char question_token[NATS_TOKEN_BYTES]; /* of the questions about the batch in flight */
    int questions;                         /* how many of them are unanswered */
    int unsent_bytes;                      /* those that the server's machine had not taken */
    int64_t heard_at_ms;                   /* when the server last answered or took bytes */
    int64_t looked_at_ms;                  /* when that was looked at last */
    const char *doubt;     /* what the last answer says against the leader; NULL: nothing */
    uint64_t doubted_from; /* the first request after the answer that first said so */
    const char *given_up;  /* why no answer will come, static text; NULL: it may */

    char *scratch; /* buffer for the terminated strings of one message */

    bool headers_in_one_call; /* all headers are set in one call of the library */
};

/* loop.c: reading from and writing to a connection */
/* The prefix of all reply subjects. */
const char *nats_inbox_prefix(const struct nats *nats);
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
/* The server has answered. */
void nats_heard(struct nats *nats);
/* Writes what the socket takes without waiting, so that the server can start while the lane serves
 * other sinks. */
void nats_write_some(struct nats *nats, int64_t deadline_ms);
/* Call when the lane was idle: answers the server's pings and notices a closed connection. */
void nats_serve_idle(struct nats *nats);
/* The next answer, which the caller must nats_discard. Waits a while, until the deadline at most.
 * NULL: none yet. */
natsMsg *nats_next(struct nats *nats, int64_t deadline_ms);
/* Hands a request to the library. Its number is that of next_request before the call. */
natsStatus nats_question(struct nats *nats, const char *subject, const char *text,
                         const char *token);
/* Sends a request and waits for its answer, which the caller owns; drops all other answers. */
natsStatus nats_ask(struct nats *nats, const char *subject, const char *text, int64_t deadline_ms,
                    natsMsg **answer);

/* Destroys a message, not necessarily at once. */
void nats_discard(struct nats *nats, natsMsg *message);
/* Destroys all discarded messages now. */
void nats_free_discarded(struct nats *nats);

/* headers.c */
/* The relay's own headers, followed by those for the server: the id by which it drops repeats, the
 * place in an atomic batch, and the stream that must answer. A NULL value means that the header is
 * not sent. */
void nats_own_headers(const struct broker *broker, const struct message *message,
                      struct header own[NATS_OWN_HEADERS]);
/* Sets the place in an atomic batch. `digits` holds `number` as text. */
void nats_batch_headers(struct header own[NATS_OWN_HEADERS], const char *id, int number,
                        bool is_last, char digits[12]);
#define NATS_BATCH_HEADER_BYTES 96 /* the most that these add to a message */

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

/* acks.c: reads the answer to a publish. Only an acknowledgement by `stream` counts. */
struct nats_answer nats_read_ack(const char *data, size_t len, const char *stream);
struct nats_answer nats_refusal(natsStatus status);

/* verdicts.c. The verdict that follows from a refusal. PENDING: the broker is down. */
enum verdict nats_verdict_of(natsStatus status, int code);
/* Sets the verdict of a pending message. It stays pending if it is a duplicate (duplicates.c) or
 * the broker is down. */
void nats_judge(struct batch *batch, struct message *message, const struct nats_answer *answer,
                const char *stream);

/* problems.c: subjects that the server does not permit */
/* Takes a struct from the pool. *number: how many calls there were before. NULL: out of memory. */
struct nats_problems *nats_problems_take(unsigned *number);
void nats_problems_return(struct nats_problems *problems);
/* Makes connections with these options report to `problems`. */
natsStatus nats_problems_set(natsOptions *library, struct nats_problems *problems);
/* Forgets all subjects and records those of this connection from now on; NULL: of none. */
void nats_problems_watch(struct nats_problems *problems, const natsConnection *connection);
/* A file descriptor that is readable while subjects are recorded; -1: there is none. */
int nats_problems_signal(const struct nats_problems *problems);
/* Takes the next subject that the server does not permit, as the server quotes it. False: none. */
bool nats_problems_next(struct nats_problems *problems, char quoted[NATS_TEXT_BYTES]);
/* Whether `quoted` is this subject, as the server quotes it. */
bool nats_is_quoted(const char *quoted, struct text subject);

/* publish.c */
void nats_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int nats_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
               struct error *error);

void nats_explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);

/* stream.c: the stream as a place where messages are acknowledged. */
struct seen_place nats_place(const struct nats *nats);

/* silence.c */
/* A batch is being sent. */
void nats_silence_begin(struct nats *nats);
/* When to call nats_is_silent(); the deadline at the latest. */
int64_t nats_silence_until(const struct nats *nats, int64_t deadline_ms);
/* Whether no answer will come (nats->given_up says why). Until that is known, it asks. */
bool nats_is_silent(struct nats *nats, int64_t deadline_ms);
/* Why the stream will acknowledge nothing, by its information, static text; NULL: it will. */
const char *nats_leader_problem(const json_t *info);
/* nats_flush() while a batch is sent: it ends when the server is silent, too. */
void nats_flush_batch(struct nats *nats, int64_t deadline_ms);
/* Like that, but only when much is buffered. False: not everything could be written, because
 * the deadline passed or the connection was lost. */
bool nats_flush_if_large(struct nats *nats, int64_t deadline_ms);
/* Keeps who leads the stream, by its information. */
void nats_note_leader(struct nats *nats, const json_t *info);
/* The server has stored a message of the batch. */
void nats_note_stored(struct nats *nats);
/* Whether this is the answer to such a question; then it is taken. */
bool nats_take_question(struct nats *nats, natsMsg *answer, uint64_t number, const char *token);

/* stored.c: a stored message that was fetched by its number */
/* Decodes base64 up to the first other character. Returns allocated, NUL-terminated memory; NULL
 * when out of memory. */
char *nats_decode(const char *text, size_t *len);

#define NATS_STORED_HEADERS_MAX 256
struct nats_stored {
    char *subject, *payload, *block; /* owned; the headers point into the block */
    size_t payload_len;
    struct header headers[NATS_STORED_HEADERS_MAX]; /* without the blanks around their values */
    int header_count;
};

/* `message`: the object of the server's reply. Without headers if there are too many: a relay sends
 * fewer. 0, or -1: no memory. */
int nats_stored_open(struct nats_stored *stored, const json_t *message);
void nats_stored_close(struct nats_stored *stored);

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
/* jwt.c: when the login of credentials_file ends, in seconds since 1970; 0: never, or not known. */
int64_t nats_login_expires(const struct sink_options *options);
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
/* As key_order of struct broker: one of these two, or why there are no batches. */
extern const char nats_in_batches[];
extern const char nats_not_atomic[];
const char *nats_key_order(const struct nats *nats, const json_t *info);
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
/* Whether the stream's settings may have changed and were not read within the last second, or take
 * no batches and were not read within the last minute. */
bool nats_subjects_need_refresh(const struct nats *nats);
/* Checks the stream, and `destination` unless it is NULL. *info: what the server says of the
 * stream, which the caller releases; NULL: it is missing, and will be created. */
int nats_inspect(struct nats *nats, const char *destination, json_t **info,
                 struct findings *findings, struct error *error);
int nats_make(struct broker *broker, const char *destination, struct error *error);

/* read.c */
int nats_read(struct broker *broker, const struct read_request *request, struct error *error);
/* A time of the server's, RFC 3339 in UTC, in ms since 1970. INT64_MAX: it is none, or the server's
 * zero time, the year 1. */
int64_t nats_time_ms(const char *text);

#endif
