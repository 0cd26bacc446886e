#ifndef CATALOG_FILTER_H
#define CATALOG_FILTER_H

#include "catalog/table.h"

/*
 * [outbox] where: the operator's own SQL. Every statement that asks for unsent rows holds it, and
 * so does the predicate of the index that claims go by. All of these return 0, or -1 with *error
 * set when the database could not be asked.
 */

/* Has PostgreSQL parse the condition alone, and sets where_problem when it is refused. */
int filter_check(struct table *table, struct session *session, struct error *error);

/* Whether an index predicate, as pg_get_expr() shows it, is the one that claims need. */
int filter_is_predicate(const struct table *table, struct session *session, const char *shown,
                        bool *is, struct error *error);

/* When the value of a row caused the error, puts "[outbox] where" into the message: only the
 * condition computes with values. Other errors stay. */
void filter_name_error(const struct table *table, struct error *error);

/* Has PostgreSQL make an index with the condition, over an empty temporary table that is rolled
 * back, and sets where_problem when it is refused: not immutable, say. */
int filter_try_index(struct table *table, struct session *session, struct error *error);

#endif
