#include "outbox/admin_session.h"

#include <stdio.h>
#include <string.h>

int admin_begin(struct admin *admin, struct error *error)
{
    if (table_usable(&admin->table, admin->options, error) < 0)
        return -1;
    return session_execute(&admin->session, "BEGIN", error);
}

int admin_commit(struct admin *admin, struct error *error)
{
    return session_execute(&admin->session, "COMMIT", error);
}

static bool is_bytea(const struct table *table)
{
    return strcmp(table->columns[COLUMN_PAYLOAD].type, "bytea") == 0;
}

/* Text parameters take the column's type; bytea takes the bytes as they are. */
int admin_emit(struct admin *admin, const struct event *event, struct error *error)
{
    static const enum column columns[] = {COLUMN_TOPIC, COLUMN_PAYLOAD, COLUMN_KEY, COLUMN_TYPE};
    const char *values[4] = {event->topic, event->payload, event->key, event->type};
    int lengths[4] = {0, (int)event->payload_len, 0, 0};
    int formats[4] = {0, is_bytea(&admin->table), 0, 0};
    char names[4 * QUOTED_BYTES_MAX + 8] = "";
    char sql[2048];
    int count = 0;

    /* A column that the table lacks may only be left out when there is nothing to put into it. */
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
    return session_command(&admin->session, sql, count, values, lengths, formats, error);
}

/* PostgreSQL takes the line apart, so that numbers and nested values arrive exactly as written. */
int admin_emit_json(struct admin *admin, const char *json, struct error *error)
{
    static const enum column columns[] = {COLUMN_TOPIC, COLUMN_KEY, COLUMN_TYPE, COLUMN_PAYLOAD,
                                          COLUMN_HEADERS};
    const struct table *table = &admin->table;
    char names[5 * QUOTED_BYTES_MAX + 10] = "";
    char values[1024] = "";
    char sql[3072];

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *type = table->columns[columns[i]].type;
        bool is_json = strncmp(type, "json", 4) == 0;

        if (!table_has(table, columns[i]))
            continue;
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                       i > 0 ? ", " : "", table->columns[columns[i]].quoted);
        (void)snprintf(values + strlen(values), sizeof values - strlen(values),
                       strcmp(type, "bytea") == 0 ? "%spg_catalog.convert_to(line %s '%s', 'UTF8')"
                                                  : "%s(line %s '%s')::%s",
                       i > 0 ? ", " : "", is_json ? "->" : "->>", column_name(columns[i]), type);
    }
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO %s (%s) SELECT %s FROM (SELECT $1::jsonb AS line) input",
                   table->quoted, names, values);
    return session_command(&admin->session, sql, 1, &json, NULL, NULL, error);
}
