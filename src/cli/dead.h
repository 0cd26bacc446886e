#ifndef CLI_DEAD_H
#define CLI_DEAD_H

#include "admin/parked/parked.h"

/* How `dead` shows rows on stdout. Whatever comes from a row is escaped. */

/* With --json: the object, on a line of its own. closure: not used. */
void dead_print_json(void *closure, const struct parked_value *values, int count);
/* A line a row: tabs between the values; on a terminal columns under a head. closure: an int, 0
 * before the first row. */
void dead_print_line(void *closure, const struct parked_value *values, int count);
/* A value a line, the payload last. closure: as above. */
void dead_print_whole(void *closure, const struct parked_value *values, int count);

#endif
