#include "catalog/values.h"

#include "catalog/columns.h"
#include "catalog/filter.h"
#include "catalog/facts.h"
#include "sql/statements.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIEW "CREATE TEMPORARY VIEW relay_value (value) AS SELECT "
#define NO_POSITION INT_MAX /* the source is not where PostgreSQL counts from */
#define RULE " RULE relay_list AS ON UPDATE TO pg_temp.relay_value DO INSTEAD"

/* A SET list: the word for it, and what it may name besides the columns. */
struct list {
    const char *word;
    const char *from;
};

static const struct list mark_list = {"{mark}", ""};
static const struct list park_list = {"{park}", " FROM (SELECT ''::text AS relay_error,"
                                                " 0 AS relay_attempts, ''::text AS relay_state)"
                                                " relay_given"};

/* What the configuration calls it: "[outbox.columns] key", and the SQL itself. */
struct source {
    char title[128];
    const char *sql;
    struct table_column *column; /* of an expression */
    const struct list *list;     /* of a list */
    bool is_where;
};

static int run_given(const struct table *table, struct session *session, const char *statement,
                     const char *given, struct error *error)
{
    PGresult *result = table_query_with(table, session, statement, "source", given, error);

    PQclear(result);
    return result != NULL ? 0 : -1;
}

/* The source is of no use. Returns 1. */
static int refuse(struct table *table, const struct source *source, const char *why)
{
    (void)snprintf(table->sql_problem, sizeof table->sql_problem, "%s: %.150s %.220s",
                   source->title, source->sql, why);
    return 1;
}

/* Returns 1 when PostgreSQL refuses the source, and -1 for any other failure. `ahead` bytes of the
 * statement came before the source. */
static int take_failure(struct table *table, const struct source *source, int ahead,
                        struct error *error)
{
    const char *text;
    char at[48] = "";

    if (error_is_sqlstate(error, "42501"))
        return error_hint(error,
                          "outbox-relay init --grant ROLE prints what the role needs, besides USAGE"
                          " on the schemas and EXECUTE on the functions of %s",
                          source->title);
    if (!filter_is_fault(error, &text))
        return -1;
    if (error->position > ahead)
        (void)snprintf(at, sizeof at, " at character %d", error->position - ahead);
    (void)snprintf(table->sql_problem, sizeof table->sql_problem,
                   "%s: PostgreSQL refuses %.150s%s: %.180s", source->title, source->sql, at, text);
    return 1;
}

/* ---- expressions */

/* Parsed with and without its outer parentheses, a text that begins and ends with a parenthesis is
 * one value. Nothing of it is run but the input functions of types whose literals it has. */
static int parse(struct table *table, struct session *session, const struct source *source,
                 struct error *error)
{
    char *inside = strndup(source->sql + 1, strlen(source->sql) - 2);
    int status = 0;

    if (inside == NULL)
        return error_no_memory(error);
    if (run_given(table, session, VIEW "{source}\nFROM {outbox}", source->sql, error) < 0 ||
        run_given(table, session, "DROP VIEW pg_temp.relay_value", "", error) < 0)
        status = take_failure(table, source, (int)sizeof VIEW - 1, error);
    else if (run_given(table, session, VIEW "{source}\nFROM {outbox}", inside, error) < 0)
        status = take_failure(table, source, (int)sizeof VIEW - 2, error);
    free(inside);
    return status;
}

/* Rows are told apart by the columns that their event is made of (put_identity). */
static void note_read(struct table *table, const char *names, bool reads_rows)
{
    size_t len = strlen(table->read_columns);

    table->reads_rows = table->reads_rows || reads_rows ||
                        len + strlen(names) + sizeof ", " > sizeof table->read_columns;
    if (!table->reads_rows)
        (void)snprintf(table->read_columns + len, sizeof table->read_columns - len, "%s, ", names);
}

static int take_type(struct table *table, struct session *session, const struct source *source,
                     struct table_column *column, struct error *error)
{
    const char *params[1] = {table->columns[COLUMN_ID].name};
    PGresult *result = table_query(table, session, statement_value_type, 1, params, error);
    bool is_one;
    bool is_of_system;

    if (result == NULL)
        return -1;
    is_one = strcmp(PQgetvalue(result, 0, 0), "1") == 0;
    (void)snprintf(column->type, sizeof column->type, "%s", PQgetvalue(result, 0, 1));
    (void)snprintf(column->base, sizeof column->base, "%s", PQgetvalue(result, 0, 2));
    column->immutable = PQgetvalue(result, 0, 3)[0] == 't';
    column->category = PQgetvalue(result, 0, 4)[0];
    is_of_system = PQgetvalue(result, 0, 5)[0] == 't';
    if (column == &table->columns[COLUMN_KEY])
        (void)snprintf(table->key_columns, sizeof table->key_columns, "%s",
                       PQgetvalue(result, 0, 6));
    if (column >= &table->columns[COLUMN_EVENT_ID] && column < &table->columns[COLUMN_CREATED_AT])
        note_read(table, PQgetvalue(result, 0, 7), PQgetvalue(result, 0, 8)[0] == 't');
    PQclear(result);
    if (!is_one)
        return refuse(table, source, "is more than one value");
    return is_of_system ? refuse(table, source, "reads a system column") : 0;
}

/* Whoever can change what the relay uses has the relay's rights. `of` is "", "row" or "raw", as
 * value_uses.sql has it. */
static int check_uses_of(struct table *table, struct session *session, const char *of,
                         const struct source *source, struct error *error)
{
    PGresult *result = table_query(table, session, statement_value_uses_any, 1, &of, error);
    bool is_any = result != NULL && PQgetvalue(result, 0, 0)[0] == 't';
    size_t len = strlen(table->called);
    char why[220];
    int status = 0;

    if (result == NULL)
        return -1;
    PQclear(result);
    if (!is_any)
        return 0;
    result = table_query(table, session, statement_value_uses, 1, &of, error);
    if (result == NULL)
        return -1;
    for (int row = 0; source->is_where && row < PQntuples(result); row++)
        if (PQgetvalue(result, row, 3)[0] == 't')
            (void)snprintf(table->where_clock, sizeof table->where_clock, "%s",
                           PQgetvalue(result, row, 0));
    for (int row = 0; row < PQntuples(result) && len < sizeof table->called; row++)
        len += (size_t)snprintf(table->called + len, sizeof table->called - len,
                                "%s%s %s of role \"%s\"", len > 0 ? "; " : "", source->title,
                                PQgetvalue(result, row, 0), PQgetvalue(result, row, 1));
    if (PQntuples(result) > 0 && !PQgetisnull(result, 0, 2)) {
        (void)snprintf(why, sizeof why, "%.64s, %.150s", PQgetvalue(result, 0, 0),
                       PQgetvalue(result, 0, 2));
        status = refuse(table, source, why);
    }
    PQclear(result);
    return status;
}

/* Whether the SQL may read whole rows, which the catalog does not tell: it names the table, and not
 * only before a column's name. */
static bool reads_rows(const struct table *table, const char *sql)
{
    size_t len = strlen(table->name);
    const char *at = sql;

    if (strpbrk(sql, "\\") != NULL || strchr(table->name, '"') != NULL)
        return true;
    while ((at = strcasestr(at, table->name)) != NULL) {
        at += len;
        at += *at == '"';
        if (*at != '.' || at[1] == '*')
            return true;
    }
    return false;
}

static int check_uses(struct table *table, struct session *session, const struct source *source,
                      struct error *error)
{
    int status = check_uses_of(table, session, "", source, error);

    return status == 0 && reads_rows(table, source->sql)
               ? check_uses_of(table, session, "row", source, error)
               : status;
}

/* Whether PostgreSQL drops the unused value of the subquery, which it does unless the value is a
 * set, an aggregate or volatile. */
static int check_steady(struct table *table, struct session *session, const struct source *source,
                        struct error *error)
{
    PGresult *with = table_query_with(
        table, session,
        "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT 1 FROM (SELECT {source} AS value FROM"
        " {outbox}) dropped",
        "source", source->sql, error);
    PGresult *without =
        with != NULL
            ? table_query(table, session,
                          "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) SELECT 1 FROM {outbox}", 0,
                          NULL, error)
            : NULL;
    bool is_same =
        without != NULL && strcmp(PQgetvalue(with, 0, 0), PQgetvalue(without, 0, 0)) == 0;

    PQclear(with);
    if (without == NULL)
        return take_failure(table, source, NO_POSITION, error);
    PQclear(without);
    return is_same ? 0
                   : refuse(table, source,
                            "calls a volatile function, such as random(), nextval() or"
                            " clock_timestamp(): it must have the same value each time");
}

/* A row that is sent again must have the same values: JetStream takes another message for another
 * event, and the audit says that it was altered. */
static int check_same(struct table *table, struct session *session, const struct source *source,
                      struct error *error)
{
    PGresult *result = table_query(table, session, statement_value_varies, 1, &source->sql, error);
    char why[220];
    int status = 0;

    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        (void)snprintf(why, sizeof why,
                       "%.120s: it must have the same value each time, also when"
                       " the row is sent again",
                       PQgetvalue(result, 0, 0));
        status = refuse(table, source, why);
    }
    PQclear(result);
    return status;
}

/* A condition takes no set, aggregate or window function. */
static int check_plain(struct table *table, struct session *session, const struct source *source,
                       struct error *error)
{
    PGresult *plan = table_query_with(
        table, session, "EXPLAIN (FORMAT JSON) SELECT FROM {outbox} WHERE ({source}) IS NULL",
        "source", source->sql, error);
    bool has_subquery;

    if (plan == NULL)
        return take_failure(table, source, NO_POSITION, error);
    has_subquery = strstr(PQgetvalue(plan, 0, 0), "\"Subplan Name\"") != NULL;
    PQclear(plan);
    return has_subquery ? refuse(table, source, "has a subquery") : 0;
}

/* A row that is sent again must have the same event id. */
static int check_immutable(struct table *table, struct session *session,
                           const struct source *source, struct error *error)
{
    if (run_given(table, session, "CREATE TEMPORARY TABLE {outbox_name} (LIKE {outbox})", "",
                  error) < 0)
        return take_failure(table, source, NO_POSITION, error);
    return run_given(table, session, "CREATE INDEX ON pg_temp.{outbox_name} (({source} IS NULL))",
                     source->sql, error) == 0
               ? 0
               : take_failure(table, source, NO_POSITION, error);
}

static int describe_expression(struct table *table, struct session *session,
                               const struct source *source, struct error *error)
{
    const struct table_column *column = source->column;
    int status = parse(table, session, source, error);

    if (status == 0)
        status = take_type(table, session, source, source->column, error);
    if (status == 0)
        status = check_uses(table, session, source, error);
    if (status == 0)
        status = check_plain(table, session, source, error);
    if (status == 0)
        status = check_steady(table, session, source, error);
    if (status == 0 && column != &table->columns[COLUMN_DUE]) /* it leaves with no message */
        status = check_same(table, session, source, error);
    if (status == 0 && column == &table->columns[COLUMN_EVENT_ID])
        status = check_immutable(table, session, source, error);
    return status;
}

/* ---- the mark */

static int run_list(const struct table *table, struct session *session, const struct list *list,
                    const char *start, const char *more, struct error *error)
{
    char statement[320];

    (void)snprintf(statement, sizeof statement, "%s UPDATE {outbox} SET %s%s%s\nWHERE false", start,
                   list->word, more, list->from);
    return run_given(table, session, statement, "", error);
}

/* The columns that the list sets or reads: those on which its rule depends. */
static int note_listed(struct table *table, struct session *session, struct error *error)
{
    PGresult *result = table_query(table, session, statement_listed_columns, 0, NULL, error);
    size_t len = strlen(table->listed_columns);

    if (result == NULL)
        return -1;
    (void)snprintf(table->listed_columns + len, sizeof table->listed_columns - len, "%s, ",
                   PQgetvalue(result, 0, 0));
    PQclear(result);
    return 0;
}

/* The assignments behind it show that the list is nothing but a list, and that it leaves the id and
 * the key alone. */
static int describe_list(struct table *table, struct session *session, const struct source *source,
                         struct error *error)
{
    static const char rest[] = "\n, {kept}";
    int status;

    if (run_given(table, session, VIEW "1", "", error) < 0 ||
        run_list(table, session, source->list, "CREATE" RULE, rest, error) < 0)
        return take_failure(table, source, NO_POSITION, error);
    status = check_uses(table, session, source, error);
    if (status != 0)
        return status;
    if (run_list(table, session, source->list, "CREATE OR REPLACE" RULE, "", error) < 0 ||
        note_listed(table, session, error) < 0)
        return -1;
    if (run_list(table, session, source->list, "PREPARE relay_list AS", rest, error) < 0)
        return error_is_sqlstate(error, "42601")
                   ? refuse(table, source,
                            "sets a column twice, or the id or the key, which must stay,"
                            " or in park sent_at, which the relay clears")
                   : take_failure(table, source, NO_POSITION, error);
    return run_given(table, session, "DEALLOCATE relay_list", "", error);
}

const char values_idle_mark[] =
    "[outbox] mark: a row that it has marked is still within [outbox] where, and would be sent"
    " again and again";

/* `state` is that of try_park.sql; NULL: the mark is tried. */
static int try_list(const struct table *table, struct session *session, const char *state,
                    struct findings *findings, struct error *error)
{
    struct error ignored;
    PGresult *result;
    int status = 0;

    if (session_execute(session, "BEGIN", error) < 0)
        return -1;
    result = table_query(table, session, state != NULL ? statement_try_park : statement_try_mark,
                         state != NULL, &state, error);
    if (result != NULL && PQgetvalue(result, 0, 0)[0] == 'f' && state == NULL)
        (void)findings_add(findings, FINDING_ERROR, "%s", values_idle_mark);
    else if (result != NULL && PQgetvalue(result, 0, 0)[0] == 'f')
        (void)findings_add(findings, FINDING_ERROR,
                           "[outbox] park: a row that it has parked with $state = '%s' is still"
                           " within [outbox] where",
                           state);
    else if (result == NULL && session->conn != NULL && error->kind == ERROR_PERMANENT)
        (void)findings_add(findings, FINDING_ERROR, "[outbox] %s: %s",
                           state != NULL ? "park" : "mark", error->text);
    else if (result == NULL)
        status = -1;
    PQclear(result);
    if (session->conn != NULL && session_execute(session, "ROLLBACK", &ignored) < 0)
        status = -1;
    return status;
}

int values_try_lists(const struct table *table, struct session *session, struct findings *findings,
                     struct error *error)
{
    static const char *const states[] = {"retry",  "scheduled", "waiting",
                                         "paused", "behind",    "dead"};
    int found = findings->count;

    if (table->sql_problem[0] != '\0')
        return 0;
    if (table->mark != NULL && try_list(table, session, NULL, findings, error) < 0)
        return -1;
    for (size_t i = 0;
         table->park != NULL && i < sizeof states / sizeof *states && findings->count == found; i++)
        if (try_list(table, session, states[i], findings, error) < 0)
            return -1;
    return 0;
}

/* ---- all of them */

typedef int describe_source(struct table *table, struct session *session,
                            const struct source *source, struct error *error);

/* Something was refused: whether this role may make a view at all. Returns 0, or -1. */
static int try_view(struct session *session, struct error *error)
{
    struct error cause;
    PGresult *triggers;

    if (session_execute(session, VIEW "1; DROP VIEW pg_temp.relay_value", &cause) == 0)
        return 0;
    (void)session_execute(session, "ROLLBACK TO SAVEPOINT relay_view", error);
    triggers = session_query(session, sql_body(statement_event_triggers), 0, NULL, error);
    (void)error_set(error, cause.kind, cause.origin,
                    "this role cannot make the temporary view that shows the type and the functions"
                    " of an expression: %s",
                    error_bare_text(&cause));
    if (triggers != NULL && !PQgetisnull(triggers, 0, 0))
        (void)error_hint(error,
                         "let event trigger %s, which runs at each CREATE VIEW of this database, do"
                         " so with its owner's rights: %s",
                         PQgetvalue(triggers, 0, 0), PQgetvalue(triggers, 0, 1));
    else
        (void)error_hint(error, "GRANT TEMPORARY ON DATABASE \"%s\" TO \"%s\";",
                         session_database(session), session_role(session));
    PQclear(triggers);
    return -1;
}

/* The transaction ends all that was made in it. */
static int in_transaction(describe_source *describe, struct table *table, struct session *session,
                          const struct source *source, struct error *error)
{
    bool is_inner = session_is_in_transaction(session);
    struct error ignored;
    int status = session_execute(session, is_inner ? "SAVEPOINT relay_values" : "BEGIN", error);

    if (status == 0)
        status = describe(table, session, source, error);
    if (status != 0 && session->conn != NULL &&
        session_execute(session,
                        is_inner ? "ROLLBACK TO SAVEPOINT relay_values; SAVEPOINT relay_view"
                                 : "ROLLBACK; BEGIN; SAVEPOINT relay_view",
                        &ignored) == 0 &&
        try_view(session, error) < 0) {
        table->sql_problem[0] = '\0';
        status = -1;
    }
    if (session->conn != NULL &&
        session_execute(session, is_inner ? "ROLLBACK TO SAVEPOINT relay_values" : "ROLLBACK",
                        &ignored) < 0)
        return -1;
    return status < 0 ? -1 : 0;
}

int values_try_index(struct table *table, struct session *session,
                     const struct outbox_options *options, struct error *error)
{
    const struct source source = {.title = "[outbox.columns] key",
                                  .sql = table->columns[COLUMN_KEY].expression};

    if (source.sql == NULL || options->order != ORDER_KEY || table->sql_problem[0] != '\0' ||
        !table->exists || table->has_claim_index)
        return 0;
    return in_transaction(check_immutable, table, session, &source, error);
}

static void put_title(char title[128], const struct table *table, int i)
{
    if (i >= COLUMN_COUNT)
        (void)snprintf(title, 128, "[%s] %.90s",
                       outbox_header_section(&table->header_names[i - COLUMN_COUNT]),
                       outbox_header_name(&table->header_names[i - COLUMN_COUNT]));
    else
        (void)snprintf(title, 128, "%s%s", i == COLUMN_DUE ? "[outbox] " : "[outbox.columns] ",
                       column_name((enum column)i));
}

/* Names with a dot are those of objects outside PostgreSQL's own schema, because search_path is
 * empty. Where quotes may mislead, any dot counts. */
static bool is_qualified(const char *sql)
{
    bool all =
        strpbrk(sql, "\\$") != NULL || strstr(sql, "--") != NULL || strstr(sql, "/*") != NULL;
    char quote = '\0';

    for (const char *at = sql; *at != '\0'; at++) {
        if (quote == '\0' ? strchr("'\"", *at) != NULL : *at == quote)
            quote = quote == '\0' ? *at : '\0';
        else if (*at == '.' && (quote == '\0' || all) && !(at[1] >= '0' && at[1] <= '9'))
            return true;
    }
    return false;
}

/* Whether there is one more expression after `*at`. */
static bool next_expression(struct table *table, int *at, struct source *source)
{
    for (; *at < COLUMN_COUNT + table->header_count; ++*at) {
        struct table_column *column =
            *at < COLUMN_COUNT ? &table->columns[*at] : &table->headers[*at - COLUMN_COUNT];

        if (column->expression == NULL)
            continue;
        *source = (struct source){.sql = column->expression, .column = column};
        put_title(source->title, table, (*at)++);
        return true;
    }
    return false;
}

bool values_are_qualified(struct table *table)
{
    const char *const lists[] = {table->where, table->mark, table->park};
    struct source source;
    bool are = false;
    int at = 0;

    while (!are && next_expression(table, &at, &source))
        are = is_qualified(source.sql);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        are = are || (lists[i] != NULL && is_qualified(lists[i]));
    return are;
}

bool values_need_views(const struct table *table)
{
    return table->is_computed || table->mark != NULL ||
           (table->where != NULL && is_qualified(table->where));
}

static int describe_uses(struct table *table, struct session *session, const struct source *source,
                         struct error *error)
{
    int status = parse(table, session, source, error);

    return status != 0 ? status : check_uses(table, session, source, error);
}

int values_check_where(struct table *table, struct session *session, struct error *error)
{
    char *sql = NULL;
    int status;

    if (table->where == NULL || !is_qualified(table->where))
        return 0;
    if (asprintf(&sql, "(%s)", table->where) < 0)
        return error_no_memory(error);
    status = in_transaction(
        describe_uses, table, session,
        &(struct source){.title = "[outbox] where", .sql = sql, .is_where = true}, error);
    free(sql);
    return status;
}

/* A row whose values cannot be computed is kept as a whole, and read again by its columns' types.
 */
static int check_raw(struct table *table, struct session *session, struct error *error)
{
    const struct source source = {.title = "[outbox]", .sql = "a row that is kept as a whole"};

    return table->is_computed && table->sql_problem[0] == '\0'
               ? check_uses_of(table, session, "raw", &source, error)
               : 0;
}

int values_describe(struct table *table, struct session *session, struct error *error)
{
    const struct source lists[] = {
        {.title = "[outbox] mark", .sql = table->mark, .list = &mark_list},
        {.title = "[outbox] park", .sql = table->park, .list = &park_list}};
    struct source source;
    int at = 0;

    while (table->sql_problem[0] == '\0' && next_expression(table, &at, &source))
        if (in_transaction(describe_expression, table, session, &source, error) < 0)
            return -1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (table->sql_problem[0] == '\0' && lists[i].sql != NULL &&
            in_transaction(describe_list, table, session, &lists[i], error) < 0)
            return -1;
    return check_raw(table, session, error) < 0 ? -1 : 0;
}

/* ---- for `check` */

/* A number, a uuid and a boolean have one text; of others the expression says which. */
static bool is_sendable(const struct table_column *header)
{
    return strchr("SENB", header->category) != NULL || strcmp(header->base, "uuid") == 0 ||
           strcmp(header->base, "bytea") == 0;
}

void values_inspect_headers(const struct table *table, struct findings *findings)
{
    for (int i = 0; i < table->header_count; i++) {
        const struct table_column *header = &table->headers[i];
        const char *name = outbox_header_name(&table->header_names[i]);
        const char *section = outbox_header_section(&table->header_names[i]);

        if (header->type[0] == '\0')
            (void)findings_add(findings, FINDING_ERROR,
                               "column %s, \"%s\" of [%s], is missing in %s", header->quoted, name,
                               section, table->quoted);
        else if (!is_sendable(header))
            finding_fix(findings_add(findings, FINDING_ERROR,
                                     "the value of \"%s\" of [%s] has type %s; it must be text or"
                                     " bytea",
                                     name, section, header->type),
                        "write \"(%s::text)\" in [%s]", column_sql(header), section);
    }
}
