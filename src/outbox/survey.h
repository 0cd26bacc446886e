#ifndef OUTBOX_SURVEY_H
#define OUTBOX_SURVEY_H

#include "base/error.h"
#include "core/batch.h"
#include "outbox/trail.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Where the unsent rows of each slice begin, asked for where looks without bounds take long: see
 * survey.c. Times: clock_now_ms().
 */

struct claim;
struct outbox;

struct survey {
    bool due;
    bool overran;      /* a statement's timeout ended the look */
    int64_t look_ms;   /* what it took, or less: a step takes as long */
    int64_t rests_ms;  /* another is due before only when a look overran */
    int64_t *firsts;   /* owned: the lowest unsent id of each slice so far; NULL: not begun */
    int64_t drawn;     /* the id that it began at, */
    int64_t began_ms;  /* and when, */
    uint32_t epoch;    /* and bounds->epoch */
    struct trail tail; /* where that waits */
    int done;          /* slices, */
    int64_t took_ms;   /* in so long */
};

/* A look took so long; `overran`: longer than a statement may. */
void survey_note_look(struct outbox *outbox, int64_t took_ms, bool overran);
/* Rows were claimed: at the lowest of them one that is due begins; one that is under way does not
 * pass them. 0, or -1: no memory. */
int survey_note_claimed(struct outbox *outbox, struct error *error);
/* Before a claim. 1: nothing is to be claimed now, but there may be more; 0: claim; -1: closed. */
int survey_step(struct outbox *outbox, const struct claim *claim, struct error *error);
/* Also when the connection has: the next server may draw the same ids again. */
void survey_end(struct survey *survey);

#endif
