#ifndef RELAY_PAUSES_H
#define RELAY_PAUSES_H

#include "message/batch.h"
#include "relay/options.h"
#include "route/match.h"

/*
 * What an operator has paused, as a lane sees it. Rows of a paused sink are left in the outbox, as
 * while a sink is away. Rows of a paused topic or key are parked: they wait for the pause as for a
 * destination that is not there, so that no claim steps over them, no attempt is counted, later
 * rows of their key stay behind them, and one of them tries now and then whether it may go.
 */

struct pause; /* of a topic or a key */

struct pauses {
    char *text; /* as it was read; NULL: nothing is paused */
    struct pause *entries;
    int count;
};

/* `text`: one thing a line, as catalog/pauses.h has it. 1: it is another than before; 0: it is the
 * same; -1: no memory. */
int pauses_read(struct pauses *pauses, const char *text);
void pauses_free(struct pauses *pauses);

/* A bit for each sink that is paused. */
uint64_t pauses_sinks(const struct pauses *pauses, const struct relay_options *options);

/* After routing: rows of a paused topic or key wait. Those of a sink that is away (a bit each) stay
 * where they are, because earlier rows of their key do. */
void pauses_hold(const struct pauses *pauses, struct batch *batch, uint64_t away);

/* Says what is paused now. */
void pauses_log(const struct pauses *pauses);

#endif
