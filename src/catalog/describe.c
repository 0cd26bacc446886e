/* Describes the tables from the catalog, and checks that the relay can use them. */
#include "catalog/describe.h"

#include "base/text.h"
#include "base/version.h"
#include "catalog/columns.h"
#include "catalog/filter.h"
#include "catalog/inspect.h"
#include "catalog/parked_table.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/slice_table.h"
#include "catalog/values.h"
#include "catalog/facts.h"
#include "pg/server.h"
#include "sql/sql.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of find_tables.sql. */
enum {
    FIND_KIND,
    FIND_CHILDREN,
    FIND_OID,
    FIND_TRIGGERS,
    FIND_IS_OWN,
    FIND_PARKED,
    FIND_PARKED_FITS,
    FIND_PARKED_LACKS,
    FIND_CONTROL,
    FIND_CONTROL_FITS,
    FIND_NUMBER,
    FIND_MAY_NUMBER,
    FIND_NAME_IS_COLUMN,
    FIND_OWN,
    FIND_PARTITIONED_BY,
    FIND_PARKED_ID
};

static void quote_beside(const struct table *table, const struct session *session,
                         const char *suffix, char *out, size_t size)
{
    char name[QUOTED_BYTES_MAX];
    char quoted[QUOTED_BYTES_MAX];

    (void)snprintf(name, sizeof name, "%s%s", table->stem, suffix);
    table_quote(session, name, quoted);
    (void)snprintf(out, size, "%s.%s", table->schema_quoted, quoted);
}

static void quote_names(struct table *table, const struct session *session, enum order order)
{
    char index[QUOTED_BYTES_MAX];
    char notify[QUOTED_BYTES_MAX];

    table_quote(session, table->schema, table->schema_quoted);
    table_quote(session, table->name, index);
    (void)snprintf(table->quoted, sizeof table->quoted, "%s.%s", table->schema_quoted, index);
    quote_beside(table, session, "_parked", table->parked_quoted, sizeof table->parked_quoted);
    quote_beside(table, session, "_slice", table->slice_quoted, sizeof table->slice_quoted);
    quote_beside(table, session, "_control", table->control_quoted, sizeof table->control_quoted);
    quote_beside(table, session, "_progress", table->progress_quoted,
                 sizeof table->progress_quoted);
    (void)snprintf(index, sizeof index, "%s%s", table->stem,
                   order == ORDER_KEY ? "_slice_idx" : "_unsent_idx");
    table_quote(session, index, table->claim_index_quoted);
    (void)snprintf(notify, sizeof notify, "%s_notify", table->stem);
    table_quote(session, notify, table->notify_quoted);
    quote_beside(table, session, "_order", table->order_quoted, sizeof table->order_quoted);
    quote_beside(table, session, "_bucket", table->order_bucket_quoted,
                 sizeof table->order_bucket_quoted);
    quote_beside(table, session, "_gate", table->order_gate_quoted,
                 sizeof table->order_gate_quoted);
    quote_beside(table, session, "_order_kept", table->order_kept_quoted,
                 sizeof table->order_kept_quoted);
    quote_beside(table, session, ORDER_SEQUENCE_SUFFIX, table->order_sequence_quoted,
                 sizeof table->order_sequence_quoted);
}

static void name_column(struct table_column *column, const struct session *session,
                        const char *value)
{
    if (outbox_is_expression(value)) {
        column->expression = value;
        (void)snprintf(column->quoted, sizeof column->quoted, "%s", value);
    } else if (value != NULL && outbox_read_column(value, column->name) == NULL) {
        table_quote(session, column->name, column->quoted);
    }
}

static void name_columns(struct table *table, const struct session *session,
                         const struct outbox_options *options)
{
    table->header_names = options->headers;
    table->header_count = options->header_count;
    table->is_computed = options->header_count > 0 || options->columns[COLUMN_DUE] != NULL ||
                         options->park != NULL; /* a copy is computed anew from the row */
    for (int i = 0; i < COLUMN_COUNT; i++) {
        name_column(&table->columns[i], session, outbox_column(options, (enum column)i));
        table->is_computed = table->is_computed || table->columns[i].expression != NULL;
    }
    for (int i = 0; i < options->header_count; i++)
        name_column(&table->headers[i], session, options->headers[i].value);
}

/* PostgreSQL cuts names, so those of two tables could become the same. */
static void name_stem(struct table *table)
{
    size_t longest = sizeof table->stem - sizeof "_parked_due_idx"; /* none of ours is longer */
    struct text name = text_of(table->name);
    struct text start =
        text_cut(name, name.len > longest ? longest - strlen("_01234567") : longest);

    (void)snprintf(table->stem, sizeof table->stem, "%.*s", (int)start.len, start.data);
    if (name.len > longest)
        (void)snprintf(table->stem + start.len, sizeof table->stem - start.len, "_%08x",
                       (unsigned)text_hash(name));
}

static int find_schema(struct table *table, struct session *session,
                       const struct outbox_options *options, struct error *error)
{
    const char *params[2] = {session->schemas, table->name};
    const char *quotes = outbox_toml_quotes(options->table);
    PGresult *result = session_query(session, sql_body(statement_find_schema), 2, params, error);

    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0)
        (void)snprintf(table->schema, sizeof table->schema, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    if (table->schema[0] != '\0')
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "outbox.table \"%s\" names no schema, and the search_path of role \"%s\" has"
                    " none that it may use",
                    table->name, session_role(session));
    return error_hint(error, "write table = %sSCHEMA.%s%s in [outbox]", quotes, options->table,
                      quotes);
}

static int find_others(struct table *table, struct session *session, bool has_schema,
                       struct error *error)
{
    const char *params[3] = {table->schema, table->name, has_schema ? "{}" : session->schemas};
    PGresult *result = table_query(table, session, statement_find_others, 3, params, error);

    if (result == NULL)
        return -1;
    table->lacks_schema = PQgetvalue(result, 0, 0)[0] == 't';
    (void)snprintf(table->spelt, sizeof table->spelt, "%s", PQgetvalue(result, 0, 1));
    (void)snprintf(table->elsewhere, sizeof table->elsewhere, "%s", PQgetvalue(result, 0, 2));
    PQclear(result);
    return 0;
}

/* A newer relay may keep something in the tables that this one would destroy. */
static int check_schema_number(const struct table *table, struct error *error)
{
    if (table->schema_number <= SCHEMA_NUMBER)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s has schema %d, made by a newer outbox-relay; this one, " RELAY_VERSION
                    ", knows schema %d and leaves the tables alone",
                    table->control_quoted, table->schema_number, SCHEMA_NUMBER);
    (void)error_hint(error, "start the version whose init was run last");
    return error_mark_schema(error);
}

/* Its name may have been written by mistake. */
static int refuse_own(const struct table *table, const char *suffix, struct error *error)
{
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s is no outbox: it is one that outbox-relay keeps beside an outbox",
                    table->quoted);
    return error_hint(error,
                      "write the name of the outbox itself as table in [outbox]: that of this table"
                      " without %s",
                      suffix);
}

static bool is_set(const PGresult *result, int column)
{
    return PQgetvalue(result, 0, column)[0] == 't';
}

static int find(struct table *table, struct session *session, const struct outbox_options *options,
                struct error *error)
{
    char schema[OUTBOX_NAME_BYTES];
    const char *problem = outbox_read_table(options->table, schema, table->name);
    const char *params[4] = {table->schema, table->name, table->stem, statement_parked_table};
    char role[QUOTED_BYTES_MAX];
    PGresult *result;
    bool parked_fits;
    char own[sizeof "_control"];
    bool control_fits;

    if (problem != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "table: \"%s\" %s", options->table,
                         problem);
    name_stem(table);
    if (schema[0] != '\0') /* else the table stays in the schema found first */
        memcpy(table->schema, schema, sizeof schema);
    if (table->schema[0] == '\0' && find_schema(table, session, options, error) < 0)
        return -1;
    result = table_query(table, session, statement_find_tables, 4, params, error);
    if (result == NULL && error_is_sqlstate(error, "42501")) {
        table_quote(session, table->schema, table->schema_quoted);
        table_quote(session, session_role(session), role);
        (void)error_hint(error, "GRANT USAGE ON SCHEMA %s TO %s;", table->schema_quoted, role);
    }
    if (result == NULL)
        return -1;
    table->exists = !PQgetisnull(result, 0, FIND_KIND);
    table->kind = PQgetvalue(result, 0, FIND_KIND)[0];
    table->has_children = is_set(result, FIND_CHILDREN);
    table->oid = (uint32_t)strtoul(PQgetvalue(result, 0, FIND_OID), NULL, 10);
    table->has_triggers = is_set(result, FIND_TRIGGERS);
    table->is_own = is_set(result, FIND_IS_OWN);
    table->parked_exists = is_set(result, FIND_PARKED);
    parked_fits = is_set(result, FIND_PARKED_FITS);
    (void)snprintf(table->parked_lacks, sizeof table->parked_lacks, "%s",
                   table->parked_exists ? PQgetvalue(result, 0, FIND_PARKED_LACKS) : "");
    table->control_exists = is_set(result, FIND_CONTROL);
    control_fits = is_set(result, FIND_CONTROL_FITS);
    table->schema_number = (int)strtol(PQgetvalue(result, 0, FIND_NUMBER), NULL, 10);
    table->may_number = is_set(result, FIND_MAY_NUMBER);
    table->name_is_column = is_set(result, FIND_NAME_IS_COLUMN);
    (void)snprintf(own, sizeof own, "%s", PQgetvalue(result, 0, FIND_OWN));
    (void)snprintf(table->partitioned_by, sizeof table->partitioned_by, "%s",
                   PQgetvalue(result, 0, FIND_PARTITIONED_BY));
    (void)snprintf(table->parked_id_type, sizeof table->parked_id_type, "%s",
                   PQgetvalue(result, 0, FIND_PARKED_ID));
    PQclear(result);
    quote_names(table, session, options->order);
    if (own[0] != '\0')
        return refuse_own(table, own, error);
    if (table->exists && table->parked_exists && !parked_fits)
        return table_refuse_other(table->parked_quoted, error);
    if (table->exists && table->parked_exists && strstr(table->parked_lacks, "state") != NULL) {
        (void)error_set(
            error, ERROR_PERMANENT, ERROR_DATABASE,
            "table %s was made by an outbox-relay before 0.1.0, whose tables are not taken over",
            table->parked_quoted);
        (void)error_hint(error,
                         "have that version send its rows; then DROP TABLE %s; and"
                         " outbox-relay init",
                         table->parked_quoted);
        return error_mark_schema(error);
    }
    if (check_schema_number(table, error) < 0)
        return -1;
    if (table->exists && table->control_exists && !control_fits)
        return table_refuse_other(table->control_quoted, error);
    return table->exists ? 0 : find_others(table, session, schema[0] != '\0', error);
}

/* A domain over bytea is converted by a cast to text, which depends on bytea_output. */
static bool is_domain_of_bytes(const struct table_column *column)
{
    return strcmp(column->base, "bytea") == 0 && strcmp(column->type, "bytea") != 0;
}

/* With on_sent = "delete", a sent_at column that is NOT NULL or has a default is not the relay's:
 * the relay's column is NULL in every new row. */
static bool is_others(const struct table_column *found, enum column column, enum on_sent on_sent)
{
    return column == COLUMN_SENT_AT && on_sent == ON_SENT_DELETE &&
           (found->not_null || found->has_default);
}

/* The column of one row of statement_table_columns. */
static struct table_column read_column(const PGresult *result, int row)
{
    struct table_column column = {0};

    (void)snprintf(column.name, sizeof column.name, "%s", PQgetvalue(result, row, 0));
    (void)snprintf(column.type, sizeof column.type, "%s", PQgetvalue(result, row, 1));
    (void)snprintf(column.base, sizeof column.base, "%s", PQgetvalue(result, row, 2));
    column.unique = PQgetvalue(result, row, 3)[0] == 't';
    column.immutable = PQgetvalue(result, row, 4)[0] == 't' && !is_domain_of_bytes(&column);
    column.not_null = PQgetvalue(result, row, 5)[0] == 't';
    column.has_default = PQgetvalue(result, row, 6)[0] == 't';
    column.category = PQgetvalue(result, row, 7)[0];
    column.is_relays = PQgetvalue(result, row, 8)[0] == 't';
    return column;
}

static void take_as(struct table_column *mapped, const struct table_column *column)
{
    struct table_column as_mapped = *column;

    if (strcmp(mapped->name, column->name) != 0)
        return;
    memcpy(as_mapped.quoted, mapped->quoted, sizeof as_mapped.quoted);
    *mapped = as_mapped;
}

static void take_column(struct table *table, const struct table_column *column,
                        enum on_sent on_sent)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        if (!is_others(column, (enum column)i, on_sent))
            take_as(&table->columns[i], column);
    for (int i = 0; i < table->header_count; i++)
        take_as(&table->headers[i], column);
}

/* Claims of a table whose values are computed read all of its columns; others may be told apart by
 * them. */
static int list_column(struct table *table, const struct session *session,
                       const struct table_column *column, int place, struct error *error)
{
    size_t len = strlen(table->all_columns);
    char quoted[QUOTED_BYTES_MAX];

    table_quote(session, column->name, quoted);
    if (strcmp(column->base, "json") == 0 || strcmp(column->base, "jsonb") == 0)
        table->json_columns[place / 8] |= (unsigned char)(1 << place % 8);
    if (len + strlen(quoted) + sizeof ", " > sizeof table->all_columns && !table->is_computed)
        return 0; /* enough to tell rows apart (put_identity) */
    if (len + strlen(quoted) + sizeof ", " > sizeof table->all_columns)
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "table %s has too many columns for expressions: their names take more"
                         " than %d bytes",
                         table->quoted, ALL_COLUMNS_BYTES_MAX);
    (void)snprintf(table->all_columns + len, sizeof table->all_columns - len, "%s%s",
                   len > 0 ? ", " : "", quoted);
    return 0;
}

/* Beside such a column, or with such a table, a name in a statement would mean something else. The
 * parked table's columns stand beside the expressions that compute a parked row's values anew. */
static int refuse_names(const struct table *table, const struct table_column *columns, int count,
                        struct error *error)
{
    const char *column = NULL;

    for (int i = 0; i < count && column == NULL; i++)
        column = sql_is_own_name(columns[i].name) ? columns[i].name : NULL;
    if (column == NULL && !sql_is_own_name(table->name) &&
        !(table->is_computed && table->name_is_column))
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "the relay's own statements use the name \"%s\", which %s%s has",
                    column != NULL ? column : table->name,
                    column != NULL ? "a column of table " : "table ", table->quoted);
    if (column != NULL)
        (void)error_hint(error, "ALTER TABLE %s RENAME COLUMN %s TO ...;", table->quoted, column);
    else
        (void)error_hint(error, "ALTER TABLE %s RENAME TO ...;", table->quoted);
    return error_mark_schema(error);
}

static int find_columns(struct table *table, struct session *session,
                        const struct outbox_options *options, struct error *error)
{
    const char *params[2] = {table->schema, table->name};
    PGresult *result = table_query(table, session, statement_table_columns, 2, params, error);
    struct table_column *columns;
    int count;
    int status = 0;

    if (result == NULL)
        return -1;
    count = PQntuples(result);
    columns = calloc((size_t)count + 1, sizeof *columns);
    if (columns == NULL) {
        PQclear(result);
        return error_no_memory(error);
    }
    for (int i = 0; i < count; i++) {
        columns[i] = read_column(result, i);
        take_column(table, &columns[i], options->on_sent);
        if (status == 0)
            status = list_column(table, session, &columns[i], i, error);
    }
    if (status == 0)
        status = refuse_names(table, columns, count, error);
    offers_find(table, columns, count, options);
    free(columns);
    PQclear(result);
    return status;
}

/* Chooses STEM_slice_idx or STEM_unsent_idx, or another name when that is taken. */
static int choose_index_name(struct table *table, struct session *session,
                             const struct outbox_options *options, struct error *error)
{
    bool by_slice = options->order == ORDER_KEY;
    char name[QUOTED_BYTES_MAX];
    char other[QUOTED_BYTES_MAX + 12];
    const char *params[3] = {table->schema, name, other};
    PGresult *result;

    (void)snprintf(name, sizeof name, "%s_%s_idx", table->stem, by_slice ? "slice" : "unsent");
    (void)snprintf(other, sizeof other, "%s_%d", name, by_slice ? options->slices : 2);
    result = session_query(session, sql_body(statement_index_name), 3, params, error);
    if (result == NULL)
        return -1;
    table_quote(session, PQgetvalue(result, 0, 0), table->claim_index_quoted);
    PQclear(result);
    return 0;
}

static int find_index(struct table *table, struct session *session,
                      const struct outbox_options *options, struct error *error)
{
    const char *params[5] = {table->schema, table->name, table->columns[COLUMN_ID].name,
                             table->columns[COLUMN_SENT_AT].name, outbox_on_sent(options)};
    PGresult *result = session_query(session, sql_body(statement_id_indexes), 5, params, error);
    int status = result != NULL ? 0 : -1;

    for (int row = 0; status == 0 && row < PQntuples(result) && !table->has_claim_index; row++) {
        table->has_claim_index = PQgetvalue(result, row, 0)[0] == 't';
        if (table->where != NULL)
            status = filter_is_predicate(table, session, PQgetvalue(result, row, 1),
                                         &table->has_claim_index, error);
    }
    PQclear(result);
    return status;
}

/*
 * A superuser may run `init` and `check`, and may look. PostgreSQL plans a query with the rights of
 * the role that sends it, and then evaluates what is constant in an index, its predicate or a
 * statistics object of the table: the table's owner can have any function of his run there. The
 * constraint of a domain runs when a column of that type is added, and a cast when a value is read
 * as text. So what can run is looked up before the first statement that touches the tables.
 */
static int check_borrowed(const struct table *table, struct session *session,
                          const struct outbox_options *options, struct error *error)
{
    PGresult *result;
    int status = 0;

    if (options->allow_superuser || server_check_role(session, false, error) == 0)
        return 0;
    if (error->kind != ERROR_PERMANENT)
        return -1;
    result = table_query_with(table, session, statement_borrowed_function, "borrowed", "", error);
    if (result == NULL)
        return -1;
    if (PQntuples(result) > 0) {
        status = error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                           "function %s of role \"%s\" would run with the rights of \"%s\", which"
                           " is a superuser, or may become one: an index, statistics or a type of"
                           " %s, or of the relay's tables beside it, uses the function",
                           PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1),
                           session_role(session), table->quoted);
        (void)error_hint(error,
                         "connect as the owner of %s, or as the relay's role; or trust \"%s\" with"
                         " allow_superuser = true in [database]",
                         table->quoted, PQgetvalue(result, 0, 1));
    }
    PQclear(result);
    return status;
}

/* PostgreSQL also runs what SQL of the configuration names while it parses and plans it: immutable
 * functions of constants, and the constraints of domains whose literals are in it. */
static int check_given(struct table *table, struct session *session,
                       const struct outbox_options *options, struct error *error)
{
    if (options->allow_superuser || !values_are_qualified(table) ||
        server_check_role(session, false, error) == 0)
        return 0;
    if (error->kind != ERROR_PERMANENT)
        return -1;
    (void)error_set(
        error, ERROR_PERMANENT, ERROR_DATABASE,
        "SQL in [outbox] names an object with its schema, and role \"%s\" is a superuser,"
        " or may become one: the object's owner would have its rights",
        session_role(session));
    return error_hint(error,
                      "connect as the owner of %s, or as the relay's role; or trust the owners of"
                      " such objects with allow_superuser = true in [database]",
                      table->quoted);
}

/* The shape differs after every change of the outbox or of the relay's own tables that a
 * description depends on (columns, defaults, indexes, triggers, rules, owner, rights, another table
 * of the name). VACUUM and ANALYZE do not change it. A session that has locked the outbox in this
 * transaction sees a shape that stays until the transaction ends. It is read before the tables are
 * described: a change during the description is then noticed at the next comparison. */
static int read_shape(struct table *table, struct session *session, struct error *error)
{
    PGresult *result = table_query(table, session, statement_shape, 0, NULL, error);

    if (result == NULL)
        return -1;
    (void)snprintf(table->shape, sizeof table->shape, "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return 0;
}

/* Other columns may stand in for them, so they are named only when the table does not fit. */
static void compare_preset(struct table *table, struct session *session,
                           const struct outbox_options *options)
{
    char known[sizeof table->all_columns + 4];
    char name[OUTBOX_NAME_BYTES];
    char quoted[QUOTED_BYTES_MAX];
    char wanted[QUOTED_BYTES_MAX + 4];
    const char *at = options->preset_columns;

    if (at == NULL || (table->sql_problem[0] == '\0' && table_has_needed(table, options)))
        return;
    (void)snprintf(known, sizeof known, ", %s, ", table->all_columns);
    while (*at != '\0') {
        size_t len = strcspn(at, ",");
        size_t used = strlen(table->preset_lacks);

        (void)snprintf(name, sizeof name, "%.*s", (int)len, at);
        table_quote(session, name, quoted);
        (void)snprintf(wanted, sizeof wanted, ", %s, ", quoted);
        if (strstr(known, wanted) == NULL)
            (void)snprintf(table->preset_lacks + used, sizeof table->preset_lacks - used, "%s%s",
                           used > 0 ? ", " : "", name);
        at += len + strspn(at + len, ", ");
    }
}

static int describe(struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error)
{
    struct error not_plain;

    if (find(table, session, options, error) < 0 ||
        check_borrowed(table, session, options, error) < 0)
        return -1;
    name_columns(table, session, options);
    table->is_partitioned = table->partitioned_by[0] != '\0' && !table->is_computed &&
                            options->on_sent == ON_SENT_POSITION &&
                            strcmp(table->partitioned_by, table->columns[COLUMN_ID].name) == 0;
    if (check_given(table, session, options, error) < 0)
        return -1;
    if (!table->exists)
        return 0;
    if (read_shape(table, session, error) < 0)
        return -1;
    if (find_columns(table, session, options, error) < 0)
        return -1;
    if (table_plain(table, &not_plain) <
        0) /* planning a query on a view may run its owner's functions */
        return 0;
    if (values_check_where(table, session, error) < 0)
        return -1;
    if (table->where != NULL && table->sql_problem[0] == '\0' &&
        filter_check(table, session, error) < 0)
        return -1;
    if (values_describe(table, session, error) < 0)
        return -1;
    compare_preset(table, session, options);
    if ((options->order == ORDER_KEY ? slices_describe(table, session, options, error)
                                     : find_index(table, session, options, error)) < 0)
        return -1;
    return !table->has_claim_index && (options->order == ORDER_KEY || table->where != NULL)
               ? choose_index_name(table, session, options, error)
               : 0;
}

/* What could not be looked at to the end counts as not there: its columns would seem to be
 * missing. */
int describe_table(struct table *table, struct session *session,
                   const struct outbox_options *options, struct error *error)
{
    char schema[sizeof table->schema];

    memcpy(schema, table->schema, sizeof schema);
    *table = (struct table){0};
    memcpy(table->schema, schema, sizeof schema);
    table->where = options->where;
    table->mark = options->mark;
    table->park = options->park;
    table->numbered = outbox_is_numbered(options);
    if (describe(table, session, options, error) == 0)
        return 0;
    table->exists = false;
    return -1;
}

int describe_check_outbox(const struct table *table, const struct outbox_options *options,
                          struct error *error)
{
    if (!table->exists)
        return table_refuse_missing(table, error);
    if (table_plain(table, error) < 0 || table_fits_preset(table, options, error) < 0)
        return -1;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!table_needs(options, (enum column)i) || table_has(table, (enum column)i) ||
            table->columns[i].expression != NULL)
            continue;
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "table %s has no column \"%s\" (%s)", table->quoted, table->columns[i].name,
                        table_key(table, (enum column)i));
        columns_put_remedy(table, (enum column)i, error->hint, sizeof error->hint);
        return error_mark_schema(error);
    }
    if (table->sql_problem[0] != '\0')
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "%s", table->sql_problem);
    return 0;
}

/* As after a switch to another column, whose SQL was run in part. Ids that cannot have an order are
 * refused for that (slice_table.c). */
static int check_parked_ids(const struct table *table, const struct outbox_options *options,
                            struct error *error)
{
    const char *type = table_has(table, COLUMN_ID) ? table->columns[COLUMN_ID].base : "";

    if ((options->order == ORDER_KEY && !table_has_integer_ids(table)) || type[0] == '\0' ||
        table->parked_id_type[0] == '\0' || strcmp(type, table->parked_id_type) == 0)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "column id of %s has type %s, not %s: rows may not be parked",
                    table->parked_quoted, table->parked_id_type, type);
    (void)error_hint(error, "outbox-relay init");
    return error_mark_schema(error);
}

int describe_check_whole(const struct table *table, const struct outbox_options *options,
                         struct error *error)
{
    if (describe_check_outbox(table, options, error) < 0)
        return -1;
    if (table->parked_exists && table->control_exists && table->parked_lacks[0] == '\0')
        return check_parked_ids(table, options, error);
    if (table->parked_exists && table->control_exists)
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "table %s is that of an older outbox-relay: it lacks %s",
                        table->parked_quoted, table->parked_lacks);
    else
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "table %s does not exist",
                        table->parked_exists ? table->control_quoted : table->parked_quoted);
    (void)error_hint(error, "outbox-relay init");
    return error_mark_schema(error);
}

int describe_check_usable(const struct table *table, struct session *session,
                          const struct outbox_options *options, struct error *error)
{
    struct findings findings;
    int status;

    if (describe_check_whole(table, options, error) < 0)
        return -1;
    if (findings_init(&findings) < 0)
        return error_no_memory(error);
    columns_inspect(table, options, &findings);
    values_inspect_headers(table, &findings);
    if (options->order == ORDER_KEY)
        slices_inspect(table, options, &findings);
    status = inspect_reasons(table, session, options, &findings, error);
    if (status == 0)
        status = parked_inspect(table, session, &findings, error);
    return findings_end(&findings, error) < 0 ? -1 : status;
}

int describe_check_unchanged(const struct table *table, const struct table *before,
                             struct error *error)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!table_has(before, (enum column)i) || table_has(table, (enum column)i))
            continue;
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "table %s has lost its column \"%s\" (%s)", table->quoted,
                        table->columns[i].name, table_key(table, (enum column)i));
        return error_mark_schema(error);
    }
    return 0;
}
