/*
 * The only file that knows all clients. A new client is added to the table and to the list of
 * names.
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

struct broker *broker_open(const struct sink_options *options, struct seen *seen,
                           struct error *error)
{
    const struct broker_ops *ops = broker_ops_find(options->type);
    struct broker *broker = ops != NULL ? ops->create(options, error) : NULL;

    if (broker != NULL)
        broker->seen = seen;
    if (ops != NULL)
        return broker;
    error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "[sink.%s]: type must be one of %s",
              options->name, broker_types());
    return NULL;
}

void broker_end(void)
{
    for (size_t i = 0; i < sizeof clients / sizeof *clients; i++)
        if (clients[i]->end != NULL)
            clients[i]->end();
}
