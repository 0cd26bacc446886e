#ifndef OUTBOX_SQL_H
#define OUTBOX_SQL_H

#include "outbox/table.h"

/*
 * The statements of a lane, as texts. Rows are addressed by ctid: the claim's lock keeps a row
 * where it is until the transaction ends, and a Tid Scan cannot be planned wrongly. LIMIT is a
 * literal, because a generic plan guesses 10 % of the table for a parameter.
 */

/* The columns of a claim's result, in order. All but those noted are text in UTF-8. */
enum claim_column {
    CLAIM_ROW, /* tid, binary */
    CLAIM_ID,
    CLAIM_EVENT_ID,
    CLAIM_TOPIC,
    CLAIM_KEY,
    CLAIM_TYPE,
    CLAIM_PAYLOAD, /* the column's bytes */
    CLAIM_HEADERS,
    CLAIM_CREATED_AT,  /* timestamptz, binary: int8 microseconds since 2000-01-01 */
    CLAIM_ATTEMPTS,    /* int4, binary */
    CLAIM_WAITED,      /* int8, binary: ms since the row was parked; 0 in the outbox */
    CLAIM_PAYLOAD_LEN, /* int8, binary; NULL when the payload is */
    CLAIM_REST_LEN,    /* int8, binary: bytes of key, type and headers */
    CLAIM_FLUSHED,     /* bool: what the claim saw was on disk when it ended */
    CLAIM_COLUMNS
};

/* Takes the table lock that the settle needs, before anything is published: behind a lock that a
 * CREATE INDEX got in between, the settle would time out and the batch would be repeated. */
char *sql_lock(const struct table *table);

/* Rows whose key, type, headers and payload together exceed `inline_bytes` come without them. */
char *sql_claim(const struct table *table, const struct outbox_options *options, bool parked,
                int limit, int64_t inline_bytes);

/* $1 tid[]: row, key, type, payload, headers of locked rows that the claim left behind. */
char *sql_fetch(const struct table *table, bool parked);
enum fetch_column { FETCH_ROW, FETCH_KEY, FETCH_TYPE, FETCH_PAYLOAD, FETCH_HEADERS };

/* $1 tid[], $2 int4 their number. Raises an error when another number of rows was touched. */
char *sql_sent(const struct table *table, const struct outbox_options *options, bool parked);

/* $1 tid[], $2 int4 their number, $3 text[] reasons, $4 int4[] attempts, $5 int8[] ms until the
 * next try (-1: dead). From the outbox the rows move; parked rows are updated. Raises like
 * sql_sent. */
char *sql_park(const struct table *table, bool parked);

/* Whether anything is due now (unsent rows, locked ones included, or parked ones whose
 * time has come); the number of parked and dead rows, counted no further than 1,000. */
char *sql_leftover(const struct table *table, const struct outbox_options *options);

/* $1 ms: deletes sent rows that are older, at most `limit` of each table, and returns the number.
 * With sequential ids it looks only at the `limit` oldest rows, and needs no index on sent_at. */
char *sql_purge(const struct table *table, int limit);

#endif
