#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include "relay/report.h"

#include <jansson.h>
#include <stdio.h>

/* A line of config/metrics.tsv; the last one has no name. */
extern const struct metric {
    const char *name, *type, *help, *path, *labels, *zero;
} embedded_metrics[];

/* Writes all metrics in Prometheus' text format, version 0.0.4, of the document of
 * status_document() and the histograms of the report. A figure that is not known is left out. */
void metrics_put(FILE *out, const json_t *document, const struct relay_report *report);

#endif
