#ifndef BROKER_NATS_IO_H
#define BROKER_NATS_IO_H

#include "route/rules.h"

#include <nats/nats.h>
#include <stdbool.h>

#define NATS_TOKEN_BYTES 11 /* 66 random bits; no terminator */
#define NATS_INBOX_BYTES (NATS_INBOX_PREFIX_BYTES_MAX + 24)
#define NATS_REPLY_BYTES (NATS_INBOX_BYTES + 34)

/* The state of a connection's socket, as the library reports it. It outlives the connection. */
struct nats_io {
    natsConnection *connection;
    natsSock socket;  /* -1: closed, or owned by the library's threads */
    bool wants_write; /* the library has bytes to write */
};

#endif
