#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "base/error.h"
#include "broker/broker.h"
#include "message/outcome.h"
#include "route/route.h"
#include "catalog/options.h"

#include <stdint.h>

#define SINKS_MAX 16
#define LANES_MAX 64

struct relay_options {
    int lanes;
    int64_t poll_interval_ms;
    int64_t publish_timeout_ms;
    int64_t shutdown_timeout_ms;
    struct outbox_options outbox;
    struct retry_options retry;
    struct sink_options sinks[SINKS_MAX];
    int sink_count;
    struct routes routes;
};

enum relay_result {
    RELAY_STOPPED,  /* asked to stop; nothing was left half done */
    RELAY_DRAINED,  /* --drain: nothing is left */
    RELAY_LEFTOVER, /* --drain: parked or dead rows remain */
    RELAY_ABORTED,  /* a second signal, or the shutdown timeout: leave at once */
    RELAY_FAILED    /* *error says why */
};

/*
 * Relays until SIGTERM or SIGINT; with `drain` until nothing is left. Blocks these signals in the
 * calling thread for ever. A schema or permission problem at the start is RELAY_FAILED; a server
 * that cannot be reached is waited for.
 */
enum relay_result relay_run(const struct relay_options *options, bool drain, struct error *error);

#endif
