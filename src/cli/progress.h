#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/*
 * Shows the progress of a command on standard error: one line that is redrawn on a terminal, or a
 * log line from time to time.
 */

struct progress {
    const char *what; /* "replayed" */
    int64_t total;    /* -1: unknown */
    int64_t began_ms;
    int64_t shown_ms;
    int shown; /* lines or drawings so far */
};

void progress_begin(struct progress *progress, const char *what, int64_t total);
/* `left_ms`: how long the rest will take; -1: estimate it from the progress so far. */
void progress_show(struct progress *progress, int64_t done, int64_t left_ms);
/* Clears the drawn line. */
void progress_end(struct progress *progress);

#endif
