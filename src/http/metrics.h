#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include "http/sampler.h"
#include "relay/report.h"

#include <stdio.h>

/* Writes all metrics in Prometheus' text format, version 0.0.4. A figure that is not known is left
 * out. */
void metrics_put(FILE *out, const struct relay_report *report, const struct sample *sample);

#endif
