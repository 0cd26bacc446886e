#ifndef ADMIN_STATUS_STATUS_H
#define ADMIN_STATUS_STATUS_H

#include "admin/parked/pause.h"
#include "admin/status/fingerprint.h"
#include "catalog/memory.h"
#include "route/route.h"

/*
 * What `status` shows, for the command and for HTTP: of the
 * tables, and of the relays. Times are Unix times in ms, 0: unknown. Ages are
 * in seconds, -1: there is no such row, or its age is unknown. A count is -1
 * when it could not be read; attention says why.
 */

#define STATUS_SINKS_MAX 16
#define STATUS_RELAYS_MAX 64
#define STATUS_LANES_MAX 256
#define STATUS_TROUBLES_MAX 32
#define STATUS_REASONS_MAX 5
#define STATUS_COUNT_MAX 100000 /* a command counts rows of each kind so far */

/* Why rows are parked or dead, and how many are for this reason. */
struct status_reason {
    int64_t count;
    char text[512]; /* its first 120 characters, UTF-8 */
};

struct status_sink {
    char name[64];
    char state[16];   /* "up", "away", "unknown" when no relay answers */
    int64_t since_ms; /* of the state; of several relays the longest */
    char error[256];  /* why it is away, or what it does while it is up; "" */
    char order[96];   /* how the events of a key are sent; "": not known */
    int64_t rows;     /* unsent rows that go there; -1: unknown */
    int relays_up;    /* relays that can publish to it */
};

/* A process. */
struct status_relay {
    char name[96]; /* HOST:PID */
    bool answers;  /* what follows is known */
    char version[32];
    int64_t since_ms; /* started */
    int64_t sent;
    int64_t parked;
    int64_t dead;
    double per_s;  /* sent, in the last seconds; -1: unknown */
    int lanes;     /* its connections to the database */
    uint32_t away; /* the sinks that it cannot publish to: a bit for each, as in status.sinks */
    struct fingerprint config; /* what it would do with a row */
    int64_t sent_at_ms;        /* when it sent the last row; 0: it has sent none */
};

/* Why lanes of a process make no progress. */
struct status_trouble {
    char relay[96]; /* HOST:PID */
    char lanes[32]; /* "2 of 8 lanes" */
    char error[256];
    char fix[512];
    int64_t since_ms; /* no progress since */
    int64_t failures; /* failed steps since then */
    bool of_broker;   /* the sinks say it, too */
};

struct status_lane {
    char relay[96]; /* HOST:PID */
    int number;
    char state[32];       /* by the relay, or else by PostgreSQL; "" when neither is to be seen */
    double state_s;       /* for how long; 0: unknown */
    double transaction_s; /* how long its claim is open; -1: none is, or it is unknown */
};

struct status {
    int64_t taken_ms;
    char table[136];       /* schema.name */
    char locks_keys[16];   /* "trigger", "application"; "": rows have no order, or it is unknown */
    int64_t backlog;       /* unsent rows of the outbox */
    bool backlog_is_bound; /* there are at least so many */
    double backlog_oldest_s;
    int64_t parked;       /* rows that will be tried again */
    bool parked_is_bound; /* there are at least so many, the oldest is at least that old */
    double parked_oldest_s;
    double next_try_s; /* from now; 0: it is due; -1: none has a time */
    int64_t held;      /* of `parked`, those behind another one of their key, or paused */
    int64_t scheduled; /* of `parked`, those whose time has not come, and those behind them;
                          they count for no age */
    int64_t refused;   /* of `parked`, those that PostgreSQL refuses to settle (refused.h) */
    int64_t dead;
    bool dead_is_bound; /* as for the parked rows */
    double dead_oldest_s;
    double oldest_s;       /* of all rows that are still to be sent: outbox and parked */
    double per_s;          /* rows sent per second by all relays; -1: unknown */
    int64_t settled_total; /* rows that left the outbox or were marked, ever, by PostgreSQL's
                              statistics */
    struct status_reason reasons[STATUS_REASONS_MAX]; /* of the parked rows that are tried next and
                                                         the newest dead ones, the most frequent
                                                         first */
    int reason_count;
    int64_t relays; /* processes connected to this database */
    int64_t lanes;  /* their connections */
    bool has_asked; /* the relays, so that those without an answer do not answer */
    struct status_sink *sinks;
    int sink_count;
    struct status_relay *processes; /* the first STATUS_RELAYS_MAX of them */
    int process_count;
    struct status_lane *lane_list; /* the first STATUS_LANES_MAX */
    int lane_count;
    struct status_trouble *troubles; /* the first STATUS_TROUBLES_MAX */
    int trouble_count;
    struct pause_notes *pauses;
    struct sink_losses losses; /* what brokers may have lost */
    struct findings attention; /* what needs somebody, each with what mends it */
    int unknown;               /* figures that could not be read */
};

/* Whose state is asked for, and where the rows go. */
struct status_query {
    const struct routes *routes;
    const char *const *sinks; /* names */
    int sink_count;
    const char *self; /* the process that asks, HOST:PID, which says itself what is wrong with it;
                         NULL: it is no relay */
    int wait_ms;      /* how long relays may take to answer; 0: they are not asked */
    int count_max;    /* counting unsent, parked or dead rows stops here */
};

/* Makes the connection fit for status, and for nothing else: it only reads, and uses indexes
 * whatever the statistics say. 0, or -1 with *error set. */
int admin_status_begin(struct admin *admin, struct error *error);
/* 0, or -1 with *error set. status_free() it in either case. */
int admin_status(struct admin *admin, const struct status_query *query, struct status *status,
                 struct error *error);
void status_free(struct status *status);
/* Asks the relays alone, and compares a configuration with theirs: in findings. 0, or -1 with
 * *error set. */
int admin_compare_relays(struct admin *admin, const struct fingerprint *own, const char *name,
                         int wait_ms, struct findings *findings, struct error *error);
/* A figure could not be read, with *error: attention says so, and the other
 * figures are read. Returns 0, or -1 when the connection is lost. */
int status_note_unknown(const struct admin *admin, struct status *status, const char *figure,
                        const struct error *error);

/* Fills status->attention when the rest of *status is known. 0, or -1 with *error set. */
int status_fill_attention(struct admin *admin, const struct status_query *query,
                          struct status *status, struct error *error);

/* The rate between two of them, for relays that do not answer; sets per_s of the newer. */
void status_compare(struct status *status, const struct status *before);

/* ---- the gauges of a running relay ---- */

/* What a running relay measures of its tables every few seconds, beside admin_status(). */

struct gauges {
    int64_t held_rows;   /* rows behind a dead row of their key, at most GAUGES_HELD_MAX */
    int64_t held_keys;   /* how many keys these rows have */
    int64_t dead_tuples; /* of the outbox table, by PostgreSQL's statistics */
    int64_t table_bytes; /* of the outbox table with its indexes */
    int64_t index_bytes;
    int64_t parked_bytes;  /* of the parked table with its indexes */
    int64_t xmin_age;      /* transactions since the oldest snapshot in use; 0: there is none */
    double xmin_for_s;     /* how long that is held; -1: this role may not see it */
    char xmin_kind[24];    /* "backend", "prepared transaction", "replication slot", "standby" */
    char xmin_holder[160]; /* who holds it: pid and application_name, or a name; "" */
};

#define GAUGES_HELD_MAX "10000" /* as a parameter of a statement */

/* admin_status_begin(), and no statement takes longer than 4 s. Returns 0, or -1 with *error set.
 */
int admin_gauges_begin(struct admin *admin, struct error *error);
/* Tells admin_status() and admin_gauges() that no unsent row has a lower id, so that they need not
 * read past sent rows that VACUUM cannot remove yet. INT64_MIN: not known. */
void admin_gauges_unsent_from(struct admin *admin, int64_t id);
/* Fills `gauges`. Returns 0, or -1 with *error set. */
int admin_gauges(struct admin *admin, struct status *status, struct gauges *gauges,
                 struct error *error);

/* One JSON object (docs/monitoring.md says what is in it). NULL: no memory. free() it. */
char *status_json(const struct status *status);

#endif
