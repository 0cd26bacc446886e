#ifndef AUDIT_SPILL_H
#define AUDIT_SPILL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Records that do not fit into memory, in a file without a name in $TMPDIR (/tmp). They are in
 * buckets, chosen by a hash: all records of one hash are in one bucket, and one bucket fits into
 * memory.
 */

#define SPILL_BUCKETS 128

struct spill;

/* NULL with *error set on failure. */
struct spill *spill_open(struct error *error);
void spill_close(struct spill *spill);

/* Appends a record; `size` is a multiple of 8. 0, or -1 with *error set. */
int spill_put(struct spill *spill, uint64_t hash, const void *record, size_t size,
              struct error *error);

/* The records of a bucket, once; the caller frees *bytes. No record may be added to it any more. 0,
 * or -1 with *error set. */
int spill_take(struct spill *spill, int bucket, char **bytes, size_t *len, struct error *error);

#endif
