#ifndef SOURCE_ADMIN_H
#define SOURCE_ADMIN_H

#include "base/error.h"
#include "base/finding.h"
#include "message/batch.h"
#include "route/route.h"
#include "source/options.h"

#include <stdbool.h>
#include <stdint.h>

/* What the commands that every database has, and the janitor, do to the database. Each command has
 * a connection of its own, apart from the lanes. */

struct admin;

/* Connects and describes the table, which need not exist. NULL with *error set on failure. */
struct admin *admin_open(const struct outbox_options *options, struct error *error);
/* The same for a command that writes: refuses a superuser, with whose rights the table's triggers
 * would run, unless the options allow one. */
struct admin *admin_open_to_write(const struct outbox_options *options, struct error *error);
void admin_close(struct admin *admin);

/* ---- the janitor ---- */

/* Decides about the existing rows as `run` does. 0, or -1: no row may be purged. */
int admin_settle_adoption(struct admin *admin, struct error *error);
/* Whether each slice of order = "key" has its row, without which no lane claims its events;
 * how many this configuration wants does not matter. 0, or -1 with *error set. */
int admin_check_slices(const struct admin *admin, struct error *error);

/* What a round leaves for the next one; all zero before the first one. */
struct upkeep {
    int64_t drawn; /* highest id drawn when it ended, and now; 0: not known */
    int64_t now;
    bool is_short; /* there is hardly room for further ids */
    bool is_told;
};

/* Does what else the tables need from time to time. A lock that cannot be had is tried again in the
 * next round. Returns 0, or -1 with *error set. */
int admin_upkeep(struct admin *admin, struct upkeep *upkeep, struct error *error);

/* Chooses a new probe for destinations whose probe row was dropped while other rows wait. 0 or
 * -1. */
int admin_adopt_waiting(struct admin *admin, struct error *error);

/* What a purge did, and where the next one goes on; all zero before the first one. */
struct purge {
    int64_t purged;
    int64_t age_ms; /* of the rows that may be deleted: raised while a loss may need younger ones */
    int64_t refused; /* rows that the database refuses to delete */
    char row[64];    /* the first of them */
    char why[512];
    const char *fix;
    char place[64];
    char partition[320]; /* of the place; "": none */
    int64_t walk_at_ms;  /* when all rows may be looked at again */
};

/* Deletes sent rows older than `age_ms`, for at most `limit_ms` (0: as long as it takes) and until
 * `stop` says true (NULL: never), or only counts them. Rows that the database refuses to delete are
 * found and stepped over. Returns 0 or -1. */
int admin_purge(struct admin *admin, int64_t age_ms, int64_t limit_ms,
                bool (*stop)(const void *closure), const void *closure, struct purge *purge,
                struct error *error);
/* Whether the table says what was sent, and when. 0, or -1 with *error set. */
int admin_check_sent(struct admin *admin, struct error *error);
/* -1 with *error set. `*age_ms` is raised while a loss may need younger rows. */
int64_t admin_count_purgeable(struct admin *admin, int64_t *age_ms, struct error *error);

/* ---- commands ---- */

/* Adds every problem of the table, the role and the server. Returns how many sections the
 * database refused, which are errors among them; -1: the inspection failed. */
int admin_inspect(struct admin *admin, struct findings *findings, struct error *error);

/* Samples rows for `check`: one unsent row per topic among the oldest 1,000, taken equally from all
 * slices, and 1,000 parked ones that will be tried again. Adds topic, key, type and ids to the
 * batch, up to its capacity. 0 or -1. */
int admin_sample(struct admin *admin, struct batch *batch, struct error *error);

/* The rows that `explain` is asked for: those with these ids or event ids; or the newest `last`, of
 * those within the condition. */
struct explain_request {
    const char *const *ids;
    int id_count; /* 0: none are given */
    int last;
    const char *where; /* NULL: any */
};

#define EXPLAIN_ROWS_MAX 1000

/* What the tables say of a row. The texts are valid during the call. */
struct explained {
    bool is_parked;
    const char *state; /* of a row of the outbox "unsent", or why it is not sent; of a parked one
                          its state, also of one that was refused, which is in the outbox */
    const char *error; /* why it is parked; NULL: it is not */
};

/* Is called for each row with a batch of this one message, as a claim of the row would fill it, but
 * that a row whose time has not come is pending. */
struct explain_reader {
    int64_t payload_max; /* larger payloads are not fetched if the row is large */
    void (*on_row)(void *closure, const struct explained *row, struct batch *batch);
    void *closure;
};

/* Reads rows in a transaction that only reads and locks none. Returns 0; -1 with *error set, also
 * when an id names no row, after those that were found. */
int admin_explain(struct admin *admin, const struct routes *routes,
                  const struct explain_request *request, const struct explain_reader *reader,
                  struct error *error);

/* Unsent rows, and parked ones that will be tried again. -1: too many to count, or *error says why.
 */
int64_t admin_count_unsent(struct admin *admin, struct error *error);

/* Is called for each statement that relays and commands send; the first `comment_len` bytes of
 * `comment` say what it does, in lines that begin with "--". */
struct admin_statement_reader {
    void (*on_statement)(void *closure, const char *name, const char *comment, size_t comment_len,
                         const char *sql);
    void *closure;
};

/* Reads the statements with these tables, which must exist. 0, or -1 with *error set. */
int admin_read_statements(struct admin *admin, const struct routes *routes,
                          const struct admin_statement_reader *reader, struct error *error);

struct event {
    const char *topic;
    const char *key;  /* NULL: none */
    const char *type; /* NULL: none */
    const char *payload;
    size_t payload_len; /* payload == NULL: a tombstone */
};

int admin_begin(struct admin *admin, struct error *error);
int admin_commit(struct admin *admin, struct error *error);
/* Called for each event that was inserted, unless this role may not read the columns. The ids are
 * valid during the call. */
struct emitted_ids {
    void (*on_event)(void *closure, const char *id, const char *event_id);
    void *closure;
};

int admin_emit(struct admin *admin, const struct event *event, const struct emitted_ids *ids,
               struct error *error);
/* `json`: an object with topic and, optionally, key, type, payload and headers. */
int admin_emit_json(struct admin *admin, const char *json, const struct emitted_ids *ids,
                    struct error *error);

#endif
