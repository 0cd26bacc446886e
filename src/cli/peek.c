/*
 * peek: the last messages that a broker holds. The database is not asked.
 *
 * The messages of a partition are shown in its order, those of several by their time.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "broker/broker.h"
#include "cli/terminal.h"
#include "route/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST_DEFAULT 10
#define TIME_BYTES 40

/* A message, as it will be printed. */
struct shown {
    char *text; /* owned */
    int topic, partition;
    int64_t position;
    int64_t time_ms;
};

struct peeking {
    const struct sink_options *sink;
    struct read_request request;
    bool json;
    bool is_named;          /* the topic is one of the command line */
    struct shown *messages; /* the last ones, at most request.last and one more */
    int count;
    const char *missing; /* the topic that is not there; NULL: none */
};

/* NULL: the message has none. */
static struct text time_text(int64_t time_ms, char *out)
{
    return text_of(time_ms >= 0 ? clock_utc(out, time_ms, true) : NULL);
}

static char *write_json(const struct peeking *peeking, const struct held *held)
{
    bool has_partitions = strcmp(peeking->sink->type, "kafka") == 0;
    char time[TIME_BYTES];
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "sink", peeking->sink->name,
                  "destination", terminal_json(held->destination), "partition",
                  has_partitions ? json_integer(held->partition) : json_null(), "position",
                  (json_int_t)held->position, "time", terminal_json(time_text(held->time_ms, time)),
                  "event_id", terminal_json(held->event_id), "key", terminal_json(held->key),
                  "headers", terminal_json_headers(held->headers, held->header_count), "payload",
                  terminal_json(held->payload));
    char *line = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    return line;
}

static void put_text(FILE *out, const struct peeking *peeking, const struct held *held)
{
    char place[256];
    char buffer[TIME_BYTES];
    const char *time = time_text(held->time_ms, buffer).data;
    char bytes[32];

    if (strcmp(peeking->sink->type, "kafka") == 0)
        (void)snprintf(place, sizeof place, "partition %d, offset %" PRId64, held->partition,
                       held->position);
    else
        (void)snprintf(place, sizeof place, "sequence %" PRId64, held->position);
    (void)fprintf(out, "%s, %s\n", place, time != NULL ? time : "without a time");
    terminal_put(out, strcmp(peeking->sink->type, "nats") == 0 ? "subject" : "topic",
                 held->destination);
    if (held->event_id.data != NULL)
        terminal_put(out, "event id", held->event_id);
    if (held->key.data != NULL)
        terminal_put(out, "key", held->key);
    terminal_put_headers(out, held->headers, held->header_count);
    (void)snprintf(bytes, sizeof bytes, "%zu byte%s", held->payload.len, PLURAL(held->payload.len));
    terminal_put(out, "payload", held->payload.data != NULL ? text_of(bytes) : held->payload);
    if (held->payload.len > 0)
        terminal_put(out, "", held->payload);
}

static char *write_text(const struct peeking *peeking, const struct held *held)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    put_text(out, peeking, held);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Whether it stands before the other: in its own place by its position, else by its time. */
static bool is_before(const struct shown *message, const struct shown *other)
{
    if (message->partition == other->partition && message->topic == other->topic)
        return message->position < other->position;
    return message->time_ms < other->time_ms;
}

static int take_message(void *closure, const struct held *held, struct error *error)
{
    struct peeking *peeking = closure;
    struct shown message = {.topic = held->topic,
                            .partition = held->partition,
                            .position = held->position,
                            .time_ms = held->time_ms};
    int at = peeking->count;

    message.text = peeking->json ? write_json(peeking, held) : write_text(peeking, held);
    if (message.text == NULL)
        return error_no_memory(error);
    while (at > 0 && is_before(&message, &peeking->messages[at - 1]))
        at--;
    memmove(&peeking->messages[at + 1], &peeking->messages[at],
            (size_t)(peeking->count - at) * sizeof message);
    peeking->messages[at] = message;
    if (++peeking->count <= peeking->request.last)
        return 0;
    free(peeking->messages[0].text);
    memmove(&peeking->messages[0], &peeking->messages[1],
            (size_t)--peeking->count * sizeof message);
    return 0;
}

/* A topic of `allow` may be made by its first message. */
static void take_place(void *closure, const struct held_place *place)
{
    struct peeking *peeking = closure;
    const char *topic = place->partition == -1 ? peeking->request.topics[place->topic] : NULL;

    if (topic != NULL && peeking->is_named)
        peeking->missing = topic;
    else if (topic != NULL)
        cli_say("sink %s: there is no topic \"%s\" yet", peeking->sink->name, topic);
}

static void take_total(void *closure, int64_t messages)
{
    (void)closure;
    (void)messages;
}

static int read_messages(struct peeking *peeking, struct error *error)
{
    struct broker *broker = broker_open(peeking->sink, NULL, error);
    int status = broker != NULL ? broker_read(broker, &peeking->request, error) : -1;

    broker_close(broker);
    broker_end();
    if (status < 0 || peeking->missing == NULL)
        return status;
    return error_set(error, ERROR_PERMANENT, ERROR_BROKER, "[sink.%s]: there is no topic \"%s\"",
                     peeking->sink->name, peeking->missing);
}

static void print(const struct peeking *peeking)
{
    for (int i = 0; i < peeking->count; i++) {
        if (peeking->json)
            terminal_print_json(text_of(peeking->messages[i].text));
        else
            (void)printf("%s%s", i > 0 ? "\n" : "", peeking->messages[i].text);
    }
    if (peeking->count == 0 && isatty(STDOUT_FILENO) == 1)
        (void)fprintf(stderr, "no message\n");
}

/* ---- what is asked for ---- */

static int find_sink(struct peeking *peeking, const struct relay_options *relay, const char *name,
                     struct error *error)
{
    char why[1024] = "no sink of this name is configured; the configured ones are:";

    for (int i = 0; i < relay->sink_count; i++) {
        size_t len = strlen(why);

        if (strcmp(relay->sinks[i].name, name) == 0) {
            peeking->sink = &relay->sinks[i];
            return 0;
        }
        (void)snprintf(why + len, sizeof why - len, " %s", relay->sinks[i].name);
    }
    return cli_refuse("peek", why, error);
}

static bool is_known(const char *const *topics, int count, const char *topic)
{
    for (int i = 0; i < count; i++)
        if (strcmp(topics[i], topic) == 0)
            return true;
    return false;
}

/* The topics of `allow` without those that are patterns: what was asked for by no name. */
static int take_allowed(struct peeking *peeking, const char **topics, struct error *error)
{
    const struct text_list *allow = &peeking->sink->allow;
    int count = 0;

    for (int i = 0; i < allow->count; i++)
        if (!sink_pattern(allow->items[i]) && !is_known(topics, count, allow->items[i]))
            topics[count++] = allow->items[i];
    peeking->request.topic_count = count;
    return count > 0 ? 0
                     : cli_refuse("peek", "this sink's allow list names no topic: give one", error);
}

static int take_subject(struct peeking *peeking, const char *subject, struct error *error)
{
    struct match match;
    char why[128];
    bool is_regex;

    peeking->request.subject = subject;
    if (subject == NULL)
        return 0;
    if (match_parse(&match, subject, why, sizeof why) < 0)
        return cli_refuse("peek", why, error);
    is_regex = match.is_regex;
    match_free(&match);
    return is_regex ? cli_refuse("peek", "JetStream knows * and >, and no re:", error) : 0;
}

static int take_request(struct peeking *peeking, const struct arguments *arguments,
                        const char **topics, struct error *error)
{
    const char *topic = arguments->operand_count > 1 ? arguments->operands[1] : NULL;

    if (!cli_is_utf8(arguments))
        return cli_refuse("peek", "an argument is not UTF-8", error);
    if (strcmp(peeking->sink->type, "stdout") == 0)
        return cli_refuse("peek", "what a sink of type stdout printed cannot be read back", error);
    peeking->request.last = arguments->last > 0 ? arguments->last : LAST_DEFAULT;
    peeking->request.on_message = take_message;
    peeking->request.on_place = take_place;
    peeking->request.on_total = take_total;
    peeking->request.closure = peeking;
    peeking->request.topics = topics;
    if (strcmp(peeking->sink->type, "nats") == 0)
        return take_subject(peeking, topic, error);
    peeking->is_named = topic != NULL;
    if (topic == NULL)
        return take_allowed(peeking, topics, error);
    topics[0] = topic;
    peeking->request.topic_count = 1;
    return 0;
}

enum exit_status cli_peek(const struct arguments *arguments, struct config *config)
{
    struct peeking peeking = {.json = arguments->json};
    const char **topics = NULL;
    struct error error;
    int status = -1;

    if (find_sink(&peeking, &config->relay, arguments->operands[0], &error) < 0)
        return cli_fail(&error);
    topics = calloc((size_t)peeking.sink->allow.count + 1, sizeof *topics);
    if (topics == NULL)
        (void)error_no_memory(&error);
    else if (take_request(&peeking, arguments, topics, &error) == 0)
        status = 0;
    if (status == 0) {
        peeking.messages = calloc((size_t)peeking.request.last + 1, sizeof *peeking.messages);
        status =
            peeking.messages != NULL ? read_messages(&peeking, &error) : error_no_memory(&error);
    }
    if (status == 0)
        print(&peeking);
    for (int i = 0; i < peeking.count; i++)
        free(peeking.messages[i].text);
    free(peeking.messages);
    free((void *)topics);
    return status == 0 ? EXIT_DONE : cli_fail(&error);
}
