#include "http/listen.h"

#include "base/bounded_call.h"
#include "base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define LOOKUP_MS 1000
#define PENDING_MAX 1024 /* behind a crowd of slow clients */
#define HOST_BYTES 256

/* Runs in a thread of its own, because a lookup has no time limit. */
struct lookup {
    char host[HOST_BYTES]; /* "": every interface, or this machine's loopback to connect to */
    char port[8];
    int flags;
    int code;
    struct addrinfo *found;
};

static void look_up(void *argument)
{
    struct lookup *lookup = argument;
    const struct addrinfo hints = {.ai_flags = lookup->flags, .ai_socktype = SOCK_STREAM};

    lookup->code = getaddrinfo(lookup->host[0] != '\0' ? lookup->host : NULL, lookup->port, &hints,
                               &lookup->found);
}

static void drop(void *argument)
{
    struct lookup *lookup = argument;

    if (lookup->found != NULL)
        freeaddrinfo(lookup->found);
    free(lookup);
}

static int fail(struct error *error, const char *what, const char *address, const char *why)
{
    return error_set(error, ERROR_TRANSIENT, ERROR_SELF, "cannot %s %s: %s", what, address, why);
}

/* "[::1]:80" without the brackets. */
static void split(const char *address, struct lookup *lookup)
{
    const char *port = strrchr(address, ':');
    size_t len = (size_t)(port - address);

    if (len > 1 && address[0] == '[') {
        address++;
        len -= 2;
    }
    (void)snprintf(lookup->host, sizeof lookup->host, "%.*s", (int)len, address);
    (void)snprintf(lookup->port, sizeof lookup->port, "%s", port + 1);
}

static int bind_to(const struct addrinfo *at)
{
    const int on = 1;
    const int off = 0;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    int cause;

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, PENDING_MAX) == 0)
        return fd;
    cause = errno;
    (void)close(fd);
    errno = cause;
    return -1;
}

/* For every interface IPv6 is tried first, because such a socket accepts IPv4 as well. */
static int bind_first(const char *address, const struct lookup *lookup, struct error *error)
{
    static const int families[] = {AF_INET6, AF_INET};
    bool everywhere = lookup->host[0] == '\0';
    int fd = -1;

    errno = EADDRNOTAVAIL;
    for (size_t i = 0; i < (everywhere ? 2 : 1) && fd < 0; i++)
        for (const struct addrinfo *at = lookup->found; at != NULL && fd < 0; at = at->ai_next)
            if (!everywhere || at->ai_family == families[i])
                fd = bind_to(at);
    if (fd >= 0)
        return fd;
    if (errno != EADDRINUSE)
        return fail(error, "listen on", address, strerror(errno));
    (void)fail(error, "listen on", address, "another program listens there");
    return error_hint(error,
                      "give each relay of a machine its own [http] listen, or \"\" for none");
}

/* Returns what getaddrinfo(3) finds; NULL with *error set. */
static struct lookup *find(const char *address, int flags, const char *what, struct error *error)
{
    static struct bounded_call *late; /* one thread listens */
    struct lookup *lookup = calloc(1, sizeof *lookup);
    enum bounded_result result;

    if (lookup == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    lookup->flags = flags;
    split(address, lookup);
    result = bounded_call_run(&late, look_up, drop, lookup, clock_now_ms() + LOOKUP_MS);
    if (result == BOUNDED_LATE) {
        (void)fail(error, what, address, "the lookup of its name hangs");
        return NULL;
    }
    if (result == BOUNDED_DONE && lookup->code == 0)
        return lookup;
    (void)fail(error, what, address,
               result == BOUNDED_DONE ? gai_strerror(lookup->code)
                                      : "its name could not be looked up");
    drop(lookup);
    return NULL;
}

bool listen_is_local(int fd)
{
    struct sockaddr_storage bound = {0};
    const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)&bound;
    const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)&bound;
    socklen_t len = sizeof bound;

    if (getsockname(fd, (struct sockaddr *)&bound, &len) < 0)
        return false;
    if (bound.ss_family == AF_INET)
        return ntohl(ipv4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    return IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&ipv6->sin6_addr) && ipv6->sin6_addr.s6_addr[12] == 127);
}

int listen_open(const char *address, struct error *error)
{
    struct lookup *lookup = find(address, AI_PASSIVE, "listen on", error);
    int fd;

    if (lookup == NULL)
        return -1;
    fd = bind_first(address, lookup, error);
    drop(lookup);
    return fd;
}

int listen_reach(const char *address, int timeout_ms, struct error *error)
{
    const struct timeval timeout = {.tv_sec = timeout_ms / 1000,
                                    .tv_usec = timeout_ms % 1000 * 1000};
    struct lookup *lookup = find(address, 0, "reach", error);
    int fd = -1;

    if (lookup == NULL)
        return -1;
    (void)fail(error, "reach", address, "no socket");
    for (const struct addrinfo *at = lookup->found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
        if (fd < 0)
            continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout,
                         sizeof timeout); /* of connect, too */
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        if (connect(fd, at->ai_addr, at->ai_addrlen) == 0)
            break;
        (void)fail(error, "reach", address, strerror(errno));
        (void)close(fd);
        fd = -1;
    }
    drop(lookup);
    return fd;
}
