#ifndef CONFIG_READ_FILE_H
#define CONFIG_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_FILE_BYTES_MAX (1024 * 1024)

/* A configuration file in memory. Regular files and pipes are read; neither can hang the reader. */
struct file {
    char *text; /* owned */
    size_t len;
    unsigned mode;   /* permission bits; 0 for a pipe */
    bool is_own;     /* only root and the user of this process can change it */
    char error[256]; /* "" when it was read */
};

/* Returns the path that was used, as config_load chooses it. More than 1 MiB is not read. */
const char *file_read(struct file *file, const char *path);

#endif
