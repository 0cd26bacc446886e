#ifndef RELAY_CHANGES_H
#define RELAY_CHANGES_H

#include "relay/report.h"

/*
 * Logs what changes in a running process, by comparing a snapshot with what was logged before: the
 * database or a sink is connected, does not acknowledge, is away, is still away (once a minute), is
 * back. Each change is logged once for all lanes, and again when the reason changes. A server that
 * comes and goes is logged once a minute.
 */

#define CHANGE_REASONS 4 /* of one peer while it is away; further ones wait for the minute */

/* What keeps the relay from working: the database may be there, and take no statement of the
 * relay's, or have it wait for a lock. */
enum outage { OUTAGE_AWAY, OUTAGE_REFUSES, OUTAGE_LOCKED };

struct peer_change {
    bool connected; /* it has been up */
    bool away;      /* it has been away and is not reliably back */
    bool logged;    /* the log says so */
    enum outage outage;
    int64_t began_ms;
    int64_t logged_ms;                /* when that was logged last; 0: never */
    int64_t gap_logged_ms;            /* when a gap between two looks was logged last; 0: never */
    bool silent;                      /* a batch has waited for its acknowledgements for long */
    int64_t silent_since_ms;          /* since then */
    int64_t silent_logged_ms;         /* when that was logged last; 0: never */
    uint64_t silent_sent;             /* rows that had been sent then */
    uint64_t connects;                /* in the last snapshot */
    uint64_t sent;                    /* rows that had been sent when it went away */
    uint64_t reasons[CHANGE_REASONS]; /* hashes of the reasons logged since then */
    int reason_count;
};

struct changes {
    const struct relay_options *options;
    struct peer_change peers[REPORT_PEERS];
    bool stuck; /* a stuck thread has been logged */
    int64_t stuck_ms;
    int64_t stuck_logged_ms;
    bool relaying; /* logged: the database and a sink have been up */
    int64_t figures_ms;
    struct relay_report figures; /* the snapshot at the last line of figures */
};

void changes_init(struct changes *changes, const struct relay_options *options);
/* Call it about once a second, and before the process ends. */
void changes_log(struct changes *changes, const struct relay_report *report);
/* What the process does, in one line: "relaying", "waiting: sink events is away". */
void changes_describe(const struct changes *changes, const struct relay_report *report, char *out,
                      size_t size);
/* Whether each lane's first try has shown something: rows can be claimed and published, or a server
 * that cannot be reached is waited for. */
bool changes_are_known(const struct relay_report *report);

#endif
