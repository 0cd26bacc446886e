/*
 * Kafka, through librdkafka's producer. Each broker object has one client, which the lane's own
 * thread creates, polls and destroys. Delivery reports and errors are callbacks that run
 * inside that thread's rd_kafka_poll, so no lock is needed. The log callback and the certificate
 * callback run on librdkafka's threads.
 *
 * Guarantee: a message is SENT only after its own positive delivery report. When await() returns,
 * the client owes no report: messages without one were purged, and a client that purged anything,
 * or that librdkafka declared fatal, is not polled again. The next client is created after the
 * previous one has been destroyed, so that the client cannot send old messages after newer ones.
 *
 * Deliberately not done: the idempotent producer. A broker takes a batch for a repeat, says that it
 * is stored, and stores nothing, if one of the last five of its producer id, epoch and partition
 * had the same sequence numbers. It gives these ids out from 0 again when its cluster was wiped or
 * restored: a client that has outlived that, asleep or idle, would have its messages taken for
 * those of the new owner of its id, whatever is compared before or after. Without an id no broker
 * drops anything, so what is acknowledged is stored. Order does not need the id: no two messages of
 * a key are in flight outside one record batch (publish.c). The id would only spare repeats of
 * messages that are in flight when a connection breaks.
 *
 * Transactions are not used either, because a consumer drops repeats by the header `id`; and lanes
 * do not share a client, because a purge concerns the whole client, so that one lane's deadline
 * would fail every other lane.
 *
 *   client.c   creating, destroying   options.c  properties
 *   publish.c  send, await            topics.c   which topics exist
 *   verdicts.c error codes            admin.c    inspect
 *   trouble.c  causes of connection errors
 *   offline.c  partitions that acknowledge nothing
 *   silence.c  brokers that hang      read.c     what topics hold
 *   positions.c, floors.c  what a cluster has lost
 */

#include "broker/kafka/kafka.h"

#include "route/rules.h"

#include <stdlib.h>

/* Takes at most one second. A client that hangs is destroyed in the background, and ready() creates
 * no other until that is done. */
static void discard_client(struct kafka *kafka)
{
    if (kafka->client == NULL)
        return;
    kafka_purge(kafka);
    kafka_topics_release(kafka);
    kafka_client_end(kafka);
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
    rd_kafka_conf_set_dr_msg_cb(conf, kafka_on_delivery);
    return kafka_client_create(kafka, RD_KAFKA_PRODUCER, conf, error);
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

/*
 * A client that was refused is discarded, so that the next one reads rotated secrets. A client that
 * merely got no answer in time is kept: a slow cluster may need more than one probe to accept it.
 */
static int ready(struct broker *broker, struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;
    bool is_new;

    if (kafka->client != NULL)
        (void)rd_kafka_poll(kafka->client, 0); /* runs the callbacks due since the lane was idle */
    if (kafka->client != NULL &&
        (kafka->broken || rd_kafka_fatal_error(kafka->client, NULL, 0) != 0))
        discard_client(kafka);
    if (kafka->client == NULL && open_client(kafka, error) < 0)
        return -1;
    is_new = !kafka->answered || kafka->all_down;
    if (!is_new || probe(kafka, error) == 0) {
        kafka_positions_check(kafka, is_new);
        return 0;
    }
    if (kafka->trouble[0] == '\0')
        return -1;
    kafka->silent_clients += !kafka->answered;
    discard_client(kafka);
    return -1;
}

/*
 * A client that has messages in flight is replaced, because it may still send them; so is one that
 * has purged any.
 */
static int await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;
    int status = kafka_await(broker, batch, sink, deadline_ms, error);

    if (status < 0 || kafka->renewed)
        discard_client(kafka);
    return status;
}

static int check_destination(const struct kafka *kafka, const char *name, struct error *error)
{
    return sink_check_destination(kafka->base.options, "topic", rules_kafka_topic(text_of(name)),
                                  name, error);
}

static int inspect(struct broker *broker, const char *destination, struct findings *findings,
                   struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;

    if (destination == NULL)
        return ready(broker, error) < 0 ? -1 : kafka_inspect_addresses(kafka, findings, error);
    if (check_destination(kafka, destination, error) < 0 || ready(broker, error) < 0)
        return -1;
    return kafka_inspect(kafka, destination, findings, error);
}

/* Topics that match a pattern are created when they are first used. */
static int make(struct broker *broker, const char *destination, struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;

    if (sink_pattern(destination))
        return 0;
    if (check_destination(kafka, destination, error) < 0 || ready(broker, error) < 0)
        return -1;
    return kafka_topic_create(kafka, destination, KAFKA_ASK_MS, error);
}

static void destroy(struct broker *broker)
{
    struct kafka *kafka = (struct kafka *)broker;

    discard_client(kafka);
    bounded_call_forget(&kafka->hung);
    kafka_topics_clear(kafka);
    free(kafka->suspects);
    free(kafka->silent);
    free(kafka->raised);
    free(kafka);
}

/* Bytes that librdkafka always puts into one record batch: half of the limit, because it adds the
 * largest possible overhead to each message's size. */
static int64_t chunk_bytes(const struct kafka *kafka, int64_t batch_bytes_max)
{
    return kafka->message_bytes_max < batch_bytes_max ? kafka->message_bytes_max / 2
                                                      : batch_bytes_max / 2;
}

static struct broker *create(const struct sink_options *options, struct error *error)
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
        kafka->base = (struct broker){
            .ops = &kafka_ops, .options = options, .headers = sink_header_rules(options, false)};
        kafka->message_bytes_max = kafka_conf_number(conf, "message.max.bytes");
        chunks_init(&kafka->chunks, chunk_bytes(kafka, kafka_conf_number(conf, "batch.size")),
                    kafka_conf_number(conf, "batch.num.messages"));
        for (int i = 0; i < OWN_HEADERS; i++)
            kafka->chunks.name_bytes += (int64_t)kafka->base.headers.own[i].len;
        kafka->partitioner =
            kafka_partitioner_find(kafka_conf_value(conf, "partitioner", name, sizeof name));
        kafka->refresh_ms = kafka_conf_number(conf, "topic.metadata.refresh.interval.ms");
    }
    rd_kafka_conf_destroy(conf);
    return (struct broker *)kafka;
}

static int64_t payload_max(const struct broker *broker)
{
    return ((const struct kafka *)broker)->message_bytes_max;
}

static enum order_kept keeps_order(const struct broker *broker, const struct batch *batch, int sink)
{
    const struct kafka *kafka = (const struct kafka *)broker;

    (void)batch;
    (void)sink;
    return kafka->base.options->keep_order && !kafka->chunks.one_per_key ? ORDER_KEPT_IN_PARTITION
                                                                         : ORDER_NOT_KEPT;
}

const struct broker_ops kafka_ops = {
    .type = "kafka",
    .events = &cloudevents_kafka,
    .check_options = kafka_check_options,
    .create = create,
    .ready = ready,
    .send = kafka_send,
    .await = await,
    .explain = kafka_explain,
    .keeps_order = keeps_order,
    .payload_max = payload_max,
    .inspect = inspect,
    .make = make,
    .read = kafka_read,
    .destroy = destroy,
};
