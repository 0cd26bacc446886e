#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/finding.h"
#include "trace/options.h"
#include "trace/span.h"

/*
 * Sends a span for each row of a sampled trace to a collector, over OTLP/HTTP, from one thread that
 * no lane waits for. What the collector does not take is tried again for a quarter of a minute and
 * then dropped; so is what lanes make meanwhile and the queue cannot hold.
 */

struct trace;

/* For the process, before its first thread starts. */
void trace_init(void);

/* Copies the options. `instance` names this process. Starts a thread if there is an endpoint, so
 * signals must be blocked. NULL, logged: no memory; the functions below allow it. */
struct trace *trace_open(const struct trace_options *options, const char *instance);
/* Other options: between two requests the thread takes a copy of them. */
void trace_configure(struct trace *trace, const struct trace_options *options);
/* Call when no lane runs any more. What waits is sent, once, within about a second; then the rest
 * is dropped. */
void trace_close(struct trace *trace);

/* Whether spans are wanted. Any thread. */
bool trace_is_on(const struct trace *trace);
/* Copies the span, or drops it; never waits. Any thread. */
void trace_put(struct trace *trace, const struct span *span);

enum trace_state {
    TRACE_OFF,
    TRACE_UNKNOWN, /* no span was sent yet */
    TRACE_UP,
    TRACE_AWAY /* the collector does not take spans, or not all */
};

struct trace_report {
    enum trace_state state;
    int64_t state_for_ms;
    uint64_t waiting; /* spans in the queue */
    uint64_t sent;
    uint64_t dropped; /* the queue was full, or the process ended */
    uint64_t failed;  /* the collector has not taken them */
    char error[256];  /* the last one; "": none */
};

/* Any thread. */
void trace_read(struct trace *trace, struct trace_report *out);
/* "off", "unknown", "up" or "away" */
const char *trace_state_name(enum trace_state state);

/* For `check`: asks the collector to take a request without spans, and says what it does. Adds
 * nothing when there is no endpoint. */
void trace_inspect(const struct trace_options *options, struct findings *findings);

#endif
