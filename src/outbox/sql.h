#ifndef OUTBOX_SQL_H
#define OUTBOX_SQL_H

#include "catalog/table.h"
#include "route/route.h"

/*
 * The statements of a lane. Rows are addressed by ctid: the claim's lock keeps a row version in its
 * place until the transaction ends, and a Tid Scan cannot be planned badly. A LIMIT is a literal or
 * an expression that the planner can compute; for a parameter it would assume 10 % of the table.
 */

#define CLAIM_KEY_BYTES_MAX 1024
/* The limit for key, type and headers together. The payload is checked against the broker's limit.
 */
#define CLAIM_REST_BYTES_MAX (128 * 1024)

/* The columns of a claim's result: UTF-8 text unless noted otherwise. */
enum claim_column {
    CLAIM_ROW, /* tid, binary */
    CLAIM_ID,
    CLAIM_EVENT_ID, /* the 16 bytes of a uuid if the result's column has that type, else text */
    CLAIM_TOPIC,
    CLAIM_KEY, /* even if CLAIM_LENGTHS is set, when it has at most CLAIM_KEY_BYTES_MAX bytes */
    CLAIM_TYPE,
    CLAIM_PAYLOAD, /* the column's bytes */
    CLAIM_HEADERS,
    CLAIM_CREATED_AT, /* timestamptz, binary: int8 microseconds since 2000-01-01 */
    CLAIM_LENGTHS,  /* NULL: the row is complete; else int8 payload length (-1: NULL), int8 rest */
    CLAIM_SLICE,    /* int4, binary; 0 without slices */
    CLAIM_BLOCKED,  /* not NULL: a row of its key is parked */
    CLAIM_ATTEMPTS, /* int4, binary; this column and the next two for parked and refused rows */
    CLAIM_WAITED,   /* int8, binary: ms since the row was parked or refused */
    CLAIM_REPLAYED, /* timestamptz, binary: when `replay` made this copy; NULL: not a copy */
    CLAIM_NOTE,     /* int8, binary: seq of the note; this column and the next for refused rows */
    CLAIM_IS_SENT   /* bool, binary: a broker has acknowledged the row already */
};

/* Takes the table lock that the settle needs, before anything is published. Otherwise a CREATE
 * INDEX could lock the table in between, the settle would time out, and the batch would be
 * repeated.
 */
char *sql_lock(const struct table *table);

enum claim_kind {
    CLAIM_TABLE,   /* any unsent rows */
    CLAIM_SLICES,  /* unsent rows of the locked slices */
    CLAIM_PARKED,  /* parked rows that are due */
    CLAIM_REFUSED, /* unsent rows whose notes are due */
    CLAIM_KINDS
};

struct claim_text {
    enum claim_kind kind;
    int limit;
    bool alone;                  /* read only the row at $3 tid, which is locked already */
    int64_t inline_bytes;        /* a row up to this size is always returned in full */
    const struct routes *routes; /* NULL: all rows go to sink 0 */
};

/* The claim. $1 int8: a bit for each sink whose rows are not claimed. $2 int8: of a row with a
 * larger payload only the lengths are returned. CLAIM_TABLE with integer ids: $3 int8 and $4 int8
 * are the low and the high bound, $5 xid8[] the long holders, $6 int8 the file node for which these
 * are valid, and $7 int8 the highest id to claim. */
char *sql_claim(const struct table *table, const struct outbox_options *options,
                const struct claim_text *text);

/* Takes the parameters of the claim; locks the first row that the claim would lock and returns its
 * tid, its id as text, and of a refused row the seq of its note. Reads no other column. */
char *sql_first_row(const struct table *table, const struct outbox_options *options,
                    const struct claim_text *text);

/* Runs after the claim in its transaction, and returns facts about the whole claim. */
char *sql_claimed(const struct table *table);
enum claimed_column {
    CLAIMED_FLUSHED, /* bool: everything that the claim saw is on disk; NULL: it saw no row */
    CLAIMED_XACT,    /* xid8, binary: the transaction, for pg_xact_status() */
    CLAIMED_BEGAN,   /* timestamptz, binary: when the transaction began */
    CLAIMED_DONE,    /* timestamptz, binary: when the claim had returned its rows */
    CLAIMED_HIGH,    /* bool: the claim read from the high bounds; NULL: it read nothing */
    CLAIMED_PAUSES,  /* text: see sql_pauses */
    CLAIMED_SHAPE,   /* text: the shape of the tables (shape.h) */
    CLAIMED_REFUSED  /* bool: a note is due; NULL: there is no note (refused.h) */
};

/* What is paused, one item a line (catalog/pauses.h); NULL: nothing. */
char *sql_pauses(const struct table *table);

/* Marks or deletes rows: $1 tid[], $2 int4 their number. Raises an error when it settles another
 * number of rows; a row whose mark a trigger has taken back is not settled. */
char *sql_sent(const struct table *table, const struct outbox_options *options, bool parked);

/* Raises an error when rows that were settled in this transaction are unsent again, because a
 * trigger or a rule has undone it: $1 text[] ids, $2 int4[] slices. */
char *sql_stay_settled(const struct table *table, const struct outbox_options *options);

/* Parks rows: moves them from the outbox, or updates parked rows. $1 tid[], $2 int4 their number,
 * $3 text[] reasons, $4 int4[] attempts, $5 int8[] ms until the next attempt (-1: dead, -2: waits
 * for an earlier row of its key), $6 text[] the destination that the row waits for (NULL: none).
 * Raises an error like sql_sent. */
char *sql_park(const struct table *table, const struct outbox_options *options, bool parked);

/* Writes notes for rows of the outbox (refused.h): the parameters of sql_park, with $5 int8[] ms
 * until the next try and $6 text[] what is left to do; $7 text[] the ids, because a row need not be
 * locked. Raises an error when there would be too many notes. */
char *sql_note(const struct table *table);

/* Parts of statements about notes: a SELECT of those that are due, of the locked slices if there
 * are slices, in columns that begin with relay_; and the condition that an unsent row of the outbox
 * is the one of such a note. */
void sql_put_due_notes(FILE *out, const struct table *table, const struct outbox_options *options);
void sql_put_is_noted(FILE *out, const struct table *table, const struct outbox_options *options);

/* Changes notes: $1 int8[] their seq; $3 to $6 are those of sql_note. */
char *sql_renote(const struct table *table);

/* Deletes notes, $1 int8[] their seq, and makes the next rows of their keys due. */
char *sql_end_notes(const struct table *table, const struct outbox_options *options);

/* The same for notes that are due and whose rows are not unsent any more. */
char *sql_end_notes_of_none(const struct table *table, const struct outbox_options *options);

/* Moves the row $1 tid with its id only, as dead, with the reason $2 text. Raises like sql_sent. */
char *sql_park_bare(const struct table *table);

/* Returns whether there are unsent rows, locked ones included, or parked rows whose time has come;
 * and the number of parked and dead rows, counted up to 1,000. */
char *sql_remaining(const struct table *table, const struct outbox_options *options);

#endif
