#ifndef ADMIN_PARKED_PARKED_SQL_H
#define ADMIN_PARKED_PARKED_SQL_H

#include "admin/admin.h"
#include "admin/parked/parked_request.h"
#include "catalog/facts.h"

/* The statements of `dead` and `replay`, in sql/. */

/* How a row's values are returned. A value that PostgreSQL cannot return, which is a reason for a
 * row to be dead, makes the statement fail; the request is then repeated with the next of these. */
enum parked_detail {
    PARKED_WHOLE,
    PARKED_ESCAPED, /* as text, in which each byte beyond ASCII is written \nnn */
    PARKED_LEFT_OUT /* NULL except for ids and error, because not even escaped text can be made */
};

struct parked_statement {
    const char *text;  /* with facts */
    const char *facts; /* names of those that are true besides, or NULL */
    const char *done;  /* to each row */
    /* What the request says. */
    bool by_id;
    bool by_topic;
    bool as_json;
    bool shown;
    bool newest_first;
    bool picks; /* rows that are to be retried or dropped; without ids the dead ones */
    bool drops; /* rows that are named */
    bool changed;
    bool would_change; /* and their values are returned as JSON */
    bool payload_is_bytea;
    int page_rows; /* most rows of one statement, when selected by a filter */
    enum parked_detail detail;
};

#define PARKED_PAGE_ROWS 1000
#define REPLAY_LOOKED_ROWS 20000

/* The statement that selects parked rows, changes them and returns them (dead_select.sql). */
struct parked_statement parked_statement(const struct parked_request *request);

/* The statement as it is sent; free() it. NULL: no memory. */
char *parked_sql(const struct parked_statement *statement, const struct table_facts *about);

/* Runs a statement of which nothing but `facts` is true, which are names divided by spaces
 * (session_query). */
PGresult *parked_query(struct admin *admin, const char *statement, const char *facts,
                       int param_count, const char *const *params, struct error *error);

/* Runs such a statement with a moment as its two parameters: a duration before now, or a timestamp;
 * NULL: any time. */
PGresult *parked_query_since(struct admin *admin, const char *statement, const char *since,
                             struct error *error);

/* Converts a topic filter to a PostgreSQL regular expression, which the caller frees. *regex is
 * NULL when the filter has no wildcard token and is a plain topic. 0, or -1: out of memory. */
int parked_topic_regex(const char *topic, char **regex);

#endif
