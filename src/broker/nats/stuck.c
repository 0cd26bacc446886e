/*
 * Ends attempts to connect in which the library is stuck.
 *
 * Before version 3.8 (its issue 706) the library ignores the timeout while it waits for the
 * server's answer to CONNECT. It then reads without waiting, over and over, and its buffer grows
 * with each read, until the server sends a line or closes the connection. Only the end of the
 * socket stops it, and the library names the socket no earlier than when it has connected. So the
 * socket is looked for among those of the process.
 */

#include "broker/nats/nats.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MENDED_VERSION 0x030800
#define PORT_DEFAULT 4222

static int port_of(const char *server)
{
    const char *scheme = strstr(server, "://");
    const char *host = scheme != NULL ? scheme + 3 : server;
    const char *bracket = strchr(host, ']');
    const char *colon = strchr(bracket != NULL ? bracket : host, ':');

    return colon != NULL ? (int)strtol(colon + 1, NULL, 10) : PORT_DEFAULT;
}

static int peer_port(int socket)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } peer = {0};
    socklen_t len = sizeof peer;

    if (getpeername(socket, &peer.any, &len) != 0)
        return -1;
    return peer.any.sa_family == AF_INET    ? ntohs(peer.v4.sin_port)
           : peer.any.sa_family == AF_INET6 ? ntohs(peer.v6.sin6_port)
                                            : -1;
}

/* A connection in use has keepalive: loop.c turns it on. */
static bool is_attempt(int socket, int port)
{
    int keepalive = 1;
    socklen_t len = sizeof keepalive;

    return peer_port(socket) == port &&
           getsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &keepalive, &len) == 0 && keepalive == 0;
}

/* The copy cannot become another socket while it is looked at. */
static void end_attempt(int socket, int port)
{
    int copy = is_attempt(socket, port) ? fcntl(socket, F_DUPFD_CLOEXEC, 0) : -1;

    if (copy < 0)
        return;
    if (is_attempt(copy, port))
        (void)shutdown(copy, SHUT_RDWR);
    (void)close(copy);
}

void nats_end_stuck(const char *server)
{
    int port = port_of(server);
    DIR *open_files = nats_GetVersionNumber() < MENDED_VERSION ? opendir("/proc/self/fd") : NULL;

    if (open_files == NULL)
        return;
    for (const struct dirent *file; (file = readdir(open_files)) != NULL;)
        if (file->d_name[0] != '.')
            end_attempt((int)strtol(file->d_name, NULL, 10), port);
    (void)closedir(open_files);
}
