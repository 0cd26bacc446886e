#include "outbox/slices/statements.h"

#include <stdlib.h>
#include <string.h>

static const struct slice_words *words_of(const struct sql_call *call)
{
    return call->about;
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

/* When no sink is away, no route is evaluated. */
static int put_sink_is_here(FILE *out, const struct sql_call *call)
{
    const struct slice_words *words = words_of(call);
    const char *away = call->argument;
    bool parked = strncmp(call->word, "parked", 6) == 0;
    int status;

    (void)fprintf(out, "(%s::int8 = 0 OR coalesce(%s::int8 >> (", away, away);
    status = put_sink(out, words->routes,
                      parked ? "topic" : column_sql(&words->tables.table->columns[COLUMN_TOPIC]));
    (void)fprintf(out, "), 0) & 1 = 0)");
    return status;
}

/* nextval() stores a value that is too high in the sequence's page for a moment. A SELECT from the
 * sequence may see it; pg_sequence_last_value() locks the page first, and does not. It returns NULL
 * when no value was drawn since the sequence was created or reset. */
static int put_drawn(FILE *out, const struct sql_call *call)
{
    const struct sequence *sequence = words_of(call)->sequence;

    if (sequence == NULL || !sequence->readable)
        (void)fprintf(out, "%s", call->argument);
    else
        (void)fprintf(out, "coalesce(pg_sequence_last_value(%u), '-9223372036854775808'::int8)",
                      sequence->oid);
    return 0;
}

static int put_window(FILE *out, const struct sql_call *call)
{
    (void)call;
    return fprintf(out, "%d", AWAY_WINDOW_ROWS) < 0 ? -1 : 0;
}

static const struct sql_word words[] = {
    {"sink_is_here", .put = put_sink_is_here},
    {"parked_sink_is_here", .put = put_sink_is_here},
    {"are_running", .text = statement_are_running},
    {"drawn", .put = put_drawn},
    {"keep_position", .text = statement_keep_position},
    {"window", .put = put_window},
    {.name = NULL},
};

struct sql_words slice_words(const struct slice_words *about, struct sql_words *tables)
{
    *tables = table_words(&about->tables);
    return (struct sql_words){.list = words, .about = about, .more = tables};
}

char *slice_statement(const char *statement, const struct slice_words *about)
{
    struct sql_words tables;
    struct sql_words list = slice_words(about, &tables);

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
        [HORIZON_SCAN] = options->order == ORDER_KEY ? statement_scan_slices : statement_scan_table,
    };

    return texts[statement];
}
