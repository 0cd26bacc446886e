/* emit: inserts events as an application does. Values are written as hexadecimal literals. */
#include "mysql/admin.h"

#include "mysql/statements.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What a row is to have; NULL: no value. */
struct values {
    struct text of[COLUMN_COUNT];
};

int admin_begin(struct admin *admin, struct error *error)
{
    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (outbox_is_expression(outbox_column(admin->options, (enum column)i)))
            return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                             "emit needs columns: the %s of %s is computed; insert rows as the"
                             " application does",
                             column_name((enum column)i), admin->tables.outbox);
    if (!admin->tables.exists) {
        (void)error_set(error, ERROR_PERMANENT, ERROR_DATABASE, "table %s does not exist",
                        admin->tables.outbox);
        return error_hint(error, "%s init", source_program);
    }
    return db_execute(&admin->session, "START TRANSACTION", error) < 0 ? -1 : 0;
}

int admin_commit(struct admin *admin, struct error *error)
{
    return db_execute(&admin->session, "COMMIT", error) < 0 ? -1 : 0;
}

/* Text is marked as such, because a column of JSON takes no bytes. */
static void put_value(FILE *out, const struct tables *tables, enum column column, struct text value)
{
    if (value.data == NULL) {
        (void)fputs("NULL", out);
        return;
    }
    (void)fputs(tables->is_bytes[column] ? "X'" : "_utf8mb4 X'", out);
    for (size_t i = 0; i < value.len; i++)
        (void)fprintf(out, "%02X", (unsigned char)value.data[i]);
    (void)fputc('\'', out);
}

/* NULL: no memory. */
static char *insert_sql(const struct tables *tables, const struct values *values)
{
    struct writer writer;
    const char *divider = "";

    if (!writer_begin(&writer))
        return NULL;
    (void)fputs("INSERT INTO {outbox} (", writer.out);
    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (tables->has[i]) {
            const char *name = tables_fact(tables, column_name((enum column)i));

            (void)fprintf(writer.out, "%s%s", divider, name + strlen("o.")); /* o.`name` */
            divider = ", ";
        }
    (void)fputs(") VALUES (", writer.out);
    divider = "";
    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (tables->has[i]) {
            (void)fputs(divider, writer.out);
            put_value(writer.out, tables, (enum column)i, values->of[i]);
            divider = ", ";
        }
    (void)fputc(')', writer.out);
    return writer_end(&writer);
}

/* A role that may only insert gets no ids. If the order trigger drew the id, LAST_INSERT_ID() is 0.
 */
static int say_ids(struct admin *admin, const struct emitted_ids *ids, struct error *error)
{
    bool found = false;

    for (int i = 0; i < (admin->session.is_mariadb ? 2 : 1) && !found; i++) {
        const struct sql_fact facts[] = {{i == 1 ? "by_trigger" : "", .text = NULL},
                                         {.name = NULL}};
        MYSQL_RES *rows =
            tables_query(&admin->tables, &admin->session, db_sql_emitted, facts, error);
        MYSQL_ROW row;

        if (rows == NULL)
            return admin->session.conn != NULL && error->kind == ERROR_PERMANENT ? 0 : -1;
        found = (row = mysql_fetch_row(rows)) != NULL && row[0] != NULL;
        if (found)
            ids->on_event(ids->closure, row[0], row[1] != NULL ? row[1] : row[0]);
        mysql_free_result(rows);
    }
    return 0;
}

static int insert(struct admin *admin, const struct values *values, const struct emitted_ids *ids,
                  struct error *error)
{
    char *sql;
    int64_t inserted;

    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (!admin->tables.has[i] && values->of[i].data != NULL)
            return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                             "table %s has no column for the %s", admin->tables.outbox,
                             column_name((enum column)i));
    sql = insert_sql(&admin->tables, values);
    if (sql == NULL)
        return error_no_memory(error);
    inserted = tables_execute(&admin->tables, &admin->session, sql, NULL, error);
    free(sql);
    if (inserted < 0 && error->cause == ERROR_OF_ROW)
        error->origin = ERROR_CONFIG;
    return inserted < 0 ? -1 : say_ids(admin, ids, error);
}

static struct text text_or_none(const char *text)
{
    return text != NULL ? text_of(text) : (struct text){NULL, 0};
}

int admin_emit(struct admin *admin, const struct event *event, const struct emitted_ids *ids,
               struct error *error)
{
    const struct values values = {.of = {[COLUMN_TOPIC] = text_of(event->topic),
                                         [COLUMN_KEY] = text_or_none(event->key),
                                         [COLUMN_TYPE] = text_or_none(event->type),
                                         [COLUMN_PAYLOAD] = {event->payload, event->payload_len}}};

    return insert(admin, &values, ids, error);
}

/* The field's value: a text as it is, anything else, and headers, as JSON. free() *owned. */
static struct text take_field(const json_t *value, bool as_json, char **owned)
{
    *owned = NULL;
    if (json_is_null(value))
        return (struct text){NULL, 0};
    if (json_is_string(value) && !as_json)
        return (struct text){json_string_value(value), json_string_length(value)};
    *owned = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return text_or_none(*owned);
}

/* Unknown fields are refused, because a misspelt "payload" would mean an event without one. */
static int take_fields(json_t *object, struct values *values, char *owned[COLUMN_COUNT],
                       struct error *error)
{
    const char *name;
    json_t *value;

    json_object_foreach (object, name, value) {
        int i = COLUMN_TOPIC;

        while (i <= COLUMN_HEADERS && strcmp(name, column_name((enum column)i)) != 0)
            i++;
        if (i > COLUMN_HEADERS)
            return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                             "unknown field \"%.64s\"; known: topic, key, type, payload, headers",
                             name);
        values->of[i] = take_field(value, i == COLUMN_PAYLOAD || i == COLUMN_HEADERS, &owned[i]);
    }
    return 0;
}

int admin_emit_json(struct admin *admin, const char *json, const struct emitted_ids *ids,
                    struct error *error)
{
    struct values values = {0};
    char *owned[COLUMN_COUNT] = {NULL};
    json_error_t problem;
    json_t *object = json_loads(json, JSON_ALLOW_NUL, &problem);
    int status = -1;

    if (!json_is_object(object))
        (void)error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "not a JSON object: %s",
                        object == NULL ? problem.text : "another value");
    else if (take_fields(object, &values, owned, error) == 0)
        status = insert(admin, &values, ids, error);
    for (int i = 0; i < COLUMN_COUNT; i++)
        free(owned[i]);
    json_decref(object);
    return status;
}
