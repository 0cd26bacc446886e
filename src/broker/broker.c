/*
 * What every client shares: the table of clients, thin calls through it, the allow list.
 * A call never looks at which client stands behind it; whoever adds a client adds one line here.
 */

#include "broker/broker.h"

#include <string.h>

static const struct broker_ops *const clients[] = {&kafka_ops, &nats_ops, &stdout_ops};

const struct broker_ops *broker_ops_find(const char *type)
{
    for (size_t i = 0; type != NULL && i < sizeof clients / sizeof *clients; i++)
        if (strcmp(clients[i]->type, type) == 0)
            return clients[i];
    return NULL;
}

const char *broker_types(void)
{
    return "\"kafka\", \"nats\", \"stdout\"";
}

static const struct broker_ops *ops_of(const struct broker *broker)
{
    return ((const struct broker_base *)(const void *)broker)->ops;
}

struct broker *broker_open(const struct sink_options *options, struct error *error)
{
    const struct broker_ops *ops = broker_ops_find(options->type);

    if (ops != NULL)
        return ops->create(options, error);
    error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: type must be one of %s",
              options->name, broker_types());
    return NULL;
}

void broker_close(struct broker *broker)
{
    if (broker != NULL)
        ops_of(broker)->destroy(broker);
}

void broker_end(void)
{
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        if (clients[i]->end != NULL)
            clients[i]->end();
}

void broker_set_patience(struct broker *broker, int patience_ms)
{
    ((struct broker_base *)(void *)broker)->patience_ms = patience_ms;
}

int broker_patience_ms(const struct broker_base *base)
{
    return base->patience_ms > 0 ? base->patience_ms : BROKER_PATIENCE_MS;
}

int broker_ready(struct broker *broker, struct error *error)
{
    return ops_of(broker)->ready(broker, error);
}

void broker_send(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms)
{
    ops_of(broker)->send(broker, batch, sink, deadline_ms);
}

int broker_await(struct broker *broker, struct batch *batch, int sink, int64_t deadline_ms,
                 struct error *error)
{
    return ops_of(broker)->await(broker, batch, sink, deadline_ms, error);
}

bool broker_keeps_order(const struct broker *broker)
{
    return ops_of(broker)->keeps_order != NULL && ops_of(broker)->keeps_order(broker);
}

int64_t broker_payload_max(const struct broker *broker)
{
    return ops_of(broker)->payload_max(broker);
}

int broker_inspect(struct broker *broker, const char *destination, char *warning,
                   size_t warning_size, struct error *error)
{
    warning[0] = '\0';
    return ops_of(broker)->inspect(broker, destination, warning, warning_size, error);
}

int broker_make(struct broker *broker, const char *destination, struct error *error)
{
    return ops_of(broker)->make(broker, destination, error);
}

bool sink_allows(const struct sink_options *options, struct text destination)
{
    for (int i = 0; i < options->allow.count; i++)
        if (match_topic(&options->allowed[i], destination))
            return true;
    return options->allow.count == 0;
}

bool sink_pattern(const char *allowed)
{
    return strpbrk(allowed, "*>") != NULL || strncmp(allowed, "re:", 3) == 0;
}
