#ifndef CATALOG_PARKED_TABLE_H
#define CATALOG_PARKED_TABLE_H

#include "base/finding.h"
#include "catalog/table.h"

/* What the parked table should have, and what the existing one has. */

#define PARKED_OWN_COUNT 14
#define PARKED_COLUMN_COUNT (COLUMN_SENT_AT + PARKED_OWN_COUNT)
#define PARKED_INDEXES_MAX 7

struct parked_column {
    const char *name;
    const char *type;     /* the expected type, as format_type() shows it; NULL: any */
    const char *added_as; /* type and constraints for ADD COLUMN */
    char has_type[128]; /* the actual type, a domain as its base type; "": the column is missing */
};

/* A partial index. */
struct parked_index {
    const char *columns;
    const char *predicate;  /* as pg_get_expr() returns it */
    const char *made_where; /* the same for CREATE INDEX with any search_path */
    bool exists;            /* a valid index of this kind exists */
};

struct parked_table {
    struct parked_column columns[PARKED_COLUMN_COUNT];
    struct parked_index indexes[PARKED_INDEXES_MAX];
    int index_count;
    int64_t bytes; /* the size of the rows, without their indexes and values that are out of line */
};

/* Describes an existing parked table. The strings live as long as `table`. Returns 0, or -1 with
 * *error set. */
int parked_describe(struct parked_table *parked, const struct table *table, struct session *session,
                    struct error *error);

/* Whether the column exists with another type than the rows that are to be parked. */
bool parked_column_differs(const struct parked_column *column);

/* Adds an error for each column that an existing parked table lacks or has with another type, and a
 * warning for each index that it lacks. 0, or -1 with *error set. */
int parked_inspect(const struct table *table, struct session *session, struct findings *findings,
                   struct error *error);

/* Write the SQL that changes a column's type, adds a column, or creates an index, with a semicolon
 * and without a newline. Return what snprintf() does. */
int parked_type_sql(const struct parked_column *column, const struct table *table, char *sql,
                    size_t size);
int parked_column_sql(const struct parked_column *column, const struct table *table, char *sql,
                      size_t size);
int parked_index_sql(const struct parked_index *index, const struct table *table, bool concurrently,
                     char *sql, size_t size);

#endif
