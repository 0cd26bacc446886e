#include "admin/words.h"

#include "message/batch.h"

#include "catalog/refused.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <string.h>

static const struct table *table_of(const void *about)
{
    return ((const struct admin_words *)about)->tables.table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct admin_words *)about)->tables.options;
}

static bool knows_unsent(const void *about)
{
    return ((const struct admin_words *)about)->unsent_from != INT64_MIN;
}

bool has_sequential_ids(const struct table *table)
{
    return table_has_integer_ids(table) ||
           strncmp(table->columns[COLUMN_ID].type, "numeric", strlen("numeric")) == 0;
}

bool oldest_can_be_found(const struct table_words *tables)
{
    return tables->options->order != ORDER_KEY || tables->table->has_claim_index;
}

static int put_number(FILE *out, const struct sql_call *call)
{
    static const struct {
        const char *word;
        int number;
    } numbers[] = {
        {"purge_rows", PURGE_ROWS},
        {"unsent_max", UNSENT_COUNT_MAX},
        {"without_id_max", WITHOUT_ID_COUNT_MAX},
        {"notes_max", REFUSED_MAX},
        {"audit_rows", AUDIT_PAGE_ROWS},
        {"known_rows", AUDIT_KNOWN_ROWS},
    };
    size_t at = 0;

    while (strcmp(numbers[at].word, call->word) != 0)
        at++;
    return fprintf(out, "%d", numbers[at].number) < 0 ? -1 : 0;
}

static int put_unsent_from(FILE *out, const struct sql_call *call)
{
    const struct admin_words *words = call->about;

    return fprintf(out, "%" PRId64 "::int8", words->unsent_from) < 0 ? -1 : 0;
}

static const char *choose_oldest(const void *about)
{
    return options_of(about)->order == ORDER_KEY ? statement_oldest_rows_of_slices
                                                 : statement_oldest_rows;
}

static const char *choose_is_from_slice(const void *about)
{
    return knows_unsent(about) ? "({slice_of_row}, {id}) >= (relay_slice, {unsent_from})"
                               : "{slice_of_row} >= relay_slice";
}

static const char *choose_is_not_below_unsent(const void *about)
{
    return options_of(about)->order != ORDER_KEY && knows_unsent(about) ? "{id} >= {unsent_from}"
                                                                        : "true";
}

/* From the lowest id on, one short scan of the index for each slice is cheaper than a scan of all
 * of it. */
static const char *choose_unsent_rows(const void *about)
{
    return options_of(about)->order == ORDER_KEY && knows_unsent(about) &&
                   oldest_can_be_found(&((const struct admin_words *)about)->tables)
               ? "{oldest}"
               : statement_unsent_rows;
}

static const char *choose_is_marking(const void *about)
{
    return options_of(about)->on_sent == ON_SENT_MARK ? "true" : "false";
}

static const char *choose_settled_tuples(const void *about)
{
    return options_of(about)->on_sent == ON_SENT_MARK ? "n_tup_upd" : "n_tup_del";
}

/* Without an index to find it the highest id is not looked for. */
static const char *choose_highest_id(const void *about)
{
    return table_of(about)->columns[COLUMN_ID].unique ? "(SELECT max({id}) FROM {outbox})"
                                                      : "NULL::int8";
}

static int put_emitted_columns(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (table_has(table, (enum column)i))
            (void)fprintf(out, "%s%s", i > COLUMN_TOPIC ? ", " : "", table->columns[i].quoted);
    return 0;
}

/* Makes the column's value from a field of `line`. Text needs no cast, and an explicit one would
 * truncate a value that is too long for a varchar. A JSON null means no payload. */
static void put_value(FILE *out, enum column column, const struct table_column *described)
{
    const char *name = column_name(column);
    const char *type = described->type;
    const char *base = described->base;

    if (strncmp(base, "json", 4) == 0)
        (void)fprintf(out, "nullif(line -> '%s', 'null')::%s", name, type);
    else if (strcmp(base, "bytea") == 0)
        (void)fprintf(out, "convert_to(line ->> '%s', 'UTF8')", name);
    else if (strncmp(base, "text", 4) == 0 || strncmp(base, "character", 9) == 0)
        (void)fprintf(out, "line ->> '%s'", name);
    else
        (void)fprintf(out, "(line ->> '%s')::%s", name, type);
}

static int put_emitted_values(FILE *out, const struct sql_call *call)
{
    const struct table *table = table_of(call->about);

    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (table_has(table, (enum column)i)) {
            (void)fputs(i > COLUMN_TOPIC ? ", " : "", out);
            put_value(out, (enum column)i, &table->columns[i]);
        }
    return 0;
}

static const struct sql_word words[] = {
    {"purge_rows", .put = put_number},
    {"unsent_max", .put = put_number},
    {"without_id_max", .put = put_number},
    {"notes_max", .put = put_number},
    {"audit_rows", .put = put_number},
    {"known_rows", .put = put_number},
    {"cutoff", .text = "clock_timestamp() - $1::int8 * interval '1 millisecond'"},
    {"unsent_from", .put = put_unsent_from},
    /* Of a row that an earlier version has parked the words stand behind "database: ". */
    {"error_without_values",
     .text = "split_part(split_part(error, '" BATCH_WORDS "', 1), ': database: ', 1)"},
    {"oldest", .choose = choose_oldest},
    {"is_from_slice", .choose = choose_is_from_slice},
    {"is_not_below_unsent", .choose = choose_is_not_below_unsent},
    {"unsent_rows", .choose = choose_unsent_rows},
    {"is_marking", .choose = choose_is_marking},
    {"settled_tuples", .choose = choose_settled_tuples},
    {"highest_id", .choose = choose_highest_id},
    {"emitted_columns", .put = put_emitted_columns},
    {"emitted_values", .put = put_emitted_values},
    {.name = NULL},
};

struct sql_words admin_words(const struct admin_words *about, struct sql_words *tables)
{
    *tables = table_words(&about->tables);
    return (struct sql_words){.list = words, .about = about, .more = tables};
}
