#ifndef ADMIN_REPLAY_SQL_H
#define ADMIN_REPLAY_SQL_H

#include "catalog/table.h"

/* The statements of `replay`. */

#define REPLAY_LOOKED_ROWS 20000 /* rows a step looks at, so that none takes long */

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

/* count; the last id of what was looked at (NULL: there is no more); the last id that was chosen;
 * and, when nothing is to be changed, a line for each of the first rows: id, sent_at, topic. */
char *sql_replay(const struct table *table, const struct outbox_options *options, bool dry_run);

/* $1 text[] words; with `words_are_ids` each is an integer and an id. Returns what stands for no
 * row that has been sent, as words for an error (NULL: nothing), and the rows' ids as an array. */
char *sql_replay_ids(const struct table *table, bool words_are_ids);

#endif
