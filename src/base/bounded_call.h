#ifndef BASE_BOUNDED_CALL_H
#define BASE_BOUNDED_CALL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A call into a library that may never return (a name lookup, a TLS handshake, a shutdown that
 * joins threads), made on a thread of its own and given up at a deadline.
 *
 * A call that was given up goes on in the background, because a thread cannot be ended from
 * outside. Its owner makes no other call until it has returned, so that a hanging server holds one
 * thread of each owner and no more.
 */

struct bounded_call; /* a call that was given up */

enum bounded_result {
    BOUNDED_DONE,  /* work has returned */
    BOUNDED_LATE,  /* given up: `argument` now belongs to the call, which passes it to drop */
    BOUNDED_BUSY,  /* not made: the call given up before has not returned yet */
    BOUNDED_FAILED /* not made: no memory, or no thread */
};

/*
 * Runs work(argument) until deadline_ms (clock_now_ms). After BOUNDED_LATE drop(argument) is called
 * on the call's thread as soon as work returns; drop frees `argument` and what work made. In every
 * other case `argument` stays the caller's. *late belongs to the caller, is NULL at first and
 * remembers the call that was given up. One thread at a time may use it.
 */
enum bounded_result bounded_call_run(struct bounded_call **late, void (*work)(void *argument),
                                     void (*drop)(void *argument), void *argument,
                                     int64_t deadline_ms);

/* Whether a call that was given up has not returned yet. */
bool bounded_call_is_out(struct bounded_call **late);

/* Whether some call of this process was given up. Its thread may still run, and exit(3) would tear
 * down what it uses. */
bool bounded_call_any_given_up(void);

/* Before the owner of `late` goes; the call itself ends when work returns. NULL is allowed. */
void bounded_call_forget(struct bounded_call **late);

#endif
