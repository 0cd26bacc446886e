#ifndef OUTBOX_FILL_H
#define OUTBOX_FILL_H

#include "base/error.h"
#include "message/batch.h"
#include "outbox/sql.h"

/* From a row of a claim's result, which is batch->rows, to a message. */

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
    CLAIM_ATTEMPTS,     /* int4, binary; this column and all after it for parked and refused rows */
    CLAIM_WAITED,       /* int8, binary: ms since the row was parked or refused */
    CLAIM_REPLAYED,     /* timestamptz, binary: when `replay` made this copy; NULL: not a copy */
    CLAIM_PROBLEM,      /* of parked rows: why a row that is kept as a whole is not sent */
    CLAIM_IS_KNOWN,     /* of copies, bool, binary: the outbox has the row, as it was copied */
    CLAIM_NOTE,         /* of refused rows, int8, binary: seq of the note */
    CLAIM_IS_SENT, /* of refused rows, bool, binary: a broker has acknowledged the row already */
    CLAIM_COLUMNS
};

/* The size of a claimed row. */
struct row_size {
    int64_t bytes;    /* what it adds to the batch; 0 when it is too large to be sent */
    int64_t rest_len; /* bytes of key, type and headers */
    bool whole;       /* the result contains all of it */
    bool too_large;   /* above the broker's limit or the relay's own */
};

/* The batch's messages will point into the result, which the batch frees. */
void fill_keep(struct batch *batch, PGresult *result);
/* Whether the result has the columns of a claim. Returns 0, or -1 with *error set. */
int fill_check(const struct batch *batch, struct error *error);

/* In this order: sets the fields that point into the result, */
void fill_fields(const struct batch *batch, struct message *message, int row);
/* those that are lengths, */
struct row_size fill_measure(const struct batch *batch, struct message *message, int row,
                             int64_t payload_max);
/* and those that are converted into the batch's memory; refuses what can never be sent. */
void fill_convert(struct batch *batch, struct message *message, int row, bool payload_is_json,
                  const struct row_size *size);

/* PostgreSQL cannot read the row, or compute its values, because of this error. */
void fill_unreadable(struct batch *batch, struct message *message, bool is_computed,
                     const struct error *error);

#endif
