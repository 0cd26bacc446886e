#ifndef ADMIN_PARKED_PARKED_SQL_H
#define ADMIN_PARKED_PARKED_SQL_H

#include "admin/parked/parked_request.h"
#include "catalog/table.h"

/* How a row's values are returned. A value that PostgreSQL cannot return, which is a reason for a
 * row to be dead, makes the statement fail; the request is then repeated with the next of these. */
enum parked_detail {
    PARKED_WHOLE,
    PARKED_ESCAPED, /* as text, in which each byte beyond ASCII is written \nnn */
    PARKED_LEFT_OUT /* NULL except for ids and error, because not even escaped text can be made */
};

struct parked_shape {
    bool keeps_order;
    bool payload_is_bytea;
    int page_rows; /* most rows of one statement, when selected by a filter */
    enum parked_detail detail;
};

/*
 * Makes the statement that selects parked rows, changes them and returns them. Column 0 of its
 * result: the ids that were not found (NULL: none); column 1: seq (NULL: there is no row); then the
 * values. The caller frees the text. NULL: out of memory.
 *
 * By ids: $1 text[]. By filter: $1 and $2 int8, the bounds of seq, both exclusive; $3 type, $4
 * topic, $5 its regular expression, $6 timestamptz, each NULL for any.
 */
char *parked_sql(const struct table *table, const struct parked_request *request,
                 const struct parked_shape *shape);

/* Converts a topic filter to a PostgreSQL regular expression, which the caller frees. *regex is
 * NULL when the filter has no wildcard token and is a plain topic. 0, or -1: out of memory. */
int parked_topic_regex(const char *topic, char **regex);

#endif
