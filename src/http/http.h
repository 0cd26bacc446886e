#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "relay/report.h"

/*
 * The HTTP server of `run`: /metrics, /healthz, /readyz, /status and the status page. Two threads
 * of its own: one that serves, from memory only, and one that measures the database every few
 * seconds. Whatever clients do, lanes never wait for either.
 */

struct http;

/* Starts it. An address that cannot be listened on is tried again and again. `listen` and the
 * report's options outlive the process's threads; the report must live until http_close. NULL:
 * there is none, because `listen` is "", or because of what the log says. */
struct http *http_open(const char *listen, const struct report *report);

/* Within a second. NULL is allowed. */
void http_close(struct http *http);

#endif
