#include "outbox/slices/statements.h"

#include <stdlib.h>

static const struct slice_facts *facts_of(const void *about)
{
    return about;
}

/* Appends a text with a character for each of its bytes, as regexec() takes it. */
static void put_bytes(FILE *out, void (*put)(FILE *out, const char *text), const char *text)
{
    (void)fprintf(out, "CASE getdatabaseencoding() WHEN 'UTF8' THEN convert_from(convert_to(");
    put(out, text);
    (void)fprintf(out, ", 'UTF8'), 'LATIN1') ELSE ");
    put(out, text);
    (void)fprintf(out, " END");
}

static void put_as_text(FILE *out, const char *column)
{
    (void)fprintf(out, "%s::text", column);
}

/* An expression for the number of the sink that a row is routed to. It is NULL when no route
 * matches, and when PostgreSQL might not judge as match_topic() does, which then decides: the topic
 * is cut when it is claimed, its bytes in UTF-8 are not those in the database, or it has a line
 * break, at which glibc's anchors match. Bytes are compared, whatever the collation of the column.
 */
static int put_sink(FILE *out, const struct routes *routes, const char *topic)
{
    if (routes == NULL || routes->count == 0) {
        (void)fprintf(out, "0");
        return 0;
    }
    (void)fprintf(out,
                  "CASE WHEN octet_length(%s::text) > %d OR %s::text COLLATE pg_catalog.\"C\" ~"
                  " CASE WHEN getdatabaseencoding() IN ('UTF8', 'SQL_ASCII') THEN E'\\n'"
                  " ELSE E'[^\\\\x01-\\\\x7f]|\\n' END THEN NULL",
                  topic, MATCH_BYTES_MAX, topic);
    for (int i = 0; i < routes->count; i++) {
        char *regex = match_sql_regex(&routes->entries[i].match);

        if (regex == NULL)
            return -1;
        (void)fprintf(out, " WHEN (");
        put_bytes(out, put_as_text, topic);
        (void)fprintf(out, ") COLLATE pg_catalog.\"C\" ~ (");
        put_bytes(out, sql_put_literal, regex);
        (void)fprintf(out, ") THEN %d", routes->entries[i].sink);
        free(regex);
    }
    (void)fprintf(out, " END");
    return 0;
}

/* {sink}: of a row of the outbox. */
static int put_sink_of_row(FILE *out, const void *about)
{
    const struct table *table = facts_of(about)->tables.table;

    return put_sink(out, facts_of(about)->routes, column_sql(&table->columns[COLUMN_TOPIC]));
}

static int put_sink_of_parked(FILE *out, const void *about)
{
    return put_sink(out, facts_of(about)->routes, "topic");
}

/* {sequence}: its oid, if this role may read it. nextval() stores a value that is too high in the
 * sequence's page for a moment. A SELECT from the sequence may see it; pg_sequence_last_value()
 * locks the page first, and does not. It returns NULL when no value was drawn since the sequence
 * was created or reset. */
static int put_sequence(FILE *out, const void *about)
{
    return fprintf(out, "%u", facts_of(about)->sequence->oid) < 0 ? -1 : 0;
}

static int is_so(const void *about, const char *name)
{
    const struct sequence *sequence = facts_of(about)->sequence;
    const struct sql_truth all[] = {{"sequence", sequence != NULL && sequence->readable}};

    return sql_truth(all, 1, name);
}

static const struct sql_fact facts[] = {
    {"sink", .put = put_sink_of_row},
    {"sink_of_parked", .put = put_sink_of_parked},
    {"sequence", .put = put_sequence},
    {"window", .text = FACT_NUMBER(AWAY_WINDOW_ROWS)},
    {.name = NULL},
};

struct sql_facts slice_facts(const struct slice_facts *about, struct sql_facts *tables)
{
    *tables = table_facts(&about->tables);
    return (struct sql_facts){.list = facts, .is = is_so, .about = about, .more = tables};
}

char *slice_statement(const char *statement, const struct slice_facts *about)
{
    struct sql_facts tables;
    struct sql_facts list = slice_facts(about, &tables);

    return sql_render(statement, &list);
}

const char *horizon_statement_name(enum horizon_statement statement)
{
    static const char *const names[] = {
        [HORIZON_SHAPE] = "horizon_shape",
        [HORIZON_DRAWN] = "horizon_drawn",
        [HORIZON_HOLDERS] = "horizon_holders",
        [HORIZON_SCAN] = "horizon_scan",
    };

    return names[statement];
}

const char *horizon_statement_text(enum horizon_statement statement,
                                   const struct outbox_options *options)
{
    const char *const texts[] = {
        [HORIZON_SHAPE] = statement_locked_shape,
        [HORIZON_DRAWN] = statement_highest_drawn,
        [HORIZON_HOLDERS] = statement_holders,
        [HORIZON_SCAN] = options->order == ORDER_KEY ? statement_scan : statement_scan_table,
    };

    return texts[statement];
}
