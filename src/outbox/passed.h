#ifndef OUTBOX_PASSED_H
#define OUTBOX_PASSED_H

#include <stdbool.h>
#include <stdint.h>

/* Where the claims of order = "none" stand while a sink is away. Ids as text. */
#define PASSED_ID_BYTES 64

struct passed {
    uint64_t away;               /* whose rows are left */
    char bound[PASSED_ID_BYTES]; /* no sink is away: rows are looked for beyond it */
    bool begun;                  /* the tail is known */
    char tail[PASSED_ID_BYTES];  /* new rows are looked for beyond it */
    char last[PASSED_ID_BYTES];  /* the last row there was when none was found; "": unknown */
    bool sweeping;               /* a walk through the table is under way */
    bool in_window;              /* the claim under way is of the window, not of new rows */
    char from[PASSED_ID_BYTES];  /* the window: beyond this id, */
    char to[PASSED_ID_BYTES];    /* up to this one, when bounded, else to the end */
    bool bounded;
    int64_t swept_ms; /* what the walk has taken */
    int64_t sweep_ms; /* when the next one begins (clock_now_ms) */
};

#endif
