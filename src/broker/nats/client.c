/*
 * NATS JetStream, through nats.c. Each broker object has one connection, served by the lane's
 * thread.
 *
 * Guarantee: a message is SENT only when the configured stream has acknowledged it with a sequence
 * number of its own, or is found to hold it already. Other positive replies (from the server's API
 * or from another stream) do not count. nats.c validates neither subjects nor headers, and the
 * server acts on some headers, so every byte is checked here before the library gets it. When
 * await() returns without all acknowledgements, the connection is closed and destroyed, so that
 * nothing of the batch is written later. A server that was paused may still read and store what is
 * in the kernel's socket buffers. This is harmless: each message carries its event_id as
 * Nats-Msg-Id, and a repeat within the stream's duplicate window is stored once.
 *
 * Deliberately not done: core NATS without a stream, which acknowledges nothing, and the library's
 * own reconnect, which would publish messages that the relay has given up.
 *
 *   connect.c  servers, secrets, TLS       publish.c     send, await
 *   loop.c     bytes out, answers in       headers.c     a message's headers
 *   problems.c forbidden subjects          acks.c        reading an answer
 *   stream.c   inspect, create             verdicts.c    verdict of an answer
 *   duplicates.c  is it the same event?    stuck.c       attempts to connect that never end
 *   read.c     what the stream holds       stored.c      a message that it holds
 *   policy.c   what its settings do        jwt.c         when a login ends
 *   silence.c  nothing is acknowledged
 */

#include "broker/nats/nats.h"

#include "base/clock.h"
#include "route/rules.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_TIMEOUT_MS 1000
#define CHUNK_BYTES_MAX (1024 * 1024)           /* the server keeps atomic batches in memory */
#define CHUNK_MESSAGES_MAX 1000                 /* the server's default limit of an atomic batch */
#define MESSAGE_BYTES_MAX_DEFAULT (1024 * 1024) /* the server's default, used before connecting */

static int check_options(const struct sink_options *options, char *warning, size_t warning_size,
                         struct error *error)
{
    const char *broken;

    (void)warning;
    (void)warning_size;
    if (options->stream[0] == '\0' || strpbrk(options->stream, " .*>/\\\t\r\n") != NULL)
        return error_set(
            error, ERROR_PERMANENT, ERROR_CONFIG,
            "[sink.%s] stream: a name must not contain spaces, dots, wildcards or slashes",
            options->name);
    if (options->domain != NULL && strpbrk(options->domain, " .*>\t\r\n") != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "[sink.%s] domain: a name must not contain spaces, dots or wildcards",
                         options->name);
    broken = rules_nats_header_value(text_of(options->stream));
    if (broken != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s] stream: %s",
                         options->name, broken);
    broken = options->inbox_prefix != NULL ? rules_nats_inbox_prefix(text_of(options->inbox_prefix))
                                           : NULL;
    if (broken != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s] inbox_prefix: %s",
                         options->name, broken);
    return 0;
}

static struct broker *create(const struct sink_options *options, struct error *error)
{
    struct nats *nats;

    if (nats_check_tls(options, error) < 0)
        return NULL;
    nats = calloc(1, sizeof *nats);
    if (nats == NULL) {
        error_no_memory(error);
        return NULL;
    }
    nats->base = (struct broker){
        .ops = &nats_ops, .options = options, .headers = sink_header_rules(options, true)};
    nats->message_bytes_max = MESSAGE_BYTES_MAX_DEFAULT;
    (void)snprintf(nats->api, sizeof nats->api, "$JS.%s%sAPI.",
                   options->domain != NULL ? options->domain : "",
                   options->domain != NULL ? "." : "");
    nats->headers_in_one_call = nats_one_call_works();
    chunks_init(&nats->chunks, CHUNK_BYTES_MAX, CHUNK_MESSAGES_MAX);
    nats->io = calloc(1, sizeof *nats->io);
    nats->scratch = malloc(NATS_HEADER_BYTES_MAX);
    if (nats->io != NULL && nats->scratch != NULL)
        nats->problems = nats_problems_take(&nats->server);
    if (nats->problems == NULL) {
        free(nats->io);
        free(nats->scratch);
        free(nats);
        error_no_memory(error);
        return NULL;
    }
    nats->io->socket = -1;
    nats->address = options->servers.items[0];
    return (struct broker *)nats;
}

static int ready(struct broker *broker, struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    bool looks_again;

    if (nats_connect(nats, error) < 0)
        return -1;
    if (nats->stream_found && !nats_subjects_need_refresh(nats))
        return 0;
    looks_again = nats->stream_found && !nats->subjects_are_stale;
    if (nats_check_stream(nats, error) < 0 && !(looks_again && error->kind == ERROR_TRANSIENT)) {
        nats_disconnect(nats);
        return -1;
    }
    nats->stream_found = true;
    nats->subjects_read_at_ms = clock_now_ms();
    return 0;
}

static int inspect(struct broker *broker, const char *destination, struct findings *findings,
                   struct error *error)
{
    struct nats *nats = (struct nats *)broker;
    json_t *info;
    int status = nats_inspect(nats, destination, &info, findings, error);

    if (status == 0 && info != NULL)
        nats_report(nats, info, destination, findings);
    if (status == 0 && info != NULL && destination == NULL)
        nats->stream_found = true;
    json_decref(info);
    return status;
}

/* All messages of the sink go to one stream, so a batch may have several subjects. A chunk takes
 * its round trip as a wave does, and the server copies it once more: so there must be fewer than
 * half as many. */
static enum order_kept keeps_order(const struct broker *broker, const struct batch *batch, int sink)
{
    const struct nats *nats = (const struct nats *)broker;
    int64_t bytes = 0;

    if (!nats->takes_batches || nats->chunks.one_per_key)
        return ORDER_NOT_KEPT;
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].sink == sink)
            bytes += (int64_t)batch->messages[i].payload.len;
    return batch->last_wave + 1 > 2 * (1 + bytes / CHUNK_BYTES_MAX) ? ORDER_KEPT_IN_SINK
                                                                    : ORDER_NOT_KEPT;
}

static int64_t payload_max(const struct broker *broker)
{
    return ((const struct nats *)broker)->message_bytes_max - NATS_HEADER_FRAME_BYTES;
}

static void destroy(struct broker *broker)
{
    struct nats *nats = (struct nats *)broker;

    nats_disconnect(nats);
    for (int i = 0; i < SINK_LIST_MAX; i++)
        bounded_call_forget(&nats->hangs[i].call);
    nats_free_discarded(nats);
    nats_forget_subjects(nats);
    nats_problems_return(nats->problems);
    free(nats->received);
    free(nats->pending);
    free(nats->scratch);
    free(nats->io);
    free(nats);
}

/* The number of threads of this process, from /proc; 1 when unknown. */
static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;

    if (tasks == NULL)
        return 1;
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;)
        count += task->d_name[0] != '.';
    (void)closedir(tasks);
    return count;
}

/* The library reports its threads as ended shortly before they are. OpenSSL's clean-up at the end
 * of a thread must not run at the same time as its clean-up at process exit, so this waits for the
 * threads. */
static void end(void)
{
    int64_t deadline_ms = clock_now_ms() + END_TIMEOUT_MS;

    (void)nats_CloseAndWait(END_TIMEOUT_MS);
    while (count_threads() > 1 && clock_left_ms(deadline_ms) > 0)
        (void)poll(NULL, 0, 1);
}

const struct broker_ops nats_ops = {
    .type = "nats",
    .events = &cloudevents_nats,
    .check_options = check_options,
    .create = create,
    .ready = ready,
    .send = nats_send,
    .await = nats_await,
    .explain = nats_explain,
    .keeps_order = keeps_order,
    .payload_max = payload_max,
    .inspect = inspect,
    .make = nats_make,
    .read = nats_read,
    .destroy = destroy,
    .end = end,
};
