/*
 * check: the configuration has been loaded when this runs; then the database, then each broker with
 * every destination that can be told beforehand: constant route topics and the topics of waiting
 * rows.
 */
#include "cli/cli.h"

#include "broker/broker.h"
#include "cli/terminal.h"
#include "relay/fingerprint.h"
#include "source/status.h"
#include "trace/trace.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_LINES_MAX 20 /* of a finding on a terminal */

#define FIRST_COLUMNS 160 /* of the first error in the last line */

#define TOPICS_MAX 64
#define ANSWERS_MS 1000 /* within which a relay answers */

/* Waiting rows are routed as `run` would; those that it could not route are told here. */
static void route_waiting(const struct config *config, struct batch *waiting,
                          struct findings *findings)
{
    char topic[256];

    route_batch(&config->relay.routes, waiting);
    for (int i = 0; i < waiting->count; i++) {
        const struct message *message = &waiting->messages[i];

        if (message->verdict == VERDICT_REJECTED || message->verdict == VERDICT_DECLINED)
            (void)findings_add(
                findings, FINDING_ERROR, "a row waits with topic \"%s\": %s",
                text_escape(topic, sizeof topic, message->topic.data, message->topic.len),
                message->reason);
    }
}

/* What relays that run would do with a row, beside what this configuration would. */
static void compare_relays(const struct config *config, struct admin *admin,
                           struct findings *findings)
{
    struct fingerprint own;
    struct error error;

    if (findings_have_error(findings))
        return;
    fingerprint_make(&own, &config->relay);
    if (admin_compare_relays(admin, &own, config->path != NULL ? config->path : "the configuration",
                             ANSWERS_MS, findings, &error) < 0)
        findings_add_error(findings, &error);
}

static enum exit_status check_database(const struct config *config, struct findings *findings,
                                       struct batch *waiting)
{
    struct error error;
    struct admin *admin = admin_open(&config->relay.outbox, &error);
    int refused;

    if (admin == NULL) {
        findings_add_error(findings, &error);
        return cli_status_of(&error);
    }
    refused = admin_inspect(admin, findings, &error);
    if (refused < 0)
        findings_add_error(findings, &error);
    if (!findings_have_error(findings) && admin_sample(admin, waiting, &error) < 0) {
        if (error.cause == ERROR_OF_ROW)
            (void)findings_add(findings, FINDING_WARNING,
                               "a waiting row cannot be read and will be dead, and the topics of"
                               " waiting rows were not looked at: %s",
                               error.text);
        else
            findings_add_error(findings, &error);
    }
    compare_relays(config, admin, findings);
    admin_close(admin);
    if (refused > 0)
        return EXIT_RUNTIME;
    return findings_have_error(findings) ? EXIT_DATABASE : EXIT_DONE;
}

static void check_destination(struct broker *broker, const char *sink, const char *destination,
                              struct findings *findings)
{
    int before = findings->count;
    struct error error;

    if (broker_inspect(broker, destination, findings, &error) < 0)
        findings_add_error(findings, &error);
    else if (findings->count == before)
        (void)findings_add(findings, FINDING_OK, "sink %s, \"%s\"", sink, destination);
}

static void check_routes(const struct config *config, int sink, struct broker *broker,
                         struct findings *findings)
{
    const struct routes *routes = &config->relay.routes;

    for (int i = 0; i < routes->count; i++) {
        const struct template *topic = &routes->entries[i].topic;

        if (routes->entries[i].sink == sink && template_is_constant(topic))
            check_destination(broker, config->relay.sinks[sink].name, topic->source, findings);
    }
}

static void check_waiting(const struct config *config, int sink, struct broker *broker,
                          struct batch *waiting, struct findings *findings)
{
    for (int i = 0; i < waiting->count; i++) {
        const struct message *message = &waiting->messages[i];
        struct text copy;

        if (message->verdict != VERDICT_PENDING || message->sink != sink)
            continue;
        copy = batch_copy(waiting, message->destination.data, message->destination.len);
        if (copy.data != NULL)
            check_destination(broker, config->relay.sinks[sink].name, copy.data, findings);
    }
}

static enum exit_status check_broker(const struct config *config, int sink, struct batch *waiting,
                                     struct findings *findings)
{
    enum exit_status status = EXIT_DONE;
    const struct sink_options *options = &config->relay.sinks[sink];
    struct error error;
    struct broker *broker = broker_open(options, NULL, &error);

    if (broker == NULL || broker_inspect(broker, NULL, findings, &error) < 0) {
        findings_add_error(findings, &error);
        status = cli_status_of(&error);
    } else {
        (void)findings_add(findings, FINDING_OK, "sink %s (%s): reachable", options->name,
                           options->type);
        check_routes(config, sink, broker, findings);
        check_waiting(config, sink, broker, waiting, findings);
    }
    broker_close(broker);
    return status;
}

static void print_json(const char *level, const char *text, const char *fix)
{
    json_t *object = json_pack("{s:s, s:s, s:s}", "level", level, "text", text, "fix", fix);

    if (object != NULL)
        (void)json_dumpf(object, stdout, JSON_COMPACT);
    (void)putchar('\n');
    json_decref(object);
}

/* Findings quote topics, names and server messages: what reaches the terminal is escaped. A fix is
 * kept as it is when it can be, so that it can be pasted. */
static void print_findings(const struct findings *findings, bool json)
{
    static const enum terminal_colour colours[FINDING_LEVELS] = {COLOUR_GOOD, COLOUR_NONE,
                                                                 COLOUR_DOUBTFUL, COLOUR_BAD};
    char text[2048];
    char line[sizeof text + 64];
    char fix[4 * sizeof findings->items->fix]; /* each byte may take four when it is escaped */

    for (int i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        const char *level = finding_level_names[finding->level];

        text_escape(text, sizeof text, finding->text, strlen(finding->text));
        text_show(fix, sizeof fix, text_of(finding->fix), true);
        if (json) {
            print_json(level, text, fix);
            continue;
        }
        (void)snprintf(line, sizeof line, "%s%s%s: %s",
                       terminal_colour(STDOUT_FILENO, colours[finding->level]), level,
                       terminal_colour(STDOUT_FILENO, COLOUR_NONE), text);
        terminal_put_wrapped(stdout, terminal_columns(), "  ", TEXT_LINES_MAX, line);
        if (fix[0] != '\0')
            (void)printf("  %s: %s\n", finding->level < FINDING_WARNING ? "hint" : "fix", fix);
        if (finding->level != FINDING_OK)
            cli_print_page("  ", text);
    }
}

/* Whether a relay would run and, if not, what comes first. */
static void print_verdict(const struct findings *findings)
{
    const struct finding *first = findings_first_error(findings);
    int counts[FINDING_LEVELS] = {0};
    char text[sizeof first->text];
    char line[sizeof text + 128];

    for (int i = 0; i < findings->count; i++)
        counts[findings->items[i].level]++;
    if (first == NULL)
        (void)snprintf(line, sizeof line, "ready: no error, %d warning%s, %d note%s",
                       counts[FINDING_WARNING], PLURAL(counts[FINDING_WARNING]),
                       counts[FINDING_NOTE], PLURAL(counts[FINDING_NOTE]));
    else
        (void)snprintf(
            line, sizeof line, "not ready: %d error%s, the first: %s", counts[FINDING_ERROR],
            PLURAL(counts[FINDING_ERROR]),
            terminal_fit(text, sizeof text,
                         text_escape(text, sizeof text, first->text, strlen(first->text)),
                         FIRST_COLUMNS));
    terminal_put_wrapped(stdout, terminal_columns(), "  ", TEXT_LINES_MAX, line);
}

enum exit_status cli_check(const struct arguments *arguments, struct config *config)
{
    struct findings findings;
    struct batch waiting;
    enum exit_status status;

    trace_init();
    if (findings_init(&findings) < 0 || batch_init(&waiting, TOPICS_MAX) < 0)
        return EXIT_RUNTIME;
    (void)findings_add(&findings, FINDING_OK, "configuration %s",
                       config->path != NULL ? config->path : "");
    status = check_database(config, &findings, &waiting);
    route_waiting(config, &waiting, &findings);
    /* As the others end when it is the only problem; of several, configuration, database, broker.
     */
    for (int i = 0; i < config->relay.sink_count; i++) {
        enum exit_status other = check_broker(config, i, &waiting, &findings);

        if (status == EXIT_DONE || (other != EXIT_DONE && other < status))
            status = other;
    }
    if (status == EXIT_DONE && findings_have_error(&findings))
        status = EXIT_BROKER;
    trace_inspect(&config->trace, &findings);
    print_findings(&findings, arguments->json);
    if (!arguments->json)
        print_verdict(&findings);
    batch_free(&waiting);
    findings_free(&findings);
    broker_end();
    return status;
}
