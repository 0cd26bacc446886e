#ifndef TRACE_DOCUMENT_H
#define TRACE_DOCUMENT_H

#include "trace/queue.h"

/* Spans as OTLP/HTTP carries them: an ExportTraceServiceRequest in JSON, with the attributes of
 * OpenTelemetry's conventions for messaging. */

struct document {
    char *text; /* free() it; NULL: no memory */
    size_t len;
};

/* Of the first `count` spans of the queue; 0 makes a request with none. `instance` names this
 * process. */
struct document document_make(const struct span_queue *queue, unsigned count,
                              const char *service_name, const char *instance);

#endif
