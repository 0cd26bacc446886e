#ifndef OUTBOX_SLICES_BATCH_ARRAY_H
#define OUTBOX_SLICES_BATCH_ARRAY_H

#include "message/batch.h"
#include "message/declined.h"
#include "pg/wire.h"

/* Arrays as parameters of statements, in the memory of the batch that they are about. */

/* Like array_begin(), in memory of the batch. array->bytes is NULL when there is none. */
static inline void batch_array_begin(struct array *array, struct batch *batch, uint32_t element_oid,
                                     int count, size_t element_bytes)
{
    array_begin(array, batch_alloc(batch, array_size(count, element_bytes)), element_oid, count,
                element_bytes);
}

/* A whole array of xid8: 0, or -1 when there is no memory. */
static inline int batch_array_of_xid8(struct array *array, struct batch *batch,
                                      const uint64_t *values, int count)
{
    batch_array_begin(array, batch, ARRAY_XID8, count, (size_t)count * sizeof *values);
    for (int i = 0; i < count; i++)
        array_add_int8(array, (int64_t)values[i]);
    return array->bytes != NULL ? 0 : -1;
}

/* What rows wait for (NULL: nothing) as text[], in memory of that size; NULL: none was left. */
static inline size_t declined_array_size(const struct declined *declined)
{
    size_t bytes = 0;

    for (int i = 0; declined != NULL && i < declined->count; i++)
        bytes += declined->items[i].len;
    return array_size(declined != NULL ? declined->count : 0, bytes);
}

static inline void declined_array(struct array *array, void *memory,
                                  const struct declined *declined)
{
    array_begin(array, memory, ARRAY_TEXT, declined != NULL ? declined->count : 0, 0);
    array->size = declined_array_size(declined);
    for (int i = 0; declined != NULL && i < declined->count; i++)
        array_add(array, declined->items[i].waits_for, declined->items[i].len);
}

#endif
