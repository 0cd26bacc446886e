#include "mysql/document.h"

#include "source/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* All of them, escaped where they are no UTF-8. */
static json_t *pack_bytes(const char *bytes, size_t len)
{
    json_t *string = json_stringn(bytes, len);
    size_t size = 4 * len + 1;
    char *escaped = string == NULL ? malloc(size) : NULL;

    if (escaped != NULL)
        string = json_string(text_escape(escaped, size, bytes, len));
    free(escaped);
    return string;
}

static json_t *value_of(const MYSQL_FIELD *field, const char *text, size_t len)
{
    if (text == NULL)
        return json_null();
    switch (field->type) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG:
        return json_integer(strtoll(text, NULL, 10));
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_FLOAT:
    case MYSQL_TYPE_DOUBLE:
        return strchr(text, '.') != NULL ? json_real(strtod(text, NULL))
                                         : json_integer(strtoll(text, NULL, 10));
    default:
        return pack_bytes(text, len);
    }
}

static void take(json_t *into, MYSQL_RES *rows, MYSQL_ROW row)
{
    const unsigned long *lengths = mysql_fetch_lengths(rows);

    for (unsigned i = 0; i < mysql_num_fields(rows); i++) {
        const MYSQL_FIELD *field = mysql_fetch_field_direct(rows, i);

        (void)json_object_set_new(into, field->name, value_of(field, row[i], lengths[i]));
    }
}

int document_row(struct admin *admin, json_t *into, const char *statement,
                 const struct sql_fact *facts, struct error *error)
{
    MYSQL_RES *rows = tables_query(&admin->tables, &admin->session, statement, facts, error);
    MYSQL_ROW row = rows != NULL ? mysql_fetch_row(rows) : NULL;

    if (row != NULL)
        take(into, rows, row);
    mysql_free_result(rows);
    return rows != NULL ? 0 : -1;
}

json_t *document_rows(struct admin *admin, const char *statement, const struct sql_fact *facts,
                      struct error *error)
{
    MYSQL_RES *rows = tables_query(&admin->tables, &admin->session, statement, facts, error);
    json_t *list = rows != NULL ? json_array() : NULL;
    MYSQL_ROW row;

    while (rows != NULL && (row = mysql_fetch_row(rows)) != NULL) {
        json_t *object = json_object();

        take(object, rows, row);
        (void)json_array_append_new(list, object);
    }
    mysql_free_result(rows);
    return list;
}

double document_number(const json_t *document, const char *name)
{
    const json_t *value = json_object_get(document, name);

    return json_is_number(value) ? json_number_value(value) : -1;
}

const char *document_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

void document_need(json_t *document, const char *level, const char *fix, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)json_array_append_new(json_object_get(document, "attention"),
                                json_pack("{s:s, s:o, s:o}", "level", level, "text",
                                          pack_text(text), "fix", text_or_null(fix)));
}
