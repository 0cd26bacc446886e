#include "base/bounded_call.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define HURRY_MS 500
#define LOOK_MS 100 /* how often a call that is waited for looks whether there is a hurry */

struct bounded_call {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void (*work)(void *argument);
    void (*drop)(void *argument);
    void *argument;
    bool returned;
    bool timed_out;
    int users; /* references: one of the thread, one of the owner */
};

static atomic_bool any_timed_out;
static _Atomic int64_t hurry_at_ms; /* since when there is a hurry; 0: there is none */

void bounded_call_hurry(bool hurry)
{
    atomic_store(&hurry_at_ms, hurry ? clock_now_ms() : 0);
}

/* A call that begins in a hurry has a moment too: most return at once. */
static int64_t choose_deadline_ms(int64_t began_ms, int64_t deadline_ms)
{
    int64_t since_ms = atomic_load(&hurry_at_ms);

    if (since_ms == 0)
        return deadline_ms;
    since_ms = since_ms > began_ms ? since_ms : began_ms;
    return since_ms + HURRY_MS < deadline_ms ? since_ms + HURRY_MS : deadline_ms;
}

static struct bounded_call *make(void (*work)(void *argument), void (*drop)(void *argument),
                                 void *argument)
{
    struct bounded_call *call = calloc(1, sizeof *call);

    if (call == NULL)
        return NULL;
    *call = (struct bounded_call){.work = work, .drop = drop, .argument = argument, .users = 2};
    if (pthread_cond_init(&call->changed, NULL) == 0) {
        if (pthread_mutex_init(&call->mutex, NULL) == 0)
            return call;
        (void)pthread_cond_destroy(&call->changed);
    }
    free(call);
    return NULL;
}

static void destroy(struct bounded_call *call)
{
    (void)pthread_mutex_destroy(&call->mutex);
    (void)pthread_cond_destroy(&call->changed);
    free(call);
}

static void release(struct bounded_call *call)
{
    bool last;

    (void)pthread_mutex_lock(&call->mutex);
    last = --call->users == 0;
    (void)pthread_mutex_unlock(&call->mutex);
    if (last)
        destroy(call);
}

static void *run(void *context)
{
    struct bounded_call *call = context;
    bool timed_out;

    call->work(call->argument);
    (void)pthread_mutex_lock(&call->mutex);
    timed_out = call->timed_out;
    if (!timed_out)
        call->returned = true;
    (void)pthread_cond_signal(&call->changed);
    (void)pthread_mutex_unlock(&call->mutex);
    if (timed_out) {
        call->drop(call->argument);
        (void)pthread_mutex_lock(&call->mutex);
        call->returned = true;
        (void)pthread_mutex_unlock(&call->mutex);
    }
    release(call);
    return NULL;
}

/* Whether work returned before the deadline. */
static bool await(struct bounded_call *call, int64_t deadline_ms)
{
    int64_t began_ms = clock_now_ms();
    int left_ms;
    bool returned;

    (void)pthread_mutex_lock(&call->mutex);
    while (!call->returned &&
           (left_ms = clock_left_ms(choose_deadline_ms(began_ms, deadline_ms))) > 0) {
        int64_t look_at_ms = clock_now_ms() + (left_ms < LOOK_MS ? left_ms : LOOK_MS);
        struct timespec look_at = {.tv_sec = (time_t)(look_at_ms / 1000),
                                   .tv_nsec = (long)(look_at_ms % 1000) * 1000000};

        (void)pthread_cond_clockwait(&call->changed, &call->mutex, CLOCK_MONOTONIC, &look_at);
    }
    returned = call->returned;
    call->timed_out = !returned;
    if (call->timed_out)
        atomic_store(&any_timed_out, true);
    (void)pthread_mutex_unlock(&call->mutex);
    return returned;
}

bool bounded_call_is_running(struct bounded_call **late)
{
    bool returned;

    if (*late == NULL)
        return false;
    (void)pthread_mutex_lock(&(*late)->mutex);
    returned = (*late)->returned;
    (void)pthread_mutex_unlock(&(*late)->mutex);
    if (returned)
        bounded_call_forget(late);
    return !returned;
}

bool bounded_call_any_timed_out(void)
{
    return atomic_load(&any_timed_out);
}

void bounded_call_forget(struct bounded_call **late)
{
    if (*late != NULL)
        release(*late);
    *late = NULL;
}

enum bounded_result bounded_call_run(struct bounded_call **late, void (*work)(void *argument),
                                     void (*drop)(void *argument), void *argument,
                                     int64_t deadline_ms)
{
    struct bounded_call *call;
    pthread_t thread;

    if (bounded_call_is_running(late))
        return BOUNDED_BUSY;
    call = make(work, drop, argument);
    if (call == NULL)
        return BOUNDED_FAILED;
    if (pthread_create(&thread, NULL, run, call) != 0) {
        destroy(call);
        return BOUNDED_FAILED;
    }
    if (!await(call, deadline_ms)) {
        (void)pthread_detach(thread);
        *late = call;
        return BOUNDED_LATE;
    }
    (void)pthread_join(thread, NULL);
    release(call);
    return BOUNDED_DONE;
}

/* read(2) returns 0 for a FIFO without a writer; poll(2) tells this from a real end of file. */
ssize_t bounded_read(int fd, char *bytes, size_t size, int wait_ms, bool awaits_writer)
{
    struct pollfd in = {.fd = fd, .events = POLLIN};
    int64_t deadline_ms = clock_now_ms() + wait_ms;
    bool waits = awaits_writer;
    size_t len = 0;

    while (len < size) {
        ssize_t count;

        if (waits && poll(&in, 1, clock_left_ms(deadline_ms)) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        count = read(fd, bytes + len, size - len);
        if (count == 0)
            break;
        if (count > 0)
            len += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN)
            return -1;
        waits = awaits_writer || count < 0;
    }
    return (ssize_t)len;
}
