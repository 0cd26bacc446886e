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

#include "catalog/sql_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_PRIVILEGE "42501"

/* The plan of an expression that is true for the rows of a predicate. NULL with *error set. */
static PGresult *plan(const struct table *table, struct session *session, const char *predicate,
                      struct error *error)
{
    struct writer writer;
    PGresult *result;
    char *sql;

    if (!writer_begin(&writer)) {
        (void)error_no_memory(error);
        return NULL;
    }
    (void)fprintf(writer.out, "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT (true");
    if (predicate != NULL)
        (void)fprintf(writer.out, " AND (%s)", predicate);
    else
        sql_put_unsent(writer.out, table);
    (void)fprintf(writer.out, ") FROM %s", table->quoted);
    sql = writer_end(&writer);
    if (sql == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    result = session_query(session, sql, 0, NULL, error);
    free(sql);
    return result;
}

/* 0: the error is the condition's own fault, and is kept; -1: it is not. */
static int take_problem(struct table *table, const struct error *error)
{
    static const char *const faults[] = {"42", "22", "0A", "2F", "P0", "08P01"};
    const char *text = error->text;

    if (error_is_sqlstate(error, NO_PRIVILEGE))
        return -1;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (!error_is_sqlstate(error, faults[i]))
            continue;
        if (strncmp(text, "database: ", strlen("database: ")) == 0)
            text += strlen("database: ");
        (void)snprintf(table->where_problem, sizeof table->where_problem,
                       "[outbox] where: PostgreSQL refuses this condition: %.380s", text);
        return 0;
    }
    return -1;
}

int filter_check(struct table *table, struct session *session, struct error *error)
{
    struct writer writer;
    PGresult *result;
    char *alone;

    if (!writer_begin(&writer))
        return error_no_memory(error);
    (void)fprintf(writer.out, "EXPLAIN SELECT FROM %s WHERE %s", table->quoted, table->where);
    alone = writer_end(&writer);
    if (alone == NULL)
        return error_no_memory(error);
    result = session_query(session, alone, 0, NULL, error);
    free(alone);
    if (result != NULL) {
        PQclear(result);
        result = plan(table, session, NULL, error);
    }
    if (result == NULL)
        return take_problem(table, error);
    PQclear(result);
    return 0;
}

int filter_is_predicate(const struct table *table, struct session *session, const char *shown,
                        bool *is, struct error *error)
{
    PGresult *wanted;
    PGresult *found;

    *is = false;
    if (table->where_problem[0] != '\0' || shown[0] == '\0')
        return 0;
    wanted = plan(table, session, NULL, error);
    found = wanted != NULL ? plan(table, session, shown, error) : NULL;
    *is = found != NULL && strcmp(PQgetvalue(wanted, 0, 0), PQgetvalue(found, 0, 0)) == 0;
    PQclear(wanted);
    if (found == NULL) /* an index whose predicate this role may not evaluate is not used */
        return error->kind == ERROR_PERMANENT ? 0 : -1;
    PQclear(found);
    return 0;
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

/* The temporary table has the outbox's name, because the condition may use it. */
int filter_try_index(struct table *table, struct session *session, struct error *error)
{
    char name[QUOTED_BYTES_MAX];
    struct writer writer;
    struct error ignored;
    char *sql;
    int status;

    if (table->where == NULL || table->where_problem[0] != '\0' || !table->exists ||
        table->has_claim_index || table_plain(table, &ignored) < 0)
        return 0;
    if (!writer_begin(&writer))
        return error_no_memory(error);
    table_quote(session, table->name, name);
    (void)fprintf(writer.out,
                  "BEGIN; CREATE TEMPORARY TABLE %s (LIKE %s); CREATE INDEX ON pg_temp.%s ((1))"
                  " WHERE true",
                  name, table->quoted, name);
    sql_put_unsent(writer.out, table);
    (void)fprintf(writer.out, "; ROLLBACK");
    sql = writer_end(&writer);
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
