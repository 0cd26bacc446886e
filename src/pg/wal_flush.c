#include "pg/wal_flush.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct wal_flush {
    pthread_mutex_t mutex;
    pthread_cond_t done;
    int fd;
    uint64_t requested;   /* number of the latest wait; waits are numbered from 1 */
    uint64_t flushed;     /* number of the latest wait whose flush succeeded */
    uint64_t failed;      /* number of the latest wait whose flush failed */
    struct server server; /* the server that did the flush `flushed` */
    struct error error;   /* why the flush `failed` failed */
};

struct wal_flush *wal_flush_open(void)
{
    struct wal_flush *flush = calloc(1, sizeof *flush);

    if (flush == NULL)
        return NULL;
    flush->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (flush->fd >= 0 && pthread_mutex_init(&flush->mutex, NULL) == 0) {
        if (pthread_cond_init(&flush->done, NULL) == 0)
            return flush;
        (void)pthread_mutex_destroy(&flush->mutex);
    }
    if (flush->fd >= 0)
        (void)close(flush->fd);
    free(flush);
    return NULL;
}

void wal_flush_close(struct wal_flush *flush)
{
    if (flush == NULL)
        return;
    (void)pthread_cond_destroy(&flush->done);
    (void)pthread_mutex_destroy(&flush->mutex);
    (void)close(flush->fd);
    free(flush);
}

int wal_flush_fd(const struct wal_flush *flush)
{
    return flush->fd;
}

/* Any flush that began after the wait serves it, even if others failed in between. */
static int result_of(const struct wal_flush *flush, uint64_t number, const struct server *server,
                     struct error *error)
{
    if (flush->flushed < number && flush->failed >= number)
        *error = flush->error;
    else if (flush->flushed < number)
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the log was not flushed within %d ms", WAL_FLUSH_MS_MAX);
    else if (!server_is_same(&flush->server, server))
        (void)error_set(error, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: the session that flushes the log reached another server");
    else
        return 0;
    return -1;
}

int wal_flush_wait(struct wal_flush *flush, const struct server *server, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + WAL_FLUSH_MS_MAX;
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ms / 1000),
                                .tv_nsec = (long)(deadline_ms % 1000) * 1000000};
    uint64_t one = 1;
    uint64_t number;
    int status = 0;

    (void)pthread_mutex_lock(&flush->mutex);
    number = ++flush->requested;
    (void)!write(flush->fd, &one, sizeof one); /* EAGAIN: it is readable already */
    while (flush->flushed < number && flush->failed < number && status != ETIMEDOUT)
        status = pthread_cond_clockwait(&flush->done, &flush->mutex, CLOCK_MONOTONIC, &deadline);
    status = result_of(flush, number, server, error);
    (void)pthread_mutex_unlock(&flush->mutex);
    return status;
}

uint64_t wal_flush_wanted(struct wal_flush *flush)
{
    uint64_t wanted;

    (void)pthread_mutex_lock(&flush->mutex);
    wanted = flush->requested > flush->flushed && flush->requested > flush->failed
                 ? flush->requested
                 : 0;
    (void)pthread_mutex_unlock(&flush->mutex);
    return wanted;
}

void wal_flush_done(struct wal_flush *flush, uint64_t number, const struct server *server,
                    const struct error *error)
{
    (void)pthread_mutex_lock(&flush->mutex);
    if (error == NULL) {
        flush->flushed = number;
        flush->server = *server;
    } else {
        flush->failed = number;
        flush->error = *error;
    }
    (void)pthread_cond_broadcast(&flush->done);
    (void)pthread_mutex_unlock(&flush->mutex);
}
