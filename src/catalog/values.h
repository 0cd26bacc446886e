#ifndef CATALOG_VALUES_H
#define CATALOG_VALUES_H

#include "base/finding.h"
#include "catalog/table.h"

/*
 * SQL of the configuration that computes with a row: the expressions of [outbox.columns],
 * [outbox.headers] and [outbox] due, and the SET lists of [outbox] mark and park.
 *
 * PostgreSQL itself parses and judges them. A view that is rolled back shows their types and the
 * functions that they call, without running anything.
 */

/* Sets the types of the expressions and what they call, and sql_problem when one of them, or a
 * list, cannot be used. Returns 0, or -1 with *error set when the database could not be asked. */
int values_describe(struct table *table, struct session *session, struct error *error);

/* Whether SQL of the configuration names objects that are not PostgreSQL's own. */
bool values_are_qualified(struct table *table);

/* Whether relays make temporary views, to look at what is configured. */
bool values_need_views(const struct table *table);

/* Sets sql_problem when `where` uses something that cannot be trusted. 0, or -1 with *error set. */
int values_check_where(struct table *table, struct session *session, struct error *error);

/* What is wrong with a mark that does not take a row out of `where`. */
extern const char values_idle_mark[];

/* Marks an unsent row, and parks it where it is, and rolls that back; adds an error when the row
 * then still is within `where`. 0, or -1 with *error set. */
int values_try_lists(const struct table *table, struct session *session, struct findings *findings,
                     struct error *error);

/* Lets PostgreSQL create an index on the key's expression, where order = "key" needs one, and sets
 * sql_problem when that is refused. 0, or -1 with *error set. */
int values_try_index(struct table *table, struct session *session,
                     const struct outbox_options *options, struct error *error);

/* Adds an error for each header whose column is missing, or whose type cannot be sent. */
void values_inspect_headers(const struct table *table, struct findings *findings);

#endif
