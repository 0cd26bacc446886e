/* What all sinks share: calls through the operations table, so that no caller needs to know which
 * client it uses, and the allow list. */

#include "broker/broker.h"

#include <stdlib.h>
#include <string.h>

void broker_close(struct broker *broker)
{
    if (broker != NULL)
        broker->ops->destroy(broker);
}

int broker_connect_timeout_ms(const struct broker *broker)
{
    return broker->connect_timeout_ms > 0 ? broker->connect_timeout_ms : BROKER_CONNECT_TIMEOUT_MS;
}

int broker_ready(struct broker *broker, struct error *error)
{
    return broker->ops->ready != NULL ? broker->ops->ready(broker, error) : 0;
}

void broker_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    broker->ops->send(broker, batch, sink, deadline_ms);
}

int broker_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error)
{
    return broker->ops->await(broker, batch, sink, deadline_ms, error);
}

void broker_explain(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    broker->ops->explain(broker, batch, sink, deadline_ms);
}

void broker_show_headers(const struct broker *broker, struct batch *batch, struct message *message,
                         const struct header *own, int own_count)
{
    int count = 0;
    struct header *all =
        batch_alloc(batch, (size_t)(own_count + message->header_count) * sizeof *all);

    if (all == NULL) {
        batch_refuse(batch, message, VERDICT_WAIT, "out of memory");
        return;
    }
    for (int i = 0; i < own_count; i++)
        if (own[i].value.data != NULL)
            all[count++] = own[i];
    for (int i = 0; i < message->header_count; i++)
        if (message->headers[i].value.data != NULL || broker->headers.sends_null)
            all[count++] = message->headers[i];
    message->headers = all;
    message->header_count = count;
}

enum order_kept broker_keeps_order(const struct broker *broker, const struct batch *batch, int sink)
{
    return broker->ops->keeps_order != NULL ? broker->ops->keeps_order(broker, batch, sink)
                                            : ORDER_NOT_KEPT;
}

int64_t broker_payload_max(const struct broker *broker)
{
    return broker->ops->payload_max(broker);
}

int broker_inspect(struct broker *broker, const char *destination, struct findings *findings,
                   struct error *error)
{
    return broker->ops->inspect(broker, destination, findings, error);
}

int broker_make(struct broker *broker, const char *destination, struct error *error)
{
    return broker->ops->make != NULL ? broker->ops->make(broker, destination, error) : 0;
}

const char *broker_unreadable(const struct broker *broker)
{
    if (broker->ops->read == NULL)
        return "its type cannot be read back";
    return held_has_id(broker) ? NULL : "its messages carry no event id";
}

int broker_read(struct broker *broker, const struct read_request *request, struct error *error)
{
    return broker->ops->read(broker, request, error);
}

bool sink_allows(const struct sink_options *options, struct text destination)
{
    return options->allow.count == 0 ||
           match_any(options->allowed, options->allow.count, destination);
}

int sink_check_destination(const struct sink_options *options, const char *what, const char *broken,
                           const char *destination, struct error *error)
{
    if (broken == NULL && sink_allows(options, text_of(destination)))
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: %s \"%s\": %s%s",
                     options->name, what, destination,
                     broken != NULL ? broken : "the sink's allow list does not permit this ",
                     broken != NULL ? "" : what);
}

bool sink_pattern(const char *allowed)
{
    return strpbrk(allowed, "*>") != NULL || strncmp(allowed, "re:", 3) == 0;
}

int broker_reserve(void *items, int *capacity, int count, size_t size)
{
    void *grown;

    if (*capacity >= count)
        return 0;
    memcpy(&grown, items, sizeof grown);
    grown = realloc(grown, (size_t)count * size);
    if (grown == NULL)
        return -1;
    memcpy(items, &grown, sizeof grown);
    *capacity = count;
    return 0;
}
