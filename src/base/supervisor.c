#include "base/supervisor.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The address is a path, or, behind '@', the name of an abstract socket. */
static socklen_t get_address(struct sockaddr_un *address)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path != NULL ? strlen(path) : 0;

    if (len == 0 || len >= sizeof address->sun_path || (path[0] != '/' && path[0] != '@'))
        return 0;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path, path, len);
    if (path[0] == '@')
        address->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

void supervisor_notify(const char *format, ...)
{
    struct sockaddr_un address;
    socklen_t address_len = get_address(&address);
    char text[512];
    va_list args;
    int fd;

    if (address_len == 0)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address, address_len);
    (void)close(fd);
}
