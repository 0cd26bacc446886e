/*
 * init: creates what does not exist, and adds what the existing tables lack.
 *
 * All that it does itself is one transaction. An existing outbox is never altered, and the relay's
 * own tables only where that takes no time: the rest is returned as SQL (missing.c). An advisory
 * lock keeps two inits from running at the same time.
 */
#include "admin/admin_session.h"

#include "base/text.h"
#include "catalog/adoption.h"
#include "catalog/columns.h"
#include "catalog/describe.h"
#include "catalog/filter.h"
#include "catalog/values.h"
#include "catalog/notify.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/slice_table.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"
#include "pg/holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks [outbox] where before anything is created or printed that PostgreSQL would refuse because
 * of it. */
static int check_where(struct admin *admin, struct error *error)
{
    if (table_fits_preset(&admin->table, admin->options, error) < 0 ||
        filter_try_index(&admin->table, &admin->session, error) < 0 ||
        values_try_index(&admin->table, &admin->session, admin->options, error) < 0)
        return -1;
    if (admin->table.sql_problem[0] == '\0')
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s", admin->table.sql_problem);
}

/* A column is added only when none that is there may be meant. */
static int refuse_offered(const struct table *table, const struct outbox_options *options,
                          struct error *error)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (table_needs(options, (enum column)i) && !table_has(table, (enum column)i) &&
            table->columns[i].offer[0] != '\0')
            return error_set(
                error, ERROR_PERMANENT, ERROR_DATABASE,
                "nothing was created: table %s lacks columns that it may have by other names",
                table->quoted);
    return 0;
}

/* What `init` would execute and print for an outbox that exists. "": nothing is lacking. NULL:
 * failed. */
static char *upgrade_sql(struct admin *admin, struct error *error)
{
    char *tables = NULL;
    char *at_once = NULL;
    char *rest = NULL;
    char *sql = NULL;

    if (missing_at_once_sql(admin, &at_once, error) == 0 && missing_sql(admin, &rest, error) == 0) {
        tables = schema_sql(&admin->table, admin->options, statement_tables, "makes_others");
        if (tables == NULL ||
            (tables[0] != '\0' || at_once[0] != '\0'
                 ? asprintf(&sql, "BEGIN;\n%s%sCOMMIT;\n%s", tables, at_once, rest)
                 : asprintf(&sql, "%s", rest)) < 0) {
            sql = NULL;
            (void)error_no_memory(error);
        }
    }
    free(tables);
    free(at_once);
    free(rest);
    return sql;
}

int admin_partition(struct admin *admin, int64_t rows, struct error *error)
{
    const struct table *table = &admin->table;

    admin->partition_rows = admin->table.partition_rows = rows;
    if (admin->options->on_sent != ON_SENT_POSITION) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "partitions need on_sent = \"position\"; it is \"%s\"",
                        outbox_on_sent(admin->options));
        return error_hint(error, "write on_sent = \"position\" in [outbox]");
    }
    if (admin->is_ordering) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                        "the order trigger draws the id of a row, which chooses the partition"
                        " before triggers run");
        return error_hint(error, "leave out --order-trigger, and let the application lock the key:"
                                 " docs/order.md");
    }
    if (!table->exists || table->is_partitioned)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s exists and has no partitions by ranges of the id", table->quoted);
    return error_hint(error, "see \"Partitions\" in docs/sizing.md: a new table takes its place");
}

char *admin_schema_sql(struct admin *admin, struct error *error)
{
    char *sql;

    if (admin->table.spelt[0] != '\0') {
        (void)table_refuse_missing(&admin->table, error);
        return NULL;
    }
    if (admin->table.exists &&
        (table_plain(&admin->table, error) < 0 || check_where(admin, error) < 0 ||
         refuse_offered(&admin->table, admin->options, error) < 0))
        return NULL;
    if (admin->table.exists) {
        sql = upgrade_sql(admin, error);
        if (sql == NULL || sql[0] != '\0' || admin->is_ordering)
            return sql;
        free(sql);
    }
    sql = schema_complete_sql(&admin->table, admin->options, admin->is_ordering);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
}

/* A role that does not exist yet will have the privileges of PUBLIC. */
#define ROLE "coalesce((SELECT rolname FROM pg_catalog.pg_roles WHERE rolname = $1), 'public')"

/* The sequence of the ids. For a table that does not exist yet, the order trigger's, or the name
 * that PostgreSQL will give to the sequence of its identity column. */
static int find_sequence(struct admin *admin, struct sequence *sequence, struct error *error)
{
    const struct table *table = &admin->table;
    struct text first = text_of(table->name);
    struct text second = text_of(table->columns[COLUMN_ID].name);
    size_t most = sizeof table->name - sizeof "__seq";
    char name[QUOTED_BYTES_MAX];
    char quoted[QUOTED_BYTES_MAX];

    if (table->exists)
        return sequence_describe(sequence, &admin->session, table, error);
    (void)snprintf(sequence->quoted, sizeof sequence->quoted, "%s", table->order_sequence_quoted);
    if (admin->is_ordering)
        return 0;
    while (first.len + second.len > most) /* as PostgreSQL's makeObjectName() */
        (*(first.len > second.len ? &first.len : &second.len))--;
    first = text_cut(text_of(table->name), first.len);
    second = text_cut(text_of(table->columns[COLUMN_ID].name), second.len);
    (void)snprintf(name, sizeof name, "%.*s_%.*s_seq", (int)first.len, first.data, (int)second.len,
                   second.data);
    table_quote(&admin->session, name, quoted);
    (void)snprintf(sequence->quoted, sizeof sequence->quoted, "%s.%s", table->schema_quoted,
                   quoted);
    return 0;
}

char *admin_grant_sql(struct admin *admin, const char *role, struct error *error)
{
    struct sequence sequence = {0};
    int64_t identifies = admin_number(admin,
                                      "SELECT pg_catalog.has_function_privilege(" ROLE
                                      ", " IDENTITY_FUNCTION ", 'EXECUTE')::int",
                                      1, &role, error);
    int64_t may_make_views = admin_number(admin,
                                          "SELECT pg_catalog.has_database_privilege(" ROLE
                                          ", pg_catalog.current_database(), 'TEMPORARY')::int",
                                          1, &role, error);
    char *quoted;
    char *database;
    char *sql = NULL;

    if (identifies < 0 || may_make_views < 0 || find_sequence(admin, &sequence, error) < 0)
        return NULL;
    quoted = session_quote_name(&admin->session, role);
    database = session_quote_name(&admin->session, session_database(&admin->session));
    if (quoted != NULL && database != NULL) {
        const struct schema_grant grant = {
            .role = quoted,
            .sequence = sequence.quoted,
            .database = may_make_views == 0 && values_need_views(&admin->table) ? database : NULL,
            .identifies = identifies > 0};

        sql = schema_grant_sql(&admin->table, admin->options, &grant);
    }
    free(database);
    free(quoted);
    if (sql == NULL)
        (void)error_no_memory(error);
    return sql;
}

static int execute(struct admin *admin, const char *statement, const char *names,
                   struct error *error)
{
    char *sql = schema_sql(&admin->table, admin->options, statement, names);
    int status = sql == NULL      ? error_no_memory(error)
                 : sql[0] == '\0' ? 0
                                  : session_execute(&admin->session, sql, error);

    free(sql);
    return status;
}

/* The index contains the condition of [outbox] where, which may name a column that the new table
 * lacks. */
static int create_outbox(struct admin *admin, struct error *error)
{
    struct error cause;

    if (admin->table.spelt[0] != '\0' || admin->table.lacks_schema)
        return table_refuse_missing(&admin->table, error);
    if (admin->options->preset_columns != NULL)
        return error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "table %s does not exist; init creates only the default table, not that of a preset",
            admin->table.quoted);
    if (admin->table.numbered)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "table %s does not exist; the ids of the one that init creates grow: leave"
                         " out order in [outbox.columns]",
                         admin->table.quoted);
    if (admin->table.is_computed || admin->table.mark != NULL)
        return error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "table %s does not exist; init creates only the default table, and for that"
            " one leave out expressions, [outbox.headers], due, mark and park",
            admin->table.quoted);
    schema_foresee(&admin->table, admin->options);
    admin->table.partition_rows = admin->partition_rows;
    if (execute(admin, statement_tables,
                admin->is_ordering ? "makes_outbox ordered" : "makes_outbox", error) < 0)
        return -1;
    if (!schema_needs_index(admin->options) ||
        execute(admin, statement_tables, "makes_index", &cause) == 0)
        return describe_table(&admin->table, &admin->session, admin->options, error);
    return error_set(error, cause.kind, cause.origin, "%s%s",
                     admin->options->where != NULL ? "[outbox] where: " : "", cause.text);
}

/* Refuses an existing table from which the relay cannot send, and problems that the returned SQL
 * would not solve: unsuitable types of id and key, or a missing privilege. */
static int refuse(const struct table *table, const struct outbox_options *options,
                  struct error *error)
{
    if (!columns_fit(table, options))
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "nothing was created: table %s cannot be used as it is", table->quoted);
    if (refuse_offered(table, options, error) < 0)
        return -1;
    if (options->order != ORDER_KEY)
        return 0;
    if (slices_check_columns(table, error) < 0)
        return -1;
    return table->slice_exists ? slices_check_table(table, error) : 0;
}

/* If a column is missing, nothing is created; admin_init reports the SQL for it after the
 * transaction. */
static int create_missing(struct admin *admin, struct error *error)
{
    if (describe_table(&admin->table, &admin->session, admin->options, error) < 0 ||
        (admin->table.exists ? table_plain(&admin->table, error) : create_outbox(admin, error)) < 0)
        return -1;
    if (refuse(&admin->table, admin->options, error) < 0)
        return -1;
    if (!table_has_needed(&admin->table, admin->options))
        return 0;
    admin->table.partition_rows = admin->partition_rows;
    return execute(admin, statement_tables, "makes_others", error);
}

/* A relay's batch, or another transaction that reads the parked table, may hold the lock. */
static int explain_change(const struct table *table, struct error *error)
{
    if (error_is_sqlstate(error, "55P03"))
        return error_hint(error,
                          "a transaction has used %s for more than a second, and nothing was"
                          " changed; run the command again",
                          table->parked_quoted);
    if (error_is_sqlstate(error, "42501"))
        return error_hint(error,
                          "run the command as the owner of %s, or have the owner run what"
                          " outbox-relay init --print prints",
                          table->parked_quoted);
    return -1;
}

/* Adds what the relay's existing tables lack, in the transaction that creates what does not exist.
 */
static int add_missing(struct admin *admin, char **executed, struct error *error)
{
    if (!table_has_needed(&admin->table, admin->options))
        return 0;
    if (missing_at_once_sql(admin, executed, error) < 0)
        return -1;
    if ((*executed)[0] != '\0')
        return session_execute(&admin->session, *executed, error) == 0
                   ? 0
                   : explain_change(&admin->table, error);
    free(*executed);
    *executed = NULL;
    return 0;
}

/* Two transactions that replace one function at once fail, so one init waits for the other. */
static int begin_change(struct admin *admin, struct error *error)
{
    if (session_execute(&admin->session, "BEGIN; SET LOCAL lock_timeout = 9000", error) < 0 ||
        holders_lock_advisory(&admin->session, SCHEMA_LOCK, error) < 0)
        return -1;
    return session_execute(&admin->session, "SET LOCAL lock_timeout = 1000", error);
}

static int change_tables(struct admin *admin, char **executed, struct error *error)
{
    if (begin_change(admin, error) == 0 && create_missing(admin, error) == 0 &&
        add_missing(admin, executed, error) == 0 &&
        session_execute(&admin->session, "COMMIT", error) == 0)
        return 0;
    free(*executed);
    *executed = NULL;
    return -1;
}

/* When the running relays use another condition, the SQL would drop their index: the error says
 * that instead, with what to do first. */
static int tell_missing(struct admin *admin, struct error *error)
{
    const struct table *table = &admin->table;
    struct adoption adoption;
    struct error ignored; /* reading the note may fail because something is still missing */

    if (!table_has_needed(table, admin->options) && !table->control_exists)
        return error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "nothing was created: table %s lacks what the SQL below adds; run it, then init again:",
            table->quoted);
    if (adoption_read_note(&adoption, table, &admin->session, admin->options, &ignored) == 0 &&
        adoption.state == ADOPTION_CONDITION)
        return adoption_explain(&adoption, table, admin->options, error);
    if (admin->options->order == ORDER_KEY && slices_check_number(table, admin->options, error) < 0)
        return -1;
    return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                     "%s and %s lack what this SQL adds; init leaves it to you, because the tables"
                     " are in use:",
                     table->quoted, table->parked_quoted);
}

int admin_init(struct admin *admin, char **executed, char **missing, struct error *error)
{
    *executed = NULL;
    *missing = NULL;
    if (check_where(admin, error) < 0 || change_tables(admin, executed, error) < 0 ||
        describe_table(&admin->table, &admin->session, admin->options, error) < 0 ||
        missing_sql(admin, missing, error) < 0) {
        table_name_holders(&admin->table, &admin->session, error);
        return -1;
    }
    if ((*missing)[0] != '\0')
        return tell_missing(admin, error);
    free(*missing);
    *missing = NULL;
    return 0;
}

bool admin_has_table(const struct admin *admin)
{
    return admin->table.exists;
}

const char *admin_table_elsewhere(const struct admin *admin)
{
    return admin->table.elsewhere;
}

int admin_foresee_adoption(struct admin *admin, struct error *error)
{
    struct adoption adoption;

    if (adoption_examine(&adoption, &admin->table, &admin->session, admin->options, error) < 0)
        return -1;
    if (adoption.state != ADOPTION_CONDITION &&
        (adoption.state != ADOPTION_OPEN || admin->options->adopt))
        return 0;
    (void)adoption_explain(&adoption, &admin->table, admin->options, error);
    return 1;
}

int admin_settle_adoption(struct admin *admin, struct error *error)
{
    struct adoption adoption;

    if (describe_check_whole(&admin->table, admin->options, error) < 0)
        return -1;
    return adoption_settle(&adoption, &admin->table, &admin->session, admin->options, error);
}

/* ---- --notify ---- */

char *admin_notify_sql(struct admin *admin)
{
    return schema_sql(&admin->table, admin->options, statement_notify,
                      "makes_function makes_trigger");
}

/* CREATE TRIGGER waits for its lock only briefly, because inserts queue behind it. */
static int create_notify(struct admin *admin, const char *names, struct error *error)
{
    int status = execute(admin, statement_notify, names, error);

    if (status < 0 && error_is_sqlstate(error, "55P03"))
        (void)error_hint(error,
                         "a transaction that uses %s has been open for more than a second;"
                         " run the command again",
                         admin->table.quoted);
    return status;
}

/* CREATE OR REPLACE TRIGGER exists only since PostgreSQL 14. CREATE OR REPLACE FUNCTION keeps the
 * owner of a function that exists, so the owner is looked at afterwards. */
int admin_init_notify(struct admin *admin, struct error *error)
{
    struct notify notify;

    if (begin_change(admin, error) == 0 &&
        notify_describe(&notify, &admin->session, &admin->table, error) == 0 &&
        create_notify(admin, "makes_function", error) == 0 &&
        (notify.exists || create_notify(admin, "makes_trigger", error) == 0) &&
        notify_refuse_foreign(&admin->table, &admin->session, error) == 0 &&
        session_execute(&admin->session, "COMMIT", error) == 0)
        return 0;
    table_name_holders(&admin->table, &admin->session, error);
    return -1;
}
