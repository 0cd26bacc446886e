#include "config/parts.h"

#include "base/text.h"
#include "config/keys/value.h"
#include "route/rules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTES_MAX 128
#define NAME_SHOWN_BYTES 80
#define WHY_BYTES 256

static void refuse_sink(const struct loader *loader, struct toml_node *node, const char *name)
{
    const struct relay_options *relay = &loader->config->relay;
    struct text_nearest nearest = {.to = name, .distance = UINT_MAX};
    char shown[NAME_SHOWN_BYTES];
    char candidate_shown[NAME_SHOWN_BYTES];
    char known[256] = "";

    text_escape(shown, sizeof shown, name, strlen(name));
    for (int i = 0; i < relay->sink_count; i++) {
        const char *candidate = relay->sinks[i].name;
        size_t used = strlen(known);

        text_escape(candidate_shown, sizeof candidate_shown, candidate, strlen(candidate));
        (void)snprintf(known + used, sizeof known - used, "%s\"%s\"", used > 0 ? ", " : "",
                       candidate_shown);
        text_consider(&nearest, candidate);
    }
    text_escape(candidate_shown, sizeof candidate_shown, nearest.name, strlen(nearest.name));
    if (is_likely_typo(&nearest))
        report_refusal(loader->report, node, "there is no sink \"%s\"; did you mean \"%s\"?", shown,
                       candidate_shown);
    else
        report_refusal(loader->report, node, "there is no sink \"%s\"; known: %s", shown, known);
}

/* The index of the route's sink. -1: a problem was reported, now or before. */
static int find_sink(const struct loader *loader, struct toml_node *node,
                     const struct route_source *source)
{
    const struct relay_options *relay = &loader->config->relay;

    if (toml_is_refused(node, "sink") || relay->sink_count == 0)
        return -1;
    if (source->sink == NULL && relay->sink_count == 1)
        return 0;
    if (source->sink == NULL) {
        report_refusal(loader->report, node, "a route needs a sink: there are %d",
                       relay->sink_count);
        return -1;
    }
    for (int i = 0; i < relay->sink_count; i++)
        if (strcmp(relay->sinks[i].name, source->sink) == 0)
            return i;
    refuse_sink(loader, toml_find_or_table(node, "sink"), source->sink);
    return -1;
}

static int parse_match(const struct loader *loader, struct toml_node *node, const char *source,
                       struct match *match)
{
    struct toml_node *at = toml_find_or_table(node, "match");
    char why[WHY_BYTES] = "";

    if (toml_is_refused(node, "match"))
        return -1;
    if (source == NULL) {
        report_refusal(loader->report, node, "a route needs a match; \">\" matches every topic");
        return -1;
    }
    if (match_parse(match, source, why, sizeof why) == 0)
        return 0;
    report_refusal(loader->report, at, "match: %s", why);
    return -1;
}

static int parse_template(const struct loader *loader, struct toml_node *node, const char *key,
                          const char *source, struct template *template)
{
    char why[WHY_BYTES];
    char shown[WHY_BYTES];
    size_t position;

    if (toml_is_refused(node, key))
        return -1;
    if (template_parse(template, source, why, sizeof why, &position) == 0)
        return 0;
    report_refusal(loader->report, toml_find_or_table(node, key), "%s: at position %zu: %s", key,
                   position, text_escape(shown, sizeof shown, why, strlen(why)));
    return -1;
}

/* Checks a topic without placeholders: if it is invalid, every message of the route would be
 * rejected. */
static void check_constant(const struct loader *loader, struct toml_node *node,
                           const struct route *route)
{
    const struct sink_options *sink = &loader->config->relay.sinks[route->sink];
    unsigned type = sink->type != NULL ? sink_type_flag(sink->type) : 0;
    struct text topic = route->topic.count == 0 ? text_of("") : route->topic.parts[0].literal;
    const char *problem = NULL;

    if (!template_is_constant(&route->topic) ||
        toml_is_refused(loader_sink(loader, route->sink), "allow"))
        return;
    if (type == KEY_KAFKA)
        problem = rules_kafka_topic(topic);
    else if (type == KEY_NATS)
        problem = rules_nats_subject(topic);
    if (problem == NULL && sink->allow.count > 0 &&
        !match_any(sink->allowed, sink->allow.count, topic))
        problem = "the sink's allow list does not permit this topic";
    if (problem != NULL)
        report_refusal(loader->report, toml_find_or_table(node, "topic"), "topic: %s", problem);
}

/* All three parts are parsed even when one fails, so that every problem is reported. */
static int build_route(const struct loader *loader, struct toml_node *node,
                       const struct route_source *source, struct route *route)
{
    int result = 0;

    route->sink = find_sink(loader, node, source);
    if (route->sink < 0)
        result = -1;
    if (parse_match(loader, node, source->match, &route->match) < 0)
        result = -1;
    if (parse_template(loader, node, "topic", source->topic, &route->topic) < 0)
        result = -1;
    if (parse_template(loader, node, "key", source->key, &route->key) < 0)
        result = -1;
    if (result == 0)
        check_constant(loader, node, route);
    return result;
}

static void load_route(struct loader *loader, struct toml_node *node, struct routes *routes)
{
    struct route_source source = {0};
    struct route route = {0};

    if (node->type != TOML_TABLE) {
        report_refusal(loader->report, node, "route: expected a list of tables; write [[route]]");
    } else if (value_set_defaults(SECTION_ROUTE, &source) < 0) {
        report_refusal(loader->report, node, "out of memory");
    } else {
        load_section(loader, SECTION_ROUTE, node, &source);
        if (build_route(loader, node, &source, &route) == 0)
            routes->entries[routes->count++] = route;
        else
            route_free(&route);
    }
    value_free(SECTION_ROUTE, &source);
}

void load_routes(struct loader *loader, struct toml_node *node)
{
    struct routes *routes = &loader->config->relay.routes;

    if (node->type != TOML_ARRAY) {
        report_refusal(loader->report, node, "route: write [[route]], with two brackets");
        return;
    }
    if (node->count > ROUTES_MAX) {
        report_refusal(loader->report, node, "%d routes; at most %d", node->count, ROUTES_MAX);
        return;
    }
    if (node->count == 0)
        return;
    routes->entries = calloc((size_t)node->count, sizeof *routes->entries);
    if (routes->entries == NULL) {
        report_refusal(loader->report, node, "out of memory");
        return;
    }
    for (int i = 0; i < node->count; i++)
        load_route(loader, &node->children[i], routes);
}
