#include "outbox/slices/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG_MS 50  /* a scan that takes longer is followed by one of fewer slices */
#define SHORT_MS 10 /* a scan that takes less is followed by one of more slices */

enum { PARAM_SLICES, PARAM_LOWS, PARAM_HIGHS, PARAM_HOLDERS };

static int64_t number_at(const struct scan *scan, const struct horizon_view *view, int slices,
                         int param, int i)
{
    int slice = (scan->first + i) % slices;

    if (param == PARAM_HOLDERS)
        return (int64_t)view->holders[i];
    if (param == PARAM_SLICES)
        return slice;
    if (scan->full)
        return HORIZON_UNKNOWN;
    return param == PARAM_LOWS ? view->bounds[slice].low : view->bounds[slice].high;
}

/* "{1,2}" */
static char *list(const struct scan *scan, const struct horizon_view *view, int slices, int param)
{
    int count = param == PARAM_HOLDERS ? view->holder_count : scan->count;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    for (int i = 0; i < count; i++)
        (void)fprintf(out, "%c%" PRId64, i > 0 ? ',' : '{',
                      number_at(scan, view, slices, param, i));
    (void)fprintf(out, count > 0 ? "}" : "{}");
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

int scan_fill(struct scan *scan, const struct horizon_view *view, int slices, struct error *error)
{
    for (int i = 0; i < 4; i++)
        scan->params[i] = list(scan, view, slices, i);
    if (asprintf(&scan->params[4], "%" PRId64, (int64_t)scan->away) < 0)
        scan->params[4] = NULL;
    for (int i = 0; i < 5; i++)
        if (scan->params[i] == NULL)
            return error_no_memory(error);
    return 0;
}

void scan_free(struct scan *scan)
{
    for (int i = 0; i < 5; i++) {
        free(scan->params[i]);
        scan->params[i] = NULL;
    }
}

void round_adapt(struct round *round, int64_t took_ms, int slices)
{
    if (took_ms > LONG_MS)
        round->width = round->width > 1 ? round->width / 2 : 1;
    else if (took_ms < SHORT_MS)
        round->width = 2 * round->width < slices ? 2 * round->width : slices;
}
