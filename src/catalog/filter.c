/*
 * The condition of [outbox] where, checked by PostgreSQL itself.
 *
 * The condition is put into statements in parentheses. If PostgreSQL parses it both with and
 * without parentheses around it, it closes every parenthesis that it opens, does not end the
 * statement, and comments nothing out. To find out whether an index covers the same rows, both
 * predicates are planned as an expression over the table's rows, and the plans must be the same
 * text.
 */
#include "catalog/filter.h"

#include "catalog/facts.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_PRIVILEGE "42501"
#define PLAN(of) "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT " of " FROM {outbox}"

bool filter_is_fault(const struct error *error, const char **text)
{
    static const char *const faults[] = {"42", "22", "0A", "2F", "P0", "08P01"};
    bool is = false;

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        is = is || error_is_sqlstate(error, faults[i]);
    *text = error_bare_text(error);
    return is && !error_is_sqlstate(error, NO_PRIVILEGE);
}

/* 0: the error is the condition's own fault, and is kept; -1: it is not. */
static int take_problem(struct table *table, const struct error *error)
{
    const char *text;

    if (!filter_is_fault(error, &text))
        return -1;
    (void)snprintf(table->sql_problem, sizeof table->sql_problem,
                   "[outbox] where: PostgreSQL refuses this condition: %.380s", text);
    return 0;
}

int filter_parse(const struct table *table, struct session *session, const char *condition,
                 struct error *error)
{
    static const char *const statements[] = {"EXPLAIN SELECT FROM {outbox} WHERE {condition}",
                                             "EXPLAIN SELECT FROM {outbox} WHERE ({condition})"};

    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        PGresult *result =
            table_query_with(table, session, statements[i], "condition", condition, error);

        if (result == NULL)
            return -1;
        PQclear(result);
    }
    return 0;
}

int filter_check(struct table *table, struct session *session, struct error *error)
{
    return filter_parse(table, session, table->where, error) == 0 ? 0 : take_problem(table, error);
}

/* Plans two statements with {condition}. What this role may not evaluate is not the same. */
static int same_plan(const struct table *table, struct session *session, const char *wanted_sql,
                     const char *wanted, const char *found_sql, const char *found, bool *is,
                     struct error *error)
{
    PGresult *first = table_query_with(table, session, wanted_sql, "condition", wanted, error);
    PGresult *second = first != NULL
                           ? table_query_with(table, session, found_sql, "condition", found, error)
                           : NULL;

    *is = second != NULL && strcmp(PQgetvalue(first, 0, 0), PQgetvalue(second, 0, 0)) == 0;
    PQclear(first);
    if (second == NULL)
        return error->kind == ERROR_PERMANENT ? 0 : -1;
    PQclear(second);
    return 0;
}

int filter_is_same(const struct table *table, struct session *session, const char *shown,
                   const char *written, bool *is, struct error *error)
{
    static const char explain[] = PLAN("({condition})");

    return same_plan(table, session, explain, written, explain, shown, is, error);
}

int filter_is_predicate(const struct table *table, struct session *session, const char *shown,
                        bool *is, struct error *error)
{
    *is = false;
    if (table->sql_problem[0] != '\0' || shown[0] == '\0')
        return 0;
    return same_plan(table, session, PLAN("(true AND {unsent})"), "",
                     PLAN("(true AND ({condition}))"), shown, is, error);
}

/* Handles data exceptions and errors raised by PL/pgSQL. */
void filter_name_error(const struct table *table, struct error *error)
{
    const struct error cause = *error;

    if (table->where == NULL ||
        (!error_is_sqlstate(error, "22") && !error_is_sqlstate(error, "P0")))
        return;
    (void)error_set(error, cause.kind, cause.origin,
                    "[outbox] where cannot be evaluated for a row of %s: %s", table->quoted,
                    cause.text);
}

int filter_try_index(struct table *table, struct session *session, struct error *error)
{
    struct error ignored;
    char *sql;
    int status;

    if (table->where == NULL || table->sql_problem[0] != '\0' || !table->exists ||
        table->has_claim_index || table_plain(table, &ignored) < 0)
        return 0;
    sql = table_sql(table, statement_try_index);
    if (sql == NULL)
        return error_no_memory(error);
    status = session_execute(session, sql, error);
    free(sql);
    if (status == 0)
        return 0;
    (void)session_execute(session, "ROLLBACK", &ignored);
    if (take_problem(table, error) == 0 || error_is_sqlstate(error, NO_PRIVILEGE))
        return 0; /* the role may not create temporary tables: CREATE INDEX will report the problem
                   */
    return -1;
}
