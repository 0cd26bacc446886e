#include "admin/admin_session.h"

#include "catalog/describe.h"
#include "sql/statements.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A role that may only insert gets no ids, because RETURNING requires the SELECT privilege. */
static int may_return(struct admin *admin, struct error *error)
{
    const char *params[2] = {admin->table.columns[COLUMN_ID].name,
                             admin->table.columns[COLUMN_EVENT_ID].name};
    int64_t may = admin_number(admin, statement_may_return_ids, 2, params, error);

    admin->returns_ids = may > 0;
    return may < 0 ? -1 : 0;
}

/* What a row has to hold for an expression to give a value, only its author knows. */
int admin_check_emit(const struct table *table, struct error *error)
{
    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++)
        if (table->columns[i].expression != NULL)
            return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                             "emit needs columns: the %s of %s is computed; insert rows as the"
                             " application does",
                             column_name((enum column)i), table->quoted);
    return 0;
}

int admin_begin(struct admin *admin, struct error *error)
{
    if (describe_check_whole(&admin->table, admin->options, error) < 0 ||
        admin_check_emit(&admin->table, error) < 0 || may_return(admin, error) < 0)
        return -1;
    return session_execute(&admin->session, "BEGIN", error);
}

int admin_commit(struct admin *admin, struct error *error)
{
    return session_execute(&admin->session, "COMMIT", error);
}

static bool is_bytea(const struct table *table)
{
    return strcmp(table->columns[COLUMN_PAYLOAD].base, "bytea") == 0;
}

/* SQLSTATE class 22 means that a value does not fit its column's type, which is the caller's
 * mistake. */
static int insert(struct admin *admin, const char *sql, int count, const char *const *values,
                  const int *lengths, const int *formats, const struct emitted_ids *ids,
                  struct error *error)
{
    const struct table *table = &admin->table;
    char returning[2 * QUOTED_BYTES_MAX + 32] = "";
    char *whole = NULL;
    PGresult *result;

    if (admin->returns_ids)
        (void)snprintf(returning, sizeof returning, " RETURNING %s, %s",
                       table->columns[table->numbered ? COLUMN_EVENT_ID : COLUMN_ID].quoted,
                       table->columns[COLUMN_EVENT_ID].quoted);
    if (asprintf(&whole, "%s%s", sql, returning) < 0)
        return error_no_memory(error);
    result = session_query_formats(&admin->session, whole, count, values, lengths, formats, error);
    free(whole);
    if (result == NULL) {
        if (error_is_sqlstate(error, "22"))
            error->origin = ERROR_CONFIG;
        return -1;
    }
    for (int row = 0; row < PQntuples(result); row++)
        ids->on_event(ids->closure, PQgetvalue(result, row, 0), PQgetvalue(result, row, 1));
    PQclear(result);
    return 0;
}

/* PostgreSQL only says that some value is not JSON. Returns -1. */
static int name_payload(const struct table *table, struct error *error)
{
    struct error cause = *error;

    if (strncmp(table->columns[COLUMN_PAYLOAD].base, "json", 4) != 0 ||
        !error_is_sqlstate(error, "22P02") || strstr(error->words, "json") == NULL)
        return -1;
    (void)error_set(error, cause.kind, cause.origin, "the payload is not JSON: %s", cause.text);
    return error_hint(error, "a text needs double quotes of its own: '\"text\"'");
}

/* Text parameters are converted to the column's type; for bytea the bytes are sent unchanged. */
int admin_emit(struct admin *admin, const struct event *event, const struct emitted_ids *ids,
               struct error *error)
{
    static const enum column columns[] = {COLUMN_TOPIC, COLUMN_PAYLOAD, COLUMN_KEY, COLUMN_TYPE};
    const char *values[4] = {event->topic, event->payload, event->key, event->type};
    int lengths[4] = {0, (int)event->payload_len, 0, 0};
    int formats[4] = {0, is_bytea(&admin->table), 0, 0};
    char names[4 * QUOTED_BYTES_MAX + 8] = "";
    char sql[2048];
    int count = 0;

    if (event->payload != NULL && formats[1] == 0 &&
        memchr(event->payload, '\0', event->payload_len) != NULL)
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                         "the payload contains a NUL byte, which column %s of type %s cannot store",
                         admin->table.columns[COLUMN_PAYLOAD].quoted,
                         admin->table.columns[COLUMN_PAYLOAD].type);
    /* A column that the table lacks is skipped only when the event has no value for it. */
    for (int i = 0; i < 4; i++) {
        if (!table_has(&admin->table, columns[i])) {
            if (values[i] != NULL)
                return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                                 "table %s has no column for the %s", admin->table.quoted,
                                 column_name(columns[i]));
            continue;
        }
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                       count > 0 ? ", " : "", admin->table.columns[columns[i]].quoted);
        values[count] = values[i];
        lengths[count] = lengths[i];
        formats[count] = formats[i];
        count++;
    }
    (void)snprintf(sql, sizeof sql, "INSERT INTO %s (%s) VALUES ($1, $2%s%s)", admin->table.quoted,
                   names, count > 2 ? ", $3" : "", count > 3 ? ", $4" : "");
    if (insert(admin, sql, count, values, lengths, formats, ids, error) == 0)
        return 0;
    return name_payload(&admin->table, error);
}

/* Unknown fields are refused, because a misspelt "payload" would mean an event without a
 * payload. */
static int check_field(const struct admin *admin, const char *name, struct error *error)
{
    for (int i = COLUMN_TOPIC; i <= COLUMN_HEADERS; i++) {
        if (strcmp(name, column_name((enum column)i)) != 0)
            continue;
        if (table_has(&admin->table, (enum column)i))
            return 0;
        return error_set(error, ERROR_PERMANENT, ERROR_DATABASE,
                         "table %s has no column for the %s", admin->table.quoted, name);
    }
    return error_set(error, ERROR_PERMANENT, ERROR_CONFIG,
                     "unknown field \"%.64s\"; known: topic, key, type, payload, headers", name);
}

static int check_fields(const struct admin *admin, const char *json, struct error *error)
{
    json_error_t problem;
    json_t *object = json_loads(json, JSON_ALLOW_NUL, &problem);
    const char *name;
    json_t *value;
    int status = 0;

    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(error, ERROR_PERMANENT, ERROR_CONFIG, "not a JSON object: %s",
                         object == NULL ? problem.text : "another value");
    }
    json_object_foreach (object, name, value) {
        if (status == 0)
            status = check_field(admin, name, error);
    }
    json_decref(object);
    return status;
}

int admin_emit_json(struct admin *admin, const char *json, const struct emitted_ids *ids,
                    struct error *error)
{
    char *sql;
    int status;

    if (check_fields(admin, json, error) < 0)
        return -1;
    sql = admin_sql(admin, statement_emit_json);
    if (sql == NULL)
        return error_no_memory(error);
    status = insert(admin, sql, 1, &json, NULL, NULL, ids, error);
    free(sql);
    return status;
}
