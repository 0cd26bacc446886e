#ifndef HTTP_SAMPLER_H
#define HTTP_SAMPLER_H

#include "http/history.h"
#include "relay/report.h"
#include "source/status.h"

/*
 * A thread that measures the database on its own connection and keeps the last result. It measures
 * every SAMPLER_MS. Where a measurement takes long it measures less often, so that it works for
 * about a twentieth of the time, but at least every SAMPLER_MS_MAX.
 */

#define SAMPLER_MS 5000
#define SAMPLER_MS_MAX 30000
#define SAMPLER_COUNT_MAX 10000 /* counting unsent, parked or dead rows stops here */

struct sample {
    json_t *document;    /* of the last measurement that succeeded (status.h); NULL: none has */
    int64_t taken_at_ms; /* when it ended, clock_now_ms() */
    int64_t took_ms;     /* how long it took */
    bool has_failed;     /* the last attempt failed, with this error */
    bool is_connected;   /* it failed although there was a connection */
    struct error error;
    struct history history;
};

/* The last attempt found no database. */
static inline bool sample_is_unconnected(const struct sample *sample)
{
    return sample->has_failed && !sample->is_connected;
}

struct sampler;

/* NULL: no memory, or no thread. The report must live until sampler_close, and its options until
 * the process ends. */
struct sampler *sampler_open(const struct report *report);
/* Takes at most half a second. A thread that is still waiting for a query then is left behind with
 * its memory. */
void sampler_close(struct sampler *sampler);

/* The last result, valid until sampler_unlock(). */
const struct sample *sampler_lock(struct sampler *sampler);
void sampler_unlock(struct sampler *sampler);

/* Somebody is looking at the relays: for five minutes each measurement asks them about
 * themselves. */
void sampler_want_relays(struct sampler *sampler);

#endif
