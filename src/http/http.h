#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "relay/report.h"

/*
 * The HTTP server of `run`: /metrics, /healthz, /readyz, /status and the status page. It has two
 * threads: one serves, from memory only; the other measures the database every few seconds.
 * Whatever clients do, lanes never wait for either of them.
 */

struct http;

/* Starts the server. While the address cannot be listened on, it keeps trying. `listen` and the
 * report's options must outlive all threads of the process; the report must live until http_close.
 * NULL: nothing is served, because `listen` is "", or for a reason that has been logged. */
struct http *http_open(const char *listen, const struct report *report);

/* Takes at most a second. NULL is allowed. */
void http_close(struct http *http);

#endif
