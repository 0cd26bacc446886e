#ifndef BROKER_KAFKA_KAFKA_H
#define BROKER_KAFKA_KAFKA_H

#include "base/bounded_call.h"
#include "broker/broker.h"
#include "broker/kafka/chunks.h"
#include "broker/kafka/verdicts.h"

#include <librdkafka/rdkafka.h>
#include <stdatomic.h>

/* What the files of this folder share. */
#define KAFKA_TOPICS_MAX 1024
#define KAFKA_TOPIC_SLOTS (2 * KAFKA_TOPICS_MAX) /* a power of two, at most half full */

struct kafka_topic {
    char *name; /* owned; NULL: a free slot */
    size_t name_len;
    rd_kafka_topic_t *handle;    /* NULL: none in this client */
    int partition_count;         /* as last seen, by an earlier client perhaps; 0: never */
    rd_kafka_resp_err_t refusal; /* why nothing can be sent to it; NO_ERROR: it exists */
    int64_t ask_again_ms;        /* when it is worth another question */
};

/* What the callbacks of a client are given. It lives as long as the client, which may be longer
 * than the broker object: only callbacks within rd_kafka_poll may use `kafka`. */
struct kafka_link {
    struct kafka *kafka;
    atomic_int certificate_error; /* X509_V_ERR_* of the last certificate refused; 0: none */
};

struct kafka {
    struct broker_base base;
    rd_kafka_t *client;        /* NULL: none yet, or given up; ready() makes one */
    struct kafka_link *link;   /* of the client */
    struct bounded_call *late; /* a client that hangs in its creation or its end; NULL: none */
    bool broken;       /* the client must go: fatal, or it has left messages without an answer */
    bool answered;     /* this client has been answered by a broker */
    int silences;      /* clients in a row that have not been, before this one */
    bool all_down;     /* since that answer no broker could be reached, at some time */
    char trouble[256]; /* librdkafka's last word on its connections, "" when there is none */
    int64_t message_bytes_max;
    struct kafka_chunks chunks;
    int64_t refresh_ms; /* a topic that exists is asked about as often; -1: never */
    /* the batch in hand, from send() to the end of await() */
    struct batch *batch;
    int64_t send_deadline_ms;
    bool at_once;          /* messages of one key share a wave */
    int next;              /* the first that has not had its turn */
    int enqueued;          /* handed over to librdkafka: owes one delivery report each */
    int acked, failed;     /* by those reports */
    int unanswered;        /* neither acknowledged nor refused */
    int maybe_stored;      /* of those: may be in the log all the same */
    bool queue_full;       /* why some were not handed over */
    struct message *alone; /* produced by itself: a refusal is its own */
    struct message **suspects;
    int suspect_count, suspect_capacity;
    struct kafka_topic topics[KAFKA_TOPIC_SLOTS];
    struct kafka_topic *topic_found; /* the last one; NULL: none */
    int topic_count;
};

/* options.c. NULL with *error set; `with_secrets` reads the *password_file properties. */
rd_kafka_conf_t *kafka_conf_new(const struct sink_options *options, bool with_secrets,
                                struct error *error);
int kafka_conf_be_patient(rd_kafka_conf_t *conf, int silences, struct error *error);
int kafka_conf_hold_back(rd_kafka_conf_t *conf, struct error *error);
int kafka_check_options(const struct sink_options *options, char *warning, size_t warning_size,
                        struct error *error);
int64_t kafka_conf_number(const rd_kafka_conf_t *conf, const char *name);

/* client.c */
int kafka_ready(struct broker *broker, struct error *error);
/* Within a second; a client that hangs ends by itself, and until then ready() makes no other. */
void kafka_discard_client(struct kafka *kafka);
/* Asks for the reports of all messages. Waits for no thread of librdkafka, of which one may hang.
 */
void kafka_purge(struct kafka *kafka);
/* Of this topic, or of all that are known. NULL with *code: no answer in time. */
const struct rd_kafka_metadata *kafka_ask_metadata(struct kafka *kafka, rd_kafka_topic_t *only,
                                                   int timeout_ms, rd_kafka_resp_err_t *code);
int kafka_fail(const struct kafka *kafka, struct error *error, enum error_kind kind,
               const char *text);

/* trouble.c: the client's last word on its connections. */
int kafka_on_certificate(rd_kafka_t *client, const char *name, int32_t id, int *x509_error,
                         int depth, const char *der, size_t size, char *why, size_t why_size,
                         void *opaque);
void kafka_note_trouble(struct kafka *kafka, const char *reason);
/* What to change; "" when that is not known. */
const char *kafka_trouble_hint(const struct kafka *kafka);

/* publish.c */
void kafka_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
int kafka_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                struct error *error);
/* Of each message that was handed over; runs in this lane's rd_kafka_poll. */
void kafka_on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque);

/* topics.c: the topics this client has asked about. NULL: not in the table. */
struct kafka_topic *kafka_topic_find(struct kafka *kafka, struct text name);
/* Learns about each topic that the pending messages need, in one request. -1: no answer in time. */
int kafka_topics_learn(struct kafka *kafka, const struct batch *batch, int sink);
/* Nothing can be sent to it, for this reason, until it has been asked about again. */
void kafka_topic_invalidate(struct kafka *kafka, struct text name, rd_kafka_resp_err_t why);
/* Before a client goes: its handles go, what was seen of the topics stays. */
void kafka_topics_release(struct kafka *kafka);
void kafka_topics_empty(struct kafka *kafka);

/* admin.c */
int kafka_topic_create(struct kafka *kafka, const char *name, int timeout_ms, struct error *error);
int kafka_inspect(struct broker *broker, const char *destination, char *warning,
                  size_t warning_size, struct error *error);
int kafka_make(struct broker *broker, const char *destination, struct error *error);

#endif
