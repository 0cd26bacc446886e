#include "route/route.h"

#include <stdlib.h>

void route_free(struct route *route)
{
    match_free(&route->match);
    template_free(&route->topic);
    template_free(&route->key);
}

void routes_free(struct routes *routes)
{
    for (int i = 0; i < routes->count; i++)
        route_free(&routes->entries[i]);
    free(routes->entries);
    *routes = (struct routes){0};
}

static void apply_route(const struct route *route, struct message *message, struct batch *batch)
{
    switch (template_render(&route->topic, message, batch, &message->destination)) {
    case TEMPLATE_OK:
        break;
    case TEMPLATE_NULL_FIELD:
        batch_refuse(batch, message, VERDICT_REJECTED,
                     "topic \"%s\" of [[route]] uses a column that is NULL", route->topic.source);
        return;
    case TEMPLATE_NO_MEMORY:
        return;
    }
    if (template_render(&route->key, message, batch, &message->route_key) == TEMPLATE_NO_MEMORY)
        return;
    message->sink = route->sink;
}

int route_find(const struct routes *routes, struct text topic)
{
    for (int i = 0; i < routes->count; i++)
        if (match_topic(&routes->entries[i].match, topic))
            return i;
    return -1;
}

int route_sink(const struct routes *routes, struct text topic)
{
    int route = route_find(routes, topic);

    if (routes->count == 0)
        return 0;
    return route >= 0 ? routes->entries[route].sink : -1;
}

static void route_message(const struct routes *routes, struct message *message, struct batch *batch)
{
    char topic[128];
    int route;

    if (message->topic.data == NULL || message->topic.len == 0) {
        batch_refuse(batch, message, VERDICT_REJECTED, "the topic is %s",
                     message->topic.data == NULL ? "NULL" : "empty");
        return;
    }
    if (routes->count == 0) {
        message->sink = 0;
        message->destination = message->topic;
        message->route_key = message->key;
        return;
    }
    route = route_find(routes, message->topic);
    if (route >= 0)
        apply_route(&routes->entries[route], message, batch);
    else
        batch_refuse(batch, message, VERDICT_DECLINED, "no [[route]] matches topic \"%s\"",
                     text_escape(topic, sizeof topic, message->topic.data, message->topic.len));
}

void route_batch(const struct routes *routes, struct batch *batch)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->messages[i].verdict == VERDICT_PENDING)
            route_message(routes, &batch->messages[i], batch);
}
