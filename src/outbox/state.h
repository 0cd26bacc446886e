#ifndef OUTBOX_STATE_H
#define OUTBOX_STATE_H

#include "catalog/sequence.h"
#include "outbox/slices/slice_lock.h"
#include "outbox/sql.h"
#include "source/outbox.h"

/* The state of struct outbox, for the files of this room. */

struct outbox {
    const struct outbox_options *options;
    const struct routes *routes;
    char name[48];
    struct session session;
    uint64_t connections; /* sessions that were tried */
    struct table table;
    bool mark_is_tried;   /* [outbox] mark has left a row out of `where` */
    bool leaves_rows;     /* of parked rows that are copies, only the copies are settled */
    bool payload_is_json; /* the payload column is json or jsonb */
    struct sequence sequence;
    struct server server;
    struct slice_lock *slices; /* owned */
    struct wal_flush *flush;   /* shared by the lanes of a process; NULL: there is none */

    /* the current claim */
    int64_t xact;           /* xid8 of its transaction */
    bool flushed;           /* everything it saw was on disk when it ended; if it is lean: what the
                               statement saw that locked the slices */
    bool is_lean;           /* it leaves out what rows rarely need (may_be_lean) */
    int64_t oldest;         /* xid8: what is before it had ended before the slices were locked; 0:
                               not known */
    int64_t sent_at_ms;     /* when it was sent (clock_boot_ms) */
    int64_t server_work_ms; /* time that the server has worked on it */

    int64_t token;        /* of claimed.sql */
    int64_t known_token;  /* at which the tables were as they were described; 0: at none */
    char era[128];        /* what the positions are about (position_anew.sql); "": no positions */
    bool ids_go_on;       /* from those that the positions are about */
    bool has_refused;     /* there were notes of refused rows when the current claim was sent */
    bool refused_are_due; /* one of them was due */
    bool has_parked;      /* so were more rows with keys parked than FEW_PARKED */

    int64_t numbers_due_ms;   /* when to look for rows without a number */
    int64_t rows_numbered;    /* so far */
    bool numbers_are_refused; /* all such rows were left, because PostgreSQL refuses to change them
                               */

    int64_t durable_before; /* xid8: transactions before it are on disk, and on these standbys */
    int32_t standbys;

    char *pauses; /* what was paused when it was last read, one item a line; NULL: nothing */

    /* the next claim */
    int level;         /* 0: as large as configured; each further level asks for fewer rows */
    int refused_level; /* the same of claims of refused rows */
    int prepared;      /* how many levels the session knows the claims of */
    struct {           /* the row whose trial alone ended the last session; id "": none */
        char id[64];
        unsigned char row[MESSAGE_ROW_BYTES];
        uint32_t xmin;
        int64_t note;
    } killer;
    int64_t careful_until_ms; /* until then, all but the smallest payloads are claimed alone */
    bool claims_carefully;    /* so does the current claim */
    int64_t isolate_until_ms; /* the level does not fall before, to isolate a row */
    int rich_claims;          /* so many claims are not lean, after a large row */
    int isolate_claims;       /* nor before so many more claims have read all rows; 0: until then */
};

/* After rows of a claim made trouble, the next claims of this kind ask for fewer, to isolate them.
 */
void outbox_claim_fewer(struct outbox *outbox, bool refused);

/* Whether the session knows the claims of the level that is next. Few sessions need more than the
 * first, and PostgreSQL reads each of these statements for milliseconds. */
bool outbox_has_prepared(const struct outbox *outbox, bool refused);
/* The session, in which nothing is on its way, learns what it lacks of them. 0, or -1 with *error
 * set. */
int outbox_prepare(struct outbox *outbox, bool refused, struct error *error);

/* With on_sent = "position": adapts the positions to ids that may begin anew, after a TRUNCATE, a
 * restore, or because the sequence was set back; docs/internals/position.md says how. To be called
 * when a lane has connected. Returns 0, or -1 with *error set. */
int position_settle(struct outbox *outbox, struct error *error);

/*
 * With [outbox.columns] order: unsent rows without a number get one. Such rows are those that were
 * there before the column; later, those for which the trigger did not run.
 *
 * A row of before gets a number below those of newer rows. Nobody claims rows of a slice in which
 * one waits for its number, and no bound passes it (lock_slices.sql, scan.sql). For later rows
 * nothing waits: they get the next numbers.
 */

/* Whether numbers_look() is to be called before the next claim. */
bool numbers_are_due(const struct outbox *outbox);
/* If it is due, gives numbers to some rows, in transactions of its own; *has_more: look again
 * soon. To be called without a transaction. Returns 0, or -1 with *error set. */
int numbers_look(struct outbox *outbox, bool *has_more, struct error *error);

/* Keeps what a result says is paused, for outbox_pauses(). Returns 0, or -1 with *error set. */
int outbox_keep_pauses(struct outbox *outbox, const PGresult *result, int column,
                       struct error *error);

#endif
