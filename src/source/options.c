#include "source/options.h"

#include "base/text.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION_BYTES_MAX 2048

static const char *const names[COLUMN_COUNT] = {"id",      "event_id", "topic",   "key",
                                                "type",    "payload",  "headers", "created_at",
                                                "sent_at", "due",      "xid",     "order"};

const char *column_name(enum column column)
{
    return names[column];
}

bool outbox_is_numbered(const struct outbox_options *options)
{
    return options->columns[COLUMN_ORDER] != NULL;
}

const char *outbox_column(const struct outbox_options *options, enum column column)
{
    const char *configured = options->columns[column];

    if (column == COLUMN_ID && outbox_is_numbered(options))
        return options->columns[COLUMN_ORDER];
    if (column == COLUMN_EVENT_ID && outbox_is_numbered(options) && configured == NULL)
        configured = options->columns[COLUMN_ID] != NULL ? options->columns[COLUMN_ID] : "id";
    if (column == COLUMN_ORDER)
        return NULL;
    if (configured != NULL)
        return configured[0] != '\0' ? configured : NULL;
    if (column == COLUMN_DUE || (column == COLUMN_SENT_AT && options->mark != NULL) ||
        (column == COLUMN_XID && options->on_sent != ON_SENT_POSITION))
        return NULL;
    return names[column];
}

const char *outbox_on_sent(const struct outbox_options *options)
{
    static const char *const words[] = {
        [ON_SENT_MARK] = "mark", [ON_SENT_DELETE] = "delete", [ON_SENT_POSITION] = "position"};

    return words[options->on_sent];
}

bool outbox_keeps_sent(const struct outbox_options *options)
{
    return options->on_sent != ON_SENT_DELETE;
}

bool outbox_is_expression(const char *value)
{
    return value != NULL && value[0] == '(';
}

const char *outbox_header_name(const struct outbox_header *header)
{
    return header->name + (header->is_attribute ? ATTRIBUTE_PREFIX_BYTES : 0);
}

const char *outbox_header_section(const struct outbox_header *header)
{
    return header->is_attribute ? "cloudevents.attributes" : "outbox.headers";
}

/* Names are quoted wherever they are used, so PostgreSQL takes any. Refused is what is rather a
 * mistake, or could not be shown on one line. */
static const char *name_problem(const char *name, size_t len, bool is_quoted)
{
    if (len == 0)
        return "has an empty name; write \"table\" or \"schema.table\"";
    if (len >= OUTBOX_NAME_BYTES)
        return "has a name of more than 63 bytes";
    if (!text_is_utf8(name, len))
        return "has a name that is not UTF-8";
    if (!is_quoted && (name[0] == ' ' || name[len - 1] == ' '))
        return "has a name that begins or ends with a blank";
    for (size_t i = 0; i < len; i++) {
        if (!is_quoted && name[i] == '"')
            return "contains a double quote; write the whole name in double quotes, and two for one"
                   " inside it";
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return "contains a control character, such as a tab or a line break";
    }
    return NULL;
}

/* Copies what stands between quotes, of which two are one inside. *at moves behind the last. */
static const char *unquote(const char **at, char name[OUTBOX_NAME_BYTES + 1], size_t *len)
{
    const char *from = *at + 1;

    for (*len = 0; *from != '"' || from[1] == '"'; from++) {
        if (*from == '\0')
            return "has a name without its closing quote";
        if (*from == '"')
            from++;
        if (*len < OUTBOX_NAME_BYTES)
            name[(*len)++] = *from;
    }
    *at = from + 1;
    return NULL;
}

/* A name without quotes ends before a byte of `end`; *at moves to what follows. */
static const char *read_name(const char **at, const char *end, char out[OUTBOX_NAME_BYTES])
{
    char name[OUTBOX_NAME_BYTES + 1];
    bool is_quoted = **at == '"';
    size_t len = strcspn(*at, end);
    const char *problem;

    out[0] = '\0';
    if (is_quoted) {
        problem = unquote(at, name, &len);
        if (problem == NULL)
            problem = name_problem(name, len, true);
        if (problem == NULL && **at != '\0' && strchr(end, **at) == NULL)
            problem = "has something behind the closing quote of a name";
    } else {
        problem = name_problem(*at, len, false);
        memcpy(name, *at, problem == NULL ? len : 0);
        *at += len;
    }
    if (problem == NULL)
        (void)snprintf(out, OUTBOX_NAME_BYTES, "%.*s", (int)len, name);
    return problem;
}

const char *outbox_read_table(const char *written, char schema[OUTBOX_NAME_BYTES],
                              char table[OUTBOX_NAME_BYTES])
{
    const char *problem = read_name(&written, ".", table);

    schema[0] = '\0';
    if (problem == NULL && *written == '.') {
        written++;
        memcpy(schema, table, OUTBOX_NAME_BYTES);
        problem = read_name(&written, ".", table);
    }
    if (problem == NULL && *written == '.')
        return "has more than one dot: one stands between schema and table, and a name with a dot"
               " stands in double quotes";
    return problem;
}

const char *outbox_read_column(const char *written, char column[OUTBOX_NAME_BYTES])
{
    return read_name(&written, "", column);
}

const char *outbox_toml_quotes(const char *written)
{
    if (strpbrk(written, "\"\\") == NULL)
        return "\"";
    return strchr(written, '\'') == NULL ? "'" : "'''";
}

/* PostgreSQL checks the rest of an expression (values.c). It becomes part of SQL that is shown on
 * one line. */
static const char *expression_problem(const char *expression)
{
    size_t len = strlen(expression);

    if (len > EXPRESSION_BYTES_MAX)
        return "is longer than 2048 bytes";
    if (expression[len - 1] != ')')
        return "begins with a parenthesis and does not end with one; write \"(EXPRESSION)\"";
    for (const char *at = expression; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return "must be one line without tabs";
    return NULL;
}

const char *outbox_value_problem(const char *value)
{
    char name[OUTBOX_NAME_BYTES];

    if (outbox_is_expression(value))
        return expression_problem(value);
    return value[0] != '\0' ? outbox_read_column(value, name) : NULL;
}
