#include "desk/show.h"

#include "cli/terminal.h"
#include "desk/statement.h"
#include "message/remedy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTEA_OID 17 /* pg_type.dat */
#define CELL_BYTES_MAX 1024
#define LINE_BYTES_MAX 256 /* of a value between tabs */
#define NAME_WIDTH 14
#define OWN_PREFIX "desk_"

int show_column(const PGresult *result, const char *name)
{
    int column = PQnfields(result) - 1;

    while (column >= 0 && strcmp(PQfname(result, column), name) != 0)
        column--;
    return column;
}

const char *show_value(const PGresult *result, int row, const char *name)
{
    int column = show_column(result, name);

    if (column < 0 || row < 0 || row >= PQntuples(result) || PQgetisnull(result, row, column))
        return NULL;
    return PQgetvalue(result, row, column);
}

static bool is_shown(const PGresult *result, int column)
{
    return strncmp(PQfname(result, column), OWN_PREFIX, strlen(OWN_PREFIX)) != 0;
}

/* The value, safe to print; `null` for NULL. */
static const char *cell(char *out, size_t size, const PGresult *result, int row, int column,
                        const char *null)
{
    const char *value = PQgetvalue(result, row, column);

    if (PQgetisnull(result, row, column))
        return null;
    return text_show(out, size, text_of(value), false);
}

/* NULL when there is none to name. */
static const char *fix_for(const struct show *show, const PGresult *result, int row,
                           char fix[REMEDY_BYTES])
{
    char error[CELL_BYTES_MAX];
    char id[CELL_BYTES_MAX];
    const char *stays = show_value(result, row, "desk_stays");
    int of_error = show_column(result, "error");
    int of_id = show_column(result, "id");
    const struct remedy_names names = {
        show->outbox, text_of(of_id >= 0 ? cell(id, sizeof id, result, row, of_id, "-") : "-"),
        stays != NULL && *stays == 't'};

    if (of_error < 0)
        return NULL;
    return remedy_write(fix, REMEDY_BYTES, cell(error, sizeof error, result, row, of_error, "-"),
                        &names);
}

/* ---- a table ---- */

/* As wide as the values, if the terminal is; the widest columns are cut first, but never the first
 * one, which other commands want. An error has a line of its own. */
static void find_widths(struct show *show, const PGresult *result, int count, int columns)
{
    char text[CELL_BYTES_MAX];
    int total = 0;
    int fields = PQnfields(result);
    int first = 0;

    while (first < fields && !is_shown(result, first))
        first++;
    for (int i = 0; i < fields && i < SHOW_COLUMNS_MAX; i++) {
        if (!is_shown(result, i) || strcmp(PQfname(result, i), "error") == 0)
            continue;
        show->widths[i] = terminal_width(PQfname(result, i));
        for (int row = 0; row < count; row++) {
            int width = terminal_width(cell(text, sizeof text, result, row, i, "-"));

            show->widths[i] = width > show->widths[i] ? width : show->widths[i];
        }
        total += show->widths[i] + 2;
    }
    for (int widest = first; total - 2 > columns && widest >= 0; total--) {
        widest = -1;
        for (int i = first + 1; i < fields && i < SHOW_COLUMNS_MAX; i++)
            if (show->widths[i] > terminal_width(PQfname(result, i)) &&
                (widest < 0 || show->widths[i] > show->widths[widest]))
                widest = i;
        if (widest >= 0)
            show->widths[widest]--;
    }
}

static void put_row(const struct show *show, const PGresult *result, int row)
{
    char text[CELL_BYTES_MAX];
    int gap = 0;

    for (int i = 0; i < PQnfields(result) && i < SHOW_COLUMNS_MAX; i++) {
        const char *value =
            row < 0 ? PQfname(result, i) : cell(text, sizeof text, result, row, i, "-");

        if (show->widths[i] == 0)
            continue;
        (void)printf("%*s", gap, "");
        if (terminal_width(value) > show->widths[i] && gap > 0)
            value = terminal_fit(text, sizeof text, value, show->widths[i]);
        (void)fputs(value, stdout);
        gap = show->widths[i] - terminal_width(value);
        gap = (gap > 0 ? gap : 0) + 2;
    }
    (void)putchar('\n');
}

static void put_table(struct show *show, const PGresult *result, int count)
{
    char text[CELL_BYTES_MAX];
    char fix[REMEDY_BYTES];
    int columns = terminal_columns();
    int error = show_column(result, "error");

    if (!show->has_begun) {
        find_widths(show, result, count, columns);
        put_row(show, result, -1);
    }
    for (int row = 0; row < count; row++) {
        const char *remedy = fix_for(show, result, row, fix);

        put_row(show, result, row);
        if (error >= 0)
            (void)printf("    %s\n", terminal_fit(text, sizeof text,
                                                  cell(text, sizeof text, result, row, error, "-"),
                                                  columns - 4));
        if (remedy != NULL)
            (void)printf("    fix: %s\n", remedy);
    }
}

/* ---- other ways ---- */

/* Of row -1 the names. */
static void put_line(const PGresult *result, int row)
{
    const char *tab = "";
    char safe[LINE_BYTES_MAX];

    for (int i = 0; i < PQnfields(result); i++) {
        if (!is_shown(result, i))
            continue;
        (void)printf("%s%s", tab,
                     row < 0 ? PQfname(result, i) : cell(safe, sizeof safe, result, row, i, "-"));
        tab = "\t";
    }
    (void)fputs(*tab != '\0' ? "\n" : "", stdout);
}

/* A value as it is, also over several lines, after those that have a name. */
static void put_whole(const PGresult *result, int row, int column)
{
    char safe[4 * DESK_PAYLOAD_MAX + 1];
    const char *value = PQgetvalue(result, row, column);
    size_t len = strlen(value);
    char *bytes = PQftype(result, column) == BYTEA_OID ? wire_bytea(value, &len) : NULL;
    struct text text = {bytes != NULL ? bytes : value, len};

    (void)printf("%s\n", text_show(safe, sizeof safe, text_cut(text, DESK_PAYLOAD_MAX), true));
    free(bytes);
}

/* A column whose name ends with "?" is shown only where it has a value. */
static void put_record(const struct show *show, const PGresult *result, int row)
{
    char safe[DESK_PAYLOAD_MAX + 1];
    char fix[REMEDY_BYTES];
    const char *remedy = fix_for(show, result, row, fix);

    for (int i = 0; i < PQnfields(result); i++) {
        const char *name = PQfname(result, i);
        int len = (int)strcspn(name, "?");

        if (!is_shown(result, i) || (name[len] == '?' && PQgetisnull(result, row, i)))
            continue;
        if (len == 0) {
            put_whole(result, row, i);
            continue;
        }
        (void)printf("%-*.*s%s\n", NAME_WIDTH, len, name,
                     cell(safe, sizeof safe, result, row, i, "(null)"));
        if (strcmp(name, "error") == 0 && remedy != NULL)
            (void)printf("%-*s%s\n", NAME_WIDTH, "fix", remedy);
    }
}

void show_text(const char *text)
{
    char safe[4 * CELL_BYTES_MAX];

    if (text != NULL)
        (void)printf("%s\n", text_show(safe, sizeof safe, text_of(text), false));
}

/* A comment stands behind a key and its value, or alone. */
static void put_setting(const PGresult *result, int row)
{
    char safe[4 * CELL_BYTES_MAX];
    const char *key = show_value(result, row, "key");
    const char *comment = show_value(result, row, "comment");

    if (key != NULL)
        (void)printf("%-10s = %s%s", key, show_value(result, row, "value"),
                     comment != NULL ? "   # " : "");
    if (comment != NULL)
        (void)fputs(text_escape(safe, sizeof safe, comment, strlen(comment)), stdout);
    (void)putchar('\n');
}

void show_rows(struct show *show, const PGresult *result, int count)
{
    int first = 0;

    while (first < PQnfields(result) && !is_shown(result, first))
        first++;
    if (count == 0 || first == PQnfields(result))
        return;
    if (show->as == SHOW_ROWS && terminal_columns() > 0)
        put_table(show, result, count);
    else if (show->as == SHOW_ROWS && !show->has_begun)
        put_line(result, -1);
    for (int row = 0; row < count; row++) {
        if (show->as == SHOW_ROWS && terminal_columns() == 0)
            put_line(result, row);
        else if (show->as == SHOW_RECORD && show->has_begun)
            (void)putchar('\n');
        if (show->as == SHOW_RECORD)
            put_record(show, result, row);
        else if (show->as == SHOW_TEXT)
            show_text(show_value(result, row, PQfname(result, first)));
        else if (show->as == SHOW_TOML)
            put_setting(result, row);
        else if (show->as == SHOW_JSON)
            terminal_print_json(text_of(PQgetvalue(result, row, first)));
        show->has_begun = true;
    }
}

void show_count(struct text text, int64_t number)
{
    while (text.len > 0) {
        bool is_plural = text.len >= 3 && memcmp(text.data, "(s)", 3) == 0;
        size_t step = is_plural ? 3 : 1;

        if (is_plural)
            (void)fputs(PLURAL(number), stdout);
        else if (*text.data == 'N')
            (void)printf("%" PRId64, number);
        else
            (void)putchar(*text.data);
        text = (struct text){text.data + step, text.len - step};
    }
    (void)putchar('\n');
}
