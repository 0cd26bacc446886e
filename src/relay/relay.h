#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "base/error.h"
#include "relay/options.h"

enum relay_result {
    RELAY_STOPPED,  /* asked to stop; nothing was left half done */
    RELAY_DRAINED,  /* --drain: nothing is left */
    RELAY_LEFTOVER, /* --drain: parked or dead rows remain */
    RELAY_ABORTED,  /* a second signal, or the shutdown timeout: leave at once */
    RELAY_FAILED    /* *error says why */
};

/*
 * Relays until SIGTERM or SIGINT; with `drain` until nothing is left. Blocks these signals in the
 * calling thread for ever. A schema or permission problem at the start is RELAY_FAILED; a server
 * that cannot be reached is waited for.
 */
enum relay_result relay_run(const struct relay_options *options, bool drain, struct error *error);

#endif
