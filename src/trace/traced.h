#ifndef TRACE_TRACED_H
#define TRACE_TRACED_H

#include "broker/sink.h"
#include "message/batch.h"
#include "trace/trace.h"

/* What a lane notes of those rows of its batch whose traces are sampled. It costs the others only a
 * look at the names of their headers, and nothing while no spans are wanted. */

struct traced_row;

struct traced {
    struct traced_row *rows; /* in the batch's memory; NULL: none */
    int64_t claimed_us;
};

/* The batch was claimed. To be called before its headers become those of CloudEvents. */
void traced_claim(struct traced *traced, const struct trace *trace, struct batch *batch);
/* The messages of `sink` in the current wave are handed to their broker now. */
void traced_publish(struct traced *traced, const struct batch *batch, int sink);
/* Those of `sink` have been acknowledged that have such a verdict. */
void traced_acknowledge(struct traced *traced, const struct batch *batch, int sink);
/* Makes the spans: of what was acknowledged, and if it was settled, also of what is dead. */
void traced_end(struct traced *traced, struct trace *trace, const struct batch *batch,
                const struct sink_options *sinks, bool settled);

#endif
