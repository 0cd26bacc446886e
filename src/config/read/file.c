#include "config/read/file.h"

#include "base/bounded_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_PATH "/etc/outbox-relay/relay.toml"
#define PIPE_WAIT_MS 5000

static void fail(struct file *file, const char *what, const char *why)
{
    (void)snprintf(file->error, sizeof file->error, "%s: %s", what, why);
}

static const char *find_path(const char *path)
{
    const char *named = getenv("OUTBOX_RELAY_CONFIG");

    if (path != NULL)
        return path;
    if (named != NULL && named[0] != '\0')
        return named;
    if (access("relay.toml", F_OK) < 0 && errno == ENOENT && access(SYSTEM_PATH, F_OK) == 0)
        return SYSTEM_PATH;
    return "relay.toml";
}

/* The owner matters as well as the mode, because the owner can change the mode. */
static bool is_own(const struct stat *status)
{
    return (status->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           (status->st_uid == 0 || status->st_uid == geteuid());
}

/* Reads up to one byte more than the limit, by which guard_text recognizes a file that is too
 * large. */
static void read_open_file(struct file *file, int fd)
{
    struct stat status;
    ssize_t len;

    if (fstat(fd, &status) < 0) {
        fail(file, "cannot open", strerror(errno));
        return;
    }
    file->is_own = is_own(&status);
    if (S_ISDIR(status.st_mode)) {
        fail(file, "cannot open", strerror(EISDIR));
    } else if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
        fail(file, "cannot open", "neither a file nor a pipe");
    } else if ((file->text = malloc(CONFIG_FILE_BYTES_MAX + 1)) == NULL) {
        fail(file, "cannot read", strerror(errno));
    } else if ((len = bounded_read(fd, file->text, CONFIG_FILE_BYTES_MAX + 1, PIPE_WAIT_MS,
                                   false)) < 0) {
        fail(file, "cannot read", strerror(errno));
    } else if (S_ISFIFO(status.st_mode) && len == 0) {
        fail(file, "cannot read", "nothing was written to this pipe");
    } else {
        file->len = (size_t)len;
        file->mode = S_ISREG(status.st_mode) ? status.st_mode & 0777 : 0;
    }
}

const char *file_read(struct file *file, const char *path)
{
    const char *found = find_path(path);
    int fd = open(found, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    *file = (struct file){0};
    if (fd < 0 && errno == ENOENT && path == NULL && strcmp(found, "relay.toml") == 0)
        fail(file, "cannot open",
             "No such file or directory, nor is there " SYSTEM_PATH
             "; name a file with -c or OUTBOX_RELAY_CONFIG");
    else if (fd < 0)
        fail(file, "cannot open", strerror(errno));
    if (fd < 0)
        return found;
    read_open_file(file, fd);
    (void)close(fd);
    return found;
}
