#ifndef OUTBOX_PARKED_TABLE_H
#define OUTBOX_PARKED_TABLE_H

#include "outbox/admin_session.h"

/* What the parked table ought to have, and what an existing one has. */

#define PARKED_OWN_COUNT 7
#define PARKED_COLUMN_COUNT (COLUMN_SENT_AT + PARKED_OWN_COUNT)
#define PARKED_INDEX_COUNT 3

struct parked_column {
    const char *name;
    const char *type; /* as format_type() spells it; NULL: any */
    const char *added_as;
    char has_type[128]; /* "": it is missing */
};

/* A partial index over the rows where `unless_null` is not. */
struct parked_index {
    const char *columns;
    const char *unless_null;
    bool exists; /* and is valid */
};

struct parked_table {
    struct parked_column columns[PARKED_COLUMN_COUNT];
    struct parked_index indexes[PARKED_INDEX_COUNT];
};

/* Of a table that exists. The names live as long as `admin`. 0 or -1. */
int parked_describe(struct parked_table *parked, struct admin *admin, struct error *error);

/* The SQL that adds one, with its semicolon and no newline; returns what snprintf() does. */
int parked_column_sql(const struct parked_column *column, const struct table *table, char *sql,
                      size_t size);
int parked_index_sql(const struct parked_index *index, const struct table *table, char *sql,
                     size_t size);

#endif
