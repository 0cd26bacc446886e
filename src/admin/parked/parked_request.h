#ifndef ADMIN_PARKED_PARKED_REQUEST_H
#define ADMIN_PARKED_PARKED_REQUEST_H

#include <stdbool.h>

enum parked_verb { PARKED_LIST, PARKED_SHOW, PARKED_RETRY, PARKED_DROP };

/*
 * Rows named by `ids` (row ids or event_ids) may be parked or dead; when one is not found, nothing
 * is done. Without ids the filter selects rows: among all rows for PARKED_LIST, among the dead rows
 * otherwise. All strings are UTF-8.
 */
struct parked_request {
    enum parked_verb verb;
    bool dry_run; /* PARKED_RETRY, PARKED_DROP: only show the rows */
    bool json;
    const char *const *ids;
    int id_count;
    const char *type;  /* NULL: any */
    const char *topic; /* a topic, or a pattern with * and > as in routes; NULL: any */
    int limit;         /* PARKED_LIST: the most rows to return; 0: all */
    const char *since; /* parked since: a duration before now, or a timestamp; NULL: any time */
};

#define PARKED_PAYLOAD_MAX                                                                         \
    4096 /* how much of a payload (bytes, or characters) is shown as text                          \
          */

#endif
