#include "relay/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FINGERPRINT_SINKS_MAX == SINKS_MAX, "a fingerprint holds all sinks");

/* Values are hashed with their lengths, so that no two lists look alike. */
static void put(uint64_t *hash, const char *value)
{
    char length[32];

    (void)snprintf(length, sizeof length, "%zu:", value != NULL ? strlen(value) : 0);
    *hash = text_hash_more(*hash, text_of(value != NULL ? length : "-"));
    if (value == NULL)
        return;
    *hash = text_hash_more(*hash, text_of(value));
    *hash = text_hash_more(*hash, text_of(","));
}

static void put_number(uint64_t *hash, int number)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%d,", number);
    *hash = text_hash_more(*hash, text_of(text));
}

/* The digits of fingerprint_hash(), by which older relays are compared too. */
static void end(uint64_t hash, char out[FINGERPRINT_HASH_BYTES])
{
    (void)snprintf(out, FINGERPRINT_HASH_BYTES, "%08" PRIx32, (uint32_t)(hash ^ hash >> 32));
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The order in which servers are named means nothing. */
static void put_set(uint64_t *hash, const struct text_list *list)
{
    const char *sorted[SINK_LIST_MAX];

    for (int i = 0; i < list->count; i++)
        sorted[i] = list->items[i];
    qsort(sorted, (size_t)list->count, sizeof *sorted, compare_texts);
    put_number(hash, list->count);
    for (int i = 0; i < list->count; i++)
        put(hash, sorted[i]);
}

static void hash_routes(const struct relay_options *options, char out[FINGERPRINT_HASH_BYTES])
{
    const struct routes *routes = &options->routes;
    uint64_t hash = TEXT_HASH_START;

    if (routes->count == 0)
        put(&hash, options->sinks[0].name);
    for (int i = 0; i < routes->count; i++) {
        const struct route *route = &routes->entries[i];

        put(&hash, route->match.source);
        put(&hash, options->sinks[route->sink].name);
        put(&hash, route->topic.source);
        put(&hash, route->key.source);
    }
    end(hash, out);
}

static void hash_outbox(const struct outbox_options *options, char out[FINGERPRINT_HASH_BYTES])
{
    uint64_t hash = TEXT_HASH_START;

    for (int i = 0; i < COLUMN_COUNT; i++)
        put(&hash, outbox_column(options, (enum column)i));
    put(&hash, options->time_zone);
    put_number(&hash, (int)options->on_sent);
    for (int i = 0; i < options->header_count; i++) {
        put(&hash, options->headers[i].name);
        put(&hash, options->headers[i].value);
    }
    end(hash, out);
}

static void hash_server(const struct sink_options *sink, char out[FINGERPRINT_HASH_BYTES])
{
    uint64_t hash = TEXT_HASH_START;

    put(&hash, sink->type);
    put(&hash, sink->stream);
    put_set(&hash, &sink->brokers);
    put_set(&hash, &sink->servers);
    end(hash, out);
}

/* Who the client is and how it is let in changes no message, and may be secret. */
static bool is_of_messages(const struct property *property)
{
    static const char *const others[] = {"sasl.",        "ssl.",        "security.",   "client.",
                                         "enable.sasl.", "enable.ssl.", "oauthbearer_"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(property->name, others[i], strlen(others[i])) == 0)
            return false;
    return strstr(property->name, "oauthbearer") == NULL &&
           strstr(property->name, "password") == NULL;
}

static void hash_settings(const struct sink_options *sink, char out[FINGERPRINT_HASH_BYTES])
{
    uint64_t hash = TEXT_HASH_START;

    put_set(&hash, &sink->allow);
    for (int i = 0; i < OWN_HEADERS; i++)
        put(&hash, sink->headers[i]);
    put_number(&hash, sink->null_headers);
    put_number(&hash, (int)sink->cloudevents);
    if (sink->cloudevents != CLOUDEVENTS_OFF) {
        put(&hash, sink->event_source);
        put(&hash, sink->event_type);
        put(&hash, sink->event_content_type);
    }
    for (int i = 0; i < sink->property_count; i++) {
        if (!is_of_messages(&sink->properties[i]))
            continue;
        put(&hash, sink->properties[i].name);
        put(&hash, sink->properties[i].value);
    }
    end(hash, out);
}

void fingerprint_make(struct fingerprint *fingerprint, const struct relay_options *options)
{
    *fingerprint = (struct fingerprint){.sink_count = options->sink_count};
    hash_routes(options, fingerprint->routes);
    hash_outbox(&options->outbox, fingerprint->outbox);
    for (int i = 0; i < options->sink_count; i++) {
        struct fingerprint_sink *sink = &fingerprint->sinks[i];

        (void)snprintf(sink->name, sizeof sink->name, "%s", options->sinks[i].name);
        hash_server(&options->sinks[i], sink->server);
        hash_settings(&options->sinks[i], sink->settings);
    }
}
