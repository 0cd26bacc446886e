#include "source/fingerprint.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

void fingerprint_hash(const char *text, char out[FINGERPRINT_HASH_BYTES])
{
    (void)snprintf(out, FINGERPRINT_HASH_BYTES, "%08" PRIx32, (uint32_t)text_hash(text_of(text)));
}

json_t *fingerprint_pack(const struct fingerprint *fingerprint)
{
    json_t *sinks = json_array();

    for (int i = 0; i < fingerprint->sink_count; i++) {
        const struct fingerprint_sink *sink = &fingerprint->sinks[i];

        (void)json_array_append_new(sinks, json_pack("[s, s]", sink->server, sink->settings));
    }
    return json_pack("{s:s, s:s, s:o}", "routes", fingerprint->routes, "outbox",
                     fingerprint->outbox, "sinks", sinks);
}

json_t *fingerprint_by_name(const struct fingerprint *fingerprint)
{
    json_t *sinks = json_object();

    for (int i = 0; i < fingerprint->sink_count; i++) {
        const struct fingerprint_sink *sink = &fingerprint->sinks[i];

        (void)json_object_set_new(sinks, sink->name,
                                  json_pack("[s, s]", sink->server, sink->settings));
    }
    return json_pack("{s:s, s:s, s:o}", "routes", fingerprint->routes, "outbox",
                     fingerprint->outbox, "sinks", sinks);
}
