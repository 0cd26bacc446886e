/*
 * introspect: the configuration that a table suggests, by the names and types of its columns. What
 * the catalog does not decide is said in comments. Nothing is changed.
 */
#include "admin/admin_session.h"

#include "catalog/columns.h"
#include "catalog/describe.h"
#include "catalog/sql_text.h"
#include "sql/statements.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SAMPLE_SQL                                                                                 \
    "SELECT pg_catalog.string_agg(DISTINCT pg_catalog.left(value, 64), E'\\n') FROM (SELECT"       \
    " %s::text AS value FROM %s LIMIT 1000) sample"
#define WORD_BYTES 72
#define CONTROLS                                                                                   \
    "\1\2\3\4\5\6\7\b\t\v\f\r\16\17\20\21\22\23\24\25\26\27\30\31\32\33\34\35\36\37\177"

/* The columns of introspect.sql. */
enum { NAME, QUOTED, SPELT, TYPE, CATEGORY, NOT_NULL, DEFAULT, VALUES, ROW, IS_PRIMARY };

struct introspection {
    struct admin *admin;
    const PGresult *columns;
    FILE *out;
    int time;   /* the column that says when a row was sent; -1: none, as the next three */
    int status; /* the one with these values */
    int flag;
    char unsent[WORD_BYTES];
    char sent[WORD_BYTES];
};

static const char *value(const struct introspection *about, int row, int column)
{
    return PQgetvalue(about->columns, row, column);
}

/* A name may have any character. */
static void put_comment(FILE *out, const char *text)
{
    char escaped[4 * QUOTED_BYTES_MAX];

    (void)fputs(text_escape(escaped, sizeof escaped, text, strlen(text)), out);
}

/* A TOML string. */
static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        (void)fprintf(out,
                      *text == '"' || *text == '\\'                 ? "\\%c"
                      : (unsigned char)*text < ' ' || *text == 0x7f ? "\\u%04x"
                                                                    : "%c",
                      *text);
    (void)fputc('"', out);
}

static void put_key(FILE *out, const char *key, const char *text)
{
    (void)fprintf(out, "%-10s = ", key);
    put_string(out, text);
}

static int find_column(const struct introspection *about, const char *name)
{
    for (int i = 0; i < PQntuples(about->columns); i++)
        if (strcmp(value(about, i, NAME), name) == 0)
            return i;
    return -1;
}

/* The column that is named like this value, or that may be meant; -1: none. */
static int row_of(const struct introspection *about, enum column column)
{
    const struct table *table = &about->admin->table;
    const struct table_column *found = &table->columns[column];

    int row = find_column(
        about, table_has(table, column) && found->offer[0] == '\0' ? found->name : found->offer);

    for (int i = 0; column == COLUMN_ID && row < 0 && i < PQntuples(about->columns); i++)
        if (value(about, i, IS_PRIMARY)[0] == 't')
            return i;
    return row;
}

/* ---- what marks a row as sent ---- */

/* The first line of `values` that means this. */
static bool choose_value(char out[WORD_BYTES], const char *values, const char *meaning)
{
    while (*values != '\0') {
        size_t len = strcspn(values, "\n");

        if (len < WORD_BYTES) {
            (void)snprintf(out, WORD_BYTES, "%.*s", (int)len, values);
            if (guess_means(meaning, out) && strpbrk(out, CONTROLS) == NULL)
                return true;
        }
        values += len + (values[len] == '\n');
    }
    out[0] = '\0';
    return false;
}

/* What rows have, with what the catalog lets them have. A table that this role may not read tells
 * nothing. */
static char *values_of(const struct introspection *about, int row)
{
    struct admin *admin = about->admin;
    struct error ignored;
    char *sql = NULL;
    char *values = NULL;
    PGresult *sample = NULL;

    if (asprintf(&sql, SAMPLE_SQL, value(about, row, QUOTED), admin->table.quoted) >= 0)
        sample = admin_query_sql(admin, sql, 0, NULL, &ignored);
    if (asprintf(&values, "%s\n%s\n%s", value(about, row, DEFAULT), value(about, row, VALUES),
                 sample != NULL ? PQgetvalue(sample, 0, 0) : "") < 0)
        values = NULL;
    PQclear(sample);
    return values;
}

static void find_status(struct introspection *about, int row)
{
    char *values = values_of(about, row);

    if (values != NULL && choose_value(about->unsent, values, "unsent_value")) {
        about->status = row;
        if (!choose_value(about->sent, values, "sent_value") &&
            value(about, row, VALUES)[0] == '\0')
            (void)snprintf(about->sent, sizeof about->sent, "%s",
                           islower((unsigned char)about->unsent[0]) ? "sent" : "SENT");
    }
    free(values);
}

static void find_marks(struct introspection *about)
{
    about->time = row_of(about, COLUMN_SENT_AT);
    for (int i = 0; i < PQntuples(about->columns); i++) {
        char category = value(about, i, CATEGORY)[0];

        if (about->status < 0 && (category == 'S' || category == 'E') &&
            guess_means("status", value(about, i, NAME)))
            find_status(about, i);
        if (about->flag < 0 && category == 'B' && guess_means("flag", value(about, i, NAME)))
            about->flag = i;
    }
    if (about->sent[0] == '\0')
        about->status = -1;
}

/* SQL that stands in a TOML string; the quotes of a value are doubled. */
static void put_condition(FILE *out, const char *column, const char *equals)
{
    (void)fprintf(out, "%s = '", column);
    for (; *equals != '\0'; equals++)
        (void)fprintf(out, *equals == '\'' ? "''" : "%c", *equals);
    (void)fputc('\'', out);
}

/* where and mark by a status or a boolean, and the time with it. */
static int put_mark(struct introspection *about)
{
    const char *column = value(about, about->status >= 0 ? about->status : about->flag, QUOTED);
    struct writer where;
    struct writer mark;
    char *text;

    if (!writer_begin(&where))
        return -1;
    if (!writer_begin(&mark)) {
        free(writer_end(&where));
        return -1;
    }
    if (about->status >= 0) {
        put_condition(where.out, column, about->unsent);
        put_condition(mark.out, column, about->sent);
    } else {
        (void)fprintf(where.out, "%s IS NOT TRUE", column);
        (void)fprintf(mark.out, "%s = true", column);
    }
    if (about->time >= 0)
        (void)fprintf(mark.out, ", %s = now()", value(about, about->time, QUOTED));
    text = writer_end(&where);
    put_key(about->out, "where", text != NULL ? text : "");
    free(text);
    text = writer_end(&mark);
    (void)fputc('\n', about->out);
    put_key(about->out, "mark", text != NULL ? text : "");
    (void)fputc('\n', about->out);
    free(text);
    return text != NULL ? 0 : -1;
}

/* Columns that might be meant, so that nobody must look them up: of these categories of types, or
 * with such names. */
static void put_candidates(const struct introspection *about, const char *categories,
                           const char *meaning)
{
    const char *comma = "";

    for (int i = 0; i < PQntuples(about->columns); i++) {
        if (strchr(categories, value(about, i, CATEGORY)[0]) == NULL &&
            !guess_means(meaning, value(about, i, NAME)))
            continue;
        (void)fputs(comma, about->out);
        put_comment(about->out, value(about, i, SPELT));
        comma = ", ";
    }
    (void)fputs(comma[0] == '\0' ? "none\n" : "\n", about->out);
}

static int put_outbox(struct introspection *about, const char *table)
{
    const struct table *described = &about->admin->table;
    bool by_key = table_has_integer_ids(described);
    int due = -1;

    (void)fputs("[outbox]\n", about->out);
    put_key(about->out, "table", table);
    (void)fputs("\n# Sends the unsent rows that are there already, too:\n# adopt = true\n",
                about->out);
    if (about->status >= 0 || about->flag >= 0) {
        if (put_mark(about) < 0)
            return -1;
        if (about->status >= 0)
            (void)fputs("# By their names \"where\" has the value of unsent rows, and \"mark\" that"
                        " of sent ones: make sure.\n",
                        about->out);
    } else if (about->time < 0) {
        (void)fputs(
            "on_sent    = \"delete\"\n# No column says which rows are sent, so sent rows are"
            " deleted. Candidates: ",
            about->out);
        put_candidates(about, "BDE", "status");
    }
    for (int i = 0; i < PQntuples(about->columns) && due < 0; i++)
        if (value(about, i, CATEGORY)[0] == 'D' && guess_means("due", value(about, i, NAME)))
            due = i;
    if (due >= 0) {
        put_key(about->out, "due", value(about, due, SPELT));
        (void)fputs("   # a row is not sent before this time\n", about->out);
    }
    if (!by_key && described->columns[COLUMN_ID].offer[0] == '\0')
        (void)fputs(
            "order      = \"none\"   # the ids are no integers; for the order of a key write"
            " order = \"relay_order\" in [outbox.columns]: outbox-relay init --order-trigger\n",
            about->out);
    return 0;
}

/* ---- the columns ---- */

/* What stands for a value that no column has, and what is said of it. */
static void put_absent(const struct introspection *about, enum column column)
{
    int id = row_of(about, COLUMN_ID);
    char text[2 * QUOTED_BYTES_MAX];

    switch (column) {
    case COLUMN_EVENT_ID:
        (void)snprintf(text, sizeof text, "(%s::text)", id >= 0 ? value(about, id, QUOTED) : "id");
        put_key(about->out, "event_id", text);
        (void)fputs("   # consumers recognise repeats by it; candidates: ", about->out);
        put_candidates(about, "US", "");
        return;
    case COLUMN_TOPIC:
        put_key(about->out, "topic", "('outbox')");
        (void)fputs("   # a constant; candidates: ", about->out);
        put_candidates(about, "SE", "");
        return;
    case COLUMN_PAYLOAD:
        (void)snprintf(text, sizeof text, "(to_jsonb(%s))", value(about, 0, ROW));
        put_key(about->out, "payload", text);
        (void)fputs("   # the whole row; candidates: ", about->out);
        put_candidates(about, "US", "");
        return;
    default:
        put_key(about->out, column_name(column), "");
        (void)fputc('\n', about->out);
    }
}

static void put_declaration(const struct introspection *about, int row)
{
    (void)fputs("# Rows are purged, audited and sent again only if nobody but the relay writes this"
                " column, and its comment says so:\n# COMMENT ON COLUMN ",
                about->out);
    put_comment(about->out, about->admin->table.quoted);
    (void)fputc('.', about->out);
    put_comment(about->out, value(about, row, QUOTED));
    (void)fputs(" IS '" ONLY_RELAY_WRITES "';\n", about->out);
}

static void put_columns(const struct introspection *about)
{
    (void)fputs("\n[outbox.columns]\n", about->out);
    for (int i = COLUMN_ID; i <= COLUMN_SENT_AT; i++) {
        enum column column = (enum column)i;
        int row = row_of(about, column);

        if (row >= 0) {
            put_key(about->out, column_name(column), value(about, row, SPELT));
            (void)fputs("   # ", about->out);
            put_comment(about->out, value(about, row, TYPE));
            (void)fputc('\n', about->out);
            if (column == COLUMN_SENT_AT)
                put_declaration(about, row);
        } else if (column == COLUMN_ID) {
            (void)fputs("# id: no column is unique and never NULL. A trigger can feed an outbox of"
                        " the relay's own: outbox-relay init --feed\n",
                        about->out);
        } else if (column != COLUMN_SENT_AT) {
            put_absent(about, column);
        }
    }
}

/* ---- the presets ---- */

static bool has_column(const void *closure, const char *name)
{
    const struct introspection *about = closure;

    for (int i = 0; i < PQntuples(about->columns); i++)
        if (strcmp(value(about, i, NAME), name) == 0)
            return true;
    return false;
}

static void put_preset(const struct introspection *about, const char *table, const char *preset)
{
    (void)fprintf(about->out,
                  "# The table has all columns of a preset. What the preset serves, and how the"
                  " framework's own sending is switched off:\n"
                  "#   outbox-relay config --preset %s\n[outbox]\n",
                  preset);
    put_key(about->out, "table", table);
    (void)fputc('\n', about->out);
    put_key(about->out, "preset", preset);
    (void)fputs("\n# adopt = true   # the unsent rows that are there are meant for the relay\n",
                about->out);
}

char *admin_introspect(struct admin *admin, const char *table, preset_finder *find_preset,
                       struct error *error)
{
    struct introspection about = {.admin = admin, .time = -1, .status = -1, .flag = -1};
    struct writer writer;
    PGresult *columns;
    const char *preset;
    char *text;
    int status = 0;

    if (!admin->table.exists) {
        (void)table_refuse_missing(&admin->table, error);
        return NULL;
    }
    if (table_plain(&admin->table, error) < 0)
        return NULL;
    columns = admin_query(admin, statement_introspect, 0, NULL, error);
    if (columns == NULL)
        return NULL;
    if (!writer_begin(&writer)) {
        PQclear(columns);
        (void)error_no_memory(error);
        return NULL;
    }
    about.columns = columns;
    about.out = writer.out;
    preset = find_preset(has_column, &about);
    if (preset != NULL) {
        put_preset(&about, table, preset);
    } else {
        find_marks(&about);
        status = put_outbox(&about, table);
        put_columns(&about);
    }
    PQclear(columns);
    text = writer_end(&writer);
    if (text != NULL && status == 0)
        return text;
    free(text);
    (void)error_no_memory(error);
    return NULL;
}
