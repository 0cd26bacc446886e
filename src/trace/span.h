#ifndef TRACE_SPAN_H
#define TRACE_SPAN_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* One row's way through the relay, as it leaves for a collector. It has a fixed size and holds no
 * payload and no key. Its texts are cut to their size, and may be UTF-8 or not. */

#define SPAN_TRACE_BYTES 33  /* 32 hexadecimal digits */
#define SPAN_ID_BYTES 17     /* 16 of them */
#define SPAN_STATE_BYTES 513 /* what every tracestate may have, W3C Trace Context 3.3.1.5 */
#define SPAN_TEXT_BYTES 257

/* What the headers of a row say about its trace. */
struct span_parent {
    char trace_id[SPAN_TRACE_BYTES];
    char id[SPAN_ID_BYTES]; /* of the span that inserted the row */
};

struct span {
    struct span_parent parent;
    char id[SPAN_ID_BYTES];
    char state[SPAN_STATE_BYTES]; /* tracestate; "": none */
    int64_t created_us;           /* this and the next: microseconds since 1970; 0: not known */
    int64_t claimed_us;
    int64_t published_us;    /* when it was handed to its broker; 0: it was not */
    int64_t acknowledged_us; /* 0: it was not, and the row is dead */
    int64_t ended_us;
    const char *sink;    /* its name, which outlives the process's threads; NULL: none */
    const char *system;  /* its type */
    const char *failure; /* static text: why the row is dead; NULL: it is not */
    char reason[SPAN_TEXT_BYTES];
    char event_id[SPAN_TEXT_BYTES];
    char row[SPAN_TEXT_BYTES];
    char topic[SPAN_TEXT_BYTES];
    char destination[SPAN_TEXT_BYTES];
    int attempts;
};

/* Reads a `traceparent` (W3C Trace Context). Whether it is valid and says that the trace is
 * sampled; else *parent is undefined. */
bool span_read_parent(struct text traceparent, struct span_parent *parent);

/* Whether a `tracestate` may be passed on: printable ASCII, and not too long. */
bool span_takes_state(struct text tracestate);

/* Copies what fits, and no part of a character. */
void span_copy(char *out, size_t size, struct text text);

#endif
