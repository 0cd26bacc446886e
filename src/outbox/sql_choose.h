#ifndef OUTBOX_SQL_CHOOSE_H
#define OUTBOX_SQL_CHOOSE_H

#include "core/route.h"
#include "outbox/table.h"

/* The statements by which a lane chooses its slices, as texts. */

/*
 * Locks free slices that have rows to be claimed, at most $3 int4 of $1 int4[], in this order, with
 * $2 int8[] the lowest id to look at in each and $4 int8 as $1 of sql_claim. $6 int4[]: not 0 for
 * those that have rows for sure and are not looked at. The claim behind it finds the slices; $5
 * bool: none of them gives more than its share of the claim's rows. Of the parked rows: $1 int4 how
 * many, $2 int8 the sinks. Without slices it has no parameters and chooses nothing.
 */
char *sql_choose(const struct table *table, const struct outbox_options *options,
                 const struct routes *routes, bool parked);
enum choose_column {
    CHOOSE_XMIN,   /* xid8, binary: the oldest transaction under way */
    CHOOSE_SLICES, /* text: the slices that are locked now, "3,9", in the order they were taken */
    CHOOSE_NUMBER  /* int4, binary: how many slices there are; NULL: there is no telling */
};

/* Of $1 int4[] with $2 int8[] the lowest id to look at in each: the slices that have no row to be
 * claimed; $3 int8 as $1 of sql_claim. "3,9" */
char *sql_empty(const struct table *table, const struct outbox_options *options,
                const struct routes *routes);

/* The id of the newest row, sent or not; no row: there is none. */
char *sql_newest(const struct table *table);

/* Of $1 and $2 as in sql_empty: slice, and the highest unsent id of it but ten, of each that has
 * one. */
char *sql_newest_of_slices(const struct table *table, const struct outbox_options *options);

/* The lowest unsent id of slice $1 int4; no row: there is none. */
char *sql_first(const struct table *table, const struct outbox_options *options);

#endif
