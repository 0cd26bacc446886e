#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

/*
 * How far something is, on standard error: on a terminal one line that is drawn anew each time,
 * else a line of the log now and then.
 */

struct progress {
    const char *what; /* "replayed" */
    int64_t total;    /* -1: unknown */
    int64_t began_ms;
    int64_t shown_ms;
    int shown; /* lines or drawings so far */
};

void progress_begin(struct progress *progress, const char *what, int64_t total);
/* `left_ms`: how long the rest takes; -1: judged by what was done so far. */
void progress_show(struct progress *progress, int64_t done, int64_t left_ms);
/* Takes the drawn line away. */
void progress_end(struct progress *progress);

#endif
