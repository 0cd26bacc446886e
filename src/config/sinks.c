#include "config/parts.h"

#include "base/text.h"
#include "config/keys/value.h"

#include <stdlib.h>
#include <string.h>

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
#define NAME_BYTES_MAX 64
#define NAME_SHOWN_BYTES 80

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

void load_sinks(struct loader *loader, struct toml_node *node)
{
    if (node->type != TOML_TABLE) {
        report_refusal(loader->report, node, "sink: a sink needs a name: [sink.NAME]");
        return;
    }
    for (int i = 0; i < node->count; i++)
        load_sink(loader, &node->children[i]);
}

void free_sink(struct sink_options *sink)
{
    value_free(SECTION_SINK, sink);
    for (int i = 0; i < SINK_LIST_MAX; i++)
        match_free(&sink->allowed[i]);
    for (int i = 0; i < sink->property_count; i++) {
        free(sink->properties[i].name);
        free(sink->properties[i].value);
    }
    free(sink->name);
    *sink = (struct sink_options){0};
}
