#ifndef BROKER_CLIENTS_H
#define BROKER_CLIENTS_H

#include "broker/broker.h"

/* The list of clients. */

/* NULL for an unknown type; broker_types() lists the known ones for messages. */
const struct broker_ops *broker_ops_find(const char *type);
const char *broker_types(void);

struct broker *broker_open(const struct sink_options *options, struct error *error);
/* Call after the last broker_close(): a library whose threads outlive main() may crash at exit. */
void broker_end(void);

#endif
