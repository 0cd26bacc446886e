#ifndef ADMIN_PARKED_REQUEST_H
#define ADMIN_PARKED_REQUEST_H

#include <stdbool.h>

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
    int limit;         /* PARKED_LIST: so many rows at most; 0: all */
    const char *since; /* parked since then: a duration back from now, or a timestamp; NULL: ever */
};

#define PARKED_PAYLOAD_MAX                                                                         \
    4096 /* how much of a payload (bytes, or characters) is shown as text                          \
          */

#endif
