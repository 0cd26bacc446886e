#include "outbox/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG_MS 50  /* fewer slices the next time */
#define SHORT_MS 10 /* more of them */

static char *list_slices(const struct scan *scan, int slices)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    (void)fprintf(out, "{");
    for (int i = 0; i < scan->count; i++)
        (void)fprintf(out, "%s%d", i > 0 ? "," : "", (scan->first + i) % slices);
    (void)fprintf(out, "}");
    return fclose(out) == 0 ? text : NULL;
}

static char *list_bounds(const struct scan *scan, const struct horizon_view *view, int slices,
                         bool high)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    (void)fprintf(out, "{");
    for (int i = 0; i < scan->count; i++) {
        const struct horizon_bound *bound = &view->bounds[(scan->first + i) % slices];
        int64_t id = high ? bound->high : bound->low;

        (void)fprintf(out, "%s%" PRId64, i > 0 ? "," : "", scan->full ? HORIZON_UNKNOWN : id);
    }
    (void)fprintf(out, "}");
    return fclose(out) == 0 ? text : NULL;
}

static char *list_holders(const struct horizon_view *view)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL)
        return NULL;
    (void)fprintf(out, "{");
    for (int i = 0; i < view->holder_count; i++)
        (void)fprintf(out, "%s%" PRIu64, i > 0 ? "," : "", view->holders[i]);
    (void)fprintf(out, "}");
    return fclose(out) == 0 ? text : NULL;
}

int scan_fill(struct scan *scan, const struct horizon_view *view, int slices, struct error *error)
{
    scan->params[0] = list_slices(scan, slices);
    scan->params[1] = list_bounds(scan, view, slices, false);
    scan->params[2] = list_bounds(scan, view, slices, true);
    scan->params[3] = list_holders(view);
    if (asprintf(&scan->params[4], "%" PRId64, (int64_t)scan->sinks) < 0)
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
