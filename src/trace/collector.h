#ifndef TRACE_COLLECTOR_H
#define TRACE_COLLECTOR_H

#include "trace/document.h"
#include "trace/options.h"

#include <stdatomic.h>

/*
 * The OpenTelemetry collector, or what else takes OTLP/HTTP, as one client of libcurl. One thread
 * uses it; any thread may wake it. Every wait is bounded, that for a name lookup too.
 */

struct collector;

enum collector_result {
    COLLECTOR_TOOK,
    COLLECTOR_REFUSED, /* the request, or some of its spans: they are not to be sent again */
    COLLECTOR_AWAY     /* the same request may be taken later */
};

struct collector_answer {
    enum collector_result result;
    unsigned rejected;      /* spans, where it took others of the request */
    int64_t retry_after_ms; /* it wants to be left alone for so long; 0: it did not say */
    int64_t took_ms;
    char error[256]; /* why it did not take all of them; "": it did */
};

/* For the process, before its first thread starts. */
void collector_init(void);

/* NULL: no memory. */
struct collector *collector_open(void);
void collector_close(struct collector *collector);

/* Forgets the connection of earlier options, and keeps no pointer to these. 0, or -1: no memory. */
int collector_configure(struct collector *collector, const struct trace_options *options);

/* Waits for the answer, until the timeout of the options or *leave_at_ms (clock_now_ms), whichever
 * comes first; another thread may change the latter meanwhile. */
void collector_send(struct collector *collector, const struct document *document,
                    const _Atomic int64_t *leave_at_ms, struct collector_answer *answer);

/* Waits for so long, or until collector_wake(). */
void collector_wait(struct collector *collector, int64_t wait_ms);
/* Ends the wait of collector_wait() and has collector_send() look at *leave_at_ms again. Does not
 * wait itself. */
void collector_wake(struct collector *collector);

/* Where spans go for an endpoint: without a path it gets that of the specification. Returns `out`.
 */
char *collector_url(char *out, size_t size, const char *endpoint);

#endif
