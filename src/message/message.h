#ifndef MESSAGE_MESSAGE_H
#define MESSAGE_MESSAGE_H

#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One row on its way to a broker. The stages claim, route, order, broker and outcome each fill in
 * their own part and never read a later one. Any stage may set verdict and reason: an early verdict
 * ends the message's way. All bytes belong to the batch.
 */

/* What the broker, or an earlier stage, decided about this one message. */
enum verdict {
    VERDICT_PENDING, /* nothing is known: the row stays unsent, and no attempt is counted */
    VERDICT_SENT,    /* the broker acknowledged this very message */
    VERDICT_RETRY,   /* the message itself caused a temporary failure: an attempt is counted */
    VERDICT_WAIT, /* it must wait (the destination is missing or forbidden, or memory is short): no
                     attempt is counted */
    VERDICT_DECLINED, /* this configuration does not send it, another one may: no attempt is counted
                       */
    VERDICT_EARLY,    /* its time has not come: no attempt is counted */
    VERDICT_PAUSED,   /* an operator has paused its topic or key: no attempt is counted */
    VERDICT_REFUSED,  /* PostgreSQL would refuse to settle the row: it is not published */
    VERDICT_REJECTED  /* the message can never be sent as it is: the row becomes dead */
};

/* What settling the batch does with the row. */
enum outcome {
    OUTCOME_UNSENT, /* leave it unchanged and due at once */
    OUTCOME_SENT,   /* mark or delete it */
    OUTCOME_PARK,   /* move it to the parked table, due in `retry_ms` */
    OUTCOME_BEHIND, /* move it there too, to wait until the earlier parked row of its key is sent */
    OUTCOME_REFUSED, /* leave it unchanged, with a note that keeps it out of claims (refused.h) */
    OUTCOME_DEAD     /* move it there as a dead row, which waits for the operator */
};

struct header {
    struct text name;
    struct text value;
};

#define MESSAGE_ROW_BYTES 6 /* a tid in PostgreSQL's binary format: block number, then offset */

struct message {
    /* claim */
    unsigned char row[MESSAGE_ROW_BYTES]; /* the locked row's ctid */
    uint32_t xmin;                        /* its xmin; 0: not known */
    int slice;                            /* the row's slice; 0 without slices */
    struct text id;                       /* by which the relay goes */
    struct text event_id;
    bool numbered; /* `id` is a number beside the id that people know the row by, the event id */
    struct text topic;
    struct text key;
    struct text type;
    struct text payload;     /* data == NULL: a tombstone, or too large to fetch */
    int64_t payload_len;     /* length in the table, -1: NULL; above payload.len: too large */
    bool payload_is_json;    /* the column is json or jsonb: the bytes are valid JSON */
    struct text created_at;  /* RFC 3339, UTC; NULL when the table has no such column */
    int64_t created_us;      /* the same in microseconds since 1970 */
    struct text replayed_at; /* RFC 3339, UTC; NULL unless `replay` made this copy of a sent row */
    struct text message_id;  /* of such a copy: the id by which a broker detects repeats, instead of
                                event_id */
    int attempts;            /* attempts counted so far */
    int64_t waited_ms;       /* time since the row was parked or refused; 0: it was neither */
    int64_t due_ms;          /* until it may be sent ([outbox] due); 0: it may */
    int64_t note;            /* of a refused row: seq of its note in the parked table; 0: none */
    bool is_sent;            /* of a refused row: a broker has acknowledged it before */
    bool stays;      /* it has a row in the outbox, from where `dead retry` copies it again */
    bool is_unknown; /* a copy that is of none of the rows that have its id now */
    bool blocked;    /* an earlier row of its key is parked, so this one has to wait */
    bool unreadable; /* PostgreSQL cannot read the row: only ctid and id are known */
    /* From the row's headers column, where JSON's null is NULL, and from [outbox.headers]. When a
     * CloudEvent is made, they become its headers, and the payload may become the whole event
     * (broker_wrap). */
    struct header *headers;
    int header_count;

    /* route */
    int sink;                /* index into the sinks; -1 until the message is routed */
    struct text destination; /* topic or subject */
    struct text route_key;   /* the message's key at the broker */
    int partition;           /* at the broker, or the one that it waits for; -1: not known */

    /* order */
    int before;  /* index of the previous message of its key; -1 when there is none */
    int wave;    /* number of the wave in which it may be handed to its broker */
    bool handed; /* a client that keeps the order has taken it: later ones may follow at once */

    /* broker, or the earlier stage that rejected the message */
    enum verdict verdict;
    const char *reason;        /* why it was not sent; NULL when it was, or is pending */
    const char *parked_reason; /* the same with PostgreSQL's words, which may hold values of the
                                  row: for the parked table; NULL: there are none */
    int64_t wait_max_ms; /* with VERDICT_WAIT and VERDICT_DECLINED: the longest wait for the next
                            try; 0: backoff_max */

    /* outcome */
    enum outcome outcome;
    int64_t retry_ms;      /* until the row is tried again, parked or refused */
    bool is_new_refusal;   /* PostgreSQL has refused it for the first time */
    bool is_untried;       /* it was refused together with others, and due again at once */
    struct text waits_for; /* the destination, pause or configuration; NULL: none */
};

/* What people call the row. */
static inline struct text message_row_id(const struct message *message)
{
    return message->numbered && message->event_id.data != NULL ? message->event_id : message->id;
}

#endif
