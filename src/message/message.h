#ifndef MESSAGE_MESSAGE_H
#define MESSAGE_MESSAGE_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One row on its way to a broker. Each stage fills its part and never reads ahead:
 * claim, route, order, broker, outcome. All bytes belong to the batch.
 */

/* What the broker (or a stage before it) says about this one message. */
enum verdict {
    VERDICT_PENDING, /* no word: stays unsent, costs no attempt */
    VERDICT_SENT,    /* the broker's positive acknowledgement of this very message */
    VERDICT_RETRY,   /* failed for now, and it is this message's own fault: costs an attempt */
    VERDICT_WAIT,    /* its destination is not there (unknown topic, no stream): costs nothing */
    VERDICT_REJECTED /* can never be sent as it is: goes to the dead rows with its reason */
};

/* What becomes of the row when the batch is settled. */
enum outcome {
    OUTCOME_LEAVE, /* stays as it is, due at once */
    OUTCOME_SENT,
    OUTCOME_PARK,   /* waits outside the hot path until `retry_ms` from now */
    OUTCOME_BEHIND, /* waits there until the parked row of its key before it has left */
    OUTCOME_DEAD    /* waits for the operator */
};

struct header {
    struct text name;
    struct text value;
};

#define MESSAGE_ROW_BYTES 6 /* a tid as PostgreSQL sends it: block number, then offset */

struct message {
    /* claim */
    unsigned char row[MESSAGE_ROW_BYTES]; /* where the locked row stands (ctid) */
    int slice;                            /* of the row; 0 without slices */
    struct text id;
    struct text event_id;
    struct text topic;
    struct text key;
    struct text type;
    struct text payload; /* data == NULL: a tombstone, or not fetched (see payload_len) */
    int64_t
        payload_len; /* bytes in the table; -1: NULL. May exceed payload.len: too large to fetch */
    bool payload_is_json;   /* the column is json or jsonb: the bytes are valid JSON */
    struct text created_at; /* RFC 3339, UTC; NULL when the table has none */
    int attempts;           /* tries that counted so far */
    int64_t waited_ms;      /* since it was parked; 0: it was not */
    bool blocked;           /* an earlier row of its key is parked: it may not overtake it */
    bool unreadable;        /* PostgreSQL cannot hand it over: only row and id are known */
    struct header *headers; /* the row's own */
    int header_count;

    /* route */
    int sink;                /* index into the sinks; -1 until routed */
    struct text destination; /* topic or subject */
    struct text route_key;   /* the message's key at the broker */

    /* order */
    int before;  /* the place of the last message of its key before it; -1: none */
    int wave;    /* in which it may be handed to its broker */
    bool handed; /* to a client that keeps the order of those behind it */

    /* broker (or whichever stage found the message unfit) */
    enum verdict verdict;
    const char *reason; /* why not sent; NULL when sent or pending */

    /* outcome */
    enum outcome outcome;
    int64_t retry_ms;
    struct text waits_for; /* the sink and the destination that is not there; NULL: none */
};

#endif
