/*
 * send and await: from pending messages to verdicts.
 *
 * Guarantee: every message that was handed to librdkafka is judged by its own delivery report, and
 * each gets exactly one report while the client lives. A message whose report blames the cluster
 * stays pending (verdicts.c has the table); one whose report blames its partition waits
 * (offline.c). A broker refuses whole record batches, so a refused
 * message is only a suspect. Suspects are produced again in ever smaller groups, and a message is
 * rejected only when it is refused alone.
 *
 * The order of a key: messages of one key that are sent together travel in one record batch, which
 * a broker stores whole or not at all. They are handed over in chunks that fit into one record
 * batch; librdkafka holds a chunk back until it is complete, and each chunk is acknowledged before
 * the next is sent. When a chunk is refused, none of its messages becomes a suspect: all stay
 * pending. If the chunk was too large, the following chunks are smaller (chunks.c). Otherwise, for
 * some seconds, each wave has only one message per key, and the message to blame is found as
 * described above.
 */

#include "broker/kafka/kafka.h"

#include "base/clock.h"
#include "message/order.h"
#include "route/rules.h"

#include <stdio.h>
#include <stdlib.h>

#define POLL_MS 100
#define START_MS 1 /* how long send() lets librdkafka write before other sinks have their turn */
#define PURGE_TIMEOUT_MS 1000
#define LATE_MS 1000 /* acknowledgements usually take a hundredth of it */
#define GROUPS 4     /* the number of groups into which suspects are divided in each round */

static void add_header(rd_kafka_headers_t *headers, const struct header *header)
{
    /* Fails only for arguments that rules_headers has refused. */
    (void)rd_kafka_header_add(headers, header->name.data, (ssize_t)header->name.len,
                              header->value.data, (ssize_t)header->value.len);
}

static rd_kafka_headers_t *make_headers(const struct broker *broker, const struct message *message)
{
    rd_kafka_headers_t *headers = rd_kafka_headers_new((size_t)message->header_count + OWN_HEADERS);
    struct header own[OWN_HEADERS];

    sink_own_headers(&broker->headers, message, own);
    for (int i = 0; i < OWN_HEADERS; i++)
        if (own[i].value.data != NULL)
            add_header(headers, &own[i]);
    for (int i = 0; i < message->header_count; i++)
        if (message->headers[i].value.data != NULL || broker->headers.sends_null)
            add_header(headers, &message->headers[i]);
    return headers;
}

static int outstanding(const struct kafka *kafka)
{
    return kafka->enqueued - kafka->acked - kafka->failed;
}

/* Runs callbacks for up to `wait_ms`. With keep_order, librdkafka sends only while it is
 * flushed. */
static void run_callbacks(struct kafka *kafka, int wait_ms)
{
    if (kafka->base.options->keep_order && wait_ms > 0)
        (void)rd_kafka_flush(kafka->client, wait_ms < POLL_MS ? wait_ms : POLL_MS);
    else
        (void)rd_kafka_poll(kafka->client, wait_ms);
}

/* Messages already in the queue may fail, and then no later message of their keys may be sent. So a
 * full queue ends the chunk. */
static bool ends_chunk(const struct kafka *kafka)
{
    return kafka->in_chunks && outstanding(kafka) > 0;
}

/* A full queue drains as reports arrive, so the same message is tried again and none is skipped. */
static rd_kafka_resp_err_t produce(struct kafka *kafka, const struct kafka_topic *topic,
                                   struct message *message, int32_t partition)
{
    rd_kafka_headers_t *headers = make_headers(&kafka->base, message);
    const rd_kafka_vu_t values[] = {
        {.vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = topic->handle},
        {.vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = partition},
        {.vtype = RD_KAFKA_VTYPE_KEY,
         .u.mem = {(void *)message->route_key.data, message->route_key.len}},
        {.vtype = RD_KAFKA_VTYPE_VALUE,
         .u.mem = {(void *)message->payload.data, message->payload.len}},
        {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY},
        {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = message},
        {.vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers},
    };
    rd_kafka_resp_err_t code;

    for (;;) {
        rd_kafka_error_t *refused =
            rd_kafka_produceva(kafka->client, values, sizeof values / sizeof *values);

        if (refused == NULL) {
            kafka->enqueued++;
            message->handed = true;
            return RD_KAFKA_RESP_ERR_NO_ERROR;
        }
        code = rd_kafka_error_code(refused);
        rd_kafka_error_destroy(refused);
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL || ends_chunk(kafka) ||
            clock_now_ms() >= kafka->send_deadline_ms)
            break;
        run_callbacks(kafka, POLL_MS);
    }
    rd_kafka_headers_destroy(headers);
    message->handed = false;
    return code;
}

/* ---- what a code means for a message ---- */

static void wait_for_topic(struct kafka *kafka, struct message *message, rd_kafka_resp_err_t code)
{
    int len = (int)message->destination.len;
    const char *name = message->destination.data;

    if (kafka_is_unknown(code))
        batch_refuse(kafka->batch, message, VERDICT_WAIT, "unknown topic \"%.*s\"", len, name);
    else
        batch_refuse(kafka->batch, message, VERDICT_WAIT, "topic \"%.*s\": %s", len, name,
                     rd_kafka_err2str(code));
}

static void suspect(struct kafka *kafka, struct message *message, enum kafka_class class,
                    const char *text)
{
    chunks_send_one_per_key(&kafka->chunks);
    if (kafka->in_chunks)
        return;
    if (kafka->alone != message)
        kafka->suspects[kafka->suspect_count++] = message;
    else if (class == KAFKA_POISON)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED, "refused by the broker: %s", text);
    else
        batch_refuse(kafka->batch, message, VERDICT_RETRY, "%s", text);
}

static void judge_failed(struct kafka *kafka, struct message *message,
                         const rd_kafka_message_t *report)
{
    enum kafka_class class = kafka_class_of(report->err);

    switch (class) {
    case KAFKA_ACKNOWLEDGED:
        break;
    case KAFKA_POISON:
    case KAFKA_UNKNOWN_ERROR:
        /* rd_kafka_message_errstr is not used because it may return the payload as text. */
        if (kafka->in_chunks && (report->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
                                 report->err == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE))
            kafka->chunks.too_large++;
        else
            suspect(kafka, message, class,
                    report->err == RD_KAFKA_RESP_ERR_INVALID_RECORD &&
                            message->route_key.data == NULL
                        ? "Broker failed to validate record: a compacted topic takes no message "
                          "without a key"
                        : rd_kafka_err2str(report->err));
        break;
    case KAFKA_DESTINATION_DOWN:
        kafka_topic_invalidate(kafka, message->destination, report->err);
        wait_for_topic(kafka, message, report->err);
        break;
    case KAFKA_FATAL:
        kafka->broken = true;
        kafka->unanswered++;
        break;
    case KAFKA_PARTITION_DOWN:
        if (report->partition >= 0)
            kafka->silent[kafka->silent_count++] = (struct kafka_silent){
                message, kafka_topic_find(kafka, message->destination), report->partition};
        else
            kafka->unanswered++;
        break;
    case KAFKA_BACKPRESSURE:
    case KAFKA_BROKER_DOWN:
        kafka->unanswered++;
        break;
    }
}

/* An acknowledgement that proves nothing: the message stays pending, as do those that are reported
 * after it, and the client is replaced. */
static void doubt(struct kafka *kafka)
{
    kafka->failed++;
    kafka->unanswered++;
    kafka->broken = true;
    if (kafka->trouble[0] == '\0')
        (void)snprintf(
            kafka->trouble, sizeof kafka->trouble,
            "an offset was given out again: the log of a partition was cut or made anew");
}

void kafka_on_delivery(rd_kafka_t *client, const rd_kafka_message_t *report, void *opaque)
{
    struct kafka *kafka = ((struct kafka_link *)opaque)->kafka;
    struct message *message = report->_private;

    (void)client;
    if (kafka->trials > 0)
        kafka_trial_end(kafka, kafka_topic_find(kafka, message->destination), report->partition,
                        report->err == RD_KAFKA_RESP_ERR_NO_ERROR);
    if (report->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        message->partition = report->partition;
        if (kafka->broken || !kafka_position_is_new(kafka, message, report)) {
            doubt(kafka);
            return;
        }
        if (kafka->is_late || kafka->late_count > 0)
            kafka_note_ack(kafka, kafka_topic_find(kafka, message->destination), report->partition);
        kafka->acked++;
        message->verdict = VERDICT_SENT;
        return;
    }
    kafka->failed++;
    if (rd_kafka_message_status(report) == RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED)
        kafka->maybe_stored++;
    judge_failed(kafka, message, report);
}

static void refuse_size(struct kafka *kafka, struct message *message, rd_kafka_resp_err_t code)
{
    batch_refuse(
        kafka->batch, message, VERDICT_REJECTED,
        "payload of %zu bytes, plus key and headers, is refused (message.max.bytes %lld): %s",
        message->payload.len, (long long)kafka->message_bytes_max, rd_kafka_err2str(code));
}

/* The result of produce(): librdkafka itself may have refused the message, before sending it. */
static void conclude_handover(struct kafka *kafka, struct message *message,
                              rd_kafka_resp_err_t code)
{
    switch (kafka_class_of(code)) {
    case KAFKA_ACKNOWLEDGED:
        break;
    case KAFKA_POISON:
        refuse_size(kafka, message, code);
        break;
    case KAFKA_UNKNOWN_ERROR:
        batch_refuse(kafka->batch, message, VERDICT_RETRY, "%s", rd_kafka_err2str(code));
        break;
    case KAFKA_DESTINATION_DOWN:
        kafka_topic_invalidate(kafka, message->destination, code);
        wait_for_topic(kafka, message, code);
        break;
    case KAFKA_BACKPRESSURE:
        kafka->unsent++;
        break;
    case KAFKA_BROKER_DOWN:
    case KAFKA_PARTITION_DOWN:
    case KAFKA_FATAL:
        kafka->broken = true;
        kafka->unanswered++;
        break;
    }
}

/* ---- send ---- */

/* False: the queue is full and the chunk ends before this message. */
static bool send_message(struct kafka *kafka, struct message *message)
{
    struct kafka_topic *topic = kafka_topic_find(kafka, message->destination);
    int32_t partition = KAFKA_ANY_PARTITION;
    enum kafka_way way = KAFKA_PRODUCE;
    rd_kafka_resp_err_t code;

    /* The table was full and has been emptied, or librdkafka gave no handle. The message stays
     * pending, and the next batch asks again. */
    if (topic == NULL || topic->handle == NULL)
        return true;
    if (topic->refusal != RD_KAFKA_RESP_ERR_NO_ERROR) {
        wait_for_topic(kafka, message, topic->refusal);
        return true;
    }
    if (kafka->offline_count > 0 || kafka->late_count > 0)
        way = kafka_choose_partition(kafka, topic, message, &partition);
    if (way == KAFKA_HOLD)
        return true;
    code = produce(kafka, topic, message, partition);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR && way == KAFKA_TRY)
        kafka_trial_begin(kafka);
    if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL && ends_chunk(kafka))
        return false;
    conclude_handover(kafka, message, code);
    return true;
}

static void check_message(struct kafka *kafka, struct message *message)
{
    int64_t payload_max = kafka->message_bytes_max;
    struct kafka_topic *topic = kafka_topic_find(kafka, message->destination);
    bool is_new = topic == NULL || !topic->is_permitted; /* else it was checked */
    const char *broken = is_new ? rules_kafka_topic(message->destination) : NULL;

    if (broken == NULL)
        broken =
            rules_headers(&kafka->base.headers, message->headers, message->header_count, false);
    if (broken != NULL)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED, "%s", broken);
    else if (is_new && !sink_allows(kafka->base.options, message->destination))
        batch_refuse(kafka->batch, message, VERDICT_DECLINED,
                     "the sink's allow list does not permit this topic");
    else if (message->payload_len > payload_max)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED,
                     "payload of %lld bytes is larger than message.max.bytes %lld",
                     (long long)message->payload_len, (long long)payload_max);
    else if (message->payload.data == NULL && message->payload_len >= 0)
        batch_refuse(kafka->batch, message, VERDICT_REJECTED,
                     "payload of %lld bytes is too large to fetch",
                     (long long)message->payload_len);
    else if (topic != NULL)
        topic->is_permitted = true;
}

static int check_messages(struct kafka *kafka, int sink)
{
    int pending = 0;

    for (int i = 0; i < kafka->batch->count; i++) {
        struct message *message = &kafka->batch->messages[i];

        if (!order_is_in_wave(kafka->batch, message, sink))
            continue;
        check_message(kafka, message);
        pending += message->verdict == VERDICT_PENDING;
    }
    return pending;
}

static void end_sending(struct kafka *kafka)
{
    if (kafka->is_late)
        kafka_conclude_late(kafka);
    kafka->is_late = false;
}

static void begin_sending(struct kafka *kafka)
{
    end_sending(kafka);
    kafka_positions_keep(kafka);
    kafka->sent_at_ms = clock_now_ms();
    kafka->looks = 0;
    kafka->acked_before = kafka->acked;
}

/* Sends the messages from `next` on: those that fit into one record batch, or all without
 * chunks. */
static void send_chunk(struct kafka *kafka, int sink)
{
    const struct batch *batch = kafka->batch;

    chunk_begin(&kafka->chunks);
    begin_sending(kafka);
    for (; kafka->next < batch->count; kafka->next++) {
        struct message *message = &batch->messages[kafka->next];

        if (!order_is_due(batch, message, sink))
            continue;
        if (kafka->in_chunks && !chunk_takes(&kafka->chunks, message))
            return;
        if (!send_message(kafka, message))
            return;
    }
}

void kafka_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct kafka *kafka = (struct kafka *)broker;
    int pending;

    kafka->batch = batch;
    kafka->suspect_count = 0;
    kafka->alone = NULL;
    kafka->enqueued = 0;
    kafka->acked = 0;
    kafka->failed = 0;
    kafka->unanswered = 0;
    kafka->unsent = 0;
    kafka->maybe_stored = 0;
    kafka->silent_count = 0;
    kafka->is_late = false;
    kafka->leader_gone = false;
    kafka->trials = 0;
    kafka->in_chunks = order_shares_wave(batch, sink);
    kafka->next = batch->count;
    kafka->send_deadline_ms = deadline_ms;
    pending = check_messages(kafka, sink);
    if (pending == 0 || kafka->renewed)
        return;
    if (kafka->client == NULL || kafka->broken ||
        broker_reserve(&kafka->suspects, &kafka->suspect_capacity, batch->count,
                       sizeof(*kafka->suspects)) < 0 ||
        broker_reserve(&kafka->raised, &kafka->raised_capacity, batch->count,
                       sizeof(*kafka->raised)) < 0 ||
        broker_reserve(&kafka->silent, &kafka->silent_capacity, batch->count,
                       sizeof *kafka->silent) < 0 ||
        kafka_topics_learn(kafka, batch, sink) < 0) {
        kafka->unanswered = pending;
        return;
    }
    if (kafka->base.options->create)
        kafka_topics_create(kafka, batch, sink);
    kafka->next = 0;
    send_chunk(kafka, sink);
    if (kafka->base.options->keep_order) /* starts sending before the other sinks have their turn */
        run_callbacks(kafka, START_MS);
}

/* ---- without sending ---- */

/* A length as a varint of Kafka's format, whose sign takes a bit. */
static int64_t varint_bytes(size_t len)
{
    int64_t bytes = 1;

    for (size_t left = len >> 6; left > 0; left >>= 7)
        bytes++;
    return bytes;
}

/* What librdkafka compares with message.max.bytes: the largest size on the wire. */
static int64_t wire_bytes(const struct message *message)
{
    enum { OVERHEAD = 36 };
    int64_t bytes = OVERHEAD + (int64_t)(message->route_key.len + message->payload.len);

    for (int i = 0; i < message->header_count; i++) {
        const struct header *header = &message->headers[i];

        bytes += varint_bytes(header->name.len) + varint_bytes(header->value.len) +
                 (int64_t)(header->name.len + header->value.len);
    }
    return bytes;
}

static void explain_place(struct kafka *kafka, struct message *message)
{
    const struct kafka_topic *topic = kafka_topic_find(kafka, message->destination);

    if (topic == NULL || topic->handle == NULL)
        return;
    if (topic->refusal == RD_KAFKA_RESP_ERR_NO_ERROR)
        message->partition = kafka_partition_of(kafka, topic, message);
    else if (!kafka->base.options->create || !kafka_is_unknown(topic->refusal))
        wait_for_topic(kafka, message, topic->refusal);
}

void kafka_explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    struct kafka *kafka = (struct kafka *)broker;
    bool knows;

    kafka->batch = batch;
    kafka->send_deadline_ms = deadline_ms;
    knows = check_messages(kafka, sink) > 0 && kafka->client != NULL && kafka->answered &&
            kafka_topics_learn(kafka, batch, sink) == 0;
    for (int i = 0; i < batch->count; i++) {
        struct message *message = &batch->messages[i];
        struct header own[OWN_HEADERS];
        bool is_pending = order_is_in_wave(batch, message, sink);

        if (message->sink != sink)
            continue;
        sink_own_headers(&broker->headers, message, own);
        broker_show_headers(broker, batch, message, own, OWN_HEADERS);
        if (is_pending && wire_bytes(message) > kafka->message_bytes_max)
            refuse_size(kafka, message, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
        else if (is_pending && knows)
            explain_place(kafka, message);
    }
    kafka->batch = NULL;
}

/* ---- await ---- */

/* Returns for how long to wait for reports: until then nothing becomes late unnoticed. */
static int wait_until_late_ms(struct kafka *kafka, int left_ms)
{
    int until_late_ms = clock_left_ms(kafka->sent_at_ms + LATE_MS);

    if (!kafka->is_late && until_late_ms > 0)
        return until_late_ms < left_ms ? until_late_ms : left_ms;
    if (!kafka->is_late)
        kafka->acked_in_time = kafka->acked - kafka->acked_before;
    kafka->is_late = true;
    return left_ms < POLL_MS ? left_ms : POLL_MS;
}

/* Polls at least once even after the deadline, because reports may already be in the queue. */
static void poll_reports(struct kafka *kafka, int64_t deadline_ms)
{
    while (outstanding(kafka) > 0 && !kafka->broken) {
        /* While only trials are in flight, their end is the deadline. */
        bool tries = outstanding(kafka) <= kafka->trials && kafka->trials_end_ms < deadline_ms;
        int left_ms = clock_left_ms(tries ? kafka->trials_end_ms : deadline_ms);

        run_callbacks(kafka, wait_until_late_ms(kafka, left_ms));
        if (left_ms == 0 || (kafka->is_late && kafka_gives_up(kafka)))
            return;
    }
}

static int compare_positions(const void *a, const void *b)
{
    const struct message *const *left = a;
    const struct message *const *right = b;

    return (*left > *right) - (*left < *right);
}

static bool may_go_on(const struct kafka *kafka, int64_t deadline_ms)
{
    return outstanding(kafka) == 0 && !kafka->broken && clock_left_ms(deadline_ms) > 0;
}

/* Sends the suspects in the order of the batch, one group in flight at a time. Those refused again
 * are collected at the front of the same array, where the loop has already read. */
static void try_groups(struct kafka *kafka, int size, int64_t deadline_ms)
{
    int count = kafka->suspect_count;
    int at = 0;

    qsort(kafka->suspects, (size_t)count, sizeof(*kafka->suspects), compare_positions);
    kafka->suspect_count = 0;
    while (at < count && may_go_on(kafka, deadline_ms)) {
        int end = at + size < count ? at + size : count;

        kafka->alone = size == 1 ? kafka->suspects[at] : NULL;
        begin_sending(kafka);
        while (at < end)
            (void)send_message(kafka, kafka->suspects[at++]);
        poll_reports(kafka, deadline_ms);
    }
    kafka->unanswered += count - at;
}

/* The groups become smaller in each round. Finding one bad message among 500 takes about 20
 * requests instead of 500, and all others have been sent by then. A message is blamed for a refusal
 * only when it was sent alone. */
static void try_suspects(struct kafka *kafka, int64_t deadline_ms)
{
    int size = kafka->suspect_count;

    while (kafka->suspect_count > 0 && may_go_on(kafka, deadline_ms)) {
        size = (size + GROUPS - 1) / GROUPS;
        try_groups(kafka, size, deadline_ms);
    }
}

/* Messages not sent by the deadline, or after a chunk that failed, stay pending for another
 * batch. */
static void send_chunks(struct kafka *kafka, int sink, int64_t deadline_ms)
{
    poll_reports(kafka, deadline_ms);
    chunk_end(&kafka->chunks);
    while (kafka->next < kafka->batch->count && may_go_on(kafka, deadline_ms)) {
        for (int i = 0; i < kafka->next; i++)
            kafka->batch->messages[i].handed = false;
        send_chunk(kafka, sink);
        poll_reports(kafka, deadline_ms);
        chunk_end(&kafka->chunks);
    }
}

/* Purged messages are reported at once. */
static void purge(struct kafka *kafka)
{
    int64_t deadline_ms = clock_now_ms() + PURGE_TIMEOUT_MS;

    if (kafka->client != NULL) {
        kafka_purge(kafka);
        (void)rd_kafka_poll(kafka->client,
                            0); /* delivers the reason of a fatal error to on_error */
    }
    while (outstanding(kafka) > 0 && clock_left_ms(deadline_ms) > 0)
        (void)rd_kafka_poll(kafka->client, clock_left_ms(deadline_ms));
    kafka_positions_keep(kafka); /* of messages that are valid until await returns */
}

/* Whether messages in flight have had the time to be acknowledged: the last ones may have been sent
 * just before the deadline. */
static bool has_waited(const struct kafka *kafka)
{
    return outstanding(kafka) <= kafka->trials || kafka->leader_gone || kafka_has_waited(kafka);
}

/* Only partitions are away, and not the cluster. The client is replaced all the same, because it
 * has purged messages; the next wave of the batch is left to the next batch. */
static bool leave_partitions(struct kafka *kafka)
{
    if (kafka->broken || outstanding(kafka) > 0 || kafka->unanswered > 0 ||
        kafka->silent_count == 0)
        return false;
    kafka_silence_begin(kafka);
    kafka->renewed = kafka->leader_gone || kafka_topics_ask(kafka, NULL, KAFKA_ASK_MS) == 0;
    kafka_silence_end(kafka, kafka->renewed);
    return kafka->renewed;
}

/* Messages without a report are abandoned with the client. */
static int give_up(struct kafka *kafka, struct error *error)
{
    char stored[64] = "";
    char text[192];

    kafka->unanswered +=
        outstanding(kafka) + kafka->suspect_count + kafka->silent_count + kafka->unsent;
    kafka->maybe_stored += outstanding(kafka);
    if (kafka->maybe_stored > 0)
        (void)snprintf(stored, sizeof stored, " (%d of them may be stored and will be sent again)",
                       kafka->maybe_stored);
    (void)snprintf(text, sizeof text, "%d %s not acknowledged%s%s", kafka->unanswered,
                   kafka->unanswered == 1 ? "message was" : "messages were",
                   kafka->unsent > 0 ? " (the client's queue is full)" : "", stored);
    return kafka_fail(kafka, error, ERROR_TRANSIENT, text);
}

int kafka_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                struct error *error)
{
    struct kafka *kafka = (struct kafka *)broker;

    (void)batch;
    send_chunks(kafka, sink, deadline_ms);
    try_suspects(kafka, deadline_ms);
    kafka_positions_keep(kafka);
    /* Unless every message that was handed over has had its report, nothing is certain. */
    if (outstanding(kafka) != 0 || kafka->unanswered > 0 || kafka->unsent > 0 ||
        kafka->silent_count > 0 || kafka->suspect_count > 0 || kafka->broken) {
        bool waited = has_waited(kafka);

        purge(kafka);
        return waited && leave_partitions(kafka) ? 0 : give_up(kafka, error);
    }
    kafka_trials_settle(kafka);
    end_sending(kafka);
    if (!kafka->in_chunks && kafka->acked > 0)
        chunks_note_acknowledged(&kafka->chunks);
    kafka->batch = NULL;
    kafka->trouble[0] = '\0';
    kafka->all_down = false;
    return 0;
}
