#ifndef RELAY_OPTIONS_H
#define RELAY_OPTIONS_H

#include "broker/sink.h"
#include "message/outcome.h"
#include "route/route.h"
#include "source/options.h"

#include <stdint.h>

/* The configuration of the whole relay, filled in by config/. */

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
    struct {
        char *source; /* owned, like the next two */
        char *type;
        char *content_type;
    } cloudevents;
    struct routes routes;
};

#endif
