#ifndef OUTBOX_BOUNDS_H
#define OUTBOX_BOUNDS_H

#include "outbox/trail.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What one lane remembers of each slice: below which id nothing unsent is left. Without it a claim
 * walks over every row that has left since the last vacuum, or since the oldest held snapshot. It
 * is only a hint but for the order: see bounds_pass.c. Pure. Times: clock_now_ms(); transactions:
 * xid8.
 */

#define BOUNDS_UNKNOWN INT64_MIN /* as `first`: look at every row */
#define BOUNDS_WIDTH_MAX 64      /* slices a claim may take */

struct bound {
    int64_t first;      /* the lowest id to look at */
    int64_t last;       /* how far the latest claim of it came; BOUNDS_UNKNOWN: there was none */
    struct trail trail; /* higher ids, which rows have or had: see bounds_pass.c */
    int64_t avoid_ms;   /* until then another slice is taken: a row of it is locked by somebody */
};

struct bounds {
    struct bound *slices;
    atomic_bool *sure;     /* they have rows; wrong when others have taken them since */
    atomic_bool *own_sure; /* this lane's alone: see bounds_use() */
    int count;
    bool late;       /* in the look under way the slices ahead of the others come last */
    int next[2];     /* where the next look begins that is not late, and where one that is */
    int looks;       /* that found slices, since the latest turn of late ones */
    int width;       /* how many slices the next claim takes at most, */
    int floor;       /* and how many when claims are full */
    int narrow;      /* for so many claims one: a slice is locked, and it is not known which */
    int sweep_next;  /* the slice where the sweep goes on */
    int sweep_left;  /* slices of the sweep under way; 0: it rests */
    int sweep_width; /* how many of them one look takes, */
    int sweep_done;  /* and how many it has come to */
    int64_t sweep_took_ms; /* so far */
    int64_t sweep_ms;      /* when the next one begins */
    int64_t newest_ms;     /* when the newest ids are asked for */
    int32_t *look;         /* the slices of the look under way, in its order, */
    int64_t *firsts;       /* the lowest id to look at in each, */
    int looked;            /* so many, */
    int unbounded;         /* of which so many from the front are looked at without a bound */
    uint32_t epoch;        /* how often everything was forgotten */
    int32_t chosen[BOUNDS_WIDTH_MAX];
    int chosen_count;
};

/* 0, or -1 when there is no memory. */
int bounds_init(struct bounds *bounds, int count);
void bounds_free(struct bounds *bounds);

/* Nothing is known any more: after another connection, or when other rows are looked for. */
void bounds_forget(struct bounds *bounds);
/* From these ids on, one a slice, rows are looked for: nothing unsent is left below, nor will be.
 */
void bounds_learn(struct bounds *bounds, const int64_t *firsts);
/* The same, and to find them took so long, as a sweep would. */
void bounds_raise(struct bounds *bounds, const int64_t *firsts, int64_t took_ms, int64_t now_ms);
/* Which slices have rows for sure may be known to all lanes. NULL: not with this one. */
void bounds_use(struct bounds *bounds, atomic_bool *sure);
/* Begins a look: fills bounds->look and bounds->firsts. */
void bounds_look(struct bounds *bounds, int64_t now_ms);
/* Its end: bounds->chosen holds what it took. */
void bounds_looked(struct bounds *bounds, int64_t took_ms, int64_t now_ms);
/* So long took the claim behind the look, which walks over what has left as a sweep does. */
void bounds_walked(struct bounds *bounds, int64_t took_ms, int64_t now_ms);

/* Rows of it were claimed, up to the id `last`. The next look begins behind it. */
void bounds_claimed(struct bounds *bounds, int slice, int64_t last);
/* The claim was full: it came to this slice, and to none of those chosen behind it. */
void bounds_cut(struct bounds *bounds, int slice);
/* Whether the slices of a claim at this width share its rows: keys of several go side by side. */
bool bounds_share(const struct bounds *bounds);
/* A claim found nothing: no slice has more for sure. */
void bounds_doubt(struct bounds *bounds);
/* How full a claim was decides how many slices the next one takes. */
void bounds_adapt(struct bounds *bounds, int rows, int limit);

/* Somebody holds a row of those chosen last. If it is clear of which, that is left until then. */
void bounds_avoid(struct bounds *bounds, int64_t until_ms);

#endif
