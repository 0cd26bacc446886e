/*
 * What `init --feed` prints: triggers that write the rows of another table, of whatever shape, into
 * the outbox, and that mark those rows once their events are sent. Nothing is executed.
 *
 * The other table is described as an outbox is, so that what its columns mean is found in the same
 * way as for a mapping. What is not found has a value that works and a comment.
 */
#include "admin/admin_session.h"

#include "base/text.h"
#include "catalog/columns.h"
#include "catalog/describe.h"
#include "catalog/schema.h"
#include "catalog/sequence.h"
#include "catalog/sql_text.h"
#include "catalog/facts.h"
#include "sql/sql.h"
#include "sql/statements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_QUOTES "$feed$" /* around the body of a function */
#define MARKS_MAX 2          /* beside sent_at */

struct feed {
    const struct outbox_options *options;
    struct table outbox; /* as it is, or as init will create it */
    struct table source;
    char function[2 * QUOTED_BYTES_MAX]; /* of the rows that are inserted */
    char mark[2 * QUOTED_BYTES_MAX];     /* of those that are sent */
    char trigger[QUOTED_BYTES_MAX];
    char mark_trigger[QUOTED_BYTES_MAX];
    char marks[512]; /* the SET list; "": nothing says in the table that a row was sent */
    char marked[256];
    char unsent[512];
    char draws[2 * QUOTED_BYTES_MAX]; /* the sequence that whoever inserts must be allowed to use */
    uint64_t space;                   /* of the event_ids that are made of the table's integers */
};

/* ---- what the table's columns mean ---- */

/* The column of the source with this meaning; NULL: it has none. */
static const struct table_column *source_column(const struct feed *feed, enum column column)
{
    const struct table_column *found = &feed->source.columns[column];
    const struct outbox_options any = {.order = ORDER_NONE, .on_sent = ON_SENT_MARK};

    return table_has(&feed->source, column) && column_wanted(column, found, &any) == NULL ? found
                                                                                          : NULL;
}

/* The column whose UUID is the event's id too. */
static const struct table_column *source_uuid(const struct feed *feed)
{
    static const enum column ids[] = {COLUMN_EVENT_ID, COLUMN_ID};

    for (size_t i = 0; i < 2; i++) {
        const struct table_column *found = source_column(feed, ids[i]);

        if (found != NULL && strcmp(found->base, "uuid") == 0)
            return found;
    }
    return NULL;
}

/* The id of which the event's is made where there is no UUID. */
static const struct table_column *source_integer(const struct feed *feed)
{
    const struct table_column *id = source_column(feed, COLUMN_ID);

    return source_uuid(feed) == NULL && id != NULL && column_is_integer(id) ? id : NULL;
}

/* ---- facts ---- */

static const struct feed *feed_of(const void *about)
{
    return about;
}

static bool is_json(const char *type)
{
    return strncmp(type, "json", strlen("json")) == 0;
}

/* A value of one type as one of another: bytes are text in UTF-8. */
static void put_converted(FILE *out, const char *value, const char *from, const char *to)
{
    bool is_bytes = strcmp(from, "bytea") == 0;

    if (strcmp(from, to) == 0)
        (void)fputs(value, out);
    else if (strcmp(to, "bytea") == 0)
        (void)fprintf(out, "pg_catalog.convert_to(%s::pg_catalog.text, 'UTF8')", value);
    else
        (void)fprintf(out, "%s%s%s::%s%s", is_bytes ? "pg_catalog.convert_from(" : "", value,
                      is_bytes ? ", 'UTF8')" : "", sql_type_schema(to), to);
}

/* The column is filled: with one of the source, with what stands for it, or with the default. */
static bool is_filled(const struct feed *feed, enum column column)
{
    const struct table_column *found = source_column(feed, column);

    if (!table_has(&feed->outbox, column) || column == COLUMN_ID || column == COLUMN_SENT_AT)
        return false;
    if (column == COLUMN_EVENT_ID)
        return source_uuid(feed) != NULL || source_integer(feed) != NULL;
    if (column == COLUMN_CREATED_AT) /* one without a zone might be hours away */
        return found != NULL && strcmp(found->base, "timestamp with time zone") == 0;
    return found != NULL || column == COLUMN_TOPIC || column == COLUMN_KEY ||
           column == COLUMN_PAYLOAD;
}

static int put_columns(FILE *out, const void *about)
{
    const struct feed *feed = feed_of(about);
    const char *comma = "";

    for (int i = COLUMN_EVENT_ID; i < COLUMN_COUNT; i++) {
        if (!is_filled(feed, (enum column)i))
            continue;
        (void)fprintf(out, "%s%s", comma, feed->outbox.columns[i].quoted);
        comma = ", ";
    }
    return 0;
}

/* Returns what is to be said of the value; "": nothing. */
static const char *put_value(FILE *out, const struct feed *feed, enum column column)
{
    const struct table_column *found = source_column(feed, column);
    const struct table_column *filled = &feed->outbox.columns[column];
    const char *type = filled->base[0] != '\0' ? filled->base : filled->type;
    char value[QUOTED_BYTES_MAX + 8];

    if (column == COLUMN_EVENT_ID && source_integer(feed) != NULL) {
        (void)fprintf(out,
                      "('%016" PRIx64 "' OPERATOR(pg_catalog.||) pg_catalog.lpad(pg_catalog.to_hex("
                      "NEW.%s::bigint), 16, '0'))::pg_catalog.uuid",
                      feed->space, source_integer(feed)->quoted);
        return "the id behind a number for this table";
    }
    if (column == COLUMN_EVENT_ID)
        found = source_uuid(feed);
    if (found == NULL && column == COLUMN_TOPIC) {
        sql_put_literal(out, feed->source.name);
        return "no column is named so: write the topic of its events";
    }
    if (found == NULL && column == COLUMN_KEY) {
        (void)fputs("NULL", out);
        return "no column is named so: write NEW. and the column whose events must stay in order";
    }
    if (found == NULL) {
        put_converted(out, "pg_catalog.to_jsonb(NEW)", "jsonb", type);
        return "no column is named so: the whole row";
    }
    (void)snprintf(value, sizeof value, "NEW.%s", found->quoted);
    put_converted(out, value, found->base, column == COLUMN_CREATED_AT ? found->base : type);
    if (is_json(type) && !is_json(found->base))
        return "must be JSON, or the INSERT fails";
    return "";
}

static int put_values(FILE *out, const void *about)
{
    const struct feed *feed = feed_of(about);
    int last = COLUMN_COUNT - 1;

    while (!is_filled(feed, (enum column)last))
        last--;
    for (int i = COLUMN_EVENT_ID; i <= last; i++) {
        const char *note;

        if (!is_filled(feed, (enum column)i))
            continue;
        note = put_value(out, feed, (enum column)i);
        (void)fprintf(out, "%s%s%s%s%s%s", i < last ? "," : "", note[0] != '\0' ? " -- " : "",
                      note[0] != '\0' ? column_name((enum column)i) : "",
                      note[0] != '\0' ? ": " : "", note, i < last ? "\n        " : "");
    }
    return 0;
}

static const char *choose_order(const void *about)
{
    static const enum column orders[] = {COLUMN_ID, COLUMN_CREATED_AT};
    const struct table_column *id = source_column(feed_of(about), COLUMN_ID);

    for (size_t i = 0; i < 2; i++) {
        const struct table_column *found = source_column(feed_of(about), orders[i]);

        if (found != NULL && (i > 0 || column_is_integer(found)))
            return found->quoted;
    }
    return id != NULL ? id->quoted : "ctid";
}

static int put_name(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct feed *feed = feed_of(about);
    const struct table_column *id =
        source_uuid(feed) != NULL ? source_uuid(feed) : source_integer(feed);
    const struct {
        const char *name;
        const char *text;
    } names[] = {
        {"source", feed->source.quoted},
        {"source_schema", feed->source.schema_quoted},
        {"outbox_schema", feed->outbox.schema_quoted},
        {"feed_function", feed->function},
        {"feed_trigger", feed->trigger},
        {"mark_function", feed->mark},
        {"mark_trigger", feed->mark_trigger},
        {"feed_marks", feed->marks},
        {"feed_marked", feed->marked},
        {"feed_unsent", feed->unsent},
        {"feed_order", choose_order(feed)},
        {"feed_match", id != NULL ? id->quoted : ""},
        {"feed_draws", feed->draws},
    };
    size_t at = 0;

    while (strcmp(names[at].name, fact->name) != 0)
        at++;
    return fputs(names[at].text, out) < 0 ? -1 : 0;
}

static int is_so(const void *about, const char *name)
{
    const struct sql_truth all[] = {
        {"feed_draws", feed_of(about)->draws[0] != '\0'},
        {"source_is_integer", source_integer(feed_of(about)) != NULL},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

/* The number of the table, with which the event ids begin that are made of its ids. */
static int put_space(FILE *out, const void *about)
{
    return fprintf(out, "%016" PRIx64, feed_of(about)->space) < 0 ? -1 : 0;
}

/* As a comment, because nobody but its owner knows whether the rows were sent already. */
static int put_existing(FILE *out, const void *about);

static const struct sql_fact facts[] = {
    {"source", .put_named = put_name},        {"source_schema", .put_named = put_name},
    {"outbox_schema", .put_named = put_name}, {"feed_function", .put_named = put_name},
    {"feed_trigger", .put_named = put_name},  {"mark_function", .put_named = put_name},
    {"mark_trigger", .put_named = put_name},  {"feed_columns", .put = put_columns},
    {"feed_values", .put = put_values},       {"feed_existing", .put = put_existing},
    {"feed_unsent", .put_named = put_name},   {"feed_order", .put_named = put_name},
    {"feed_marks", .put_named = put_name},    {"feed_marked", .put_named = put_name},
    {"feed_match", .put_named = put_name},    {"feed_draws", .put_named = put_name},
    {"feed_space", .put = put_space},         {.name = NULL},
};

static char *render(const struct feed *feed, const char *statement)
{
    const struct table_facts about = {.table = &feed->outbox, .options = feed->options};
    const struct sql_facts tables = table_facts(&about);
    const struct sql_facts list = {.list = facts, .is = is_so, .about = feed, .more = &tables};

    return sql_render(statement, &list);
}

static int put_existing(FILE *out, const void *about)
{
    char *sql = render(feed_of(about), statement_feed_existing);

    if (sql == NULL)
        return -1;
    (void)fputs("-- ", out);
    for (const char *at = sql; *at != '\0'; at++)
        (void)(*at == '\n' ? fputs("\n-- ", out) : fputc(*at, out));
    free(sql);
    return 0;
}

/* ---- the two tables ---- */

/* Twice: the second time with the columns that the first one has offered. */
static int describe_source(struct feed *feed, struct session *session, const char *written,
                           struct error *error)
{
    struct outbox_options options = *feed->options;
    char offers[COLUMN_COUNT][sizeof feed->source.columns[0].offer];
    int status;

    options.table = strdup(written);
    if (options.table == NULL)
        return error_no_memory(error);
    options.preset_columns = NULL;
    options.order = ORDER_NONE;
    options.on_sent = ON_SENT_MARK;
    options.where = NULL;
    memset(options.columns, 0, sizeof options.columns);
    status = describe_table(&feed->source, session, &options, error);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        memcpy(offers[i], feed->source.columns[i].offer, sizeof offers[i]);
        options.columns[i] = offers[i][0] != '\0' ? offers[i] : NULL;
    }
    if (status == 0)
        status = describe_table(&feed->source, session, &options, error);
    free(options.table);
    return status;
}

static int check_tables(const struct feed *feed, struct error *error)
{
    const struct table_column *event_id = &feed->outbox.columns[COLUMN_EVENT_ID];
    const struct table *source = &feed->source;

    if (!source->exists) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "table %s does not exist",
                        source->quoted);
        return source->spelt[0] != '\0' ? error_hint(error, "it may be %s", source->spelt) : -1;
    }
    if (source->oid == feed->outbox.oid) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "%s is the outbox itself, which needs no feed", source->quoted);
        return error_hint(error, "write the name of an outbox of the relay's own as table in"
                                 " [outbox], such as \"relay.outbox\"");
    }
    if (source->kind != 'r' && source->kind != 'p')
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "%s is not a table, so no trigger sees its rows", source->quoted);
    if (strcmp(event_id->type, "uuid") == 0)
        return 0;
    return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                     "a feed needs an outbox as init creates it: column %s (event_id) of %s is"
                     " of type %s, not uuid",
                     event_id->quoted, feed->outbox.quoted, event_id->type);
}

/* An identity column draws with nobody's rights. */
static int find_draws(struct feed *feed, struct session *session, bool will_be_ordered,
                      struct error *error)
{
    const struct table *outbox = &feed->outbox;
    struct sequence sequence = {0};

    if (outbox->exists && sequence_describe(&sequence, session, outbox, error) < 0)
        return -1;
    if (will_be_ordered)
        (void)snprintf(feed->draws, sizeof feed->draws, "%s", outbox->order_sequence_quoted);
    else if (outbox->columns[COLUMN_ID].has_default ||
             strcmp(sequence.quoted, outbox->order_sequence_quoted) == 0)
        (void)snprintf(feed->draws, sizeof feed->draws, "%s", sequence.quoted);
    return 0;
}

static void append(char *out, size_t size, const char *between, const char *text)
{
    size_t len = strlen(out);

    (void)snprintf(out + len, size - len, "%s%s", len > 0 ? between : "", text);
}

static void add_mark(struct feed *feed, const char *column, const char *value, const char *unsent)
{
    char text[2 * QUOTED_BYTES_MAX];

    (void)snprintf(text, sizeof text, "%s = %s", column, value);
    append(feed->marks, sizeof feed->marks, ", ", text);
    append(feed->marked, sizeof feed->marked, ", ", column);
    append(feed->unsent, sizeof feed->unsent, " AND ", unsent);
}

static int find_marks(struct feed *feed, struct session *session, struct error *error)
{
    const struct table_column *sent_at = source_column(feed, COLUMN_SENT_AT);
    char oid[16];
    const char *params[1] = {oid};
    char unsent[QUOTED_BYTES_MAX + 32];
    PGresult *result;
    int found = 0;

    if (sent_at != NULL) {
        (void)snprintf(unsent, sizeof unsent, "%s IS NULL", sent_at->quoted);
        add_mark(feed, sent_at->quoted, "pg_catalog.clock_timestamp()", unsent);
    }
    (void)snprintf(oid, sizeof oid, "%u", feed->source.oid);
    result = session_query(session, sql_body(statement_feed_marks), 1, params, error);
    if (result == NULL)
        return -1;
    for (int row = 0; row < PQntuples(result) && found < MARKS_MAX; row++) {
        const char *quoted = PQgetvalue(result, row, 1);
        bool is_flag = PQgetvalue(result, row, 2)[0] == 'B';

        if (!guess_means(is_flag ? "flag" : "status", PQgetvalue(result, row, 0)))
            continue;
        (void)snprintf(unsent, sizeof unsent,
                       is_flag ? "%s IS NOT TRUE" : "%s OPERATOR(pg_catalog.<>) 'SENT'", quoted);
        add_mark(feed, quoted, is_flag ? "true" : "'SENT'", unsent);
        found++;
    }
    PQclear(result);
    if (feed->unsent[0] == '\0')
        append(feed->unsent, sizeof feed->unsent, "", "true");
    return 0;
}

static void name_functions(struct feed *feed, const struct session *session)
{
    char name[QUOTED_BYTES_MAX];

    (void)snprintf(name, sizeof name, "%s_feed", feed->source.stem);
    table_quote(session, name, feed->trigger);
    (void)snprintf(feed->function, sizeof feed->function, "%s.%s", feed->source.schema_quoted,
                   feed->trigger);
    (void)snprintf(name, sizeof name, "%s_sent", feed->source.stem);
    table_quote(session, name, feed->mark_trigger);
    (void)snprintf(feed->mark, sizeof feed->mark, "%s.%s", feed->source.schema_quoted,
                   feed->mark_trigger);
    feed->space = text_hash(text_of(feed->source.quoted));
}

/* Why the rows of the source cannot be marked; NULL: they can. */
static const char *cannot_mark(const struct feed *feed)
{
    if (feed->marks[0] == '\0')
        return "no column of it says so (sent_at, processed_at, sent, status)";
    if (source_uuid(feed) == NULL && source_integer(feed) == NULL)
        return "it has no id of type uuid or integer by which an event finds its row";
    if (feed->options->on_sent != ON_SENT_MARK)
        return "on_sent = \"delete\" takes a row away, also when it only parks it";
    return strcmp(feed->outbox.columns[COLUMN_EVENT_ID].name, "event_id") != 0
               ? "the outbox has another name for event_id than the parked table"
               : NULL;
}

static bool is_safe(const char *sql, int quotes)
{
    while ((sql = strstr(sql, BODY_QUOTES)) != NULL) {
        sql += strlen(BODY_QUOTES);
        quotes--;
    }
    return quotes == 0;
}

static char *feed_sql(const struct feed *feed, struct error *error)
{
    const char *problem = cannot_mark(feed);
    char *rows = render(feed, statement_feed);
    char *marks = problem == NULL ? render(feed, statement_feed_mark) : NULL;
    char *sql = NULL;

    if (rows == NULL || (problem == NULL && marks == NULL) ||
        asprintf(&sql, "%s\n%s%s%s\n", rows + 1,
                 problem != NULL ? "\n-- Rows of this table are not marked when they are sent: "
                                 : marks,
                 problem != NULL ? problem : "", problem != NULL ? "." : "") < 0) {
        (void)error_no_memory(error);
        sql = NULL;
    } else if (!is_safe(sql, problem == NULL ? 4 : 2)) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                        "a name contains " BODY_QUOTES ", which ends the body of a function");
        free(sql);
        sql = NULL;
    }
    free(rows);
    free(marks);
    return sql;
}

char *admin_feed_sql(struct admin *admin, const char *table, bool will_be_ordered,
                     struct error *error)
{
    struct feed *feed = calloc(1, sizeof *feed);
    char *sql = NULL;

    if (feed == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    feed->options = admin->options;
    feed->outbox = admin->table;
    schema_foresee(&feed->outbox, admin->options);
    if (describe_source(feed, &admin->session, table, error) == 0 &&
        check_tables(feed, error) == 0 && find_marks(feed, &admin->session, error) == 0 &&
        find_draws(feed, &admin->session, will_be_ordered, error) == 0) {
        name_functions(feed, &admin->session);
        sql = feed_sql(feed, error);
    }
    free(feed);
    return sql;
}
