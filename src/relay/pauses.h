#ifndef RELAY_PAUSES_H
#define RELAY_PAUSES_H

#include "message/batch.h"
#include "relay/options.h"
#include "route/match.h"

/*
 * What an operator has paused, as a lane sees it. Rows of a paused sink are left in the outbox, as
 * while a sink is away. Rows of a paused topic or key are parked: they wait for the pause as for a
 * missing destination. So no claim steps over them, no attempt is counted, later rows of their key
 * stay behind them, and one of them is retried from time to time as a probe.
 */

struct pause; /* of a topic or a key */

struct pauses {
    char *text; /* as it was read; NULL: nothing is paused */
    struct pause *entries;
    int count;
};

/* `text`: one pause per line, as described in source/pauses.h. 1: it changed; 0: it is the same;
 * -1: no memory. */
int pauses_read(struct pauses *pauses, const char *text);
void pauses_free(struct pauses *pauses);

/* A bit for each sink that is paused. */
uint64_t pauses_sinks(const struct pauses *pauses, const struct relay_options *options);

/* Call it after routing: makes the rows of a paused topic or key wait. Rows of a sink that is away
 * (a bit each) are left alone, because earlier rows of their key stay in the outbox too. */
void pauses_hold(const struct pauses *pauses, struct batch *batch, uint64_t away);

/* Logs what is paused now. */
void pauses_log(const struct pauses *pauses);

#endif
