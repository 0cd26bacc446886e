#ifndef ROUTE_TEMPLATE_H
#define ROUTE_TEMPLATE_H

#include "message/batch.h"

/*
 * Templates such as "shop.{topic}": literal text and the placeholders {topic} {key} {type} {id}
 * {event_id}, which stand for the row's columns. "{{" and "}}" are literal braces.
 */

#define TEMPLATE_PARTS_MAX 16

struct template_part {
    struct text literal; /* data == NULL: a placeholder */
    size_t field;        /* offset of the column in struct message */
};

struct template
{
    char *source;   /* owned */
    char *literals; /* owned: unescaped text that the parts point into */
    struct template_part parts[TEMPLATE_PARTS_MAX];
    int count;
};

/*
 * Returns 0; or -1 with a message in `why` (at least 160 bytes) and the 1-based byte position of
 * the mistake in *position (0: no memory).
 */
int template_parse(struct template *template, const char *source, char *why, size_t why_size,
                   size_t *position);
void template_free(struct template *template);

bool template_is_constant(const struct template *template);

enum template_result { TEMPLATE_OK, TEMPLATE_NULL_FIELD, TEMPLATE_NO_MEMORY };

/* Renders into the batch's memory; a template with a single part copies nothing.
 * TEMPLATE_NULL_FIELD: the column of a placeholder is NULL. */
enum template_result template_render(const struct template *template, const struct message *message,
                                     struct batch *batch, struct text *out);

#endif
