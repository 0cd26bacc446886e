#ifndef AUDIT_SORTER_H
#define AUDIT_SORTER_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts more records than fit into memory. What fits is sorted and written as a run to a file
 * without a name in $TMPDIR (/tmp); then the runs are merged. A record begins with its size in
 * bytes, a uint32_t, which is a multiple of 8.
 */

#define SORTER_RECORD_MAX ((size_t)4096) /* bytes of a record */

struct sorter;

/* `compare` compares pointers to pointers to records, as for qsort(). A run has so much `memory`,
 * at least a record. NULL with *error set on failure. */
struct sorter *sorter_open(size_t memory, int (*compare)(const void *, const void *),
                           struct error *error);
void sorter_close(struct sorter *sorter);

/* Adds a record of this size, which the caller fills; its bytes are 0 but for the size. NULL with
 * *error set on failure. */
void *sorter_add(struct sorter *sorter, size_t size, struct error *error);

/* Ends the adding. 0, or -1 with *error set. */
int sorter_begin(struct sorter *sorter, struct error *error);
/* The first record that is left; NULL: there is none. It is valid until it is dropped. */
const void *sorter_first(const struct sorter *sorter);
/* Goes on to the next one. 0, or -1 with *error set. */
int sorter_drop(struct sorter *sorter, struct error *error);

#endif
