#ifndef BASE_BOUNDED_CALL_H
#define BASE_BOUNDED_CALL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A call into a library that may never return (a name lookup, a TLS handshake, a shutdown that
 * joins threads), made on a thread of its own and given up at a deadline.
 *
 * A call that timed out keeps running in the background, because a thread cannot be stopped from
 * outside. Its owner starts no other call until it has returned, so a hanging server holds at most
 * one thread of each owner.
 */

struct bounded_call; /* a call that timed out */

enum bounded_result {
    BOUNDED_DONE,  /* work has returned */
    BOUNDED_LATE,  /* the deadline passed: `argument` now belongs to the call, which frees it */
    BOUNDED_BUSY,  /* nothing was started: the previous call is still running */
    BOUNDED_FAILED /* nothing was started: no memory, or no thread */
};

/*
 * Runs work(argument) and waits for it until deadline_ms (clock_now_ms). After BOUNDED_LATE the
 * call's thread runs drop(argument) as soon as work returns; drop frees `argument` and whatever
 * work created. In every other case `argument` stays the caller's. *late is NULL at first and holds
 * the call that timed out; the caller keeps it from call to call. One thread at a time may use it.
 */
enum bounded_result bounded_call_run(struct bounded_call **late, void (*work)(void *argument),
                                     void (*drop)(void *argument), void *argument,
                                     int64_t deadline_ms);

/* From now on (until `false`) no call is waited for longer than half a second: the process ends,
 * and what it waits for is of no use any more. Any thread may call it. */
void bounded_call_hurry(bool hurry);

/* Whether a call that timed out is still running. */
bool bounded_call_is_running(struct bounded_call **late);

/* Whether any call of this process has ever timed out. Its thread may still be running, and exit(3)
 * would destroy the global state of the library that it is in. */
bool bounded_call_any_timed_out(void);

/* To be called before the owner of `late` is freed. The thread ends when work returns. *late may
 * be NULL. */
void bounded_call_forget(struct bounded_call **late);

/* Reads a file or a FIFO that was opened with O_NONBLOCK to its end, at most `size` bytes, and
 * waits at most `wait_ms` in all; `awaits_writer`: also for a FIFO that nobody has opened for
 * writing yet. Returns the number of bytes, or -1 with errno set; ETIMEDOUT: the time is over. */
ssize_t bounded_read(int fd, char *bytes, size_t size, int wait_ms, bool awaits_writer);

#endif
