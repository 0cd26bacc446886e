#ifndef OUTBOX_SQL_H
#define OUTBOX_SQL_H

#include "outbox/slices/statements.h"

/*
 * The statements of a lane, in sql/. Rows are addressed by ctid: the claim's lock keeps a row
 * version in its place until the transaction ends, and a Tid Scan cannot be planned badly. A LIMIT
 * is a literal or an expression that the planner can compute; for a parameter it would assume 10 %
 * of the table.
 */

#define CLAIM_KEY_BYTES_MAX 1024
/* The limit for key, type and headers together. The payload is checked against the broker's limit.
 */
#define CLAIM_META_BYTES_MAX 131072

/* The number of claim sizes. Claims get smaller while rows are so large that the byte limit cuts
 * the batch; those of the last level claim one row. */
#define CLAIM_LEVELS 4

enum claim_kind {
    CLAIM_OUTBOX,  /* unsent rows, of the locked slices if there are slices */
    CLAIM_PARKED,  /* parked rows that are due */
    CLAIM_REFUSED, /* unsent rows whose notes are due */
};

/* How many rows a claim of this level asks for. */
int sql_claim_limit(const struct outbox_options *options, int level);

struct statement {
    char name[32];     /* "claim_2": the claim of level 2 */
    const char *text;  /* with facts */
    const char *facts; /* names of those that are true in it besides, such as "first" */
    enum claim_kind kind;
    int level;            /* of the claim */
    int limit;            /* rows of the claim */
    int64_t inline_bytes; /* a row up to this size is always returned in full */
};

/* Takes the next of the statements that a lane uses with these tables and options. `*at` is 0
 * before the first. Returns false after the last. */
bool sql_next(int *at, const struct slice_facts *about, struct statement *statement);
/* The statement as it is sent; free() it. NULL: no memory. */
char *sql_statement(const struct statement *statement, const struct slice_facts *about);

#endif
