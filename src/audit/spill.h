#ifndef AUDIT_SPILL_H
#define AUDIT_SPILL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Records that do not fit into memory, in a file without a name in $TMPDIR (/tmp). They are in
 * buckets, chosen by a hash: all records of one hash are in one bucket. A bucket that may be too
 * large for memory is read in parts.
 */

#define SPILL_BUCKETS 128
#define SPILL_PART_BYTES ((size_t)16 * 1024)

struct spill;

/* NULL with *error set on failure. */
struct spill *spill_open(struct error *error);
void spill_close(struct spill *spill);

/* Appends a record; `size` is a multiple of 8. 0, or -1 with *error set. */
int spill_put(struct spill *spill, uint64_t hash, const void *record, size_t size,
              struct error *error);

/* The bytes of a bucket. */
size_t spill_len(const struct spill *spill, int bucket);

/* The records of a bucket, once; the caller frees *bytes. No record may be added to it any more. 0,
 * or -1 with *error set. */
int spill_take(struct spill *spill, int bucket, char **bytes, size_t *len, struct error *error);

/* What is still to be read of a bucket. */
struct spill_reader {
    struct spill *spill;
    int bucket;
    size_t chunk; /* of the file, where the search for the next one begins */
    size_t left;  /* bytes */
};

/* In place of spill_take(): reads a bucket in parts, once. */
struct spill_reader spill_read(struct spill *spill, int bucket);
/* The next part, of SPILL_PART_BYTES; the last one is shorter. *len == 0: there is none. A record
 * may begin in one part and end in the next. 0, or -1 with *error set. */
int spill_next(struct spill_reader *reader, char *bytes, size_t *len, struct error *error);

#endif
