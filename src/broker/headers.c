/* The headers that the relay sets itself, by names that a sink may choose. */

#include "broker/sink.h"

const char *own_header_name(enum own_header which)
{
    static const char *const names[OWN_HEADERS] = {[OWN_ID] = "id",
                                                   [OWN_TYPE] = "type",
                                                   [OWN_CREATED_AT] = "created_at",
                                                   [OWN_KEY] = "key",
                                                   [OWN_REPLAYED_AT] = "replayed_at"};

    return names[which];
}

struct header_rules sink_header_rules(const struct sink_options *options, bool has_key)
{
    struct header_rules rules = {.sends_null = options->null_headers};

    for (int i = 0; i < OWN_HEADERS; i++) {
        bool is_attribute = i == OWN_ID || i == OWN_TYPE || i == OWN_CREATED_AT;
        const char *name = options->headers[i];

        if (name == NULL && is_attribute && options->cloudevents != CLOUDEVENTS_OFF)
            name = "";
        else if (name == NULL)
            name = own_header_name((enum own_header)i);
        if (name[0] != '\0' && (i != OWN_KEY || has_key))
            rules.own[i] = text_of(name);
    }
    return rules;
}

void sink_own_headers(const struct header_rules *rules, const struct message *message,
                      struct header own[OWN_HEADERS])
{
    const struct text values[OWN_HEADERS] = {message->event_id, message->type, message->created_at,
                                             message->route_key, message->replayed_at};

    for (int i = 0; i < OWN_HEADERS; i++) {
        own[i].name = rules->own[i];
        own[i].value = rules->own[i].data != NULL ? values[i] : (struct text){NULL, 0};
    }
}
