#ifndef HTTP_ANSWERS_H
#define HTTP_ANSWERS_H

#include "http/history.h"
#include "http/sampler.h"
#include "relay/report.h"

/* What is answered to a request, from memory. */

struct answer {
    int code; /* of HTTP */
    const char *type;
    char policy[320]; /* Content-Security-Policy; "": none */
    char *body;       /* free() it; NULL: no memory */
    size_t len;
};

struct answer_source {
    const struct relay_options *options;
    const struct relay_report *report;
    struct sampler *sampler;
    const struct history *history;
};

struct answer answer_path(const char *path, const struct answer_source *source);
/* To a method that is neither GET nor HEAD. */
struct answer answer_method(void);

#endif
