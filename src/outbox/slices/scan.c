#include "outbox/slices/scan.h"

#include <endian.h>
#include <stdlib.h>

#define LONG_MS 50  /* a scan that takes longer is followed by one of fewer slices */
#define SHORT_MS 10 /* a scan that takes less is followed by one of more slices */

static const char *const columns[SCAN_COLUMNS] = {
    [SCAN_SLICE] = "slice",
    [SCAN_LOWEST] = "lowest",
    [SCAN_READ_HIGH] = "read_high",
    [SCAN_END] = "window_end",
};

/* The values of one array follow those of another. */
static void *begin(struct array *array, void *memory, uint32_t element_oid, int count,
                   size_t element_bytes)
{
    size_t bytes = (size_t)count * element_bytes;

    array_begin(array, memory, element_oid, count, bytes);
    return (char *)memory + array_size(count, bytes);
}

int scan_fill(struct scan *scan, const struct horizon_view *view, int slices, struct error *error)
{
    int count = scan->count;
    struct array *params = scan->params;
    char *at = malloc(array_size(count, (size_t)count * sizeof(int32_t)) +
                      2 * array_size(count, (size_t)count * sizeof(int64_t)) +
                      array_size(view->holder_count, (size_t)view->holder_count * sizeof(int64_t)));

    scan->memory = at;
    if (at == NULL)
        return error_no_memory(error);
    at = begin(&params[0], at, ARRAY_INT4, count, sizeof(int32_t));
    at = begin(&params[1], at, ARRAY_INT8, count, sizeof(int64_t));
    at = begin(&params[2], at, ARRAY_INT8, count, sizeof(int64_t));
    (void)begin(&params[3], at, ARRAY_XID8, view->holder_count, sizeof(int64_t));
    for (int i = 0; i < count; i++) {
        int slice = (scan->first + i) % slices;

        array_add_int4(&params[0], slice);
        array_add_int8(&params[1], scan->full ? HORIZON_UNKNOWN : view->bounds[slice].low);
        array_add_int8(&params[2], scan->full ? HORIZON_UNKNOWN : view->bounds[slice].high);
    }
    for (int i = 0; i < view->holder_count; i++)
        array_add_int8(&params[3], (int64_t)view->holders[i]);
    scan->away_wire = htobe64(scan->away);
    params[4] = (struct array){.bytes = (char *)&scan->away_wire, .len = sizeof scan->away_wire};
    return 0;
}

void scan_free(struct scan *scan)
{
    free(scan->memory);
    scan->memory = NULL;
}

PGresult *scan_answer(struct session *session, struct error *error)
{
    PGresult *result = session_answer(session, PGRES_TUPLES_OK, error);

    if (result == NULL || wire_check_columns(result, columns, SCAN_COLUMNS, error) == 0)
        return result;
    PQclear(result);
    return NULL;
}

void scan_round_adapt(struct scan_round *round, int64_t took_ms, int slices)
{
    if (took_ms > LONG_MS)
        round->width = round->width > 1 ? round->width / 2 : 1;
    else if (took_ms < SHORT_MS)
        round->width = 2 * round->width < slices ? 2 * round->width : slices;
}
