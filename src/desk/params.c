/* A command's parameters, and its statements with them. */
#include "desk/run_state.h"

#include "admin/facts.h"
#include "catalog/sql_text.h"
#include "route/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct desk *desk_new(struct admin *admin, struct error *error)
{
    struct desk *desk = calloc(1, sizeof *desk);

    if (desk == NULL) {
        (void)error_no_memory(error);
        return NULL;
    }
    desk->admin = admin;
    desk->show.outbox = admin->options->table;
    return desk;
}

void desk_free(struct desk *desk)
{
    for (int i = 0; desk != NULL && i < desk->param_count; i++)
        free(desk->params[i].value);
    free(desk);
}

const char *desk_value(const struct desk *desk, const char *name)
{
    for (int i = 0; i < desk->param_count; i++)
        if (strcmp(desk->params[i].name, name) == 0)
            return desk->params[i].value;
    return NULL;
}

int desk_set(struct desk *desk, const char *name, const char *value, struct error *error)
{
    struct param *param = desk->params;
    char *copy = value != NULL ? strdup(value) : NULL;

    while (param < desk->params + desk->param_count && strcmp(param->name, name) != 0)
        param++;
    if ((value != NULL && copy == NULL) || param == desk->params + DESK_PARAMS_MAX) {
        free(copy);
        return error_no_memory(error);
    }
    if (param == desk->params + desk->param_count)
        desk->param_count++;
    (void)snprintf(param->name, sizeof param->name, "%s", name);
    free(param->value);
    param->value = copy;
    return 0;
}

/* A topic with wildcards is a regular expression; a duration is a number of milliseconds. */
int desk_set_option(struct desk *desk, const char *name, const char *value, struct error *error)
{
    char as_name[24];
    char *regex = NULL;
    int64_t ms = strcmp(name, "since") == 0 ? text_parse_duration_ms(value) : -1;
    char number[32];
    int status;

    (void)snprintf(as_name, sizeof as_name, "%s", name);
    for (char *at = as_name; (at = strchr(at, '-')) != NULL;)
        *at = '_';
    (void)snprintf(number, sizeof number, "%" PRId64, ms);
    if (strcmp(name, "since") == 0)
        desk->since = value;
    if (ms >= 0)
        return desk_set(desk, "since_ms", number, error);
    if (strcmp(name, "topic") == 0 && match_topics_regex(value, &regex) < 0)
        return error_no_memory(error);
    status = desk_set(desk, regex != NULL ? "topic_regex" : as_name, regex != NULL ? regex : value,
                      error);
    free(regex);
    return status;
}

int desk_set_array(struct desk *desk, const char *name, const char *const *values, int count,
                   struct error *error)
{
    char *array = sql_text_array(values, count);
    int status = array != NULL ? desk_set(desk, name, array, error) : error_no_memory(error);

    free(array);
    return status;
}

static int check_refused(const PGresult *result, struct error *error)
{
    const char *refused = show_value(result, 0, "desk_refused");
    const char *fix = show_value(result, 0, "desk_fix");
    char safe[512];

    if (refused == NULL)
        return 0;
    (void)error_set(error, ERROR_PERMANENT, ERROR_SELF, "%s",
                    text_escape(safe, sizeof safe, refused, strlen(refused)));
    return fix != NULL ? error_hint(error, "%s", fix) : -1;
}

PGresult *desk_ask(struct desk *desk, struct error *error)
{
    const char *values[DESK_PARAMS_MAX];
    struct desk_params params;
    char given[DESK_PARAMS_MAX * 26] = "";
    struct admin_facts about = {.tables = {&desk->admin->table, desk->admin->options},
                                .unsent_from = INT64_MIN};
    struct sql_facts more[2];
    const struct sql_facts facts = admin_facts(&about, more);
    PGresult *result;
    char *sql;

    for (int i = 0; i < desk->param_count; i++)
        if (desk->params[i].value != NULL)
            (void)snprintf(given + strlen(given), sizeof given - strlen(given), "$%s ",
                           desk->params[i].name);
    desk->statement.given = given;
    desk->statement.params = &params;
    sql = desk_sql(&desk->statement, &facts);
    for (int i = 0; i < params.count; i++)
        values[i] = desk_value(desk, params.names[i]);
    result = admin_query_sql(desk->admin, sql, params.count, values, error);
    if (result == NULL || check_refused(result, error) == 0)
        return result;
    PQclear(result);
    return NULL;
}

int desk_choose(struct desk *desk, struct text name, struct error *error)
{
    const struct sql_use *use = sql_uses;

    while (use->name != NULL &&
           (strcmp(use->user, "desk") != 0 || !text_equal(name, text_of(use->name))))
        use++;
    desk->statement = (struct desk_statement){.use = use, .page_rows = DESK_PAGE_ROWS};
    return use->name != NULL
               ? 0
               : error_set(error, ERROR_PERMANENT, ERROR_SELF, "there is no statement \"%.*s\"",
                           (int)name.len, name.data);
}
