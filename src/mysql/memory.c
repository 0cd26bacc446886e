/* What relays keep in the control table of their brokers (source/acknowledged.h), and of
 * themselves. */
#include "mysql/memory.h"
#include "mysql/statements.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *text_in(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

/* A statement whose parameters are texts. */
static int run(const struct tables *tables, struct db_session *session, const char *statement,
               const char *const *params, int count, struct error *error)
{
    struct text texts[4];
    char *sql = tables_statement(tables, statement, NULL);
    int status = -1;

    for (int i = 0; i < count; i++)
        texts[i] = text_of(params[i]);
    if (sql == NULL)
        return error_no_memory(error);
    if (db_run_once(session, sql, texts, count, error) >= 0)
        status = 0;
    free(sql);
    return status;
}

int memory_keep_setting(const struct tables *tables, struct db_session *session, const char *name,
                        const char *value, struct error *error)
{
    const char *const params[] = {name, value};

    return run(tables, session, db_sql_keep_setting, params, 2, error);
}

int memory_drop_setting(const struct tables *tables, struct db_session *session, const char *name,
                        struct error *error)
{
    return run(tables, session, db_sql_drop_setting, &name, 1, error);
}

int memory_keep_acknowledged(const struct tables *tables, struct db_session *session,
                             const char *items, struct error *error)
{
    json_t *array = json_loads(items, 0, NULL);
    int status = 0;
    size_t at;
    json_t *item;

    json_array_foreach(array, at, item)
    {
        char *value = json_dumps(item, JSON_COMPACT);
        char *name = NULL;

        if (value == NULL || asprintf(&name, "acknowledged %s", text_in(item, "name")) < 0) {
            status = error_no_memory(error);
        } else {
            const char *const params[] = {name, value};

            status = run(tables, session, db_sql_keep_acknowledged, params, 2, error);
            free(name);
        }
        free(value);
        if (status < 0)
            break;
    }
    json_decref(array);
    return status;
}

/* Of several losses of a destination the last one is told, since the earliest time of all. */
static int merge_loss(const struct tables *tables, struct db_session *session, const char *name,
                      json_t *loss, struct error *error)
{
    char *literal = tables_literals(&name, 1);
    const struct sql_fact facts[] = {{"setting", .text = literal}, {.name = NULL}};
    MYSQL_RES *rows;
    MYSQL_ROW row;

    if (literal == NULL)
        return error_no_memory(error);
    rows = tables_query(tables, session, db_sql_setting, facts, error);
    free(literal);
    if (rows == NULL)
        return -1;
    row = mysql_fetch_row(rows);
    if (row != NULL && row[0] != NULL) {
        json_t *before = json_loads(row[0], 0, NULL);
        const char *since = json_string_value(json_object_get(before, "since"));

        if (since == NULL)
            (void)json_object_set_new(loss, "since", json_null());
        else if (json_is_string(json_object_get(loss, "since")) &&
                 strcmp(since, text_in(loss, "since")) < 0)
            (void)json_object_set(loss, "since", json_object_get(before, "since"));
        json_decref(before);
    }
    mysql_free_result(rows);
    return 0;
}

int memory_keep_loss(const struct tables *tables, struct db_session *session, const char *loss,
                     struct error *error)
{
    json_t *object = json_loads(loss, 0, NULL);
    const char *const forgotten[] = {text_in(object, "sink"), text_in(object, "destination"),
                                     text_in(object, "destination")};
    char *name = NULL;
    char *value = NULL;
    int status = -1;

    if (object == NULL || asprintf(&name, "lost %s", text_in(object, "name")) < 0) {
        (void)error_no_memory(error);
    } else if (merge_loss(tables, session, name, object, error) == 0 &&
               run(tables, session, db_sql_forget_acknowledged, forgotten, 3, error) == 0) {
        value = json_dumps(object, JSON_COMPACT);
        status = value != NULL ? memory_keep_setting(tables, session, name, value, error)
                               : error_no_memory(error);
    }
    free(name);
    free(value);
    json_decref(object);
    return status;
}

static void tell(const struct memory_reader *reader, const char *value)
{
    json_t *about = json_loads(value, 0, NULL);
    const struct acknowledged item = {
        .sink = text_in(about, "sink"),
        .destination = text_in(about, "destination"),
        .partition = (int)json_integer_value(json_object_get(about, "partition")),
        .identity = text_in(about, "identity"),
        .position = json_integer_value(json_object_get(about, "position")),
        .first_ms = json_integer_value(json_object_get(about, "first_ms"))};

    if (about != NULL)
        reader->on_acknowledged(reader->closure, &item);
    json_decref(about);
}

int outbox_read_acknowledged(struct outbox *outbox, const struct memory_reader *reader,
                             struct error *error)
{
    struct db_session *session = &outbox->session;
    MYSQL_RES *rows = tables_query(&outbox->tables, session, db_sql_acknowledged, NULL, error);
    MYSQL_ROW row;

    if (rows == NULL)
        return -1;
    while ((row = mysql_fetch_row(rows)) != NULL)
        tell(reader, row[0] != NULL ? row[0] : "");
    mysql_free_result(rows);
    if (db_next(session, error) < 0 || (rows = db_rows(session, error)) == NULL)
        return -1;
    row = mysql_fetch_row(rows);
    reader->on_began(reader->closure,
                     row != NULL && row[0] != NULL ? strtoll(row[0], NULL, 10) : 0);
    mysql_free_result(rows);
    return 0;
}
