#include "route/template.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct placeholder {
    const char *name;
    size_t field;
};

static const struct placeholder placeholders[] = {
    {"topic", offsetof(struct message, topic)},       {"key", offsetof(struct message, key)},
    {"type", offsetof(struct message, type)},         {"id", offsetof(struct message, id)},
    {"event_id", offsetof(struct message, event_id)}, {NULL, 0}};

struct parser {
    struct template *template;
    const char *at;
    char *out;     /* end of the current literal, where the next byte goes */
    char *literal; /* start of the current literal */
    char *why;
    size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct parser *parser, const char *format,
                                                        ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(parser->why, parser->why_size, format, args);
    va_end(args);
    return -1;
}

static int add_part(struct parser *parser, struct template_part part)
{
    if (parser->template->count == TEMPLATE_PARTS_MAX)
        return refuse(parser, "more than 16 parts");
    parser->template->parts[parser->template->count++] = part;
    return 0;
}

static int end_literal(struct parser *parser)
{
    struct text literal = {parser->literal, (size_t)(parser->out - parser->literal)};

    parser->literal = parser->out;
    if (literal.len == 0)
        return 0;
    return add_part(parser, (struct template_part){.literal = literal});
}

static int parse_placeholder(struct parser *parser)
{
    const char *name = parser->at + 1;
    size_t len = strcspn(name, "{}");

    if (name[len] != '}')
        return refuse(parser, "\"{\" without \"}\"; write \"{{\" for a literal brace");
    for (const struct placeholder *known = placeholders; known->name != NULL; known++) {
        if (strlen(known->name) != len || memcmp(known->name, name, len) != 0)
            continue;
        if (end_literal(parser) < 0 ||
            add_part(parser, (struct template_part){.field = known->field}) < 0)
            return -1;
        parser->at = name + len + 1;
        return 0;
    }
    return refuse(parser, "unknown placeholder {%.*s}; known: {topic} {key} {type} {id} {event_id}",
                  (int)(len < 32 ? len : 32), name);
}

static int parse_next(struct parser *parser)
{
    bool doubled = parser->at[0] == parser->at[1];

    if (*parser->at == '{' && !doubled)
        return parse_placeholder(parser);
    if (*parser->at == '}' && !doubled)
        return refuse(parser, "\"}\" without \"{\"; write \"}}\" for a literal brace");
    *parser->out++ = *parser->at;
    parser->at += *parser->at == '{' || *parser->at == '}' ? 2 : 1;
    return 0;
}

int template_parse(struct template *template, const char *source, char *why, size_t why_size,
                   size_t *position)
{
    struct parser parser = {.template = template, .why = why, .why_size = why_size};
    int result = 0;

    *template = (struct template){.source = strdup(source), .literals = malloc(strlen(source) + 1)};
    *position = 0;
    if (template->source == NULL || template->literals == NULL) {
        template_free(template);
        return refuse(&parser, "out of memory");
    }
    parser.at = template->source;
    parser.out = parser.literal = template->literals;
    while (result == 0 && *parser.at != '\0')
        result = parse_next(&parser);
    if (result == 0)
        result = end_literal(&parser);
    if (result < 0) {
        *position = (size_t)(parser.at - template->source) + 1;
        template_free(template);
    }
    return result;
}

void template_free(struct template *template)
{
    free(template->source);
    free(template->literals);
    *template = (struct template){0};
}

bool template_is_constant(const struct template *template)
{
    return template->count == 0 ||
           (template->count == 1 && template->parts[0].literal.data != NULL);
}

static struct text part_value(const struct template_part *part, const struct message *message)
{
    struct text value;

    if (part->literal.data != NULL)
        return part->literal;
    if (part->field == offsetof(struct message, id))
        return message_row_id(message);
    memcpy(&value, (const char *)message + part->field, sizeof value);
    return value;
}

enum template_result template_render(const struct template *template, const struct message *message,
                                     struct batch *batch, struct text *out)
{
    size_t len = 0;
    char *at;

    for (int i = 0; i < template->count; i++) {
        struct text value = part_value(&template->parts[i], message);

        if (value.data == NULL)
            return TEMPLATE_NULL_FIELD;
        len += value.len;
    }
    if (template->count == 1) {
        *out = part_value(&template->parts[0], message);
        return TEMPLATE_OK;
    }
    at = batch_alloc(batch, len + 1);
    if (at == NULL)
        return TEMPLATE_NO_MEMORY;
    *out = (struct text){at, len};
    for (int i = 0; i < template->count; i++) {
        struct text value = part_value(&template->parts[i], message);

        memcpy(at, value.data, value.len);
        at += value.len;
    }
    *at = '\0';
    return TEMPLATE_OK;
}
