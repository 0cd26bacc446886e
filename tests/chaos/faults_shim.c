/*
 * Preloaded into a relay, it makes the C library misbehave on command: the wall clock jumps, an
 * allocation fails, a call is interrupted, a read or write is short, a name does not resolve. A
 * test steers it through a file that both map (faults_case.py, Shim, has the same field order).
 *
 * The monotonic clock is left alone. A wait that ends at a time of the wall clock ends when the
 * shifted clock says so, as it would if the machine's clock had jumped.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { RESOLVE_AS_ALWAYS, RESOLVE_NOT, RESOLVE_TO_NOBODY, RESOLVE_LATE };

enum { FAIL_ANY, FAIL_LIBPQ };

struct control {
    _Atomic int64_t clock_offset_s;
    _Atomic int64_t allocations; /* made since the start */
    _Atomic int64_t fail_at;     /* the first allocation that may fail; 0: none */
    _Atomic int64_t failed;
    _Atomic int64_t interrupt_every; /* each n-th poll, recv or send is interrupted; 0: none */
    _Atomic int64_t interrupted;
    _Atomic int64_t short_bytes; /* no recv or send takes more; 0: no limit */
    _Atomic int64_t resolve;     /* RESOLVE_*, for names that end in ".test" */
    _Atomic int64_t resolved;
    _Atomic int64_t fail_whose; /* FAIL_*: whose allocations count */
    _Atomic int64_t shortened;
    char padding[1024 - 11 * 8];
    char whose[256]; /* the object that made the allocation that failed */
};

static struct control nothing;
static struct control *control = &nothing;

__attribute__((constructor)) static void map_control(void)
{
    const char *path = getenv("SHIM");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped;

    if (fd < 0)
        return;
    mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (mapped != MAP_FAILED)
        control = mapped;
}

/* ---- the wall clock ---- */

int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*next)(clockid_t, struct timespec *);
    int status;

    if (next == NULL)
        next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    status = next(id, time);
    if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        time->tv_sec += control->clock_offset_s;
    return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0)
        return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL)
        *out = now.tv_sec;
    return now.tv_sec;
}

/* A monotonic time is the machine's uptime, and far from what a wall clock shows. */
#define WALL_CLOCK_S 1000000000

int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec real = *until;

    if (next == NULL)
        next = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(
            RTLD_NEXT, "pthread_cond_timedwait");
    if (real.tv_sec > WALL_CLOCK_S)
        real.tv_sec -= control->clock_offset_s;
    return next(cond, mutex, &real);
}

/* ---- memory ---- */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

/* Not from within the loader, which asks for memory while it holds its own lock. */
static const char *name_of(const void *caller)
{
    static __thread int asking;
    Dl_info info = {0};

    if (asking)
        return "";
    asking = 1;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
        info.dli_fname = "";
    asking = 0;
    return info.dli_fname;
}

static const char *const objects[] = {[FAIL_ANY] = "", [FAIL_LIBPQ] = "libpq"};

/* The first of the wanted ones from fail_at on; then no other. */
static int allocation_fails(const void *caller)
{
    int64_t number = atomic_fetch_add(&control->allocations, 1) + 1;
    int64_t wanted = control->fail_at;
    const char *whose;

    if (wanted == 0 || number < wanted)
        return 0;
    whose = name_of(caller);
    if (whose[0] == '\0' || strstr(whose, objects[control->fail_whose]) == NULL)
        return 0;
    if (!atomic_compare_exchange_strong(&control->fail_at, &wanted, 0))
        return 0;
    (void)strncpy(control->whose, whose, sizeof control->whose - 1);
    (void)atomic_fetch_add(&control->failed, 1);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

/* ---- interruptions, short reads and writes ---- */

static int is_interrupted(void)
{
    static atomic_long calls;
    int64_t every = control->interrupt_every;

    if (every == 0 || atomic_fetch_add(&calls, 1) % every != 0)
        return 0;
    (void)atomic_fetch_add(&control->interrupted, 1);
    errno = EINTR;
    return 1;
}

static size_t cut(size_t size)
{
    int64_t most = control->short_bytes;

    if (most == 0 || size <= (size_t)most)
        return size;
    (void)atomic_fetch_add(&control->shortened, 1);
    return (size_t)most;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    static int (*next)(struct pollfd *, nfds_t, int);

    if (next == NULL)
        next = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    return is_interrupted() ? -1 : next(fds, count, timeout_ms);
}

ssize_t recv(int fd, void *out, size_t size, int flags)
{
    static ssize_t (*next)(int, void *, size_t, int);

    if (next == NULL)
        next = (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    return is_interrupted() ? -1 : next(fd, out, cut(size), flags);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    static ssize_t (*next)(int, const void *, size_t, int);

    if (next == NULL)
        next = (ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
    return is_interrupted() ? -1 : next(fd, bytes, cut(size), flags);
}

/* ---- names ---- */

/* "127.0.0.9" has no servers: a connection is refused at once. */
int getaddrinfo(const char *restrict name, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    size_t len = name != NULL ? strlen(name) : 0;
    int64_t mode = control->resolve;

    if (next == NULL)
        next = (int (*)(const char *, const char *, const struct addrinfo *,
                        struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    if (len < 5 || strcmp(name + len - 5, ".test") != 0)
        return next(name, service, hints, out);
    (void)atomic_fetch_add(&control->resolved, 1);
    if (mode == RESOLVE_NOT)
        return EAI_NONAME;
    if (mode == RESOLVE_LATE) {
        (void)nanosleep(&(struct timespec){3, 0}, NULL);
        return EAI_AGAIN;
    }
    return next(mode == RESOLVE_TO_NOBODY ? "127.0.0.9" : "127.0.0.1", service, hints, out);
}
