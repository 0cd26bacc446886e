#ifndef CATALOG_FILTER_H
#define CATALOG_FILTER_H

#include "catalog/table.h"

/*
 * [outbox] where: an SQL condition written by the operator. Every statement that selects unsent
 * rows contains it, and so does the predicate of the claim index. All functions return 0, or -1
 * with *error set when the database could not be asked.
 */

/* Lets PostgreSQL parse the condition, and sets sql_problem when it is refused. */
int filter_check(struct table *table, struct session *session, struct error *error);

/* Lets PostgreSQL parse a condition over a row that is not of the configuration. 0, or -1: it is
 * none, or ends the statement, or closes a parenthesis that it does not open. */
int filter_parse(const struct table *table, struct session *session, const char *condition,
                 struct error *error);

/* *is: whether an index predicate, as pg_get_expr() shows it, is the one that claims need. */
int filter_is_predicate(const struct table *table, struct session *session, const char *shown,
                        bool *is, struct error *error);

/* *is: whether two expressions over a row are planned alike. */
int filter_is_same(const struct table *table, struct session *session, const char *shown,
                   const char *written, bool *is, struct error *error);

/* Whether SQL of the configuration is at fault. Sets *text to what PostgreSQL says. */
bool filter_is_fault(const struct error *error, const char **text);

/* If the error was caused by a row's value, adds "[outbox] where" to the message, because only the
 * condition computes with values. Other errors are not changed. */
void filter_name_error(const struct table *table, struct error *error);

/* Lets PostgreSQL create an index with the condition on an empty temporary table, which is rolled
 * back, and sets sql_problem when that is refused, for example because the condition is not
 * immutable. */
int filter_try_index(struct table *table, struct session *session, struct error *error);

#endif
