#ifndef TRACE_HEADERS_H
#define TRACE_HEADERS_H

/*
 * Headers for a collector, as OTEL_EXPORTER_OTLP_HEADERS has them: "name=value,name=value", where a
 * value may be percent-encoded. Calls `take`, which may be NULL, with each as "name: value". NULL,
 * or what is wrong with one, which never quotes it.
 */
const char *trace_headers_read(const char *headers, void (*take)(const char *line, void *closure),
                               void *closure);

#endif
