/*
 * Reads a secret from a file. The file is read again for each connection, so a secret can be
 * rotated.
 *
 * Reading is bounded: a regular file or a FIFO, at most 64 KiB, and at most two seconds for a FIFO
 * whose writer is late. Error messages name the file and never quote its content. The file's mode
 * is not checked: secrets that an orchestrator mounts are often 0644.
 */
#include "base/secret.h"

#include "base/bounded_call.h"

#include <errno.h>
#include <fcntl.h>
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

/* Returns the number of bytes, or -1. */
static ssize_t read_all(const char *path, char *bytes, struct error *error)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    ssize_t len = -1;

    if (fd < 0)
        return refuse(error, path, strerror(errno));
    if (fstat(fd, &status) < 0 || (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))) {
        (void)refuse(error, path, "not a regular file");
    } else {
        len = bounded_read(fd, bytes, SECRET_BYTES_MAX + 1, FIFO_WAIT_MS, true);
        if (len < 0)
            (void)refuse(error, path,
                         errno == ETIMEDOUT ? "nothing was written to it for 2 s"
                                            : strerror(errno));
        else if (len > SECRET_BYTES_MAX)
            len = refuse(error, path, "larger than 64 KiB");
    }
    (void)close(fd);
    return len;
}

char *secret_read(const char *path, struct error *error)
{
    char *bytes = calloc(1, SECRET_BYTES_MAX + 2);
    ssize_t len;

    if (bytes == NULL) {
        error_no_memory(error);
        return NULL;
    }
    len = read_all(path, bytes, error);
    if (len >= 0 && check_line(bytes, (size_t)len, path, error) == 0)
        return bytes;
    explicit_bzero(bytes, SECRET_BYTES_MAX + 2);
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
