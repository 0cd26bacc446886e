#include "admin/facts.h"

#include "admin/admin.h"
#include "catalog/order_trigger.h"
#include "catalog/schema.h"
#include "message/batch.h"

#include <inttypes.h>
#include <string.h>

static const struct table *table_of(const void *about)
{
    return ((const struct admin_facts *)about)->tables.table;
}

static const struct outbox_options *options_of(const void *about)
{
    return ((const struct admin_facts *)about)->tables.options;
}

static bool knows_unsent(const void *about)
{
    return ((const struct admin_facts *)about)->unsent_from != INT64_MIN;
}

/* Ids that grow: a purge reads only the rows with the lowest ones. */
static bool has_sequential_ids(const struct table *table)
{
    return (table_has_integer_ids(table) && !table->numbered) ||
           strncmp(table->columns[COLUMN_ID].type, "numeric", strlen("numeric")) == 0;
}

/* With order = "key" the oldest rows are found by the slices' index or not at all. */
static bool oldest_can_be_found(const struct table_facts *tables)
{
    return tables->options->order != ORDER_KEY || tables->table->has_claim_index;
}

static int put_unsent_from(FILE *out, const void *about)
{
    const struct admin_facts *facts = about;

    return fprintf(out, "%" PRId64 "::int8", facts->unsent_from) < 0 ? -1 : 0;
}

static int put_emitted_columns(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

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

static int put_emitted_values(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (table_has(table, (enum column)i)) {
            (void)fputs(i > COLUMN_TOPIC ? ", " : "", out);
            put_value(out, (enum column)i, &table->columns[i]);
        }
    return 0;
}

/* What is meant, and the column that is named like it, or that may be meant. */
static int put_likely_columns(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    for (int i = COLUMN_ID; i <= COLUMN_SENT_AT; i++) {
        const struct table_column *column = &table->columns[i];
        bool is_there = table_has(table, (enum column)i) && column->offer[0] == '\0';

        (void)fprintf(out, "%s('%s', ", i > COLUMN_ID ? ", " : "", column_name((enum column)i));
        sql_put_literal(out, is_there ? column->name : column->offer);
        (void)fputc(')', out);
    }
    return 0;
}

/* {partition}, {partition_text}, and {purged_table}: that or the whole outbox. */
static int put_partition(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct admin_facts *facts = about;
    const char *quoted = facts->partition != NULL ? facts->partition : table_of(about)->quoted;

    if (facts->partition == NULL && strcmp(fact->name, "purged_table") != 0)
        quoted = "partition"; /* as outbox-relay sql shows it */
    if (strcmp(fact->name, "partition_text") == 0)
        sql_put_literal(out, quoted);
    else
        (void)fputs(quoted, out);
    return 0;
}

/* {row_of_purge}: by what a row is found again. */
static int put_row_of_purge(FILE *out, const void *about)
{
    const struct table *table = table_of(about);

    return fputs(table->is_partitioned ? table->columns[COLUMN_ID].quoted : "ctid", out) < 0 ? -1
                                                                                             : 0;
}

static int is_so(const void *about, const char *name)
{
    const struct admin_facts *facts = about;
    const struct table *table = table_of(about);
    bool by_slice = options_of(about)->order == ORDER_KEY;
    bool finds_oldest = oldest_can_be_found(&facts->tables);
    const struct sql_truth all[] = {
        {"unsent_from", knows_unsent(about)},
        {"seeks_from", !by_slice && knows_unsent(about)},
        /* From the lowest id on, one short scan of the index for each slice is cheaper than a scan
         * of all of it. */
        {"seeks_slices", by_slice && knows_unsent(about) && finds_oldest},
        {"sequential_ids", has_sequential_ids(table)},
        {"aged", table_has(table, COLUMN_CREATED_AT) && finds_oldest},
        {"estimable", table_has_integer_ids(table) && table->has_claim_index},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

static const struct sql_fact facts[] = {
    {"partition", .put_named = put_partition},
    {"partition_text", .put_named = put_partition},
    {"purged_table", .put_named = put_partition},
    {"row_of_purge", .put = put_row_of_purge},
    {"drop_ms", .text = FACT_NUMBER(PARTITION_DROP_MS)},
    {"attach_ms", .text = FACT_NUMBER(PARTITION_ATTACH_MS)},
    {"partitions_ahead", .text = FACT_NUMBER(PARTITIONS_AHEAD)},
    {"purge_rows", .text = FACT_NUMBER(PURGE_ROWS)},
    {"sent_within_s", .text = FACT_NUMBER(SENT_WITHIN_S)},
    {"unsent_max", .text = FACT_NUMBER(UNSENT_COUNT_MAX)},
    {"looked_rows", .text = FACT_NUMBER(REPLAY_LOOKED_ROWS)},
    {"audit_rows", .text = FACT_NUMBER(AUDIT_PAGE_ROWS)},
    {"known_rows", .text = FACT_NUMBER(AUDIT_KNOWN_ROWS)},
    {"unsent_from", .put = put_unsent_from},
    {"words_of_database", .text = BATCH_WORDS},
    {"count_max", .text = "($1::jsonb ->> '_count_max')::int8"},
    {"time_format", .text = "'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'"},
    {"count_format", .text = "'FM999,999,999,999,999,990'"},
    {"emitted_columns", .put = put_emitted_columns},
    {"emitted_values", .put = put_emitted_values},
    {"likely_columns", .put = put_likely_columns},
    {.name = NULL},
};

struct sql_facts admin_facts(const struct admin_facts *about, struct sql_facts more[2])
{
    more[0] = table_facts(&about->tables);
    more[1] = order_trigger_facts(&about->tables);
    more[0].more = &more[1];
    return (struct sql_facts){.list = facts, .is = is_so, .about = about, .more = &more[0]};
}
