#ifndef OUTBOX_FILL_H
#define OUTBOX_FILL_H

#include "base/error.h"
#include "message/batch.h"
#include "outbox/sql.h"

/* From a row of a claim's result, which is batch->rows, to a message. */

/* The size of a claimed row. */
struct row_size {
    int64_t bytes;    /* what it adds to the batch; 0 when it is too large to be sent */
    int64_t rest_len; /* bytes of key, type and headers */
    bool whole;       /* the result contains all of it */
    bool too_large;   /* above the broker's limit or the relay's own */
};

/* The batch's messages will point into the result, which the batch frees. */
void fill_keep(struct batch *batch, PGresult *result);

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
