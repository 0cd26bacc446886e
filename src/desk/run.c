#include "desk/run_state.h"

#include "catalog/describe.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(struct text text, const char *word)
{
    return text_equal(text, text_of(word));
}

/* ---- pages ---- */

/* Whether a row's value caused the error: wrong encoding, a failing cast (22, P0) or corruption
 * (XX). */
static bool is_of_a_value(const struct error *error)
{
    return error_is_sqlstate(error, "22") || error_is_sqlstate(error, "P0") ||
           error_is_sqlstate(error, "XX");
}

/* Makes a more cautious statement: single rows, then escaped values, then none. -1: there is no
 * other. */
static int take_care(struct desk *desk)
{
    if (desk_value(desk, "ids") == NULL && desk->statement.page_rows > 1) {
        desk->statement.page_rows = 1;
        desk->singles = DESK_PAGE_ROWS;
    } else if (desk->statement.detail < DESK_LEFT_OUT) {
        desk->statement.detail++;
    } else {
        return -1;
    }
    return 0;
}

/* After a page. When the last single row of a failed page is done, whole pages follow again. */
static void go_on(struct desk *desk)
{
    if (desk->singles == 0)
        return;
    desk->statement.detail = DESK_WHOLE;
    if (--desk->singles == 0)
        desk->statement.page_rows = DESK_PAGE_ROWS;
}

/* Shows the rows of one result. 1: there may be more rows; 0: there are none; -1: failed. */
static int take_rows(struct desk *desk, const PGresult *result, struct error *error)
{
    const char *limit = desk_value(desk, "limit");
    int64_t left = limit != NULL ? strtoll(limit, NULL, 10) - desk->total : INT64_MAX;
    int count = PQntuples(result);
    const char *counted = show_value(result, 0, "desk_count");
    const char *next = show_value(result, 0, "desk_next");
    bool has_more = next != NULL;

    if (show_column(result, "desk_place") >= 0) {
        if (show_value(result, 0, "desk_place") == NULL)
            count = 0;
        if (count > left)
            count = (int)left;
        next = show_value(result, count - 1, "desk_place");
        has_more = count == desk->statement.page_rows && desk_value(desk, "ids") == NULL;
    }
    if (counted == NULL || desk->total == 0) /* of a count the first page that has any */
        show_rows(&desk->show, result, count);
    desk->total += counted != NULL ? strtoll(counted, NULL, 10) : count;
    return has_more && desk_set(desk, "place", next, error) < 0 ? -1 : has_more;
}

/* 1: there may be more rows; 0: done; -1: failed. */
static int take_page(struct desk *desk, bool is_careful, struct error *error)
{
    PGresult *result = desk_ask(desk, error);
    int status;

    if (result == NULL)
        return is_careful && is_of_a_value(error) && take_care(desk) == 0 ? 1 : -1;
    status = take_rows(desk, result, error);
    PQclear(result);
    if (status > 0)
        go_on(desk);
    return status;
}

static int explain(const struct desk *desk, struct error *error)
{
    struct error cause = *error;

    if (error_is_sqlstate(error, "55P03"))
        (void)error_set(&cause, ERROR_TRANSIENT, ERROR_DATABASE,
                        "database: another session has locked these rows or the table, most"
                        " likely a relay that is sending them; try again in a moment");
    *error = cause;
    if (desk->total > 0 && desk->writes)
        return error_set(error, cause.kind, cause.origin, "%.500s (done: %" PRId64 " row%s)",
                         cause.text, desk->total, PLURAL(desk->total));
    return -1;
}

/* ---- steps ---- */

/* rows, record, text, toml */
static int show_pages(struct desk *desk, struct text word, struct text name, struct error *error)
{
    const char *limit = desk_value(desk, "limit");
    int status = desk_choose(desk, name, error) < 0 ? -1 : 1;

    desk->show.as = desk_value(desk, "json") != NULL ? SHOW_JSON
                    : is(word, "rows")               ? SHOW_ROWS
                    : is(word, "record")             ? SHOW_RECORD
                    : is(word, "toml")               ? SHOW_TOML
                                                     : SHOW_TEXT;
    desk->total = 0;
    if (status > 0)
        status = desk_set(desk, "place", NULL, error) < 0 ? -1 : 1;
    if (limit != NULL && strtoll(limit, NULL, 10) < DESK_PAGE_ROWS)
        desk->statement.page_rows = (int)strtol(limit, NULL, 10);
    while (status > 0)
        status = take_page(desk, !is(word, "text"), error);
    return status < 0 && !is(word, "text") ? explain(desk, error) : status;
}

/* The result of the statement that this result is. It may be refused: to find something out. */
static PGresult *ask_asked(struct desk *desk, PGresult *asked)
{
    struct error ignored;
    PGresult *result =
        admin_query_sql(desk->admin, strdup(PQgetvalue(asked, 0, 0)), 0, NULL, &ignored);

    PQclear(asked);
    return result;
}

/* values, query, run */
static int run_one(struct desk *desk, struct text word, struct text name, struct error *error)
{
    PGresult *result = desk_choose(desk, name, error) == 0 ? desk_ask(desk, error) : NULL;
    int status = 0;

    if (result == NULL)
        return desk->since == NULL || !error_is_sqlstate(error, "22")
                   ? -1
                   : error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                               "--since: not a duration or a timestamp: %s", desk->since);
    if (is(word, "query"))
        result = ask_asked(desk, result);
    for (int i = 0; i < PQnfields(result) && !is(word, "run") && status == 0; i++)
        status =
            desk_set(desk, PQfname(result, i), show_value(result, 0, PQfname(result, i)), error);
    PQclear(result);
    return status;
}

static int check_table(struct desk *desk, struct text word, struct text about, struct error *error)
{
    const struct table *table = &desk->admin->table;

    (void)word;
    (void)about;
    return table->exists ? table_plain(table, error) : table_refuse_missing(table, error);
}

static int begin_to_write(struct desk *desk, struct text word, struct text about,
                          struct error *error)
{
    (void)word;
    (void)about;
    desk->writes = desk_value(desk, "dry_run") == NULL;
    return desk->writes ? admin_foresee_role(desk->admin, error) : 0;
}

/* A batch that was claimed before is published within publish_timeout, or rolled back. */
static int wait_for_claims(struct desk *desk, struct text word, struct text about,
                           struct error *error)
{
    int left = desk_wait_for_claims(desk->admin, error);

    (void)word;
    if (left <= 0 || about.len > 0)
        return left < 0 ? -1 : 0;
    return error_set(
        error, ERROR_TRANSIENT, ERROR_SELF,
        "the parked table is still in use by %d open transaction%s: rows that relays had"
        " claimed before may still be published; run the command again to wait for them",
        left, PLURAL(left));
}

/* say, done, dry-run, none */
static int say(struct desk *desk, struct text word, struct text about, struct error *error)
{
    bool is_dry = desk_value(desk, "dry_run") != NULL;

    (void)error;
    if (is(word, "say"))
        show_text(desk_value(desk, "said"));
    else if (desk_value(desk, "json") != NULL)
        return 0;
    else if (!is(word, "none") && is(word, "dry-run") == is_dry)
        show_count(about, desk->total);
    else if (is(word, "none") && desk->total == 0 && terminal_columns() > 0)
        (void)fprintf(stderr, "%.*s\n", (int)about.len, about.data);
    return 0;
}

/* replay, copy */
static int replay(struct desk *desk, struct text word, struct text name, struct error *error)
{
    if (desk_value(desk, "dry_run") != NULL)
        return 0;
    return desk_choose(desk, name, error) < 0 ? -1 : desk_replay(desk, is(word, "replay"), error);
}

static int check_sent(struct desk *desk, struct text word, struct text about, struct error *error)
{
    (void)word;
    (void)about;
    return desk_check_sent(desk, error);
}

static int take_step(struct desk *desk, struct text line, struct error *error)
{
    static const struct {
        const char *word;
        int (*take)(struct desk *desk, struct text word, struct text about, struct error *error);
    } steps[] = {{"values", run_one},       {"run", run_one},     {"rows", show_pages},
                 {"record", show_pages},    {"text", show_pages}, {"writes", begin_to_write},
                 {"any", check_table},      {"query", run_one},   {"toml", show_pages},
                 {"sent", check_sent},      {"replay", replay},   {"copy", replay},
                 {"wait", wait_for_claims}, {"say", say},         {"done", say},
                 {"dry-run", say},          {"none", say}};
    struct text word = text_take(&line, " ");

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (is(word, steps[i].word))
            return steps[i].take(desk, word, line, error);
    return error_set(error, ERROR_PERMANENT, ERROR_SELF, "there is no step \"%.*s\"", (int)word.len,
                     word.data);
}

int desk_run(struct desk *desk, struct text steps, struct error *error)
{
    static const char any[] = "  any ";
    bool is_whole = steps.len < sizeof any || memcmp(steps.data, any, sizeof any - 1) != 0;
    int status =
        is_whole ? describe_check_whole(&desk->admin->table, desk->admin->options, error) : 0;

    if (status == 0 && terminal_columns() > 0)
        status = desk_set(desk, "terminal", "true", error);
    while (status == 0 && steps.len > 0) {
        struct text line = text_take(&steps, "\n");

        (void)text_take(&line, "  ");
        status = take_step(desk, line, error);
    }
    return status;
}

int64_t desk_total(const struct desk *desk)
{
    return desk->total;
}
