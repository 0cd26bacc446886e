#ifndef OUTBOX_PIPELINE_H
#define OUTBOX_PIPELINE_H

#include "pg/array.h"
#include "outbox/outbox.h"
#include "outbox/slices/scan.h"
#include "catalog/sequence.h"
#include "outbox/sql.h"
#include "outbox/slices/turns.h"

/*
 * A lane's connection in libpq's pipeline mode: prepared statements are queued, and one Sync ends
 * what travels together. Any failure closes the session, so no half-read pipeline is ever reused.
 */

/* Claims shrink by these factors while rows are so large that the byte limit cuts them. */
#define CLAIM_LEVELS 4

/* Why a statement failed, as far as a lane acts on it. */
enum failure {
    FAILURE_NONE,
    FAILURE_OTHER,
    FAILURE_LOCKED, /* it waited too long for somebody's lock on a row */
    FAILURE_ROW, /* it may be a row's fault: its values cannot be read or sent, or take too long */
    FAILURE_DAMAGED /* the same: what is stored of it is no value */
};

static inline bool failure_is_of_row(enum failure failure)
{
    return failure == FAILURE_ROW || failure == FAILURE_DAMAGED;
}

#define AWAY_WINDOW_ROWS 50000 /* so many that asking the routes of each takes a moment only */

/* While a sink is away: where the lane looks among the rows that are left (away.h). */
struct away_walk {
    struct round round; /* of scans */
    bool seen;          /* every slice has been scanned */
    int64_t took_ms;    /* by the round under way */
    int64_t restart_ms; /* then the walk goes back to the bound, wherever it is */
    int64_t from;       /* the window begins there; HORIZON_UNKNOWN: at the bound */
    int64_t end;        /* the last id of the window; INT64_MAX: it reaches to the table's end */
};

/* What a claim took of one slice that was locked for it, by integer ids. */
struct claimed_range {
    int slice;
    int rows;
    struct horizon_bound from;
    int64_t last; /* id; INT64_MAX: the slice was seen to its end; HORIZON_UNKNOWN: nothing of it */
};

struct outbox {
    const struct outbox_options *options;
    const struct routes *routes;
    char name[48];
    struct session session;
    struct table table;
    bool payload_is_json; /* its column */
    struct sequence sequence;
    struct server server;
    int prepared; /* statements that the server was asked to prepare */

    /* shared by the lanes of a process; NULL: this lane is alone */
    struct horizon *horizon;
    struct wal_flush *flush;

    /* which slices, and from where on */
    struct turns turns;
    struct horizon *away_horizon; /* bounds of the rows that are claimed while a sink is away */
    struct horizon_view view;     /* of the claim under way */
    bool reads_all;               /* the next claim trusts no bound */
    struct horizon *view_of;      /* whose bounds these are: one of the two above, or NULL */
    struct away_walk walk;

    /* the claim in hand */
    struct horizon_stamp stamp; /* of the view that it was asked for with, */
    struct horizon *stamp_of;   /* and whose that was; NULL: there is nothing to tell */
    bool read_high;             /* it read from the high bounds */
    int32_t locked[SLICES_A_CLAIM_MAX];
    struct claimed_range claimed[SLICES_A_CLAIM_MAX]; /* one for each of `locked` */
    int locked_count;                                 /* 0: parked rows, or order = "none" */
    int empty_claims;  /* in a row: slices were locked, and the claim behind found nothing */
    int64_t xact;      /* its transaction */
    bool flushed;      /* what it saw was on disk when it ended */
    int64_t asked_ms;  /* when it was sent (clock_boot_ms) */
    int64_t worked_ms; /* how long the server has worked on it since */

    bool in_transaction;
    bool claim_in_flight;     /* BEGIN, claim and Sync are sent, and nothing of them is read */
    int level;                /* which claim statement comes next */
    int64_t isolate_until_ms; /* no larger claim comes before, while a row cannot be read */
    enum failure failure;     /* why the last statement failed */
};

/* Rows that a claim asks for at this level. */
int pipeline_limit(const struct outbox *outbox, int level);

/* Connects, describes and prepares. */
int pipeline_open(struct outbox *outbox, struct error *error);
void pipeline_close(struct outbox *outbox);

/* Closes after a failure that *error tells; returns -1. */
int pipeline_abort(struct outbox *outbox);
/* By COMMIT or by ROLLBACK: 0, or -1 and closed. */
int pipeline_end_transaction(struct outbox *outbox, bool commit, struct error *error);
/* Ends the transaction of a statement that failed, and keeps the session: 0, or -1 and closed. */
int pipeline_roll_back(struct outbox *outbox, struct error *error);

/* Queues a prepared statement with binary parameters; binary results when asked. */
int pipeline_queue(struct outbox *outbox, const char *statement, int param_count,
                   const struct array *params, bool binary, struct error *error);
int pipeline_queue_claim(struct outbox *outbox, struct batch *batch,
                         const struct claim_request *request, struct error *error);
/* Parts of it: BEGIN, the table's lock and those of slices; and, instead of the claim, the place
 * and the id of the first row that it would take. */
int pipeline_queue_transaction(struct outbox *outbox, struct batch *batch,
                               const struct claim_request *request, struct error *error);
int pipeline_queue_first_row(struct outbox *outbox, struct batch *batch,
                             const struct claim_request *request, struct error *error);
int pipeline_sync(struct outbox *outbox, struct error *error);

/* The next result, which must have this status. NULL: closed. PQclear() it. */
PGresult *pipeline_expect(struct outbox *outbox, ExecStatusType status, struct error *error);
/* The same, but a statement that fails leaves the session open, for pipeline_roll_back(), and
 * outbox->failure says why it failed. */
PGresult *pipeline_answer(struct outbox *outbox, ExecStatusType status, struct error *error);
/* A statement that may fail without ending the session: 1, or 0 with *error and outbox->failure set
 * when it did fail; -1: closed. */
int pipeline_try(struct outbox *outbox, struct error *error);
/* The same as expect, when the result itself is not wanted. */
int pipeline_skip(struct outbox *outbox, ExecStatusType status, struct error *error);

/* One statement alone with text parameters; its text result. */
PGresult *pipeline_run(struct outbox *outbox, const char *statement, int param_count,
                       const char *const *params, struct error *error);

#endif
