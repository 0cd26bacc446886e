#include "wake/stop.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

int stop_init(struct stop *stop)
{
    atomic_init(&stop->requested, false);
    stop->fd = eventfd(0, EFD_CLOEXEC);
    return stop->fd < 0 ? -1 : 0;
}

void stop_free(struct stop *stop)
{
    if (stop->fd >= 0)
        (void)close(stop->fd);
    stop->fd = -1;
}

void stop_request(struct stop *stop)
{
    uint64_t one = 1;

    atomic_store(&stop->requested, true);
    while (write(stop->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

bool stop_requested(const struct stop *stop)
{
    return atomic_load(&stop->requested);
}

bool stop_wait(const struct stop *stop, int64_t wait_ms)
{
    int64_t deadline_ms = clock_now_ms() + wait_ms;
    struct pollfd requested = {.fd = stop->fd, .events = POLLIN};

    while (!stop_requested(stop) && clock_left_ms(deadline_ms) > 0)
        (void)poll(&requested, 1, clock_left_ms(deadline_ms));
    return stop_requested(stop);
}
