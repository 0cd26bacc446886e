#ifndef MESSAGE_REMEDY_H
#define MESSAGE_REMEDY_H

#include "base/text.h"

#include <stddef.h>

#define REMEDY_BYTES 512

/* What stands in a remedy. */
struct remedy_names {
    const char *outbox; /* as in the configuration */
    struct text id;     /* of the row; NULL: of several, for which ID stands */
    bool stays;         /* the row stays in the outbox, from where `dead retry` copies it again */
};

/* Writes what mends a refusal, told by the reason that was given for it (batch_refuse), so that it
 * can also be told of a row that another relay parked. Returns `out`; NULL: no remedy is known. */
const char *remedy_write(char *out, size_t size, const char *reason,
                         const struct remedy_names *names);

#endif
