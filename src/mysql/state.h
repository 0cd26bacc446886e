#ifndef MYSQL_STATE_H
#define MYSQL_STATE_H

#include "message/rows.h"
#include "mysql/away.h"
#include "mysql/tables.h"
#include "outbox/slices/choice.h"
#include "outbox/slices/source_state.h"
#include "source/outbox.h"
#include "source/server.h"

/* What the lanes and the watcher share, and the state of a lane. */

/* Whether what is committed and visible is on disk. */
enum durability {
    DURABLE_AT_ONCE,  /* it is written to the binary log, and flushed, before it is visible */
    DURABLE_BY_FLUSH, /* it is after a flush (watch_flush) */
    DURABLE_NOT       /* the server is configured so that a commit flushes nothing */
};

struct db_server {
    struct server identity;
    enum durability durability;
    bool logs; /* it has a binary log */
    bool is_read_only;
    bool is_cluster;      /* a node of a Galera cluster: row locks are its own */
    bool logs_statements; /* binlog_format = STATEMENT, which READ COMMITTED cannot write to */
    int64_t packet_bytes; /* max_allowed_packet */
    const char *setting;  /* what makes it DURABLE_NOT; NULL: nothing */
};

/* Reads what the server is. Returns 0, or -1 with *error set. */
int db_server_read(struct db_server *server, struct db_session *session, struct error *error);
/* The same of the settings that can be changed at any time. */
void db_server_note(struct db_server *server, const char *flush, const char *sync_binlog);
/* Whether the relay may work on it. Returns 0, or -1 with *error set. */
int db_server_check(const struct db_server *server, const struct outbox_options *options,
                    struct error *error);

/* What is prepared, by db_run(). */
enum prepared {
    PREPARED_SENT,
    PREPARED_PARK,
    PREPARED_TAKE,
    PREPARED_PARK_AGAIN,
    PREPARED_SENT_PARKED,
    PREPARED_NOTE,
    PREPARED_RENOTE,
    PREPARED_END_NOTES,
    PREPARED_COUNT
};

/* The rows that a claim asks for: all, or fewer after large rows. */
#define CLAIM_LEVELS 4
#define CLAIM_LEVEL_FACTOR 8

struct outbox {
    const struct outbox_options *options;
    const struct routes *routes;
    char *name;
    char mark[32];         /* the name of the lock that each session of this lane has */
    struct source *source; /* NULL: none is shared */
    struct db_session session;
    struct tables tables;
    char *prepared[PREPARED_COUNT]; /* texts */
    struct db_server server;
    uint64_t connections;
    char *pauses; /* NULL: nothing is paused */

    /* the next claim */
    struct slice_choice choice;
    struct horizon_view view;
    int level;
    int empty_slices; /* in which the claims since the last row have found none */
    struct away away;
    bool is_unread[2]; /* the first row to be claimed cannot be read; [1]: of those with notes */
    bool reads_unread; /* the current claim looks for it, without expressions */
    bool has_notes;    /* there are rows that the server refuses to settle */
    bool notes_are_due;

    /* the current claim */
    int32_t locked[SLICES_PER_CLAIM_MAX];
    int locked_count;
    int64_t from;            /* the least bound of its slices: it read from there on */
    bool is_stale;           /* the table was changed since it was described */
    bool was_stale;          /* so was it at the claim before, and described anew since */
    bool is_void;            /* its bounds or its notes are not those of the table any longer */
    bool reports;            /* it was of the outbox, and what it saw raises bounds */
    int64_t last;            /* the highest id that it has seen; INT64_MAX: all there are */
    struct text *waited_for; /* of each parked row of the batch, in its memory; NULL: no memory */
    int64_t sent_at_ms;      /* clock_boot_ms() */
    int64_t server_work_ms;  /* how long the server worked on it */

    /* a COMMIT that failed or has no answer */
    int64_t unconfirmed_id; /* of the first row that it settled; 0: none */
    bool cannot_commit;     /* the last COMMIT has failed, and none has worked since */
};

/* Locks slices and claims their rows (claim.c); settles them (settle.c). */
int claim_rows(struct outbox *outbox, struct batch *batch, const struct claim_request *request,
               struct error *error);
int claim_read_around(struct outbox *outbox, struct error *error);
/* Fills a message from a row of the columns of sql/shared/claimed_columns.sql, or of a parked row,
 * by batch->parked. */
void claim_fill(const struct tables *tables, struct batch *batch, struct message *message,
                MYSQL_ROW row, const unsigned long *lengths);
/* What rows wait for that are left to others, as literals divided by commas; free() it. NULL:
 * nothing, or no memory, so that they are claimed in vain. */
char *claim_declined(const struct declined *declined);
/* Raises the bounds of the locked slices: what the claim saw is settled, or it saw nothing. */
void claim_note_end(struct outbox *outbox);
/* Rolls back, also after an error. A session that cannot is closed. */
void claim_roll_back(struct outbox *outbox);

#endif
