/*
 * The slice table and the claim index of order = "key", as the catalog shows them.
 *
 * The index must be on exactly the expression of sql_put_slice(), followed by the id. Without it
 * each claim would read the whole table, so the relay does not start. Index expressions are
 * compared as text (sql_expression_equal). A suitable index with another spelling is not
 * recognised, but an unsuitable one is never accepted.
 */
#include "catalog/slice_table.h"

#include "catalog/filter.h"
#include "catalog/schema.h"
#include "catalog/sql_text.h"
#include "catalog/facts.h"
#include "sql/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The columns of slice_indexes. */
enum { INDEX_NAME, INDEX_EXPRESSION, INDEX_SERVES, INDEX_HAS_NAME, INDEX_PREDICATE };

static void name_index(const struct table *table, int slices, char *out, size_t size)
{
    (void)snprintf(out, size, "%s_slice_idx_%d", table->stem, slices);
}

static int count_slices(struct table *table, struct session *session, struct error *error)
{
    PGresult *result = table_query(table, session, statement_count_slices, 0, NULL, error);

    if (result == NULL)
        return -1;
    table->slices = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return 0;
}

/* The relay's own tables beside the outbox. */
static int find_tables(struct table *table, struct session *session,
                       const struct outbox_options *options, struct error *error)
{
    enum { SLICES, PROGRESS };
    enum { EXISTS, READABLE, FITS };
    PGresult *result = table_query(table, session, statement_own_tables, 0, NULL, error);
    const char *others = NULL;

    if (result == NULL)
        return -1;
    table->slice_exists = PQgetvalue(result, SLICES, EXISTS)[0] == 't';
    table->slice_readable = PQgetvalue(result, SLICES, READABLE)[0] == 't';
    table->progress_exists =
        options->on_sent == ON_SENT_POSITION && PQgetvalue(result, PROGRESS, EXISTS)[0] == 't';
    if (table->slice_exists && PQgetvalue(result, SLICES, FITS)[0] != 't')
        others = table->slice_quoted;
    else if (table->progress_exists && PQgetvalue(result, PROGRESS, FITS)[0] != 't')
        others = table->progress_quoted;
    PQclear(result);
    if (others != NULL)
        return table_refuse_other(others, error);
    return table->slice_readable ? count_slices(table, session, error) : 0;
}

static PGresult *find_indexes(const struct table *table, struct session *session,
                              const struct outbox_options *options, struct error *error)
{
    char numbered[QUOTED_BYTES_MAX];
    const char *params[5] = {table->columns[COLUMN_ID].name, table->columns[COLUMN_SENT_AT].name,
                             numbered, outbox_on_sent(options),
                             table->where != NULL ? "where" : ""};

    name_index(table, options->slices, numbered, sizeof numbered);
    return table_query(table, session, statement_slice_indexes, 5, params, error);
}

/* The expression for a row's slice, given the number of slices. NULL: no memory. free() it. */
static char *expression(const struct table *table, int slices)
{
    struct writer writer;

    if (!writer_begin(&writer))
        return NULL;
    sql_put_slice(writer.out, table, slices, false);
    return writer_end(&writer);
}

/* *is: whether an index is on the expression of a row's slice. */
static int is_expression(const char *shown, const struct table *table, struct session *session,
                         const char *wanted, bool *is, struct error *error)
{
    if (table->columns[COLUMN_KEY].expression != NULL)
        return filter_is_same(table, session, shown, wanted, is, error);
    *is = sql_expression_equal(shown, wanted);
    return 0;
}

/* Whether claims can use the index: 1, 0, or -1 when the database could not be asked. */
static int serves(const struct table *table, struct session *session, const PGresult *result,
                  int row, const char *wanted, struct error *error)
{
    const char *shown = PQgetvalue(result, row, INDEX_EXPRESSION);
    bool is = PQgetvalue(result, row, INDEX_SERVES)[0] == 't';

    if (is && is_expression(shown, table, session, wanted, &is, error) < 0)
        return -1;

    if (is && table->where != NULL &&
        filter_is_predicate(table, session, PQgetvalue(result, row, INDEX_PREDICATE), &is, error) <
            0)
        return -1;
    return is;
}

static int find_index(struct table *table, struct session *session,
                      const struct outbox_options *options, struct error *error)
{
    char *wanted = expression(table, options->slices);
    PGresult *result;
    int found = 0;

    if (wanted == NULL)
        return error_no_memory(error);
    result = find_indexes(table, session, options, error);
    for (int row = 0; result != NULL && row < PQntuples(result) && found == 0; row++)
        found = serves(table, session, result, row, wanted, error);
    free(wanted);
    if (result == NULL)
        return -1;
    PQclear(result);
    table->has_claim_index = found > 0;
    return found < 0 ? -1 : 0;
}

int slices_describe(struct table *table, struct session *session,
                    const struct outbox_options *options, struct error *error)
{
    return find_tables(table, session, options, error) < 0
               ? -1
               : find_index(table, session, options, error);
}

/* *is: the same for any number of slices. */
static int is_over_slices(const char *shown, const struct table *table, struct session *session,
                          bool *is, struct error *error)
{
    const char *number = strrchr(shown, '%');
    char *wanted;
    int status;

    *is = false;
    if (number == NULL)
        return 0;
    wanted = expression(table, (int)strtol(number + 1, NULL, 10));
    status = wanted != NULL ? is_expression(shown, table, session, wanted, is, error)
                            : error_no_memory(error);
    free(wanted);
    return status;
}

int slices_put_drops(FILE *out, enum slices_drop which, const struct table *table,
                     struct session *session, const struct outbox_options *options,
                     struct error *error)
{
    PGresult *result;
    char *wanted;
    int rows;
    int status;

    /* With a refused condition or a missing column it is unknown which index claims would use. */
    if (table->sql_problem[0] != '\0' || !table_has_needed(table, options))
        return 0;
    result = find_indexes(table, session, options, error);
    wanted = expression(table, options->slices);
    rows = wanted != NULL ? PQntuples(result) : 0;
    status = wanted != NULL ? 0 : error_no_memory(error);
    if (result == NULL)
        status = -1;
    for (int row = 0; row < rows && status == 0; row++) {
        bool in_the_way = PQgetvalue(result, row, INDEX_HAS_NAME)[0] == 't';
        int is_used = serves(table, session, result, row, wanted, error);
        bool is = false;

        if (is_used < 0 || is_over_slices(PQgetvalue(result, row, INDEX_EXPRESSION), table, session,
                                          &is, error) < 0)
            status = -1;
        else if (is_used == 0 && is && in_the_way == (which == SLICES_IN_THE_WAY))
            (void)fprintf(out, "DROP INDEX %s%s;\n", /* of a partitioned table both wait */
                          table->is_partitioned ? "" : "CONCURRENTLY ",
                          PQgetvalue(result, row, INDEX_NAME));
    }
    PQclear(result);
    free(wanted);
    return status;
}

/* Within a slice rows are claimed by id, so ids must ascend in the order of insertion. */
int slices_check_columns(const struct table *table, struct error *error)
{
    const struct table_column *id = &table->columns[COLUMN_ID];
    const struct table_column *key = &table->columns[COLUMN_KEY];
    bool grows = table_has_integer_ids(table);
    bool is_number = strcmp(id->type, "bigint") == 0;

    if (!table_has(table, COLUMN_ID))
        return 0;
    if (table->numbered && !is_number) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "column %s (order) of %s has type %s; the number of a row must be bigint",
                        id->quoted, table->quoted, id->type);
        return error_hint(error, "name a column that is not there yet as order in"
                                 " [outbox.columns]: outbox-relay init --order-trigger adds it");
    }
    if (!grows)
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "order = \"key\" needs ids that ascend in the order of insertion (bigint,"
                        " integer, smallint); column %s of %s is %s",
                        id->quoted, table->quoted, id->type);
    else if (table_has(table, COLUMN_KEY) && !key->immutable)
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "order = \"key\" needs a key whose text is always the same; the text of"
                        " column %s of %s, type %s, depends on settings",
                        key->quoted, table->quoted, key->type);
    else
        return 0;
    if (!grows && id->offer[0] != '\0')
        return error_hint(error,
                          "write id = \"%s\" in [outbox.columns], or order = \"none\" in [outbox]",
                          id->offer);
    return error_hint(error, "write order = \"none\" in [outbox]%s",
                      grows ? ", or give the column another type, such as text or bytea"
                            : "; for order, write order = \"relay_order\" in [outbox.columns]:"
                              " outbox-relay init --order-trigger adds that column");
}

int slices_check_table(const struct table *table, struct error *error)
{
    if (table->slice_readable)
        return 0;
    if (table->slice_exists) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "permission denied for table %s",
                        table->slice_quoted);
        return error_hint(error, "outbox-relay init --grant ROLE prints what the role needs");
    }
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s does not exist; order = \"key\" needs it", table->slice_quoted);
    (void)error_hint(error, "outbox-relay init");
    return error_mark_schema(error);
}

/* The table of positions, and the outbox for them. */
static int slices_check_progress(const struct table *table, const struct outbox_options *options,
                                 struct error *error)
{
    if (options->on_sent != ON_SENT_POSITION)
        return 0;
    if (!table->is_own) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "on_sent = \"position\" is for tables that init has created: an application"
                        " may change or delete rows of %s that are not sent yet",
                        table->quoted);
        return error_hint(error, "write on_sent = \"mark\" or \"delete\" in [outbox]");
    }
    if (table->progress_exists)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s does not exist; on_sent = \"position\" needs it",
                    table->progress_quoted);
    (void)error_hint(error, "outbox-relay init");
    return error_mark_schema(error);
}

int slices_check_number(const struct table *table, const struct outbox_options *options,
                        struct error *error)
{
    if (!table->slice_readable || table->slices == options->slices)
        return 0;
    if (table->slices == 0) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "table %s does not have the rows of %d slice%s", table->slice_quoted,
                        options->slices, PLURAL(options->slices));
        (void)error_hint(error, "run the SQL that outbox-relay init prints");
        return error_mark_schema(error);
    }
    (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                    "table %s has %d slice%s, the configuration says %d", table->slice_quoted,
                    table->slices, PLURAL(table->slices), options->slices);
    (void)error_hint(error,
                     "set [outbox] slices = %d, or run the SQL that outbox-relay init prints",
                     table->slices);
    return error_mark_schema(error);
}

void slices_inspect(const struct table *table, const struct outbox_options *options,
                    struct findings *findings)
{
    struct error problem;

    if (slices_check_columns(table, &problem) < 0)
        findings_add_error(findings, &problem);
    if (slices_check_table(table, &problem) < 0)
        findings_add_error(findings, &problem);
    if (slices_check_number(table, options, &problem) < 0)
        findings_add_error(findings, &problem);
    if (slices_check_progress(table, options, &problem) < 0)
        findings_add_error(findings, &problem);
}

bool slices_fit(const struct table *table, const struct outbox_options *options)
{
    struct error ignored;

    return options->order == ORDER_KEY &&
           (table->has_claim_index || !table_has_needed(table, options)) &&
           slices_check_columns(table, &ignored) == 0 && slices_check_table(table, &ignored) == 0 &&
           slices_check_number(table, options, &ignored) == 0;
}
