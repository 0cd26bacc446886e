/*
 * A link with a long way: a TCP proxy on 127.0.0.1 that passes each byte MS milliseconds after it
 * came, each direction alike, and holds back nothing else.
 *
 *     bench_delay LISTEN_PORT TARGET_PORT MS        until it is killed; LISTEN_PORT 0: any
 *
 * Writes the port when it listens. One thread; a direction queues at most 64 MiB, which is 2.5 GB/s
 * at 25 ms.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STREAMS_MAX 1024
#define READ_BYTES (256 * 1024)
#define QUEUE_BYTES_MAX (64L * 1024 * 1024)
#define IDLE_NS 1000000000L

struct piece {
    struct piece *next;
    int64_t due_ns;
    size_t len;
    size_t sent;
    char bytes[];
};

/* One direction of a connection; the other one is its neighbour, streams[i ^ 1]. */
struct stream {
    int from;
    int to;
    struct piece *first;
    struct piece *last;
    long queued;
    bool ended; /* the source will send no more */
    bool shut;  /* and the sink knows */
    bool full;  /* the sink takes nothing at the moment */
};

static struct stream streams[STREAMS_MAX];
static int stream_count;
static int64_t delay_ns;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_on(int port)
{
    struct sockaddr_in address = local(port);
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 128) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        die("listen");
    (void)printf("%d\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    return fd;
}

static void prepare(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int free_pair(void)
{
    for (int i = 0; i < stream_count; i += 2)
        if (streams[i].from < 0)
            return i;
    if (stream_count == STREAMS_MAX)
        return -1;
    stream_count += 2;
    return stream_count - 2;
}

static void join(int listener, int port)
{
    struct sockaddr_in address = local(port);
    int client = accept(listener, NULL, NULL);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    int pair = free_pair();

    if (client < 0 || server < 0 || pair < 0 ||
        connect(server, (struct sockaddr *)&address, sizeof address) < 0) {
        (void)close(client);
        (void)close(server);
        return;
    }
    prepare(client);
    prepare(server);
    streams[pair] = (struct stream){.from = client, .to = server};
    streams[pair + 1] = (struct stream){.from = server, .to = client};
}

static void drop_first(struct stream *stream)
{
    struct piece *piece = stream->first;

    stream->first = piece->next;
    stream->queued -= (long)piece->len;
    free(piece);
}

static void part(int pair)
{
    (void)close(streams[pair].from);
    (void)close(streams[pair].to);
    for (int i = pair; i < pair + 2; i++) {
        while (streams[i].first != NULL)
            drop_first(&streams[i]);
        streams[i] = (struct stream){.from = -1, .to = -1};
    }
}

static void add(struct stream *stream, const char *bytes, size_t len)
{
    struct piece *piece = malloc(sizeof *piece + len);

    if (piece == NULL)
        die("memory");
    *piece = (struct piece){.due_ns = now_ns() + delay_ns, .len = len};
    memcpy(piece->bytes, bytes, len);
    if (stream->first == NULL)
        stream->first = piece;
    else
        stream->last->next = piece;
    stream->last = piece;
    stream->queued += (long)len;
}

/* -1: the connection has failed. */
static int take(struct stream *stream)
{
    static char bytes[READ_BYTES];
    ssize_t len = read(stream->from, bytes, sizeof bytes);

    if (len < 0)
        return errno == EAGAIN ? 0 : -1;
    if (len == 0)
        stream->ended = true;
    else
        add(stream, bytes, (size_t)len);
    return 0;
}

static int pass(struct stream *stream, int64_t now)
{
    stream->full = false;
    while (stream->first != NULL && stream->first->due_ns <= now) {
        struct piece *piece = stream->first;
        ssize_t len =
            send(stream->to, piece->bytes + piece->sent, piece->len - piece->sent, MSG_NOSIGNAL);

        if (len < 0 && errno != EAGAIN)
            return -1;
        if (len < 0) {
            stream->full = true;
            return 0;
        }
        piece->sent += (size_t)len;
        if (piece->sent == piece->len)
            drop_first(stream);
    }
    if (stream->ended && stream->first == NULL && !stream->shut) {
        (void)shutdown(stream->to, SHUT_WR);
        stream->shut = true;
    }
    return 0;
}

/* What to wait for, and for how long. Two entries a stream. */
static int64_t watch(struct pollfd *watched, int64_t now)
{
    int64_t wait_ns = IDLE_NS;

    for (int i = 0; i < stream_count; i++) {
        struct stream *stream = &streams[i];
        bool reads = stream->from >= 0 && !stream->ended && stream->queued < QUEUE_BYTES_MAX;

        watched[2 * i] = (struct pollfd){.fd = reads ? stream->from : -1, .events = POLLIN};
        watched[2 * i + 1] =
            (struct pollfd){.fd = stream->full ? stream->to : -1, .events = POLLOUT};
        if (stream->first != NULL && !stream->full && stream->first->due_ns - now < wait_ns)
            wait_ns = stream->first->due_ns > now ? stream->first->due_ns - now : 0;
    }
    return wait_ns;
}

static void turn(int listener, int port)
{
    static struct pollfd watched[2 * STREAMS_MAX + 1];
    int count = stream_count;
    int64_t wait_ns = watch(watched, now_ns());
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};

    watched[2 * count] = (struct pollfd){.fd = listener, .events = POLLIN};
    (void)ppoll(watched, (nfds_t)(2 * count + 1), &wait, NULL);
    for (int i = 0; i < count; i++) {
        bool failed = watched[2 * i].revents != 0 && streams[i].from >= 0 && take(&streams[i]) < 0;

        failed = failed || (streams[i].from >= 0 && pass(&streams[i], now_ns()) < 0);
        if (failed || (streams[i].shut && streams[i ^ 1].shut))
            part(i & ~1);
    }
    if (watched[2 * count].revents != 0)
        join(listener, port);
}

int main(int argc, char **argv)
{
    int listener;

    if (argc != 4) {
        (void)fputs("usage: bench_delay LISTEN_PORT TARGET_PORT MS\n", stderr);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    delay_ns = strtoll(argv[3], NULL, 10) * 1000000;
    listener = listen_on((int)strtol(argv[1], NULL, 10));
    for (;;)
        turn(listener, (int)strtol(argv[2], NULL, 10));
}
