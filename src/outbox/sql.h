#ifndef OUTBOX_SQL_H
#define OUTBOX_SQL_H

#include "catalog/table.h"
#include "route/route.h"

/*
 * The statements of a lane, as texts. Rows are addressed by ctid: the claim's lock keeps a row
 * where it is until the transaction ends, and a Tid Scan cannot be planned wrongly. LIMIT is a
 * literal, or what the planner can compute: of a parameter it guesses 10 % of the table.
 */

#define CLAIM_KEY_BYTES_MAX 1024
/* Of key, type and headers together, beside a payload that is checked against the broker's limit:
 * what keeps a row's rest sane. */
#define CLAIM_REST_BYTES_MAX (128 * 1024)

/* A claim's result; a NULL costs least. What is not noted is text in UTF-8. */
enum claim_column {
    CLAIM_ROW, /* tid, binary */
    CLAIM_ID,
    CLAIM_EVENT_ID, /* of a uuid its 16 bytes: the result's column tells */
    CLAIM_TOPIC,
    CLAIM_KEY, /* also of a row that is too large, when it has no more than CLAIM_KEY_BYTES_MAX */
    CLAIM_TYPE,
    CLAIM_PAYLOAD, /* the column's bytes */
    CLAIM_HEADERS,
    CLAIM_CREATED_AT, /* timestamptz, binary: int8 microseconds since 2000-01-01 */
    CLAIM_LENGTHS,  /* int8 of payload (-1: NULL), int8 of key, type, headers; NULL: it is whole */
    CLAIM_SLICE,    /* int4, binary; 0 without slices */
    CLAIM_BLOCKED,  /* not NULL: a row of its key is parked */
    CLAIM_ATTEMPTS, /* int4, binary; this and the next only of parked rows */
    CLAIM_WAITED    /* int8, binary: ms since the row was parked */
};

/* Takes the table lock that the settle needs, before anything is published: behind a lock that a
 * CREATE INDEX got in between, the settle would time out and the batch would be repeated. */
char *sql_lock(const struct table *table);

enum claim_kind {
    CLAIM_TABLE,  /* any unsent rows */
    CLAIM_SLICES, /* those of the slices that were locked */
    CLAIM_PARKED, /* what is due of the parked rows */
    CLAIM_KINDS
};

struct claim_text {
    enum claim_kind kind;
    int limit;
    bool alone;           /* only the row at $3 tid, which is locked already */
    int64_t inline_bytes; /* rows whose texts and payload together do not exceed this come whole */
    const struct routes *routes; /* NULL: all rows go to sink 0 */
};

/* $1 int8: a bit for each sink whose rows are left; $2 int8: no payload is larger, or its row comes
 * as lengths. CLAIM_TABLE of integer ids: $3 int8 and $4 int8 the low and high bound, $5 xid8[] the
 * long holders and $6 int8 the file node for which they are true; $7 int8 the highest id. */
char *sql_claim(const struct table *table, const struct outbox_options *options,
                const struct claim_text *text);

/* Instead of a claim, with its parameters: the first row that it would lock, and locks: tid, and
 * the id as text. No other column is read. */
char *sql_first_row(const struct table *table, const struct outbox_options *options,
                    const struct claim_text *text);

/* Behind a claim, in its transaction: what is true of all of it. */
char *sql_claimed(const struct table *table);
enum claimed_column {
    CLAIMED_FLUSHED, /* bool: what the claim saw is on disk; NULL: it saw nothing */
    CLAIMED_XACT,    /* xid8, binary: the transaction, for pg_xact_status() */
    CLAIMED_BEGAN,   /* timestamptz, binary: its BEGIN, */
    CLAIMED_DONE,    /* and when all rows of the claim had been sent */
    CLAIMED_HIGH,    /* bool: it read from the high bounds; NULL: it did not read */
    CLAIMED_PAUSES   /* text: see sql_pauses */
};

/* What is paused, one thing a line (catalog/pauses.h); NULL: nothing. */
char *sql_pauses(const struct table *table);

/* $1 tid[], $2 int4 their number. Raises an error when another number of rows was touched. */
char *sql_sent(const struct table *table, const struct outbox_options *options, bool parked);

/* $1 tid[], $2 int4 their number, $3 text[] reasons, $4 int4[] attempts, $5 int8[] ms until the
 * next try (-1: dead, -2: behind another of its key), $6 text[] the destination that a row waits
 * for (NULL: none). From the outbox the rows move; parked rows are updated. Raises like sql_sent.
 */
char *sql_park(const struct table *table, const struct outbox_options *options, bool parked);

/* $1 tid, $2 text a reason: the row moves as dead, with its id only. Raises like sql_sent. */
char *sql_park_bare(const struct table *table);

/* Whether anything is due now (unsent rows, locked ones included, or parked ones whose
 * time has come); the number of parked and dead rows, counted no further than 1,000. */
char *sql_remaining(const struct table *table, const struct outbox_options *options);

#endif
