#ifndef INTEGRATION_NATS_FIXTURE_H
#define INTEGRATION_NATS_FIXTURE_H

#include "broker/broker.h"
#include "broker/nats/nats.h"
#include "integration/found.h"
#include "integration/harness_services.h"
#include "integration/nats_reader.h"
#include "integration/nats_server.h"
#include "integration/publishing.h"

#include <jansson.h>

/*
 * The real nats-server at $TEST_NATS_URL, or one of the test's own; what is published is read back
 * by a client of the test's own. Each test has a stream of its own, which takes "PREFIX.>".
 */

#define BATCH 500

static int number;

static inline void add_stream(const char *name, jsStreamConfig *config, const char *subject)
{
    static const char *subjects[1]; /* the configuration may be used again */

    subjects[0] = subject;
    config->Name = name;
    config->Subjects = subjects;
    config->SubjectsLen = 1;
    assert_int_equal(js_AddStream(NULL, context, config, NULL, NULL), NATS_OK);
}

static inline void decode_base64(const char *text, char *out, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0;
    size_t len = 0;

    for (int i = 0; text[i] != '\0' && text[i] != '=' && len + 1 < size; i++) {
        bits = bits << 6 | (unsigned)(strchr(digits, text[i]) - digits);
        if (i % 4 > 0)
            out[len++] = (char)(bits >> (6 - 2 * (i % 4)) & 0xFF);
    }
    out[len] = '\0';
}

/* As the server holds them: nats.c 3.4 cannot read a header whose value is empty. */
static inline void read_raw_headers(int sequence, char *raw, size_t size)
{
    natsMsg *reply = NULL;
    char subject[96];
    char request[32];
    json_t *root;

    (void)snprintf(subject, sizeof subject, "$JS.API.STREAM.MSG.GET.%s", stream);
    (void)snprintf(request, sizeof request, "{\"seq\":%d}", sequence);
    assert_int_equal(natsConnection_RequestString(&reply, connection, subject, request, WAIT_MS),
                     NATS_OK);
    root = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    decode_base64(json_string_value(json_object_get(json_object_get(root, "message"), "hdrs")), raw,
                  size);
    json_decref(root);
    natsMsg_Destroy(reply);
}

static inline char *subject_of(const char *rest)
{
    struct text copy;
    char subject[128];

    (void)snprintf(subject, sizeof subject, "%s.%s", prefix, rest);
    copy = batch_copy(&batch, subject, strlen(subject));
    assert_non_null(copy.data);
    return (char *)(uintptr_t)copy.data;
}

static inline int open_broker(void **state)
{
    (void)state;
    number++;
    (void)snprintf(stream, sizeof stream, "S%d-%d", (int)getpid(), number);
    (void)snprintf(prefix, sizeof prefix, "t%d", number);
    options = sink_of_type("nats");
    options.servers = (struct text_list){.items = {(char *)(uintptr_t)server_url()}, .count = 1};
    options.stream = stream;
    connect_reader();
    broker = broker_open(&options, NULL, &error);
    return broker == NULL ? -1 : batch_init(&batch, BATCH);
}

static inline int setup(void **state)
{
    jsStreamConfig config;

    if (open_broker(state) != 0)
        return -1;
    (void)jsStreamConfig_Init(&config);
    add_stream(stream, &config, subject_of(">"));
    return broker_ready(broker, &error);
}

static inline int teardown(void **state)
{
    (void)state;
    services_restore();
    broker_close(broker);
    batch_free(&batch);
    (void)js_DeleteStream(context, stream, NULL, NULL);
    disconnect_reader();
    allow_nothing_more(&options);
    return 0;
}

/* Changes what the client knows of the stream's subjects, as if they had been changed at the server
 * since it asked. */
static inline void say_stream_takes(const char *subject)
{
    struct nats *nats = (struct nats *)broker;
    char why[64];

    assert_int_equal(nats->subject_count, 1);
    match_free(&nats->subjects[0]);
    assert_int_equal(match_parse(&nats->subjects[0], subject, why, sizeof why), 0);
}

static inline uint64_t client_id(void)
{
    uint64_t id = 0;

    assert_int_equal(natsConnection_GetClientID(((struct nats *)broker)->connection, &id), NATS_OK);
    return id;
}

static inline void use_stream(jsStreamConfig *config)
{
    add_stream(stream, config, subject_of(">"));
    assert_int_equal(broker_ready(broker, &error), 0);
}

/* Event ids are unlike those of every batch before. */
static inline void fill_batch_of(const char *subject, int count)
{
    static int filled;
    char id[64];

    batch_reset(&batch);
    for (int i = 0; i < count; i++) {
        struct message *message = add_message(&batch, subject, NULL, "x");

        (void)snprintf(id, sizeof id, "filled-%d", ++filled);
        message->event_id = batch_copy(&batch, id, strlen(id));
    }
}

/* The teardown of the group: the library's threads end before OpenSSL frees what they use. */
static inline int close_library(void **state)
{
    (void)state;
    return nats_CloseAndWait(WAIT_MS) == NATS_OK ? 0 : -1;
}

static inline void stop_own_server(void)
{
    disconnect_reader();
    end_own_server();
}

static inline void connect_own(const char *user)
{
    char url[96];

    disconnect_reader();
    (void)snprintf(url, sizeof url, "nats://%s:%s@%s", user, user, own_url + strlen("nats://"));
    connect_reader_to(url);
}

static inline void open_own(void **state, const char *config, char *user)
{
    (void)open_broker(state);
    start_own_server(config);
    connect_own("admin");
    options.servers.items[0] = own_url;
    options.username = user;
    options.password = user;
}

/* How many of a key's messages the stream has: those whose values are "K0-0", "K0-1" and so on for
 * key 0. Their places must rise by one. */
static inline int stored_of(int key)
{
    jsStreamInfo *info = NULL;
    char start[16];
    int count = 0;

    (void)snprintf(start, sizeof start, "K%d-", key);
    assert_int_equal(js_GetStreamInfo(&info, context, stream, NULL, NULL), NATS_OK);
    for (uint64_t i = info->State.FirstSeq; i <= info->State.LastSeq; i++) {
        natsMsg *found = read_back(i);
        const char *value = natsMsg_GetData(found);

        if (strncmp(value, start, strlen(start)) == 0) {
            int place = (int)strtol(value + strlen(start), NULL, 10);

            if (place != count)
                fail_msg("%s is stored where place %d was due", value, count);
            count++;
        }
        natsMsg_Destroy(found);
    }
    jsStreamInfo_Destroy(info);
    return count;
}

/* Whether `check` says so of the stream (subject: NULL) or of a subject. */
static inline bool is_reported(const char *subject, const char *text, const char *fix)
{
    struct findings findings;
    bool is_found;

    assert_int_equal(findings_init(&findings), 0);
    assert_int_equal(broker_inspect(broker, subject, &findings, &error), 0);
    is_found = found(&findings, text, fix);
    findings_free(&findings);
    return is_found;
}

static inline void assert_reported(const char *text, const char *fix)
{
    assert_true(is_reported(NULL, text, fix));
}

/* Answers with the closure, or, without one, with the request's own payload. */
static inline void on_request(natsConnection *from, natsSubscription *subscription,
                              natsMsg *request, void *closure)
{
    const char *answer = closure != NULL ? closure : natsMsg_GetData(request);

    (void)subscription;
    if (answer != NULL && natsMsg_GetReply(request) != NULL)
        (void)natsConnection_PublishString(from, natsMsg_GetReply(request), answer);
    natsMsg_Destroy(request);
}

#endif
