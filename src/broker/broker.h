#ifndef BROKER_BROKER_H
#define BROKER_BROKER_H

#include "base/error.h"
#include "broker/sink.h"
#include "message/batch.h"

/*
 * A destination of messages. Three clients stand behind one table of operations: kafka/, nats/,
 * stdout.c. A broker belongs to one lane and is used by one thread at a time.
 */

struct broker; /* each client's own; begins with struct broker_base */

struct broker_ops {
    const char *type;

    /* Checks options without any network, once a process. 0, or -1: contradicts the guarantee, or
     * unknown. What makes the connection less safe goes to `warning`; "" when there is nothing. */
    int (*check_options)(const struct sink_options *options, char *warning, size_t warning_size,
                         struct error *error);

    /* No network yet. The options must outlive the broker. NULL with *error set on failure. */
    struct broker *(*create)(const struct sink_options *options, struct error *error);

    /*
     * Makes the broker usable: connects, or probes a connection that failed. Cheap (no network)
     * when nothing is wrong. Bounded by its patience and a second. 0, or -1: unreachable or
     * refused (origin ERROR_BROKER).
     */
    int (*ready)(struct broker *broker, struct error *error);

    /*
     * Hands every message of `sink` that is due (message/order.h) to the client library; refuses at
     * once what can never be sent. Does not wait for acknowledgements; asks a server until the
     * deadline at most (clock_now_ms). Messages stay untouched until await returns.
     */
    void (*send)(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);

    /*
     * Waits until each message that send handed over has a verdict, at most until the deadline
     * (clock_now_ms). On return the client library has given up the rest: no delivery report comes
     * later, no byte of the batch is in use. 0, when it keeps the order also with some given back,
     * pending; or -1: the broker is away, the rest stays pending; call ready before the next send.
     */
    int (*await)(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error);

    /* Whether it stores nothing of a key (destination and route_key) behind a message that failed:
     * then all may be sent at once. Holds for the next batch. NULL: it does not. */
    bool (*keeps_order)(const struct broker *broker);

    /* The largest payload worth fetching from the table, in bytes. */
    int64_t (*payload_max)(const struct broker *broker);
    /* Whether `destination` (NULL: the sink itself) is there; creates nothing. 0; -1: a problem.
     * What weakens the guarantee, or will be created, goes to `warning`; "" when there is none. */
    int (*inspect)(struct broker *broker, const char *destination, char *warning,
                   size_t warning_size, struct error *error);

    /* Creates the destination if it is missing. 0 also when it is there, or is a pattern. */
    int (*make)(struct broker *broker, const char *destination, struct error *error);

    /* Bounded by 5 s; frees the broker. */
    void (*destroy)(struct broker *broker);

    void (*end)(void); /* of the library's own threads, within 1 s; NULL: it keeps none */
};

struct broker_base {
    const struct broker_ops *ops;
    const struct sink_options *options;
    int patience_ms; /* 0: BROKER_PATIENCE_MS */
};

#define BROKER_PATIENCE_MS 4000
int broker_patience_ms(const struct broker_base *base);

extern const struct broker_ops kafka_ops;
extern const struct broker_ops nats_ops;
extern const struct broker_ops stdout_ops;
/* broker_open() is that of clients.h. */
void broker_close(struct broker *broker);

/* For the next ready(): less when others wait while this one connects. */
void broker_set_patience(struct broker *broker, int patience_ms);
int broker_ready(struct broker *broker, struct error *error);
void broker_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int broker_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error);
bool broker_keeps_order(const struct broker *broker);
int64_t broker_payload_max(const struct broker *broker);
int broker_inspect(struct broker *broker, const char *destination, char *warning,
                   size_t warning_size, struct error *error);
int broker_make(struct broker *broker, const char *destination, struct error *error);

#endif
