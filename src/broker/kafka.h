#ifndef BROKER_KAFKA_H
#define BROKER_KAFKA_H

#include "broker/broker.h"

#include <librdkafka/rdkafka.h>

/* What the kafka_*.c files share; nobody else includes it. */

#define KAFKA_TOPICS_MAX 1024
#define KAFKA_TOPIC_SLOTS (2 * KAFKA_TOPICS_MAX) /* a power of two, at most half full */

struct kafka_topic {
    char *name; /* owned; NULL: a free slot */
    size_t name_len;
    rd_kafka_topic_t *handle;
    rd_kafka_resp_err_t refusal; /* why nothing can be sent to it; NO_ERROR: it exists */
    int64_t ask_again_ms; /* when a refused topic is worth another question */
};

struct kafka {
    struct broker_base base;
    rd_kafka_t *client; /* NULL: none yet, or given up; ready() makes one */
    bool broken; /* the client must go: fatal, or it has left messages without an answer */
    bool all_down; /* no broker could be reached, at some time since the client was made */
    char trouble[256]; /* librdkafka's last word on its connections, "" when there is none */
    int64_t message_bytes_max;

    /* the batch in hand, from send() to the end of await() */
    struct batch *batch;
    int64_t send_deadline_ms;
    int outstanding; /* handed over, no delivery report yet */
    int unanswered; /* neither acknowledged nor refused */
    bool queue_full; /* why some were not handed over */
    struct message *alone; /* produced by itself: a refusal is its own */
    struct message **suspects;
    int suspect_count;
    int suspect_capacity;

    struct kafka_topic topics[KAFKA_TOPIC_SLOTS];
    int topic_count;
};

/* kafka_options.c. NULL with *error set; `with_secrets` reads the *password_file properties. */
rd_kafka_conf_t *kafka_conf_new(const struct sink_options *options, bool with_secrets,
                                struct error *error);
int kafka_check_options(const struct sink_options *options, struct error *error);
int64_t kafka_conf_number(const rd_kafka_conf_t *conf, const char *name);
/* Logs what makes the connection less safe than TLS is meant to be. */
void kafka_warn_of_weak_tls(const rd_kafka_conf_t *conf, const struct sink_options *options);

/* kafka.c */
int kafka_ready(struct broker *broker, struct error *error);
void kafka_discard_client(struct kafka *kafka);
int kafka_fail(const struct kafka *kafka, struct error *error, enum error_kind kind,
               const char *text);

/* kafka_publish.c */
void kafka_send(struct broker *broker, struct batch *batch, int sink);
int kafka_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                struct error *error);
void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque);

/* kafka_topics.c: the topics this client has asked about. NULL: not in the table. */
struct kafka_topic *kafka_topic_find(struct kafka *kafka, struct text name);
/* Learns about each topic that the pending messages need, in one request. -1: no answer in time. */
int kafka_topics_learn(struct kafka *kafka, const struct batch *batch, int sink);
void kafka_topic_doubt(struct kafka *kafka, const char *name);
void kafka_topics_empty(struct kafka *kafka);

/* kafka_admin.c */
int kafka_topic_create(struct kafka *kafka, const char *name, int timeout_ms, struct error *error);
int kafka_inspect(struct broker *broker, const char *destination, char *warning,
                  size_t warning_size, struct error *error);
int kafka_make(struct broker *broker, const char *destination, struct error *error);

#endif
