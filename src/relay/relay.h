#ifndef RELAY_RELAY_H
#define RELAY_RELAY_H

#include "base/error.h"
#include "relay/options.h"
#include "relay/report.h"
#include "trace/trace.h"

enum relay_result {
    RELAY_STOPPED,  /* stopped on request; all current batches were finished */
    RELAY_DRAINED,  /* --drain: no row is left */
    RELAY_LEFTOVER, /* --drain: parked or dead rows remain */
    RELAY_ABORTED,  /* a second signal, or the shutdown timeout: leave at once */
    RELAY_FAILED    /* *error says why */
};

struct relay;

/* Allocates; uses no network and starts no thread. Blocks SIGTERM, SIGINT and SIGHUP in the calling
 * thread for good, so call it before any other thread starts. The options must outlive the relay.
 * NULL with *error set on failure. */
struct relay *relay_open(const struct relay_options *options, bool drain, struct error *error);

/* Relays until SIGTERM or SIGINT, or with `drain` until nothing is left. Call it once. A schema or
 * permission problem at the start is RELAY_FAILED; an unreachable server is tried again for
 * ever. */
enum relay_result relay_run(struct relay *relay, struct error *error);

/* Called about once a second in the thread of relay_run, until the lanes have ended. */
void relay_on_tick(struct relay *relay, void (*on_tick)(void *closure), void *closure);

/* SIGHUP calls `read` in the thread of relay_run. The lanes continue with the options that it
 * returns, in which only values that a running relay can change may differ; NULL: with the old
 * ones. */
void relay_on_hangup(struct relay *relay, const struct relay_options *(*read)(void *closure),
                     void *closure);

/* Where the lanes' spans go, which must outlive relay_run(); NULL: nowhere. Call it before that. */
void relay_trace(struct relay *relay, struct trace *trace);

/* The relay's report on itself. Any thread may read it from relay_open to relay_close. */
const struct report *relay_report(const struct relay *relay);

/* Must not be called after RELAY_ABORTED, because threads still use the relay while the process
 * exits. NULL is allowed. */
void relay_close(struct relay *relay);

#endif
