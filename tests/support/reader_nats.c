/*
 * The reader's NATS half, on an ephemeral pull consumer without acknowledgements. The consumer
 * numbers its deliveries from 1: a number that is skipped is a message lost on the way: an error.
 */

#include "reader.h"

#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FETCH_MESSAGES = 2000, FETCH_MS = 1000, ANSWER_MS = 10000, SERVERS_MAX = 8 };

struct nats_session {
    natsConnection *connection;
    jsCtx *js;
};

struct nats_reader {
    const struct options *options;
    struct nats_session session;
    natsSubscription *subscription;
    int64_t wanted; /* messages to read in all */
    int64_t seen;
    uint64_t delivered; /* the consumer's number of the last delivery */
    uint64_t sequence;  /* the stream's number of the last message */
    int64_t stored_ms;  /* and its time */
    int64_t deadline_ms;
};

/* ---- the connection ----------------------------------------------------------------------- */

/* urls: one, or several with commas between them. */
static natsStatus set_servers(natsOptions *options, const char *urls)
{
    const char *servers[SERVERS_MAX];
    int count = 0;
    char *rest;
    char *copy = strdup(urls);

    if (!copy)
        die("out of memory");
    for (char *url = strtok_r(copy, ",", &rest); url && count < SERVERS_MAX;
         url = strtok_r(NULL, ",", &rest))
        servers[count++] = url;
    natsStatus status = natsOptions_SetServers(options, servers, count);
    free(copy);
    return status;
}

static natsStatus connect_once(struct nats_session *session, const char *url)
{
    natsOptions *options = NULL;
    jsOptions js_options;

    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK)
        status = set_servers(options, url);
    if (status == NATS_OK)
        status = natsOptions_SetMaxReconnect(options, -1);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(options, 100);
    if (status == NATS_OK)
        status = natsConnection_Connect(&session->connection, options);
    natsOptions_Destroy(options);
    if (status == NATS_OK) {
        jsOptions_Init(&js_options);
        js_options.Wait = ANSWER_MS;
        status = natsConnection_JetStream(&session->js, session->connection, &js_options);
    }
    return status;
}

static void close_session(struct nats_session *session)
{
    jsCtx_Destroy(session->js);
    natsConnection_Destroy(session->connection);
    *session = (struct nats_session){0};
}

static struct nats_session open_session(const char *url, int64_t deadline_ms)
{
    struct nats_session session = {0};
    natsStatus status;

    while ((status = connect_once(&session, url)) != NATS_OK) {
        close_session(&session);
        if (now_ms() >= deadline_ms)
            die("%s: %s", url, natsStatus_GetText(status));
        pause_ms(50);
    }
    return session;
}

static void shut_down(struct nats_session *session)
{
    close_session(session);
    nats_CloseAndWait(2000);
}

/* ---- reading ------------------------------------------------------------------------------ */

static natsStatus subscribe(struct nats_reader *reader)
{
    const struct options *options = reader->options;
    const char *filter = options->operand_count > 2 ? options->operands[2] : ">";
    jsSubOptions sub;

    jsSubOptions_Init(&sub);
    sub.Stream = options->operands[1];
    sub.Config.AckPolicy = js_AckNone;
    sub.Config.DeliverPolicy = js_DeliverAll;
    sub.Config.FilterSubject = filter;
    natsStatus status =
        js_PullSubscribe(&reader->subscription, reader->session.js, filter, NULL, NULL, &sub, NULL);
    if (status == NATS_OK)
        status = natsSubscription_SetPendingLimits(reader->subscription, -1, -1);
    return status;
}

/* What the consumer was to deliver when it was made: the end as of the start. */
static int64_t pending(struct nats_reader *reader)
{
    jsConsumerInfo *info = NULL;
    natsStatus status = natsSubscription_GetConsumerInfo(&info, reader->subscription, NULL, NULL);

    if (status != NATS_OK)
        die("consumer: %s", natsStatus_GetText(status));
    int64_t count = (int64_t)info->NumPending;
    jsConsumerInfo_Destroy(info);
    return count;
}

static struct field text_field(const char *text)
{
    return (struct field){text, strlen(text)};
}

static void add_headers(struct message *message, natsMsg *received)
{
    const char **names = NULL, **values = NULL;
    int name_count = 0, value_count = 0;

    if (natsMsgHeader_Keys(received, &names, &name_count) != NATS_OK)
        return;
    for (int i = 0; i < name_count; i++) {
        if (natsMsgHeader_Values(received, names[i], &values, &value_count) != NATS_OK)
            continue;
        for (int j = 0; j < value_count; j++) {
            if (strcmp(names[i], "key") == 0 && !message->key.data)
                message->key = text_field(values[j]);
            else
                message_header(message, names[i], text_field(values[j]));
        }
        free(values);
    }
    free(names);
}

static void check_order(struct nats_reader *reader, natsMsg *received)
{
    jsMsgMetaData *meta = NULL;

    if (natsMsg_GetMetaData(&meta, received) != NATS_OK)
        die("a message without JetStream's metadata on %s", natsMsg_GetSubject(received));
    jsSequencePair numbers = meta->Sequence;
    reader->stored_ms = meta->Timestamp / 1000000;
    jsMsgMetaData_Destroy(meta);
    if (numbers.Consumer != reader->delivered + 1 || numbers.Stream <= reader->sequence)
        die("delivery %llu (sequence %llu) came after %llu (%llu)",
            (unsigned long long)numbers.Consumer, (unsigned long long)numbers.Stream,
            (unsigned long long)reader->delivered, (unsigned long long)reader->sequence);
    reader->delivered = numbers.Consumer;
    reader->sequence = numbers.Stream;
}

static void take(struct nats_reader *reader, natsMsg *received)
{
    struct message message;

    message_begin(&message);
    message.destination = natsMsg_GetSubject(received);
    message.position = (int64_t)reader->sequence;
    message.stored_ms = reader->stored_ms;
    message.payload.data = natsMsg_GetData(received);
    message.payload.size = (size_t)natsMsg_GetDataLength(received);
    if (!message.payload.data)
        message.payload.data = ""; /* NATS knows no NULL */
    add_headers(&message, received);
    reader->seen = message_emit(reader->options, &message);
}

static void fetch(struct nats_reader *reader)
{
    natsMsgList list = {0};
    int64_t missing = reader->wanted - reader->seen;
    int batch = missing < FETCH_MESSAGES ? (int)missing : FETCH_MESSAGES;
    natsStatus status = natsSubscription_Fetch(&list, reader->subscription, batch, FETCH_MS, NULL);

    if (status == NATS_TIMEOUT)
        return;
    if (status != NATS_OK)
        die("fetch: %s", natsStatus_GetText(status));
    for (int i = 0; i < list.Count; i++) {
        check_order(reader, list.Msgs[i]);
        take(reader, list.Msgs[i]);
    }
    reader->deadline_ms = deadline_from_now();
    natsMsgList_Destroy(&list);
}

int verb_nats(const struct options *options)
{
    struct nats_reader reader = {.options = options, .deadline_ms = deadline_from_now()};

    reader.session = open_session(options->operands[0], reader.deadline_ms);
    natsStatus status = subscribe(&reader);
    if (status != NATS_OK)
        die("stream %s: %s", options->operands[1], nats_GetLastError(NULL));
    reader.wanted = pending(&reader);
    while (reader.seen < reader.wanted && now_ms() < reader.deadline_ms)
        fetch(&reader);
    output_finish(options);
    if (reader.seen < reader.wanted)
        die("gave up after %d s without a message, with %lld of %lld", PATIENCE_S,
            (long long)reader.seen, (long long)reader.wanted);
    natsSubscription_Unsubscribe(reader.subscription);
    natsSubscription_Destroy(reader.subscription);
    shut_down(&reader.session);
    return 0;
}

/* ---- the small verbs ---------------------------------------------------------------------- */

int verb_nats_end(const struct options *options)
{
    struct nats_session session = open_session(options->operands[0], deadline_from_now());
    jsStreamInfo *info = NULL;
    natsStatus status = js_GetStreamInfo(&info, session.js, options->operands[1], NULL, NULL);

    if (status != NATS_OK)
        die("stream %s: %s", options->operands[1], natsStatus_GetText(status));
    printf("%llu\n", (unsigned long long)info->State.Msgs);
    jsStreamInfo_Destroy(info);
    shut_down(&session);
    return 0;
}

/* With atomic batches: a server that has none ignores the setting, which the library does not
 * know. */
static natsStatus create_stream(natsConnection *connection, const struct options *options)
{
    char subject[256];
    char config[4096];
    natsMsg *reply = NULL;
    natsStatus status;
    int len = snprintf(config, sizeof config,
                       "{\"name\":\"%s\",\"storage\":\"file\",\"retention\":\"%s\","
                       "\"num_replicas\":%ld,\"duplicate_window\":%lld,\"allow_atomic\":true,"
                       "\"subjects\":[",
                       options->operands[2], options->interest ? "interest" : "limits",
                       options->replicas, options->duplicates_ms * 1000000LL);

    for (int i = 3; i < options->operand_count && len < (int)sizeof config; i++)
        len += snprintf(config + len, sizeof config - (size_t)len, "%s\"%s\"", i > 3 ? "," : "",
                        options->operands[i]);
    if (len + 3 > (int)sizeof config)
        die("stream %s: too many subjects", options->operands[2]);
    (void)snprintf(config + len, sizeof config - (size_t)len, "]}");
    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.CREATE.%s", options->operands[2]);
    status = natsConnection_RequestString(&reply, connection, subject, config, ANSWER_MS);
    if (status == NATS_OK && strstr(natsMsg_GetData(reply), "\"error\"") != NULL)
        die("stream %s: %s", options->operands[2], natsMsg_GetData(reply));
    natsMsg_Destroy(reply);
    return status;
}

/* All before a sequence number. */
static natsStatus purge_stream(jsCtx *js, const char *name, long sequence)
{
    jsOptions purge;

    (void)jsOptions_Init(&purge);
    purge.Stream.Purge.Sequence = (uint64_t)sequence;
    return js_PurgeStream(js, name, &purge, NULL);
}

int verb_stream(const struct options *options)
{
    const char *act = options->operands[1];
    struct nats_session session = open_session(options->operands[0], deadline_from_now());
    natsStatus status;

    if (strcmp(act, "create") == 0 && options->operand_count > 3)
        status = create_stream(session.connection, options);
    else if (strcmp(act, "delete") == 0)
        status = js_DeleteStream(session.js, options->operands[2], NULL, NULL);
    else if (strcmp(act, "purge") == 0 && options->operand_count > 3)
        status = purge_stream(session.js, options->operands[2],
                              parse_number(options->operands[3], "sequence"));
    else
        die("stream: create NAME SUBJECT..., delete NAME or purge NAME SEQUENCE");
    if (status != NATS_OK)
        die("stream %s: %s", options->operands[2], nats_GetLastError(NULL));
    shut_down(&session);
    return 0;
}
