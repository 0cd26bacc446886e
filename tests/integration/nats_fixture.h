#ifndef INTEGRATION_NATS_FIXTURE_H
#define INTEGRATION_NATS_FIXTURE_H

#include "broker/nats.h"
#include "integration/publishing.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The real nats-server at $TEST_NATS_URL, or one of the test's own; what is published is read back
 * by a client of the test's own. Each test has a stream of its own, which takes "PREFIX.>".
 */

#define BATCH 500

static natsConnection *connection;
static jsCtx *context;
static char stream[32];
static char prefix[32];
static int number;

static inline const char *server_url(void)
{
    const char *url = getenv("TEST_NATS_URL");

    if (url == NULL)
        fail_msg("TEST_NATS_URL is not set: run this through tests/support/services");
    return url;
}

static inline void services(const char *verb)
{
    char command[128];

    (void)snprintf(command, sizeof command, "tests/support/services %s nats", verb);
    assert_int_equal(system(command), 0);
}

static inline void connect_reader(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    natsStatus status;

    do
        status = natsConnection_ConnectTo(&connection, server_url());
    while (status != NATS_OK && clock_left_ms(deadline_ms) > 0);
    assert_int_equal(status, NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
}

static inline void disconnect_reader(void)
{
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
    context = NULL;
    connection = NULL;
}

static inline void add_stream(const char *name, jsStreamConfig *config, const char *subject)
{
    const char *subjects[] = {subject};

    config->Name = name;
    config->Subjects = subjects;
    config->SubjectsLen = 1;
    assert_int_equal(js_AddStream(NULL, context, config, NULL, NULL), NATS_OK);
}

static inline void delete_stream(const char *name)
{
    assert_int_equal(js_DeleteStream(context, name, NULL, NULL), NATS_OK);
}

static inline uint64_t stored(const char *name)
{
    jsStreamInfo *info = NULL;
    uint64_t count;

    assert_int_equal(js_GetStreamInfo(&info, context, name, NULL, NULL), NATS_OK);
    count = info->State.Msgs;
    jsStreamInfo_Destroy(info);
    return count;
}

/* The stream's message of this number; numbers begin at 1. */
static inline natsMsg *read_back(uint64_t sequence)
{
    natsMsg *found = NULL;

    assert_int_equal(js_GetMsg(&found, context, stream, sequence, NULL, NULL), NATS_OK);
    return found;
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
    broker = broker_open(&options, &error);
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
    broker_close(broker);
    batch_free(&batch);
    (void)js_DeleteStream(context, stream, NULL, NULL);
    disconnect_reader();
    allow_nothing_more(&options);
    return 0;
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

/* Other event_ids than those of any batch before. */
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

/* Of the group: the library's threads end before OpenSSL cleans up behind them. */
static inline int close_library(void **state)
{
    (void)state;
    return nats_CloseAndWait(WAIT_MS) == NATS_OK ? 0 : -1;
}

/* ---- a server of the test's own, with users ---- */

static pid_t own_server;
static char own_folder[64];
static char own_url[64];

static inline void write_own_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", own_folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void write_own_config(const char *config)
{
    char text[2048];

    (void)snprintf(text, sizeof text, "listen: 127.0.0.1:-1\n%s", config);
    write_own_file("conf", text);
}

/* The server announces its port in a file of this folder. */
static inline void read_own_url(void)
{
    int64_t deadline_ms = clock_now_ms() + WAIT_MS;
    char path[160];
    char text[512] = "";
    char *found = NULL;

    (void)snprintf(path, sizeof path, "%s/nats-server_%d.ports", own_folder, (int)own_server);
    while (found == NULL && clock_left_ms(deadline_ms) > 0) {
        FILE *file = fopen(path, "r");

        if (file != NULL) {
            text[fread(text, 1, sizeof text - 1, file)] = '\0';
            (void)fclose(file);
            found = strstr(text, "nats://");
            found = found != NULL ? found : strstr(text, "tls://");
        }
        (void)poll(NULL, 0, 10);
    }
    assert_non_null(found);
    found[strcspn(found, "\"")] = '\0';
    (void)snprintf(own_url, sizeof own_url, "%s", found);
}

/* `config`: all but where it listens. */
static inline void start_own_server(const char *config)
{
    char path[128];

    (void)snprintf(own_folder, sizeof own_folder, "/tmp/test_nats.XXXXXX");
    assert_non_null(mkdtemp(own_folder));
    (void)snprintf(path, sizeof path, "%s/conf", own_folder);
    write_own_config(config);
    own_server = fork();
    if (own_server == 0) {
        (void)(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && chdir(own_folder) == 0 &&
               freopen("log", "w", stdout) != NULL && freopen("log", "a", stderr) != NULL &&
               execlp("nats-server", "nats-server", "-c", path, "--ports_file_dir", own_folder,
                      (char *)NULL));
        _exit(127);
    }
    read_own_url();
}

static inline int own_log_count(const char *words)
{
    static char text[65536];
    char path[128];
    FILE *file;
    int count = 0;

    (void)snprintf(path, sizeof path, "%s/log", own_folder);
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        count++;
    return count;
}

static inline bool own_log_says(const char *words)
{
    return own_log_count(words) > 0;
}

/* The signal is one thread's to take: until that one runs, the others go on. */
static inline void pause_own_server(void)
{
    int status;

    assert_int_equal(kill(own_server, SIGSTOP), 0);
    assert_int_equal(waitpid(own_server, &status, WUNTRACED), own_server);
    assert_true(WIFSTOPPED(status));
}

static inline void stop_own_server(void)
{
    char command[128];

    disconnect_reader();
    assert_int_equal(kill(own_server, SIGKILL), 0);
    assert_int_equal(waitpid(own_server, NULL, 0), own_server);
    (void)snprintf(command, sizeof command, "rm -rf %s", own_folder);
    assert_int_equal(system(command), 0);
}

static inline void connect_own(const char *user)
{
    char url[96];

    disconnect_reader();
    (void)snprintf(url, sizeof url, "nats://%s:%s@%s", user, user, own_url + strlen("nats://"));
    assert_int_equal(natsConnection_ConnectTo(&connection, url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
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

/* Answers what the closure says, or, without one, what the request itself does. */
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
