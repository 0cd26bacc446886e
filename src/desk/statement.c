#include "desk/statement.h"

#include "message/declined.h"

#include <stdio.h>
#include <string.h>

/* ---- facts ---- */

/* {shown_key} and so on: a value of a parked row as text. */
static int put_shown(FILE *out, const void *about, const struct sql_fact *fact)
{
    const struct desk_statement *statement = about;
    const char *column = fact->name + strlen("shown_");
    bool is_always = strcmp(column, "id") == 0 || strcmp(column, "event_id") == 0 ||
                     strcmp(column, "error") == 0;

    if (statement->detail == DESK_WHOLE)
        return fprintf(out, "%s::text", column) < 0 ? -1 : 0;
    if (statement->detail == DESK_LEFT_OUT && !is_always)
        return fputs("NULL::text", out) < 0 ? -1 : 0;
    return fprintf(out, "encode(convert_to(%s::text, getdatabaseencoding()), 'escape')", column) < 0
               ? -1
               : 0;
}

static int put_page_rows(FILE *out, const void *about)
{
    return fprintf(out, "%d", ((const struct desk_statement *)about)->page_rows) < 0 ? -1 : 0;
}

static int is_so(const void *about, const char *name)
{
    enum desk_detail detail = ((const struct desk_statement *)about)->detail;
    const struct sql_truth all[] = {
        {"whole", detail == DESK_WHOLE},
        {"left_out", detail == DESK_LEFT_OUT},
    };

    return sql_truth(all, sizeof all / sizeof *all, name);
}

static const struct sql_fact facts_of_desk[] = {
    {"is_declined", .text = "(state = 'waiting' AND waits_for LIKE '" DECLINED_PREFIX "%')"},
    {"page_rows", .put = put_page_rows},
    {"payload_max", .text = FACT_NUMBER(DESK_PAYLOAD_MAX)},
    {"shown_id", .put_named = put_shown},
    {"shown_event_id", .put_named = put_shown},
    {"shown_topic", .put_named = put_shown},
    {"shown_key", .put_named = put_shown},
    {"shown_type", .put_named = put_shown},
    {"shown_error", .put_named = put_shown},
    {"shown_created_at", .put_named = put_shown},
    {"shown_headers", .put_named = put_shown},
    {"shown_raw", .put_named = put_shown},
    {"shown_payload", .put_named = put_shown},
    {.name = NULL},
};

/* ---- parameters ---- */

/* Its number, which is a new one or that of an earlier place. */
static int put_param(FILE *out, const void *about, const char *name, size_t len)
{
    struct desk_params *params = ((const struct desk_statement *)about)->params;
    int i = 0;

    while (i < params->count &&
           (strlen(params->names[i]) != len || memcmp(params->names[i], name, len) != 0))
        i++;
    if (i == DESK_PARAMS_MAX || len >= sizeof params->names[i])
        return -1;
    if (i == params->count)
        (void)snprintf(params->names[params->count++], sizeof params->names[i], "%.*s", (int)len,
                       name);
    return fprintf(out, "$%d", i + 1) < 0 ? -1 : 0;
}

char *desk_sql(const struct desk_statement *statement, const struct sql_facts *facts)
{
    const char *of_head = statement->use->facts; /* the parameters are the last of them */
    char names[128];
    const struct sql_facts of_use = {.names = names, .more = facts};
    const struct sql_facts all = {.names = statement->given,
                                  .list = facts_of_desk,
                                  .is = is_so,
                                  .about = statement,
                                  .more = &of_use,
                                  .put_param = put_param};

    (void)snprintf(names, sizeof names, "%.*s",
                   (int)(statement->given != NULL ? strcspn(of_head, "$") : strlen(of_head)),
                   of_head);
    statement->params->count = 0;
    return sql_render(statement->use->text, &all);
}
