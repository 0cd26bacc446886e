#include "config/check/check.h"

#include "base/host.h"
#include "base/text.h"
#include "broker/broker.h"
#include "source/conninfo.h"
#include "source/source.h"
#include "trace/headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NAME_SHOWN_BYTES 96

/* The node of a key, else of its section, else of the whole file. */
static struct toml_node *locate(const struct loader *loader, const char *section, const char *key)
{
    struct toml_node *table = toml_find(loader->root, section);
    struct toml_node *node = toml_find(table, key);

    if (node != NULL)
        return node;
    return table != NULL ? table : loader->root;
}

/* The url itself never appears in a message. */
static void check_url(const struct loader *loader)
{
    const struct outbox_options *outbox = &loader->config->relay.outbox;
    struct toml_node *node = locate(loader, "database", "url");
    char problem[CONNINFO_PROBLEM_BYTES];
    int risk;

    if (toml_is_refused(toml_find(loader->root, "database"), "url"))
        return;
    if (conninfo_check(outbox->url, problem) < 0)
        report_problem(loader->report, node, "url: %s", problem);
    else if (conninfo_has_secret(outbox->url) && outbox->password_file != NULL)
        report_problem(loader->report, locate(loader, "database", "password_file"),
                       "password_file: the url contains a password too; keep only one of them");
    else if ((risk = conninfo_check_transport(outbox->url, outbox->password_file != NULL,
                                              outbox->allow_plaintext, problem)) < 0)
        report_problem(loader->report, node, "url: %s", problem);
    else if (risk > 0)
        report_warning(loader->report, node, "url: %s", problem);
}

static void check_value(const struct loader *loader, const struct toml_node *section,
                        const char *name, const char *value)
{
    const char *problem = value != NULL ? outbox_value_problem(value) : NULL;
    char shown_name[NAME_SHOWN_BYTES];
    char shown[NAME_SHOWN_BYTES];

    if (problem != NULL)
        report_problem(loader->report, toml_find(section, name), "%s: \"%s\" %s",
                       text_escape(shown_name, sizeof shown_name, name, strlen(name)),
                       text_escape(shown, sizeof shown, value, strlen(value)), problem);
}

static void check_header(const struct loader *loader, const struct outbox_header *header)
{
    const struct toml_node *section =
        header->is_attribute ? toml_find(toml_find(loader->root, "cloudevents"), "attributes")
                             : toml_find(toml_find(loader->root, "outbox"), "headers");
    const char *name = outbox_header_name(header);
    const char *problem = header->is_attribute ? cloudevents_name_problem(text_of(name)) : NULL;
    char shown[NAME_SHOWN_BYTES];

    check_value(loader, section, name, header->value);
    if (header->name[0] == '\0')
        problem = "a header needs a name";
    for (const struct outbox_header *other = loader->config->relay.outbox.headers; other < header;
         other++)
        if (strcmp(other->name, header->name) == 0)
            problem = "a header of [outbox.headers] and an attribute of [cloudevents.attributes] "
                      "are the same";
    if (problem != NULL)
        report_problem(loader->report, toml_find(section, name), "\"%s\": %s",
                       text_escape(shown, sizeof shown, name, strlen(name)), problem);
}

static void check_names(const struct loader *loader)
{
    const struct outbox_options *outbox = &loader->config->relay.outbox;
    struct toml_node *columns = toml_find(toml_find(loader->root, "outbox"), "columns");
    char schema[OUTBOX_NAME_BYTES];
    char name[OUTBOX_NAME_BYTES];
    const char *problem = outbox_read_table(outbox->table, schema, name);
    char shown[NAME_SHOWN_BYTES];

    if (problem != NULL)
        report_problem(loader->report, locate(loader, "outbox", "table"), "table: \"%s\" %s",
                       text_escape(shown, sizeof shown, outbox->table, strlen(outbox->table)),
                       problem);
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (i != COLUMN_XID)
            check_value(loader, i == COLUMN_DUE ? toml_find(loader->root, "outbox") : columns,
                        column_name((enum column)i), outbox->columns[i]);
    for (int i = 0; i < outbox->header_count; i++)
        check_header(loader, &outbox->headers[i]);
}

/* A preset whose ids do not grow says order = "none"; with numbers the default holds. */
static void settle_order(const struct loader *loader)
{
    struct outbox_options *outbox = &loader->config->relay.outbox;
    const struct toml_node *order = locate(loader, "outbox", "order");

    if (outbox_is_numbered(outbox) && order != NULL && order->by_preset)
        outbox->order = ORDER_KEY;
}

static bool must_have(const struct outbox_options *outbox, enum column column)
{
    if (column == COLUMN_SENT_AT)
        return outbox_keeps_sent(outbox) && outbox->mark == NULL;
    return column != COLUMN_KEY && column <= COLUMN_PAYLOAD && column != COLUMN_TYPE;
}

/* Rows are found by these again. With positions a trigger watches the key. */
static void check_own_columns(const struct loader *loader)
{
    static const enum column own[] = {COLUMN_ID, COLUMN_SENT_AT, COLUMN_ORDER, COLUMN_KEY};
    const struct outbox_options *outbox = &loader->config->relay.outbox;
    struct toml_node *columns = toml_find(toml_find(loader->root, "outbox"), "columns");
    size_t count = outbox->on_sent == ON_SENT_POSITION ? 4 : 3;

    if (outbox_is_numbered(outbox) &&
        (outbox->columns[COLUMN_ORDER][0] == '\0' || outbox->order != ORDER_KEY ||
         outbox->on_sent == ON_SENT_POSITION))
        report_problem(loader->report, toml_find(columns, "order"), "order: %s",
                       outbox->columns[COLUMN_ORDER][0] == '\0' ? "must not be empty"
                       : outbox->order != ORDER_KEY
                           ? "needs order = \"key\" in [outbox]"
                           : "must not be set with on_sent = \"position\", which goes by ids");
    for (size_t i = 0; i < count; i++)
        if (outbox_is_expression(outbox->columns[own[i]]))
            report_problem(loader->report, toml_find(columns, column_name(own[i])),
                           "%s: must be a column, not an expression", column_name(own[i]));
    for (int i = COLUMN_ID; i <= COLUMN_SENT_AT; i++)
        if (outbox->columns[i] != NULL && outbox->columns[i][0] == '\0' &&
            must_have(outbox, (enum column)i))
            report_problem(loader->report, toml_find(columns, column_name((enum column)i)),
                           "%s: must not be empty", column_name((enum column)i));
}

/* With a mark, `where` alone says what is unsent. That of a preset is dropped by on_sent =
 * "delete" in the file. */
static void check_lists(const struct loader *loader)
{
    struct outbox_options *outbox = &loader->config->relay.outbox;
    const struct toml_node *node = locate(loader, "outbox", "mark");

    if (outbox->park != NULL && outbox->where == NULL)
        report_problem(loader->report, locate(loader, "outbox", "park"),
                       "park: needs a `where` that is true for unsent rows, and no longer once a "
                       "row is parked");
    if (outbox->park != NULL && outbox->on_sent == ON_SENT_MARK && outbox->mark == NULL)
        report_problem(loader->report, locate(loader, "outbox", "park"),
                       "park: needs a `mark` too, which says of the row that it has been sent");
    if (outbox->mark == NULL)
        return;
    if (outbox->on_sent != ON_SENT_MARK && node->by_preset) {
        free(outbox->mark);
        outbox->mark = NULL;
        return;
    }
    if (outbox->on_sent != ON_SENT_MARK)
        report_problem(loader->report, node, "mark: has no use with on_sent = \"%s\"",
                       outbox_on_sent(outbox));
    if (outbox->where == NULL)
        report_problem(loader->report, node,
                       "mark: needs a `where` that is true for unsent rows, and no longer once a "
                       "row is marked");
}

/* A position says of all earlier rows of a slice that they are sent. */
static void check_position(const struct loader *loader)
{
    const struct outbox_options *outbox = &loader->config->relay.outbox;
    const struct {
        const char *key;
        const char *section;
        bool is_wrong;
        const char *why;
    } rules[] = {
        {"order", "outbox", outbox->order != ORDER_KEY, "must be \"key\""},
        {"where", "outbox", outbox->where != NULL, "must not be set"},
        {"due", "outbox", outbox->columns[COLUMN_DUE] != NULL, "must not be set"},
        {"park", "outbox", outbox->park != NULL, "must not be set"},
        {"preset", "outbox", outbox->preset_columns != NULL, "must be \"default\""},
    };

    for (size_t i = 0; outbox->on_sent == ON_SENT_POSITION && i < sizeof rules / sizeof *rules; i++)
        if (rules[i].is_wrong)
            report_problem(loader->report, locate(loader, rules[i].section, rules[i].key),
                           "%s: %s with on_sent = \"position\"", rules[i].key, rules[i].why);
}

/* It becomes part of SQL that is shown on one line. PostgreSQL checks its content. */
static void check_line(const struct loader *loader, const char *key, const char *sql)
{
    for (const char *at = sql; at != NULL && *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            report_problem(loader->report, locate(loader, "outbox", key),
                           "%s: must be one line without tabs", key);
            return;
        }
}

static void check_attribute(const struct loader *loader, const char *key, const char *value,
                            const char *banned)
{
    for (const char *at = value; at != NULL && *at != '\0'; at++)
        if (*at < ' ' || *at >= 0x7F || strchr(banned, *at) != NULL) {
            report_problem(loader->report, locate(loader, "cloudevents", key),
                           "%s: only printable ASCII%s%s is allowed", key,
                           banned[0] != '\0' ? " but blanks and " : "",
                           banned[0] != '\0' ? banned + 1 : "");
            return;
        }
}

/* What all events have in common must not make all of them invalid. */
static void check_cloudevents(const struct loader *loader)
{
    const struct relay_options *relay = &loader->config->relay;
    const char *content_type = relay->cloudevents.content_type;

    check_attribute(loader, "source", relay->cloudevents.source, " \"<>\\^`{|}");
    check_attribute(loader, "type", relay->cloudevents.type, "");
    check_attribute(loader, "content_type", content_type, "");
    if (content_type != NULL && strncasecmp(content_type, "application/cloudevents", 23) == 0)
        report_problem(loader->report, locate(loader, "cloudevents", "content_type"),
                       "content_type: it is that of the payload, not of the event");
}

/* Checks that the first of two durations of a section is not longer than the second. */
static void check_pair(const struct loader *loader, const char *section, const char *shorter,
                       int64_t shorter_ms, const char *longer, int64_t longer_ms)
{
    struct toml_node *node = toml_find(toml_find(loader->root, section), shorter);
    char first[32];
    char second[32];

    if (shorter_ms <= longer_ms || toml_is_refused(toml_find(loader->root, section), shorter) ||
        toml_is_refused(toml_find(loader->root, section), longer))
        return;
    report_problem(loader->report, node != NULL ? node : locate(loader, section, longer),
                   "%s (%s) must not be longer than %s (%s)", shorter,
                   text_format_duration(first, sizeof first, shorter_ms), longer,
                   text_format_duration(second, sizeof second, longer_ms));
}

static void check_durations(const struct loader *loader)
{
    const struct relay_options *relay = &loader->config->relay;

    check_pair(loader, "retry", "backoff", relay->retry.backoff_ms, "backoff_max",
               relay->retry.backoff_max_ms);
    if (relay->shutdown_timeout_ms != 0)
        check_pair(loader, "relay", "publish_timeout", relay->publish_timeout_ms,
                   "shutdown_timeout", relay->shutdown_timeout_ms);
}

static void check_listen(const struct loader *loader)
{
    struct toml_node *node = locate(loader, "http", "listen");
    const char *address = loader->config->http_listen;
    const char *problem = listen_address_problem(address);
    char shown[NAME_SHOWN_BYTES];

    if (problem != NULL)
        report_problem(loader->report, node, "listen = \"%s\": %s",
                       text_escape(shown, sizeof shown, address, strlen(address)), problem);
    else if (listen_is_everywhere(address))
        report_warning(loader->report, node,
                       "listen: every machine that can reach this one can read the metrics; with "
                       "127.0.0.1 only this machine can");
}

/* Without a value, as an environment may leave it, no spans are made. */
static void check_trace(const struct loader *loader)
{
    struct trace_options *trace = &loader->config->trace;
    const char *headers = trace->headers != NULL ? trace->headers : "";
    bool is_masked = strcmp(headers, "***") == 0; /* as config_print() writes them */
    const char *problem = is_masked ? NULL : trace_headers_read(headers, NULL, NULL);

    if (problem != NULL)
        report_problem(loader->report, locate(loader, "trace", "headers"), "headers: %s", problem);
    if (trace->endpoint != NULL && trace->endpoint[0] == '\0') {
        free(trace->endpoint);
        trace->endpoint = NULL;
    }
    if (trace->endpoint == NULL)
        return;
    problem = collector_url_problem(trace->endpoint);
    if (problem != NULL)
        report_problem(loader->report, locate(loader, "trace", "endpoint"), "endpoint: %s",
                       problem);
    else if (headers[0] != '\0' && strncmp(trace->endpoint, "http://", 7) == 0 &&
             !host_of_address_is_loopback(trace->endpoint + 7))
        report_warning(loader->report, locate(loader, "trace", "headers"),
                       "headers: others on the network can read them; write https:// in endpoint");
}

static void check_sinks(const struct loader *loader)
{
    const struct relay_options *relay = &loader->config->relay;
    const struct toml_node *sinks = toml_find(loader->root, "sink");

    if (sinks == NULL || (sinks->type == TOML_TABLE && sinks->count == 0))
        report_problem(loader->report, loader->root,
                       "there is no sink; add [sink.NAME] with a type: %s", broker_types());
    else if (relay->sink_count > 1 && toml_find(loader->root, "route") == NULL)
        report_problem(loader->report, loader_sink(loader, 1),
                       "with more than one sink at least one [[route]] must say what goes where");
    for (int i = 0; i < relay->sink_count; i++)
        check_sink(loader, i);
}

/* What only another database can do. */
static void check_source(const struct loader *loader)
{
    const char *key = NULL;
    const char *lacks = source_lacks(&loader->config->relay.outbox, &key);

    if (lacks != NULL)
        report_problem(loader->report, locate(loader, "outbox", key), "%s: %s", key, lacks);
}

void check_config(const struct loader *loader)
{
    check_source(loader);
    check_url(loader);
    check_names(loader);
    settle_order(loader);
    check_own_columns(loader);
    check_position(loader);
    check_lists(loader);
    check_line(loader, "where", loader->config->relay.outbox.where);
    check_line(loader, "mark", loader->config->relay.outbox.mark);
    check_line(loader, "park", loader->config->relay.outbox.park);
    check_durations(loader);
    check_listen(loader);
    check_cloudevents(loader);
    check_trace(loader);
    check_sinks(loader);
}
