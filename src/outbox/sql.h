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

/* The columns of a claim's result: UTF-8 text unless noted otherwise. */
enum claim_column {
    CLAIM_ROW,  /* tid, binary */
    CLAIM_XMIN, /* xid, binary: with the tid it is this version of the row and no other */
    CLAIM_ID,
    CLAIM_EVENT_ID, /* the 16 bytes of a uuid if the result's column has that type, else text */
    CLAIM_TOPIC,
    CLAIM_KEY, /* even if CLAIM_LENGTHS is set, when it has at most CLAIM_KEY_BYTES_MAX bytes */
    CLAIM_TYPE,
    CLAIM_PAYLOAD, /* the column's bytes */
    CLAIM_HEADERS,
    CLAIM_CREATED_AT, /* timestamptz, binary: int8 microseconds since 2000-01-01 */
    CLAIM_LENGTHS, /* NULL: the row is complete; else int8 payload length (-1: NULL), int8 rest */
    CLAIM_SLICE,   /* int4, binary; 0 without slices */
    CLAIM_BLOCKED, /* not NULL: a row of its key is parked */
    CLAIM_MORE_HEADERS, /* bytea[], binary: names and values of [outbox.headers] in turn */
    CLAIM_DUE,          /* int8, binary: ms until the row may be sent; NULL: at once */
    CLAIM_ATTEMPTS,     /* int4, binary; this column and the next two for parked and refused rows */
    CLAIM_WAITED,       /* int8, binary: ms since the row was parked or refused */
    CLAIM_REPLAYED,     /* timestamptz, binary: when `replay` made this copy; NULL: not a copy */
    CLAIM_NOTE,    /* int8, binary: seq of the note; this column and the next for refused rows */
    CLAIM_IS_SENT, /* bool, binary: a broker has acknowledged the row already */
    CLAIM_PROBLEM = CLAIM_NOTE, /* of parked rows: why a row that is kept as a whole is not sent */
    CLAIM_IS_KNOWN = CLAIM_IS_SENT /* of parked rows: claimed_rows.sql; bool, binary */
};

/* The columns of "claimed". */
enum claimed_column {
    CLAIMED_FLUSHED, /* bool: everything that the claim saw is on disk; NULL: it saw no row */
    CLAIMED_XACT,    /* xid8, binary: the transaction, for pg_xact_status() */
    CLAIMED_BEGAN,   /* timestamptz, binary: when the transaction began */
    CLAIMED_DONE,    /* timestamptz, binary: when the claim had returned its rows */
    CLAIMED_HIGH,    /* bool: the claim read from the high bounds; NULL: it read nothing */
    CLAIMED_PAUSES,  /* text: what is paused (catalog/pauses.h) */
    CLAIMED_SHAPE,   /* text: the shape of the tables (shape.sql) */
    CLAIMED_REFUSED, /* bool: a note is due; NULL: there is no note (refused.h) */
    CLAIMED_TIMEOUT  /* text: the time that the next statements have */
};

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
