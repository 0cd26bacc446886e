/*
 * Kafka, through librdkafka's idempotent producer. Each broker object has one client, which the
 * lane's own thread creates, polls and destroys. Delivery reports and errors are callbacks that run
 * inside that thread's rd_kafka_poll, so no lock is needed. The log callback and the certificate
 * callback run on librdkafka's threads.
 *
 * Guarantee: a message is SENT only after its own positive delivery report. When await() returns,
 * the client owes no report: messages without one were purged, and a client that purged anything,
 * or that librdkafka declared fatal, is not polled again. The next client is created after the
 * previous one has been destroyed, so that the broker cannot append old messages after newer ones.
 *
 * Creating or destroying a client can hang, because librdkafka reads files and joins its threads,
 * one of which may be in a name lookup or in a Kerberos command. Both calls are abandoned at a
 * deadline and finish in the background; until then the sink is away. A client that is destroyed
 * late may still hold messages, so librdkafka copies each payload.
 *
 * Deliberately not done: sharing one client among lanes, because a purge and the fatal state
 * concern the whole client, so that one lane's deadline would fail every other lane. Transactions
 * are not used either: a consumer drops repeats by the header `id`.
 *
 *   options.c  properties    topics.c  which topics exist
 *   publish.c  send, await   admin.c   inspect, create
 *   verdicts.c error codes   chunks.c  what is sent together
 *   trouble.c  causes of connection errors
 *   offline.c  partitions that acknowledge nothing
 */

#include "broker/kafka/kafka.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define CLIENT_MS 1000      /* to create or destroy a client; takes far less unless it hangs */
#define ASK_REFUSED_MS 1000 /* time for librdkafka to try a host's second address */
#define ASK_STEP_MS 250

int kafka_fail(const struct kafka *kafka, struct error *error, enum error_kind kind,
               const char *text)
{
    bool known = kafka->trouble[0] != '\0';

    (void)error_set(error, kind, ERROR_BROKER, "[sink.%s] kafka at %s: %s%s%s%s",
                    kafka->base.options->name, kafka->base.options->brokers.items[0], text,
                    known ? " (" : "", kafka->trouble, known ? ")" : "");
    return error_hint(error, "%s", kafka_trouble_hint(kafka));
}

/* Runs on librdkafka's threads. Every client logs a line for each failed attempt to connect, hence
 * the debug level; the relay's own message says why a broker is away. */
static void on_log(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
    (void)client;
    (void)level;
    log_debug("librdkafka: %s: %s", facility, text);
}

static void on_error(rd_kafka_t *client, int code, const char *reason, void *opaque)
{
    struct kafka *kafka = ((struct kafka_link *)opaque)->kafka;

    if (code == RD_KAFKA_RESP_ERR__FATAL) {
        kafka->broken = true;
        (void)rd_kafka_fatal_error(client, kafka->trouble, sizeof kafka->trouble);
        return;
    }
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
        kafka->all_down = true;
    /* The earlier error of a single broker says more than "all brokers are down". */
    if (code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || kafka->trouble[0] == '\0')
        kafka_note_trouble(kafka, reason);
}

/* The client's threads use the link until rd_kafka_destroy_flags has joined them. */
static void destroy_client(void *client)
{
    struct kafka_link *link = rd_kafka_opaque(client);

    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    free(link);
}

static void drop_nothing(void *client)
{
    (void)client;
}

/* When no thread can be started for the call, this waits as long as the library does. */
static void end_client(struct kafka *kafka)
{
    enum bounded_result result = bounded_call_run(&kafka->hung, destroy_client, drop_nothing,
                                                  kafka->client, clock_now_ms() + CLIENT_MS);

    if (result == BOUNDED_BUSY || result == BOUNDED_FAILED)
        destroy_client(kafka->client);
}

void kafka_purge(struct kafka *kafka)
{
    (void)rd_kafka_purge(kafka->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                            RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void kafka_discard_client(struct kafka *kafka)
{
    if (kafka->client == NULL)
        return;
    kafka_purge(kafka);
    kafka_topics_release(kafka);
    end_client(kafka);
    kafka->client = NULL;
    kafka->link = NULL;
    kafka->broken = false;
}

/* The arguments and result of rd_kafka_new, which runs on a thread of its own. */
struct creation {
    rd_kafka_conf_t *conf;   /* owned; NULL once the client owns it */
    struct kafka_link *link; /* owned; NULL once the client owns it */
    rd_kafka_t *client;      /* owned; NULL on failure */
    char why[512];           /* the reason of a failure */
};

static void create_client(void *argument)
{
    struct creation *creation = argument;

    creation->client =
        rd_kafka_new(RD_KAFKA_PRODUCER, creation->conf, creation->why, sizeof creation->why);
    if (creation->client == NULL)
        return;
    creation->conf = NULL;
    creation->link = NULL;
}

static void drop_creation(void *argument)
{
    struct creation *creation = argument;

    if (creation->client != NULL)
        destroy_client(creation->client);
    if (creation->conf != NULL)
        rd_kafka_conf_destroy(creation->conf);
    free(creation->link);
    free(creation);
}

/* Takes `conf`. */
static struct creation *make_creation(struct kafka *kafka, rd_kafka_conf_t *conf)
{
    struct creation *creation = calloc(1, sizeof *creation);
    struct kafka_link *link = calloc(1, sizeof *link);

    if (creation == NULL || link == NULL) {
        rd_kafka_conf_destroy(conf);
        free(creation);
        free(link);
        return NULL;
    }
    link->kafka = kafka;
    rd_kafka_conf_set_opaque(conf, link);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_dr_msg_cb(conf, kafka_on_delivery);
    (void)rd_kafka_conf_set_ssl_cert_verify_cb(conf, kafka_on_certificate);
    creation->conf = conf;
    creation->link = link;
    return creation;
}

/* Takes `conf`. */
static int create(struct kafka *kafka, rd_kafka_conf_t *conf, struct error *error)
{
    struct creation *creation = make_creation(kafka, conf);
    enum bounded_result result;
    int status = -1;
    int policy;

    if (creation == NULL)
        return error_no_memory(error);
    policy = background_enter();
    result = bounded_call_run(&kafka->hung, create_client, drop_creation, creation,
                              clock_now_ms() + CLIENT_MS);
    background_leave(policy);
    if (result == BOUNDED_LATE)
        return kafka_fail(
            kafka, error, ERROR_TRANSIENT,
            "creating the client takes too long: reading a file named by its properties hangs");
    if (result != BOUNDED_DONE) {
        (void)kafka_fail(kafka, error, ERROR_TRANSIENT,
                         "cannot start a thread to create the client");
    } else if (creation->client == NULL) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: %s",
                        kafka->base.options->name, creation->why);
        if (strstr(creation->why, "kerberos") != NULL)
            (void)error_hint(
                error,
                "librdkafka uses Kerberos (GSSAPI) unless properties.\"sasl.mechanism\" names "
                "another mechanism");
    } else {
        kafka->client = creation->client;
        kafka->link = rd_kafka_opaque(kafka->client);
        creation->client = NULL;
        status = 0;
    }
    drop_creation(creation);
    return status;
}

static int open_client(struct kafka *kafka, struct error *error)
{
    rd_kafka_conf_t *conf;

    if (bounded_call_is_running(&kafka->hung))
        return kafka_fail(kafka, error, ERROR_TRANSIENT,
                          "the previous client has not ended: a name lookup, a Kerberos command or "
                          "reading a file hangs");
    conf = kafka_conf_new(kafka->base.options, true, error);
    if (conf == NULL)
        return -1;
    if (kafka_conf_raise_timeout(conf, kafka->silent_clients, error) < 0 ||
        (kafka->base.options->keep_order && kafka_conf_send_on_flush(conf, error) < 0)) {
        rd_kafka_conf_destroy(conf);
        return -1;
    }
    kafka->trouble[0] = '\0';
    kafka->broken = false;
    kafka->renewed = false;
    kafka->answered = false;
    return create(kafka, conf, error);
}

/* Asks in steps in order to notice refusals in between: once all brokers are down, the timeout is
 * cut to ASK_REFUSED_MS. Each step is longer than the one before, because an answer that arrives
 * after its step has ended is lost. */
const struct rd_kafka_metadata *kafka_ask_metadata(struct kafka *kafka, rd_kafka_topic_t *only,
                                                   int timeout_ms, rd_kafka_resp_err_t *code)
{
    int64_t started_ms = clock_now_ms();
    const struct rd_kafka_metadata *metadata = NULL;
    int step_ms = ASK_STEP_MS < timeout_ms ? ASK_STEP_MS : timeout_ms;
    int left_ms = timeout_ms;

    for (; left_ms > 0; step_ms = 3 * step_ms < left_ms ? 3 * step_ms : left_ms) {
        *code = rd_kafka_metadata(kafka->client, 0, only, &metadata, step_ms);
        (void)rd_kafka_poll(kafka->client, 0);
        if (*code == RD_KAFKA_RESP_ERR_NO_ERROR)
            return metadata;
        if (kafka->all_down && timeout_ms > ASK_REFUSED_MS)
            timeout_ms = ASK_REFUSED_MS;
        left_ms = clock_left_ms(started_ms + timeout_ms);
    }
    return NULL;
}

static int probe(struct kafka *kafka, struct error *error)
{
    const struct rd_kafka_metadata *metadata;
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__TIMED_OUT;

    kafka->all_down = false;
    metadata = kafka_ask_metadata(kafka, NULL, broker_connect_timeout_ms(&kafka->base), &code);
    if (metadata == NULL)
        return kafka_fail(kafka, error, ERROR_TRANSIENT,
                          kafka->trouble[0] != '\0'
                              ? rd_kafka_err2str(code)
                              : "no answer and no refusal: a name lookup, a connection or a TLS "
                                "handshake hangs");
    rd_kafka_metadata_destroy(metadata);
    kafka->all_down = false;
    kafka->answered = true;
    kafka->silent_clients = 0;
    kafka->trouble[0] = '\0';
    return 0;
}

static bool is_spent(const struct kafka *kafka)
{
    return kafka->client != NULL &&
           (kafka->broken || rd_kafka_fatal_error(kafka->client, NULL, 0) != 0);
}

/*
 * A client that was refused is discarded, so that the next one reads rotated secrets. A client that
 * merely got no answer in time is kept: a slow cluster may need more than one probe to accept it.
 */
int kafka_ready(struct broker *broker, struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;

    if (kafka->client != NULL)
        (void)rd_kafka_poll(kafka->client, 0); /* runs the callbacks due since the lane was idle */
    if (is_spent(kafka))
        kafka_discard_client(kafka);
    if (kafka->client == NULL && open_client(kafka, error) < 0)
        return -1;
    if (kafka->answered && !kafka->all_down)
        return 0;
    if (probe(kafka, error) == 0)
        return 0;
    if (kafka->trouble[0] == '\0')
        return -1;
    kafka->silent_clients += !kafka->answered;
    kafka_discard_client(kafka);
    return -1;
}

static void kafka_destroy(struct broker *broker)
{
    struct kafka *kafka = (struct kafka *)broker;

    kafka_discard_client(kafka);
    bounded_call_forget(&kafka->hung);
    kafka_topics_clear(kafka);
    free(kafka->suspects);
    free(kafka->silent);
    free(kafka);
}

static struct broker *kafka_create(const struct sink_options *options, struct error *error)
{
    rd_kafka_conf_t *conf = kafka_conf_new(options, false, error);
    struct kafka *kafka;
    char name[32] = "";

    if (conf == NULL)
        return NULL;
    kafka = calloc(1, sizeof *kafka);
    if (kafka == NULL) {
        error_no_memory(error);
    } else {
        kafka->base = (struct broker_base){.ops = &kafka_ops, .options = options};
        kafka->message_bytes_max = kafka_conf_number(conf, "message.max.bytes");
        kafka_chunks_init(&kafka->chunks, kafka->message_bytes_max,
                          kafka_conf_number(conf, "batch.size"),
                          kafka_conf_number(conf, "batch.num.messages"));
        kafka->partitioner =
            kafka_partitioner_find(kafka_conf_value(conf, "partitioner", name, sizeof name));
        kafka->refresh_ms = kafka_conf_number(conf, "topic.metadata.refresh.interval.ms");
    }
    rd_kafka_conf_destroy(conf);
    return (struct broker *)kafka;
}

static int64_t kafka_payload_max(const struct broker *broker)
{
    return ((const struct kafka *)broker)->message_bytes_max;
}

static bool kafka_keeps_order(const struct broker *broker)
{
    const struct kafka *kafka = (const struct kafka *)broker;

    return kafka->base.options->keep_order && !kafka->chunks.one_per_key;
}

const struct broker_ops kafka_ops = {
    .type = "kafka",
    .check_options = kafka_check_options,
    .create = kafka_create,
    .ready = kafka_ready,
    .send = kafka_send,
    .await = kafka_await,
    .keeps_order = kafka_keeps_order,
    .payload_max = kafka_payload_max,
    .inspect = kafka_inspect,
    .make = kafka_make,
    .destroy = kafka_destroy,
};
