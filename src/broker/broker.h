#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include "base/error.h"
#include "base/finding.h"
#include "broker/read.h"
#include "broker/seen.h"
#include "broker/sink.h"
#include "message/batch.h"
#include "message/order.h"

/*
 * A client that publishes messages. Three clients implement one table of operations: kafka/, nats/
 * and stdout.c. A broker object belongs to one lane and is used by one thread at a time.
 */

struct broker;

struct event_binding;
extern const struct event_binding cloudevents_kafka;
extern const struct event_binding cloudevents_nats;

struct broker_ops {
    const char *type;
    const struct event_binding *events; /* how it carries CloudEvents; NULL: it does not */

    /* Checks the options without using the network, once per process; config/check/ has seen that
     * those that are required are there. 0, or -1: an option is unknown, or would break
     * at-least-once delivery. `warning` says what weakens the connection's security; "" for
     * nothing. NULL: there is nothing to check. */
    int (*check_options)(const struct sink_options *options, char *warning, size_t warning_size,
                         struct error *error);

    /* Does not use the network. The options have been checked, and must outlive the broker. NULL
     * with *error set on failure. */
    struct broker *(*create)(const struct sink_options *options, struct error *error);

    /*
     * Makes the broker usable: connects, or probes a connection that has failed. A healthy
     * connection costs no network traffic. Takes at most the connect timeout plus one second. 0, or
     * -1: the broker is unreachable or refuses the client (origin ERROR_BROKER).
     * NULL: it is always usable.
     */
    int (*ready)(struct broker *broker, struct error *error);

    /*
     * Hands every message of `sink` that is due (message/order.h) to the client library, and
     * refuses those that can never be sent. Does not wait for acknowledgements. May ask the server
     * about a destination, until the deadline at most (clock_now_ms). The caller must not change
     * the messages until await returns.
     */
    void (*send)(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);

    /*
     * Waits until each message that send handed over has a verdict, at most until the deadline
     * (clock_now_ms). On return the client library has given up all other messages: no delivery
     * report arrives later, and no byte of the batch is in use. 0; some messages may stay pending
     * all the same, and are sent with a later batch. -1: the broker is away and messages without a
     * verdict stay pending; call ready before the next send.
     */
    int (*await)(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error);

    /*
     * What send() would do with the pending messages of `sink`, without sending: refuses those that
     * it would refuse, gives the others all headers that would leave, the relay's own too, and the
     * partition where it is known. What only a broker says that inspect() has not reached counts as
     * allowed. May ask it until the deadline; creates nothing.
     */
    void (*explain)(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);

    /* Which messages of a key may be sent together: those of which the client stores none after
     * one that has failed. ORDER_NOT_KEPT also where that would take longer for this batch, whose
     * waves are those of ORDER_NOT_KEPT. NULL: ORDER_NOT_KEPT. */
    enum order_kept (*keeps_order)(const struct broker *broker, const struct batch *batch,
                                   int sink);

    /* The largest payload that the broker accepts, in bytes; larger ones are not fetched from the
     * table. */
    int64_t (*payload_max)(const struct broker *broker);
    /* Checks that `destination` (NULL: the sink itself, and what holds for all destinations)
     * exists; creates nothing. 0, or -1: it cannot be published to. Adds a warning, with what mends
     * it, for each thing that weakens the guarantee, and one for what will be created. */
    int (*inspect)(struct broker *broker, const char *destination, struct findings *findings,
                   struct error *error);

    /* Creates the destination if it is missing. 0 also when it exists or is a pattern. NULL: none
     * has to be created. */
    int (*make)(struct broker *broker, const char *destination, struct error *error);

    /* Reads back what is there at the time of the call. The broker must be used for nothing else.
     * 0, or -1 with *error set. NULL: what was sent cannot be read back. */
    int (*read)(struct broker *broker, const struct read_request *request, struct error *error);

    /* Frees the broker. Takes at most 5 s. */
    void (*destroy)(struct broker *broker);

    void (*end)(void); /* ends the library's own threads within 1 s; NULL: it has none */
};

/* Each client has a struct of its own, which begins with this one. */
struct broker {
    const struct broker_ops *ops;
    const struct sink_options *options;
    struct header_rules headers;
    struct seen *seen;      /* what was acknowledged to the process; NULL: nothing is remembered */
    int connect_timeout_ms; /* of the next ready(); 0: BROKER_CONNECT_TIMEOUT_MS */
    const char *server;     /* in use, text that outlives the broker; NULL: any of the options' */
    int64_t recognise_ms;   /* for how long it drops a repeated message; 0: never, or not known */
    const char *key_order;  /* how the events of a key are sent, static text; NULL: not known, or
                               together without a condition */
    bool keeps_nothing;     /* it acknowledges messages and stores none, for lack of consumers */
};

#define BROKER_CONNECT_TIMEOUT_MS 4000
int broker_connect_timeout_ms(const struct broker *broker);

extern const struct broker_ops kafka_ops;
extern const struct broker_ops nats_ops;
extern const struct broker_ops stdout_ops;

/* clients.c, the only file that knows all clients. */
/* NULL for an unknown type; broker_types() lists the known ones for messages. */
const struct broker_ops *broker_ops_find(const char *type);
const char *broker_types(void);

/* `seen` must outlive the broker; NULL: it remembers nothing of what was acknowledged. */
struct broker *broker_open(const struct sink_options *options, struct seen *seen,
                           struct error *error);
/* Call after the last broker_close(): a library whose threads outlive main() may crash at exit. */
void broker_end(void);

/* broker.c. Callers use these and not the table: what NULL means is decided here, and programs that
 * count or fake what is sent replace them when they are linked (tests/bench, tests/chaos). */
void broker_close(struct broker *broker);

int broker_ready(struct broker *broker, struct error *error);
void broker_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int broker_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error);
void broker_explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
enum order_kept broker_keeps_order(const struct broker *broker, const struct batch *batch,
                                   int sink);
int64_t broker_payload_max(const struct broker *broker);
int broker_inspect(struct broker *broker, const char *destination, struct findings *findings,
                   struct error *error);
int broker_make(struct broker *broker, const char *destination, struct error *error);

/* Why what was sent cannot be read back, static text; NULL: it can. */
const char *broker_unreadable(const struct broker *broker);
int broker_read(struct broker *broker, const struct read_request *request, struct error *error);
/* held.c, for the clients: sets event_id and is_replayed from the message's headers, or from a
 * CloudEvent; `buffer` keeps an event id. `own_id`: what the broker itself knows as the message's
 * id; NULL: nothing. */
void held_identify(const struct broker *broker, struct held *held, struct text own_id, char *buffer,
                   size_t size);
/* Whether the sink's messages carry their event ids. */
bool held_has_id(const struct broker *broker);

/* cloudevents.c: makes events of the pending messages of `sink`, if its options say so, or refuses
 * them. Runs once, after routing. */
void broker_wrap(const struct broker *broker, struct batch *batch, int sink);
/* Of an attribute that a row or [cloudevents.attributes] gives: NULL, or why it may not. */
const char *cloudevents_name_problem(struct text name);

/* For explain(): makes these the message's headers, those before its own; without those that are
 * NULL, unless a row's are sent. When memory is short the message is refused. */
void broker_show_headers(const struct broker *broker, struct batch *batch, struct message *message,
                         const struct header *own, int own_count);

/* For the clients: makes room for `count` items of `size` bytes. `items` is the address of the
 * pointer to them. 0, or -1: out of memory, and nothing has changed. */
int broker_reserve(void *items, int *capacity, int count, size_t size);

#endif
