#ifndef TRACE_OPTIONS_H
#define TRACE_OPTIONS_H

#include <stdint.h>

/* [trace] of the configuration, filled in by config/. The strings are owned. */
struct trace_options {
    char *endpoint;     /* the collector's URL; NULL: no spans are made */
    char *headers;      /* for the collector, "name=value,name=value"; a secret; NULL: none */
    char *service_name; /* who the spans say made them */
    char *tls_ca_file;  /* NULL: the system's */
    int64_t timeout_ms; /* of one request */
};

#endif
