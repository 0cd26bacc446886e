#include "admin/status/fingerprint.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void fingerprint_hash(const char *text, char out[FINGERPRINT_HASH_BYTES])
{
    (void)snprintf(out, FINGERPRINT_HASH_BYTES, "%08" PRIx32, (uint32_t)text_hash(text_of(text)));
}

static const struct fingerprint_sink *find_sink(const struct fingerprint *fingerprint,
                                                const char *name)
{
    for (int i = 0; i < fingerprint->sink_count; i++)
        if (strcmp(fingerprint->sinks[i].name, name) == 0)
            return &fingerprint->sinks[i];
    return NULL;
}

static void add(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(char *out, size_t size, const char *format, ...)
{
    size_t len = strlen(out);
    va_list args;

    if (len > 0 && len + 2 < size) {
        memcpy(out + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    (void)vsnprintf(out + len, size - len, format, args);
    va_end(args);
}

void fingerprint_compare(const struct fingerprint *a, const struct fingerprint *b, char *out,
                         size_t size)
{
    out[0] = '\0';
    if (strcmp(a->routes, b->routes) != 0)
        add(out, size, "routes");
    if (strcmp(a->outbox, b->outbox) != 0)
        add(out, size, "columns, headers or on_sent of [outbox]");
    for (int i = 0; i < b->sink_count; i++) {
        const struct fingerprint_sink *sink = &b->sinks[i];
        const struct fingerprint_sink *other = find_sink(a, sink->name);

        if (other == NULL)
            add(out, size, "sink %s, which the other has not", sink->name);
        if (other != NULL && strcmp(sink->server, other->server) != 0)
            add(out, size, "server or stream of sink %s", sink->name);
        if (other != NULL && strcmp(sink->settings, other->settings) != 0)
            add(out, size, "settings of sink %s", sink->name);
    }
    for (int i = 0; i < a->sink_count; i++)
        if (find_sink(b, a->sinks[i].name) == NULL)
            add(out, size, "sink %s, which it has not", a->sinks[i].name);
}

bool fingerprint_is_same(const struct fingerprint *a, const struct fingerprint *b)
{
    char first[64];

    fingerprint_compare(a, b, first, sizeof first);
    return first[0] == '\0';
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

static bool read_text(char *out, size_t size, const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL && snprintf(out, size, "%s", text) < (int)size;
}

void fingerprint_read(struct fingerprint *fingerprint, const json_t *packed, const json_t *sinks)
{
    const json_t *hashes = json_object_get(packed, "sinks");
    size_t count = json_array_size(hashes);
    bool whole = count <= FINGERPRINT_SINKS_MAX && count == json_array_size(sinks);

    *fingerprint = (struct fingerprint){0};
    whole = whole && read_text(fingerprint->routes, FINGERPRINT_HASH_BYTES,
                               json_object_get(packed, "routes"));
    whole = whole && read_text(fingerprint->outbox, FINGERPRINT_HASH_BYTES,
                               json_object_get(packed, "outbox"));
    for (size_t i = 0; whole && i < count; i++) {
        struct fingerprint_sink *sink = &fingerprint->sinks[fingerprint->sink_count++];
        const json_t *values = json_array_get(hashes, i);

        whole = read_text(sink->name, sizeof sink->name,
                          json_object_get(json_array_get(sinks, i), "name")) &&
                read_text(sink->server, sizeof sink->server, json_array_get(values, 0)) &&
                read_text(sink->settings, sizeof sink->settings, json_array_get(values, 1));
    }
    fingerprint->is_known = whole;
}

void fingerprint_whole(const struct fingerprint *fingerprint, char out[FINGERPRINT_HASH_BYTES])
{
    char text[(FINGERPRINT_SINKS_MAX + 1) * sizeof *fingerprint->sinks];
    int len;

    out[0] = '\0';
    if (!fingerprint->is_known)
        return;
    len = snprintf(text, sizeof text, "%s%s", fingerprint->routes, fingerprint->outbox);
    for (int i = 0; i < fingerprint->sink_count; i++) {
        const struct fingerprint_sink *sink = &fingerprint->sinks[i];

        len += snprintf(text + len, sizeof text - (size_t)len, "%s%s%s", sink->name, sink->server,
                        sink->settings);
    }
    fingerprint_hash(text, out);
}
