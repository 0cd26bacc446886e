#ifndef CLI_STATUS_TEXT_H
#define CLI_STATUS_TEXT_H

#include "admin/status/status.h"

#include <stdio.h>

/* `status` as text: the summary, one line a sink and a relay, reasons, and what needs attention. */
struct status_view {
    int columns; /* lines are cut or wrapped there; 0: they are not */
    bool lanes;  /* a line for each lane */
};

void status_print(const struct status *status, const struct status_view *view, FILE *out);

/* "2,000"; "45 s", "12 min 05 s", "3 h 04 min", "5 d 3 h". Both return `out`. */
char *status_count(char *out, size_t size, int64_t count);
char *status_age(char *out, size_t size, double seconds);

#endif
