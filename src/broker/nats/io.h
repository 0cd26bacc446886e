#ifndef BROKER_NATS_IO_H
#define BROKER_NATS_IO_H

#include "route/rules.h"

#include <nats/nats.h>
#include <stdbool.h>

#define NATS_TOKEN_BYTES 11 /* 64 bits and more; no terminator */
#define NATS_INBOX_BYTES (NATS_INBOX_PREFIX_BYTES_MAX + 24)
#define NATS_REPLY_BYTES (NATS_INBOX_BYTES + 34)

/* What the library says of a connection's socket. It outlives the connection. */
struct nats_io {
    natsConnection *connection;
    natsSock socket; /* -1: the library's own threads have it, or it is closed */
    bool wants_write;
};

#endif
