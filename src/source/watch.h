#ifndef SOURCE_WATCH_H
#define SOURCE_WATCH_H

#include "base/error.h"
#include "source/answer.h"
#include "source/source.h"
#include "wake/wake.h"

/*
 * The watcher's session, beside those of the lanes. It maintains what the process shares
 * (source.h), makes claimed rows durable for the lanes, wakes them when there may be new rows,
 * answers `status`, and keeps what brokers have acknowledged. Used by one thread. No call takes
 * longer than a few statement timeouts. Functions that return int return 0, or -1 with *error set;
 * then call watch_disconnect().
 */

struct watch;

#define WATCH_NAME_BYTES 51 /* of a name that watch_rename() can show, with its NUL */

/* What the session asks of its process. */
struct watch_process {
    struct wake *wake;                     /* NULL: no lane waits for inserts */
    uint64_t (*count_sent)(void *closure); /* rows sent so far */
    /* Writes what the process says of itself (answer.h), with the table's number. Returns `out`.
     * NULL: it answers no question. */
    char *(*describe)(void *closure, uint32_t table, char out[STATUS_ANSWER_BYTES]);
    void *closure;
};

/* Allocates without connecting. `name` becomes part of the session's name. NULL: no memory. */
struct watch *watch_open(const struct outbox_options *options, const char *name,
                         struct source *source, const struct watch_process *process);
void watch_close(struct watch *watch);

/* Connects, from which time on the session can answer questions. After a failure it is
 * disconnected. */
int watch_connect(struct watch *watch, struct error *error);
/* Prepares for ticks. The session answers questions before, and while it cannot be done. */
int watch_describe(struct watch *watch, struct error *error);
/* Wakes the lanes if the session would have woken them: it may have missed something. */
void watch_disconnect(struct watch *watch);
bool watch_is_connected(const struct watch *watch);
/* Makes the session's name "outbox-relay/" and `name`, until the session ends. */
int watch_rename(struct watch *watch, const char *name, struct error *error);

/* ---- called in each turn of the watcher's loop; they do what is due */

/* Makes durable what lanes wait for, and tells them. */
int watch_flush(struct watch *watch, struct error *error);
/* Fails the waits of all lanes with *error. */
void watch_fail_flush(struct watch *watch, const struct error *error);
/* Reads what has arrived, without waiting, and wakes the lanes. */
int watch_hear(struct watch *watch, struct error *error);
/* Starts, and keeps up, what makes inserts wake the lanes. The tables are described. */
int watch_listen(struct watch *watch, struct error *error);
/* Answers the questions that have arrived. */
int watch_answer(struct watch *watch, struct error *error);
/* Waits until something arrives, a lane waits for watch_flush(), `stop_fd` is readable, or
 * `until_ms` (clock_now_ms). Returns true when the next tick is due at once. */
bool watch_wait(struct watch *watch, int stop_fd, int64_t until_ms);

/* ---- called about once a second, and sooner when a tick asks for it */

/* *again_ms: when the next tick is due. *opened: claims have waited for this tick. */
int watch_tick(struct watch *watch, int64_t *again_ms, bool *opened, struct error *error);
/* With order = "key": whether somebody who is no relay has locked what lanes lock to claim: returns
 * 1 with *holder set, which names him; 0; or -1. */
int watch_find_holder(struct watch *watch, struct error *holder, struct error *error);

/* ---- what brokers have acknowledged (acknowledged.h), in the control table */

/* Its name, for messages. */
const char *watch_control_table(const struct watch *watch);
/* `items`: a JSON array of objects with name and the fields of struct acknowledged. */
int watch_keep_acknowledged(struct watch *watch, const char *items, struct error *error);
/* `loss`: a JSON object with name, sink, destination ("": all of the sink), text and since. What
 * was acknowledged there is forgotten. */
int watch_keep_loss(struct watch *watch, const char *loss, struct error *error);

#endif
