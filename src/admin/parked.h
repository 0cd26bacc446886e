#ifndef ADMIN_PARKED_H
#define ADMIN_PARKED_H

#include "base/text.h"
#include "admin/admin.h"

/*
 * What an operator asks of the parked rows: those that wait for another try, and the dead ones. A
 * row that has been sent is neither shown nor touched.
 */

enum parked_verb { PARKED_LIST, PARKED_SHOW, PARKED_RETRY, PARKED_DROP };

/*
 * Rows named by `ids` (row ids or event_ids) may wait or be dead; when one is not found, nothing is
 * done. Without ids the filter chooses: of all rows for PARKED_LIST, of the dead ones otherwise.
 * All strings are UTF-8.
 */
struct parked_request {
    enum parked_verb verb;
    bool dry_run; /* PARKED_RETRY, PARKED_DROP: show the rows only */
    bool json;
    const char *const *ids;
    int id_count;
    const char *type;  /* NULL: any */
    const char *topic; /* exact, or a pattern with the tokens * and > as in routes; NULL: any */
    const char *since; /* parked since then: a duration back from now, or a timestamp; NULL: ever */
};

#define PARKED_PAYLOAD_MAX                                                                         \
    4096 /* how much of a payload (bytes, or characters) is shown as text                          \
          */

struct parked_value {
    const char *name;
    struct text value; /* data == NULL: NULL */
};

/* Called for each row, after what was done to it has been committed. With `json` there is one
 * value, a JSON object. The values are valid during the call. */
struct parked_rows {
    void (*on_row)(void *closure, const struct parked_value *values, int count); /* or NULL */
    void *closure;
};

/* Returns the number of rows, or -1. A change by ids is one transaction, a change by filter one for
 * every PARKED_PAGE_ROWS rows; the error says how many were done before it. */
int64_t admin_parked(struct admin *admin, const struct parked_request *request,
                     const struct parked_rows *rows, struct error *error);

#define PARKED_PAGE_ROWS 1000

/* The rows' filter on the topic as a regular expression of PostgreSQL, NULL when it has no wildcard
 * token and means the text itself. *regex is free()d by the caller. 0; -1: no memory. */
int parked_topic_regex(const char *topic, char **regex);

#endif
