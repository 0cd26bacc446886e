#ifndef OUTBOX_POSITION_H
#define OUTBOX_POSITION_H

#include "outbox/state.h"

/* With on_sent = "position": adapts the positions to ids that may begin anew, after a TRUNCATE, a
 * restore, or because the sequence was set back; docs/internals/position.md says how. To be called
 * when a lane has connected. Returns 0, or -1 with *error set. */
int position_settle(struct outbox *outbox, struct error *error);

#endif
