#ifndef ADMIN_PARKED_SQL_H
#define ADMIN_PARKED_SQL_H

#include "admin/parked_request.h"
#include "catalog/table.h"

/* How a row's own values are handed over. One that PostgreSQL cannot hand over fails its statement,
 * and such rows are dead for that: so they are asked for with more and more care. */
enum parked_detail {
    PARKED_WHOLE,
    PARKED_ESCAPED, /* as text, each byte beyond ASCII as \nnn */
    PARKED_LEFT_OUT /* NULL, but for the ids: not even their text can be made */
};

struct parked_shape {
    bool keeps_order;
    bool payload_is_bytea;
    int page_rows; /* by filter, at most */
    enum parked_detail detail;
};

/*
 * One statement for everything that is asked of parked rows: choose them, do it, hand them back.
 * Column 0 of its result: which ids were not found (NULL: all were); column 1: seq (NULL: there is
 * no row); then the values. NULL: no memory. free() it.
 *
 * By ids: $1 text[]. By filter: $1 and $2 int8, the bounds of seq, both exclusive; $3 type, $4
 * topic, $5 its regular expression, $6 timestamptz, each NULL for any.
 */
char *parked_sql(const struct table *table, const struct parked_request *request,
                 const struct parked_shape *shape);

/* The rows' filter on the topic as a regular expression of PostgreSQL, NULL when it has no wildcard
 * token and means the text itself. *regex is free()d by the caller. 0; -1: no memory. */
int parked_topic_regex(const char *topic, char **regex);

#endif
