#ifndef ADMIN_PARKED_REPLAY_SQL_H
#define ADMIN_PARKED_REPLAY_SQL_H

#include "catalog/table.h"

/* The statements of `replay`. */

#define REPLAY_LOOKED_ROWS 20000 /* rows that one step reads, so that no step takes long */

enum replay_param {
    REPLAY_LOW, /* the last id, as text; NULL: from the beginning */
    REPLAY_SINCE,
    REPLAY_UNTIL,
    REPLAY_TOPIC, /* exact, */
    REPLAY_REGEX, /* or a pattern; NULL: any */
    REPLAY_IDS,   /* an array; NULL: any */
    REPLAY_LIMIT,
    REPLAY_PARAMS
};

/* Returns the count, the last id that was read (NULL: there are no more), the last id that was
 * chosen and, with dry_run, a line for each of the first rows: id, sent_at, topic. */
char *sql_replay(const struct table *table, const struct outbox_options *options, bool dry_run);

/* $1 text[]: row ids or event_ids; with `words_are_ids` all of them are integer row ids. Returns
 * the words that match no sent row, as text for an error (NULL: all match), and the rows' ids as an
 * array. */
char *sql_replay_ids(const struct table *table, bool words_are_ids);

#endif
