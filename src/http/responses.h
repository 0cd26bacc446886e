#ifndef HTTP_RESPONSES_H
#define HTTP_RESPONSES_H

#include "http/sampler.h"
#include "relay/report.h"

#include <stdio.h>

/* Builds the response to a request from what is in memory. */

struct response {
    int code; /* the HTTP status */
    const char *type;
    const char *policy; /* Content-Security-Policy; NULL: none */
    char *body;         /* owned by the caller: free() it; NULL: no memory */
    size_t len;
};

struct response_source {
    const struct relay_options *options;
    const struct relay_report *report;
    struct sampler *sampler;
};

struct response response_for_path(const char *path, const struct response_source *source);
/* The response to a method other than GET and HEAD. */
struct response response_to_method(void);
/* The response to a request whose Host is not one of this machine. */
struct response response_to_host(void);

/* What /status answers (docs/monitoring.md), and the metrics are drawn from; json_decref() it.
 * NULL: no memory. */
json_t *status_document(const struct relay_options *options, const struct relay_report *report,
                        const struct sample *sample);

#endif
