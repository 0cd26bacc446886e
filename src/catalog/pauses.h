#ifndef CATALOG_PAUSES_H
#define CATALOG_PAUSES_H

/*
 * A pause is stored as a row of the parked table with sent_at = 'infinity', which all other
 * statements ignore; every relay can read it without a further grant. Its waits_for is "sink NAME",
 * "topic PATTERN" or "key KEY", without control characters; its error says who paused and,
 * after a line break, the reason; parked_at is the time of the pause.
 */

#define PAUSE_ROW_SQL "sent_at = 'infinity' AND waits_for IS NOT NULL"
#define PAUSE_NAME_MAX 512 /* bytes; an index on it finds the rows that wait */

/* The waits_for of rows that a pause holds back is this prefix and the waits_for of the pause. A
 * sink's name contains no blank, so it cannot be mistaken for a destination. */
#define PAUSED_PREFIX "paused "

#endif
