#ifndef OUTBOX_PIPELINE_H
#define OUTBOX_PIPELINE_H

#include "outbox/array.h"
#include "outbox/barrier.h"
#include "outbox/bounds.h"
#include "outbox/outbox.h"
#include "outbox/passed.h"
#include "outbox/server.h"
#include "outbox/shared.h"
#include "outbox/sql.h"
#include "outbox/survey.h"

/*
 * A lane's connection in libpq's pipeline mode: prepared statements are queued, and one Sync ends
 * what travels together. Any failure closes the session, so no half-read pipeline is ever reused.
 */

/* Claims shrink by these factors while rows are so large that the byte limit cuts them. */
#define CLAIM_LEVELS 4

/* What a claim took of one slice, by integer ids. */
struct claimed {
    int slice;
    int64_t first;
    int64_t last;
};

struct outbox {
    const struct outbox_options *options;
    const struct routes *routes;
    char name[48];
    struct session session;
    struct barrier barrier;
    struct table table;
    bool payload_is_json; /* its column */
    struct server server;
    struct passed passed;
    struct bounds bounds;
    struct survey survey;
    struct shared *shared; /* see outbox_share(); NULL: with nobody */
    bool looks_alone;      /* the next time, and learns no bounds of others */
    uint64_t bounded_away; /* whose rows the bounds have passed */
    struct sight asking;   /* of the claim under way */
    struct sight sight;    /* of the claim in hand, */
    struct claimed claimed[BOUNDS_WIDTH_MAX];
    int claimed_count; /* and what it took; 0: parked rows, or ids that are no integers */
    int empty_looks;   /* in a row: slices had rows, and the claim behind found none */
    int prepared;      /* statements that the server was asked to prepare */
    int64_t xact;      /* of the claim in hand */
    bool flushed;      /* what it saw was on disk when it ended */
    int64_t asked_ms;  /* when that claim was sent (clock_boot_ms) */
    int64_t worked_ms; /* how long the server has worked on it since */
    bool in_transaction;
    bool claim_in_flight; /* BEGIN, claim and Sync are sent, and nothing of them is read */
    int level;            /* which claim statement comes next */
    bool overloaded;      /* the last claim took too long, or too much of the server's memory */
    bool lock_waited;     /* or it waited too long for somebody's lock on a row */
};

/* Rows that a claim asks for at this level. */
int pipeline_limit(const struct outbox *outbox, int level);

/* passed.c: which claim comes next, and what is remembered of the one that was made. */
void pipeline_forget_passed(struct outbox *outbox);
const char *pipeline_passed_from(const struct outbox *outbox);
enum claim_kind pipeline_choose_claim(struct outbox *outbox, const struct claim *claim);
int pipeline_remember_passed(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                             struct error *error);

/* Connects, describes and prepares. */
int pipeline_open(struct outbox *outbox, struct error *error);
void pipeline_close(struct outbox *outbox);

/* Closes after a failure that *error tells; returns -1. */
int pipeline_abort(struct outbox *outbox);

/* Queues a prepared statement with binary parameters; binary results when asked. */
int pipeline_queue(struct outbox *outbox, const char *statement, int param_count,
                   const struct array *params, bool binary, struct error *error);
int pipeline_queue_claim(struct outbox *outbox, struct batch *batch, const struct claim *claim,
                         struct error *error);
int pipeline_sync(struct outbox *outbox, struct error *error);

/* The next result, which must have this status. NULL: closed. PQclear() it. */
PGresult *pipeline_expect(struct outbox *outbox, ExecStatusType status, struct error *error);
/* A statement that may fail without ending the session: 1, or 0 with *error set when it did fail;
 * -1: closed. */
int pipeline_try(struct outbox *outbox, struct error *error);
/* The same as expect, when the result itself is not wanted. */
int pipeline_skip(struct outbox *outbox, ExecStatusType status, struct error *error);

/* One statement alone with text parameters; its text result. */
PGresult *pipeline_run(struct outbox *outbox, const char *statement, int param_count,
                       const char *const *params, struct error *error);

#endif
