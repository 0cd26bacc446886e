#include "trace/document.h"

#include "base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED_BYTES (6 * SPAN_TEXT_BYTES)
#define KIND_PRODUCER 4
#define STATUS_ERROR 2
/* The W3C flag "sampled", and that the parent is known to be of another process. */
#define FLAGS (0x001 | 0x100 | 0x200)

/* Most texts need no escaping, which would take most of the time of a document. */
static void put_string(FILE *out, const char *string)
{
    char escaped[ESCAPED_BYTES];
    const char *at = string;

    while (*at >= ' ' && *at <= '~' && *at != '"' && *at != '\\')
        at++;
    if (*at != '\0')
        string = text_escape_json(escaped, sizeof escaped, string, strlen(string));
    (void)fputc('"', out);
    (void)fputs(string, out);
    (void)fputc('"', out);
}

/* Without a value there is no attribute. `*comma` stands before each but the first. */
static void put_attribute(FILE *out, const char **comma, const char *key, const char *value)
{
    if (value == NULL || value[0] == '\0')
        return;
    (void)fprintf(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", *comma, key);
    put_string(out, value);
    (void)fputs("}}", out);
    *comma = ",";
}

static void put_attributes(FILE *out, const struct span *span)
{
    const char *comma = "";

    (void)fputs(",\"attributes\":[", out);
    put_attribute(out, &comma, "messaging.system", span->system);
    put_attribute(out, &comma, "messaging.operation.name", "publish");
    put_attribute(out, &comma, "messaging.operation.type", "send");
    put_attribute(out, &comma, "messaging.destination.name", span->destination);
    put_attribute(out, &comma, "messaging.message.id", span->event_id);
    put_attribute(out, &comma, "error.type", span->failure);
    put_attribute(out, &comma, "outbox.row", span->row);
    put_attribute(out, &comma, "outbox.topic", span->topic);
    put_attribute(out, &comma, "outbox.sink", span->sink);
    (void)fprintf(out, "%s{\"key\":\"outbox.attempts\",\"value\":{\"intValue\":\"%d\"}}]", comma,
                  span->attempts);
}

/* A time that is not known makes no event; none is before the one that happened before it, whatever
 * the clocks say. */
static void put_event(FILE *out, const char **comma, const char *name, int64_t us,
                      int64_t *not_before_us)
{
    if (us <= 0)
        return;
    if (us > *not_before_us)
        *not_before_us = us;
    (void)fprintf(out, "%s{\"timeUnixNano\":\"%" PRId64 "000\",\"name\":\"%s\"}", *comma,
                  *not_before_us, name);
    *comma = ",";
}

static void put_span(FILE *out, const struct span *span)
{
    bool is_known = span->created_us > 0;
    int64_t begin_us =
        is_known && span->created_us < span->claimed_us ? span->created_us : span->claimed_us;
    int64_t end_us = begin_us;
    const char *comma = "";

    (void)fprintf(out, "{\"traceId\":\"%s\",\"spanId\":\"%s\",\"parentSpanId\":\"%s\"",
                  span->parent.trace_id, span->id, span->parent.id);
    if (span->state[0] != '\0') {
        (void)fputs(",\"traceState\":", out);
        put_string(out, span->state);
    }
    (void)fprintf(out, ",\"flags\":%d,\"name\":\"outbox\",\"kind\":%d", FLAGS, KIND_PRODUCER);
    put_attributes(out, span);
    (void)fputs(",\"events\":[", out);
    put_event(out, &comma, "insert", is_known ? begin_us : 0, &end_us);
    put_event(out, &comma, "claim", span->claimed_us, &end_us);
    put_event(out, &comma, "publish", span->published_us, &end_us);
    put_event(out, &comma, "acknowledge", span->acknowledged_us, &end_us);
    if (span->ended_us > end_us)
        end_us = span->ended_us;
    (void)fprintf(
        out, "],\"startTimeUnixNano\":\"%" PRId64 "000\",\"endTimeUnixNano\":\"%" PRId64 "000\"",
        begin_us, end_us);
    if (span->failure != NULL) {
        (void)fprintf(out, ",\"status\":{\"code\":%d,\"message\":", STATUS_ERROR);
        put_string(out, span->reason);
        (void)fputc('}', out);
    }
    (void)fputc('}', out);
}

static void put_resource(FILE *out, const char *service_name, const char *instance)
{
    const char *comma = "";

    (void)fputs("{\"resource\":{\"attributes\":[", out);
    put_attribute(out, &comma, "service.name", service_name);
    put_attribute(out, &comma, "service.version", RELAY_VERSION);
    put_attribute(out, &comma, "service.instance.id", instance);
    (void)fputs("]},\"scopeSpans\":[{\"scope\":{\"name\":\"outbox-relay\",\"version\":"
                "\"" RELAY_VERSION "\"},\"spans\":[",
                out);
}

struct document document_make(const struct span_queue *queue, unsigned count,
                              const char *service_name, const char *instance)
{
    struct document document = {0};
    FILE *out = open_memstream(&document.text, &document.len);

    if (out == NULL)
        return (struct document){0};
    (void)fputs("{\"resourceSpans\":[", out);
    if (count > 0)
        put_resource(out, service_name, instance);
    for (unsigned i = 0; i < count; i++) {
        (void)fputs(i > 0 ? "," : "", out);
        put_span(out, queue_at(queue, i));
    }
    (void)fputs(count > 0 ? "]}]}]}" : "]}", out);
    if (fclose(out) == 0)
        return document;
    free(document.text);
    return (struct document){0};
}
