#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/error.h"

/* Reads a one-line secret of at most 64 KiB from a file or a FIFO: the trailing newline is dropped.
 * NULL with *error set, of ERROR_CONFIG: "PATH: why", with nothing of what the file holds. */
char *secret_read(const char *path, struct error *error);
/* Overwrites and frees it; NULL is allowed. */
void secret_free(char *secret);

#endif
