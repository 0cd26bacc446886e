#include "admin/status/document.h"

#include "admin/facts.h"
#include "base/hint.h"
#include "message/remedy.h"
#include "source/json.h"
#include "sql/statements.h"

#include <stdlib.h>
#include <string.h>

/* What follows these words in a line of a section's head, after `from`. */
static struct text find_line(const char *from, const char *words)
{
    const char *at = from != NULL ? strstr(from, words) : NULL;

    if (at == NULL)
        return (struct text){NULL, 0};
    at += strlen(words);
    return (struct text){at, strcspn(at, "\n")};
}

/* A null leaves what the document has without the section. */
static void merge(json_t *into, json_t *fields)
{
    const char *name;
    json_t *value;

    json_object_foreach (fields, name, value)
        if (!json_is_null(value) || json_object_get(into, name) == NULL)
            (void)json_object_set(into, name, value);
}

static void add_defaults(json_t *into, const char *section)
{
    static const char words[] = "-- without: ";
    struct text line = find_line(section, words);

    for (; line.data != NULL; line = find_line(line.data, words)) {
        json_t *fields = json_loadb(line.data, line.len, 0, NULL);

        merge(into, fields);
        json_decref(fields);
    }
}

PGresult *document_ask(struct admin *admin, const json_t *document, const char *section,
                       const char *facts, struct error *error)
{
    const struct admin_facts about = {.tables = {&admin->table, admin->options},
                                      .unsent_from = admin->unsent_from};
    struct sql_facts more[2];
    const struct sql_facts all = admin_facts(&about, more);
    const struct sql_facts with = {.names = facts, .more = &all};
    char *sql = sql_render(section, &with);
    char *text = json_dumps(document, JSON_COMPACT);
    const char *params[1] = {text};
    PGresult *result = NULL;

    if (sql == NULL || text == NULL)
        (void)error_no_memory(error);
    else
        result = session_query(&admin->session, sql, strstr(sql, "$1") != NULL, params, error);
    free(sql);
    free(text);
    return result;
}

void document_need(json_t *document, const char *level, const char *text, const char *fix)
{
    (void)json_array_append_new(json_object_get(document, "attention"),
                                json_pack("{s:s, s:o, s:o}", "level", level, "text",
                                          pack_text(text), "fix",
                                          text_or_null(fix != NULL ? fix : "")));
}

int document_note_unknown(const struct admin *admin, json_t *document, const char *figure,
                          const struct error *error)
{
    json_t *unknown = json_object_get(document, "_unknown");
    char text[sizeof error->text + 128];

    if (admin->session.conn == NULL)
        return -1;
    (void)snprintf(text, sizeof text, "unknown: %s: %s", figure, error->text);
    document_need(document, "warning", text, error->hint);
    (void)json_integer_set(unknown, json_integer_value(unknown) + 1);
    return 0;
}

/* The columns are those of attention.sql; a section without advice has three. */
static void add_findings(const struct admin *admin, json_t *document, const PGresult *result)
{
    enum { LEVEL, TEXT, FIX, HINT, WHY };
    const struct remedy_names names = {.outbox = admin->options->table,
                                       .stays = admin->options->park != NULL};
    char buffer[REMEDY_BYTES];

    for (int row = 0; row < PQntuples(result); row++) {
        const char *fix = PQgetvalue(result, row, FIX);
        const char *better = NULL;

        if (PQnfields(result) > WHY && strcmp(PQgetvalue(result, row, HINT), "row") == 0)
            better = remedy_write(buffer, sizeof buffer, PQgetvalue(result, row, WHY), &names);
        else if (PQnfields(result) > WHY)
            better =
                hint_find(PQgetvalue(result, row, HINT), text_of(PQgetvalue(result, row, WHY)));
        document_need(document, PQgetvalue(result, row, LEVEL), PQgetvalue(result, row, TEXT),
                      better != NULL && better[0] != '\0' ? better : fix);
    }
}

/* A database of SQL_ASCII may hold, and send, anything. */
static json_t *load(char *text)
{
    json_t *object = json_loads(text, 0, NULL);

    if (object != NULL)
        return object;
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    return json_loads(text, 0, NULL);
}

int document_run(struct admin *admin, json_t *document, json_t *into, const char *section,
                 const char *facts, struct error *error)
{
    struct text title = find_line(section, "-- section: ");
    PGresult *result = document_ask(admin, document, section, facts, error);
    char figure[64];
    json_t *fields;

    add_defaults(into, section);
    if (result == NULL) {
        (void)snprintf(figure, sizeof figure, "%.*s", (int)title.len, title.data);
        return document_note_unknown(admin, document, figure, error);
    }
    if (PQnfields(result) == 1) {
        fields = load(PQgetvalue(result, 0, 0));
        merge(into, fields);
        json_decref(fields);
    } else {
        add_findings(admin, document, result);
    }
    PQclear(result);
    return 0;
}

static bool applies(const struct admin *admin, const struct sql_use *use)
{
    const struct admin_facts about = {.tables = {&admin->table, admin->options},
                                      .unsent_from = admin->unsent_from};
    struct sql_facts more[2];
    const struct sql_facts all = admin_facts(&about, more);

    return sql_holds(use->condition, &all);
}

int document_run_all(struct admin *admin, json_t *document, json_t *into, const char *use,
                     struct error *error)
{
    for (const struct sql_use *section = sql_uses; section->name != NULL; section++) {
        if (strcmp(section->user, use) != 0)
            continue;
        if (!applies(admin, section))
            add_defaults(into, section->text);
        else if (document_run(admin, document, into, section->text, section->facts, error) < 0)
            return -1;
    }
    return 0;
}
