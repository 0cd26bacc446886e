#ifndef CONFIG_READ_FILE_H
#define CONFIG_READ_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_FILE_BYTES_MAX (1024 * 1024)

/* A configuration file in memory. Only regular files and pipes are read, and a pipe only for a
 * limited time. */
struct file {
    char *text; /* owned */
    size_t len;
    unsigned mode;   /* permission bits; 0 for a pipe */
    bool is_own;     /* only root and the user of this process can change it */
    char error[256]; /* why it could not be read; "" if it was */
};

/* Returns the path that was used, chosen as config_load says. Reads at most 1 MiB and one byte. */
const char *file_read(struct file *file, const char *path);

#endif
