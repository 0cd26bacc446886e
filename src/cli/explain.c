/*
 * explain: rows as a lane would route, wrap and judge them, without handing them to a client
 * library.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "broker/broker.h"
#include "cli/terminal.h"
#include "source/admin.h"
#include "source/source.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LAST_DEFAULT 5
#define ASK_MS 4000 /* for what a broker says of a row's destination */
#define TEXT_BYTES 4096

struct explaining {
    const struct config *config;
    struct broker *brokers[SINKS_MAX];
    bool reachable[SINKS_MAX];
    bool json;
    int printed;
};

/* What the relay does with a row, as --json and people are told. */
static const struct {
    const char *name;
    const char *text;
} outcomes[] = {{"send", "would be sent"},
                {"dead", "would be dead"},
                {"wait", "would wait"},
                {"behind", "would wait behind a parked row of its key"},
                {"scheduled", "would wait for its time"},
                {"none", NULL}};
enum { SEND, DEAD, WAIT, BEHIND, SCHEDULED, NONE };

static int outcome_of(const struct explained *row, const struct message *message)
{
    /* A row that PostgreSQL refused is in the outbox, but has a state of the parked table. */
    if (!row->is_parked && row->error == NULL && strcmp(row->state, "unsent") != 0)
        return NONE;
    if (message->verdict == VERDICT_REJECTED)
        return DEAD;
    if (message->blocked)
        return BEHIND;
    if (message->due_ms > 0)
        return SCHEDULED;
    return message->verdict == VERDICT_PENDING ? SEND : WAIT;
}

/* ---- for programs ---- */

static json_t *number_or_null(bool is_known, int64_t number)
{
    return is_known ? json_integer(number) : json_null();
}

static void set_sink(json_t *object, const struct explaining *explaining,
                     const struct message *message)
{
    json_t *members = json_pack("{s:s, s:b, s:o, s:o, s:o, s:o}", "sink",
                                explaining->config->relay.sinks[message->sink].name, "reachable",
                                explaining->reachable[message->sink], "destination",
                                terminal_json(message->destination), "partition",
                                number_or_null(message->partition >= 0, message->partition), "key",
                                terminal_json(message->route_key), "headers",
                                terminal_json_headers(message->headers, message->header_count));

    (void)json_object_update(object, members);
    json_decref(members);
}

/* Who may ask may read the row. */
static const char *reason_of(const struct message *message)
{
    return message->parked_reason != NULL ? message->parked_reason : message->reason;
}

static void print_json(const struct explaining *explaining, const struct explained *row,
                       const struct message *message, int route)
{
    const char *reason = message->reason != NULL ? reason_of(message) : NULL;
    json_t *object = json_pack(
        "{s:o, s:o, s:b, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "id",
        terminal_json(message_row_id(message)), "event_id", terminal_json(message->event_id),
        "parked", row->is_parked, "state", terminal_json(text_of(row->state)), "error",
        terminal_json(text_of(row->error)), "outcome", outcomes[outcome_of(row, message)].name,
        "reason", terminal_json(text_of(reason)), "due_in_ms",
        number_or_null(message->due_ms > 0, message->due_ms), "topic",
        terminal_json(message->topic), "route", number_or_null(route >= 0, route + 1));
    char *line;

    if (message->sink >= 0)
        set_sink(object, explaining, message);
    (void)json_object_set_new(object, "payload_bytes",
                              number_or_null(message->payload_len >= 0, message->payload_len));
    line = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (line != NULL)
        terminal_print_json(text_of(line));
    free(line);
}

/* ---- for people ---- */

static void put_heading(const struct explained *row, const struct message *message)
{
    int outcome = outcome_of(row, message);
    char safe[TEXT_BYTES];

    (void)printf("%s, ", text_show(safe, sizeof safe, message_row_id(message), false));
    (void)printf("%s%s", row->is_parked ? "parked, " : "", row->state);
    if (row->error != NULL)
        (void)printf(" (%s)", text_show(safe, sizeof safe, text_of(row->error), false));
    if (outcomes[outcome].text != NULL)
        (void)printf("%s %s", row->is_parked ? "; at the next try it" : ":",
                     outcomes[outcome].text);
    if (outcome == SCHEDULED)
        (void)printf(", which comes in %" PRId64 " s", (message->due_ms + 999) / 1000);
    if (message->reason != NULL)
        (void)printf(": %s", text_show(safe, sizeof safe, text_of(reason_of(message)), false));
    (void)putchar('\n');
}

static void put_place(const struct explaining *explaining, const struct message *message, int route)
{
    const struct relay_options *options = &explaining->config->relay;
    const struct sink_options *sink = &options->sinks[message->sink];
    bool is_kafka = strcmp(sink->type, "kafka") == 0;
    char text[TEXT_BYTES];

    if (route >= 0) {
        (void)snprintf(text, sizeof text, "%d, for \"%s\"", route + 1,
                       options->routes.entries[route].match.source);
        terminal_put(stdout, "route", text_of(text));
    }
    (void)snprintf(text, sizeof text, "%s (%s)", sink->name, sink->type);
    terminal_put(stdout, "sink", text_of(text));
    terminal_put(stdout, strcmp(sink->type, "nats") == 0 ? "subject" : "topic",
                 message->destination);
    (void)snprintf(text, sizeof text, "%d", message->partition);
    if (is_kafka)
        terminal_put(stdout, "partition", text_of(message->partition >= 0 ? text : "unknown"));
    terminal_put(stdout, "key", message->route_key);
}

static void print_text(const struct explaining *explaining, const struct explained *row,
                       const struct message *message, int route)
{
    char text[TEXT_BYTES];

    if (explaining->printed > 0)
        (void)putchar('\n');
    put_heading(row, message);
    if (message->event_id.len > 0)
        terminal_put(stdout, "event id", message->event_id);
    if (message->sink >= 0)
        put_place(explaining, message, route);
    else if (message->topic.data != NULL)
        terminal_put(stdout, "topic", message->topic);
    terminal_put_headers(stdout, message->headers, message->header_count);
    (void)snprintf(text, sizeof text, "%" PRId64 " byte%s", message->payload_len,
                   PLURAL(message->payload_len));
    if (message->topic.data != NULL) /* else nothing of the row could be read */
        terminal_put(stdout, "payload",
                     message->payload_len >= 0 ? text_of(text) : (struct text){NULL, 0});
}

/* ---- the rows ---- */

/* What a lane does with a claimed row, up to where it would send. */
static void judge(const struct explaining *explaining, struct batch *batch)
{
    route_batch(&explaining->config->relay.routes, batch);
    for (int i = 0; i < explaining->config->relay.sink_count; i++) {
        broker_wrap(explaining->brokers[i], batch, i);
        broker_explain(explaining->brokers[i], batch, i, clock_now_ms() + ASK_MS);
    }
}

static void take_row(void *closure, const struct explained *row, struct batch *batch)
{
    struct explaining *explaining = closure;
    const struct message *message = &batch->messages[0];
    int route = message->topic.data != NULL
                    ? route_find(&explaining->config->relay.routes, message->topic)
                    : -1;

    judge(explaining, batch);
    if (explaining->json)
        print_json(explaining, row, message, route);
    else
        print_text(explaining, row, message, route);
    explaining->printed++;
}

/* A broker that cannot be reached leaves unknown what only it can say. */
static int open_brokers(struct explaining *explaining, struct error *error)
{
    const struct relay_options *options = &explaining->config->relay;
    struct findings findings;
    struct error away;

    if (findings_init(&findings) < 0)
        return error_no_memory(error);
    for (int i = 0; i < options->sink_count; i++) {
        explaining->brokers[i] = broker_open(&options->sinks[i], NULL, error);
        if (explaining->brokers[i] == NULL) {
            findings_free(&findings);
            return -1;
        }
        explaining->reachable[i] =
            broker_inspect(explaining->brokers[i], NULL, &findings, &away) == 0;
        if (!explaining->reachable[i])
            cli_say("sink %s: its limits, and whether a topic or subject is"
                    " there, are unknown: %s",
                    options->sinks[i].name, away.text);
    }
    findings_free(&findings);
    return 0;
}

static int explain(struct explaining *explaining, const struct explain_request *request,
                   struct error *error)
{
    const struct relay_options *options = &explaining->config->relay;
    struct explain_reader reader = {.on_row = take_row, .closure = explaining};
    struct admin *admin = NULL;
    int status = -1;

    if (open_brokers(explaining, error) == 0)
        admin = admin_open(&options->outbox, error);
    for (int i = 0; i < options->sink_count && explaining->brokers[i] != NULL; i++) {
        int64_t bytes = broker_payload_max(explaining->brokers[i]);

        reader.payload_max = bytes > reader.payload_max ? bytes : reader.payload_max;
    }
    if (admin != NULL)
        status = admin_explain(admin, &options->routes, request, &reader, error);
    admin_close(admin);
    for (int i = 0; i < options->sink_count; i++)
        broker_close(explaining->brokers[i]);
    broker_end();
    return status;
}

enum exit_status cli_explain(const struct arguments *arguments, struct config *config)
{
    struct explaining explaining = {.config = config, .json = arguments->json};
    const struct explain_request request = {.ids = arguments->operands,
                                            .id_count = arguments->operand_count,
                                            .last = arguments->last > 0 ? arguments->last
                                                                        : LAST_DEFAULT,
                                            .where = arguments->where};
    struct error error;

    if ((arguments->operand_count > 0 && (arguments->last > 0 || arguments->where != NULL) &&
         cli_refuse("explain", "give ids, or --last and --where, not both", &error) < 0) ||
        (!cli_is_utf8(arguments) &&
         cli_refuse("explain", "an argument is not UTF-8", &error) < 0) ||
        explain(&explaining, &request, &error) < 0)
        return cli_fail(&error);
    if (explaining.printed == 0 && isatty(STDOUT_FILENO) == 1)
        (void)fprintf(stderr, "no such row\n");
    return EXIT_DONE;
}
