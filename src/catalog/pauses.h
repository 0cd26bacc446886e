#ifndef CATALOG_PAUSES_H
#define CATALOG_PAUSES_H

#include "catalog/table.h"

#include <stdio.h>

/*
 * How a pause stands in the database: as a row of the parked table that counts as sent for ever
 * (sent_at = 'infinity'), so that nothing else sees it, and that every relay may read without
 * another grant. Its waits_for is "sink NAME", "topic PATTERN" or "key KEY", without control
 * characters; its error is who paused it and, after a line end, why; parked_at is since when.
 */

#define PAUSE_ROW_SQL "sent_at = 'infinity' AND waits_for IS NOT NULL"
#define PAUSE_NAME_MAX 512 /* bytes: rows that wait for it are found by an index over it */

/* What rows that a pause keeps back wait for: this word, and the pause's own waits_for. No sink has
 * a blank in its name, so no destination is taken for it. */
#define PAUSED_PREFIX "paused "

/* SELECT of one text: what is paused, one thing a line; NULL: nothing. */
void sql_put_pauses(FILE *out, const struct table *table);

#endif
