#ifndef HTTP_SAMPLER_H
#define HTTP_SAMPLER_H

#include "admin/gauges.h"
#include "admin/status.h"
#include "relay/report.h"

/*
 * A thread that measures the database, on a connection of its own, and keeps the last result for
 * all who ask. It measures every SAMPLER_MS, and less often where a measurement takes long: then it
 * is at work for a twentieth of the time, or rests for SAMPLER_MS_MAX.
 */

#define SAMPLER_MS 5000
#define SAMPLER_MS_MAX 30000
#define SAMPLER_COUNT_MAX 10000 /* a larger backlog is estimated */

struct sample {
    bool is_known;    /* at least one measurement succeeded: status and gauges are of the last */
    int64_t taken_ms; /* when, clock_now_ms() */
    int64_t took_ms;
    struct status status;
    struct gauges gauges;
    bool has_failed;   /* the last measurement: */
    bool is_connected; /* it has failed on a connection that works */
    struct error error;
};

struct sampler;

/* NULL: no memory, or no thread. The report must live until sampler_close, its options for ever. */
struct sampler *sampler_open(const struct report *report);
/* Within half a second; a thread that a query keeps longer goes on by itself, with its memory. */
void sampler_close(struct sampler *sampler);

/* The last result, valid until sampler_unlock(). */
const struct sample *sampler_lock(struct sampler *sampler);
void sampler_unlock(struct sampler *sampler);

/* Somebody looks at the relays: for a while they are asked what they know of themselves. */
void sampler_want_relays(struct sampler *sampler);

#endif
