#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include "base/error.h"
#include "message/message.h"

/*
 * Compares what a table says was sent with what brokers hold, event by event.
 *
 * Each row and each message becomes a record of about 150 bytes. They are sorted by event on the
 * disk (sorter.h), so memory holds the records of one event at a time. The events are then sorted
 * by key in the same way.
 */

#define AUDIT_DIGEST_BYTES 16 /* of SHA-256 */
#define AUDIT_TEXT_MAX 1024   /* bytes of an id that are kept */
#define AUDIT_MEMORY ((size_t)8 * 1024 * 1024)

struct audit_digest {
    unsigned char bytes[AUDIT_DIGEST_BYTES];
};

/* A row that was sent. */
struct audit_row {
    struct text id;
    struct text event_id;
    int64_t rank;    /* grows in the order of the ids */
    int64_t sent_ms; /* since 1970 */
    int sink;
    int topic;             /* the caller's number of the destination */
    int partition;         /* to which route_key goes now; -1: any */
    struct text route_key; /* the message's key at the broker */
    bool has_content;
    struct audit_digest content; /* has_content: of what the row is at the broker */
    bool has_key;
    struct audit_digest key; /* has_key: of the key whose order is kept */
    bool was_parked;         /* a dead row that somebody retries may come after later ones */
};

/* A message that a broker holds. */
struct audit_held {
    struct text event_id;
    int sink;
    int topic;
    int partition;
    struct text key;
    int64_t position; /* offset or sequence number in the partition or the stream */
    int64_t time_ms;
    bool is_replayed;
    struct audit_digest content;
};

enum audit_kind {
    AUDIT_MISSING, /* the table says it was sent, and the broker does not hold it */
    AUDIT_UNKNOWN, /* the broker holds it, and the table has no such event */
    AUDIT_LATE,    /* it came after a later event of its key */
    AUDIT_AGAIN,   /* the broker holds it once more */
    AUDIT_ALTERED, /* key, payload, headers or destination differ */
    AUDIT_FINDINGS,
    /* What is no finding: */
    AUDIT_FOUND = AUDIT_FINDINGS, /* a row that the broker holds */
    AUDIT_REPLAYED,               /* a message that `replay` sent */
    AUDIT_LATE_REPLAYED,          /* late, because only `replay` has sent it */
    AUDIT_LATE_PARKED,            /* late, and it had been parked */
    AUDIT_ELSEWHERE,              /* a row that another sink holds than the routes choose now */
    AUDIT_NOT_COMPARED,           /* the content of the row is not known */
    AUDIT_NOT_READ,               /* a row whose broker could not be read */
    AUDIT_OLD_ROW,                /* not held; the broker may have dropped it by its retention */
    AUDIT_OLD_HELD, /* without a row; the table may have dropped it by its retention */
    AUDIT_NEWER,    /* sent or inserted while the audit read, or not yet settled */
    AUDIT_UNTOLD,   /* a message without a row, where the table tells nothing */
    AUDIT_KINDS
};

/* A finding of one event. The texts are valid during the call. */
struct audit_finding {
    enum audit_kind kind;
    int sink;
    struct text event_id;
    struct text id;   /* of the row; NULL: there is none */
    int64_t sent_ms;  /* of the row */
    int topic;        /* of the message, or where the row should be */
    int partition;    /* likewise; -1: not known */
    int64_t position; /* of the message; -1: there is none */
    int64_t time_ms;  /* of the message */
    int64_t after;    /* AUDIT_LATE: the position of the later event before it */
};

struct audit_judge {
    /* What a row is that its broker does not hold: AUDIT_MISSING, or AUDIT_OLD_ROW or
     * AUDIT_NOT_READ. Called after all rows and messages were compared. Of the finding are set: the
     * ids, sent_ms, sink, topic and partition. */
    enum audit_kind (*judge_row)(const void *closure, const struct audit_finding *row);
    void (*on_finding)(void *closure, const struct audit_finding *finding);
    void *closure;
};

struct audit;

/* So much `memory` is sorted at once: AUDIT_MEMORY, or less in a test. NULL with *error set on
 * failure. */
struct audit *audit_open(size_t memory, struct error *error);
void audit_close(struct audit *audit);

/* The hash of what a message is to its consumers. Headers count in any order. Left out are those
 * that begin with "Nats-" and the one that is named; name == NULL: none. 0, or -1: no memory. */
int audit_hash_content(struct audit *audit, struct text destination, struct text key,
                       struct text payload, const struct header *headers, int count,
                       struct text left_out, struct audit_digest *digest);
struct audit_digest audit_hash_text(struct audit *audit, struct text text);

int audit_add_row(struct audit *audit, const struct audit_row *row, struct error *error);
int audit_add_held(struct audit *audit, const struct audit_held *held, struct error *error);

/* Call it once, after all rows and messages were added: reports what is missing, again, altered or
 * late; missing rows in the order of their ids. Events that have no row are kept. 0, or -1. */
int audit_compare(struct audit *audit, const struct audit_judge *judge, struct error *error);

/* What a comparison has seen besides; known when judge_row() is called, too. */
struct audit_seen {
    int64_t unknown; /* events that have no row */
    /* The longest time from a message to the mark of its row, and from a mark to the message: the
     * clocks of the servers differ. */
    int64_t lag_ms, lead_ms;
    bool has_moved; /* an event is in another partition than its key would go to now: partitions
                       were added */
    bool unknown_is_oldest; /* one is older than all messages that have a row: the table may have
                               dropped its row, and those of others */
};

struct audit_seen audit_seen(const struct audit *audit);

/* After audit_compare(): adds an event id that the table has, whatever the state of its row. 0, or
 * -1. */
int audit_add_known(struct audit *audit, struct text event_id, struct error *error);
/* Then reports the events without a row whose ids were not added. One whose message is older than
 * `oldest_ms` is AUDIT_OLD_HELD. 0, or -1. */
int audit_judge_unknown(struct audit *audit, int64_t oldest_ms, const struct audit_judge *judge,
                        struct error *error);

int64_t audit_count(const struct audit *audit, enum audit_kind kind);
/* For what cannot be told of the events without a row. */
void audit_leave_unknown(struct audit *audit);

#endif
