#ifndef CATALOG_PARKED_TABLE_H
#define CATALOG_PARKED_TABLE_H

#include "catalog/table.h"

/* What the parked table ought to have, and what an existing one has. */

#define PARKED_OWN_COUNT 7
#define PARKED_COLUMN_COUNT (COLUMN_SENT_AT + PARKED_OWN_COUNT)
#define PARKED_INDEXES_MAX 4

struct parked_column {
    const char *name;
    const char *type; /* as format_type() spells it, a domain as what it is over; NULL: any */
    const char *added_as;
    char has_type[128]; /* "": it is missing */
};

/* A partial index. */
struct parked_index {
    const char *columns;
    const char *predicate;
    bool exists; /* and is valid */
};

struct parked_table {
    struct parked_column columns[PARKED_COLUMN_COUNT];
    struct parked_index indexes[PARKED_INDEXES_MAX];
    int index_count;
};

/* Of a table that exists. The names live as long as the table. 0 or -1. */
int parked_describe(struct parked_table *parked, const struct table *table, struct session *session,
                    struct error *error);

/* Whether an existing column has another type than the rows that are to be parked. */
bool parked_column_differs(const struct parked_column *column);

/* The SQL that gives it the right type, or that adds one, with its semicolon and no newline;
 * returns what snprintf() does. */
int parked_type_sql(const struct parked_column *column, const struct table *table, char *sql,
                    size_t size);
int parked_column_sql(const struct parked_column *column, const struct table *table, char *sql,
                      size_t size);
int parked_index_sql(const struct parked_index *index, const struct table *table, char *sql,
                     size_t size);

#endif
