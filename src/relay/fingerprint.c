#include "relay/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(FINGERPRINT_SINKS_MAX == SINKS_MAX, "a fingerprint holds all sinks");

/* The text that is hashed: values with their lengths, so that no two lists look alike. */
struct hashed {
    FILE *out;
    char *text;
    size_t size;
};

static bool begin(struct hashed *hashed)
{
    *hashed = (struct hashed){0};
    hashed->out = open_memstream(&hashed->text, &hashed->size);
    return hashed->out != NULL;
}

static bool end(struct hashed *hashed, char out[FINGERPRINT_HASH_BYTES])
{
    bool whole = fclose(hashed->out) == 0 && hashed->text != NULL;

    if (whole)
        fingerprint_hash(hashed->text, out);
    free(hashed->text);
    return whole;
}

static void put(const struct hashed *hashed, const char *value)
{
    if (value == NULL)
        (void)fputc('-', hashed->out);
    else
        (void)fprintf(hashed->out, "%zu:%s,", strlen(value), value);
}

static void put_number(const struct hashed *hashed, int number)
{
    (void)fprintf(hashed->out, "%d,", number);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The order in which servers are named means nothing. */
static void put_set(const struct hashed *hashed, const struct text_list *list)
{
    const char *sorted[SINK_LIST_MAX];

    for (int i = 0; i < list->count; i++)
        sorted[i] = list->items[i];
    qsort(sorted, (size_t)list->count, sizeof *sorted, compare_texts);
    put_number(hashed, list->count);
    for (int i = 0; i < list->count; i++)
        put(hashed, sorted[i]);
}

static bool hash_routes(const struct relay_options *options, char out[FINGERPRINT_HASH_BYTES])
{
    const struct routes *routes = &options->routes;
    struct hashed hashed;

    if (!begin(&hashed))
        return false;
    if (routes->count == 0)
        put(&hashed, options->sinks[0].name);
    for (int i = 0; i < routes->count; i++) {
        const struct route *route = &routes->entries[i];

        put(&hashed, route->match.source);
        put(&hashed, options->sinks[route->sink].name);
        put(&hashed, route->topic.source);
        put(&hashed, route->key.source);
    }
    return end(&hashed, out);
}

static bool hash_outbox(const struct outbox_options *options, char out[FINGERPRINT_HASH_BYTES])
{
    struct hashed hashed;

    if (!begin(&hashed))
        return false;
    for (int i = 0; i < COLUMN_COUNT; i++)
        put(&hashed, outbox_column(options, (enum column)i));
    put(&hashed, options->time_zone);
    put_number(&hashed, (int)options->on_sent);
    for (int i = 0; i < options->header_count; i++) {
        put(&hashed, options->headers[i].name);
        put(&hashed, options->headers[i].value);
    }
    return end(&hashed, out);
}

static bool hash_server(const struct sink_options *sink, char out[FINGERPRINT_HASH_BYTES])
{
    struct hashed hashed;

    if (!begin(&hashed))
        return false;
    put(&hashed, sink->type);
    put(&hashed, sink->stream);
    put_set(&hashed, &sink->brokers);
    put_set(&hashed, &sink->servers);
    return end(&hashed, out);
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

static bool hash_settings(const struct sink_options *sink, char out[FINGERPRINT_HASH_BYTES])
{
    struct hashed hashed;

    if (!begin(&hashed))
        return false;
    put_set(&hashed, &sink->allow);
    for (int i = 0; i < OWN_HEADERS; i++)
        put(&hashed, sink->headers[i]);
    put_number(&hashed, sink->null_headers);
    put_number(&hashed, (int)sink->cloudevents);
    if (sink->cloudevents != CLOUDEVENTS_OFF) {
        put(&hashed, sink->event_source);
        put(&hashed, sink->event_type);
        put(&hashed, sink->event_content_type);
    }
    for (int i = 0; i < sink->property_count; i++) {
        if (!is_of_messages(&sink->properties[i]))
            continue;
        put(&hashed, sink->properties[i].name);
        put(&hashed, sink->properties[i].value);
    }
    return end(&hashed, out);
}

void fingerprint_make(struct fingerprint *fingerprint, const struct relay_options *options)
{
    bool whole;

    *fingerprint = (struct fingerprint){.sink_count = options->sink_count};
    whole = hash_routes(options, fingerprint->routes) &&
            hash_outbox(&options->outbox, fingerprint->outbox);
    for (int i = 0; whole && i < options->sink_count; i++) {
        struct fingerprint_sink *sink = &fingerprint->sinks[i];

        (void)snprintf(sink->name, sizeof sink->name, "%s", options->sinks[i].name);
        whole = hash_server(&options->sinks[i], sink->server) &&
                hash_settings(&options->sinks[i], sink->settings);
    }
}
