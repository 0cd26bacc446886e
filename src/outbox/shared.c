/*
 * What lanes tell each other.
 *
 * A lane's bound of a slice stands where it was when the lane worked on that last, and what the
 * others have sent since is walked over again. So each tells where its bounds come to, and takes
 * over what is told.
 *
 * A bound must not outlive the server that it was found by: a crash may lose a COMMIT that was
 * answered, with synchronous_commit off, and a failover any. Every lane notices, for its connection
 * ends; so a lane that connects begins a new epoch with nothing told, and what was asked for before
 * is not told any more: whatever is told has been asked for when that connection stood, and was
 * answered by the same server.
 */
#include "outbox/shared.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define DISTRUST_MS 60000

struct shared {
    pthread_mutex_t mutex;
    struct server server; /* whose bounds these are */
    uint32_t epoch;       /* from 1 on */
    int64_t distrust_ms;  /* until then nothing is told */
    int64_t *firsts;
    int count;
    atomic_bool *sure;
};

static void begin_epoch(struct shared *shared)
{
    shared->epoch++;
    if (shared->epoch == 0)
        shared->epoch = 1;
    for (int i = 0; i < shared->count; i++)
        shared->firsts[i] = BOUNDS_UNKNOWN;
}

struct shared *shared_open(int slices)
{
    struct shared *shared = calloc(1, sizeof *shared);

    if (shared == NULL)
        return NULL;
    shared->count = slices > 0 ? slices : 1;
    shared->firsts = calloc((size_t)shared->count, sizeof *shared->firsts);
    shared->sure = calloc((size_t)shared->count, sizeof *shared->sure);
    if (shared->firsts == NULL || shared->sure == NULL ||
        pthread_mutex_init(&shared->mutex, NULL) != 0) {
        free(shared->firsts);
        free(shared->sure);
        free(shared);
        return NULL;
    }
    begin_epoch(shared);
    return shared;
}

void shared_close(struct shared *shared)
{
    if (shared == NULL)
        return;
    (void)pthread_mutex_destroy(&shared->mutex);
    free(shared->firsts);
    free(shared->sure);
    free(shared);
}

atomic_bool *shared_sure(struct shared *shared)
{
    return shared->sure;
}

void shared_join(struct shared *shared, const struct server *server)
{
    (void)pthread_mutex_lock(&shared->mutex);
    begin_epoch(shared);
    shared->server = *server;
    (void)pthread_mutex_unlock(&shared->mutex);
}

bool shared_has_passed(struct shared *shared, int slice, int64_t id)
{
    bool passed;

    (void)pthread_mutex_lock(&shared->mutex);
    passed = id < shared->firsts[slice];
    (void)pthread_mutex_unlock(&shared->mutex);
    return passed;
}

void shared_distrust(struct shared *shared, int64_t now_ms)
{
    (void)pthread_mutex_lock(&shared->mutex);
    begin_epoch(shared);
    shared->distrust_ms = now_ms + DISTRUST_MS;
    (void)pthread_mutex_unlock(&shared->mutex);
}

/* A lane may still be connected to the primary that was replaced. */
static bool is_of(const struct shared *shared, const struct server *server)
{
    return shared->server.timeline == server->timeline &&
           strcmp(shared->server.system, server->system) == 0;
}

uint32_t shared_learn(struct shared *shared, const struct server *server, struct bounds *bounds,
                      int64_t now_ms)
{
    uint32_t epoch = 0;

    (void)pthread_mutex_lock(&shared->mutex);
    if (now_ms >= shared->distrust_ms && is_of(shared, server)) {
        bounds_learn(bounds, shared->firsts);
        epoch = shared->epoch;
    }
    (void)pthread_mutex_unlock(&shared->mutex);
    return epoch;
}

void shared_tell(struct shared *shared, uint32_t epoch, int slice, int64_t first)
{
    (void)pthread_mutex_lock(&shared->mutex);
    if (epoch == shared->epoch && first > shared->firsts[slice])
        shared->firsts[slice] = first;
    (void)pthread_mutex_unlock(&shared->mutex);
}
