#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "base/error.h"
#include "relay/options.h"
#include "relay/report.h"

enum relay_result {
    RELAY_STOPPED,  /* asked to stop; nothing was left half done */
    RELAY_DRAINED,  /* --drain: nothing is left */
    RELAY_LEFTOVER, /* --drain: parked or dead rows remain */
    RELAY_ABORTED,  /* a second signal, or the shutdown timeout: leave at once */
    RELAY_FAILED    /* *error says why */
};

struct relay;

/* Allocates; no network, no thread. Blocks SIGTERM, SIGINT and SIGHUP in the calling thread for
 * ever, so call it before another thread starts. The options outlive it. NULL with *error set. */
struct relay *relay_open(const struct relay_options *options, bool drain, struct error *error);

/* Relays, once, until SIGTERM or SIGINT; with `drain` until nothing is left. A schema or permission
 * problem at the start is RELAY_FAILED; a server that cannot be reached is waited for. */
enum relay_result relay_run(struct relay *relay, struct error *error);

/* What it knows of itself, for any thread from relay_open to relay_close. */
const struct report *relay_report(const struct relay *relay);

/* Not after RELAY_ABORTED: threads still use it, and the process leaves. NULL is allowed. */
void relay_close(struct relay *relay);

#endif
