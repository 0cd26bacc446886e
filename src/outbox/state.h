#ifndef OUTBOX_STATE_H
#define OUTBOX_STATE_H

#include "catalog/sequence.h"
#include "outbox/outbox.h"
#include "outbox/slices/slice_lock.h"
#include "outbox/sql.h"

/* What stands behind outbox.h: the state of a lane's side of the database. */

/* Claims shrink by these factors while rows are so large that the byte limit cuts them. */
#define CLAIM_LEVELS 4

struct outbox {
    const struct outbox_options *options;
    const struct routes *routes;
    char name[48];
    struct pipeline pipeline;
    struct table table;
    bool payload_is_json; /* its column */
    struct sequence sequence;
    struct server server;
    struct slice_lock slices;
    struct wal_flush *flush; /* shared by the lanes of a process; NULL: this lane is alone */

    /* the claim in hand */
    int64_t xact;      /* its transaction */
    bool flushed;      /* what it saw was on disk when it ended */
    int64_t asked_ms;  /* when it was sent (clock_boot_ms) */
    int64_t worked_ms; /* how long the server has worked on it since */

    char *pauses; /* what was paused at the last claim or look, one thing a line; NULL: nothing */

    int level;                /* which claim statement comes next */
    int64_t isolate_until_ms; /* no larger claim comes before, while a row cannot be read */
};

/* Rows that a claim asks for at this level. */
int outbox_claim_limit(const struct outbox *outbox, int level);
/* The name of the statement that claims so. */
void outbox_name_claim(char name[32], enum claim_kind kind, int level);

#endif
