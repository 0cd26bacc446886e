#ifndef RELAY_STATUS_REPLIES_H
#define RELAY_STATUS_REPLIES_H

#include "relay/report.h"
#include "source/answer.h"

/* What this process replies to `status`. */

struct status_replies {
    const struct report *report;
    struct {
        uint64_t sent;
        int64_t at_ms;
    } marks[2]; /* for the rate; the older one is 5 to 10 s old */
};

/* Call it about once a second. */
void status_replies_tick(struct status_replies *replies);

/* What the process says of itself (source/answer.h). Shortens errors, and then leaves out lanes,
 * until it fits. Returns `out`; "": no memory. */
char *status_replies_write(const struct status_replies *replies, uint32_t table,
                           char out[STATUS_ANSWER_BYTES]);

#endif
