#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/error.h"

/* Reads a one-line secret of at most 64 KiB from a file or a FIFO, without the trailing newline.
 * Returns NULL on failure with *error set (ERROR_CONFIG, "PATH: reason"); the message never quotes
 * the file. The caller frees the result with secret_free(). */
char *secret_read(const char *path, struct error *error);
/* Overwrites and frees a secret; NULL is allowed. */
void secret_free(char *secret);

#endif
