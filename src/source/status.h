#ifndef SOURCE_STATUS_H
#define SOURCE_STATUS_H

#include "source/admin.h"
#include "source/fingerprint.h"

#include <jansson.h>

/*
 * What `status` shows, for the command and for HTTP: of the tables, and of the relays, as one JSON
 * object. docs/monitoring.md has its fields, which stay. What is unknown is null, and "attention"
 * says why. Names that begin with "_" are for the program alone.
 */

#define STATUS_SINKS_MAX 16
#define STATUS_COUNT_MAX 100000 /* a command counts rows of each kind so far */

/* Whose state is asked for, and where the rows go. */
struct status_query {
    const struct routes *routes;
    const char *const *sinks; /* names */
    int sink_count;
    const char *self; /* the process that asks, HOST:PID, which says itself what is wrong with it;
                         NULL: it is no relay */
    int wait_ms;      /* how long relays may take to answer; 0: they are not asked */
    int count_max;    /* counting unsent, parked or dead rows stops here */
    bool has_storage; /* how large the tables are, and who holds VACUUM up, as "storage" */
    const json_t *before; /* the document of the last look; NULL: there is none */
};

/* Makes the connection fit for status, and for nothing else: it only reads, and uses indexes
 * whatever the statistics say. 0, or -1 with *error set. */
int admin_status_begin(struct admin *admin, struct error *error);
/* The same for a running relay: no statement takes longer than 4 s. */
int admin_gauges_begin(struct admin *admin, struct error *error);
/* Tells admin_status() that no unsent row has a lower id, so that it need not read past sent rows
 * that VACUUM cannot remove yet. INT64_MIN: not known. */
void admin_gauges_unsent_from(struct admin *admin, int64_t id);

/* The document, for json_decref(). NULL with *error set. */
json_t *admin_status(struct admin *admin, const struct status_query *query, struct error *error);

/* Is called for each line, in order; the texts are valid during the call. `layout`: "cut" to the
 * width of a terminal, "wrapped", or "" for neither. */
struct status_lines {
    void (*on_line)(void *closure, const char *layout, const char *text);
    void *closure;
};

/* The document as lines for a person. 0, or -1 with *error set. */
int admin_status_text(struct admin *admin, const json_t *document, const struct status_lines *lines,
                      struct error *error);
/* The limits of "_limits" in the document that it exceeds, a line each. 0, or -1 with *error set.
 */
int admin_status_limits(struct admin *admin, const json_t *document,
                        const struct status_lines *lines, struct error *error);
/* Asks the relays alone, and compares a configuration with theirs: in findings. 0, or -1 with
 * *error set. */
int admin_compare_relays(struct admin *admin, const struct fingerprint *own, const char *name,
                         int wait_ms, struct findings *findings, struct error *error);

#endif
