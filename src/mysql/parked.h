#ifndef MYSQL_PARKED_H
#define MYSQL_PARKED_H

#include "mysql/admin.h"

#include <jansson.h>

/* What the commands dead, pause and resume do to the relay's tables. Functions that return int
 * return 0, or -1 with *error set. */

/* Which parked rows: those with these ids or event ids, or of a filter. */
struct parked_request {
    const char *const *words;
    int word_count; /* 0: by the filter */
    const char *type;
    const char *topic; /* may have wildcards */
    const char *since; /* a duration before now, or a time */
    int64_t limit;     /* at most so many rows; 0: all */
    bool whole;        /* values as they are, for JSON */
};

/* Is called with each row, an object whose names that begin with "_" are for the program. */
struct parked_reader {
    void (*on_row)(void *closure, const json_t *row);
    void *closure;
};

/* The rows of the filter, the newest first. */
int parked_list(struct admin *admin, const struct parked_request *request,
                const struct parked_reader *reader, struct error *error);
/* One row, with its payload. */
int parked_show(struct admin *admin, const struct parked_request *request,
                const struct parked_reader *reader, struct error *error);

enum parked_change { PARKED_RETRY, PARKED_DROP };

/* Has the rows tried again, or deletes them: all of the words' or, when one names none, none; of a
 * filter only dead ones, and with a topic those that wait for a route too. `dry_run`: only reads
 * them. */
int parked_change(struct admin *admin, enum parked_change change,
                  const struct parked_request *request, bool dry_run,
                  const struct parked_reader *reader, struct error *error);

/* `kind`: "paused sink", "paused topic" or "paused key". *changed: it was not paused yet, or it was
 * paused. */
int pause_begin(struct admin *admin, const char *kind, const char *name, const char *reason,
                bool *changed, struct error *error);
int pause_end(struct admin *admin, const char *kind, const char *name, bool *changed,
              struct error *error);
json_t *pause_list(struct admin *admin, struct error *error);
/* Waits until every batch that is claimed now is settled; it is an error if one is not in time. */
int pause_wait(struct admin *admin, struct error *error);

#endif
