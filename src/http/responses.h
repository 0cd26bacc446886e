#ifndef HTTP_RESPONSES_H
#define HTTP_RESPONSES_H

#include "http/history.h"
#include "http/sampler.h"
#include "relay/report.h"

/* Builds the response to a request from what is in memory. */

struct response {
    int code; /* the HTTP status */
    const char *type;
    char policy[320]; /* Content-Security-Policy; "": none */
    char *body;       /* owned by the caller: free() it; NULL: no memory */
    size_t len;
};

struct response_source {
    const struct relay_options *options;
    const struct relay_report *report;
    struct sampler *sampler;
    const struct history *history;
};

struct response response_for_path(const char *path, const struct response_source *source);
/* The response to a method other than GET and HEAD. */
struct response response_to_method(void);
/* The response to a request whose Host is not one of this machine. */
struct response response_to_host(void);

#endif
