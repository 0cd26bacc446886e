#ifndef BROKER_KAFKA_KAFKA_H
#define BROKER_KAFKA_KAFKA_H

#include "base/bounded_call.h"
#include "broker/broker.h"
#include "broker/chunks.h"

#include <librdkafka/rdkafka.h>
#include <stdatomic.h>

/* Declarations shared by the files of this folder. */
#define KAFKA_TOPICS_MAX 1024
#define KAFKA_TOPIC_SLOTS (2 * KAFKA_TOPICS_MAX) /* a power of two, at most half full */

#define KAFKA_ASK_MS 2000 /* for a question about one topic, or about all */
#define KAFKA_REASON_BYTES 512

#define KAFKA_ANY_PARTITION RD_KAFKA_PARTITION_UA

/* Classes of librdkafka's and brokers' error codes; the table is in verdicts.c. */
enum kafka_class {
    KAFKA_ACKNOWLEDGED,
    KAFKA_BACKPRESSURE,
    KAFKA_POISON, /* this message, or another one in its record batch, is bad */
    KAFKA_DESTINATION_DOWN,
    KAFKA_PARTITION_DOWN,
    KAFKA_BROKER_DOWN,
    KAFKA_FATAL,
    KAFKA_UNKNOWN_ERROR
};

/* What is known of a partition; all zero: nothing yet (offline.c). */
struct kafka_partition {
    int leader;                    /* its number; -1: none */
    int in_sync, replicas;         /* as the metadata last said */
    bool offline;                  /* it acknowledges nothing although the cluster answers */
    bool is_inferred;              /* it is offline because another one is */
    bool is_back;                  /* it has acknowledged a trial of the current batch */
    int proven_in_sync;            /* with so many replicas in sync it has acknowledged; 0: none */
    int leader_then, in_sync_then; /* when a message was last not acknowledged */
    int32_t leader_sent;           /* the leader at the first look, or before; NOT_KNOWN */
    bool moved_before;             /* another one was known before that look */
    int late;                      /* how often in a row others had to wait for it */
    bool is_late_now;              /* so do those in flight */
    int64_t late_at_ms;            /* when it was last late */
    int64_t
        floor; /* offset that was acknowledged before what is in flight was sent; SEEN_NOTHING */
    int64_t acked; /* the same, with what is in flight */
};

/* A message that was not acknowledged in time although it was handed over. */
struct kafka_silent {
    struct message *message;
    const struct kafka_topic *topic; /* NULL: not in the table */
    int32_t partition;
};

/* What to do with a message while some partitions are offline or slow. */
enum kafka_way {
    KAFKA_PRODUCE,
    KAFKA_TRY, /* produce it, and await its acknowledgement briefly */
    KAFKA_HOLD /* it has its verdict */
};

struct kafka_topic {
    char *name; /* owned; NULL: a free slot */
    size_t name_len;
    rd_kafka_topic_t *handle;    /* NULL: none in this client */
    int partition_count;         /* as last reported, possibly to an earlier client; 0: never */
    rd_kafka_resp_err_t refusal; /* why the topic takes no messages; NO_ERROR: it exists */
    int64_t ask_again_at_ms;     /* when to request its metadata again */
    int64_t unknown_since_ms;    /* since when the cluster does not know it; 0: it does */
    bool is_permitted;           /* its name and the allow list have been checked */
    struct kafka_partition *partitions; /* partition_count; owned; NULL: nothing is known */
};

/* The opaque pointer of a client's callbacks. It lives as long as the client, which may outlive the
 * broker object; therefore only callbacks that run inside rd_kafka_poll may use `kafka`. */
struct kafka_link {
    struct kafka *kafka;
    atomic_int certificate_error; /* X509_V_ERR_* of the last rejected certificate; 0: none */
};

struct kafka {
    struct broker base;
    rd_kafka_t *client;        /* NULL: not yet created, or discarded; ready() creates it */
    struct kafka_link *link;   /* owned by the client */
    struct bounded_call *hung; /* a client whose creation or destruction hangs; NULL: none */
    bool broken;   /* the client must be replaced: fatal error, or it left messages unanswered */
    bool renewed;  /* the client was discarded although the cluster works; ready() creates one */
    bool answered; /* a broker has answered this client */
    int silent_clients; /* how many clients in a row, before this one, no broker has answered */
    bool all_down;      /* librdkafka has reported all brokers down since the last answer */
    char trouble[256];  /* librdkafka's last connection error; "" for none */
    int64_t message_bytes_max;
    struct chunks chunks;
    int64_t refresh_ms; /* how often the metadata of an existing topic is requested; -1: never */
    /* The fields from here to suspect_count describe the current batch, from send() to the end of
     * await(). */
    struct batch *batch;
    int64_t send_deadline_ms;
    bool in_chunks;    /* messages of one key are sent together, in one record batch */
    int next;          /* index of the first message that has not been sent yet */
    int enqueued;      /* messages handed to librdkafka, which owes a delivery report for each */
    int acked, failed; /* messages acknowledged and failed, according to the delivery reports */
    int unanswered;    /* messages neither acknowledged nor refused, without a known partition */
    int unsent;        /* messages that found librdkafka's queue full */
    int maybe_stored;  /* unanswered messages that the broker may have stored nevertheless */
    struct message *alone; /* the only message in flight, to blame if it is refused; NULL: none */
    /* Messages refused in a record batch, of which another message may be to blame. */
    struct message **suspects;
    int suspect_count, suspect_capacity;
    struct kafka_silent *silent;
    int silent_count, silent_capacity;
    /* Of each partition whose `acked` is above its floor, the message that has raised it. */
    struct message **raised;
    int raised_count, raised_capacity;
    int unknown_ends;   /* how often in a row not all ends could be read */
    bool looks_soon;    /* the cluster did not answer for each place when it was last compared */
    int64_t sent_at_ms; /* when messages were last handed over */
    bool is_late;       /* that was LATE_MS ago */
    int acked_before;   /* messages acknowledged when messages were last handed over */
    int acked_in_time;  /* messages acknowledged since, and before is_late */
    int64_t look_at_ms; /* when to look again whether the leaders have moved */
    int looks;          /* how often that was done for the messages in flight */
    bool leader_gone;   /* the leader of one of them has moved, so that it is not acknowledged */
    int trials;         /* messages in flight to offline partitions */
    int64_t trials_end_ms;
    struct kafka_topic topics[KAFKA_TOPIC_SLOTS];
    struct kafka_topic *topic_found; /* result of the last lookup; NULL: none */
    int topic_count;
    int partitioner;   /* kafka_partitioner_find() */
    unsigned spread;   /* chooses a partition for messages without a key */
    int offline_count; /* offline partitions of all topics */
    int late_count;    /* partitions that were late */
    int64_t offline_since_ms;
    int64_t try_offline_at_ms;
};

/* options.c. `with_secrets` reads the *password_file properties. NULL with *error set on
 * failure. */
rd_kafka_conf_t *kafka_conf_new(const struct sink_options *options, bool with_secrets,
                                struct error *error);
/* Raises the timeout for a broker's first answer after `silent_clients` clients without one. */
int kafka_conf_raise_timeout(rd_kafka_conf_t *conf, int silent_clients, struct error *error);
/* Makes librdkafka send only while it is flushed, and not when linger.ms has passed. */
int kafka_conf_send_on_flush(rd_kafka_conf_t *conf, struct error *error);
int kafka_check_options(const struct sink_options *options, char *warning, size_t warning_size,
                        struct error *error);
/* Returns `value`; "" when there is no such property. */
const char *kafka_conf_value(const rd_kafka_conf_t *conf, const char *name, char *value,
                             size_t size);
int64_t kafka_conf_number(const rd_kafka_conf_t *conf, const char *name);

/* client.c */
/* Takes `conf`. At most one second, as the next. 0, or -1: librdkafka refuses the properties, or a
 * call of it hangs. */
int kafka_client_create(struct kafka *kafka, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                        struct error *error);
/* A client that hangs is destroyed in the background. */
void kafka_client_end(struct kafka *kafka);
/* Purges all messages, which makes librdkafka report them as failed. Does not wait for librdkafka's
 * threads, one of which may hang. */
void kafka_purge(struct kafka *kafka);
/* Requests the metadata of `only`, or of all locally known topics when it is NULL. NULL: no answer
 * within the timeout; *code is the last error, and unchanged when the timeout was 0. */
const struct rd_kafka_metadata *kafka_ask_metadata(struct kafka *kafka, rd_kafka_topic_t *only,
                                                   int timeout_ms, rd_kafka_resp_err_t *code);
/* Sets *error to `text` and the last connection error, with a hint. Returns -1. */
int kafka_fail(const struct kafka *kafka, struct error *error, enum error_kind kind,
               const char *text);

/* verdicts.c */
enum kafka_class kafka_class_of(int code);

/* Whether the code means that the topic does not exist. The relay never chooses a partition, so an
 * unknown partition means that its topic was deleted. */
bool kafka_is_unknown(int code);

/* trouble.c: the last connection error. */
int kafka_on_certificate(rd_kafka_t *client, const char *name, int32_t id, int *x509_error,
                         int depth, const char *der, size_t size, char *why, size_t why_size,
                         void *opaque);
void kafka_note_trouble(struct kafka *kafka, const char *reason);

/* publish.c */
void kafka_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
/* The client must be discarded when this has failed or set `renewed`. */
int kafka_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                struct error *error);
void kafka_explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms);
/* The delivery report callback; runs inside this lane's rd_kafka_poll. */
void kafka_on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque);

/* topics.c: the table of known topics. NULL: not in the table. */
struct kafka_topic *kafka_topic_find(struct kafka *kafka, struct text name);
/* Requests the metadata of all topics that pending messages need, in one request. -1: no answer in
 * time. */
int kafka_topics_learn(struct kafka *kafka, const struct batch *batch, int sink);
/* Creates those of them that do not exist, as far as the time allows. */
void kafka_topics_create(struct kafka *kafka, const struct batch *batch, int sink);
/* Marks the topic as taking no messages, because of `why`, until its metadata is requested
 * again. */
void kafka_topic_invalidate(struct kafka *kafka, struct text name, rd_kafka_resp_err_t why);
/* Requests the metadata of one topic, or of all in use when it is NULL: librdkafka cannot ask about
 * a list. -1: no answer in time. */
int kafka_topics_ask(struct kafka *kafka, rd_kafka_topic_t *only, int timeout_ms);
rd_kafka_AdminOptions_t *kafka_admin_options(struct kafka *kafka, rd_kafka_admin_op_t operation,
                                             int timeout_ms);
/* Creates the topic; 0 also when it exists. */
int kafka_topic_create(struct kafka *kafka, const char *name, int timeout_ms, struct error *error);
/* Destroys the topic handles before their client is destroyed; keeps the partition counts. */
void kafka_topics_release(struct kafka *kafka);
void kafka_topics_clear(struct kafka *kafka);
/* A topic with a handle. NULL when librdkafka refuses it or memory is short; its messages then wait
 * for the next batch. */
struct kafka_topic *kafka_topic_use(struct kafka *kafka, struct text name);

/* offline.c */
/* NULL: nothing is known of it. `topic` may be NULL. */
struct kafka_partition *kafka_partition_find(const struct kafka_topic *topic, int32_t number);
/* What the property "partitioner" names. */
int kafka_partitioner_find(const char *name);
void kafka_partitions_note(struct kafka *kafka, struct kafka_topic *topic,
                           const struct rd_kafka_metadata_topic *answer);
void kafka_partitions_forget(struct kafka *kafka, struct kafka_topic *topic);
/* The partition that the message's key has. KAFKA_ANY_PARTITION: librdkafka may choose. */
int32_t kafka_partition_of(const struct kafka *kafka, const struct kafka_topic *topic,
                           const struct message *message);
/* Call it while partitions are offline or late. *chosen is the partition to name, and left
 * unchanged when librdkafka is to choose by the key. */
enum kafka_way kafka_choose_partition(struct kafka *kafka, const struct kafka_topic *topic,
                                      struct message *message, int32_t *chosen);
/* A message of KAFKA_TRY was produced; it was reported. */
void kafka_trial_begin(struct kafka *kafka);
void kafka_trial_end(struct kafka *kafka, const struct kafka_topic *topic, int32_t number,
                     bool acknowledged);
/* The message was acknowledged. Call it when is_late, or while partitions are late. */
void kafka_note_ack(struct kafka *kafka, const struct kafka_topic *topic, int32_t number);
/* What was in flight was acknowledged, but the last of it after LATE_MS. */
void kafka_conclude_late(struct kafka *kafka);
/* Keeps who leads each partition, unless that was done for the messages in flight. */
void kafka_remember_leaders(struct kafka *kafka);
/* Keeps it after the first look, and which partitions had another leader in the table until then.
 */
void kafka_compare_leaders(struct kafka *kafka);
/* Whether another broker leads the partition now, or none. `waited`: one that was found to lead it
 * at the first look counts, too. */
bool kafka_partition_has_moved(const struct kafka_topic *topic, int32_t number, bool waited);
/* Whether the messages in flight have waited for half of the publish timeout. */
bool kafka_has_waited(const struct kafka *kafka);
/* Partitions that have acknowledged a trial are no longer offline. */
void kafka_trials_settle(struct kafka *kafka);
/* The partitions of the silent messages are offline; ask for the metadata now. Then these messages
 * wait, or, when the cluster does not answer either, nothing is known of the partitions. */
void kafka_silence_begin(struct kafka *kafka);
void kafka_silence_end(struct kafka *kafka, bool answered);

/* silence.c */
/* Call it while messages in flight are late. Asks from time to time who leads their partitions.
 * True: one has had another leader for a while, or none, so its messages are not acknowledged. */
bool kafka_gives_up(struct kafka *kafka);

/* floors.c */
struct seen_place kafka_place(const struct kafka *kafka, const struct kafka_topic *topic,
                              int32_t partition);
/* Compares what the metadata says of the topic with what is remembered. */
void kafka_floors_note(struct kafka *kafka, struct kafka_topic *topic,
                       const struct rd_kafka_metadata_topic *answer);
/* Reads the floors of its partitions again, unless messages are in flight. */
void kafka_floors_read(const struct kafka *kafka, struct kafka_topic *topic);
/* The relay has made the topic. */
void kafka_floors_made(struct kafka *kafka, const char *name);

/* positions.c */
/* Whether the acknowledgement may be believed: its offset lies above those that were acknowledged
 * before. */
bool kafka_position_is_new(struct kafka *kafka, struct message *message,
                           const rd_kafka_message_t *report);
/* Nothing is in flight: what was acknowledged becomes the floor, and is remembered. */
void kafka_positions_keep(struct kafka *kafka);
/* Compares the cluster and the ends of its partitions with what is remembered, if that is due for
 * the process. Takes KAFKA_ASK_MS and a second at most. */
void kafka_positions_check(struct kafka *kafka, bool is_new_connection);

/* admin.c */
/* Those settings of a topic that decide whether acknowledged messages are safe. */
struct kafka_topic_settings {
    int min_insync;      /* min.insync.replicas; -1: the broker does not say */
    bool unclean_leader; /* a replica that lags may become the leader */
    bool compacted;      /* cleanup.policy contains "compact" */
};
struct kafka_topic_settings kafka_ask_settings(struct kafka *kafka, const char *name);
/* addresses.c. Adds an error for each broker whose advertised address this machine cannot reach. */
int kafka_inspect_addresses(struct kafka *kafka, struct findings *findings, struct error *error);
int kafka_inspect(struct kafka *kafka, const char *name, struct findings *findings,
                  struct error *error);

/* read.c */
int kafka_read(struct broker *broker, const struct read_request *request, struct error *error);

#endif
