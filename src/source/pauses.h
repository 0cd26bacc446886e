#ifndef SOURCE_PAUSES_H
#define SOURCE_PAUSES_H

/*
 * A pause is a row of the control table. Its kind is "paused sink", "paused topic" or "paused key",
 * and its name that of the sink, the pattern of the topics, or the key, without control characters.
 * The waits_for of the rows that it holds back is both: "paused topic shop.>". A sink's name
 * contains no blank, so that cannot be mistaken for a destination.
 */

#define PAUSED_PREFIX "paused "
#define PAUSE_ROW_SQL "kind IN ('paused sink', 'paused topic', 'paused key')"
#define PAUSE_NAME_MAX 512 /* bytes; an index on it finds the rows that wait */

/* Why a pause cannot have this name; NULL: it can. */
const char *pause_name_problem(const char *name);

#endif
