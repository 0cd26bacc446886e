/*
 * Reads a secret from a file. The file is read again for each connection, so a secret can be
 * rotated.
 *
 * Reading is bounded: a regular file or a FIFO, at most 64 KiB, and at most two seconds for a FIFO
 * whose writer is late. Error messages name the file and never quote its content. The file's mode
 * is not checked: secrets that an orchestrator mounts are often 0644.
 */
#include "base/secret.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_BYTES_MAX (64 * 1024)
#define FIFO_WAIT_MS 2000

static int refuse(struct error *error, const char *path, const char *why)
{
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "%s: %s", path, why);
}

static bool wait_readable(int fd, int64_t deadline_ms)
{
    struct pollfd in = {.fd = fd, .events = POLLIN};
    int count;

    do
        count = poll(&in, 1, clock_left_ms(deadline_ms));
    while (count < 0 && errno == EINTR);
    return count == 1;
}

/* read(2) returns 0 for a FIFO that nobody has opened for writing yet; poll(2) tells this from a
 * real end of file. */
static int read_all(int fd, char *bytes, size_t *len, const char *path, struct error *error)
{
    int64_t deadline_ms = clock_now_ms() + FIFO_WAIT_MS;

    for (*len = 0; *len <= SECRET_BYTES_MAX;) {
        ssize_t count;

        if (!wait_readable(fd, deadline_ms))
            return refuse(error, path, "nothing was written to it for 2 s");
        count = read(fd, bytes + *len, SECRET_BYTES_MAX + 1 - *len);
        if (count == 0)
            return 0;
        if (count > 0)
            *len += (size_t)count;
        else if (errno != EINTR && errno != EAGAIN)
            return refuse(error, path, strerror(errno));
    }
    return refuse(error, path, "larger than 64 KiB");
}

static int check_line(char *bytes, size_t len, const char *path, struct error *error)
{
    if (len > 0 && bytes[len - 1] == '\n')
        len--;
    if (len > 0 && bytes[len - 1] == '\r')
        len--;
    bytes[len] = '\0';
    if (len == 0)
        return refuse(error, path, "empty");
    if (strlen(bytes) != len || strpbrk(bytes, "\r\n") != NULL)
        return refuse(error, path, "must hold one line of text");
    return 0;
}

static int open_file(const char *path, struct error *error)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;

    if (fd < 0)
        return refuse(error, path, strerror(errno));
    if (fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISFIFO(status.st_mode)))
        return fd;
    (void)close(fd);
    return refuse(error, path, "not a regular file");
}

char *secret_read(const char *path, struct error *error)
{
    char *bytes = calloc(1, SECRET_BYTES_MAX + 2);
    size_t len = 0;
    int status;
    int fd;

    if (bytes == NULL) {
        error_no_memory(error);
        return NULL;
    }
    fd = open_file(path, error);
    status = fd < 0 ? -1 : read_all(fd, bytes, &len, path, error);
    if (fd >= 0)
        (void)close(fd);
    if (status == 0 && check_line(bytes, len, path, error) == 0)
        return bytes;
    explicit_bzero(bytes, len);
    free(bytes);
    return NULL;
}

void secret_free(char *secret)
{
    if (secret == NULL)
        return;
    explicit_bzero(secret, strlen(secret));
    free(secret);
}
