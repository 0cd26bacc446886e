/*
 * A client of librdkafka: creating and destroying it, its errors, and the question for metadata.
 *
 * Creating or destroying a client can hang, because librdkafka reads files and joins its threads,
 * one of which may be in a name lookup or in a Kerberos command. Both calls are abandoned at a
 * deadline and finish in the background; until then the sink is away. A client that is destroyed
 * late may still hold messages, so librdkafka copies each payload.
 */

#include "broker/kafka/kafka.h"

#include "base/background.h"
#include "base/clock.h"
#include "base/hint.h"
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
    return error_hint(error, "%s", hint_find("kafka", text_of(kafka->trouble)));
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
void kafka_client_end(struct kafka *kafka)
{
    enum bounded_result result = bounded_call_run(&kafka->hung, destroy_client, drop_nothing,
                                                  kafka->client, clock_now_ms() + CLIENT_MS);

    if (result == BOUNDED_BUSY || result == BOUNDED_FAILED)
        destroy_client(kafka->client);
    kafka->client = NULL;
    kafka->link = NULL;
    kafka->broken = false;
}

void kafka_purge(struct kafka *kafka)
{
    (void)rd_kafka_purge(kafka->client, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT |
                                            RD_KAFKA_PURGE_F_NON_BLOCKING);
}

/* The arguments and result of rd_kafka_new, which runs on a thread of its own. */
struct creation {
    rd_kafka_type_t type;
    rd_kafka_conf_t *conf;   /* owned; NULL once the client owns it */
    struct kafka_link *link; /* owned; NULL once the client owns it */
    rd_kafka_t *client;      /* owned; NULL on failure */
    char why[512];           /* the reason of a failure */
};

static void create_client(void *argument)
{
    struct creation *creation = argument;

    creation->client =
        rd_kafka_new(creation->type, creation->conf, creation->why, sizeof creation->why);
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
    (void)rd_kafka_conf_set_ssl_cert_verify_cb(conf, kafka_on_certificate);
    creation->conf = conf;
    creation->link = link;
    return creation;
}

int kafka_client_create(struct kafka *kafka, rd_kafka_type_t type, rd_kafka_conf_t *conf,
                        struct error *error)
{
    struct creation *creation = make_creation(kafka, conf);
    enum bounded_result result;
    int status = -1;
    int policy;

    if (creation == NULL)
        return error_no_memory(error);
    creation->type = type;
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
