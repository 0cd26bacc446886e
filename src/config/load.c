#include "config/parts.h"

#include "base/text.h"
#include "config/check/check.h"
#include "config/config.h"
#include "config/keys/value.h"
#include "config/read/file.h"
#include "config/read/toml.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
#define NAME_BYTES_MAX 64
#define NAME_SHOWN_BYTES 80

static const enum section plain_sections[] = {SECTION_DATABASE, SECTION_OUTBOX, SECTION_COLUMNS,
                                              SECTION_RELAY,    SECTION_RETRY,  SECTION_CLOUDEVENTS,
                                              SECTION_HTTP,     SECTION_LOG,    SECTION_TRACE};
#define PLAIN_SECTIONS (sizeof plain_sections / sizeof plain_sections[0])

static void free_sink(struct sink_options *sink)
{
    value_free(SECTION_SINK, sink);
    value_free(SECTION_HEADERS, sink);
    for (int i = 0; i < SINK_LIST_MAX; i++)
        match_free(&sink->allowed[i]);
    for (int i = 0; i < sink->property_count; i++) {
        free(sink->properties[i].name);
        free(sink->properties[i].value);
    }
    free(sink->name);
    *sink = (struct sink_options){0};
}

static void check_name(const struct loader *loader, struct toml_node *node)
{
    size_t len = strlen(node->key);
    char shown[NAME_SHOWN_BYTES];

    if (len == 0 || len > NAME_BYTES_MAX || strspn(node->key, NAME_BYTES) != len)
        report_problem(
            loader->report, node,
            "\"%s\" is not a name for a sink; use 1 to 64 letters, digits, \"_\" and \"-\"",
            text_escape(shown, sizeof shown, node->key, len));
}

static void parse_allow(const struct loader *loader, struct toml_node *node,
                        struct sink_options *sink)
{
    struct toml_node *list = toml_find(node, "allow");
    char why[256] = "";

    if (list == NULL || list->refused)
        return;
    for (int i = 0; i < sink->allow.count; i++) {
        if (match_parse(&sink->allowed[i], sink->allow.items[i], why, sizeof why) == 0)
            continue;
        list->refused = true;
        report_refusal(loader->report, &list->children[i], "allow: %s", why);
    }
}

static void load_sink(struct loader *loader, struct toml_node *node)
{
    struct relay_options *relay = &loader->config->relay;
    struct sink_options *sink = &relay->sinks[relay->sink_count];
    char shown[NAME_SHOWN_BYTES];

    if (node->type != TOML_TABLE) {
        report_refusal(loader->report, node,
                       "\"%s\" is set in [sink] itself, but a sink needs a name: [sink.NAME]",
                       text_escape(shown, sizeof shown, node->key, strlen(node->key)));
        return;
    }
    check_name(loader, node);
    if (relay->sink_count == SINKS_MAX) {
        report_refusal(loader->report, node, "more than %d sinks", SINKS_MAX);
        return;
    }
    sink->name = strdup(node->key);
    if (sink->name == NULL || value_set_defaults(SECTION_SINK, sink) < 0) {
        free_sink(sink);
        report_refusal(loader->report, node, "out of memory");
        return;
    }
    relay->sink_count++;
    load_section(loader, SECTION_SINK, node, sink);
    parse_allow(loader, node, sink);
}

static void refuse_top_level(const struct loader *loader, struct toml_node *node)
{
    const struct key *key = key_find_anywhere(node->key);
    char name[NAME_SHOWN_BYTES];
    char advice[448];

    text_escape(name, sizeof name, node->key, strlen(node->key));
    if (key != NULL)
        report_refusal(loader->report, node,
                       "unknown key \"%s\" before any section; it belongs in [%s]", name,
                       section_title(key->section));
    else
        report_refusal(loader->report, node, "unknown section [%s]; %s", name,
                       suggest_name(advice, sizeof advice, SECTION_COUNT, node->key));
}

static void load_top_level(struct loader *loader, struct toml_node *node)
{
    enum section section = section_find(SECTION_COUNT, node->key);

    if (section == SECTION_COUNT)
        refuse_top_level(loader, node);
    else if (section == SECTION_SINK && node->type != TOML_TABLE)
        report_refusal(loader->report, node, "sink: a sink needs a name: [sink.NAME]");
    else if (section == SECTION_SINK)
        for (int i = 0; i < node->count; i++)
            load_sink(loader, &node->children[i]);
    else if (section != SECTION_ROUTE)
        load_section(loader, section, node, loader->config);
}

void config_derive_fields(struct relay_options *relay)
{
    relay->outbox.publish_timeout_ms = relay->publish_timeout_ms;
    for (int i = 0; i < relay->sink_count; i++) {
        relay->sinks[i].publish_timeout_ms = relay->publish_timeout_ms;
        relay->sinks[i].keep_order = relay->outbox.order == ORDER_KEY;
        relay->sinks[i].event_source = relay->cloudevents.source;
        relay->sinks[i].event_type = relay->cloudevents.type;
        relay->sinks[i].event_content_type = relay->cloudevents.content_type;
        relay->sinks[i].batch = relay->outbox.batch;
    }
}

static int set_defaults(struct config *config)
{
    *config = (struct config){0};
    for (size_t i = 0; i < PLAIN_SECTIONS; i++)
        if (value_set_defaults(plain_sections[i], config) < 0)
            return -1;
    return 0;
}

static void load_tree(struct loader *loader)
{
    struct toml_node *routes;

    preset_apply(loader);
    routes = toml_find(loader->root, "route");
    for (int i = 0; i < loader->root->count; i++)
        load_top_level(loader, &loader->root->children[i]);
    if (routes != NULL)
        load_routes(loader, routes);
    config_derive_fields(&loader->config->relay);
    check_config(loader);
    check_secrets(loader);
}

/* The parser's messages quote keys unchanged. text_escape is not used, because it would escape the
 * parser's own escapes again. */
static void make_printable(char *text)
{
    size_t len = strlen(text);

    for (size_t at = 0; at < len;) {
        size_t step = text_utf8_len(text + at, len - at);

        if (step == 0 || text_is_control(text + at, step))
            memset(text + at, '?', step == 0 ? 1 : step);
        at += step == 0 ? 1 : step;
    }
}

static void load_text(struct loader *loader, const char *text, size_t len)
{
    struct toml_error error;

    if (set_defaults(loader->config) < 0) {
        report_at(loader->report, 0, 0, "out of memory");
    } else if (guard_text(text, len, &error) < 0 ||
               (loader->root = toml_parse(text, len, &error)) == NULL) {
        make_printable(error.text);
        report_at(loader->report, error.line, error.column, "%s", error.text);
    } else {
        load_tree(loader);
    }
    toml_free(loader->root);
}

int config_parse(struct config *config, const char *name, const char *text, size_t len,
                 struct config_problems *problems)
{
    struct problems report = {.name = name};
    struct loader loader = {.config = config, .report = &report, .is_own = true};

    *problems = (struct config_problems){0};
    load_text(&loader, text, len);
    return report_finish(&report, problems);
}

int config_load(struct config *config, const char *path, struct config_problems *problems)
{
    struct file file = {0};
    struct problems report = {0};
    struct loader loader = {.config = config, .report = &report};

    *config = (struct config){0};
    *problems = (struct config_problems){0};
    report.name = file_read(&file, path);
    if (file.error[0] != '\0') {
        report_at(&report, 0, 0, "%s", file.error);
    } else {
        loader.mode = file.mode;
        loader.is_own = file.is_own;
        load_text(&loader, file.text, file.len);
        config->path = strdup(report.name);
        if (config->path == NULL)
            report_at(&report, 0, 0, "out of memory");
    }
    free(file.text);
    return report_finish(&report, problems);
}

void config_free(struct config *config)
{
    for (size_t i = 0; i < PLAIN_SECTIONS; i++)
        value_free(plain_sections[i], config);
    for (int i = 0; i < config->relay.outbox.header_count; i++) {
        free(config->relay.outbox.headers[i].name);
        free(config->relay.outbox.headers[i].value);
    }
    for (int i = 0; i < config->relay.sink_count; i++)
        free_sink(&config->relay.sinks[i]);
    routes_free(&config->relay.routes);
    free(config->relay.outbox.preset_columns);
    free(config->path);
    *config = (struct config){0};
}
